"""The figures of a forecast: the best learner's curve to come, and all learners side by side. They take what `Forecast.summary` says."""

from __future__ import annotations

import math
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import plotly.graph_objects as go

from specht.report.figures import GREY, SERIES_COLOURS, Plot, add_band, add_series, error_bars, marks, style_axes

_FILL = "rgba(42,127,186,0.20)"
_MEASURES = {"error": "error / label variance", "error_rate": "accuracy"}


def best(result: SimpleNamespace) -> SimpleNamespace:
    """The learner with the smallest error now, which the answer and the main figure are about."""
    return next(one for one in result.learners if one.name == result.best)


def main_measure(result: SimpleNamespace) -> str:
    """error_rate for classes, error for numbers."""
    return "error" if result.majority is None else "error_rate"


def forecast_plot(result: SimpleNamespace, measure: str, *, title: str, caption: str) -> Plot:
    """What was measured for the best learner, the forecast with its band, and a power law; error rates are drawn as accuracies."""
    drawn, figure = getattr(best(result), measure), go.Figure()
    band, law = (_turned(one, measure) for one in (drawn.curve, drawn.power_law))
    ends = _add_band(figure, band, drawn, _FILL, name=f"{100 * result.confidence:g} % interval")
    _add_line(figure, band, "forecast", SERIES_COLOURS[0])
    _add_line(figure, law, "power law", SERIES_COLOURS[1], line_width=1.4, line_dash="dash")
    points = _add_points(figure, drawn, measure, "measured", SERIES_COLOURS[2])
    return _finish(figure, result, measure, [*ends, *band.value, *points, *law.value], title, caption)


def learners_plot(result: SimpleNamespace, measure: str, *, title: str, caption: str) -> Plot:
    """The forecast of every learner with its band, and what was measured."""
    figure, shown = go.Figure(), []
    for one, colour in zip(result.learners, SERIES_COLOURS, strict=False):
        drawn = getattr(one, measure)
        curve = _turned(drawn.curve, measure)
        _add_band(figure, curve, drawn, _pale(colour), name=one.name, showlegend=False, legendgroup=one.name)
        _add_line(figure, curve, one.name, colour, legendgroup=one.name)
        shown += _add_points(figure, drawn, measure, one.name, colour, legendgroup=one.name, showlegend=False)
        shown += curve.value
    return _finish(figure, result, measure, shown, title, caption)


def _turned(band: SimpleNamespace, measure: str) -> SimpleNamespace:
    """Accuracies for error rates."""
    if measure == "error":
        return band
    low, value, high = ([1.0 - share for share in shares] for shares in (band.high, band.value, band.low))
    return SimpleNamespace(n_train=band.n_train, value=value, low=low, high=high)


def _add_band(figure: go.Figure, curve: SimpleNamespace, drawn: SimpleNamespace, fill: str, **style: Any) -> list[float]:
    """Draw the interval from the largest subset on (before, the points say how good predictions are), and return its ends."""
    start = next(place for place, n_train in enumerate(curve.n_train) if n_train >= drawn.measured.n_train[-1])
    add_band(figure, curve.n_train[start:], curve.low[start:], curve.high[start:], fill, **style)
    return [*curve.low[start:], *curve.high[start:]]


def _add_line(figure: go.Figure, curve: SimpleNamespace, name: str, colour: str, **style: Any) -> None:
    hover = f"{name} at %{{x:.0f}} rows<br>%{{y:.4g}}"
    add_series(figure, curve.n_train, curve.value, name, colour, hover=hover, line_width=style.pop("line_width", 2), **style)


def _add_points(figure: go.Figure, drawn: SimpleNamespace, measure: str, name: str, colour: str, **style: Any) -> list[float]:
    """Draw what was measured, and return both ends of every bar."""
    measured, hover = drawn.measured, f"{name} at %{{x}} rows<br>%{{y:.4g}}"
    values = [1.0 - value for value in measured.value] if measure == "error_rate" else list(measured.value)
    bars = error_bars(measured.stderr, color=colour)
    add_series(figure, measured.n_train, values, name, colour, mode="markers", errors=bars, hover=hover, **style)
    return [value + sign * stderr for value, stderr in zip(values, measured.stderr, strict=True) for sign in (-1.0, 1.0)]


def _finish(figure: go.Figure, result: SimpleNamespace, measure: str, values: Iterable[float], title: str, caption: str) -> Plot:
    figure.add_vline(x=result.rows, line={"color": GREY, "width": 1, "dash": "dot"})
    if measure == "error_rate":
        figure.add_hline(y=result.majority, line={"color": GREY, "width": 1, "dash": "dash"})
        style_axes(figure, x="rows for training", y=_MEASURES[measure], linear="y")
        shown = [result.majority, *values]
        figure.update_yaxes(range=[max(0.0, min(shown) - 0.03), min(1.0, max(shown) + 0.03)])
    else:
        style_axes(figure, x="rows for training", y=_MEASURES[measure])
        shown = [value for value in values if value > 0]
        # A law with a floor of nothing would stretch the axis over many empty decades.
        ends = [math.log10(max(min(shown), max(shown) * 1e-4)) - 0.04, math.log10(max(shown)) + 0.04]
        figure.update_yaxes(marks(_ticks(*ends)), range=ends)
    traces: Any = figure.data
    sizes = [math.log10(n_train) for trace in traces for n_train in trace.x]
    # Left to plotly, a figure that is drawn anew while its window changes keeps the marks of an empty one.
    figure.update_xaxes(range=[min(sizes) - 0.06, max(sizes)], dtick="D2", exponentformat="none", tickformat="~s")
    return Plot(figure, title, caption, wide=True)


def _pale(colour: str) -> str:
    """A colour of which a band is filled."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.10)"


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two powers of ten, as many as fit: within a decade plotly's own would lack their zeros.

    >>> _ticks(-0.2, 0.1)
    [0.7, 0.8, 0.9, 1.0]
    """
    digits = range(1, 10) if high - low < 0.8 else (1, 2, 5) if high - low < 2 else (1,)
    values = [float(f"{digit}e{power}") for power in range(math.floor(low), math.ceil(high) + 1) for digit in digits]
    return [value for value in values if low <= math.log10(value) <= high]
