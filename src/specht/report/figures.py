"""Figures for the HTML reports, legible on a light and on a dark page."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import plotly.graph_objects as go  # never plotly.express: it loads pandas and costs most of a second

HEATMAP_ROWS = 300
HEIGHT = 440
"""Of a figure whose legend has up to six lines on a telephone; each further one adds to it."""
# Each has contrast enough on white and on near-black.
SERIES_COLOURS = ("#2a7fba", "#d9682b", "#3f9d6b", "#9a62b8", "#c9507c", "#8f7d2a", "#2f97a0", "#5a3d2b")
CLEAR = "rgba(0,0,0,0)"
GREY = "#808890"
_RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1e3, 1e4, 1e5)
"""Marks of an axis of ratios."""
_STEPS = ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7), *(tuple(step / part for step in range(part, 10 * part)) for part in (2, 5, 20)))
"""Marks between two powers of ten, ever finer."""
_LINEAR = {"type": "linear", "dtick": None, "exponentformat": "none"}
_HIDDEN = {"showticklabels": False, "showgrid": False, "zeroline": False, "ticks": "", "constrain": "domain"}
"""An axis without numbers, as images have."""


@dataclasses.dataclass(frozen=True)
class Plot:
    """A figure with what stands above and below it."""

    figure: go.Figure
    title: str
    caption: str
    wide: bool = False


def image(z: Any, *, hover: str, scale: str = "Viridis", **style: Any) -> go.Figure:
    """Numbers as an image, with a thin scale beside it; `style` holds further properties of the image by their names in Plotly."""
    bar = {"thickness": 10, "outlinewidth": 0, "len": 1, "nticks": 7} | style.pop("colorbar", {})
    return go.Figure(go.Heatmap(z=z, colorscale=scale, hovertemplate=f"{hover}<extra></extra>", colorbar=bar, **style))


def gram_heatmap(gram: np.ndarray, *, title: str, caption: str, order: np.ndarray | None = None, limit: int = HEATMAP_ROWS) -> Plot:
    """A Gram matrix as an image, its rows and columns in the given order, thinned out when there are more than `limit`."""
    rows = np.arange(len(gram)) if order is None else np.asarray(order)
    if len(rows) > limit:
        caption += f" Of {len(rows)} sequences, {limit} evenly spaced ones are shown."
        rows = rows[np.linspace(0, len(rows) - 1, limit).round().astype(int)]
    shown = gram[np.ix_(rows, rows)].astype(np.float32)  # an image needs no more digits, and the file halves
    top = float(np.quantile(shown, 0.995))  # one large diagonal entry would darken all the rest
    figure = image(shown, hover="row %{y}, column %{x}<br>%{z:.5g}", zmin=float(shown.min()), zmax=top, colorbar={"xpad": 8, "ypad": 0})
    figure.update_layout(_layout(height=420))
    figure.update_xaxes(**_HIDDEN)
    figure.update_yaxes(**_HIDDEN, autorange="reversed", scaleanchor="x")
    return Plot(figure, title, caption)


def matrix_plot(matrix: np.ndarray, *, title: str, caption: str) -> Plot:
    """A matrix as an image, white at zero; a flat one gets the width of the page."""
    top = float(np.abs(matrix).max()) or 1.0
    square = matrix.shape[0] == matrix.shape[1]
    numbers = matrix.astype(np.float32)
    figure = image(numbers, hover="row %{y}, column %{x}<br>%{z:.3g}", scale="RdBu", zmin=-top, zmax=top, colorbar={"nticks": 5})
    figure.update_layout(_layout(height=420 if square else 190), showlegend=False)
    figure.update_xaxes(**_HIDDEN)
    figure.update_yaxes(**_HIDDEN, autorange="reversed", scaleanchor="x" if square else None)
    return Plot(figure, title, caption, wide=not square)


def eigenvalue_plot(series: Mapping[str, np.ndarray], *, title: str, caption: str, floor: float = 0.0) -> Plot:
    """Eigenvalues, largest first, on logarithmic axes; those at or below `floor` times the largest are left out."""
    figure = go.Figure()
    hidden = {}
    for number, (name, eigenvalues) in enumerate(series.items()):
        values = np.sort(np.asarray(eigenvalues, dtype=np.float64))[::-1]
        seen = values > max(floor * values[0], 0.0)
        hidden[name] = int(np.count_nonzero(~seen))
        index = np.arange(1, len(values) + 1)
        hover = f"{name} %{{x}}<br>%{{y:.4g}}"
        add_series(figure, index[seen], values[seen], name, number, mode="lines+markers", hover=hover, line_width=1.5, marker_size=4)
    if any(hidden.values()):
        caption += f" Left out at the level of rounding: {', '.join(f'{count} of {name}' for name, count in hidden.items() if count)}."
    style_axes(figure, x="index", y="eigenvalue", height=400, showlegend=len(series) > 1)
    return Plot(figure, title, caption, wide=True)


def style_axes(figure: go.Figure, *, x: str, y: str, height: int = HEIGHT, linear: str = "", **layout: Any) -> None:
    """Two axes with names, a legend above them, and room for both. The axes named in `linear` are linear, others logarithmic."""
    figure.update_layout(
        _layout(height)
        | {
            "margin": {"l": 66, "r": 12, "t": 30, "b": 50},  # on the left powers of ten and a name beside them
            "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom", "bgcolor": CLEAR},
        }
    )
    figure.update_layout(**layout)
    axis = {"type": "log", "dtick": 1, "gridcolor": "rgba(128,136,144,0.22)", "zeroline": False, "ticks": "outside", "tickcolor": GREY}
    axis |= {"tickfont": {"size": 12}}
    figure.update_xaxes(axis | (_LINEAR if "x" in linear else {}), title={"text": x, "font": {"size": 13}})
    ends: dict[str, Any] = _LINEAR if "y" in linear else {"exponentformat": "power"}
    figure.update_yaxes(axis | ends, title={"text": y, "font": {"size": 13}})


def marks(values: Iterable[float]) -> dict[str, Any]:
    """Marks of an axis at some values, written out."""
    places = list(values)
    return {"tickvals": places, "ticktext": [f"{place:g}" for place in places]}


def plain_ticks(low: float, high: float, least: int = 1) -> dict[str, Any]:
    """Marks of a logarithmic axis that spans little: numbers in steps of one, two and five, written out; in finer ones if they are few.

    >>> plain_ticks(0.03, 0.25)["ticktext"]
    ['0.05', '0.1', '0.2']
    >>> plain_ticks(0.25, 0.8, least=3)["ticktext"]
    ['0.3', '0.4', '0.5', '0.7']
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    shown: list[float] = []
    for steps in _STEPS:
        shown = [mark for power in powers for step in steps if low <= (mark := float(f"{step}e{power}")) <= high]
        if len(shown) >= least:
            break
    return marks(shown)


def ratio_marks(values: Sequence[float]) -> dict[str, Any]:
    """Marks of a logarithmic axis of ratios, written out."""
    shown = [mark for mark in _RATIOS if 0.9 * min(values) <= mark <= 1.1 * max(values)]
    return {"dtick": None, "exponentformat": "none", **marks(shown)}


def colour(hue: int | str) -> str:
    """The colour of a series, by its number; a colour itself stays as it is."""
    return SERIES_COLOURS[hue % len(SERIES_COLOURS)] if isinstance(hue, int) else hue


def error_bars(up: Iterable[Any], down: Iterable[Any] | None = None, **style: Any) -> dict[str, Any]:
    """Bars as long as a standard error, or with two different ends."""
    ends = {} if down is None else {"symmetric": False, "arrayminus": list(down)}
    return {"type": "data", "array": list(up), "thickness": 1.2, "width": 3} | ends | style


def add_series(
    figure: go.Figure, x: Any, y: Any, name: str, hue: int | str, *, mode: str = "lines", errors: Any = None, hover: str = "", **style: Any
) -> None:
    """Values as a line, as points or as both, in one colour.

    Arguments:
        hover: what is shown when it is pointed at; nothing if that is empty.
        style: further properties by their names in Plotly, such as `line_dash` and `showlegend`.
    """
    kinds = {"lines": {"line_width": 1.8, "line_color": colour(hue)}, "markers": {"marker_size": 7, "marker_color": colour(hue)}}
    looks = {key: value for kind in mode.split("+") for key, value in kinds[kind].items()}
    said: dict[str, Any] = {"hovertemplate": f"{hover}<extra></extra>"} if hover else {"hoverinfo": "skip"}
    bars = {} if errors is None else {"error_y": errors if isinstance(errors, dict) else error_bars(errors)}
    figure.add_scatter(x=list(x), y=list(y), name=name, mode=mode, **said | bars | looks | style)


def add_line(figure: go.Figure, x: Any, y: Any, name: str, number: int, *, dash: str = "solid", legend: bool = True) -> None:
    """A predicted curve; values that are not positive leave a gap."""
    width, hover = 1.8 if dash == "solid" else 1.3, f"{name}<br>%{{x}}: %{{y:.4g}}"
    add_series(figure, x, _positive(y), name, number, hover=hover, line_dash=dash, line_width=width, showlegend=legend)


def add_points(
    figure: go.Figure, x: Any, y: Any, name: str, number: int, *, errors: Any = None, legend: bool = True, joined: bool = False
) -> None:
    """Measured values with their standard errors."""
    mode, hover = "lines+markers" if joined else "markers", f"{name}<br>%{{x}}: %{{y:.4g}}"
    add_series(figure, x, _positive(y), name, number, mode=mode, errors=errors, hover=hover, showlegend=legend)


def add_scatter(figure: go.Figure, x: Any, y: Any, name: str, number: int) -> None:
    """A cloud of small points, which may be negative."""
    hover = f"{name}<br>%{{x:.3g}}: %{{y:.3g}}"
    add_series(figure, x, y, name, number, mode="markers", hover=hover, marker_size=4, marker_opacity=0.7)


def add_guide(figure: go.Figure, x: Any, y: Any, name: str, **style: Any) -> None:
    """A grey line to compare with, dashed unless its style says otherwise."""
    add_series(figure, x, y, name, GREY, **{"line_width": 1.2, "line_dash": "dash"} | style)


def add_band(figure: go.Figure, x: Sequence[Any], low: Sequence[Any], high: Sequence[Any], fill: str, **style: Any) -> None:
    """The area between two curves."""
    outline, heights = [*x, *reversed(x)], [*high, *reversed(low)]
    figure.add_scatter(x=outline, y=heights, fill="toself", fillcolor=fill, line={"color": CLEAR, "width": 0}, hoverinfo="skip", **style)


def finished(figure: go.Figure, *, x: str, y: str, ticks: Sequence[Any] | np.ndarray | None = None, linear_y: bool = False) -> go.Figure:
    """The figure with named axes, logarithmic unless the vertical one is said to be linear."""
    traces: Any = figure.data
    lines = sum(trace.showlegend is not False for trace in traces)
    style_axes(figure, x=x, y=y, height=HEIGHT + 20 * max(0, lines - 6), linear="y" * linear_y, showlegend=True)
    figure.update_xaxes(_marks([trace.x for trace in traces]) if ticks is None else marks(sorted(set(ticks))))
    if not linear_y:
        figure.update_yaxes(_marks([_with_bars(trace) for trace in traces]))
    return figure


def _marks(values: Sequence[Any]) -> dict[str, Any]:
    """Marks of a logarithmic axis that would show fewer than two powers of ten; otherwise, and for names, the axis has its own."""
    arrays = [np.asarray(some) for some in values if some is not None]
    if any(array.dtype.kind == "U" for array in arrays):
        return {}
    shown = np.concatenate([array.astype(float).ravel() for array in arrays] or [np.ones(0)])
    shown = shown[np.isfinite(shown) & (shown > 0.0)]
    if shown.size == 0 or math.floor(math.log10(shown.max())) > math.ceil(math.log10(shown.min())):
        return {}
    return plain_ticks(0.97 * shown.min(), 1.03 * shown.max(), least=2)


def _with_bars(trace: Any) -> np.ndarray | None:
    """The heights of a trace and the ends of its error bars."""
    if trace.y is None:
        return None
    heights = np.array([math.nan if height is None else height for height in trace.y], dtype=float)
    bars = getattr(trace, "error_y", None)
    reach = np.zeros_like(heights) if bars is None or bars.array is None else np.array(bars.array, dtype=float)
    return np.concatenate([heights, heights - reach, heights + reach])


def finished_bars(figure: go.Figure, *, x: str, rows: int, row_height: int, stacked: bool = False) -> go.Figure:
    """The figure of horizontal bars, first one on top, with room for their names."""
    finished(figure, x=x, y="", linear_y=True)
    figure.update_xaxes(type="linear", dtick=None)
    figure.update_yaxes(type="category", autorange="reversed", automargin=True)
    figure.update_layout(barmode="stack" if stacked else "group", height=160 + row_height * rows)
    return figure


def _layout(height: int) -> dict:
    return {
        "height": height,
        "margin": {"l": 2, "r": 2, "t": 8, "b": 8},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": GREY},
        "template": "none",
    }


def _positive(values: Any) -> list[float | None]:
    return [float(value) if value > 0.0 else None for value in values]


def add_thresholds(figure: go.Figure, points: Sequence[SimpleNamespace], name: str, colour: str) -> None:
    """The thresholds of one learner with their intervals; a search that ended without one is an open triangle at its largest m."""
    reached = [point for point in points if point.state == "found"]
    missed = [point for point in points if point.state == "not reached"]
    x, m = [point.T for point in reached], [point.m for point in reached]
    bars = error_bars([point.high - point.m for point in reached], [point.m - point.low for point in reached], thickness=1.4, width=4)
    add_series(figure, x, m, name, colour, mode="markers", errors=bars, hover=f"{name}<br>T = %{{x}}: m = %{{y:.1f}}", marker_size=8)
    if missed:
        x, m = [point.T for point in missed], [max(batch.m for batch in point.tried) for point in missed]
        hover, marks = f"{name}<br>T = %{{x}}: not reached by m = %{{y}}", {"marker_size": 10, "marker_symbol": "triangle-up-open"}
        add_series(figure, x, m, f"{name}: not reached", colour, mode="markers", hover=hover, **marks)


def style_counts(figure: go.Figure, values: Sequence[float]) -> None:
    """Whole numbers in steps of one, two and five on the vertical axis, which is logarithmic."""
    figure.update_yaxes(**plain_ticks(max(1.0, min(values) / 2), 2 * max(values)), dtick=None, exponentformat="none")
