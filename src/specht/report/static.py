"""Figures of a report as files: PNG, SVG or PDF, drawn by Matplotlib from the same figures as the page.

It knows what reports draw: lines, steps and points with error bars, bars upright or lying, also stacked, words and heat maps, on linear,
logarithmic or named axes.
"""

from __future__ import annotations

import importlib.util
import io
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from specht.errors import InputError
from specht.report.figures import Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (7.0, 4.2)
"""Width and least height in inches."""
_INCH = 105
"""Points of the page's figures that make an inch of height, where they are taller than usual."""
_RESOLUTION = 200
"""Dots an inch of a PNG."""
_DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
_VIRIDIS = "#440154"
"""The first colour of a scale that Matplotlib has itself, and finer."""
_MARKERS = {"line-ew-open": "_", "diamond-open": "D", "diamond": "D", "square": "s"}


def figure_names(plots: list[Plot], kind: str) -> list[str]:
    """One file name a figure.

    >>> import plotly.graph_objects as go
    >>> figure_names([Plot(go.Figure(), "What is learnt when", "")], "svg")
    ['figure-1-what-is-learnt-when.svg']
    """
    titles = (re.sub(r"[^a-z0-9]+", "-", plot.title.lower()).strip("-") for plot in plots)
    return [f"figure-{number}-{title}.{kind}" for number, title in enumerate(titles, 1)]


def require_matplotlib(flag: str = "--figures") -> None:
    """Complain before anything is computed if figures cannot be drawn in the end."""
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(f"{flag} needs Matplotlib, which is not installed: run pip install 'specht[figures]'.")


def draw(plot: Plot, kind: str) -> bytes:
    """The figure as the content of a file of the given kind."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # an extra, and slow to load
    from matplotlib.figure import Figure

    layout: Any = plot.figure.layout
    figure = Figure(figsize=(_SIZE[0], max(_SIZE[1], (layout.height or 0) / _INCH)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    stacks = _Stacks() if layout.barmode in ("stack", "relative") else None
    traces: Any = plot.figure.data
    for trace in traces:
        _draw_trace(axes, trace, stacks)
    _set_axis(axes, "x", layout.xaxis)
    _set_axis(axes, "y", layout.yaxis)
    axes.set_title(plot.title, fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    entries = sorted(zip(*axes.get_legend_handles_labels(), strict=True), key=lambda entry: _rank(traces, entry[1]))
    if entries and layout.showlegend is not False:
        # Images and bars that lie fill the figure from side to side: there is no room among them.
        full = any(trace.type == "heatmap" or (trace.type == "bar" and trace.orientation == "h") for trace in traces)
        place = {"loc": "outside lower center", "ncols": 4} if full else {}
        handles, labels = zip(*entries, strict=True)
        (figure if full else axes).legend(handles, labels, frameon=False, fontsize=8, **place)
    content = io.BytesIO()
    figure.savefig(content, format=kind, dpi=_RESOLUTION, metadata={"Date": None} if kind == "svg" else None)
    return content.getvalue()


def _rank(traces: Any, label: str) -> float:
    """Where a label stands in the legend: lowest first, 1000 where a trace says nothing, as on the page."""
    return next((trace.legendrank for trace in traces if trace.name == label and trace.legendrank is not None), 1000)


class _Stacks:
    """Where the next bar at a place begins; those below zero pile up downwards."""

    def __init__(self) -> None:
        self._ends: dict[tuple[Any, bool], float] = {}

    def put(self, places: list[Any], sizes: np.ndarray) -> list[float]:
        begins = []
        for place, size in zip(places, np.nan_to_num(sizes).tolist(), strict=True):
            key = (place, size < 0.0)
            begins.append(self._ends.get(key, 0.0))
            self._ends[key] = begins[-1] + size
        return begins


def _draw_trace(axes: Axes, trace: Any, stacks: _Stacks | None = None) -> None:
    if trace.type == "heatmap":
        _draw_image(axes, trace)
        return
    label = trace.name if trace.showlegend is not False and trace.name else "_hidden"
    if trace.type == "bar":
        _draw_bars(axes, trace, label, stacks)
        return
    if trace.type != "scatter":
        raise TypeError(f"a report draws no {trace.type} so far: teach report/static.py to draw it")
    x = list(trace.x) if any(isinstance(value, str) for value in trace.x) else _numbers(trace.x)
    y = _numbers(trace.y)
    if trace.fill:
        axes.fill(x, y, color=_colour(trace.fillcolor or trace.line.color), alpha=0.2, linewidth=0, label=label)
        return
    mode = trace.mode or "lines"
    if mode == "text":
        for place, height, text in zip(x, y, trace.text, strict=True):
            axes.text(place, height, text, fontsize=8, va="center", color=_colour(trace.textfont.color or "black"), clip_on=True)
        return
    if "markers" in mode and isinstance(trace.marker.color, tuple | list):
        axes.scatter(x, y, c=list(trace.marker.color), s=(trace.marker.size or 6) ** 2 / 2, label=label, zorder=3)
        return
    style = {
        "linestyle": _DASHES.get(trace.line.dash or "solid", "-") if "lines" in mode else "none",
        "marker": _MARKERS.get(trace.marker.symbol, "o") if "markers" in mode else "none",
        "color": _colour(trace.line.color or trace.marker.color),
        "linewidth": trace.line.width or 1.5,
        "drawstyle": "steps-post" if trace.line.shape == "hv" else "default",
        "markersize": (trace.marker.size or 6) * 0.75,
        "markerfacecolor": "none" if (trace.marker.symbol or "").endswith("-open") else None,
        "label": label,
    }
    axes.errorbar(x, y, yerr=_errors(trace.error_y), xerr=_errors(trace.error_x), elinewidth=1, capsize=2, **style)


def _draw_image(axes: Axes, trace: Any) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    stops = [(place, _colour(colour)) for place, colour in trace.colorscale or ()]
    cmap = LinearSegmentedColormap.from_list("page", stops) if stops and stops[0][1] != _VIRIDIS else "viridis"
    z = np.asarray(trace.z, dtype=float)
    left, top = (0 if places is None or isinstance(places[0], str) else places[0] for places in (trace.x, trace.y))
    edges = (left - 0.5, left + z.shape[1] - 0.5, top + z.shape[0] - 0.5, top - 0.5)  # of cells around whole numbers
    image = axes.imshow(z, vmin=trace.zmin, vmax=trace.zmax, cmap=cmap, interpolation="nearest", extent=edges)
    if trace.showscale is not False:
        axes.figure.colorbar(image, ax=axes)


def _draw_bars(axes: Axes, trace: Any, label: str, stacks: _Stacks | None) -> None:
    lying = trace.orientation == "h"
    places, sizes = (trace.y, trace.x) if lying else (trace.x, trace.y)
    places, sizes = list(places), _numbers(sizes)
    begins = stacks.put(places, sizes) if stacks is not None else [0.0] * len(places)
    errors, width = trace.error_x if lying else trace.error_y, trace.width or 0.8
    style = {"color": _colour(trace.marker.color), "alpha": trace.marker.opacity, "label": label}
    style |= {"ecolor": _colour(errors.color), "capsize": 2}
    if lying:
        axes.barh(places, sizes, height=width, left=begins, xerr=_errors(errors), **style)
    else:
        axes.bar(places, sizes, width=width, bottom=begins, yerr=_errors(errors), **style)


def _set_axis(axes: Axes, which: str, axis: Any) -> None:
    from matplotlib.ticker import NullLocator

    if axis.title.text:
        getattr(axes, f"set_{which}label")(axis.title.text)
    if axis.type == "log":
        getattr(axes, f"set_{which}scale")("log")
    if axis.range is not None:
        low, high = (10.0**value if axis.type == "log" else value for value in axis.range)
        getattr(axes, f"set_{which}lim")(low, high)
    elif axis.rangemode == "tozero":
        low, high = getattr(axes, f"get_{which}lim")()
        getattr(axes, f"set_{which}lim")(min(low, 0.0), max(high, 0.0))
    if axis.autorange == "reversed" and not axes.images:  # an image is drawn from the top already
        getattr(axes, f"invert_{which}axis")()
    if axis.tickvals is not None and axis.ticktext is not None:
        getattr(axes, f"{which}axis").set_minor_locator(NullLocator())  # a logarithmic axis has others with names of their own
        getattr(axes, f"set_{which}ticks")(list(axis.tickvals), list(axis.ticktext))
    if axis.showticklabels is False:
        getattr(axes, f"set_{which}ticks")([])


def _numbers(values: Any) -> np.ndarray:
    """Missing values as gaps."""
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _errors(bars: Any) -> np.ndarray | None:
    if bars.array is None or bars.visible is False:
        return None
    up = np.nan_to_num(_numbers(bars.array))
    return up if bars.arrayminus is None else np.stack([np.nan_to_num(_numbers(bars.arrayminus)), up])


def _colour(colour: Any) -> Any:
    """Plotly's colours as Matplotlib reads them."""
    if isinstance(colour, str) and colour.startswith("rgb"):
        red, green, blue, *alpha = (float(part) for part in colour[colour.index("(") + 1 : -1].split(","))
        return (red / 255, green / 255, blue / 255, *alpha)
    return list(colour) if isinstance(colour, tuple) else colour
