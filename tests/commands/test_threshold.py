"""specht threshold from flags to files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import xarray

import specht
from specht.commands.app import main
from specht.studies.sparse import LEARNERS

SMALL = ["threshold", "and", "--support", "2", "--lengths", "5", "8", "12", "--learners", "perceptron-ntk", "--accuracy", "0.97"]
SMALL += ["--width", "2", "--workers", "0"]


def test_writes_what_it_says(capsys, tmp_path):
    assert main(SMALL) == 0
    out = capsys.readouterr().out
    for words in (
        "and of 2, P(bit = 1) = 0.707 · learnt: 97 % of 512 validation samples right, in 80 % of trials",
        "The perceptron's NTK limit learns it from m = ",
        "growth: ",
        "Intervals hold with 90 % confidence.",
        "The bound of corollary 4.5",
    ):
        assert words in out
    folders = sorted(path.name for path in (tmp_path / "specht-results").iterdir())
    assert folders[0] == "jobs"
    files = sorted(path.name for path in (tmp_path / "specht-results" / folders[1]).iterdir())
    assert files == ["config.json", "report.html", "result.json", "threshold.csv", "threshold.nc"]


def test_json_is_the_contract_and_files_hold_it(run_json):
    found = run_json(*SMALL)
    assert {"command", "config", "seed", "version", "report", "data", "points", "fits", "bounds", "profile"} <= set(found)
    assert (found["command"], found["version"]) == ("threshold", specht.__version__)
    assert [point["T"] for point in found["points"]] == [5, 8, 12]
    for point in found["points"]:
        assert {"T", "m", "low", "high", "reached"} <= set(point)
        assert point["low"] <= point["m"] <= point["high"]
        assert point["reached"]
        assert sum(each["trials"] for each in point["tried"]) == point["trials"] == point["runs"]
    assert found["points"][0]["m"] < found["points"][2]["m"]
    assert set(found["fits"]["perceptron-ntk"]["laws"]) == {"log", "power", "linear"}
    assert [bound["T"] for bound in found["bounds"]] == [5, 8, 12]
    assert found["bounds"][2]["samples"] > found["bounds"][0]["samples"] > 1e6
    assert sum(share["value"] for share in found["profile"]["shares"]) == pytest.approx(1.0, abs=0.05)
    with xarray.open_datatree(found["data"], engine="h5netcdf") as data:
        np.testing.assert_array_equal(data["points/m"], [point["m"] for point in found["points"]])
        assert data["points/T"].values.tolist() == [5, 8, 12]
        assert data["points/tried/runs"].sum() == sum(point["runs"] for point in found["points"])
    with open(found["csv"], encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["m"]) for line in lines] == [point["m"] for point in found["points"]]
    report = Path(found["report"]).read_text(encoding="utf-8")
    assert "specht threshold and --support 2 --lengths 5 8 12 --learners perceptron-ntk --accuracy 0.97 --width 2.0" in report


def test_searches_that_are_done_are_not_made_again(run_json, monkeypatch):
    first = run_json(*SMALL)
    assert run_json(*SMALL) == first
    monkeypatch.setattr("specht.studies.sparse.find_threshold", lambda *_: pytest.fail("searched again"))
    fewer = run_json(*[word for word in SMALL if word != "12"])
    assert fewer["points"] == first["points"][:2]
    assert fewer["fits"]["perceptron-ntk"]["verdict"] is None


def test_networks_are_trained(run_json):
    command = ["threshold", "and", "--support", "1", "--lengths", "4", "--learners", "perceptron", "--accuracy", "0.95", "--largest", "64"]
    found = run_json(*command, "--width", "4", "--budget", "24", "--steps", "50", "--learning-rate", "0.01", "--workers", "0")
    assert found["points"][0]["runs"] >= found["points"][0]["trials"]
    assert found["config"]["steps"] == 50


def test_the_theory_of_finite_width_is_tried_beside_the_kernel(run_json):
    """Two widths and the kernel, in JSON and in CSV."""
    learners = ["transformer-width-4", "transformer-width-16", "transformer-nngp"]
    command = ["threshold", "and", "--support", "2", "--lengths", "6", "--accuracy", "0.95", "--largest", "128", "--width", "3"]
    found = run_json(*command, "--learners", *learners, "--budget", "24", "--batch", "4", "--workers", "0")
    assert [point["learner"] for point in found["points"]] == learners
    assert all(point["reached"] and point["runs"] == point["trials"] for point in found["points"])
    with open(found["csv"], encoding="utf-8") as file:
        assert [line["learner"] for line in csv.DictReader(file)] == learners
    assert "steps" not in found["config"]


def test_what_is_not_reached_is_said(capsys):
    """Six bits of parity cannot be learnt from a dozen samples."""
    command = [
        "threshold",
        "parity",
        "--support",
        "5",
        "--lengths",
        "7",
        "--learners",
        "perceptron-nngp",
        "--largest",
        "12",
        "--workers",
        "0",
    ]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "The perceptron's NNGP limit does not learn it at any T: not reached by m = 12." in out
    assert "not fitted: fewer than three thresholds" in out


def test_help_names_every_learner(capsys):
    assert main(["threshold", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(learner in out for learner in LEARNERS)
    assert '"' not in out  # of a docstring that was broken in two


BAD_INPUT = {
    "threshold and --support 5 --lengths 4": "and of 5 reads s = 5 bits, and there are T = 4: take at least as many bits as it reads.",
    "threshold and --budget 0": "A budget of 0 trials is less than one batch of 8, so nothing could be tried: raise the budget.",
    "threshold nand": "Unknown function 'nand': did you mean 'and'?",
    "threshold 011": "A table of a function of s bits has 2^s values",
    "threshold 0000": "The function 'table 0000' is constant: there is nothing to learn.",
    "threshold threshold": "threshold is one from a number of ones on, and that number is missing: give at_least (--at-least).",
    "threshold and --at-least 2": "--at-least 2 says nothing about and: leave it out, or ask for threshold.",
    "threshold 0110 --support 3": "--support 3 says nothing about a table, whose length tells: leave it out.",
    "threshold and --learners transfomer": "Unknown learner 'transfomer': did you mean 'transformer'?",
    "threshold and --learners transformer-width-0": "The learner 'transformer-width-0' does not say how wide the embedding is: write",
    "threshold and --lengths 5 5": "--lengths names a value twice, got 5 5: write each once.",
    "threshold and --share 1": "--share must be less than 0.99, got '1'.",
    "threshold and --smallest 50 --largest 20": "The largest number of samples, 20, must be above the smallest, 50: widen the range of m.",
    "threshold and --width 1": "--width must be greater than 1, got '1'.",
    "threshold and --restarts 0": "--restarts must be greater than or equal to 1, got '0'.",
    "threshold and --batch 65": "--batch must be less than or equal to 64, got '65'.",
    "threshold 0011": "The function 'table 0011' does not depend on bit 2, so no samples tell which bit that is: leave it out",
    "threshold 01010101": "The function 'table 01010101' does not depend on bits 1, 2, so no samples tell which bits those are",
    "threshold and --learning-rate inf": "--learning-rate must be a finite number, got 'inf'.",
    "threshold and --width nan": "--width must be a finite number, got 'nan'.",
    "threshold and --workers -1": "--workers must be 0 or more, got -1.",
}


@pytest.mark.parametrize(("line", "sentence"), BAD_INPUT.items())
def test_bad_input_is_one_sentence_and_code_2(line, sentence, refuses):
    refuses(line, sentence)
