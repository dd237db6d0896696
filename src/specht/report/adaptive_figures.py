"""Figures of networks of finite width: their losses, and which positions and tokens their embedding singles out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specht.report.figures import GREY, SERIES_COLOURS, Plot, ratio_marks, style_log_axes


def order_plot(result: SimpleNamespace, *, title: str) -> Plot:
    """Variances of embedding vectors over their priors, position by position and token by token."""
    figure = go.Figure()
    largest = max(len(result.positions), len(result.tokens))
    figure.add_scatter(
        x=[0, max(largest - 1, 1)], y=[1.0, 1.0], name="infinite width", mode="lines", line={"color": GREY, "width": 1.2, "dash": "dash"},
        hoverinfo="skip",
    )  # fmt: skip
    for name, colour, symbol in (("positions", SERIES_COLOURS[0], "circle"), ("tokens", SERIES_COLOURS[1], "diamond")):
        if not getattr(result, name):
            continue
        figure.add_scatter(
            x=list(range(len(getattr(result, name)))), y=getattr(result, name), name=name, mode="markers",
            marker={"color": colour, "size": 8, "symbol": symbol},
            error_y={"type": "data", "array": getattr(result, f"{name}_stderr"), "thickness": 1.2, "width": 0},
            hovertemplate=f"{name[:-1]} %{{x}}<br>%{{y:.3f}} times its prior<extra></extra>",
        )  # fmt: skip
    style_log_axes(figure, x="position or token", y="variance over the prior")
    for axes in (figure.update_xaxes, figure.update_yaxes):
        axes(type="linear", dtick=None, exponentformat=None)
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
    for index, width in enumerate(result.width):
        figure.add_scatter(
            x=result.n_train, y=_of_width(result, "test", index), name=f"width {width:g}" if width is not None else "infinite width",
            mode="lines+markers", line={"color": SERIES_COLOURS[index % len(SERIES_COLOURS)]}, marker={"size": 5},
        )  # fmt: skip
    figure.add_scatter(x=result.n_train, y=result.infinite_test, name="infinite width", mode="lines", line={"color": GREY, "dash": "dash"})
    style_log_axes(figure, x="samples N", y="test loss")
    caption = (
        "Mean squared error on fresh sequences against the number of samples, by theory: networks whose embedding adapts to the target, "
        "and the kernel of infinite width (dashed)."
    )
    return Plot(figure, title, caption, wide=True)


def growth_plot(result: SimpleNamespace, *, title: str) -> Plot:
    """Variances over those at infinite width against samples, at the smallest width."""
    figure = go.Figure()
    ratios = np.array(_of_width(result, "ratios", 0), dtype=float)
    for index, name in enumerate(result.names):
        figure.add_scatter(
            x=result.n_train, y=ratios[:, index].tolist(), name=name, mode="lines",
            line={"color": SERIES_COLOURS[index % len(SERIES_COLOURS)], "dash": "dot" if name.startswith("token") else "solid"},
        )  # fmt: skip
    style_log_axes(figure, x="samples N", y="variance over that at infinite width")
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
    for index, (column, name) in enumerate(columns.items()):
        figure.add_scatter(
            x=names, y=[getattr(need, column) for need in result.needs], name=name, mode="lines+markers",
            line={"color": SERIES_COLOURS[index], "dash": "dot" if column == "transition" else "solid"}, marker={"size": 8},
            hovertemplate="width %{x}<br>%{y:.4g} samples<extra></extra>",
        )  # fmt: skip
    style_log_axes(figure, x="width of the embedding", y="samples N")
    figure.update_xaxes(type="category", dtick=None)
    caption = "Samples that the target needs against the width of the embedding, by theory; what is out of reach is left out."
    return Plot(figure, title, caption, wide=True)


def _of_width(result: SimpleNamespace, name: str, index: int) -> Any:
    """Values at one of the widths; a curve of a single width has no axis for it."""
    single = len(result.width) == 1 and np.ndim(result.test) == 1
    return getattr(result, name) if single else getattr(result, name)[index]
