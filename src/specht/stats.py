r"""Estimates with their errors: means over independent values, the jackknife, and exponents of power laws.

An exponent $b$ is the slope of a straight line, $\log \lambda = a + b \log L$. Every point has the variance $s_i^2 + \tau^2$: $s_i$ is its
relative standard error where it was sampled, or what rounding leaves of an exact value, and $\tau$ the scatter around the line that $s_i$
does not explain, such that $\sum_i r_i^2 / (s_i^2 + \tau^2) = n - 2$ for the residuals $r_i$ of $n$ points (after Paule and Mandel 1982).
For exact values this is ordinary least squares: the error then says how far from a straight line they lie. Points count as independent.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from specht.errors import InputError


def standard_error(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """Standard error of the mean over an axis, from the scatter of independent values along it.

    >>> float(standard_error(np.array([1.0, 2.0, 3.0])).round(4))
    0.5774
    """
    return values.std(axis=axis, ddof=1) / np.sqrt(values.shape[axis])


def jackknife_error(left_out: Sequence[np.ndarray] | Sequence[float]) -> np.ndarray:
    """Standard error of an estimate from what it is without one of n parts of the data each.

    >>> float(jackknife_error([2.5, 2.0, 1.5]).round(4))  # means without 1, 2 and 3
    0.5774
    """
    return np.std(left_out, axis=0) * math.sqrt(len(left_out) - 1)


@dataclasses.dataclass(frozen=True)
class FittedExponent:
    """A slope in double-logarithmic axes."""

    value: float
    stderr: float | None
    """Standard error from sampling and scatter around the line together; None where two exact points leave no scatter."""
    scatter: float = 0.0
    """Root mean square distance from the line, in natural logarithms, that sampling does not explain: zero for a perfect power law."""


def fit_exponent(lengths: Sequence[int], values: Sequence[float], relative_errors: Sequence[float] | None = None) -> FittedExponent:
    """The exponent of a power law through positive values, by weighted least squares of their logarithms.

    >>> fit = fit_exponent([10, 100, 1000], [1.0, 0.1, 0.02])
    >>> round(fit.value, 3), round(fit.stderr, 3), round(fit.scatter, 3)
    (-0.849, 0.087, 0.283)
    """
    x, y = np.log(np.asarray(lengths, dtype=float)), np.log(np.asarray(values, dtype=float))
    if len(x) != len(y) or len(set(lengths)) < 2 or not np.isfinite(y).all():
        raise InputError(f"An exponent needs two lengths or more with a positive value each, got {list(lengths)} and {list(values)}.")
    least = np.finfo(float).eps  # even an exact value is rounded
    variances = np.full(len(x), least**2) if relative_errors is None else np.maximum(relative_errors, least) ** 2
    scatter = _scatter(x, y, variances)
    slope, stderr, _ = _line(x, y, variances + scatter)
    known = len(x) > 2 or relative_errors is not None
    return FittedExponent(slope, stderr if known else None, math.sqrt(scatter))


def _line(x: np.ndarray, y: np.ndarray, variances: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Slope of the weighted line, its standard error, and the residuals."""
    weights = 1.0 / variances
    weights = weights / weights.sum()
    across = x - weights @ x
    spread = weights @ across**2
    slope = float(weights @ (across * y) / spread)
    residuals = y - weights @ y - slope * across
    return slope, float(math.sqrt(1.0 / ((1.0 / variances).sum() * spread))), residuals


def _scatter(x: np.ndarray, y: np.ndarray, variances: np.ndarray) -> float:
    """Variance around the line beyond that of the points."""
    freedom = len(x) - 2

    def excess(scatter: float) -> float:
        residuals = _line(x, y, variances + scatter)[2]
        return float((residuals**2 / (variances + scatter)).sum()) - freedom

    least = 1e-8 * float(variances.min())
    if freedom < 1 or excess(least) <= 0.0:
        return 0.0
    # With as much as `most`, the horizontal line alone would already be good enough. Scatter may be of any size, hence the logarithm.
    most = float(((y - y.mean()) ** 2).sum())
    if excess(most) >= 0.0:  # values that are equal but for rounding
        return 0.0
    from scipy.optimize import root_scalar  # means need no SciPy

    zero = root_scalar(lambda log: excess(math.exp(log)), bracket=(math.log(least), math.log(most)), xtol=1e-10)
    return math.exp(zero.root)


def interval_score(low: np.ndarray | float, high: np.ndarray | float, truth: np.ndarray | float, confidence: float) -> np.ndarray:
    r"""Width plus $2/\alpha$ times the miss, $\alpha = 1 - $ confidence: smaller is better (Gneiting & Raftery 2007, eq. 43).

    >>> float(interval_score(1.0, 2.0, 2.5, 0.8).round(6))
    6.0
    """
    low, high, truth = np.asarray(low), np.asarray(high), np.asarray(truth)
    miss = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    return high - low + 2.0 / (1.0 - confidence) * miss
