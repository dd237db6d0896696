"""specht kernel from flags to files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import xarray
from hypothesis import given, strategies as st

import specht
from specht.commands.app import main
from specht.commands.kernel import KernelCommand, KernelConfig
from specht.errors import InputError
from specht.lab.config import ArchitectureFlags
from specht.presets import PRESETS, preset
from specht.report import Report, render
from specht.trees import tree

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
    monkeypatch.setattr(KernelCommand, "compute", lambda *_: pytest.fail("computed again"))
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


def config(**flags) -> KernelConfig:
    return KernelConfig(architecture=ArchitectureFlags(**flags))


def test_digest_is_stable():
    # This number names folders on people's disks: it may change only when results do.
    assert KernelConfig().digest() == "c3f12ea4b44d"


def test_digest_depends_on_what_decides_the_numbers():
    same = [config(), config(preset="simplified"), config(arch="V=4 L=16"), config(s_p=1.0)]
    assert len({each.digest() for each in same}) == 1
    other = [
        config(preset="lecun"),
        config(length=8),
        KernelConfig(n=3),
        KernelConfig(seed=1),
        KernelConfig(kind="ntk"),
    ]
    assert len({each.digest() for each in [config(), *other]}) == len(other) + 1


def test_digest_names_heads_where_heads_are_sampled():
    closed = [KernelConfig(), KernelConfig(heads=9), KernelConfig(relative_error=0.1)]
    assert len({each.digest() for each in closed}) == 1
    softmax = ArchitectureFlags(preset="softmax")
    sampled = [KernelConfig(architecture=softmax, **fields) for fields in ({}, {"heads": 9}, {"relative_error": 0.1}, {"seed": 1})]
    assert len({each.digest() for each in sampled}) == 4
    # given heads, no error is aimed at
    assert KernelConfig(architecture=softmax, heads=9, relative_error=0.1).digest() == sampled[1].digest()


def test_digest_reads_the_tokens_and_not_their_path(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 17), dtype=int))
    np.save(tmp_path / "b.npy", np.zeros((2, 17), dtype=int))
    np.save(tmp_path / "c.npy", np.ones((2, 17), dtype=int))
    a, b, c = (KernelConfig(tokens=tmp_path / name).digest() for name in ("a.npy", "b.npy", "c.npy"))
    assert a == b != c
    assert KernelConfig(tokens=tmp_path / "a.npy", seed=5).digest() == a  # nothing is drawn


def test_missing_tokens_are_a_sentence(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        KernelConfig(tokens=tmp_path / "none.npy").digest()


flags = st.builds(
    ArchitectureFlags,
    preset=st.sampled_from([None, *PRESETS]),
    length=st.one_of(st.none(), st.integers(1, 99)),
    s_p=st.one_of(st.none(), st.floats(0.01, 10)),
    causal=st.sampled_from([None, True, False]),
    norm=st.sampled_from([None, "pre", "post"]),
)


@given(
    st.builds(KernelConfig, architecture=flags, n=st.integers(1, 9), kind=st.sampled_from(["nngp", "ntk", "both"]), seed=st.integers(0, 9))
)
def test_flags_give_the_same_configuration_back(given_config):
    import cyclopts

    from specht.commands.app import app

    try:
        _, bound, _ = app.parse_args(["kernel", *given_config.flags()], exit_on_error=False, print_error=False)
    except cyclopts.CycloptsError as error:
        raise AssertionError(given_config.flags()) from error
    assert bound.kwargs.get("config", KernelConfig()) == given_config


NUMBERS_OF_ALL = {
    "shape": [2, 2],
    "cpu_seconds": 0.5,
    "wall_seconds": 0.25,
    "peak_memory_bytes": 2**20,
    "eigenvalue_rows": 2,
    "rounding": 1e-12,
    "ntk_over_nngp": None,
}
GRAM = np.array([[2.0, 1.0], [1.0, 2.0]])
NUMBERS = {"form": "a form", "trace": 4.0, "smallest_eigenvalue": 1.0, "largest_eigenvalue": 3.0, "rank": 2, "effective_rank": 1.6}


def arrays_of(arch: Architecture) -> dict:
    tokens = np.zeros((2, arch.columns), dtype=int)
    eigenvalues = np.array([3.0, 1.0])
    return {
        "tokens": (("sequence", "column"), tokens),
        "nngp": (("sequence", "other"), GRAM),
        "nngp_eigenvalues": (("index",), eigenvalues),
    }


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("name", PRESETS)
def test_kernel_report_of_every_preset(name, sampled):
    arch = preset(name, vocab=2, length=3)
    error = {"relative_stderr": 0.012, "heads": 64} if sampled else {"relative_stderr": None, "heads": None}
    summary = NUMBERS_OF_ALL | {"architecture": str(arch), "kernels": {"nngp": NUMBERS | error}}
    arrays = {
        "tokens": (("sequence", "column"), np.zeros((2, arch.columns), dtype=int)),
        "nngp": (("sequence", "other"), GRAM),
        "nngp_eigenvalues": (("index",), np.array([3.0, 1.0])),
    }
    report = Report(**vars(KernelCommand().page(tree(summary | arrays))), reproduce="specht kernel", made_with={})
    assert report.answer.startswith("The NNGP kernel gives these 2 sequences 2 directions above rounding")
    assert "75 % of the trace" in report.answer
    assert ("64 sampled heads with a relative standard error of 1.2 %" in report.answer) == sampled
    assert str(arch) in re.sub(r"<script.*?</script>", "", render(report), flags=re.DOTALL)


def test_values_without_positions_have_a_covariance_of_their_own():
    arch = preset("simplified", vocab=2, length=3).replace(values_see_positions=False)
    summary = NUMBERS_OF_ALL | {"architecture": str(arch), "kernels": {"nngp": NUMBERS | {"relative_stderr": None, "heads": None}}}
    arrays = {
        "tokens": (("sequence", "column"), np.zeros((2, arch.columns), dtype=int)),
        "nngp": (("sequence", "other"), GRAM),
        "nngp_eigenvalues": (("index",), np.array([3.0, 1.0])),
    }
    formulas = [line for step in KernelCommand().page(tree(summary | arrays)).method for line in step.formulas]
    assert "values:  V_{ab}(x, y) = s_w [x_a = y_b]" in formulas
    assert "K¹_{ab} = Σ_{cd} E[ A_{ac}(x) A_{bd}(y) ] V_{cd}" in formulas
