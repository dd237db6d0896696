"""Figures of `specht predict` alone: how a network of finite width leaves its kernel, and when theory stops being safe."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go

from specht.learning.adaptive import BROKEN
from specht.report import Plot, add_guide, add_series, error_bars, image, marks, ratio_marks, style_axes

_LEAST, _CELL, _AROUND = 300, 34, 110
"""Height of a figure at least, of a row of cells, and of what stands around them."""

_LINE = "#e8305f"
"""A colour that the scale of the cells does not have."""


def strength_plot(finite: SimpleNamespace, colours: Sequence[str], *, title: str) -> Plot:
    """How much larger the variance of a position is that the target reads, against samples, one line for each width."""
    figure = go.Figure()
    n = finite.n_train
    for name, height, dash in (("infinite width", 1.0, "dash"), ("symmetry broken", BROKEN, "dot")):
        add_guide(figure, [n[0], n[-1]], [height, height], name, line_dash=dash)
    for width, strength, colour in zip(finite.width, finite.strength, itertools.cycle(colours)):
        hover = f"width {width:g}<br>N = %{{x}}: %{{y:.3g}} times"
        add_series(figure, n, strength, f"width {width:g}", colour, mode="lines+markers", hover=hover, line_width=2, marker_size=5)
    style_axes(figure, x="samples N", y="variance, read over other positions", height=400)
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
    figure = image(
        table.learned,
        hover=f"N = %{{customdata[0]}}, {axis} %{{customdata[1]}}<br>learnt %{{z:.0%}}",
        x=list(range(len(numbers))),
        y=list(range(len(values))),
        customdata=[[[n, value] for n in numbers] for value in values],
        zmin=0.0,
        zmax=1.0,
        colorbar={"title": {"text": "share learnt", "side": "right", "font": {"size": 12}}, "tickfont": {"size": 12}, "tickformat": ".0%"},
    )
    changes = [(change.samples, row) for row, change in enumerate(table.transition) if change.samples is not None]
    if changes:
        samples, rows = zip(*changes, strict=True)
        text, hover = [f"{number:.3g}" for number in samples], "symmetry breaks at N = %{text}"
        style = {"line_width": 2.5, "marker_size": 8, "text": text}
        add_series(figure, _places(samples, numbers), rows, "symmetry breaks", _LINE, mode="lines+markers", hover=hover, **style)
    height = max(_LEAST, _CELL * len(values) + _AROUND)
    style_axes(figure, x="samples N", y="width" if axis == "width" else "length L", height=height, linear="xy", showlegend=bool(changes))
    every = 2 * math.ceil(len(numbers) / 14)  # even, since two numbers make a factor of two
    shown = marks(numbers[::every]) | {"tickvals": list(range(0, len(numbers), every))}
    figure.update_xaxes(shown, showgrid=False, range=[-0.5, len(numbers) - 0.5])
    figure.update_yaxes(marks(values) | {"tickvals": list(range(len(values)))}, showgrid=False, range=[-0.5, len(values) - 0.5])
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
    gaps, off = [row.gap.value for row in broken], [row.error for row in broken]
    style = {"error_x": error_bars(row.gap.stderr for row in broken), "text": [f"ε = {row.epsilon:g}" for row in broken]}
    hover, errors = "%{text}<br>gap %{x:.3g}<br>theory off by %{y:.1%}", [row.stderr for row in broken]
    add_series(figure, gaps, off, "theory", 0, mode="lines+markers", errors=errors, hover=hover, showlegend=False, **style)
    style_axes(figure, x="exchangeability gap", y="theory over exact test loss, minus one", height=400, linear="xy")
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(tickformat="+.0%", rangemode="tozero")
    return Plot(figure, title, caption, wide=True)
