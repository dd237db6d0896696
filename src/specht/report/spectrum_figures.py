"""The figures of `specht spectrum`: eigenvalues against length, and the spectrum at one length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace

import plotly.graph_objects as go

from specht.report.figures import GREY, SERIES_COLOURS, Plot, style_log_axes
from specht.report.spectrum_notes import shown

BOUND = "bound E[k]/dim"
HIGHER = "higher levels"
HEIGHT = 440  # on a telephone the legend takes a third of it


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
        common = {"x": x, "legendgroup": family}
        figure.add_scatter(
            **common,
            y=values,
            name=family,
            mode="lines+markers",
            line={"color": colour, "width": 1.8},
            marker={"color": colour, "size": 6},
            error_y={"type": "data", "array": errors, "visible": any(errors), "thickness": 1.2, "width": 3},
            hovertemplate=f"{family} at L = %{{x}}<br>%{{y:.4g}}<extra></extra>",
        )
        figure.add_scatter(
            **common,
            y=bounds,
            mode="lines",
            line={"color": colour, "width": 1.2, "dash": "dash"},
            showlegend=False,
            hovertemplate=f"bound of {family} at L = %{{x}}<br>%{{y:.4g}}<extra></extra>",
        )
        seen += values + bounds
    figure.add_scatter(x=[None], y=[None], name=BOUND, mode="lines", line={"color": GREY, "width": 1.2, "dash": "dash"}, hoverinfo="skip")
    style_log_axes(figure, x="length L", y="eigenvalue / E[k]" if normalised else "eigenvalue")
    figure.update_layout(height=HEIGHT)
    lengths = [entry.length for entry in entries]
    figure.update_xaxes(tickvals=lengths, ticktext=list(map(str, lengths)))
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
    for name, found in steps.items():
        colour = colours.get(name, GREY)
        if not found:
            continue
        figure.add_scatter(
            x=[place for start, stop, _ in found for place in (start, stop, None)],
            y=[height for _, _, row in found for height in (row.eigenvalue, row.eigenvalue, None)],
            text=[f"{row.irrep}, degeneracy {row.degeneracy}" for *_, row in found for _ in range(3)],
            name=name,
            mode="lines+markers",
            line={"color": colour, "width": 2.5},
            marker={"color": colour, "size": 4},
            hovertemplate="%{text}<br>%{y:.4g}<extra></extra>",
        )
    style_log_axes(figure, x="index of the eigenfunction", y="eigenvalue")
    figure.update_layout(showlegend=True, height=HEIGHT)
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
