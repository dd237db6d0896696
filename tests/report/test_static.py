"""Figures as files: what Matplotlib draws of what the page shows."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest

from specht.report.static import _draw_image, _set_axis

figures = pytest.importorskip("matplotlib.figure", reason="Matplotlib is not installed")


def image_of(**fields):
    axes = figures.Figure().add_subplot()
    _draw_image(axes, go.Heatmap(z=[[0, 1, 2], [1, 2, 0]], zmin=0, zmax=2, **fields))
    return axes.images[0]


def test_an_image_lies_where_its_axes_say():
    assert tuple(image_of(x=[1, 2, 3], y=[1, 2]).get_extent()) == (0.5, 3.5, 2.5, 0.5)
    assert tuple(image_of().get_extent()) == (-0.5, 2.5, 1.5, -0.5)
    assert tuple(image_of(x=["a", "b", "c"]).get_extent()) == (-0.5, 2.5, 1.5, -0.5)


def test_an_image_has_the_colours_of_the_page():
    scale = [(0, "rgba(255,0,0,0.5)"), (0.5, "rgb(0, 255, 0)"), (1, "#0000ff")]
    cmap = image_of(colorscale=scale).cmap
    assert cmap(0.0) == pytest.approx((1, 0, 0, 0.5))
    assert cmap(1.0) == pytest.approx((0, 0, 1, 1))
    assert image_of(colorscale="Viridis").cmap.name == image_of().cmap.name == "viridis"


def test_a_scale_is_drawn_where_the_page_has_one():
    assert len(image_of().figure.axes) == 2
    assert len(image_of(showscale=False).figure.axes) == 1


def test_bars_that_lie_stand_in_the_order_of_the_page():
    figure = go.Figure(go.Bar(x=[1, 2], y=["first", "second"], orientation="h"))
    figure.update_yaxes(type="category", autorange="reversed")
    axes = figures.Figure().add_subplot()
    _set_axis(axes, "y", figure.layout.yaxis)
    assert axes.yaxis_inverted()
