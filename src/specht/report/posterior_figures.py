"""Figures of posteriors: means with their uncertainty at samples and inputs, and fitted parameters with theirs."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go

from specht.report.figures import GREY, SERIES_COLOURS, Plot, style_log_axes

_DEVIATIONS = 2.0
"""Standard deviations that a bar of a posterior is long, on either side."""


def label_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """Posterior means against labels, with a line where both are equal."""
    figure = go.Figure()
    label, mean, deviation = (np.array(getattr(result, name)) for name in ("label", "mean", "deviation"))
    ends = [float(label.min()), float(label.max())]
    figure.add_scatter(
        x=ends, y=ends, name="mean = label", mode="lines", line={"color": GREY, "width": 1.2, "dash": "dash"}, hoverinfo="skip"
    )
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
    figure = go.Figure(
        go.Scatter(
            x=[parameter.name for parameter in parameters],
            y=[parameter.value for parameter in parameters],
            name="fitted value",
            mode="markers",
            marker={
                "color": SERIES_COLOURS[0],
                "size": 9,
                "symbol": ["square-open" if parameter.at_bound else "circle" for parameter in parameters],
            },
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [max(min(one.value * factor, one.high) - one.value, 0.0) for one, factor in pairs],
                "arrayminus": [max(one.value - max(one.value / factor, one.low), 0.0) for one, factor in pairs],
                "thickness": 1.4,
                "width": 5,
            },
            hovertemplate="%{x}<br>%{y:.4g}<extra></extra>",
        )
    )
    style_log_axes(figure, x="parameter", y="value")
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
    bars = {"type": "data", "array": (_DEVIATIONS * deviation).tolist(), "thickness": 1.0, "width": 2, "color": colour}
    figure.add_scatter(
        x=at.tolist(),
        y=mean.tolist(),
        name=name,
        mode="markers",
        marker={"color": colour, "size": 6},
        error_y=bars,
        hovertemplate=f"{name}<br>{x} %{{x:.4g}}: %{{y:.4g}}<extra></extra>",
    )


def _style(figure: go.Figure, *, x: str, y: str) -> None:
    style_log_axes(figure, x=x, y=y)
    figure.update_xaxes(type="linear", dtick=None)
    figure.update_yaxes(type="linear", dtick=None, exponentformat="none")
    figure.update_layout(showlegend=len(figure.to_dict()["data"]) > 1)
