r"""Learning curves by a formula of a few numbers, fitted to the measured points: what people continue curves with now.

With u = N / N_0, the measured size N over the largest one, and all numbers positive:

- power: $b u^{-c}$
- POW3: $a + b u^{-c}$
- POW4: $a + b (u + d)^{-c}$
- MMF4: $(a b + c u^d) / (b + u^d)$
- EXP3: $a + b e^{-c u}$
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import optimize, special

from specht.forecasts.shapes import ErrorCurve

DRAWS = 60
"""Curves drawn from the measured ones within their errors, which an interval rests on."""
_LEAST = 1e-6
_RANGE = (-25.0, 8.0)
"""Of the logarithms of a law's numbers."""
_EVALUATIONS = 400


def _power(u: np.ndarray, b: float, c: float) -> np.ndarray:
    return b * u**-c


def _pow3(u: np.ndarray, a: float, b: float, c: float) -> np.ndarray:
    return a + b * u**-c


def _pow4(u: np.ndarray, a: float, b: float, c: float, d: float) -> np.ndarray:
    return a + b * (u + d) ** -c


def _mmf4(u: np.ndarray, a: float, b: float, c: float, d: float) -> np.ndarray:
    return c + (a - c) * special.expit(np.log(b) - d * np.log(u))  # the same, without powers that overflow


def _exp3(u: np.ndarray, a: float, b: float, c: float) -> np.ndarray:
    return a + b * np.exp(-c * u)


LAWS: dict[str, Callable[..., np.ndarray]] = {"power": _power, "pow3": _pow3, "pow4": _pow4, "mmf4": _mmf4, "exp3": _exp3}


def fit_law(name: str, curve: ErrorCurve) -> Callable[[np.ndarray], np.ndarray]:
    """The law of this name that is nearest to the measured errors by least squares, as a function of the number of training rows.

    >>> n = np.array([16.0, 32.0, 64.0, 128.0])
    >>> law = fit_law("pow3", ErrorCurve(n, 0.2 + 3.0 / n, 0.01 * np.ones(4)))
    >>> law(np.array([1024.0])).round(4)
    array([0.2029])
    """
    numbers = _fit(name, curve, _starts(name, curve))
    return lambda n_train: LAWS[name](np.asarray(n_train, dtype=float) / curve.n_train[-1], *np.exp(numbers))


def extrapolate_law(
    name: str, curve: ErrorCurve, at: np.ndarray, *, shared: float, confidence: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value, low and high end at the sizes `at`: the fit, and quantiles of fits to curves drawn within the errors of the measured one.

    Arguments:
        shared: standard error of log(error) that all points share, because the same rows judge them.
    """
    best = _fit(name, curve, _starts(name, curve))
    u = np.asarray(at, dtype=float) / curve.n_train[-1]
    draws = []
    for _ in range(DRAWS):
        noisy = np.maximum(curve.error + curve.stderr * rng.standard_normal(len(curve.error)), _LEAST)
        numbers = _fit(name, ErrorCurve(curve.n_train, noisy, curve.stderr), [best])
        draws.append(LAWS[name](u, *np.exp(numbers)) * np.exp(shared * rng.standard_normal()))
    tail = (1.0 - confidence) / 2.0
    value = LAWS[name](u, *np.exp(best))
    low, high = np.quantile(draws, [tail, 1.0 - tail], axis=0)
    return value, np.minimum(low, value), np.maximum(high, value)


def _fit(name: str, curve: ErrorCurve, starts: list[np.ndarray]) -> np.ndarray:
    """Logarithms of the law's numbers; the best of the fits from all starts."""
    u = curve.n_train / curve.n_train[-1]
    scale = 1.0 / np.maximum(curve.stderr, 1e-3 * curve.error)

    def misses(numbers: np.ndarray) -> np.ndarray:
        return scale * (np.minimum(LAWS[name](u, *np.exp(np.clip(numbers, *_RANGE))), 1e6) - curve.error)

    with np.errstate(over="ignore"):  # far from any curve
        fits = [optimize.least_squares(misses, start, method="lm", max_nfev=_EVALUATIONS) for start in starts]
    return np.clip(min(fits, key=lambda fit: fit.cost).x, *_RANGE)


def _starts(name: str, curve: ErrorCurve) -> list[np.ndarray]:
    """Where fits begin: slow and fast falls, to a low and to a high floor."""
    first, last = curve.error[0], curve.error[-1]
    starts = []
    for exponent in (0.2, 0.5, 1.0):
        for share in (0.1, 0.7):
            floor = share * last
            numbers = {
                "power": (last, exponent),
                "pow3": (floor, last - floor, exponent),
                "pow4": (floor, last - floor, exponent, 0.05),
                "mmf4": (max(first, last), 0.2, floor, 2.0 * exponent),
                "exp3": (floor, max(first - floor, 0.1 * last), 2.0 * exponent),
            }[name]
            starts.append(np.log(np.maximum(numbers, _LEAST)))
    return starts
