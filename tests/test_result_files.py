"""Files of results: whole or not at all, and one sentence for whatever is wrong with them."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

import h5py
import numpy as np
import pytest
import toy_results
import xarray
from toy_results import assert_same

import specht
from specht import records, results
from specht.errors import StorageError
from specht.results import FIGURES, Result, Variable


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return toy_results.made()


def damaged(path, change) -> str:
    content = bytearray(path.read_bytes())
    path.write_bytes(change(content))
    return str(path)


@pytest.fixture
def saved(made, tmp_path):
    made["profile"].save(tmp_path / "profile.nc")
    return tmp_path / "profile.nc"


def flip(content: bytearray, value: float) -> bytearray:
    place = content.rindex(np.float64(value).tobytes())
    content[place] ^= 1
    return content


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:-100],
        lambda content: b"",
        lambda content: b"level,weight\n0,1\n",
        lambda content: content.replace(b'"total"', b'"totla"'),
    ],
    ids=["half", "end missing", "empty", "text", "other words"],
)
def test_a_damaged_file_gets_one_sentence(saved, change):
    path = damaged(saved, change)
    with pytest.raises(
        specht.InputError, match="is damaged or no netCDF file, so nothing of it can be trusted: save the result again"
    ) as told:
        specht.load(path)
    assert str(told.value).startswith(path)
    assert "\n" not in str(told.value)


def test_a_damaged_posterior_gets_the_sentence(made, tmp_path):
    made["posterior"].save(tmp_path / "posterior.nc")
    damaged(tmp_path / "posterior.nc", lambda content: content[: len(content) // 2])
    with pytest.raises(specht.InputError, match="is damaged or no netCDF file, so nothing of it can be trusted: save the result again"):
        specht.load(tmp_path / "posterior.nc")


def test_a_single_bit_is_noticed(saved, made):
    damaged(saved, lambda content: flip(content, float(made["profile"].correlation.stderr[1])))
    with pytest.raises(specht.InputError, match="is damaged"):
        specht.load(saved)


def test_a_file_that_may_not_be_read_is_told(saved, monkeypatch):
    def refused(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(xarray, "open_dataset", refused)
    with pytest.raises(specht.InputError, match=r"cannot be read \(permission denied\): change its permissions, or copy it"):
        specht.load(saved)


def test_other_files_are_told_apart(saved, tmp_path):
    xarray.Dataset({"a": ("x", [1.0])}).to_netcdf(tmp_path / "foreign.nc", engine="h5netcdf")
    with pytest.raises(specht.InputError, match=r"foreign\.nc holds no result of Specht: `xarray\.open_dataset` may read it"):
        specht.load(tmp_path / "foreign.nc")
    with pytest.raises(specht.InputError, match="is no file: give the path of a result"):
        specht.load(tmp_path / "nowhere.nc")
    with pytest.raises(specht.InputError, match="is no file: give the path of a result"):
        specht.load(tmp_path)
    with h5py.File(saved, "r+") as file:
        file.attrs["specht_format"], file.attrs["version"] = results.FORMAT + 1, "9.0"
    with pytest.raises(specht.InputError, match=r"was saved by Specht 9\.0, whose files this version cannot read yet: update Specht"):
        specht.load(saved)


@pytest.mark.parametrize(
    ("home", "reason"),
    [
        ("specht.profiles.result:Profil", "this version has no specht.profiles.result:Profil"),
        ("os:PathLike", "'os:PathLike' is no class of this package"),
        ("specht.__main__:Main", "'specht.__main__:Main' is no class of this package"),
        ("specht.architecture:Architecture", "specht.architecture:Architecture is no result"),
        ("specht.errors:InputError", "specht.errors:InputError is no record"),
    ],
)
def test_a_type_that_is_not_known_gets_one_sentence(saved, home, reason):
    with h5py.File(saved, "r+") as file:
        file["record"].attrs["kind"] = home
    with pytest.raises(specht.InputError) as told:
        specht.load(saved)
    assert f"that this version cannot read ({reason}): load it with that version, or compute it again." in str(told.value)


def test_fields_of_another_version_are_told(made):
    text, arrays = records.encode(made["profile"].above)
    with pytest.raises(records.RecordError, match="IntervalEstimate has other fields in this version"):
        records.decode(text.replace('"low"', '"lower"'), arrays)


def test_classes_that_moved_are_found(made, monkeypatch):
    text, arrays = records.encode(made["profile"].above)
    monkeypatch.setitem(records.MOVED, "specht.old_room:IntervalEstimate", "specht.profiles.result:IntervalEstimate")
    again = records.decode(text.replace("specht.profiles.result:", "specht.old_room:"), arrays)
    assert_same(again, made["profile"].above)


def test_saving_is_whole_or_not_at_all(made, saved, monkeypatch):
    before = saved.read_bytes()

    def no_room(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(xarray.DataTree, "to_netcdf", no_room)
    with pytest.raises(StorageError, match="No space left on device"):
        made["score"].save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


@pytest.mark.parametrize(
    "value",
    [
        (1, 2.5, None, True, "word", -0.0, math.nan, -math.inf, 10**400),
        {"a": [1, (2, 3)], 2: np.float32(0.1), (1, 2): np.bool_(True)},
        [np.array([1.5, np.nan]), np.zeros((0, 3), dtype=np.int32), np.array(["a", "béta"]), np.array(7), np.array([[True], [False]])],
    ],
)
def test_records_keep_values_as_they_are(value):
    assert_same(records.decode(*records.encode(value)), value)


def test_records_refuse_what_they_cannot_keep():
    with pytest.raises(TypeError, match=r"0\.function is a type, which cannot be saved: make it a data class of arrays and numbers"):
        records.encode([specht.Target("f", float)])
    with pytest.raises(TypeError, match="cannot be saved: only classes at the top of a module of this package can"):
        records.encode(dataclasses.make_dataclass("Foreign", ["a"])(1))


def test_a_new_type_of_result_needs_three_things(tmp_path, monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Toy(Result):
        x: np.ndarray

        def _summary(self) -> str:
            return "three numbers"

        def _variables(self) -> list[Variable]:
            return [Variable("x", "x", self.x, "positions", "m")]

    toy = Toy(np.arange(3.0))
    with pytest.raises(specht.InputError, match=r"A Toy has no figure: look at \.to_dataframe\(\)"):
        toy.plot()
    monkeypatch.setitem(FIGURES, "Toy", {"x": "draw"})
    monkeypatch.setattr("specht.results._DRAWN", "toy_results")
    assert repr(toy) == "Toy: three numbers"
    assert toy.to_dataframe()["x"].tolist() == [0.0, 1.0, 2.0]
    assert toy.plot().to_dict()["data"][0]["y"] == [1.0]
    assert "three numbers" in toy._repr_html_()
