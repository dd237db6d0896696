"""specht probe from flags to files."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray

import specht
from specht.commands.app import main
from specht.commands.probe import ProbeCommand

TINY = ["--width", "8", "--heads", "2", "--head-size", "4", "--length", "5"]
SMALL = ["probe", "nope-causal-softmax", *TINY, "--samples", "100"]

MODULE = """
import numpy as np
from specht import Architecture

table = np.random.default_rng(0).normal(size=(4, 3))
def sums(x): return [table[x], np.cumsum(table[x], axis=1)]
def score(x): return x[:, :3].sum(axis=1) + 5.0 * x[:, 4]
class Model:
    def __call__(self, x): return table[x].sum(axis=1)
def build(): return Architecture(vocab=4, length=8, positions="none")
def big(x): return 1.0 * (x >= 60).sum(axis=1)
class Needy:
    def __init__(self, width): pass
    def __call__(self, x): return x
def broken(x): raise KeyError("no such layer")
def short(x): return np.ones(3)
def shape(x): return np.ones((len(x), 2, 2))
def undefined(x): return np.full(len(x), np.nan)
def imaginary(x): return 1j * x[:, 0]
rng = np.random.default_rng(0)
def noisy(x): return x[:, 0] + rng.normal(size=len(x))
def mixing(x): return x[:, 0] - x[:, 0].mean()
def quits(x): raise SystemExit("usage: mine FILE")
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "script.py").write_text("import sys; sys.exit('usage: script FILE')")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    sys.modules.pop("mine", None)


def test_writes_what_it_says(capsys, tmp_path):
    assert main(SMALL) == 0
    out = capsys.readouterr().out
    for words in (
        "V=4 L=5 | pos=none(1.0) | softmax/sqrt | relu | last | depth=2 causal",
        "what the readout sees",
        "does not tell apart 1–5",
        "tells all positions apart",
        "The output sees order: exchanging positions 1 and 2 changes it by",
        "Hidden states at the last position ignore order up to layer 1 and see it from layer 2 on.",
        "(float64)",
    ):
        assert words in out
    (folder,) = (tmp_path / "specht-results").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "probe.csv", "probe.nc", "report.html", "result.json"]
    for name in ("report.html", "probe.nc", "probe.csv"):
        assert str(folder.relative_to(tmp_path) / name) in out


def test_json_is_the_contract(run_json):
    found = run_json(*SMALL)
    assert {"command", "config", "seed", "version", "report", "data", "positions", "invariant_under", "residual", "profile"} <= set(found)
    assert (found["command"], found["seed"], found["version"]) == ("probe", 0, specht.__version__)
    assert found["positions"] == [6]
    assert found["invariant_under"] == [[]]
    assert found["ignores"] == [[]]
    assert found["invariant"] is False
    assert found["residual"] > 1e-2
    assert found["profile"]["levels"] == [0, 1, 2, 3]
    assert sum(found["profile"]["variance_shares"]) == pytest.approx(1.0)
    assert [layer["name"] for layer in found["layers"]] == ["layer 0", "layer 1", "layer 2", "output"]
    first = found["layers"][1]
    assert [view["invariant_under"] for view in first["positions"]][2:4] == [[[1, 2], [4, 5, 6]], [[1, 2, 3], [5, 6]]]
    assert first["positions"][3]["ignores"] == [5, 6]
    assert first["readout"]["residual"] < 1e-12
    assert found["first_layer"] == "layer 2"
    assert found["config"]["architecture"] == "V=4 L=5 | pos=none(1.0) | softmax/sqrt | relu | last | depth=2 causal"


def test_files_hold_what_was_found(run_json):
    found = run_json(*SMALL)
    with xarray.open_datatree(found["data"], engine="h5netcdf") as data:
        assert data["class"].dims == ("layer", "output", "position")
        assert data["layer"].values.tolist() == [layer["name"] for layer in found["layers"]]
        np.testing.assert_array_equal(data["class"].sel(layer="layer 1", output="4"), found["layers"][1]["positions"][3]["classes"])
        np.testing.assert_array_equal(data["class"].sel(layer="output", output="4"), -2)
        np.testing.assert_array_equal(data["layers"]["readout.residual"], [layer["readout"]["residual"] for layer in found["layers"]])
        np.testing.assert_array_equal(data["share"][-1], found["profile"]["variance_shares"])
        assert data.attrs["command"] == "probe"
        assert not data["invariant"]
    with open(found["csv"], encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 3 * 7 + 1
    chosen = next(line for line in lines if (line["layer"], line["output"]) == ("layer 1", "4"))
    assert (chosen["ignores"], chosen["invariant_under"]) == ("5 6", "1 2 3; 5 6")


def test_no_profile(run_json):
    found = run_json("probe", "bag-of-words", *TINY, "--no-profile")
    assert found["profile"] is None
    assert found["invariant"] is True
    assert found["positions"] == [None]  # the mean is nowhere
    assert found["invariant_under"] == [[[1, 2, 3, 4, 5]]]
    assert "samples" not in found["config"]


@pytest.mark.parametrize("preset", specht.PRESETS)
def test_every_preset(run_json, preset):
    found = run_json("probe", preset, *TINY, "--no-profile", "--permutations", "8", "--sequences", "8")
    assert found["invariant"] == (preset == "bag-of-words")


def test_a_line_of_notation(run_json):
    line = "V=3 L=4 | pos=none | softmax/sqrt | gelu | causal residual norm=pre"
    found = run_json("probe", line, "--no-profile")
    assert found["invariant"] is True
    assert (found["vocab"], found["length"]) == (3, 4)
    assert run_json("probe", "softmax/sqrt depth=2", "--vocab", "5", "--length", "3", "--no-profile")["vocab"] == 5
    stochastic = run_json("probe", "V=3 L=4 | pos=stochastic", "--no-profile")
    assert any("drawn anew at every call" in remark for remark in stochastic["remarks"])


def test_models_of_ones_own(run_json, mine):
    layers = run_json("probe", "mine:sums", "--length", "4", "--samples", "100")
    assert [layer["name"] for layer in layers["layers"]] == ["layer 0", "output"]
    assert layers["invariant_under"] == [[[2, 3, 4, 5]], [[1, 2], [3, 4, 5]], [[1, 2, 3], [4, 5]], [[1, 2, 3, 4]], [[1, 2, 3, 4, 5]]]
    assert layers["ignores"] == [[2, 3, 4, 5], [3, 4, 5], [4, 5], [5], []]
    assert layers["config"]["code"]
    score = run_json("probe", "mine:score", "--length", "5", "--readout", "mean", "--samples", "100")
    assert score["invariant_under"] == [[[1, 2, 3]]]
    assert score["ignores"] == [[4]]
    assert run_json("probe", "mine:Model", "--no-profile")["invariant"] is True
    assert run_json("probe", "mine:build", "--no-profile")["model"] == "mine:build"


def test_a_changed_model_is_probed_again(run_json, mine):
    first = run_json("probe", "mine:score", "--no-profile")
    (mine / "mine.py").write_text(MODULE.replace("x[:, :3].sum", "x[:, :2].sum"))
    sys.modules.pop("mine")
    second = run_json("probe", "mine:score", "--no-profile")
    assert second["report"] != first["report"]
    assert second["ignores"] != first["ignores"]


def test_a_complete_run_is_not_computed_again(run_json, capsys, monkeypatch):
    first = run_json(*SMALL)
    monkeypatch.setattr(ProbeCommand, "compute", lambda *_: pytest.fail("computed again"))
    assert run_json(*SMALL) == first
    assert main(SMALL) == 0
    assert "computed before" in capsys.readouterr().err


def test_report_tells_how_to_get_it_again(run_json):
    found = run_json("probe", "nope-causal", *TINY, "--no-profile", "--weights", "3", "--figures", "png")
    report = Path(found["report"]).read_text()
    assert "specht probe nope-causal --width 8 --heads 2 --head-size 4 --weights 3 --length 5 --no-profile" in report
    assert "Which permutations a model ignores" in report
    assert len(list(Path(found["report"]).parent.glob("figure-*.png"))) == 5


def test_help(capsys):
    assert main(["probe", "--help"]) == 0
    out = capsys.readouterr().out
    for word in ("--vocab", "--length", "--readout", "--width", "--head-size", "--weights", "--sequences", "--permutations", "--samples",
                 "--max-level", "--no-profile", "--seed", "--json", "mine:model"):  # fmt: skip
        assert word in out


BAD_INPUT = {
    "probe": "specht probe needs a model: one of simplified, softmax,",
    "probe transfomer": "Unknown model 'transfomer': did you mean 'transformer'?",
    "probe V=4_L=8": "'V=4_L=8' needs a number, got '4_L=8'.",
    "probe pos=nowhere": "Unknown positions 'nowhere'",
    "probe depth=2 --readout mean": "--readout mean contradicts V=4 L=8",
    "probe bag-of-words --readout last": "whose readout is mean: leave it out.",
    "probe V=3 --vocab 4": "--vocab 4 contradicts V=3 L=8",
    "probe L=1": "has one token or one position, and nothing to exchange",
    "probe transformer --length 1": "--length must be greater than or equal to 2, got '1'.",
    "probe transformer --vocab 1": "--vocab must be greater than or equal to 2, got '1'.",
    "probe transformer --sequences 2": "--sequences must be greater than or equal to 4, got '2'.",
    "probe transformer --permutations 0": "--permutations must be greater than 0, got '0'.",
    "probe transformer --samples 10": "--samples must be greater than or equal to 100, got '10'.",
    "probe transformer mine": "'mine' belongs to no flag",
    "probe sinusoidal --width 7": "Sinusoidal positions pair coordinates up, so width must be even, got 7.",
    "probe mine:score --width 8": "--width 8 says nothing about mine:score: leave it out.",
    "probe :": "':' names no function: write module:function",
    "probe nowhere:f": "Module 'nowhere' cannot be imported",
    "probe mine:scor": "Module 'mine' has no 'scor': check the name after the colon.",
    "probe mine:table": "'mine:table' is a ndarray and no function",
    "probe mine:Needy": "mine:Needy is a class that needs width",
    "probe mine:broken": "mine:broken raised KeyError: 'no such layer' for tokens of shape (2, 9) from 0 to 3",
    "probe mine:short": "mine:short must return one row a sequence, so 2 rows, got an array of shape (3,).",
    "probe mine:shape": "mine:shape returned an array of shape (2, 2, 2) for 2 sequences of 9 tokens",
    "probe mine:undefined": "mine:undefined returned nan for a sequence",
    "probe mine:imaginary": "mine:imaginary must return real numbers, got an array of dtype complex128.",
    "probe mine:noisy": "mine:noisy returned other numbers when it was called again with the same tokens",
    "probe mine:mixing": "it mixes the sequences of a batch",
    "probe mine:quits": "mine:quits raised SystemExit: usage: mine FILE for tokens",
    "probe script:f": "Module 'script' cannot be imported (SystemExit: usage: script FILE): check its name.",
    "probe transformer --vocab 5000000000000": "--vocab must be less than 2147483648, got '5000000000000'.",
    "probe transformer --sequences 100000000000": "--sequences must be less than or equal to 1048576, got '100000000000'.",
    "probe transformer --width 100000000000": "--width must be less than or equal to 65536, got '100000000000'.",
    "probe V=99999999999": "has 99999999999 tokens of width 64, too many numbers to draw: take fewer tokens.",
    "probe mine:build --length 5": "length 5 contradicts V=4 L=8",
}


@pytest.mark.parametrize(("line", "sentence"), BAD_INPUT.items())
def test_bad_input_is_one_sentence_and_code_2(line, sentence, refuses, mine):
    refuses(line, sentence)
