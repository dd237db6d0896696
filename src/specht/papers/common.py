"""What the experiments of all papers share: how measurements are fitted and put in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers.claims import Scale, Verdict
from specht.papers.criteria import Finding
from specht.papers.measurement import NothingToJudge
from specht.report import Plot, finished


class Power(NamedTuple):
    """The exponent of a power law and its standard error."""

    exponent: float
    stderr: float


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


def told(power: Power | None) -> str:
    """A power law in a table."""
    return "not resolved" if power is None else with_error(power.exponent, power.stderr)


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


def mean_and_error(values: xarray.DataArray, over: str = "seed") -> tuple[xarray.DataArray, xarray.DataArray]:
    """The mean along a dimension, and its standard error.

    >>> mean, error = mean_and_error(xarray.DataArray([1.0, 2.0, 3.0], dims="seed"))
    >>> float(mean), round(float(error), 3)
    (2.0, 0.577)
    """
    return values.mean(over), values.std(over, ddof=1) / np.sqrt(values.count(over))


def mean_of(values: np.ndarray, regime: str = "", *, least: float = 0.0) -> Finding:
    """The mean of independent numbers and its standard error, which may be said to be at least so much.

    >>> mean_of(np.array([1.0, 2.0, 3.0])).value
    2.0
    """
    spread = float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return Finding(float(values.mean()), max(float(spread), least), regime)


def regime(finding: Finding, words: str) -> Finding:
    """A finding with words on where it was measured."""
    return dataclasses.replace(finding, regime=words)


def negated(finding: Finding) -> Finding:
    """A number with the other sign.

    >>> negated(Finding(2.0, 0.5, interval=(1.0, 3.5))).interval
    (-3.5, -1.0)
    """
    ends = finding.interval
    return dataclasses.replace(finding, value=-finding.value, interval=None if ends is None else (-ends[1], -ends[0]))


def exponent_of(x: Any, values: Any, errors: Any = None, regime: str = "") -> Finding:
    """The exponent of a power law for a criterion to judge; not tested where fewer than two values stand out of their noise."""
    power = power_law(x, values, errors)
    if power is None:
        raise unresolved(regime)
    return Finding(power.exponent, power.stderr, regime)


def with_interval(mean: Finding, count: int, confidence: float = 0.9) -> Finding:
    r"""A mean of n independent numbers with Student's interval, $\bar v \pm t_{n-1} s / \sqrt n$."""
    from scipy import stats

    half = float(stats.t.ppf(0.5 + confidence / 2, count - 1)) * (mean.stderr or 0.0)
    return dataclasses.replace(mean, interval=(mean.value - half, mean.value + half))


def nothing(regime: str) -> NothingToJudge:
    """What a claim's function raises where there is nothing to judge."""
    return NothingToJudge(Verdict("not tested", regime=regime))


def unresolved(regime: str) -> NothingToJudge:
    """What a claim's function raises where noise or rounding leaves nothing to judge."""
    return nothing(f"Too few values stand out of their noise: {regime}")


def at_scale(scale: Scale, *, smoke: Any, quick: Any, full: Any) -> Any:
    """The setting of a scale."""
    return {"smoke": smoke, "quick": quick, "full": full}[scale]


def with_error(value: float, stderr: float | None = None, digits: int = 3) -> str:
    """A number for a table, with its standard error where it has one."""
    return f"{value:.{digits}g}" if not stderr else f"{value:.{digits}g} ± {stderr:.1g}"


def plotted(figure: go.Figure, title: str, caption: str, *, x: str, y: str, ticks: Any = None, linear: str = "", wide: bool = True) -> Plot:
    """A figure with its words and its named axes. The axes named in `linear` are linear, others logarithmic."""
    finished(figure, x=x, y=y, ticks=ticks, linear_y="y" in linear)
    if "x" in linear:
        figure.update_xaxes(type="linear", dtick=None)
    return Plot(figure, title, caption, wide)
