"""What a reader needs on every figure: axes with numbers."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest

from specht.report.figures import add_guide, add_points, finished


def drawn(x, y, errors=None, **words) -> go.Figure:
    figure = go.Figure()
    add_points(figure, x, y, "measured", 0, errors=errors)
    return finished(figure, x="x", y="y", **words)


def test_an_axis_that_spans_less_than_a_power_of_ten_has_marks():
    layout = drawn([4, 9], [0.3, 0.45]).layout
    assert list(layout.xaxis.ticktext) == ["4", "5", "7"]
    assert len(layout.yaxis.ticktext) >= 2
    assert all(0.29 <= mark <= 0.47 for mark in layout.yaxis.tickvals)


def test_error_bars_count_for_the_marks():
    assert max(drawn([4, 8], [0.3, 0.4], errors=[0.1, 0.45]).layout.yaxis.tickvals) == 0.5


@pytest.mark.parametrize("y", [[0.003, 0.4], [1.0, 20000.0]])
def test_powers_of_ten_mark_an_axis_that_has_two_of_them(y):
    assert drawn([4, 8], y).layout.yaxis.tickvals is None


def test_marks_of_the_caller_and_linear_axes_stay():
    assert list(drawn([4, 8], [0.3, 0.4], ticks=[4, 8]).layout.xaxis.ticktext) == ["4", "8"]
    assert drawn([4, 8], [0.3, 0.4], linear_y=True).layout.yaxis.tickvals is None


def test_a_figure_without_values_is_drawn():
    figure = go.Figure()
    add_guide(figure, [], [], "nothing")
    assert finished(figure, x="x", y="y").layout.yaxis.tickvals is None
