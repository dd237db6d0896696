"""The figures of `specht profile`: shares by level, and the correlation that they come from."""

from __future__ import annotations

from types import SimpleNamespace

import plotly.graph_objects as go

from specht.report.figures import GREY, Plot, add_series, colour, error_bars, style_axes

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
    up = [100 * min(part.share_high, 1.0) - value for part, value in zip(parts, values, strict=True)]
    down = [value - 100 * part.share_low for part, value in zip(parts, values, strict=True)]
    figure.add_bar(
        x=names,
        y=[values[0] - (constant if constant > SEEN else 0.0), *values[1:]],
        name="what varies",
        customdata=values,
        marker={"color": [colour(0)] * len(levels) + [GREY] * (len(parts) - len(levels)), "opacity": 0.75},
        error_y=error_bars(up, down, thickness=1.6, width=5, color=colour(1)),
        hovertemplate="level %{x}<br>%{customdata:.1f} %<extra></extra>",
    )
    style_axes(figure, x="level: positions that are singled out", y="share of E[f²] in %", height=HEIGHT, linear="xy")
    figure.update_layout(barmode="stack", showlegend=constant > SEEN)
    figure.update_xaxes(type="category", showgrid=False)
    figure.update_yaxes(rangemode="tozero")
    return Plot(figure, title, caption, wide=True)


def correlation_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """The measured correlation after shuffling j positions, and that of the fitted weights."""
    curve, figure, hover = result.correlation, go.Figure(), "j = %{x}<br>%{y:.4g}"
    add_series(figure, curve.curve_positions, curve.curve, "fitted weights", 1, hover=hover)
    add_series(figure, curve.positions, curve.values, "measured", 0, mode="markers", errors=curve.stderr, hover=hover)
    style_axes(figure, x="positions shuffled, j", y="C(j)", height=HEIGHT, linear="xy")
    figure.update_yaxes(rangemode="tozero")
    return Plot(figure, title, caption, wide=True)
