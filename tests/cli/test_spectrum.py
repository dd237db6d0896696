"""specht spectrum from flags to files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import xarray

import specht
from specht.cli import main

SMALL = ["spectrum", "--vocab", "3", "--lengths", "4", "8", "16"]
CONTRACT = ["spectrum", "--vocab", "2", "--length", "8", "--attention", "linear", "--activation", "erf", "--s-w", "0.5", "--s-p", "1"]
SAMPLED = [*SMALL[:3], "--lengths", "4", "6", "--method", "rayleigh", "--max-level", "1", "--sequences", "8"]


def test_writes_what_it_says(capsys, tmp_path):
    assert main(SMALL) == 0
    out = capsys.readouterr().out
    for words in (
        "[15,1]",
        "E[k] = ",
        "eigenvalue / bound",
        "exponent of L",
        "Method linear: exact",
        "Crossover of the linear model at L* = 27",
    ):
        assert words in out
    (folder,) = (tmp_path / "specht-results").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "report.html", "result.json", "spectrum.csv", "spectrum.nc"]
    for name in ("report.html", "spectrum.nc", "spectrum.csv"):
        assert str(folder.relative_to(tmp_path) / name) in out


def test_json_is_the_contract(run_json):
    found = run_json(*CONTRACT)
    assert {"command", "config", "seed", "version", "report", "data", "lengths", "exponents"} <= set(found)
    assert (found["command"], found["seed"], found["version"]) == ("spectrum", 0, specht.__version__)
    assert found["exponents"] == []
    (entry,) = found["lengths"]
    assert (entry["length"], entry["method"]) == (8, "two tokens")
    first = entry["rows"][0]
    assert (first["irrep"], first["degeneracy"], first["bound"]) == ("[8]", 1, entry["trace"])
    assert sum(row["degeneracy"] * row["eigenvalue"] for row in entry["rows"]) == pytest.approx(entry["trace"], rel=1e-12)
    assert {row["irrep"]: row["degeneracy"] for row in entry["rows"]} == {"[8]": 1, "[7,1]": 7, "[6,2]": 20, "[5,3]": 28, "[4,4]": 14}


def test_eigenvalues_are_those_of_the_operator_on_all_sequences(run_json):
    (entry,) = run_json(*CONTRACT)["lengths"]
    sequences = np.array(list(np.ndindex(*[2] * 9)))
    kernel = specht.Kernel(specht.Architecture(vocab=2, length=8, activation="erf", s_w=0.5, s_p=1.0))
    brute = np.linalg.eigvalsh(kernel.nngp(sequences) / len(sequences))[::-1]
    listed = np.repeat([row["eigenvalue"] for row in entry["rows"]], [row["degeneracy"] for row in entry["rows"]])
    np.testing.assert_allclose(listed, brute, atol=1e-12)


def test_exponents_of_the_linear_model(run_json):
    below = run_json("spectrum", "--vocab", "16", "--lengths", "16", "32", "64", "128")
    beyond = run_json("spectrum", "--vocab", "2", "--s-w", "1", "--lengths", "256", "512", "1024")
    for found, expected in ((below, -1), (beyond, -2)):
        standard = found["exponents"][1]
        assert standard["family"] == "[L-1,1]"
        assert standard["raw"]["value"] == pytest.approx(0, abs=1e-10)
        assert standard["normalised"]["value"] == pytest.approx(expected, abs=0.05)
    assert (below["crossover"], beyond["crossover"]) == (4096, 2)
    assert {entry["place"] for entry in below["lengths"]} == {"well below"}
    assert {entry["place"] for entry in beyond["lengths"]} == {"well beyond"}


def test_files_hold_the_rows(run_json):
    found = run_json(*SMALL)
    rows = [row["eigenvalue"] for entry in found["lengths"] for row in entry["rows"]]
    with xarray.open_dataset(found["data"], engine="h5netcdf") as data:
        np.testing.assert_array_equal(data["eigenvalue"], rows)
        assert data.attrs["version"] == specht.__version__
        assert data.attrs["command"] == "spectrum"
    with open(found["csv"], encoding="utf-8") as file:
        assert [float(line["eigenvalue"]) for line in csv.DictReader(file)] == rows


def test_sampled_values_have_errors_and_repeat(run_json, capsys):
    first, second = run_json(*SAMPLED, "--out", "one"), run_json(*SAMPLED, "--out", "two")
    assert first["lengths"] == second["lengths"]
    assert all(row["stderr"] > 0 and row["lower_bound"] for entry in first["lengths"] for row in entry["rows"])
    exact = run_json(*SAMPLED[:6], "--max-level", "1")
    for sampled, truth in zip(first["lengths"], exact["lengths"], strict=True):
        for top, true in zip(sampled["top"], truth["top"], strict=True):
            assert top["irrep"] == true["irrep"]
            assert top["eigenvalue"] < true["eigenvalue"] + 5 * top["stderr"]
    assert main([*SAMPLED, "--out", "one"]) == 0
    out = capsys.readouterr().out
    assert "≥ " in out
    assert "sampled lower bounds on the top eigenvalue of their irrep, with a standard error" in out


def test_softmax_of_two_tokens_has_standard_errors(run_json):
    found = run_json("spectrum", "--preset", "softmax", "--vocab", "2", "--length", "3", "--heads", "64")
    (entry,) = found["lengths"]
    assert entry["method"] == "two tokens"
    assert all(row["stderr"] > 0 and not row["lower_bound"] for row in entry["rows"])


def test_a_source_with_order_is_told_apart(capsys):
    assert main([*SAMPLED, "--source", "graded", "--epsilon", "0.5"]) == 0
    out = capsys.readouterr().out
    assert "graded source" in out
    assert "The source is not exchangeable: permuting 6 positions changes its law by a total variation of " in out
    assert "no eigenvalues of the irrep" in out
    assert "≥" not in out


def test_a_complete_run_is_not_computed_again(run_json, capsys, monkeypatch):
    first = run_json(*SMALL)
    assert main(SMALL) == 0
    table = capsys.readouterr().out
    monkeypatch.setattr("specht.lab.spectrum_job.run_spectrum", lambda *_: pytest.fail("computed again"))
    assert run_json(*SMALL) == first
    assert main(SMALL) == 0
    again = capsys.readouterr()
    assert again.out == table
    assert "computed before" in again.err


def test_a_damaged_run_is_computed_again(run_json):
    first = run_json(*SMALL)
    Path(first["csv"]).unlink()
    assert run_json(*SMALL)["lengths"] == first["lengths"]
    assert Path(first["csv"]).exists()


def test_report_tells_how_to_get_it_again(run_json):
    found = run_json(*SMALL, "--source", "mixture", "--components", "3")
    report = Path(found["report"]).read_text()
    assert "specht spectrum --vocab 3 --source mixture --components 3 --lengths 4 8 16" in report
    assert "The spectrum of a transformer" in report


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ("--lengths 8 4", "--lengths must increase, got 8 4"),
        ("--length 4 --lengths 4 8", "both say how long the context is"),
        ("--s-w 1e200 --length 4", "This kernel exceeds the range of float64"),
        ("--vocab 3 --activation erf --length 1000000000000", "choose a shorter length"),
        ("--vocab 1 --activation erf --length 1000000000000", "there is no room for them"),
        ("--vocab 2 --length 200 --attention softmax --method two-tokens", "ask for fewer heads"),
        ("--vocab 50000 --length 4 --activation erf --method young", "do not fit into 64-bit numbers"),
        ("--source graded --method linear --length 4", "needs an exchangeable source"),
    ],
)
def test_careless_input_gets_one_sentence_and_leaves_nothing_behind(refuses, flags, sentence):
    refuses(f"spectrum {flags}", sentence)


def test_a_large_vocabulary_of_the_linear_model_is_sampled(run_json):
    found = run_json("spectrum", "--vocab", "500", "--length", "3", "--max-level", "1", "--sequences", "4")
    assert found["lengths"][0]["method"] == "rayleigh"
    assert found["crossover"] == pytest.approx(500**3)


@pytest.mark.parametrize("more", [["--s-1", "0"], ["--s-p", "0"], ["--vocab", "1"]], ids=["zero", "no positions", "one token"])
def test_poor_kernels_are_no_failure(run_json, more):
    found = run_json("spectrum", "--lengths", "1", "4", *more)
    assert found["crossover"] is None
    assert all(fit["family"] == "[L]" for fit in found["exponents"])
