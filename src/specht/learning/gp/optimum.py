r"""Maximise a log likelihood over positive parameters: L-BFGS-B on their logarithms, from several starts, with standard errors.

The standard errors are those of the logarithms, from the inverse of minus the Hessian at the optimum (the observed information). A
logarithm that is uncertain by 0.1 means a parameter that is uncertain by 10 %.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import optimize

from specht.errors import InputError
from specht.progress import Progress, report

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""Logarithms of the parameters (P,) to log likelihood and its gradient (P,)."""

_STEP = 1e-4
"""Step of the differences of gradients that make the Hessian."""
_AT_BOUND = 1e-6
"""Distance of a logarithm from its bound below which it counts as stopped there."""
_HOPELESS = 1e10
"""Negative log likelihood for each label where there is none, because a Gram is not positive definite."""


@dataclasses.dataclass(frozen=True, eq=False)
class Optimum:
    """The most likely parameters of all starts."""

    names: tuple[str, ...]
    values: np.ndarray
    """(P,)"""
    log_stderr: np.ndarray
    """Standard errors of the logarithms (P,); not a number for a parameter at a bound, or where the optimum is flat."""
    low: np.ndarray
    """Lower bounds (P,)."""
    high: np.ndarray
    """Upper bounds (P,)."""
    log_likelihood: float
    start_likelihoods: np.ndarray
    """Where each start ended (S,)."""
    start_values: np.ndarray
    """Parameters where each start ended (S, P)."""
    evaluations: int
    """Calls of the objective in all."""

    @property
    def at_bound(self) -> dict[str, str]:
        """Parameters that stopped at a bound, and at which: "lower" or "upper"."""
        sides = {}
        for name, value, low, high in zip(self.names, np.log(self.values), np.log(self.low), np.log(self.high), strict=True):
            if value - low < _AT_BOUND or high - value < _AT_BOUND:
                sides[name] = "lower" if value - low < _AT_BOUND else "upper"
        return sides

    def warnings(self) -> tuple[str, ...]:
        """What to know before trusting the optimum, in sentences."""
        sentences = []
        for name, side in self.at_bound.items():
            bound = dict(zip(self.names, self.low if side == "lower" else self.high, strict=True))[name]
            wish = "smaller" if side == "lower" else "larger"
            sentences.append(f"{name} stopped at its {side} bound {bound:.3g}: the labels ask for a {wish} value, so do not trust it.")
        flat = [name for name, error in zip(self.names, self.log_stderr, strict=True) if math.isnan(error) and name not in self.at_bound]
        if flat:
            sentences.append(f"The likelihood does not fix {', '.join(flat)}: it is flat there, so they have no standard error.")
        return tuple(sentences)


def maximise(
    objective: Objective,
    names: Sequence[str],
    starts: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    labels: int,
    progress: Progress | None = None,
) -> Optimum:
    """Climb from every start and keep the best.

    Arguments:
        objective: log likelihood and gradient; a value that is not finite means parameters that are not allowed.
        names: names of the parameters.
        starts: logarithms to start from (S, P).
        low, high: bounds of the logarithms (P,).
        labels: how many there are; the search stops when the likelihood of one changes by less than rounding.
        progress: called as progress(done, total) after every start.

    >>> centre = np.log([2.0, 3.0])
    >>> best = maximise(lambda t: (-50.0 * float(np.sum((t - centre) ** 2)), -100.0 * (t - centre)), ["a", "b"], np.zeros((2, 2)),
    ...                 np.full(2, -5.0), np.full(2, 5.0), labels=100)
    >>> best.values.round(4).tolist(), best.log_stderr.round(4).tolist()
    ([2.0, 3.0], [0.1, 0.1])
    """
    calls = 0

    def negative(logarithms: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal calls
        calls += 1
        value, gradient = objective(logarithms)
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            return _HOPELESS, np.zeros_like(logarithms)
        return -value / labels, -gradient / labels

    options = {"maxiter": 300, "maxcor": 20, "ftol": 1e-14, "gtol": 1e-8}
    bounds = list(zip(low, high, strict=True))
    ends = []
    for place, start in enumerate(np.clip(starts, low, high)):
        end = optimize.minimize(negative, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        ends.append((-labels * float(end.fun), np.clip(end.x, low, high)))
        report(progress, place + 1, len(starts))
    likelihoods, logarithms = np.array([value for value, _ in ends]), np.stack([point for _, point in ends])
    best = int(np.argmax(likelihoods))
    if likelihoods[best] <= -0.5 * labels * _HOPELESS:
        raise InputError("The Gram plus ridge is not positive definite at any start: raise the lower bound of the ridge.")
    errors = _standard_errors(objective, logarithms[best], low, high)
    return Optimum(
        tuple(names), np.exp(logarithms[best]), errors, np.exp(low), np.exp(high), float(likelihoods[best]), likelihoods,
        np.exp(logarithms), calls + 2 * len(low),
    )  # fmt: skip


def _standard_errors(objective: Objective, point: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Standard errors of the logarithms, with those at a bound held there."""
    errors = np.full(len(point), np.nan)
    inner = np.flatnonzero((point - low >= _AT_BOUND) & (high - point >= _AT_BOUND))
    if not len(inner):
        return errors
    steps = _STEP * np.eye(len(point))[inner]
    hessian = np.array([(objective(point + step)[1] - objective(point - step)[1])[inner] / (2 * _STEP) for step in steps])
    if not np.isfinite(hessian).all():
        return errors
    curvature, directions = np.linalg.eigh(-(hessian + hessian.T) / 2.0)
    known = curvature > 1e-8 * max(curvature[-1], 1e-300)
    variance = np.sum(directions[:, known] ** 2 / curvature[known], axis=1)
    # A parameter that takes part in a flat direction has no error of its own.
    flat = np.sum(directions[:, ~known] ** 2, axis=1) > 1e-6
    errors[inner] = np.where(flat, np.nan, np.sqrt(variance))
    return errors
