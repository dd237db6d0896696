"""The page of `specht threshold` from results made up for it: found, not reached, below, fitted and not."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from toy_threshold import BOTH, result_of, tree_of

from specht.commands.threshold.page import answer, fit_rows, growth_plot, remarks, success_plot, threshold_page
from specht.report import Report, render
from specht.report.static import draw


@pytest.fixture(scope="module")
def both() -> SimpleNamespace:
    return result_of(BOTH)


def html_of(result: SimpleNamespace, reproduce: str = "") -> str:
    return render(Report(**vars(threshold_page(result)), reproduce=reproduce, made_with={"seed": "0"}))


def test_data_hold_every_batch_of_trials():
    data = tree_of(BOTH)
    assert data["points"]["T"].values.tolist() == [25, 50, 100, 200] * 2
    tried = data["points/tried"]
    first = (tried["learner"] == "transformer") & (tried["T"] == 25)
    assert tried["m"].values[first].tolist() == [24, 37]
    assert tried["accuracy"].values[first].tolist() == [0.9, 1.0]
    assert data["fits/transformer/laws/log/m"].dims == ("T",)


def test_answer(both):
    said = answer(both)
    assert "The transformer learns it from m = 31 (27.9 to 34.1) samples at T = 25 and 64 (57.6 to 70.4) at T = 200; growth: " in said
    assert "sub-linear, log and T^a not separated at this scale." in said
    assert "The perceptron's NTK limit learns it from m = 125 (112 to 138) samples at T = 25; not reached by m = 1024 at T = 200" in said
    never = result_of({"transformer": [(25, 900.0, "not reached")]})
    assert answer(never) == "The transformer does not learn it at any T: not reached by m = 1024."
    below = result_of({"transformer": [(25, 3.0, "below"), (50, 9.0, "found")]})
    assert "learns it from m = at most 8 samples at T = 25 and 9 (8.1 to 9.9) at T = 50." in answer(below)
    assert "T = 200 was not reached and is left out: growth is at least this." in said
    assert said.count("left out") == 1
    rows = [*BOTH["perceptron-ntk"], (400, 900.0, "not reached")]
    assert answer(result_of({"perceptron-ntk": rows})).endswith("T = 200, 400 were not reached and are left out: growth is at least this.")


def test_finite_width_has_its_place_everywhere():
    sizes = {"transformer-width-16": [(25, 90.0, "found"), (50, 150.0, "found"), (100, 250.0, "found")]}
    result = result_of(BOTH | sizes)
    name = "The theory of a linear-attention block of width 16"
    assert f"{name} learns it from m = 90 (81 to 99) samples at T = 25" in answer(result)
    assert fit_rows(result)[2][:1] == ["transformer-width-16"]
    assert fit_rows(result)[2][2].startswith("0.74 ±")
    assert threshold_page(result).tables[0].rows[-1][:2] == ["transformer-width-16", "100"]
    assert name in [trace.name for trace in growth_plot(result, title="", caption="").figure.data]
    assert {point.learner for point in result.points} == set(result.learners) == set(vars(result.fits))
    page = html_of(result)
    assert "Success of trials: theory of a linear-attention block of width 16" in page
    assert "The theory of finite width is the same regression" in page


def test_words_say_what_is_bounded(both):
    assert "for a head that averages the s bits at T = 200" in remarks(both)[-1]


def test_rows(both):
    assert threshold_page(both).tables[0].rows[0] == ["transformer", "25", "31 (27.9 to 34.1)", "16", "29"]
    assert threshold_page(both).tables[0].rows[-1][2] == "not reached by m = 1024"
    assert fit_rows(both)[0][0] == "transformer"
    assert re.fullmatch(r"0\.\d\d ± 0\.\d\d", fit_rows(both)[0][2])
    assert fit_rows(result_of({"transformer": [(25, 9.0, "found")]}))[0][1] == "not fitted: fewer than three thresholds"


def test_doubtful_samples_are_said(both):
    assert len(remarks(both)) == 2
    doubtful = result_of(BOTH)
    doubtful.points[0].identified = 0.5
    assert "At T = 25 some sets of samples have more than one explanation" in remarks(doubtful)[1]


def test_figures_hold_the_numbers(both):
    growth = growth_plot(both, title="", caption="").figure
    points = [trace for trace in growth.data if trace.mode == "markers"]
    assert list(points[0].y) == [31.0, 42.0, 53.0, 64.0]
    assert list(points[0].error_y.array) == pytest.approx([3.1, 4.2, 5.3, 6.4])
    assert [trace.name for trace in points if trace.marker.symbol] == ["The perceptron's NTK limit: not reached"]
    success = success_plot(both, "transformer", title="", caption="").figure
    assert list(success.data[0].y) == [3 / 8, 1.0]
    curve = success.data[1]
    assert np.interp(31.0, curve.x, curve.y) == pytest.approx(0.8, abs=0.01)  # the threshold is where 80 % succeed
    assert 0.9 < max(curve.y) < 0.95  # a twentieth fails whatever m is
    assert draw(growth_plot(both, title="a", caption=""), "png")[:4] == b"\x89PNG"


def test_the_file_says_it_all(both):
    text = re.sub(r"<script.*?</script>", "", html_of(both, reproduce="specht threshold and"), flags=re.DOTALL)
    for words in (
        "How many samples a sparse function needs",
        "Symmetry profile at 24 positions",
        "What the capacity bound says",
        "specht threshold and",
    ):
        assert words in text
    assert text.count("<table") == 5
    assert "24: 3/8, 37: 8/8" in text
    many = result_of(BOTH)
    many.points[0].tried *= 9
    page = html_of(many)
    assert '<td class="across">24: 3/8, 37: 8/8, 24: 3/8' in page  # on several lines instead of beyond the page
