"""specht select from flags to files."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
import xarray

import specht
from specht.commands.app import main
from specht.commands.select import SelectConfig

SMALL = ["select", "--length", "8", "--support", "2", "--dimension", "2", "--code", "24", "--steps", "60", "--seeds", "2", "--n-test", "64"]
TESTED = [*SMALL, "--test-lengths", "12", "10", "--test-supports", "3"]
SGD = [*SMALL, "--codes", "one-hot", "--optimiser", "sgd", "--learning-rate", "2"]


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict:
    """One run that several tests read."""
    folder = tmp_path_factory.mktemp("select") / "out"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main([*TESTED, "--out", str(folder), "--json"]) == 0
    return json.loads(printed.getvalue())


def test_json_is_the_contract(found):
    assert {"command", "config", "seed", "version", "report", "data", "csv", "train", "lengths", "supports"} <= set(found)
    assert (found["command"], found["seed"], found["version"]) == ("select", 0, specht.__version__)
    assert [entry["T_test"] for entry in found["lengths"]] == [10, 12]
    assert [entry["q_test"] for entry in found["supports"]] == [3]
    for entry in (*found["train"], *found["lengths"], *found["supports"]):
        assert {"stochastic", "fixed", "stderr"} <= set(entry)
        assert entry["stderr"].keys() == {"stochastic", "fixed"}
    assert found["train"][0]["step"] == 0
    assert found["train"][-1]["step"] == 60
    assert found["train"][-1]["fixed"] < found["train"][0]["fixed"] == pytest.approx(found["trivial"], rel=0.5)
    assert found["theory"] is None  # there is none for Adam
    assert found["network_width"] == 16  # every eigenvalue counts for more than 2 %


def test_files_hold_the_losses(found):
    with xarray.open_datatree(found["data"], engine="h5netcdf") as whole:
        assert whole.attrs["command"] == "select"
        data = whole["trainings"].load()
        assert data["loss"].sizes == {"codes": 2, "seed": 2, "set": 4, "step": len(found["train"])}
        ends = data["loss"].isel(step=-1).sel(set="T=12").mean("seed")
        assert float(ends.sel(codes="fixed")) == pytest.approx(found["lengths"][1]["fixed"])
        assert data["keys_end_stochastic"].shape == (26, 26)
        assert data["values_start_fixed"].shape == (2, 26)
    with open(found["csv"], encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 2 * 2 * 4
    mean = np.mean([float(line["loss"]) for line in lines if line["codes"] == "stochastic" and line["set"] == "q=3"])
    assert mean == pytest.approx(found["supports"][0]["stochastic"])


def test_report_has_everything(found):
    report = Path(found["report"]).read_text(encoding="utf-8")
    flags = "--length 8 --support 2 --dimension 2 --code 24 --steps 60 --test-lengths 12 10 --test-supports 3 --n-test 64 --seeds 2"
    for words in (
        "Sparse token selection",
        "Other lengths",
        "W at the start",
        "V at the end",
        f"specht select {flags}",
        "units in its first layer",
    ):
        assert words in report


def test_one_hot_codes_come_with_their_exact_dynamics(capsys, run_json):
    command = [flag for flag in SGD if flag not in ("--code", "24")]
    found = run_json(*command)
    assert found["lengths"] == []
    assert found["code"] is None
    assert found["theory"]["codes"] == "one-hot"
    assert found["theory"]["loss"][-1] == pytest.approx(found["train"][-1]["one-hot"], rel=0.5)
    assert main(command) == 0  # found again
    printed = capsys.readouterr()
    assert "computed before" in printed.err
    for words in ("T=8 q=2 d=2   sgd at 2, 60 steps, 2 seeds", "one-hot codes", "as trained", "answering zero", "report", "selection.csv"):
        assert words in printed.out


def test_a_run_that_was_stopped_goes_on(run_json, tmp_path, monkeypatch):
    """The first training is kept when the second is interrupted."""
    from specht.commands.select import compute

    whole, calls = compute.train_one, []

    def interrupted(setting, seed):
        calls.append(seed)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return whole(setting, seed)

    monkeypatch.setattr(compute, "train_one", interrupted)
    command = [flag for flag in SGD if flag not in ("--code", "24")]
    assert main(command) == 130
    monkeypatch.setattr(compute, "train_one", lambda setting, seed: (calls.append(seed), whole(setting, seed))[1])
    run_json(*command)
    assert calls == [0, 1, 1]


def test_defaults_of_the_configuration():
    config = SelectConfig()
    assert config.lengths == (62, 75, 87, 100)
    assert (config.rate, config.shape) == (0.01, "cosine")
    assert (SelectConfig(optimiser="sgd").rate, SelectConfig(optimiser="sgd").shape) == (1.0, "constant")
    code = config.code_dimension()
    assert code is not None
    assert 100 < code < 200
    assert SelectConfig(codes=("one-hot",)).settings()[0]["lengths"] == []
    assert SelectConfig(code=150).digest() != config.digest()
    assert SelectConfig(code=code).digest() == config.digest()


def test_short_sequences_and_repeated_supports_are_tested_once():
    config = SelectConfig(length=3, support=1, test_supports=(2, 2, 1))
    assert (config.lengths, config.supports) == ((4, 5, 6), (2,))
    many = SelectConfig(length=60, support=1, test_lengths=(), test_supports=(55,)).code_dimension()
    assert many is not None
    assert many >= 55


def test_what_was_trained_stays_when_a_later_training_fails(monkeypatch, tmp_path, capsys):
    from specht.commands.select import compute

    whole, calls = compute.train_one, []

    def without_memory(setting, seed):
        calls.append(seed)
        if len(calls) == 2:
            raise MemoryError("no room")
        return whole(setting, seed)

    monkeypatch.setattr(compute, "train_one", without_memory)
    assert main([flag for flag in SGD if flag not in ("--code", "24")]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert "failed (MemoryError: no room); what was finished is kept" in said
    assert len(list(tmp_path.glob("specht-results/select-*/jobs/*.json"))) == 1


BAD_INPUT = {
    "select --learning-rate inf": "--learning-rate must be",
    "select --codes stochastic --optimiser sgd --learning-rate 6": "take a rate below 2q = 6",
    "select --support 50": "--length 50 and --support 50 leave nothing to select from: choose fewer positions than there are.",
    "select --length 9 --test-lengths 3": "--test-lengths 3 and --support 3 leave nothing to select from",
    "select --length 9 --test-supports 9": "--length 9 and --test-supports 9 leave nothing to select from",
    "select --length 200 --code 40": "Codes of dimension 40 are too small for 3 of 200 positions: the largest product off the set",
    "select --code 2": "--code 2 is less than the 3 positions that are chosen at once",
    "select --codes one-hot --code 24": "--code says nothing about one-hot codes",
    "select --codes one-hot --test-lengths 60": "--test-lengths says nothing about one-hot codes",
    "select --codes fixed fixed": "--codes must name kinds of codes once each, got fixed fixed.",
    "select --codes random": "Unknown value of --codes 'random'",
    "select --optimiser adm": "Unknown value of --optimiser 'adm': did you mean 'adam'?",
    "select --learning-rate 0": "--learning-rate must be greater than 0, got '0'.",
    "select --steps 0": "--steps must be greater than or equal to 1, got '0'.",
    "select mine": "'mine' belongs to no flag",
    "select --codes one-hot --optimiser sgd --length 8 --support 2 --dimension 2 --steps 60 --seeds 1 --learning-rate 300": (
        "At learning rate 300 gradient descent does not come to rest"
    ),
}


@pytest.mark.parametrize(("line", "sentence"), BAD_INPUT.items())
def test_bad_input_is_one_sentence_and_code_2(line, sentence, refuses):
    refuses(line, sentence)
