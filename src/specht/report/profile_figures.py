"""The figures of `specht profile`: shares by level, and the correlation that they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from specht.report.figures import GREY, SERIES_COLOURS, Plot, style_log_axes

HEIGHT = 380
SEEN = 0.1
"""Per cent of E[f²] from which on the constant part is drawn by itself."""


def share_plot(result: Mapping[str, Any], *, title: str, caption: str) -> Plot:
    """The share of each level, with its interval."""
    total = result["total"] or 1.0
    above = {name: part / total for name, part in result["above"].items()}
    entries = list(zip(map(str, result["levels"]), result["shares"], strict=True))
    if above["high"] > 0.0:
        entries.append((f"above {result['levels'][-1]}", above | {"high": min(above["high"], 1.0)}))
    names, values = [name for name, _ in entries], [100 * share["value"] for _, share in entries]
    constant = 100 * result["mean_square"]["value"] / total
    figure = go.Figure()
    if constant > SEEN:
        figure.add_bar(
            x=names[:1],
            y=[constant],
            name="constant part, E[f]²",
            marker={"color": GREY, "opacity": 0.35},
            hovertemplate="constant part<br>%{y:.1f} %<extra></extra>",
        )
    figure.add_bar(
        x=names,
        y=[values[0] - (constant if constant > SEEN else 0.0), *values[1:]],
        name="what varies",
        customdata=values,
        marker={"color": [SERIES_COLOURS[0]] * len(result["levels"]) + [GREY] * (len(entries) - len(result["levels"])), "opacity": 0.75},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [100 * share["high"] - value for (_, share), value in zip(entries, values, strict=True)],
            "arrayminus": [value - 100 * share["low"] for (_, share), value in zip(entries, values, strict=True)],
            "thickness": 1.6,
            "width": 5,
            "color": SERIES_COLOURS[1],
        },
        hovertemplate="level %{x}<br>%{customdata:.1f} %<extra></extra>",
    )
    figure.update_layout(barmode="stack", showlegend=constant > SEEN)
    _style(figure, x="level: positions that are singled out", y="share of E[f²] in %")
    figure.update_xaxes(type="category", showgrid=False)
    figure.update_yaxes(rangemode="tozero")
    return Plot(figure, title, caption, wide=True)


def correlation_plot(result: Mapping[str, Any], *, title: str, caption: str) -> Plot:
    """The measured correlation after shuffling j positions, and that of the fitted weights."""
    found = result["correlation"]
    figure = go.Figure()
    figure.add_scatter(
        x=found["curve_positions"],
        y=found["curve"],
        name="fitted weights",
        mode="lines",
        line={"color": SERIES_COLOURS[1], "width": 1.8},
        hovertemplate="j = %{x}<br>%{y:.4g}<extra></extra>",
    )
    figure.add_scatter(
        x=found["positions"],
        y=found["values"],
        name="measured",
        mode="markers",
        marker={"color": SERIES_COLOURS[0], "size": 7},
        error_y={"type": "data", "array": found["stderr"], "thickness": 1.2, "width": 3},
        hovertemplate="j = %{x}<br>%{y:.4g}<extra></extra>",
    )
    _style(figure, x="positions shuffled, j", y="C(j)")
    figure.update_yaxes(rangemode="tozero")
    return Plot(figure, title, caption, wide=True)


def _style(figure: go.Figure, *, x: str, y: str) -> None:
    style_log_axes(figure, x=x, y=y)
    figure.update_layout(height=HEIGHT)
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(type="linear", dtick=None, exponentformat="none")
