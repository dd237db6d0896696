r"""From correlations under partial shuffles to the weights of irreps: non-negative least squares, and intervals.

The means $y$ of the rows of `specht.profiles.cubes` are linear in the weights, $y = A w$ with exact $A$ and $w \ge 0$. With the covariance
$\Sigma$ of the means over sequences, the weights are those of

$$ \chi^2_{\min} = \min_{w \ge 0} (y - A w)^T \Sigma^{-1} (y - A w) . $$

The interval of a level, $h \cdot w$, holds every value that some $w \ge 0$ has with $\chi^2(w) \le \chi^2_{\min} + q$, where $q$ is the
quantile of a squared normal variable. This is the interval of the likelihood ratio. Unlike a bootstrap of $w$ it stays right where weights
lie at zero, which pulls the others, and where different weights fit alike: it then holds all of them (one-at-a-time strict bounds, after
Rust and Burrus 1972). The bootstrap is there for comparison: `Bootstrap` draws sequences again and fits again.

$\Sigma$ is sampled too, and three things are done about that. Sequences are cut into four folds and each is weighed by the covariance of
the other three, because a mean that came out low by chance would otherwise seem precise as well. A row to which only few sequences add
anything has at least the variance that the fitted weights let one expect. And $q$ is enlarged by $((n - 1) / (n - r - 2))^2$ for $r$ rows
and the $n$ sequences behind a covariance: once because the inverse of a sampled covariance is too large, and once because it weighs the
rows not quite as the true one would. Where values of f have heavy tails, intervals still come out somewhat too narrow until there are
thousands of sequences, as any that are computed from a sampled variance.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import nnls, root_scalar
from scipy.stats import chi2

from specht.groups import Partition, partitions
from specht.profiles.cubes import Cube, CubeSample

_MOST_SHAPES = 60
"""Shapes up to which all of them are fitted."""
_HIGHEST_SHAPE = 20
"""Level up to which the factors of a shape are computed; they cost more the more boxes it has below its first row."""
_STAND_INS = (1, 2, 3, 5, 8, 12, 16)
"""Levels, counted from the highest that is asked for, of shapes that stand for all of the higher ones."""
_ROUNDING = 1e-6
"""Error of every row that is always allowed for, relative to the variance of f: what a function in single precision leaves."""
_INDEPENDENT = 1e-8
"""Part of the variance of a row that it is taken not to share with the others."""
_FOLDS = 4
"""Parts of the sequences, each weighed by the covariance of the others."""
_REWEIGHTINGS = 4
"""Rounds of the fit, with the variance of rare rows taken from the round before."""
_FINE = 1e-5
"""Error of the ends of intervals, in units of the variance of f."""
REPLICATES = 1000
"""Samples of a bootstrap."""
_FIRM = 1e5
"""Weight of the equation that holds a level at a value, in units of the variance of f."""


@dataclasses.dataclass(frozen=True, eq=False)
class Column:
    """One unknown weight, and how much of it each row shows."""

    level: int
    """Boxes below the first row."""
    irrep: Partition | None
    """None for the limit of high levels, and for the square of the mean."""
    factors: np.ndarray
    is_mean: bool = False


def columns(cubes: Sequence[Cube], length: int, max_level: int, max_rows: int) -> list[Column]:
    """The unknowns: every shape up to `max_level`, shapes that stand for higher ones, and the square of the mean."""
    shapes: list[Partition | None] = [*_shapes(length, max_level, max_rows)]
    if top_level(length, max_rows) > max(shape.level for shape in shapes if shape is not None):
        shapes.append(None)
    weights = [_column(cubes, shape, max_level + 1) for shape in shapes]
    return [*weights, Column(0, None, np.eye(len(weights[0].factors))[-1], is_mean=True)]


def top_level(length: int, max_rows: int) -> int:
    """The highest level of a shape with at most `max_rows` rows."""
    return length - math.ceil(length / max_rows)


def _shapes(length: int, max_level: int, max_rows: int) -> list[Partition]:
    top = top_level(length, max_rows)
    if top <= _HIGHEST_SHAPE:
        every = list(itertools.islice(partitions(length, max_rows=max_rows), _MOST_SHAPES + 1))
        if len(every) <= _MOST_SHAPES:
            return every
    low = list(partitions(length, max_rows=max_rows, max_level=max_level))
    return low + [shape for step in _STAND_INS if max_level + step <= top for shape in _extremes(length, max_level + step, max_rows)]


def _extremes(length: int, level: int, max_rows: int) -> list[Partition]:
    """The shapes of a level with the longest and with the shortest rows below the first one, between which the others lie."""
    first = length - level
    full, rest = divmod(level, first)
    long = (first,) * full + (rest,) * (rest > 0)
    rows = min(level, max_rows - 1)
    boxes, larger = divmod(level, rows)
    short = (boxes + 1,) * larger + (boxes,) * (rows - larger)
    return [Partition((first, *tail)) for tail in dict.fromkeys([long, short])]


def _column(cubes: Sequence[Cube], shape: Partition | None, beyond: int) -> Column:
    level = beyond if shape is None else shape.level
    return Column(level, shape, np.concatenate([*(cube.factors(shape) for cube in cubes), [float(level == 0), 0.0]]))


class WeightFit:
    """Weights that fit the rows of a sample, in units of `scale`.

    `sizes` is, for each row, what a sequence typically adds to it if it adds anything; zero for rows to which every sequence adds.
    """

    def __init__(self, sample: CubeSample, unknowns: Sequence[Column], sizes: np.ndarray, scale: float, confidence: float) -> None:
        matrix = np.column_stack([column.factors for column in unknowns])
        n, rows = sample.rows.shape
        self.weights, _ = _least_squares(matrix, sample.values / scale)
        folds = [_Fold(sample, scale, fold) for fold in range(_FOLDS)]
        for _ in range(_REWEIGHTINGS):
            whiteners = [fold.whitener(sizes, matrix @ self.weights) for fold in folds]
            self._matrix = np.concatenate([whitener @ matrix for whitener in whiteners])
            self._values = np.concatenate([whitener @ fold.values for fold, whitener in zip(folds, whiteners, strict=True)])
            self.weights, residual = _least_squares(self._matrix, self._values)
        self._folds, self._whiteners = folds, whiteners
        self.misfit = residual**2
        """The least chi squared."""
        known = n - n // _FOLDS  # sequences behind each covariance
        self._allowed = chi2.ppf(confidence, 1) * ((known - 1) / (known - rows - 2)) ** 2

    def refit(self, rng: np.random.Generator) -> np.ndarray:
        """Weights that fit sequences drawn again, with replacement, from those of each fold."""
        values = [whitener @ fold.redrawn(rng) for fold, whitener in zip(self._folds, self._whiteners, strict=True)]
        return _least_squares(self._matrix, np.concatenate(values))[0]

    def _excess(self, row: np.ndarray, value: float) -> float:
        """How much worse than allowed the best fit is among weights with row . w = value; not more than zero inside the interval."""
        matrix, values = np.vstack([self._matrix, _FIRM * row]), np.append(self._values, _FIRM * value)
        weights, _ = _least_squares(matrix, values)
        return float(((self._matrix @ weights - self._values) ** 2).sum()) - self.misfit - self._allowed

    def weight_bounds(self, chosen: np.ndarray) -> tuple[float, float]:
        """Interval of the sum of the chosen weights."""
        row = chosen.astype(float)
        return self._interval(float(row @ self.weights), lambda value: self._excess(row, value), math.inf)

    def share_bounds(self, chosen: np.ndarray, among: np.ndarray) -> tuple[float, float]:
        """Interval of the sum of the chosen weights, as a share of the sum of others among which they are."""
        row, whole = chosen.astype(float), among.astype(float)
        return self._interval(float(row @ self.weights / (whole @ self.weights)), lambda share: self._excess(row - share * whole, 0.0), 1.0)

    @staticmethod
    def _interval(best: float, excess: Callable[[float], float], most: float) -> tuple[float, float]:
        low = 0.0 if best <= 0.0 or excess(0.0) <= 0.0 else float(root_scalar(excess, bracket=(0.0, best), xtol=_FINE).root)
        reach = 0.01
        high = min(best + reach, most)
        while excess(high) <= 0.0:
            if high >= most:
                return low, most
            reach *= 3.0
            high = min(best + reach, most)
        return low, float(root_scalar(excess, bracket=(best, high), xtol=_FINE).root)


class Bootstrap:
    """Percentile intervals of weights that are fitted again and again to sequences drawn anew from the sampled ones."""

    def __init__(self, fit: WeightFit, confidence: float, seed: int = 0, replicates: int = REPLICATES) -> None:
        rng = np.random.default_rng(seed)
        self._weights = np.array([fit.refit(rng) for _ in range(replicates)])
        self._ends = [50.0 * (1.0 - confidence), 50.0 * (1.0 + confidence)]

    def weight_bounds(self, chosen: np.ndarray) -> tuple[float, float]:
        """Interval of the sum of the chosen weights."""
        return self._percentiles(self._weights[:, chosen].sum(axis=1))

    def share_bounds(self, chosen: np.ndarray, among: np.ndarray) -> tuple[float, float]:
        """Interval of the sum of the chosen weights, as a share of the sum of others among which they are."""
        whole = self._weights[:, among].sum(axis=1)
        return self._percentiles(self._weights[:, chosen].sum(axis=1) / np.where(whole > 0.0, whole, 1.0))

    def _percentiles(self, values: np.ndarray) -> tuple[float, float]:
        low, high = np.percentile(values, self._ends)
        return float(low), float(high)


def _least_squares(matrix: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, float]:
    """Non-negative weights and the norm of what they leave."""
    # Columns of unit length: rows that are zero for a function of low level make those of high ones very long.
    lengths = np.linalg.norm(matrix, axis=0)
    weights, residual = nnls(matrix / lengths, values, maxiter=100 * matrix.shape[1])
    return weights / lengths, float(residual)


class _Fold:
    """Means of the rows over a part of the sequences, and what the other parts say of their errors."""

    def __init__(self, sample: CubeSample, scale: float, fold: int) -> None:
        here, others = sample.rows[fold::_FOLDS] / scale, np.delete(sample.rows, np.s_[fold::_FOLDS], axis=0) / scale
        self.rows, self.n, self.values = here, len(here), here.mean(axis=0)
        self.covariance = np.cov(others, rowvar=False) / self.n
        self.covariance[-1, -1] += 2.0 * _FOLDS * (sample.excess / scale) ** 2  # as in the sample, but shared by the folds
        self.sums, self.squares = np.abs(others).sum(axis=0), (others**2).sum(axis=0)

    def redrawn(self, rng: np.random.Generator) -> np.ndarray:
        """Means over as many sequences, drawn again with replacement."""
        return rng.multinomial(self.n, np.full(self.n, 1.0 / self.n)) @ self.rows / self.n

    def whitener(self, sizes: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """The matrix that combines rows so that they are independent and have variance one if their true means are `expected`."""
        # What a sequence adds to a row if it adds anything: the mean of it weighted by itself, with `sizes` counted as one more sequence.
        size = (self.squares + sizes**2) / np.maximum(self.sums + sizes, _ROUNDING)
        # As often as expected and once more in all folds together, so that a row to which none has added does not seem to be exactly zero.
        rare = np.maximum(expected * (size - expected), 0.0) / self.n + (size / self.n) ** 2 / _FOLDS
        rare = np.where(sizes > 0.0, rare, 0.0)
        # Variance is only added, row by row: less of it, or another mixture, could make up a combination of rows that seems to be exact.
        covariance = self.covariance + np.diag(np.maximum(rare - np.diag(self.covariance), 0.0) + _ROUNDING**2)
        deviations = np.sqrt(np.diag(covariance))
        correlation = covariance / np.outer(deviations, deviations) + _INDEPENDENT * np.eye(len(deviations))
        return np.linalg.solve(np.linalg.cholesky(correlation), np.diag(1.0 / deviations))
