"""specht kernel from flags to files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray

import specht
from specht.cli import main

SMALL = ["kernel", "--n", "8", "--length", "4", "--vocab", "3"]


def test_writes_what_it_says(capsys, tmp_path):
    assert main([*SMALL, "--npz"]) == 0
    out = capsys.readouterr().out
    for word in ("architecture", "form", "CPU time", "peak memory", "standard error", "trace", "effective rank", "NTK / NNGP"):
        assert word in out
    (folder,) = (tmp_path / "specht-results").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "kernel.nc", "kernel.npz", "report.html", "result.json"]
    assert str(folder.relative_to(tmp_path) / "report.html") in out


def test_json_is_one_object_with_the_numbers(run_json):
    found = run_json(*SMALL)
    assert {"command", "config", "seed", "version", "report", "data"} <= set(found)
    assert (found["command"], found["seed"], found["version"]) == ("kernel", 0, specht.__version__)
    assert found["config"]["architecture"] == "V=3 L=4 | pos=learned(1.0) | linear/sqrt | linear | last"
    assert found["shape"] == [8, 8]
    assert found["ntk_over_nngp"] == pytest.approx(9, abs=1e-12)
    for kernel in found["kernels"].values():
        assert kernel["relative_stderr"] is None
        assert kernel["form"].startswith("closed")


def test_file_holds_the_kernel_of_the_tokens(run_json):
    found = run_json(*SMALL)
    kernel = specht.Kernel(specht.Architecture(vocab=3, length=4))
    with xarray.open_dataset(found["data"], engine="h5netcdf") as data:
        assert data["nngp"].dims == ("sequence", "other")
        assert data["tokens"].dims == ("sequence", "column")
        tokens = np.random.default_rng(0).integers(3, size=(8, 5))
        np.testing.assert_array_equal(data["tokens"], tokens)
        np.testing.assert_array_equal(data["nngp"], kernel.nngp(tokens))
        np.testing.assert_array_equal(data["ntk"], kernel.ntk(tokens))
        assert data.attrs["seed"] == 0
        assert data.attrs["version"] == specht.__version__
        assert np.trace(data["nngp"]) == pytest.approx(found["kernels"]["nngp"]["trace"])


def test_sampled_kernel_has_a_standard_error(run_json):
    found = run_json(*SMALL, "--preset", "softmax", "--kind", "nngp", "--heads", "256", "--npz")
    nngp = found["kernels"]["nngp"]
    assert nngp["heads"] == 256
    assert 0 < nngp["relative_stderr"] < 0.2
    assert nngp["form"].startswith("sampled")
    assert found["ntk_over_nngp"] is None
    with xarray.open_dataset(found["data"], engine="h5netcdf") as data:
        assert data["nngp_stderr"].shape == (8, 8)
        assert "ntk" not in data


def test_own_tokens(run_json, tmp_path):
    tokens = np.random.default_rng(5).integers(3, size=(6, 5))
    np.save(tmp_path / "mine.npy", tokens)
    found = run_json("kernel", "--length", "4", "--vocab", "3", "--tokens", "mine.npy")
    assert found["shape"] == [6, 6]
    with xarray.open_dataset(found["data"], engine="h5netcdf") as data:
        np.testing.assert_array_equal(data["tokens"], tokens)


def test_same_flags_give_the_same_numbers(run_json):
    first, second = run_json(*SMALL, "--out", "one"), run_json(*SMALL, "--out", "two")
    assert first["kernels"] == second["kernels"]
    assert (first["report"], second["report"]) == ("one/report.html", "two/report.html")


def test_a_complete_run_is_not_computed_again(run_json, capsys, monkeypatch, tmp_path):
    first = run_json(*SMALL)
    monkeypatch.setattr("specht.lab.gram_job.run_gram", lambda *_: pytest.fail("computed again"))
    assert run_json(*SMALL) == first
    assert main(SMALL) == 0
    assert "computed before" in capsys.readouterr().err


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(path.read_bytes()[:-1]), Path.unlink], ids=["cut off", "gone"])
def test_a_damaged_run_is_computed_again(run_json, damage):
    first = run_json(*SMALL)
    damage(Path(first["data"]))
    assert run_json(*SMALL)["kernels"] == first["kernels"]
    with xarray.open_dataset(first["data"], engine="h5netcdf") as data:
        assert np.trace(data["nngp"]) == pytest.approx(first["kernels"]["nngp"]["trace"])


@pytest.mark.parametrize("zero", [["--s-1", "0"], ["--s-2", "0", "--preset", "softmax", "--heads", "256"]])
def test_a_kernel_that_is_zero_is_said_to_be(run_json, zero):
    found = run_json(*SMALL, *zero)
    assert found["kernels"]["nngp"]["trace"] == found["kernels"]["nngp"]["effective_rank"] == 0
    assert "NNGP kernel is zero" in Path(found["report"]).read_text()


def test_other_results_are_not_overwritten(run_json, capsys, tmp_path):
    run_json(*SMALL, "--out", "here")
    before = (tmp_path / "here" / "kernel.nc").read_bytes()
    assert main([*SMALL, "--seed", "1", "--out", "here"]) == 2
    assert "another configuration" in capsys.readouterr().err
    assert (tmp_path / "here" / "kernel.nc").read_bytes() == before


def test_report_tells_how_to_get_it_again(run_json):
    found = run_json(*SMALL, "--arch", "V=3 L=4 | erf")
    report = Path(found["report"]).read_text()
    assert "specht kernel --arch &#39;V=3 L=4 | erf&#39; --vocab 3 --length 4 --n 8" in report


def test_an_architecture_without_a_limit_is_refused_and_leaves_nothing(capsys, tmp_path):
    assert main([*SMALL, "--positions", "rotary", "--out", "here"]) == 2
    assert "specht: " in capsys.readouterr().err
    assert not (tmp_path / "here").exists()
