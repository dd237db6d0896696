"""The figures of `specht select`: losses in time and by length, and the matrices before and after training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specht.report.figures import SERIES_COLOURS, Plot, style_log_axes

HEIGHT = 440


def time_plot(result: Mapping[str, Any], *, inverse: bool, title: str, caption: str) -> Plot:
    """Losses, or their inverses, against steps; the exact dynamics as a line where there are any."""
    figure = go.Figure()
    records = [record for record in result["train"] if record["step"] > 0]
    for number, kind in enumerate(result["codes"]):
        means = np.array([record[kind] for record in records])
        errors = np.array([record["stderr"][kind] or 0.0 for record in records])
        values = 1 / means if inverse else means
        bars = errors / means**2 if inverse else errors
        _points(figure, [record["step"] for record in records], values, bars, f"{kind} codes", number)
    theory = result["theory"]
    if theory is not None:
        loss = np.array(theory["loss"][1:])
        figure.add_scatter(
            x=theory["steps"][1:],
            y=1 / loss if inverse else loss,
            name=f"exact dynamics, {theory['codes']} codes",
            mode="lines",
            line={"color": SERIES_COLOURS[4], "width": 2, "dash": "dash"},
            hovertemplate="exact<br>%{x}: %{y:.4g}<extra></extra>",
        )
    _style(figure, x="steps", y="1 / L" if inverse else "loss L", linear=inverse)
    return Plot(figure, title, caption, wide=True)


def length_plot(result: Mapping[str, Any], *, title: str, caption: str) -> Plot:
    """Losses at the end against the length of the test."""
    figure = go.Figure()
    own = int(result["task"].split()[0].removeprefix("T="))
    entries = [(own, result["train"][-1]), *((entry["T_test"], entry) for entry in result["lengths"])]
    for number, kind in enumerate(result["codes"]):
        known = sorted((length, entry[kind], entry["stderr"][kind] or 0.0) for length, entry in entries if kind in entry)
        _points(figure, [k[0] for k in known], [k[1] for k in known], [k[2] for k in known], f"{kind} codes", number)
    lengths = [length for length, _ in entries]
    figure.add_scatter(
        x=[min(lengths), max(lengths)],
        y=[result["trivial"]] * 2,
        name="answering zero",
        mode="lines",
        line={"color": SERIES_COLOURS[3], "width": 1.4, "dash": "dot"},
        hoverinfo="skip",
    )
    _style(figure, x="test length T", y="loss L")
    figure.update_xaxes(type="linear", dtick=None, tickvals=lengths)
    return Plot(figure, title, caption, wide=True)


def matrix_plot(matrix: np.ndarray, *, title: str, caption: str) -> Plot:
    """A matrix as an image, white at zero; a flat one gets the width of the page."""
    top = float(np.abs(matrix).max()) or 1.0
    figure = go.Figure(
        go.Heatmap(
            z=matrix.astype(np.float32),
            colorscale="RdBu",
            zmin=-top,
            zmax=top,
            hovertemplate="row %{y}, column %{x}<br>%{z:.3g}<extra></extra>",
            colorbar={"thickness": 10, "outlinewidth": 0, "len": 1, "nticks": 5},
        )
    )
    square = matrix.shape[0] == matrix.shape[1]
    style_log_axes(figure, x="", y="")
    figure.update_layout(height=420 if square else 190, showlegend=False, margin={"l": 2, "r": 2, "t": 8, "b": 8})
    hidden: dict[str, Any] = {"showticklabels": False, "showgrid": False, "zeroline": False, "ticks": "", "constrain": "domain"}
    figure.update_xaxes(**hidden, type="linear", dtick=None, title=None)
    figure.update_yaxes(**hidden, type="linear", dtick=None, autorange="reversed", title=None, scaleanchor="x" if square else None)
    return Plot(figure, title, caption, wide=not square)


def _points(figure: go.Figure, x: Any, y: Any, errors: Any, name: str, number: int) -> None:
    colour = SERIES_COLOURS[number]
    figure.add_scatter(
        x=list(x),
        y=list(y),
        name=name,
        mode="lines+markers",
        line={"color": colour, "width": 1.8},
        marker={"color": colour, "size": 6},
        error_y={"type": "data", "array": list(errors), "thickness": 1.2, "width": 3},
        hovertemplate=f"{name}<br>%{{x}}: %{{y:.4g}}<extra></extra>",
    )


def _style(figure: go.Figure, *, x: str, y: str, linear: bool = False) -> None:
    style_log_axes(figure, x=x, y=y)
    figure.update_layout(height=HEIGHT, showlegend=True)
    if linear:
        figure.update_xaxes(type="linear", dtick=None)
        figure.update_yaxes(type="linear", dtick=None, exponentformat="none", rangemode="tozero")
