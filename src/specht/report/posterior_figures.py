"""Figures of posteriors: means with their uncertainty at samples and inputs, and fitted parameters with theirs."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go

from specht.report.figures import SERIES_COLOURS, Plot, add_guide, add_series, error_bars, style_axes

_DEVIATIONS = 2.0
"""Standard deviations that a bar of a posterior is long, on either side."""


def label_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """Posterior means against labels, with a line where both are equal."""
    figure = go.Figure()
    label, mean, deviation = (np.array(getattr(result, name)) for name in ("label", "mean", "deviation"))
    ends = [float(label.min()), float(label.max())]
    add_guide(figure, ends, ends, "mean = label")
    for output, (name, colour) in enumerate(_series(mean.shape[1])):
        _add_points(figure, label[:, output], mean[:, output], deviation, name=name, colour=colour, x="label")
    _style(figure, x="label", y="posterior mean")
    return Plot(figure, title, caption + _left_out(mean.shape[1]), wide=True)


def output_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """Posterior means, input by input."""
    figure = go.Figure()
    mean, deviation = np.array(result.mean), np.array(result.deviation)
    for output, (name, colour) in enumerate(_series(mean.shape[1])):
        _add_points(figure, np.arange(len(mean)), mean[:, output], deviation[:, output], name=name, colour=colour, x="input")
    _style(figure, x="number of the input", y="posterior mean")
    return Plot(figure, title, caption + _left_out(mean.shape[1]), wide=True)


def parameter_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """Fitted values on a logarithmic axis, with one standard error."""
    parameters = result.parameters
    factors = [math.exp(min(parameter.log_stderr or 0.0, 100.0)) for parameter in parameters]
    pairs = list(zip(parameters, factors, strict=True))
    symbols = ["square-open" if parameter.at_bound else "circle" for parameter in parameters]
    up = [max(min(one.value * factor, one.high) - one.value, 0.0) for one, factor in pairs]
    down = [max(one.value - max(one.value / factor, one.low), 0.0) for one, factor in pairs]
    names, values = [parameter.name for parameter in parameters], [parameter.value for parameter in parameters]
    bars, hover = error_bars(up, down), "%{x}<br>%{y:.4g}"
    figure = go.Figure()
    add_series(figure, names, values, "fitted value", 0, mode="markers", errors=bars, hover=hover, marker_size=9, marker_symbol=symbols)
    style_axes(figure, x="parameter", y="value", height=400)
    figure.update_xaxes(type="category", dtick=None)
    return Plot(figure, title, caption, wide=True)


def _series(outputs: int) -> list[tuple[str, str]]:
    """Name and colour of every output that is drawn."""
    names = ["posterior mean"] if outputs == 1 else [f"output {output}" for output in range(outputs)]
    return list(zip(names, SERIES_COLOURS, strict=False))


def _left_out(outputs: int) -> str:
    drawn = len(SERIES_COLOURS)
    return f" Of {outputs} outputs, the first {drawn} are shown." if outputs > drawn else ""


def _add_points(figure: go.Figure, at: np.ndarray, mean: np.ndarray, deviation: np.ndarray, *, name: str, colour: str, x: str) -> None:
    bars = error_bars(_DEVIATIONS * deviation, thickness=1.0, width=2, color=colour)
    hover = f"{name}<br>{x} %{{x:.4g}}: %{{y:.4g}}"
    add_series(figure, at, mean, name, colour, mode="markers", errors=bars, hover=hover, marker_size=6)


def _style(figure: go.Figure, *, x: str, y: str) -> None:
    style_axes(figure, x=x, y=y, height=400, linear="xy", showlegend=len(figure.to_dict()["data"]) > 1)
