r"""How thresholds grow with the number of positions T: with its logarithm, as a power, or in proportion?

| law | | parameters |
|---|---|---|
| log | $m = a + b \ln T$ | a, b |
| power | $m = c\, T^\alpha$ | c, α |
| linear | $m = a + b T$ | a, b |

Each is fitted to $\ln m$ with the errors of the thresholds. Akaike's criterion compares them, $\chi^2 / \phi + 2 k$; the dispersion $\phi$
is what $\chi^2$ of the best law has in excess of its degrees of freedom, or one. The error of $\alpha$ has the dispersion of the power law
itself. Over a small range of T a logarithm and a small power look alike, and then this is what is said.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import optimize

from specht.errors import InputError

LAWS = ("log", "power", "linear")
SEPARATED = 4.0
"""Difference of Akaike's criterion from which on a law is said to be better."""
_LEAST = 3
"""Thresholds that a comparison needs."""


@dataclasses.dataclass(frozen=True)
class Law:
    """One law, fitted."""

    name: str
    parameters: tuple[float, float]
    chi_square: float
    aic: float
    r_squared: float
    """Share of the variance of the thresholds that the law explains, not weighted."""

    def __call__(self, lengths: Any) -> np.ndarray:
        return _value(self.name, np.asarray(self.parameters), np.asarray(lengths, dtype=float))


@dataclasses.dataclass(frozen=True)
class Growth:
    """All laws, and what they say together."""

    laws: dict[str, Law]
    exponent: float
    """α of the power law."""
    exponent_stderr: float
    log_r_squared: float
    """R² of the line through the thresholds against ln T, by least squares without weights; the next is that against T."""
    linear_r_squared: float
    points: int

    def advantage(self, law: str, over: str) -> float:
        """By how much Akaike's criterion prefers one law to another."""
        return self.laws[over].aic - self.laws[law].aic

    @property
    def verdict(self) -> str:
        """Which law it is, as far as these thresholds can tell."""
        best = min(self.laws.values(), key=lambda law: law.aic).name
        if all(self.advantage(best, other) > SEPARATED for other in self.laws if other != best):
            return {"log": "log T", "power": f"T^{{{self.exponent:.2g}}}", "linear": "linear in T"}[best]
        above = self.exponent + 2 * self.exponent_stderr
        below = self.exponent - 2 * self.exponent_stderr
        if above < 1.0 and self.advantage("log", "linear") > SEPARATED:
            return "sub-linear, log and T^a not separated at this scale"
        if above < 1.0:
            return "sub-linear, laws not separated at this scale"
        if below <= 1.0 and self.advantage("linear", "log") > SEPARATED:
            return "about linear in T"
        return "faster than linear in T" if below > 1.0 else "laws not separated at this scale"


def fit_growth(lengths: Sequence[float], thresholds: Sequence[float], log_errors: Sequence[float]) -> Growth:
    """Fit all laws to thresholds with standard errors of their logarithms.

    >>> lengths = [25, 50, 100, 200, 400, 800]
    >>> fit_growth(lengths, [10 + 20 * math.log(T) for T in lengths], [0.01] * 6).verdict
    'log T'
    >>> fit_growth(lengths, [5 * T for T in lengths], [0.05] * 6).verdict  # a power of exponent one as well
    'about linear in T'
    """
    x, m, errors = (np.asarray(values, dtype=float) for values in (lengths, thresholds, log_errors))
    if len(np.unique(x)) < _LEAST:
        raise InputError(f"Laws of growth have two parameters each, and there are {len(np.unique(x))} lengths: give at least {_LEAST}.")
    if (m <= 0).any() or (errors <= 0).any():
        raise InputError("Thresholds and their errors must be positive: leave out those that were not reached.")
    fitted = {name: _fit(name, x, m, errors) for name in LAWS}
    least = min(chi for _, chi, _ in fitted.values())
    dispersion = max(1.0, least / max(1, len(x) - 2))
    laws = {
        name: Law(name, (float(p[0]), float(p[1])), chi, chi / dispersion + 4.0, _r_squared(m, _value(name, p, x)))
        for name, (p, chi, _) in fitted.items()
    }
    _, chi, covariance = fitted["power"]
    stderr = math.sqrt(max(1.0, chi / max(1, len(x) - 2)) * covariance[1, 1])  # the power law's own dispersion, not that of the best
    return Growth(laws, laws["power"].parameters[1], stderr, _line_r_squared(np.log(x), m), _line_r_squared(x, m), len(x))


def _value(name: str, p: np.ndarray, x: np.ndarray) -> np.ndarray:
    if name == "power":
        return p[0] * x ** p[1]
    return p[0] + p[1] * (np.log(x) if name == "log" else x)


def _fit(name: str, x: np.ndarray, m: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Parameters, χ² and the covariance of the parameters."""
    if name == "power":
        design = np.stack([np.ones_like(x), np.log(x)], axis=1) / errors[:, None]
        covariance = np.linalg.inv(design.T @ design)
        p = covariance @ design.T @ (np.log(m) / errors)
        chi = float(np.sum((design @ p - np.log(m) / errors) ** 2))
        return np.array([math.exp(p[0]), p[1]]), chi, covariance
    variable: Callable[[np.ndarray], np.ndarray] = np.log if name == "log" else np.asarray

    def residuals(p: np.ndarray) -> np.ndarray:
        # A law that is not positive everywhere is refused by a large residual that still has a slope.
        value = p[0] + p[1] * variable(x)
        floor = 1e-3 * m
        inside = np.log(np.maximum(value, floor) / m) + np.minimum(value - floor, 0.0) / m
        return inside / errors

    start = np.polyfit(variable(x), m, 1, w=1.0 / (m * errors))[::-1]
    fit: Any = optimize.least_squares(residuals, start, x_scale=np.maximum(np.abs(start), 1e-3))
    return fit.x, float(np.sum(fit.fun**2)), np.linalg.pinv(fit.jac.T @ fit.jac)


def _r_squared(m: np.ndarray, predicted: np.ndarray) -> float:
    spread = float(np.sum((m - m.mean()) ** 2))
    return 1.0 - float(np.sum((m - predicted) ** 2)) / spread if spread else 0.0


def _line_r_squared(x: np.ndarray, m: np.ndarray) -> float:
    return _r_squared(m, np.polyval(np.polyfit(x, m, 1), x))
