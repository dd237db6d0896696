"""Figures of networks of finite width: their losses, and which positions and tokens their embedding singles out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specht.report.figures import Plot, add_guide, add_series, error_bars, ratio_marks, style_axes

HOVER = "N = %{x}: %{y:.4g}"


def order_plot(result: SimpleNamespace, *, title: str) -> Plot:
    """Variances of embedding vectors over their priors, position by position and token by token."""
    figure = go.Figure()
    largest = max(len(result.positions), len(result.tokens))
    add_guide(figure, [0, max(largest - 1, 1)], [1.0, 1.0], "infinite width")
    for number, (name, symbol) in enumerate({"positions": "circle", "tokens": "diamond"}.items()):
        if variances := getattr(result, name):
            x, bars = range(len(variances)), error_bars(getattr(result, f"{name}_stderr"), width=0)
            hover = f"{name[:-1]} %{{x}}<br>%{{y:.3f}} times its prior"
            add_series(figure, x, variances, name, number, mode="markers", errors=bars, hover=hover, marker_size=8, marker_symbol=symbol)
    style_axes(figure, x="position or token", y="variance over the prior", height=400, linear="xy")
    figure.update_yaxes(rangemode="tozero")
    singled = result.singled_out
    words = (
        "no position" if not singled else "position " + ", ".join(map(str, singled)) if len(singled) < 8 else f"{len(singled)} positions"
    )
    caption = (
        f"How much the embedding of a network of width {result.width} grows under {result.samples} samples. It singles out {words}; "
        f"symmetry left: {result.symmetry}."
    )
    return Plot(figure, title, caption, wide=True)


def loss_plot(result: SimpleNamespace, *, title: str) -> Plot:
    """Test loss against samples, one line for each width, and that of infinite width."""
    figure = go.Figure()
    for number, width in enumerate(result.width):
        name = f"width {width:g}" if width is not None else "infinite width"
        losses = _of_width(result, "test", number)
        add_series(figure, result.n_train, losses, name, number, mode="lines+markers", marker_size=5, hover=HOVER)
    add_guide(figure, result.n_train, result.infinite_test, "infinite width")
    style_axes(figure, x="samples N", y="test loss", height=400)
    caption = (
        "Mean squared error on fresh sequences against the number of samples, by theory: networks whose embedding adapts to the target, "
        "and the kernel of infinite width (dashed)."
    )
    return Plot(figure, title, caption, wide=True)


def growth_plot(result: SimpleNamespace, *, title: str) -> Plot:
    """Variances over those at infinite width against samples, at the smallest width."""
    figure = go.Figure()
    ratios = np.array(_of_width(result, "ratios", 0), dtype=float)
    for number, name in enumerate(result.names):
        dash = "dot" if name.startswith("token") else "solid"
        add_series(figure, result.n_train, ratios[:, number], name, number, line_dash=dash, hover=HOVER)
    style_axes(figure, x="samples N", y="variance over that at infinite width", height=400)
    figure.update_yaxes(**ratio_marks([1.0, *ratios[ratios > 0.0].tolist()]))
    reads = any(name.startswith("position") for name in result.names)
    found = "what the target reads stands out" if reads else "the target singles out no position, and all of them stay alike"
    caption = f"How much the variances of tokens and positions move at width {result.width[0]:g}: {found}."
    return Plot(figure, title, caption, wide=True)


def need_plot(result: SimpleNamespace, *, title: str) -> Plot:
    """Samples for an error and to learn a share, and where symmetry breaks, at every width."""
    figure = go.Figure()
    names = ["infinite" if need.width is None else f"{need.width:g}" for need in result.needs]
    columns = {
        "samples": f"for an error of {result.error:g}",
        "to_learn": f"to learn a share of {result.share:g}",
        "transition": "symmetry breaks",
    }
    for number, (column, name) in enumerate(columns.items()):
        needs, dash = [getattr(need, column) for need in result.needs], "dot" if column == "transition" else "solid"
        hover = "width %{x}<br>%{y:.4g} samples"
        add_series(figure, names, needs, name, number, mode="lines+markers", hover=hover, marker_size=8, line_dash=dash)
    style_axes(figure, x="width of the embedding", y="samples N", height=400)
    figure.update_xaxes(type="category", dtick=None)
    caption = "Samples that the target needs against the width of the embedding, by theory; what is out of reach is left out."
    return Plot(figure, title, caption, wide=True)


def _of_width(result: SimpleNamespace, name: str, index: int) -> Any:
    """Values at one of the widths; a curve of a single width has no axis for it."""
    single = len(result.width) == 1 and np.ndim(result.test) == 1
    return getattr(result, name) if single else getattr(result, name)[index]
