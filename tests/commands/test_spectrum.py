"""specht spectrum from flags to files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import specht
from specht.commands.app import main
from specht.commands.command import csv_of
from specht.commands.spectrum import ScalableArchitecture, SpectrumCommand, SpectrumConfig
from specht.commands.task_flags import SourceFlags
from specht.groups.partition import Partition
from specht.lab import store
from specht.trees import plain, rows

SMALL = ["spectrum", "--vocab", "3", "--lengths", "4", "8", "16"]
CONTRACT = ["spectrum", "--vocab", "2", "--length", "8", "--attention", "linear", "--activation", "erf", "--s-w", "0.5", "--s-p", "1"]
COLUMNS = ("irrep", "level", "copy", "degeneracy", "eigenvalue", "stderr", "bound", "below_rounding", "lower_bound", "resolved")
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
    with xarray.open_datatree(found["data"], engine="h5netcdf") as data:
        np.testing.assert_array_equal(data["lengths/rows"]["eigenvalue"], rows)
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
    monkeypatch.setattr(SpectrumCommand, "compute", lambda *_: pytest.fail("computed again"))
    assert run_json(*SMALL) == first
    assert main(SMALL) == 0
    again = capsys.readouterr()
    assert again.out == table
    assert "computed before" in again.err


@pytest.mark.parametrize("name", ["csv", "report"])
def test_a_file_that_is_lost_is_made_again_from_the_data(run_json, monkeypatch, name):
    first = run_json(*SMALL)
    before = Path(first[name]).read_bytes()
    Path(first[name]).unlink()
    monkeypatch.setattr(SpectrumCommand, "compute", lambda *_: pytest.fail("computed again"))
    assert run_json(*SMALL) == first
    assert Path(first[name]).read_bytes() == before


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


def compute(progress: Any = None, **fields: Any) -> xarray.DataTree:
    return SpectrumCommand().compute(SpectrumConfig(**fields), progress)


@pytest.fixture(scope="module")
def exact() -> xarray.DataTree:
    return compute(lengths=(4, 6, 9), architecture=ScalableArchitecture(vocab=2, activation="erf"))


@pytest.fixture(scope="module")
def sampled() -> xarray.DataTree:
    source = SourceFlags(source="graded", epsilon=0.5)
    return compute(lengths=(4, 6), architecture=ScalableArchitecture(vocab=3), source=source, max_level=1, sequences=8)


def test_summary_holds_the_spectra_of_the_library(exact):
    summary = plain(exact)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    for entry in summary["lengths"]:
        spectrum = specht.spectrum(specht.Architecture(vocab=2, length=entry["length"], activation="erf"))
        assert (entry["trace"], entry["method"]) == (spectrum.trace, "two tokens")
        assert [(row["irrep"], row["degeneracy"], row["eigenvalue"], row["bound"]) for row in entry["rows"]] == [
            (str(row.irrep), row.degeneracy, row.eigenvalue, row.bound) for row in spectrum.rows
        ]
        assert entry["trace"] == pytest.approx(sum(row["degeneracy"] * row["eigenvalue"] for row in entry["rows"]), rel=1e-12)
        for top in entry["top"]:
            row = spectrum.top(Partition.parse(top["irrep"]))
            assert (top["eigenvalue"], top["bound"]) == (row.eigenvalue, row.bound)
            assert top["ratio"] == pytest.approx(row.eigenvalue * row.degeneracy / spectrum.trace)
        assert entry["gap"] is entry["place"] is entry["trace_stderr"] is None


def test_exponents_are_slopes(exact):
    summary = plain(exact)
    fits = {fit["family"]: fit for fit in summary["exponents"]}
    assert list(fits) == ["[L]", "[L-1,1]", "[L-2,2]", "[L-3,3]"]  # [5,4] stands alone
    points = [(entry["length"], top["eigenvalue"]) for entry in summary["lengths"] for top in entry["top"] if top["family"] == "[L-1,1]"]
    slope, _ = np.polyfit(*np.log(points).T, 1)
    assert fits["[L-1,1]"]["raw"]["value"] == pytest.approx(slope)
    assert [(local["start"], local["stop"]) for local in fits["[L-1,1]"]["local"]] == [(4, 6), (6, 9)]
    assert fits["[L-3,3]"]["lengths"] == [6, 9]
    assert fits["[L-3,3]"]["raw"]["stderr"] is None


def test_linear_model_has_a_crossover():
    summary = plain(compute(lengths=(8, 64, 512)))
    assert summary["crossover"] == 64.0
    assert [entry["place"] for entry in summary["lengths"]] == ["well below", "around", "well beyond"]


def test_one_length_has_no_exponents():
    summary = plain(compute(architecture=ScalableArchitecture(length=5)))
    assert [entry["length"] for entry in summary["lengths"]] == [5]
    assert summary["exponents"] == []


def test_a_source_with_order_has_a_gap(sampled):
    summary = plain(sampled)
    assert summary["source"] == {"name": "graded", "exchangeable": False}
    assert summary["crossover"] is None
    source = specht.sources.graded_mixture(0.5, vocab=3)
    for entry in summary["lengths"]:
        assert entry["gap"]["value"] == specht.sources.exchangeability_gap(source, entry["length"]).value > 0
        assert entry["method"] == "rayleigh"
        assert entry["trace_stderr"] > 0
        assert all(row["stderr"] > 0 and not row["lower_bound"] for row in entry["rows"])  # without irreps there is nothing to bound


@pytest.mark.parametrize("name", ["exact", "sampled"])
def test_csv_has_a_line_a_row(name, request):
    data = request.getfixturevalue(name)
    lines = list(csv.DictReader(io.StringIO(csv_of(data, SpectrumCommand.csv))))
    assert list(lines[0]) == ["length", "method", *COLUMNS]
    rows = [(entry, row) for entry in plain(data)["lengths"] for row in entry["rows"]]
    assert len(lines) == len(rows)
    for line, (entry, row) in zip(lines, rows, strict=True):
        assert (int(line["length"]), line["method"]) == (entry["length"], entry["method"])
        assert (line["irrep"], int(line["degeneracy"])) == (row["irrep"], row["degeneracy"])
        assert float(line["eigenvalue"]) == row["eigenvalue"]
        assert line["stderr"] == ("" if row["stderr"] is None else repr(row["stderr"]))


@pytest.mark.parametrize("name", ["exact", "sampled"])
def test_tree_comes_back_from_its_file(name, request, tmp_path):
    data = request.getfixturevalue(name)
    store.save_tree(data, tmp_path / "spectrum.nc")
    with xarray.open_datatree(tmp_path / "spectrum.nc", engine="h5netcdf") as kept:
        assert plain(kept) == plain(data)
        table, lengths = kept["lengths/rows"].to_dataset(), kept["lengths"].to_dataset()
        assert table["eigenvalue"].dims == ("rows",)
        rows = [row for entry in plain(data)["lengths"] for row in entry["rows"]]
        np.testing.assert_array_equal(table["eigenvalue"], [row["eigenvalue"] for row in rows])
        assert table["irrep"].values.tolist() == [row["irrep"] for row in rows]
        assert lengths["method"].values.tolist() == [entry["method"] for entry in plain(data)["lengths"]]
        assert not table["lower_bound"].values.any()
        assert np.isnan(table["stderr"]).values.all() == (name == "exact")
        share = table["degeneracy"] * table["eigenvalue"]
        if name == "exact":
            np.testing.assert_allclose(share.groupby(table["length"]).sum(), lengths["trace"], rtol=1e-12)
        exponents = [fit["raw"]["value"] for fit in plain(data)["exponents"]]
        np.testing.assert_array_equal(kept["exponents"]["raw.value"], exponents)


def test_degeneracies_beyond_64_bits_are_kept(tmp_path):
    data = compute(architecture=ScalableArchitecture(length=10**20), max_level=1)
    store.save_tree(data, tmp_path / "spectrum.nc")
    with xarray.open_datatree(tmp_path / "spectrum.nc", engine="h5netcdf") as kept:
        assert rows(kept["lengths/rows"])[-1].degeneracy == 10**20 - 1
        assert plain(kept)["lengths"][0]["rows"][-1]["degeneracy"] == 10**20 - 1
    *_, line = csv.DictReader(io.StringIO(csv_of(data, SpectrumCommand.csv)))
    assert line["degeneracy"] == str(10**20 - 1)


def test_progress_goes_from_nothing_to_all():
    calls: list[tuple[int, int]] = []
    architecture = ScalableArchitecture(vocab=2, activation="erf")
    compute(lambda done, total: calls.append((done, total)), lengths=(4, 6), architecture=architecture)
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, calls[0][1])
    assert len({total for _, total in calls}) == 1
    assert len(calls) > 4


def test_progress_covers_a_source_with_order_too():
    calls: list[tuple[int, int]] = []
    compute(
        lambda done, total: calls.append((done, total)),
        lengths=(3, 4),
        architecture=ScalableArchitecture(vocab=2),
        source=SourceFlags(source="graded"),
        max_level=1,
        sequences=4,
    )
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, calls[0][1])
    assert done[-2] < done[-1]  # the distances from exchangeable come last


def test_the_longest_is_tried_first(monkeypatch):
    asked: list[int] = []

    def refuse(arch, *_, **__):
        asked.append(arch.length)
        raise specht.InputError("too long")

    monkeypatch.setattr("specht.spectra.spectrum", refuse)
    with pytest.raises(specht.InputError, match="too long"):
        compute(lengths=(4, 6))
    assert asked == [6]
