r"""Where a learning curve goes from here, as curves of the same beginning went on: a mixture of shapes whose weights are learned.

With $u = N / N_0$, where $N_0$ is the largest size that was measured, a shape is

$$ \log E(N) = a + \log f(u), \qquad f(u) = \varphi + (1 - \varphi) \Big( \frac{u^\beta + \delta}{1 + \delta} \Big)^{-\alpha / \beta} . $$

It has a power $\alpha$, a share $\varphi$ of the error that never goes away, and a delay $\delta$ with sharpness $\beta$, before which the
curve is flat. The power law with an offset ($\delta = 0$), POW4 ($\beta = 1$) and MMF4 ($\beta = \alpha$ with a floor) are among them or
close to one. Real curves leave every shape: the deviation grows as $\mu |\log u|$ with the distance from $N_0$, and $\mu$ is part of the
shape. The height $a$ is unknown and flat.

How likely each shape is beforehand is learned from many real learning curves, by the likelihood of their continuations (`learn_weights`),
and frozen in `shapes.csv`. Nothing else is tuned: what a curve's own points say enters by Bayes' rule, and intervals are quantiles of the
mixture.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import importlib.resources
import itertools

import numpy as np
from scipy import special

ROUNDING = 0.004
"""Standard deviation of log(error) that every point is granted."""
_HALVINGS = 60
_POWERS = (0.0, 0.03, 0.07, 0.12, 0.18, 0.25, 0.33, 0.42, 0.55, 0.7, 0.9, 1.2, 1.6, 2.2, 3.5)
_RISES = (-0.05, -0.15, -0.4)
_FLOORS = (0.0, 0.25, 0.5, 0.7, 0.85, 0.95)
_DELAYS = ((0.0, 1.0), *itertools.product((0.1, 0.4, 1.5, 6.0, 25.0), (1.0, 3.0)))
_MISFITS = (0.01, 0.04, 0.12, 0.35)


@dataclasses.dataclass(frozen=True, eq=False)
class ErrorCurve:
    """Mean errors that were measured at some numbers of training rows."""

    n_train: np.ndarray
    """(P,), ascending."""
    error: np.ndarray
    """(P,), above zero."""
    stderr: np.ndarray
    """(P,): standard errors that the points do not share."""


@dataclasses.dataclass(frozen=True, eq=False)
class Shapes:
    """A library of shapes, each with its weight before anything is measured. All arrays have one entry a shape."""

    power: np.ndarray
    """alpha"""
    floor: np.ndarray
    """phi"""
    delay: np.ndarray
    """delta"""
    sharpness: np.ndarray
    """beta"""
    misfit: np.ndarray
    """mu"""
    log_weight: np.ndarray

    def __len__(self) -> int:
        return len(self.power)

    def log_ratio(self, u: np.ndarray) -> np.ndarray:
        """log f (shapes, points).

        >>> one = Shapes(*np.array([[0.5], [0.0], [0.0], [1.0], [0.1], [0.0]]))
        >>> np.exp(one.log_ratio(np.array([1.0, 4.0]))).tolist()
        [[1.0, 0.5]]
        """
        power, floor, delay, sharpness = (values[:, None] for values in (self.power, self.floor, self.delay, self.sharpness))
        falls = ((np.asarray(u, dtype=float)[None, :] ** sharpness + delay) / (1.0 + delay)) ** (-power / sharpness)
        return np.log(floor + (1.0 - floor) * falls)

    def read(self, curve: ErrorCurve) -> Reading:
        """What the measured points say about the height of each shape, and how likely they make it."""
        u = curve.n_train / curve.n_train[-1]
        relative = curve.stderr / curve.error
        variance = relative[None, :] ** 2 + ROUNDING**2 + (self.misfit[:, None] * np.log(u)[None, :]) ** 2
        heights = np.log(curve.error)[None, :] - self.log_ratio(u)
        precision = np.sum(1.0 / variance, axis=1)
        height = np.sum(heights / variance, axis=1) / precision
        misses = np.sum((heights - height[:, None]) ** 2 / variance, axis=1)
        log_likelihood = -0.5 * (misses + np.sum(np.log(variance), axis=1) + np.log(precision))
        return Reading(height, 1.0 / precision, log_likelihood)

    def forecast(self, curve: ErrorCurve, shared: float = 0.0) -> ErrorForecast:
        """The curve beyond its last point.

        Arguments:
            curve: what was measured.
            shared: standard error of log(error) that all points share, because the same rows judge them.
        """
        reading = self.read(curve)
        weights = special.softmax(reading.log_likelihood + self.log_weight)
        likely = weights > 1e-9
        kept = Shapes(*(getattr(self, field.name)[likely] for field in dataclasses.fields(self)))
        return ErrorForecast(kept, curve, weights[likely], reading.height[likely], reading.variance[likely] + shared**2)


@dataclasses.dataclass(frozen=True, eq=False)
class Reading:
    """What measured points say about every shape."""

    height: np.ndarray
    """log(error) at the last size."""
    variance: np.ndarray
    log_likelihood: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class ErrorForecast:
    """A mixture of shapes, each with a Gaussian log(error)."""

    shapes: Shapes
    curve: ErrorCurve
    weights: np.ndarray
    height: np.ndarray
    variance: np.ndarray

    def quantiles(self, n_train: float, levels: np.ndarray) -> np.ndarray:
        """Quantiles of the error at so many training rows."""
        return np.exp(_mixture_quantiles(self.weights, *self._laws(n_train), levels))

    def ratio_quantiles(self, before: float, after: float, levels: np.ndarray) -> np.ndarray:
        """Quantiles of the error at `after` rows over that at `before` rows, in which the height has no part."""
        u = np.array([before, after]) / self.curve.n_train[-1]
        means = np.diff(self.shapes.log_ratio(u), axis=1)[:, 0]
        deviations = np.hypot(self.shapes.misfit * np.log(after / before), ROUNDING)
        return np.exp(_mixture_quantiles(self.weights, means, deviations, levels))

    def share_below(self, n_train: float, error: float) -> float:
        """How likely the error is at most this one."""
        means, deviations = self._laws(n_train)
        return float(special.ndtr((np.log(error) - means) / deviations) @ self.weights)

    def _laws(self, n_train: float) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of log(error) under each shape."""
        u = n_train / self.curve.n_train[-1]
        spread = (self.shapes.misfit * np.log(u)) ** 2 + self.variance + ROUNDING**2
        return self.height + self.shapes.log_ratio(np.array([u]))[:, 0], np.sqrt(spread)


def _mixture_quantiles(weights: np.ndarray, means: np.ndarray, deviations: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Quantiles of a mixture of Gaussians, by halving an interval that holds them all."""
    low = np.full(len(levels), np.min(means - 10.0 * deviations))
    high = np.full(len(levels), np.max(means + 10.0 * deviations))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        below = special.ndtr((middle[:, None] - means) / deviations) @ weights < levels
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2.0


def every_shape() -> Shapes:
    """The whole library with equal weights, as it is before anything is learned."""
    rows = [
        (power, floor, delay, sharpness, misfit)
        for power, floor, (delay, sharpness), misfit in itertools.product(_POWERS, _FLOORS, _DELAYS, _MISFITS)
        if power > 0.0 or (floor == 0.0 and delay == 0.0)
    ]
    rows += [(power, 0.0, 0.0, 1.0, misfit) for power, misfit in itertools.product(_RISES, _MISFITS)]
    return Shapes(*np.array(rows).T, log_weight=np.full(len(rows), -np.log(len(rows))))


@functools.cache
def learned_shapes() -> Shapes:
    """The shapes with the weights that real learning curves gave them."""
    text = (importlib.resources.files("specht.forecasts") / "shapes.csv").read_text("utf-8")
    columns = np.array([[float(cell) for cell in row] for row in list(csv.reader(text.splitlines()))[1:]]).T
    return Shapes(*columns)


@dataclasses.dataclass(frozen=True, eq=False)
class KnownCurve:
    """The beginning of a curve, and one point of its continuation."""

    curve: ErrorCurve
    n_train: float
    error: float
    stderr: float


def learn_weights(shapes: Shapes, cases: list[KnownCurve], *, steps: int = 400, batch: int = 1500, seed: int = 0) -> Shapes:
    r"""Weights w under which known continuations are most likely, given their beginnings.

    Adam on the logits climbs $\sum \log \sum_s w_s L_s(\text{beginning}) L_s(\text{continuation}) / \sum_s w_s L_s(\text{beginning})$. Its
    gradient is the difference between the shapes' shares after and before the continuation is seen.
    """
    beginnings = np.empty((len(cases), len(shapes)), dtype=np.float32)
    continuations = np.empty_like(beginnings)
    for row, case in enumerate(cases):
        beginnings[row], continuations[row] = _likelihoods(shapes, case)
    rng = np.random.default_rng(seed)
    logits = np.zeros(len(shapes))
    mean, square = np.zeros(len(shapes)), np.zeros(len(shapes))
    for step in range(1, steps + 1):
        some = rng.permutation(len(cases))[:batch]
        before = special.softmax(beginnings[some] + logits.astype(np.float32), axis=1)
        after = special.softmax(beginnings[some] + continuations[some] + logits.astype(np.float32), axis=1)
        gradient = after.mean(axis=0, dtype=float) - before.mean(axis=0, dtype=float)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        rate = 0.1 if step <= 0.75 * steps else 0.03
        logits += rate * (mean / (1.0 - 0.9**step)) / (np.sqrt(square / (1.0 - 0.99**step)) + 1e-5)
    return dataclasses.replace(shapes, log_weight=special.log_softmax(logits))


def _likelihoods(shapes: Shapes, case: KnownCurve) -> tuple[np.ndarray, np.ndarray]:
    """log likelihood of the beginning under each shape, up to a constant, and of the continuation given the beginning."""
    reading = shapes.read(case.curve)
    relative = case.stderr / case.error
    laws = ErrorForecast(shapes, case.curve, np.zeros(len(shapes)), reading.height, reading.variance + relative**2)
    means, deviations = laws._laws(case.n_train)
    miss = (np.log(case.error) - means) / deviations
    return reading.log_likelihood - reading.log_likelihood.max(), -0.5 * miss**2 - np.log(deviations)
