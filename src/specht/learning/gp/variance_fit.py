r"""The variances and the ridge under which labels are most likely: what `GP.fit` does.

All parameters are positive, so their logarithms are fitted. Not all of them can be distinguished: without a nonlinearity, for example, the
variances of dense layer and readout only multiply the kernel. Such relations show in the gradient of the likelihood: if a change of one
logarithm does to the kernel what a fixed combination of others does, then its slope is the same combination of their slopes wherever one
looks. Slopes at random points find these relations, and a variance that takes part in one keeps its value.

The standard errors are those of the logarithms, from the inverse of minus the Hessian at the optimum (the observed information). A
logarithm that is uncertain by 0.1 means a parameter that is uncertain by 10 %.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from specht.checks import finite_number, whole_number
from specht.errors import InputError, unknown_choice
from specht.learning.checks import labels
from specht.progress import Progress, report

RIDGE = "ridge"
SPREAD = 10.0
"""Largest factor by which random starts differ from the model's own values."""
SPAN = 1e4
"""Factor by which a fitted value may differ from the model's own."""
RIDGES = (1e-6, 1e2)
"""Smallest and largest ridge, in units of the mean squared label."""
_SCALE_SPAN = 1e30
"""Factor by which the size of the kernel may differ: it must make up for what the other parameters do to it."""
_DEPENDENT = 1e-6
"""Share of a column of slopes that others must leave unexplained for it to count as independent."""
_MORE_POINTS = 4
"""Random points beyond the number of parameters, so that a relation between slopes is no accident."""

Values = Mapping[str, Any]
"""Numbers or vectors by name."""
Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""Logarithms of the parameters (P,) to log likelihood and its gradient (P,)."""
_STEP = 1e-4
"""Step of the differences of gradients that make the Hessian."""
_AT_BOUND = 1e-6
"""Distance of a logarithm from its bound below which it counts as stopped there."""
_HOPELESS = 1e10
"""Negative log likelihood for each label where there is none, because a Gram is not positive definite."""


@dataclasses.dataclass(frozen=True, eq=False)
class ParametricGram:
    """A Gram as a function of positive parameters."""

    gram: Callable[[Values, Any], Any]
    """Maps numbers or vectors by name, and `data`, to the Gram (N, N), in JAX. One that equals another shares its compilation."""
    own: Values
    """Values to begin with; those that are zero stay zero."""
    scale: str
    """The parameter that multiplies the kernel."""
    order: tuple[str, ...]
    """All parameters, the ones to fit first: a later one that adds nothing to those before it is held."""
    data: Any = None
    """Arrays that the Gram needs and that do not change."""


@dataclasses.dataclass(frozen=True)
class Unpack:
    """A vector of values, NumPy or JAX, as numbers and vectors by name, and the ridge, which is the last."""

    entries: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]
    """Name, shape and places that are not zero."""

    def __call__(self, vector: Any) -> tuple[dict[str, Any], Any]:
        parts, start = {}, 0
        for name, shape, places in self.entries:
            spread = np.eye(math.prod(shape))[:, list(places)]
            parts[name] = (spread @ vector[start : start + len(places)]).reshape(shape)
            start += len(places)
        return parts, vector[start]


@dataclasses.dataclass(frozen=True, eq=False)
class Fitted:
    """The optimum, and what was held."""

    optimum: Optimum
    values: dict[str, Any]
    """Every parameter of the model at the optimum, numbers or vectors."""
    ridge: float
    held: tuple[str, ...]
    """Parameters that kept their value, because the others already do what they would."""


def fit_model(
    model: ParametricGram,
    y: Any,
    *,
    starts: int = 4,
    seed: int = 0,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """The parameters of a Gram and the ridge that maximise the log marginal likelihood of labels (N,) or (N, K).

    Arguments:
        model: the Gram and its parameters.
        starts: how often to climb; the first start is from the model's own values.
        seed: seed of the other starts.
        bounds: smallest and largest value by name, where they should differ from the usual ones.
        progress: called as progress(done, total) after every start.
    """
    y, starts = labels(y), whole_number("starts", starts, at_least=1)
    if (y == y[:1]).all():
        raise InputError(f"All {len(y)} labels are equal, so they say nothing about variances: give labels that differ.")
    power = float(np.mean(y**2))
    layout = _Layout(model)
    low, high = layout.bounds(power, bounds or {})
    evidence = _compiled_evidence(model, layout, y)
    rng = np.random.default_rng(whole_number("seed", seed))
    points = layout.random_points(rng, power, max(starts, len(low) + _MORE_POINTS))
    kept, direction = _identifiable(np.stack([evidence(point).slope for point in points]), layout)

    def complete(logarithms: np.ndarray) -> np.ndarray:
        """All parameters, the held ones at their own values."""
        everything = points[0].copy()
        everything[kept] = logarithms
        return everything

    def objective(logarithms: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope, _ = evidence(complete(logarithms))
        return value, slope[kept]

    begin = points[:starts, kept]
    # Every start has a kernel of the size of the labels.
    begin += np.stack([math.log(power / evidence(complete(point)).size) * direction for point in begin])
    names = [layout.names[index] for index in kept]
    optimum = maximise(objective, names, begin, low[kept], high[kept], labels=y.size, progress=progress)
    values, ridge = layout.unpack(np.exp(complete(np.log(optimum.values))))
    held = tuple(name for name in layout.names if name not in names)
    return Fitted(optimum, values, float(ridge), held)


class _Layout:
    """Parameters by name as one vector of logarithms: those of the model that are not zero, and the ridge at the end."""

    def __init__(self, model: ParametricGram) -> None:
        own = {name: np.asarray(value, dtype=np.float64) for name, value in model.own.items()}
        places = {name: tuple(np.flatnonzero(value).tolist()) for name, value in own.items()}
        self.unpack = Unpack(tuple((name, own[name].shape, places[name]) for name in own))
        self.names: list[str] = []
        for name in own:
            self.names += [name] * len(places[name]) if own[name].ndim == 0 else [f"{name}[{place}]" for place in places[name]]
        if model.scale not in self.names:
            raise InputError(f"The kernel is zero, because its {model.scale} variance is: give it a positive one.")
        self.own = np.log(np.concatenate([own[name].ravel()[list(places[name])] for name in own]))
        self.names.append(RIDGE)
        self.model, self.scale = model, self.names.index(model.scale)

    def order(self) -> list[int]:
        """Places in the vector, the ones to fit first."""
        rank = {name: place for place, name in enumerate((RIDGE, *self.model.order))}
        return sorted(range(len(self.names)), key=lambda index: (rank[self.names[index].split("[")[0]], index))

    def bounds(self, power: float, wanted: Mapping[str, tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of the smallest and largest value of each parameter; `power` is the mean squared label."""
        spans = np.full(len(self.names) - 1, math.log(SPAN))
        spans[self.scale] = math.log(_SCALE_SPAN)
        low = np.append(self.own - spans, math.log(RIDGES[0] * power))
        high = np.append(self.own + spans, math.log(RIDGES[1] * power))
        for name, pair in wanted.items():
            places = [index for index, full in enumerate(self.names) if name in (full, full.split("[")[0])]
            if not places:
                raise unknown_choice("parameter with bounds", name, self.names)
            ends = [finite_number(f"A bound of {name}", end, above=0.0) for end in pair]
            if len(ends) != 2 or not ends[0] < ends[1]:
                raise InputError(f"The bounds of {name} must be a smallest and a larger largest value, got {pair!r}.")
            low[places], high[places] = math.log(ends[0]), math.log(ends[1])
        return low, high

    def random_points(self, rng: np.random.Generator, power: float, count: int) -> np.ndarray:
        """Logarithms (count, P) around the model's own values, the first of them these values themselves."""
        around = np.append(self.own, math.log(0.1 * power))
        steps = rng.uniform(-math.log(SPREAD), math.log(SPREAD), (count, len(around)))
        steps[0] = 0.0
        return around + steps


class _Evaluation(NamedTuple):
    value: float
    slope: np.ndarray
    """Gradient in the logarithms of all parameters."""
    size: float
    """Mean of k(x, x)."""


def _compiled_evidence(model: ParametricGram, layout: _Layout, y: np.ndarray) -> Callable[[np.ndarray], _Evaluation]:
    """Log marginal likelihood and gradient as a function of logarithms, compiled once."""
    import jax

    from specht.learning.gp.evidence import evidence_and_slope

    def evidence(logarithms: np.ndarray) -> _Evaluation:
        with jax.enable_x64(True):
            (likelihood, size), slope = evidence_and_slope(logarithms, y, model.data, gram=model.gram, unpack=layout.unpack)
            return _Evaluation(float(likelihood), np.asarray(slope), float(size))

    return evidence


def _identifiable(slopes: np.ndarray, layout: _Layout) -> tuple[np.ndarray, np.ndarray]:
    """Parameters that no fixed combination of those before them replaces, and how they move to multiply the kernel by e."""
    usable = slopes[np.isfinite(slopes).all(axis=1)]
    rows = usable / np.maximum(np.linalg.norm(usable, axis=1, keepdims=True), 1e-300)
    kept: list[int] = []
    for index in layout.order():
        column = rows[:, index]
        left = column - rows[:, kept] @ np.linalg.lstsq(rows[:, kept], column)[0] if kept else column
        if np.linalg.norm(left) > _DEPENDENT * np.linalg.norm(column) > 0.0:
            kept.append(index)
    kept.sort()
    direction = np.zeros(len(kept))
    of_kernel = [place for place, index in enumerate(kept) if layout.names[index] != RIDGE]
    columns = rows[:, [kept[place] for place in of_kernel]]
    direction[of_kernel] = np.linalg.lstsq(columns, rows[:, layout.scale])[0]
    return np.array(kept), direction


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
