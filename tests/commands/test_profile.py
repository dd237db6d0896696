"""specht profile from flags to files."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray

import specht
from specht.commands.app import main
from specht.commands.profile import ProfileCommand

SMALL = ["profile", "parity", "--length", "10", "--samples", "500"]

MODULE = """
import numpy as np
def score(x): return (x[:, 0] == 1) * 1.0 + (x[:, :8] == 2).mean(axis=1)
def pair(x): return np.stack([x[:, 0], x[:, 1]], axis=1)
def broken(x): raise KeyError("no such layer")
def short(x): return np.ones(3)
def undefined(x): return np.full(len(x), np.nan)
table = 3
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MODULE)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    sys.modules.pop("mine", None)


def test_writes_what_it_says(capsys, tmp_path):
    assert main(SMALL) == 0
    out = capsys.readouterr().out
    for words in ("parity of 2 · V=2 L=10 · uniform source", "share of the variance", "above 4", "total", "needs order", "95 % confidence"):
        assert words in out
    (folder,) = (tmp_path / "specht-results").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "profile.csv", "profile.nc", "report.html", "result.json"]
    for name in ("report.html", "profile.nc", "profile.csv"):
        assert str(folder.relative_to(tmp_path) / name) in out


def test_json_is_the_contract(run_json):
    found = run_json(*SMALL, "--confidence", "0.99")
    assert {"command", "config", "seed", "version", "report", "data", "levels", "weights", "low", "high"} <= set(found)
    assert {"total", "shares", "shuffled", "shapes"} <= set(found)
    assert (found["command"], found["seed"], found["version"]) == ("profile", 0, specht.__version__)
    assert found["levels"] == [0, 1, 2, 3, 4]
    assert found["shuffled"] is False
    assert sum(found["weights"]) + found["above"]["value"] == pytest.approx(found["total"], rel=1e-12)
    # A pair of 10 bits: 1, 9 and 35 out of 45.
    for low, weight, high in zip(found["low"], [1 / 45, 9 / 45, 35 / 45, 0, 0], found["high"], strict=True):
        assert low <= weight <= high
    assert [shape["irrep"] for shape in found["shapes"]] == ["[10]", "[9,1]", "[8,2]", "[7,3]", "[6,4]"]


def test_files_hold_the_weights(run_json):
    found = run_json(*SMALL)
    with xarray.open_datatree(found["data"], engine="h5netcdf") as data:
        np.testing.assert_array_equal(data["weights"], found["weights"])
        assert data["weights"].sel(levels=2).item() == found["weights"][2]
        np.testing.assert_array_equal(data["correlation"]["values"], found["correlation"]["values"])
        assert data["correlation"]["values"].dims == ("positions",)
        assert data.attrs["command"] == "profile"
        assert data["shapes"]["irrep"].values.tolist() == [shape["irrep"] for shape in found["shapes"]]
        assert float(data["above"]["value"]) == found["above"]["value"]
    with open(found["csv"], encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["level"] for line in lines] == ["0", "1", "2", "3", "4", ">4"]
    assert [float(line["weight"]) for line in lines[:-1]] == found["weights"]


@pytest.mark.parametrize("name", ["and", "or", "majority", "counts", "level", "next-token"])
def test_named_targets(run_json, name):
    found = run_json("profile", name, "--length", "9", "--samples", "300", "--vocab", "3", "--source", "mixture")
    assert found["total"] > 0
    if name in ("counts", "next-token"):
        assert found["order"]["high"] < 0.1
    if name == "level":
        assert np.argmax(found["weights"]) == 1


def test_a_function_of_ones_own(run_json, mine):
    found = run_json("profile", "mine:score", "--vocab", "3", "--length", "8", "--samples", "1000", "--readout", "mean")
    assert found["target"] == "mine:score"
    assert np.argmax(found["variance_shares"]) == 1
    assert found["config"]["code"]
    assert run_json("profile", "mine:pair", "--length", "8", "--samples", "300")["total"] > 0


def test_a_changed_function_is_computed_again(run_json, mine):
    command = ["profile", "mine:score", "--length", "8", "--samples", "300"]
    first = run_json(*command)
    (mine / "mine.py").write_text(MODULE.replace("* 1.0", "* 2.0"))
    sys.modules.pop("mine")
    second = run_json(*command)
    assert second["total"] > first["total"]
    assert second["report"] != first["report"]


def test_order_in_the_source_is_said(capsys, run_json):
    command = ["profile", "and", "--source", "graded", "--epsilon", "0.5", "--length", "6", "--samples", "300"]
    assert run_json(*command)["shuffled"] is True
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "permuting 6 positions changes its law by a total variation of" in out
    assert "profile under shuffled sequences" in out


def test_a_complete_run_is_not_computed_again(run_json, capsys, monkeypatch):
    first = run_json(*SMALL)
    monkeypatch.setattr(ProfileCommand, "compute", lambda *_: pytest.fail("computed again"))
    assert run_json(*SMALL) == first
    assert main(SMALL) == 0
    assert "computed before" in capsys.readouterr().err


def test_report_tells_how_to_get_it_again(run_json):
    found = run_json("profile", "level", "--support", "1", "--length", "9", "--samples", "300", "--source", "mixture")
    report = Path(found["report"]).read_text()
    assert "specht profile level --source mixture --length 9 --support 1 --samples 300" in report
    assert "The symmetry profile of a function" in report


BAD_INPUT = {
    "profile": "needs a function: one of and, counts, level, majority, next-token, or, parity, or your own as module:function.",
    "profile pority": "Unknown target 'pority': did you mean 'parity'?",
    "profile pority --support 3": "Unknown target 'pority': did you mean 'parity'?",
    "profile parity --support 20": "support must be a whole number from 1 to 16, got 20.",
    "profile parity --token 2": "token must be from 0 to 1 for 2 tokens, got 2.",
    "profile parity --samples 10": "--samples must be greater than or equal to 100, got '10'.",
    "profile parity --max-level 9": "--max-level must be less than or equal to 7, got '9'.",
    "profile parity --confidence 1": "--confidence must be less than 1, got '1'.",
    "profile parity --epsilon 0.5": "--epsilon 0.5 says nothing about --source uniform",
    "profile counts --support 3": "--support 3 says nothing about counts: leave it out.",
    "profile parity mine": "'mine' belongs to no flag",
    "profile :": "':' names no function: write module:function",
    "profile mine:": "'mine:' names no function: write module:function",
    "profile nowhere:f": "Module 'nowhere' cannot be imported (ModuleNotFoundError: No module named 'nowhere')",
    "profile mine:scor": "Module 'mine' has no 'scor': check the name after the colon.",
    "profile mine:table": "'mine:table' is a int and no function",
    "profile mine:broken": "mine:broken raised KeyError: 'no such layer' for tokens of shape (8, 17)",
    "profile mine:short": "one value or one row of values a sequence, so an array of shape (8,) or (8, outputs), got shape (3,).",
    "profile mine:undefined": "f returned nan for a sequence: make it finite for every sequence.",
    "profile mine:score --support 3": "--support 3 says nothing about mine:score: leave it out.",
    "profile faulty:f": "Module 'faulty' cannot be imported (ZeroDivisionError: division by zero)",
}


@pytest.mark.parametrize(("line", "sentence"), BAD_INPUT.items())
def test_bad_input_is_one_sentence_and_code_2(line, sentence, refuses, mine):
    (mine / "faulty.py").write_text("1 / 0\n")
    refuses(line, sentence)
