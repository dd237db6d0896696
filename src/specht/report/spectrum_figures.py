"""The figures of `specht spectrum`: eigenvalues against length, and the spectrum at one length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace

import plotly.graph_objects as go

from specht.report.figures import GREY, SERIES_COLOURS, Plot, add_guide, add_series, error_bars, marks, style_axes
from specht.report.spectrum_notes import shown

BOUND = "bound E[k]/dim"
HIGHER = "higher levels"


def scaling_plot(entries: Sequence[SimpleNamespace], *, normalised: bool, title: str, caption: str) -> Plot:
    """The top eigenvalue of each family of irreps against length, with its bound; values that are not resolved are left out."""
    figure = go.Figure()
    seen: list[float] = []
    hidden = 0
    for family, colour in _colours(entries).items():
        points = [(entry, top) for entry in entries for top in shown(entry) if top.family == family]
        drawn = [(entry, top) for entry, top in points if top.resolved]
        hidden += len(points) - len(drawn)
        units = [entry.trace if normalised else 1.0 for entry, _ in drawn]
        values = [top.eigenvalue / unit for (_, top), unit in zip(drawn, units, strict=True)]
        bounds = [top.bound / unit for (_, top), unit in zip(drawn, units, strict=True)]
        errors = [(top.stderr or 0.0) / unit for (_, top), unit in zip(drawn, units, strict=True)]
        x = [entry.length for entry, _ in drawn]
        bars, hover = error_bars(errors, visible=any(errors)), f"{family} at L = %{{x}}<br>%{{y:.4g}}"
        add_series(figure, x, values, family, colour, mode="lines+markers", errors=bars, hover=hover, marker_size=6, legendgroup=family)
        add_series(figure, x, bounds, family, colour, hover=f"bound of {hover}", line_dash="dash", legendgroup=family, showlegend=False)
        seen += values + bounds
    add_guide(figure, [None], [None], BOUND)
    style_axes(figure, x="length L", y="eigenvalue / E[k]" if normalised else "eigenvalue")
    figure.update_xaxes(marks(entry.length for entry in entries))
    figure.update_yaxes(dtick=_tick(seen))
    return Plot(figure, title, caption + _left_out(hidden), wide=True)


def spectrum_plot(entries: Sequence[SimpleNamespace], *, title: str, caption: str) -> Plot:
    """All eigenvalues at the last length, largest first, each as wide as its degeneracy, in the colours of `scaling_plot`."""
    entry, colours = entries[-1], _colours(entries)
    families = {top.irrep: top.family for top in entry.top}
    rows = [row for row in entry.rows if row.resolved]
    steps: dict[str, list[tuple[float, float, SimpleNamespace]]] = {name: [] for name in [*colours, HIGHER]}
    end = 0
    for row in rows:
        start, end = end + 1, end + row.degeneracy
        steps[families[row.irrep] if families[row.irrep] in colours else HIGHER].append((start, end, row))
    figure = go.Figure()
    for name, multiplets in steps.items():
        if multiplets:
            x = [place for start, stop, _ in multiplets for place in (start, stop, None)]
            y = [height for _, _, row in multiplets for height in (row.eigenvalue, row.eigenvalue, None)]
            text = [f"{row.irrep}, degeneracy {row.degeneracy}" for *_, row in multiplets for _ in range(3)]
            colour, hover = colours.get(name, GREY), "%{text}<br>%{y:.4g}"
            add_series(figure, x, y, name, colour, mode="lines+markers", hover=hover, line_width=2.5, marker_size=4, text=text)
    style_axes(figure, x="index of the eigenfunction", y="eigenvalue", showlegend=True)
    figure.update_xaxes(dtick=_tick([1.0, float(max(end, 1))]), exponentformat="power")
    figure.update_yaxes(dtick=_tick([row.eigenvalue for row in rows]))
    return Plot(figure, title, caption + _left_out(len(entry.rows) - len(rows)), wide=True)


def _colours(entries: Sequence[SimpleNamespace]) -> dict[str, str]:
    """One colour a family, the same in all figures."""
    families = {top.family: top.level for entry in entries for top in shown(entry)}
    order = sorted(families, key=lambda family: families[family])
    return dict(zip(order, SERIES_COLOURS, strict=False))


def _tick(values: Sequence[float]) -> float | str:
    """Distance of ticks on a logarithmic axis: some decades where there are many, parts of one where there are few."""
    decades = math.log10(max(values) / min(values)) if values else 0.0
    return "D2" if decades < 1.5 else math.ceil(decades / 8)


def _left_out(number: int) -> str:
    what = "values that are not above rounding or noise are" if number > 1 else "value that is not above rounding or noise is"
    return f" {number} {what} left out." if number else ""
