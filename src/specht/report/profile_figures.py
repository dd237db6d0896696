"""The figures of `specht profile`: shares by level, and the correlation that they come from."""

from __future__ import annotations

from types import SimpleNamespace

import plotly.graph_objects as go

from specht.report.figures import GREY, SERIES_COLOURS, Plot, style_linear_axes

HEIGHT = 380
SEEN = 0.1
"""Per cent of E[f²] from which on the constant part is drawn by itself."""


def share_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """The share of each level, with its interval."""
    *levels, above = result.parts
    parts = [*levels, *([above] if above.high > 0.0 else [])]
    names, values = [part.level.replace(">", "above ") for part in parts], [100 * part.share for part in parts]
    constant = 100 * result.mean_square.value / (result.total or 1.0)
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
        marker={"color": [SERIES_COLOURS[0]] * len(levels) + [GREY] * (len(parts) - len(levels)), "opacity": 0.75},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [100 * min(part.share_high, 1.0) - value for part, value in zip(parts, values, strict=True)],
            "arrayminus": [value - 100 * part.share_low for part, value in zip(parts, values, strict=True)],
            "thickness": 1.6,
            "width": 5,
            "color": SERIES_COLOURS[1],
        },
        hovertemplate="level %{x}<br>%{customdata:.1f} %<extra></extra>",
    )
    figure.update_layout(barmode="stack", showlegend=constant > SEEN)
    style_linear_axes(figure, x="level: positions that are singled out", y="share of E[f²] in %", height=HEIGHT)
    figure.update_xaxes(type="category", showgrid=False)
    figure.update_yaxes(rangemode="tozero")
    return Plot(figure, title, caption, wide=True)


def correlation_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """The measured correlation after shuffling j positions, and that of the fitted weights."""
    correlation = result.correlation
    figure = go.Figure()
    figure.add_scatter(
        x=correlation.curve_positions,
        y=correlation.curve,
        name="fitted weights",
        mode="lines",
        line={"color": SERIES_COLOURS[1], "width": 1.8},
        hovertemplate="j = %{x}<br>%{y:.4g}<extra></extra>",
    )
    figure.add_scatter(
        x=correlation.positions,
        y=correlation.values,
        name="measured",
        mode="markers",
        marker={"color": SERIES_COLOURS[0], "size": 7},
        error_y={"type": "data", "array": correlation.stderr, "thickness": 1.2, "width": 3},
        hovertemplate="j = %{x}<br>%{y:.4g}<extra></extra>",
    )
    style_linear_axes(figure, x="positions shuffled, j", y="C(j)", height=HEIGHT)
    figure.update_yaxes(rangemode="tozero")
    return Plot(figure, title, caption, wide=True)
