"""The figures of a forecast: the curve to come, architectures side by side, and accuracy. They take what `Forecast.summary` says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import plotly.graph_objects as go

from specht.report.figures import GREY, SERIES_COLOURS, Plot, add_band, add_series, error_bars, marks, style_axes

_FILL = "rgba(42,127,186,0.20)"
_LAW = SERIES_COLOURS[1]


def best(result: SimpleNamespace) -> SimpleNamespace:
    """The architecture with the smallest error now, which the answer and the main figure are about."""
    return next(one for one in result.architectures if one.name == result.best)


def forecast_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """Measured errors, the forecast with its band, and the power law."""
    one, figure = best(result), go.Figure()
    band, law = one.curve, one.power_law_curve
    add_band(figure, band.n_train, band.low, band.high, _FILL, name=f"{100 * result.confidence:g} % interval")
    _add_line(figure, band, "forecast", SERIES_COLOURS[0])
    _add_line(figure, law, "power law", _LAW, line_width=1.4, line_dash="dash")
    for end in ("low", "high"):
        add_series(figure, law.n_train, getattr(law, end), end, _LAW, line_width=1, line_dash="dot", showlegend=False)
    _add_points(figure, one, "measured", SERIES_COLOURS[2])
    figure.add_vline(x=result.rows, line={"color": GREY, "width": 1, "dash": "dot"})
    values = [*band.low, *band.high, *one.measured.value, *law.value]
    return _finish(figure, values, title, caption)


def architectures_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """The forecast and the measured errors of every architecture."""
    figure, seen = go.Figure(), []
    for one, colour in zip(result.architectures, SERIES_COLOURS, strict=False):
        _add_line(figure, one.curve, one.name, colour, legendgroup=one.name)
        _add_points(figure, one, one.name, colour, legendgroup=one.name, showlegend=False)
        seen += one.curve.value + one.measured.value
    figure.add_vline(x=result.rows, line={"color": GREY, "width": 1, "dash": "dot"})
    return _finish(figure, seen, title, caption)


def accuracy_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """Share of held-out rows named rightly, against the rows for training."""
    figure = go.Figure()
    seen = [result.majority]
    for number, one in enumerate(result.architectures):
        sizes, values, errors = one.measured.n_train, one.accuracy.value, one.accuracy.stderr
        seen += values
        hover = f"{one.name} at %{{x}} rows<br>%{{y:.3f}}"
        add_series(figure, sizes, values, one.name, number, mode="lines+markers", errors=errors, hover=hover, marker_size=6)
    figure.add_hline(y=result.majority, line={"color": GREY, "width": 1, "dash": "dash"})
    style_axes(figure, x="rows for training", y="accuracy", linear="y")
    figure.update_yaxes(range=[min(seen) - 0.03, min(1.0, max(seen) + 0.03)])
    figure.update_xaxes(marks(result.n_train))
    return Plot(figure, title, caption, wide=True)


def _add_line(figure: go.Figure, curve: SimpleNamespace, name: str, colour: str, **style: Any) -> None:
    hover = f"{name} at %{{x:.0f}} rows<br>%{{y:.4g}}"
    add_series(figure, curve.n_train, curve.value, name, colour, hover=hover, line_width=style.pop("line_width", 2), **style)


def _add_points(figure: go.Figure, one: SimpleNamespace, name: str, colour: str, **style: Any) -> None:
    measured, hover = one.measured, f"{name} at %{{x}} rows<br>%{{y:.4g}}"
    bars = error_bars(measured.stderr, color=colour)
    add_series(figure, measured.n_train, measured.value, name, colour, mode="markers", errors=bars, hover=hover, **style)


def _finish(figure: go.Figure, values: Sequence[float], title: str, caption: str) -> Plot:
    style_axes(figure, x="rows for training", y="error / label variance")
    seen = [value for value in values if value > 0]
    # A power law with a floor of nothing would stretch the axis over many empty decades.
    low = max(min(seen), max(seen) * 1e-4)
    ends = [math.log10(low) - 0.04, math.log10(max(seen)) + 0.04]
    figure.update_yaxes(marks(_ticks(*ends)), range=ends)
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
