"""Results as trees: every value comes back from a file as it was."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import xarray
from hypothesis import given, strategies as st

from specht.trees import Along, along, columns, facts, plain, rows, tree

VALUES: dict[str, Any] = {
    "number": 0.1,
    "whole": 3,
    "large": 10**30,
    "word": "[3,1]",
    "empty": "",
    "yes": True,
    "nothing": None,
    "shape": [4, 4],
    "none of them": [],
    "source": {"name": "graded", "law": {"epsilon": 0.3}},
    "lengths": [
        {"length": 4, "trace": 1.5, "note": None, "fit": {"value": -1.0, "stderr": None}, "rows": [{"irrep": "[4]", "heads": None}]},
        {"length": 8, "trace": None, "note": "a", "fit": {"value": -2.0, "stderr": 0.1}, "rows": []},
        {"length": 9, "trace": 0.25, "note": "b", "fit": {"value": 1e-300, "stderr": 0.0}, "rows": [{"irrep": "[9]", "heads": 64}] * 2},
    ],
    "uneven": [
        {"name": "a", "law": {"epsilon": 0.3}, "shares": None, "nulls": {}, "by": {"words": []}},
        {
            "name": "b",
            "law": {"sites": 3, "law": {"epsilon": 1.0}},
            "shares": {"(4)": {"value": 0.5}},
            "nulls": {"window": 1.0},
            "by": {"words": []},
        },
    ],
    "mixed": [{"value": 1, "other": [1, 2], "exact": True}, {"value": 10**20, "other": [], "exact": None}],
}


def there_and_back(values: dict[str, Any], path) -> Any:
    tree(values).to_netcdf(path, engine="h5netcdf")
    with xarray.open_datatree(path, engine="h5netcdf") as kept:
        return plain(kept.load())


def test_plain_values_come_back_from_a_file(tmp_path):
    again = there_and_back(VALUES, tmp_path / "values.nc")
    assert again == VALUES == plain(tree(VALUES))
    assert repr(again["lengths"]) == repr(VALUES["lengths"])  # kinds of numbers too


def test_tables_are_named_variables_along_one_dimension():
    data = tree(VALUES)
    assert data["lengths"]["trace"].dims == ("lengths",)
    assert data["lengths"]["fit.value"].values.tolist() == [-1.0, -2.0, 1e-300]
    assert data["lengths/rows"]["length"].values.tolist() == [4, 9, 9]
    assert data["source/law/epsilon"].item() == 0.3
    assert columns(data["lengths/rows"])["heads"] == [None, 64, 64]


def test_values_have_names():
    data = tree(VALUES)
    assert facts(data).source.law.epsilon == 0.3
    assert rows(data["lengths"])[2].rows[1].heads == 64
    assert rows(data["none of them"]) == []


def test_arrays_stay_in_the_tree():
    data = tree({"trace": 2.0, "gram": (("sequence", "other"), np.eye(2))})
    assert plain(data) == {"trace": 2.0}
    assert data["gram"].dims == ("sequence", "other")


def test_lists_along_dimensions_are_variables_and_lists_in_json(tmp_path):
    losses = {"n_train": [8, 16], "test": [0.5, None], "by_level": {"0": [0.1, 0.2]}, "size": 3, "words": ["a", "b"], "other": [1, 2, 3]}
    width = {"n_train": Along([8], "n_train"), "width": Along([4, 5], "width"), "loss": Along([[1.0], [math.inf]], ("width", "n_train"))}
    values = {"n_train": [8, 16], "theory": along("n_train", losses), "finite": width | {"names": Along(["a"], "variance")}}
    expected = {"n_train": [8], "width": [4, 5], "loss": [[1.0], [None]], "names": ["a"]}
    assert plain(tree(values)) == {"n_train": [8, 16], "theory": losses, "finite": expected}
    assert there_and_back(values, tmp_path / "lists.nc") == plain(tree(values))
    data = tree(values)
    assert data["finite"]["loss"].sel(width=4, n_train=8).item() == 1.0
    assert data["theory/by_level/0"].sel(n_train=16).item() == 0.2  # of a dictionary in it, too


def test_what_is_not_finite_is_nothing_in_json():
    data = tree({"losses": [{"loss": math.inf}, {"loss": math.nan}, {"loss": 1.0}]})
    assert [row.loss for row in rows(data["losses"])] == [None, None, 1.0]
    assert data["losses"]["loss"].values[0] == math.inf


def test_records_that_hold_others_are_identified_by_as_many_fields_as_it_takes(tmp_path):
    points = [{"learner": name, "T": T, "m": 9.0, "tried": [{"m": T, "ok": True}] * 2} for name in ("a", "b") for T in (4, 8)]
    assert there_and_back({"points": points}, tmp_path / "points.nc") == {"points": points}
    assert list(tree({"points": points})["points/tried"].data_vars) == ["learner", "T", "m", "ok"]
    with pytest.raises(ValueError, match="Records of /lengths hold other records, so their fields must identify them, but two records are"):
        tree({"lengths": [{"length": 4, "rows": [{"a": 1}]}] * 2})


numbers = st.one_of(st.none(), st.integers(-(10**25), 10**25), st.floats(allow_nan=False, allow_infinity=False), st.booleans())


@given(st.lists(st.fixed_dictionaries({"a": numbers, "b": st.one_of(st.none(), st.text("ab[],", max_size=3))}), min_size=1))
def test_any_records_come_back(records):
    assert plain(tree({"records": records})) == {"records": records}
