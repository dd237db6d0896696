r"""The baseline of every forecast: $E(N) = a + b N^{-c}$ through the measured points, and the score that compares intervals."""

from __future__ import annotations

import dataclasses

import numpy as np

from specht.errors import InputError
from specht.stats import standard_error

EXPONENTS = np.linspace(0.05, 2.0, 79)
DRAWS = 400
"""Resampled curves that an interval rests on."""


@dataclasses.dataclass(frozen=True)
class PowerLaw:
    """a + b N^-c with a and b not negative; arrays hold one entry a curve."""

    floor: np.ndarray
    scale: np.ndarray
    exponent: np.ndarray

    def __call__(self, n_train: np.ndarray) -> np.ndarray:
        """Errors (curves, points)."""
        return self.floor[:, None] + self.scale[:, None] * np.asarray(n_train, dtype=float)[None, :] ** -self.exponent[:, None]


def fit_power_law(n_train: np.ndarray, errors: np.ndarray, weights: np.ndarray) -> PowerLaw:
    """Weighted least squares of many curves (curves, points) at once: a and b are linear given c, and c is searched on a grid.

    >>> n = np.array([16.0, 32.0, 64.0, 128.0])
    >>> law = fit_power_law(n, (0.2 + 3.0 / n)[None, :], np.ones(4))
    >>> law.floor.round(3), law.scale.round(3), law.exponent.round(3)
    (array([0.2]), array([3.]), array([1.]))
    """
    weights = weights / weights.sum()
    basis = np.asarray(n_train, dtype=float)[None, :] ** -EXPONENTS[:, None]  # (exponents, points)
    mean_basis, mean_error = basis @ weights, errors @ weights
    spread = (basis**2) @ weights - mean_basis**2
    shared = (errors * weights) @ basis.T - mean_error[:, None] * mean_basis[None, :]  # (curves, exponents)
    slope = np.maximum(shared / spread, 0.0)
    floor = mean_error[:, None] - slope * mean_basis
    through_zero = np.maximum((errors * weights) @ basis.T / ((basis**2) @ weights), 0.0)  # where the floor would be negative
    slope, floor = np.where(floor < 0.0, through_zero, slope), np.maximum(floor, 0.0)
    misfit = ((errors[:, None, :] - floor[..., None] - slope[..., None] * basis) ** 2) @ weights
    best = np.argmin(misfit, axis=1)
    rows = np.arange(len(errors))
    return PowerLaw(floor[rows, best], slope[rows, best], EXPONENTS[best])


def extrapolate_power_law(
    n_train: np.ndarray, errors: np.ndarray, at: np.ndarray, *, log_stderr: float, confidence: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value, low and high end at the sizes `at`: the fit to the mean curve, and quantiles of fits to resampled ones.

    Arguments:
        n_train: sizes (P,) of the measured points.
        errors: (P, repeats).
        log_stderr: standard error of the logarithm of an error that all points share, because they come from one set of rows.
    """
    if errors.shape[1] < 2:
        raise InputError("A power law with an interval needs at least two repeats at each size.")
    mean = errors.mean(axis=1)
    stderr = standard_error(errors, axis=1)
    weights = 1.0 / np.maximum(stderr, 1e-3 * mean) ** 2
    chosen = rng.integers(errors.shape[1], size=(DRAWS, *errors.shape))
    resampled = np.take_along_axis(errors[None], chosen, axis=2).mean(axis=2)
    shared = np.exp(log_stderr * rng.standard_normal((DRAWS, 1)))
    tail = (1.0 - confidence) / 2.0
    draws = fit_power_law(n_train, resampled, weights)(at) * shared
    low, high = np.quantile(draws, [tail, 1.0 - tail], axis=0)
    value = fit_power_law(n_train, mean[None], weights)(at)[0]
    return value, np.minimum(low, value), np.maximum(high, value)


def interval_score(low: np.ndarray, high: np.ndarray, truth: np.ndarray, confidence: float) -> np.ndarray:
    r"""Width plus $2/\alpha$ times the miss, $\alpha = 1 - $ confidence: smaller is better (Gneiting & Raftery 2007, eq. 43).

    >>> float(interval_score(np.array(1.0), np.array(2.0), np.array(2.5), 0.8).round(6))
    6.0
    """
    low, high, truth = np.asarray(low), np.asarray(high), np.asarray(truth)
    miss = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    return high - low + 2.0 / (1.0 - confidence) * miss
