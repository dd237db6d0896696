"""The numbers behind a figure as a table: one line a point, whatever kind of figure it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specht.lab.csv_text import csv_text

COLUMNS = ("series", "x", "y", "z", "x_error", "y_error", "text")


def figure_csv(figure: go.Figure) -> str:
    """The points of all curves, bars and images of a figure.

    >>> print(figure_csv(go.Figure(go.Scatter(x=[1, 2], y=[0.5, None], name="loss"))), end="")
    series,x,y,z,x_error,y_error,text
    loss,1,0.5,,,,
    """
    return csv_text(list(COLUMNS), [line for trace in figure.data for line in _lines(trace)])


def _lines(trace: Any) -> Iterator[dict[str, Any]]:
    if trace.type == "heatmap":
        yield from _cells(trace)
        return
    x, y = _values(trace.x), _values(trace.y)
    texts = _values(trace.text) if trace.text is not None and not isinstance(trace.text, str) else []
    errors = {f"{axis}_error": _values(getattr(error, "array", None)) for axis in "xy" if (error := trace[f"error_{axis}"]) is not None}
    for place in range(max(len(x), len(y))):
        line = {"series": trace.name or "", "x": _at(x, place), "y": _at(y, place), "text": _at(texts, place)}
        line |= {name: _at(values, place) for name, values in errors.items()}
        if line["x"] is not None and line["y"] is not None:  # otherwise it is a gap in a line
            yield dict.fromkeys(COLUMNS) | line


def _cells(trace: Any) -> Iterator[dict[str, Any]]:
    z = np.asarray(trace.z, dtype=float)
    x, y = _values(trace.x) or list(range(z.shape[1])), _values(trace.y) or list(range(z.shape[0]))
    for row, column in np.ndindex(*z.shape):
        yield dict.fromkeys(COLUMNS) | {"series": trace.name or "", "x": x[column], "y": y[row], "z": float(z[row, column])}


def _values(values: Any) -> list[Any]:
    return [] if values is None else [value.item() if isinstance(value, np.generic) else value for value in values]


def _at(values: list[Any], place: int) -> Any:
    return values[place] if place < len(values) else None


def file_name(title: str) -> str:
    """A name for the file of a figure.

    >>> file_name("The spectrum at L = 64")
    'specht-the-spectrum-at-l-64'
    """
    return "specht-" + "-".join(re.findall(r"[a-z0-9]+", title.lower()))
