"""The figures of a forecast: the curve to come, architectures side by side, and accuracy. They take what `Forecast.summary` says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import plotly.graph_objects as go

from specht.report.figures import CLEAR, GREY, SERIES_COLOURS, Plot, style_log_axes

HEIGHT = 440  # on a telephone the legend takes a third of it
_FILL = "rgba(42,127,186,0.20)"
_LAW = SERIES_COLOURS[1]


def best(result: SimpleNamespace) -> SimpleNamespace:
    """The architecture with the smallest error now, which the answer and the main figure are about."""
    return next(one for one in result.architectures if one.name == result.best)


def curve_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """Measured errors, the forecast with its band, and the power law."""
    one, figure = best(result), go.Figure()
    band, law = one.curve, one.power_law_curve
    x = band.n_train
    figure.add_scatter(
        x=[*x, *reversed(x)],
        y=[*band.high, *reversed(band.low)],
        fill="toself",
        fillcolor=_FILL,
        line={"color": CLEAR, "width": 0},
        name=f"{100 * result.confidence:g} % interval",
        hoverinfo="skip",
    )
    figure.add_scatter(**_line(x, band.value, "forecast", SERIES_COLOURS[0], "forecast"))
    figure.add_scatter(
        **_line(law.n_train, law.value, "power law", _LAW, "power law") | {"line": {"color": _LAW, "width": 1.4, "dash": "dash"}}
    )
    for end in ("low", "high"):
        dotted = {"color": _LAW, "width": 1, "dash": "dot"}
        figure.add_scatter(x=law.n_train, y=getattr(law, end), mode="lines", line=dotted, showlegend=False, hoverinfo="skip")
    figure.add_scatter(**_points(one, "measured", SERIES_COLOURS[2]))
    figure.add_vline(x=result.rows, line={"color": GREY, "width": 1, "dash": "dot"})
    values = [*band.low, *band.high, *one.measured.value, *law.value]
    return _finish(figure, values, title, caption)


def architectures_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """The forecast and the measured errors of every architecture."""
    figure, seen = go.Figure(), []
    for one, colour in zip(result.architectures, SERIES_COLOURS, strict=False):
        figure.add_scatter(**_line(one.curve.n_train, one.curve.value, one.name, colour, one.name), legendgroup=one.name)
        figure.add_scatter(**_points(one, one.name, colour) | {"showlegend": False, "legendgroup": one.name})
        seen += one.curve.value + one.measured.value
    figure.add_vline(x=result.rows, line={"color": GREY, "width": 1, "dash": "dot"})
    return _finish(figure, seen, title, caption)


def accuracy_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """Share of held-out rows named rightly, against the rows for training."""
    figure = go.Figure()
    seen = [result.majority]
    for one, colour in zip(result.architectures, SERIES_COLOURS, strict=False):
        values, errors = one.accuracy.value, one.accuracy.stderr
        seen += values
        figure.add_scatter(
            x=one.measured.n_train,
            y=values,
            name=one.name,
            mode="lines+markers",
            line={"color": colour, "width": 1.6},
            marker={"color": colour, "size": 6},
            error_y={"type": "data", "array": errors, "thickness": 1.2, "width": 3},
            hovertemplate=f"{one.name} at %{{x}} rows<br>%{{y:.3f}}<extra></extra>",
        )
    figure.add_hline(y=result.majority, line={"color": GREY, "width": 1, "dash": "dash"})
    style_log_axes(figure, x="rows for training", y="accuracy")
    figure.update_yaxes(type="linear", dtick=None, exponentformat="none", range=[min(seen) - 0.03, min(1.0, max(seen) + 0.03)])
    sizes = result.n_train
    figure.update_xaxes(tickvals=sizes, ticktext=list(map(str, sizes)))
    figure.update_layout(height=HEIGHT)
    return Plot(figure, title, caption, wide=True)


def _line(x: Sequence[float], y: Sequence[float], name: str, colour: str, hover: str) -> dict[str, Any]:
    return {
        "x": x,
        "y": y,
        "name": name,
        "mode": "lines",
        "line": {"color": colour, "width": 2},
        "hovertemplate": f"{hover} at %{{x:.0f}} rows<br>%{{y:.4g}}<extra></extra>",
    }


def _points(one: SimpleNamespace, name: str, colour: str) -> dict[str, Any]:
    measured = one.measured
    return {
        "x": measured.n_train,
        "y": measured.value,
        "name": name,
        "mode": "markers",
        "marker": {"color": colour, "size": 7},
        "error_y": {"type": "data", "array": measured.stderr, "thickness": 1.3, "width": 3, "color": colour},
        "hovertemplate": f"{name} at %{{x}} rows<br>%{{y:.4g}}<extra></extra>",
    }


def _finish(figure: go.Figure, values: Sequence[float], title: str, caption: str) -> Plot:
    style_log_axes(figure, x="rows for training", y="error / label variance")
    figure.update_layout(height=HEIGHT)
    seen = [value for value in values if value > 0]
    # A power law with a floor of nothing would stretch the axis over many empty decades.
    low = max(min(seen), max(seen) * 1e-4)
    ends = [math.log10(low) - 0.04, math.log10(max(seen)) + 0.04]
    ticks = _ticks(*ends)
    figure.update_yaxes(range=ends, tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])
    figure.update_xaxes(dtick="D2", exponentformat="none", tickformat="~s")
    return Plot(figure, title, caption, wide=True)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two powers of ten, as many as fit: within a decade plotly's own would lack their zeros.

    >>> _ticks(-0.2, 0.1)
    [0.7, 0.8, 0.9, 1.0]
    """
    digits = range(1, 10) if high - low < 0.8 else (1, 2, 5) if high - low < 2 else (1,)
    found = [float(f"{digit}e{power}") for power in range(math.floor(low), math.ceil(high) + 1) for digit in digits]
    return [value for value in found if low <= math.log10(value) <= high]
