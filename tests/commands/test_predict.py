"""specht predict from flags to files."""

from __future__ import annotations

import csv
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import xarray

import specht
from specht.commands.app import main
from specht.commands.predict.compute import QUICK_VOCAB, QUICK_VOCAB_MEAN
from specht.learning.adaptive import adaptive_curve
from specht.learning.curves import theory_curve
from specht.learning.target_content import leading_modes
from specht.sequences.tasks import TASKS, Task, shifted

README = Path(__file__).parents[2] / "README.md"
SMALL = ["predict", "--vocab", "3", "--length", "6", "--n-train", "16", "64", "256", "--ridge", "0.5"]


def test_writes_what_it_says(capsys, tmp_path):
    assert main([*SMALL, "--width", "infinite"]) == 0
    out = capsys.readouterr().out
    for words in ("out of distribution", "[5,1]", "samples N*", "An error of 10 % of the target's variance needs about", "(level 1: "):
        assert words in out
    (folder,) = (tmp_path / "specht-results").iterdir()
    names = ["config.json", "prediction.csv", "prediction.nc", "report.html", "result.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    for name in names[1:4]:
        assert str(folder.relative_to(tmp_path) / name) in out


def test_the_readme_shows_what_is_printed(capsys):
    assert main(["predict"]) == 0
    printed = capsys.readouterr().out.splitlines()
    text = README.read_text(encoding="utf-8")
    table = text[text.index("    level  irrep") :].split("\n\n")[0].splitlines()
    assert len(table) == 3
    for line in table:
        assert line.removeprefix("    ") in printed


def test_json_is_the_contract_and_the_library(run_json):
    found = run_json(*SMALL, "--seed", "3")
    assert {"command", "config", "seed", "version", "report", "data", "n_train", "theory", "gp", "net", "complexity"} <= set(found)
    assert found["gp"] is None
    source, arch = specht.sources.default_mixture(3, seed=3), specht.Architecture(vocab=3, length=6)
    spec = specht.spectrum(arch, source)
    curve = theory_curve(spec, Task(source, leading_modes(spec), shifted(source, "reweighted")), [16, 64, 256], 0.5)
    for loss in ("test", "train", "ood"):
        np.testing.assert_allclose(found["theory"][loss], getattr(curve, loss), rtol=1e-10)
    assert [need["irrep"] for need in found["complexity"]] == ["[6]", "[5,1]"]


def test_checks_against_exact_inference(run_json, capsys):
    flags = [*SMALL, "--check", "gp", "--datasets", "10", "--check-n", "64"]
    found = run_json(*flags)
    assert found["gp"]["n_train"] == [16, 64]
    assert found["gp"]["mean_relative_error"]["test"] < 0.3
    assert all(error > 0 for error in found["gp"]["test_stderr"])
    assert main(flags) == 0
    assert "Exact inference on 10 data sets is within" in capsys.readouterr().out
    with open(found["csv"], encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["gp_test"] != "" for line in lines] == [True, True, False]
    with xarray.open_datatree(found["data"], engine="h5netcdf") as data:
        np.testing.assert_allclose(data["theory"]["test"], found["theory"]["test"])
        assert data["theory"]["n_train"].values.tolist() == [16, 64, 256]
        assert data["gp"]["n_train"].values.tolist() == [16, 64]


@pytest.mark.parametrize("kind", [pytest.param("nngp", marks=pytest.mark.slow), "ntk"])
def test_checks_against_networks(kind, run_json, capsys):
    flags = ["predict", "--vocab", "2", "--length", "3", "--source", "uniform", "--target", "level", "--support", "1"]
    flags += ["--n-train", "8", "64", "--kind", kind, "--check", "net", "--width", "8", "--net-n", "8", "--net-datasets", "2"]
    found = run_json(*flags)
    net = found["net"]
    assert net["n_train"] == [8]
    assert net["size"] == {"width": 8, "heads": 4, "head_size": 4}
    assert all(value > 0 for value in net["test"])
    assert np.allclose(net["excess"], np.array(net["test"]) / net["exact_test"] - 1.0)
    assert (net["r_hat"] is not None) == (kind == "nngp")
    assert (net["regime"] is not None) == (kind == "ntk")
    assert (found["finite"] is None) == (kind == "ntk")
    with open(found["csv"], encoding="utf-8") as file:
        assert [line["net_test"] != "" for line in csv.DictReader(file)] == [True, False]
    with open(found["report"], encoding="utf-8") as file:
        report = file.read()
    assert "Finite networks, test loss" in report
    assert main(flags) == 0
    out = capsys.readouterr().out
    assert "Networks of width 8" in out
    assert ("test, width 8  networks" in out) == (kind == "nngp")


COPY = ["predict", "--vocab", "2", "--length", "16", "--source", "uniform", "--target", "level", "--support", "1", "--ridge", "0.1"]
COPY += ["--n-train", "16", "64", "256"]


def test_finite_widths_stand_beside_the_infinite_one(run_json, capsys):
    flags = [*COPY, "--width", "64", "16"]
    found = run_json(*flags)
    source, arch = specht.sources.uniform(2), specht.Architecture(vocab=2, length=16)
    task = Task(source, specht.targets.level(1, length=16, source=source))
    curve = adaptive_curve(arch, task, [16, 64, 256], width=[16, 64], ridge=0.1)
    finite = found["finite"]
    assert (finite["width"], finite["method"], found["finite_note"]) == ([16, 64], "exact", None)
    for name in ("test", "train", "learned", "ratios"):
        np.testing.assert_allclose(finite[name], getattr(curve, name), rtol=1e-10)
    assert finite["samples"] == pytest.approx([curve.samples_for(0.1, width) for width in (16, 64)])
    assert finite["transition"][0]["samples"] == pytest.approx(curve.transition(16).samples)
    assert finite["transition"][1] == {"samples": None, "kind": "none"}
    with open(found["csv"], encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    np.testing.assert_allclose([float(line["width_16_test"]) for line in lines], curve.test[0])
    with xarray.open_datatree(found["data"], engine="h5netcdf") as data:
        np.testing.assert_allclose(data["finite"]["ratios"].sel(width=64), curve.ratios[1])
        assert data["finite"]["names"].values.tolist() == list(curve.names)
    assert main(flags) == 0
    out = capsys.readouterr().out
    assert "N    test, width 16  test, width 64  infinite: test" in out
    assert "By theory transformers of widths 16 and 64 learn the target to an error of 10 % of its variance from about" in out
    assert "too optimistic where there are more positions than half the width, as at width 16 here" in out
    report = Path(found["report"]).read_text()
    assert "How much the positions that the target reads stand out" in report
    assert "Finite widths" in report


def test_width_64_is_there_unless_told(run_json, capsys):
    found = run_json(*COPY)
    assert (found["config"]["width"], found["finite"]["width"]) == (None, [64])
    assert run_json(*COPY, "--width", "infinite")["finite"] is None
    given = run_json(*COPY, "--width", "64")
    assert (given["finite"], given["report"] == found["report"]) == (found["finite"], False)


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--kind", "ntk"], "Finite width is left out: its theory is Bayesian and knows no --kind ntk."),
        (["--ridge", "0"], "Finite width is left out: its theory takes a ridge, and --ridge is 0."),
        (["--preset", "softmax", "--length", "4"], "takes a kernel in closed form, as linear attention has it, or --scaling tied."),
        (["--activation", "erf"], "not exact here and takes a minute of sampling; add --width 64 to have it."),
        (["--length", "4", "--vocab", str(QUICK_VOCAB + 1), "--target", "counts"], "its theory takes a while; add --width 64 to have it."),
        (
            ["--length", "4", "--vocab", str(QUICK_VOCAB_MEAN + 1), "--target", "counts", "--readout", "mean"],
            "takes a while; add --width 64 to have it.",
        ),
    ],
)
def test_finite_width_is_left_out_with_a_sentence(flags, why, run_json, capsys):
    small = ["predict", "--length", "6", "--vocab", "2", "--source", "uniform", "--target", "counts", "--n-train", "16"]
    kept = [word for flag, word in zip(small[1::2], small[2::2], strict=True) if flag not in flags for word in (flag, word)]
    found = run_json("predict", *kept, *flags)
    assert found["finite"] is None
    assert found["finite_note"].endswith(why)
    assert main(["predict", *kept, *flags]) == 0
    assert found["finite_note"] in capsys.readouterr().out


def test_a_sampled_theory_ends_where_its_sequences_do(run_json, capsys):
    flags = ["predict", "--vocab", "2", "--length", "4", "--activation", "erf", "--source", "uniform", "--target", "counts"]
    found = run_json(*flags, "--n-train", "64", "256", "1024", "--width", "32")
    assert found["finite"]["method"] == "sampled"
    assert found["finite"]["n_train"] == [64, 256]
    assert "ends at N = 256" in found["finite_note"]
    assert all(value > 0 for line in found["finite"]["stderr"] for value in line)
    with xarray.open_datatree(found["data"], engine="h5netcdf") as data:
        assert dict(data["finite"]["test"].sizes) == {"width": 1, "n_train": 2}
    with open(found["csv"], encoding="utf-8") as file:
        assert [line["width_32_test"] != "" for line in csv.DictReader(file)] == [True, True, False]
    assert "How variances grow" in Path(found["report"]).read_text()  # the target reads no position


def test_phases_are_computed_row_by_row_and_kept(run_json, tmp_path, monkeypatch):
    flags = ["predict", "--vocab", "2", "--length", "4", "--source", "uniform", "--target", "and", "--n-train", "8", "128", "--phases"]
    found = run_json(*flags, "--width", "16", "--workers", "0")
    phases = found["phases"]
    assert (phases["n_train"][0], phases["n_train"][-1], phases["at_width"]) == (8, 128, 16)
    assert phases["by_width"]["width"] == [8, 16, 32, 64, 128, 256, 512]
    assert phases["by_length"]["length"] == [2, 4, 8, 16]
    np.testing.assert_allclose(phases["by_width"]["test"][1], phases["by_length"]["test"][1])  # width 16 at length 4, computed once
    assert len(list((tmp_path / "specht-results" / "jobs").rglob("*.nc"))) == 7 + 4 - 1
    with xarray.open_datatree(found["data"], engine="h5netcdf") as data:
        np.testing.assert_allclose(data["phases/by_width"]["learned"].sel(width=16), phases["by_width"]["learned"][1])
    report = Path(found["report"]).read_text()
    assert "Phases: samples and width" in report
    assert "Phases: samples and length" in report
    monkeypatch.setattr("specht.commands.predict.phases.measure_row", lambda **_: pytest.fail("computed again"))
    again = run_json(*flags, "--width", "16", "--workers", "0", "--error", "0.2")  # another question about the same cells
    assert again["phases"] == phases


def test_a_function_of_ones_own_may_say_what_it_reads(run_json, refuses, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python itself would leave a folder
    code = "def mine(x):\n    return x[:, :12] @ [9.0, 8.0, *[1.0 + place for place in range(10)]]\n"
    (tmp_path / "myreads.py").write_text(code)
    (tmp_path / "mytwo.py").write_text(f"{code}mine.reads = (0, 1)\n")
    (tmp_path / "mywrong.py").write_text(f"{code}mine.reads = (0, 99)\n")
    flags = ["predict", "--vocab", "2", "--length", "12", "--source", "uniform", "--n-train", "8", "32", "--width", "32"]
    refuses([*flags, "--target", "myreads:mine", "--phases"], "as an attribute of your function, function.reads = (0, 1)")
    refuses([*flags, "--target", "mywrong:mine"], "mywrong:mine.reads must be positions from 0 to 11, for example (0, 1), got (0, 99).")
    names = run_json(*flags, "--target", "mytwo:mine")["finite"]["names"]
    assert [name for name in names if name.startswith("position")] == ["position 0", "position 1"]


def test_a_function_of_ones_own_has_phases_at_its_length_alone(run_json, tmp_path):
    (tmp_path / "myphase.py").write_text("def first(x):\n    return (x[:, 0] == 1) * 1.0\n")
    flags = ["predict", "--vocab", "2", "--length", "4", "--source", "uniform", "--target", "myphase:first", "--n-train", "8", "32"]
    found = run_json(*flags, "--phases", "--workers", "0")
    assert found["phases"]["by_length"] is None


def test_broken_order_is_told_with_its_gap(run_json, capsys):
    flags = [
        "predict",
        "--vocab",
        "3",
        "--length",
        "4",
        "--n-train",
        "32",
        "--target",
        "counts",
        "--breaking",
        "0",
        "0.8",
        "--datasets",
        "4",
    ]
    found = run_json(*flags)
    first, second = found["breaking"]
    assert first["gap"]["value"] < 1e-10 < second["gap"]["value"]
    assert all(each["stderr"] > 0 for each in found["breaking"])
    assert main(flags) == 0
    assert "theory off by" in capsys.readouterr().out


def test_a_source_with_order_shows_its_gap(run_json):
    found = run_json(*SMALL, "--source", "graded", "--epsilon", "0.5")
    assert found["source"]["gap"]["value"] > 1e-3
    assert "total variation" in Path(found["report"]).read_text()


@pytest.mark.parametrize("target", ["counts", "next-token", "level", "and", "or", "majority", "parity"])
def test_every_named_target(run_json, target):
    found = run_json(*SMALL, "--target", target)
    assert found["target"]["mean_square"] > 0
    assert all(value is not None for value in found["theory"]["test"])


def test_a_function_of_ones_own(run_json, tmp_path):
    (tmp_path / "mytask.py").write_text("def first(x):\n    return (x[:, 0] == 1) * 1.0\n")
    found = run_json(*SMALL, "--target", "mytask:first")
    assert found["target"]["name"] == "mytask:first"
    assert found["target"]["levels"][1]["mean_square"] > 0.01


def test_an_edited_function_is_computed_again(run_json, tmp_path):
    for token in (1, 2):
        (tmp_path / "edited.py").write_text(f"def f(x):\n    return (x[:, 0] == {token}) * 1.0\n")
        sys.modules.pop("edited", None)
        found = run_json(*SMALL, "--target", "edited:f")
    assert len(list((tmp_path / "specht-results").iterdir())) == 2
    assert found["target"]["mean_square"] != pytest.approx(0.0)


def test_figures_are_written_on_request(run_json, capsys):
    flags = [*SMALL, "--width", "infinite"]
    found = run_json(*flags)
    folder = Path(found["report"]).parent
    assert not list(folder.glob("figure-*"))
    run_json(*flags, "--figures", "png", "svg", "pdf")
    assert len(list(folder.glob("figure-*.png"))) == 4
    assert (folder / "figure-1-learning-curve.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "figure-1-learning-curve.pdf").read_bytes().startswith(b"%PDF")
    assert "<svg" in (folder / "figure-1-learning-curve.svg").read_text()


def test_a_complete_run_is_not_computed_again(run_json, monkeypatch):
    first = run_json(*SMALL)
    monkeypatch.setattr("specht.commands.predict.PredictCommand.compute", lambda *_: pytest.fail("computed again"))
    assert run_json(*SMALL) == first


@pytest.mark.parametrize(("flags", "left"), [([], []), (["--phases"], ["config.json"])])
def test_what_an_interrupt_leaves(flags, left, tmp_path, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("specht.commands.predict.PredictCommand.compute", interrupted)
    assert main([*SMALL, *flags]) == 130
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == left  # cells of phases are found again


def test_report_tells_how_to_get_it_again(run_json):
    report = Path(run_json(*SMALL)["report"]).read_text()
    assert "specht predict --vocab 3 --length 6 --n-train 16 64 256 --ridge 0.5" in report


def test_named_tasks(run_json, capsys):
    assert main(["predict", "--list-tasks"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(TASKS)
    found = run_json(*SMALL, "--task", "sparse-and")
    assert (found["source"]["name"], found["target"]["name"], found["shift"]) == ("sparse-and", "and of 3", "none")
    assert run_json(*SMALL, "--task", "new-components")["theory"]["ood"] is not None


BAD = {
    "Unknown task 'sparse-xor'": ["--task", "sparse-xor"],
    "--task counts says what --target says too": ["--task", "counts", "--target", "parity"],
    "--task sparse-and has none": ["--task", "sparse-and", "--breaking", "0", "1"],
    "--n-train must increase": ["--n-train", "64", "16"],
    "Unknown target 'party': did you mean 'parity'": ["--target", "party"],
    "Module 'nowhere' cannot be imported": ["--target", "nowhere:f"],
    "has no 'nothing'": ["--target", "math:nothing"],
    "failed on tokens": ["--target", "math:sqrt"],
    "names no function": ["--target", "math:"],
    "says nothing about --target counts": ["--target", "counts", "--support", "3"],
    "support must be a whole number from 1 to 6": ["--target", "parity", "--support", "9"],
    "token must be from 0 to 2": ["--target", "counts", "--token", "7"],
    "--check names gp twice": ["--check", "gp", "gp"],
    "--net-datasets describes networks": ["--net-datasets", "3"],
    "--width takes whole numbers from 2 on, or the word infinite, got 0": ["--width", "0"],
    "or the word infinite, got 3.5": ["--width", "3.5"],
    "or the word infinite, got 64,16": ["--width", "64,16"],
    "or the word infinite, got wide": ["--width", "64", "wide"],
    "--width names a value twice, got 64 16 64": ["--width", "64", "16", "64"],
    "--width is empty": ["--width"],
    "knows no --kind ntk": ["--width", "64", "--kind", "ntk"],
    "--phases asks for the theory of finite width, which takes a ridge": ["--phases", "--ridge", "0"],
    "--phases asks for the theory of finite width, which is Bayesian": ["--phases", "--kind", "ntk"],
    "say where phases are computed": ["--workers", "2"],
    "--width infinite leaves none": ["--phases", "--width", "infinite"],
    "which takes a ridge, and --ridge is 0": ["--width", "64", "--ridge", "0"],
    "takes one block, and there are 2: take --depth 1.": ["--width", "64", "--depth", "2"],
    "takes a kernel in closed form": ["--phases", "--preset", "softmax"],
    "takes positions that are learned, or none, not sinusoidal: take --positions learned.": ["--width", "64", "--positions", "sinusoidal"],
    "follows 256 samples here": ["--width", "64", "--activation", "erf", "--n-train", "512"],
    "--net-n 4 is less than": ["--check", "net", "--net-n", "4"],
    "does not turn tokens of shape": ["--target", "broken:late"],
    "give at least one value for each": ["--target", "broken:empty"],
    "The target is zero": ["--target", "broken:zero"],
    "A function of level 4 needs 8 positions": ["--target", "level", "--support", "4"],
    "--check-n 4 is less than": ["--breaking", "0", "1", "--check-n", "4"],
    "--ridge must": ["--ridge", "-1"],
    "--error must": ["--error", "1.5"],
    "--source uniform has none": ["--source", "uniform", "--breaking", "0", "1"],
    "--shift redrawn changes a mixture": ["--source", "uniform", "--shift", "redrawn"],
    "add --shift order-broken": ["--shift-epsilon", "0.4"],
    "--check-n 4 is less": ["--check", "gp", "--check-n", "4"],
    "changes when positions are permuted": ["--positions", "sinusoidal"],
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_one_sentence_and_leaves_nothing(words, refuses, monkeypatch):
    broken = types.ModuleType("broken")
    broken.late = lambda x: 1 / 0 if len(x) > 4 else x[:, 0]
    broken.empty = lambda x: np.zeros((len(x), 0))
    broken.zero = lambda x: np.zeros(len(x))
    monkeypatch.setitem(sys.modules, "broken", broken)
    flags = [flag for flag in SMALL if "--n-train" not in BAD[words] or flag not in ("--n-train", "16", "64", "256")]
    flags = flags if "--ridge" not in BAD[words] else flags[:-2]
    refuses([*flags, *BAD[words]], words)
