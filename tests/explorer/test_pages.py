"""What pages show: the reports of the command line, for parameters that a page has."""

from __future__ import annotations

import itertools
import random
import re
import shlex

import pytest

from specht.commands.app import app as command_line
from specht.errors import InputError
from specht.explorer import reports, texts
from specht.explorer.state import CurvePage, SpectrumPage, TargetPage, TextPage
from specht.report import Report


def points(report: Report, plot: int) -> list:
    """Values of all curves of a figure."""
    return [list(trace.y) for trace in report.plots[plot].figure.data]


def test_a_curve_is_that_of_the_command_line():
    page = CurvePage(length=8, s_w=2.0, ridge=0.1, target="counts", shift="redrawn")
    report = reports.curve_report(page)
    expected = "specht predict --length 8 --s-w 0.5 --target counts --shift redrawn --width infinite --ridge 0.1"
    assert report.reproduce == expected
    _, bound, _ = command_line.parse_args(shlex.split(report.reproduce)[1:])
    assert bound.arguments["config"].identity() == reports.curve_config(page).identity()


def test_moving_a_parameter_moves_the_curve():
    first, second = (points(reports.curve_report(CurvePage(length=length)), 0)[0] for length in (8, 12))
    assert first != second
    assert all(later < earlier for earlier, later in itertools.pairwise(first))  # more samples, less loss


def test_the_curve_follows_the_width():
    config = reports.curve_config(CurvePage(width=64))
    assert config.widths == [64]
    assert reports.curve_config(CurvePage()).widths == []
    page = CurvePage(length=4, vocab=2, width=16, activation="erf", target="counts")
    report = reports.curve_report(page)
    assert "width 16" in [trace.name for trace in report.plots[0].figure.data]
    assert "--width 16" in report.reproduce
    assert "a transformer of width 16" in report.answer


def test_exact_points_come_on_demand():
    page = CurvePage(length=4, vocab=2)
    plain, checked = reports.curve_report(page), reports.curve_report(page, ("gp",))
    assert len(points(checked, 0)) == len(points(plain, 0)) + 2  # test and train
    assert checked.reproduce == "specht predict --vocab 2 --length 4 --shift none --width infinite --check gp --datasets 8 --check-n 256"
    assert "Exact inference" in checked.answer


def test_networks_are_small_here():
    config = reports.curve_config(CurvePage(attention="softmax"), ("gp", "net"))
    assert (config.networks.net_n, config.heads, config.check) == (reports.NET_N, reports.HEADS, ("gp", "net"))
    assert "minutes" in reports.busy(("net",))
    assert reports.busy(()) != reports.busy(("gp",))


def test_checks_belong_to_the_parameters_they_were_asked_for():
    asked, page, other = reports.ChecksWanted(), CurvePage(), CurvePage(length=8)
    assert asked.on(page, {"gp": False, "net": False}) == ()
    assert asked.on(page, {"gp": False, "net": True}) == ("net",)
    assert asked.on(page, {"gp": True, "net": False}) == ("gp", "net")
    assert asked.on(page, {"gp": False, "net": False}) == ("gp", "net")
    assert asked.on(other, {"gp": False, "net": False}) == ()
    asked.on(other, {"gp": True, "net": False})
    asked.clear()
    assert asked.on(other, {"gp": False, "net": False}) == ()


def test_spectra_have_diagrams_and_the_crossover():
    shown = reports.length_report(SpectrumPage(longest=128))
    against_length, normalised, _ = shown.report.plots
    assert [str(shape) for shape, _ in shown.irreps] == ["[128]", "[127,1]"]
    assert len(against_length.figure.layout.images) == len(normalised.figure.layout.images) == 2
    assert "crossover L* = 64" in normalised.caption  # V^3 at the default variances
    assert normalised.figure.layout.shapes[0].x0 == 64.0
    assert shown.report.reproduce == "specht spectrum --lengths 4 8 16 32 64 128"


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (SpectrumPage(longest=16), "The crossover L* = 64 lies beyond this figure."),
        (SpectrumPage(longest=8, vocab=2, s_p=0.1), "lies below this figure."),
        (SpectrumPage(longest=8, vocab=2, activation="erf"), "Only linear models have a known crossover"),
    ],
)
def test_a_crossover_that_is_not_seen_is_spoken_of(page, said):
    assert said in reports.length_report(page).report.plots[1].caption


def test_a_profile_is_that_of_the_command_line():
    report = reports.level_report(TargetPage(samples=500, length=8))
    assert report.reproduce == "specht profile parity --length 8 --support 3 --samples 500"
    assert "level 3" in report.answer
    assert reports.profile_config(TargetPage(target="counts")).support is None


def prose(words: int = 4000) -> str:
    """Sentences about one of two subjects each, so that words of a window go together in whatever order."""
    rng = random.Random(0)
    subjects = (["rain", "cloud", "wind", "sky"], ["loss", "kernel", "noise", "width"])
    lines = [" ".join(rng.choices(rng.choice(subjects), k=40)) for _ in range(words // 40)]
    return "\n".join(lines)


def test_pasted_text_gets_a_score_with_an_interval():
    report = texts.text_report(TextPage(length=8, vocab=10), prose())
    assert report.reproduce == "specht symmetry FILE --tokens word --length 8 --no-nulls"  # it has 8 types, fewer than 10
    assert "%" in report.answer
    score = next(table for table in report.tables if table.title == "Scores")
    assert score.rows[0][0] == "pasted text"


def test_progress_of_a_score_is_told():
    seen = []
    texts.text_report(TextPage(length=8, vocab=10), prose(1000), lambda done, total: seen.append(done / total))
    assert seen[-1] == 1.0


@pytest.mark.parametrize(
    ("page", "text", "sentence"),
    [
        (TextPage(), " \n", "There is no text yet: paste one of some thousand words, or choose a corpus."),
        (TextPage(), "a b " * (texts.LONGEST // 2), "characters, more than 5000000: score the file with `specht symmetry FILE`."),
        (TextPage(corpus="/etc/passwd"), "", "The corpus '/etc/passwd' is not on this machine: choose one of the list."),
        (TextPage(), "too short", "window"),
        (TextPage(), "again " * 5000, "The corpus has one type of token only"),
    ],
)
def test_bad_text_is_refused_with_a_sentence(page, text, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        texts.text_report(page, text)


def test_the_corpora_are_those_of_this_machine(monkeypatch):
    monkeypatch.delenv("SPECHT_DATA", raising=False)
    assert texts.corpora()[:2] == [texts.PASTED, "stdlib"]
