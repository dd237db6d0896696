"""A run of several lengths: what it says is what the library computes."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
import xarray

import specht
from specht.groups.partitions import Partition
from specht.lab import store
from specht.lab.source_config import SourceFlags
from specht.lab.spectrum_config import ScalableArchitecture, SpectrumConfig
from specht.lab.spectrum_job import COLUMNS, SpectrumRun, run_spectrum


@pytest.fixture(scope="module")
def exact() -> SpectrumRun:
    return run_spectrum(SpectrumConfig(lengths=(4, 6, 9), architecture=ScalableArchitecture(vocab=2, activation="erf")))


@pytest.fixture(scope="module")
def sampled() -> SpectrumRun:
    source = SourceFlags(source="graded", epsilon=0.5)
    return run_spectrum(SpectrumConfig(lengths=(4, 6), architecture=ScalableArchitecture(vocab=3), source=source, max_level=1, sequences=8))


def test_summary_holds_the_spectra_of_the_library(exact):
    summary = exact.summary()
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
    summary = exact.summary()
    fits = {fit["family"]: fit for fit in summary["exponents"]}
    assert list(fits) == ["[L]", "[L-1,1]", "[L-2,2]", "[L-3,3]"]  # [5,4] stands alone
    points = [(entry["length"], top["eigenvalue"]) for entry in summary["lengths"] for top in entry["top"] if top["family"] == "[L-1,1]"]
    slope, _ = np.polyfit(*np.log(points).T, 1)
    assert fits["[L-1,1]"]["raw"]["value"] == pytest.approx(slope)
    assert [(local["start"], local["stop"]) for local in fits["[L-1,1]"]["local"]] == [(4, 6), (6, 9)]
    assert fits["[L-3,3]"]["lengths"] == [6, 9]
    assert fits["[L-3,3]"]["raw"]["stderr"] is None


def test_linear_model_has_a_crossover():
    summary = run_spectrum(SpectrumConfig(lengths=(8, 64, 512))).summary()
    assert summary["crossover"] == 64.0
    assert [entry["place"] for entry in summary["lengths"]] == ["well below", "around", "well beyond"]


def test_one_length_has_no_exponents():
    summary = run_spectrum(SpectrumConfig(architecture=ScalableArchitecture(length=5))).summary()
    assert [entry["length"] for entry in summary["lengths"]] == [5]
    assert summary["exponents"] == []


def test_a_source_with_order_has_a_gap(sampled):
    summary = sampled.summary()
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
    run = request.getfixturevalue(name)
    lines = list(csv.DictReader(io.StringIO(run.csv())))
    assert list(lines[0]) == ["length", "method", *COLUMNS]
    rows = [(entry["length"], row) for entry in run.summary()["lengths"] for row in entry["rows"]]
    assert len(lines) == len(rows)
    for line, (length, row) in zip(lines, rows, strict=True):
        assert (int(line["length"]), line["irrep"], int(line["degeneracy"])) == (length, row["irrep"], row["degeneracy"])
        assert float(line["eigenvalue"]) == row["eigenvalue"]
        assert line["stderr"] == ("" if row["stderr"] is None else repr(row["stderr"]))


@pytest.mark.parametrize("name", ["exact", "sampled"])
def test_dataset_round_trips_with_names(name, request, tmp_path):
    run = request.getfixturevalue(name)
    dataset = run.dataset({"seed": 0})
    store.save_dataset(dataset, tmp_path / "spectrum.nc")
    with xarray.open_dataset(tmp_path / "spectrum.nc", engine="h5netcdf") as found:
        assert found["eigenvalue"].dims == ("row",)
        assert {"length", "irrep", "level", "context_length", "family"} <= set(found.coords)
        np.testing.assert_array_equal(found["eigenvalue"], [line["eigenvalue"] for line in run.lines()])
        assert found["irrep"].values.tolist() == [line["irrep"] for line in run.lines()]
        assert found["method"].values.tolist() == [spectrum.method for spectrum in run.spectra]
        assert not found["lower_bound"].values.any()
        assert np.isnan(found["stderr"]).values.all() == (name == "exact")
        share = found["degeneracy"] * found["eigenvalue"]
        if name == "exact":
            np.testing.assert_allclose(share.groupby("length").sum(), found["trace"], rtol=1e-12)
        np.testing.assert_array_equal(found["raw_exponent"], [fit["raw"]["value"] for fit in run.summary()["exponents"]])


def test_degeneracies_beyond_64_bits_are_kept():
    run = run_spectrum(SpectrumConfig(architecture=ScalableArchitecture(length=10**20), max_level=1))
    assert run.lines()[-1]["degeneracy"] == 10**20 - 1
    assert run.dataset({})["degeneracy"].values.max() == pytest.approx(1e20)


def test_progress_goes_from_nothing_to_all():
    calls: list[tuple[int, int]] = []
    architecture = ScalableArchitecture(vocab=2, activation="erf")
    run_spectrum(SpectrumConfig(lengths=(4, 6), architecture=architecture), lambda done, total: calls.append((done, total)))
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, calls[0][1])
    assert len({total for _, total in calls}) == 1
    assert len(calls) > 4


def test_progress_covers_a_source_with_order_too():
    calls: list[tuple[int, int]] = []
    config = SpectrumConfig(
        lengths=(3, 4),
        architecture=ScalableArchitecture(vocab=2),
        source=SourceFlags(source="graded"),
        max_level=1,
        sequences=4,
    )
    run_spectrum(config, lambda done, total: calls.append((done, total)))
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, calls[0][1])
    assert done[-2] < done[-1]  # the distances from exchangeable come last


def test_the_longest_is_tried_first(monkeypatch):
    asked: list[int] = []

    def refuse(arch, *_, **__):
        asked.append(arch.length)
        raise specht.InputError("too long")

    monkeypatch.setattr("specht.symmetry.solve.spectrum", refuse)
    with pytest.raises(specht.InputError, match="too long"):
        run_spectrum(SpectrumConfig(lengths=(4, 6)))
    assert asked == [6]
