"""What the experiments of all papers share: how measurements are kept, told apart, fitted and drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers.claims import Result, Results, Scale, Verdict, holds_if
from specht.report.figures import GREY, SERIES_COLOURS, style_log_axes

HEIGHT = 440
"""Of a figure whose legend has up to six lines on a telephone; each further one adds to it."""


class Power(NamedTuple):
    """The exponent of a power law and its standard error."""

    exponent: float
    stderr: float


def record(what: str, variables: Mapping[str, Any], coords: Mapping[str, Any] | None = None) -> xarray.Dataset:
    """A dataset that says in its coordinate `what` which measurement it holds. Variables are scalars or pairs (dimension, values)."""
    arrays = {name: value if isinstance(value, tuple) else ((), value) for name, value in variables.items()}
    return xarray.Dataset(
        {name: (dims, np.asarray(values)) for name, (dims, values) in arrays.items()}, coords={"what": what, **(coords or {})}
    )


def chosen(results: Results, what: str, **arguments: Any) -> list[Result]:
    """The results of one measurement with the given arguments, in their order."""
    return [
        result
        for result in results
        if result.data["what"].item() == what and all(result.arguments.get(name) == value for name, value in arguments.items())
    ]


def column(results: Results, name: str) -> np.ndarray:
    """One scalar variable of every result."""
    return np.array([float(result.data[name]) for result in results])


def stacked(results: Results, name: str) -> np.ndarray:
    """One variable of every result, along a new first axis."""
    return np.array([result.data[name].values for result in results])


def arguments(results: Results, name: str) -> list[Any]:
    """One argument of every result."""
    return [result.arguments[name] for result in results]


def span(values: Sequence[Any] | np.ndarray) -> str:
    """The smallest and the largest of some numbers, as a range.

    >>> span([16, 4, 8]), span([3, 3])
    ('4 to 16', '3')
    """
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def listed(values: Sequence[Any] | np.ndarray) -> str:
    """Different numbers in increasing order.

    >>> listed([0.2, 1, 0.2])
    '0.2, 1'
    """
    return ", ".join(f"{value:g}" for value in sorted(set(values)))


def power_law(x: Any, values: Any, errors: Any = None) -> Power | None:
    """The exponent of values against x, weighted with their standard errors; None where fewer than two values are three errors above zero.

    >>> power_law([4, 8, 16], [1.0, 0.5, 0.25]).exponent
    -1.0
    """
    from specht.stats import fit_exponent

    x, values = np.asarray(x), np.asarray(values, dtype=float)
    errors = np.zeros(len(values)) if errors is None else np.asarray(errors, dtype=float)
    seen = values > 3.0 * errors
    if seen.sum() < 2:
        return None
    places: Any = x[seen].tolist()
    relative = (errors[seen] / values[seen]).tolist()
    fit = fit_exponent(places, values[seen].tolist(), relative if any(relative) else None)
    return Power(round(fit.value, 12), fit.stderr or 0.0)


def unresolved(regime: str) -> Verdict:
    """The verdict where noise or rounding leaves nothing to judge."""
    return Verdict("not tested", regime=f"Too few values stand out of their noise: {regime}")


def holds_if_at_most(most: float, measured: float, stderr: float, regime: str) -> Verdict:
    """The verdict on a number that must not be above a bound; undecided where the bound is within one standard error of it."""
    if abs(measured - most) <= stderr:
        return Verdict("not tested", measured, stderr, f"Undecided: {most:g} is within the standard error. {regime}")
    return holds_if(measured <= most, measured, stderr, regime)


def at_scale(scale: Scale, *, smoke: Any, quick: Any, full: Any) -> Any:
    """The setting of a scale."""
    return {"smoke": smoke, "quick": quick, "full": full}[scale]


def with_error(value: float, stderr: float | None = None, digits: int = 3) -> str:
    """A number for a table, with its standard error where it has one."""
    return f"{value:.{digits}g}" if not stderr else f"{value:.{digits}g} ± {stderr:.1g}"


def colour(number: int) -> str:
    """The colour of a series, by its number."""
    return SERIES_COLOURS[number % len(SERIES_COLOURS)]


def add_line(figure: go.Figure, x: Any, y: Any, name: str, number: int, *, dash: str = "solid", legend: bool = True) -> None:
    """A predicted curve; values that are not positive leave a gap."""
    figure.add_scatter(
        x=list(x),
        y=_positive(y),
        name=name,
        mode="lines",
        showlegend=legend,
        line={"color": colour(number), "width": 1.8 if dash == "solid" else 1.3, "dash": dash},
        hovertemplate=f"{name}<br>%{{x}}: %{{y:.4g}}<extra></extra>",
    )


def add_points(
    figure: go.Figure, x: Any, y: Any, name: str, number: int, *, errors: Any = None, legend: bool = True, joined: bool = False
) -> None:
    """Measured values with their standard errors."""
    bars = None if errors is None else {"type": "data", "array": list(errors), "thickness": 1.2, "width": 3}
    figure.add_scatter(
        x=list(x),
        y=_positive(y),
        name=name,
        mode="lines+markers" if joined else "markers",
        showlegend=legend,
        line={"color": colour(number), "width": 1.8},
        marker={"color": colour(number), "size": 7},
        error_y=bars,
        hovertemplate=f"{name}<br>%{{x}}: %{{y:.4g}}<extra></extra>",
    )


def add_scatter(figure: go.Figure, x: Any, y: Any, name: str, number: int) -> None:
    """A cloud of small points, which may be negative."""
    figure.add_scatter(
        x=list(x),
        y=list(y),
        name=name,
        mode="markers",
        marker={"color": colour(number), "size": 4, "opacity": 0.7},
        hovertemplate=f"{name}<br>%{{x:.3g}}: %{{y:.3g}}<extra></extra>",
    )


def add_guide(figure: go.Figure, x: Any, y: Any, name: str) -> None:
    """A grey line to compare with."""
    figure.add_scatter(x=list(x), y=list(y), name=name, mode="lines", line={"color": GREY, "width": 1.2, "dash": "dash"}, hoverinfo="skip")


def finished(figure: go.Figure, *, x: str, y: str, ticks: Sequence[Any] | np.ndarray | None = None, linear_y: bool = False) -> go.Figure:
    """The figure with named axes, logarithmic unless the vertical one is said to be linear."""
    style_log_axes(figure, x=x, y=y)
    traces: Any = figure.data
    lines = sum(trace.showlegend is not False for trace in traces)
    figure.update_layout(height=HEIGHT + 20 * max(0, lines - 6), showlegend=True)
    if ticks is not None:
        places = sorted(set(ticks))
        figure.update_xaxes(tickvals=places, ticktext=[f"{place:g}" for place in places])
    if linear_y:
        figure.update_yaxes(type="linear", dtick=None, exponentformat="none")
    return figure


def finished_bars(figure: go.Figure, *, x: str, rows: int, row_height: int, stacked: bool = False) -> go.Figure:
    """The figure of horizontal bars, first one on top, with room for their names."""
    finished(figure, x=x, y="", linear_y=True)
    figure.update_xaxes(type="linear", dtick=None)
    figure.update_yaxes(type="category", autorange="reversed", automargin=True)
    figure.update_layout(barmode="stack" if stacked else "group", height=160 + row_height * rows)
    return figure


def _positive(values: Any) -> list[float | None]:
    return [float(value) if value > 0.0 else None for value in values]
