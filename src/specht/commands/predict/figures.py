"""Figures of `specht predict` alone: how a network of finite width leaves its kernel, and when theory stops being safe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go

from specht.learning.adaptive.curve import BROKEN
from specht.report.figures import GREY, SERIES_COLOURS, Plot, ratio_marks, style_log_axes

_LEAST, _CELL, _AROUND = 300, 34, 110
"""Height of a figure at least, of a row of cells, and of what stands around them."""

_LINE = "#e8305f"
"""A colour that the scale of the cells does not have."""


def strength_plot(finite: SimpleNamespace, colours: Sequence[str], *, title: str) -> Plot:
    """How much larger the variance of a position is that the target reads, against samples, one line for each width."""
    figure = go.Figure()
    n = finite.n_train
    for name, height, dash in (("infinite width", 1.0, "dash"), ("symmetry broken", BROKEN, "dot")):
        figure.add_scatter(
            x=[n[0], n[-1]], y=[height, height], name=name, mode="lines", line={"color": GREY, "width": 1.2, "dash": dash}, hoverinfo="skip"
        )
    for index, width in enumerate(finite.width):
        figure.add_scatter(
            x=n, y=finite.strength[index], name=f"width {width:g}", mode="lines+markers",
            line={"color": colours[index % len(colours)], "width": 2}, marker={"size": 5},
            hovertemplate=f"width {width:g}<br>N = %{{x}}: %{{y:.3g}} times<extra></extra>",
        )  # fmt: skip
    style_log_axes(figure, x="samples N", y="variance, read over other positions")
    figure.update_yaxes(**ratio_marks([1.0, BROKEN, *(value for line in finite.strength for value in line if value)]))
    caption = (
        "The largest variance among positions that the target reads, over that of the positions it does not read. At infinite width it "
        f"stays at one: the kernel treats all positions alike. From {BROKEN:g} on (dotted) we say that the symmetry is broken."
    )
    return Plot(figure, title, caption, wide=True)


def phase_plot(phases: SimpleNamespace, axis: str, *, title: str) -> Plot:
    """The share of the target that is learnt, in colours, and as a line the samples N_c at which the symmetry breaks."""
    table, numbers = getattr(phases, f"by_{axis}"), phases.n_train
    values = getattr(table, axis)
    figure = go.Figure(
        go.Heatmap(
            x=list(range(len(numbers))),
            y=list(range(len(values))),
            z=table.learned,
            customdata=[[[n, value] for n in numbers] for value in values],
            zmin=0.0,
            zmax=1.0,
            colorscale="Viridis",
            colorbar={
                "title": {"text": "share learnt", "side": "right", "font": {"size": 12}},
                "tickfont": {"size": 12},
                "thickness": 10,
                "outlinewidth": 0,
                "tickformat": ".0%",
            },
            hovertemplate=f"N = %{{customdata[0]}}, {axis} %{{customdata[1]}}<br>learnt %{{z:.0%}}<extra></extra>",
        )
    )
    changes = [(change.samples, row) for row, change in enumerate(table.transition) if change.samples is not None]
    if changes:
        figure.add_scatter(
            x=_places([samples for samples, _ in changes], numbers),
            y=[row for _, row in changes],
            name="symmetry breaks",
            mode="lines+markers",
            line={"color": _LINE, "width": 2.5},
            marker={"color": _LINE, "size": 8},
            text=[f"{samples:.3g}" for samples, _ in changes],
            hovertemplate="symmetry breaks at N = %{text}<extra></extra>",
        )
    style_log_axes(figure, x="samples N", y="width" if axis == "width" else "length L")
    every = 2 * math.ceil(len(numbers) / 14)  # even, since two numbers make a factor of two
    shown = list(range(0, len(numbers), every))
    figure.update_xaxes(type="linear", dtick=None, tickvals=shown, ticktext=[str(numbers[place]) for place in shown], showgrid=False)
    figure.update_yaxes(type="linear", dtick=None, tickvals=list(range(len(values))), ticktext=list(map(str, values)), showgrid=False)
    figure.update_xaxes(range=[-0.5, len(numbers) - 0.5])
    figure.update_yaxes(range=[-0.5, len(values) - 0.5])
    figure.update_layout(height=max(_LEAST, _CELL * len(values) + _AROUND), showlegend=bool(changes))
    return Plot(figure, title, _caption(phases, axis, bool(changes)), wide=True)


def _caption(phases: SimpleNamespace, axis: str, breaks: bool) -> str:
    what = "a network of each width" if axis == "width" else f"a network of width {phases.at_width} at each length"
    line = (
        "To the right of the line a position that the target reads has at least twice the variance of the others: the network has left "
        "its kernel."
        if breaks
        else "Nowhere here does a position that the target reads get twice the variance of the others."
    )
    return f"The share of the target that {what} has learnt from N samples, by theory. {line}"


def _places(samples: Sequence[float], numbers: Sequence[int]) -> list[float]:
    """Where numbers of samples lie between the columns of cells, on a logarithmic axis."""
    return np.interp(np.log(samples), np.log(numbers), np.arange(len(numbers))).tolist()


def breaking_plot(broken: Sequence[SimpleNamespace], *, title: str, caption: str) -> Plot:
    """How far theory is off against how far the source is from exchangeable."""
    figure = go.Figure()
    figure.add_scatter(
        x=[row.gap.value for row in broken],
        y=[row.error for row in broken],
        mode="lines+markers",
        line={"color": SERIES_COLOURS[0], "width": 1.8},
        marker={"color": SERIES_COLOURS[0], "size": 7},
        error_y={"type": "data", "array": [row.stderr for row in broken], "thickness": 1.2, "width": 3},
        error_x={"type": "data", "array": [row.gap.stderr for row in broken], "thickness": 1.2, "width": 3},
        text=[f"ε = {row.epsilon:g}" for row in broken],
        hovertemplate="%{text}<br>gap %{x:.3g}<br>theory off by %{y:.1%}<extra></extra>",
        showlegend=False,
    )
    style_log_axes(figure, x="exchangeability gap", y="theory over exact test loss, minus one")
    figure.update_xaxes(type="linear", dtick=None, rangemode="tozero")
    figure.update_yaxes(type="linear", dtick=None, tickformat="+.0%", rangemode="tozero")
    return Plot(figure, title, caption, wide=True)
