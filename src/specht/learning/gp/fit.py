r"""Variances and ridge of an architecture from data, by the likelihood of the labels.

Labels are Gaussian with covariance $a (\tilde k + \rho)$, where $\tilde k = k / E[k(x, x)] + 1$ is the kernel in units of its own trace
plus an offset that every sequence shares. The size $a$ has its best value in closed form, and one factorisation of the Gram tells the best
ridge $\rho$. So one or two numbers are left, which shape the kernel; they are searched for in logarithms, without derivatives:

- `ratio` = s_p / s_w, how much positions weigh against tokens, where there are positions;
- `gain`, the typical input variance of a nonlinear activation, or of the scores of softmax attention.

With $A = \tilde k + \rho$ and labels $y$ of n rows and K outputs,

$$ a = \frac{y^T A^{-1} y}{n K}, \qquad \log p = -\frac{nK}{2} (\log 2\pi a + 1) - \frac{K}{2} \log\det A . $$

$\tilde k = Q T Q^T$ with a tridiagonal $T$, which costs a third of the eigenvectors and leaves a few steps a row for every $\rho$.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, optimize

from specht.architecture import Architecture, Variances
from specht.errors import InputError
from specht.progress import Progress, report

if TYPE_CHECKING:
    from specht.kernel import CountedBatch

_sytrd, _sytrd_lwork, _ormqr, _ptsv = linalg.get_lapack_funcs(("sytrd", "sytrd_lwork", "ormqr", "ptsv"), dtype=np.float64)

RATIO, GAIN, RIDGE = "ratio", "gain", "ridge"
BOUNDS = {RATIO: (1e-3, 1e3), GAIN: (0.03, 100.0), RIDGE: (1e-6, 1e4)}
"""Smallest and largest value of what is fitted. The ridge is in units of E[k]; the gain of an activation is that at a ratio of 1."""
LOOKS: dict[str, tuple[float, ...]] = {RATIO: (1e-3, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 1e3), GAIN: (0.03, 0.3, 1.0, 3.0, 10.0, 100.0)}
"""Where a first look is taken, since the likelihood may have several maxima."""
FIRST = {RATIO: 1.0, GAIN: 3.0}
"""Where a number stands while the other one is looked at."""
_RIDGES = 24
"""Ridges that are looked at, a factor of e apart: every eigenvalue fades in over more than that."""
_PRECISION = 1e-3
"""Precision of the fitted logarithms: the likelihood is flat there, so its own error is the square of this."""
_EDGE = 2.0
"""A number within this factor of a bound stopped there."""
_SOME = 64
"""Rows that are enough for the scale of the input of an activation."""


@dataclasses.dataclass(frozen=True)
class Fit:
    """What the likelihood of the labels says about an architecture."""

    arch: Architecture
    """The architecture with the variances that fit best."""
    ratio: float | None
    gain: float | None
    ridge: float
    """In units of E[k(x, x)]."""
    signal: float
    """Size of the kernel: prior variance of the output, in units of the label variance."""
    log_likelihood: float
    """Log likelihood of one row."""
    rows: int
    """Rows that it was judged on."""
    at_edge: tuple[str, ...]
    """Parameters that stopped at a bound, or within a factor of two of it."""


def normalised_gram(arch: Architecture, tokens: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The kernel in units of E[k(x, x)] on these sequences, plus the shared offset."""
    from specht.kernel import CountedBatch  # loads JAX

    return _normalised(CountedBatch(tokens, mask), arch)


def leading_gram(arch: Architecture, tokens: np.ndarray, mask: np.ndarray, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """The kernel (n, columns) of all sequences with the first `columns` of them, and k(x, x) of all, in no unit and without offset."""
    from specht.kernel import CountedBatch  # loads JAX

    return CountedBatch(tokens, mask).leading(arch, columns)


def fit_ridge(gram: np.ndarray, labels: np.ndarray) -> tuple[float, float, float]:
    """Best ridge, size of the kernel and log likelihood of one row, for labels (n, outputs) without mean.

    >>> eigenvalues = np.repeat([4.0, 0.0], 50)
    >>> ridge, signal, _ = fit_ridge(np.diag(eigenvalues), np.sqrt(2.0 * (eigenvalues + 1.0))[:, None])
    >>> round(ridge, 3), round(signal, 3)
    (1.0, 2.0)
    """
    n, outputs = labels.shape
    diagonal, beside, rotated = _tridiagonal(gram, labels)

    def size_and_likelihood(log_ridge: float) -> tuple[float, float]:
        pivots, _, weights, stopped = _ptsv(diagonal + math.exp(log_ridge), beside, rotated)
        if stopped:  # not positive definite, to rounding
            return math.nan, -math.inf
        size = float(np.vdot(rotated, weights)) / (n * outputs)
        return size, -0.5 * (n * outputs * (math.log(2.0 * math.pi * size) + 1.0) + outputs * float(np.log(pivots).sum()))

    def negative(log_ridge: float) -> float:
        return -size_and_likelihood(log_ridge)[1]

    # The likelihood may have several maxima in the ridge, so a coarse look comes before the search.
    low, high = BOUNDS[RIDGE]
    points = np.linspace(math.log(low), math.log(high), _RIDGES)
    best = int(np.argmin([negative(point) for point in points]))
    around = (points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)])
    optimum: Any = optimize.minimize_scalar(negative, bounds=around, method="bounded", options={"xatol": 1e-4})
    size, likelihood = size_and_likelihood(float(optimum.x))
    return math.exp(float(optimum.x)), size, likelihood / n


def _tridiagonal(gram: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Diagonal and subdiagonal of Q^T gram Q, and Q^T labels."""
    n = len(gram)
    work = int(_sytrd_lwork(n, lower=1)[0])
    # LAPACK reads columns first, and a symmetric matrix is its own transpose.
    factor, diagonal, beside, scales, _ = _sytrd(gram.T, lower=1, lwork=work)
    rotated = np.array(labels, dtype=np.float64, order="F")
    # Q leaves the first row alone, and stands as Householder vectors below the subdiagonal.
    rotated[1:], _, _ = _ormqr("L", "T", factor[1:, :-1], scales, rotated[1:], 64 * n)
    return diagonal, beside, rotated


def fit_architecture(
    arch: Architecture,
    tokens: np.ndarray,
    mask: np.ndarray,
    labels: np.ndarray,
    *,
    progress: Progress | None = None,
) -> Fit:
    """The variances and the ridge under which the labels of these sequences are most likely.

    Arguments:
        arch: its variances s_w, s_p (and s_1 of a nonlinear activation) are replaced.
        tokens, mask: sequences (n, columns), True where a token is real.
        labels: (n, outputs), without mean.
        progress: called as progress(done, total) after the first look and after the search.
    """
    from specht.kernel import CountedBatch  # loads JAX

    shape, batch = Shape.of(arch), CountedBatch(tokens, mask)
    unit = _input_variance(shape.apply([1.0] * len(shape.names), 1.0), batch)
    seen: dict[tuple[float, ...], tuple[float, float, float]] = {}

    def likelihood(values: Sequence[float]) -> float:
        point = tuple(float(value) for value in values)
        if point not in seen:
            seen[point] = fit_ridge(_normalised(batch, arch, shape.variances(point, unit)), labels)
        return seen[point][2]

    start = _look(likelihood, shape.names)
    report(progress, 1, 2)
    _search(likelihood, shape.names, start)
    report(progress, 2, 2)
    values = max(seen, key=likelihood)
    fitted, named = shape.apply(values, unit), dict(zip(shape.names, values, strict=True))
    ridge, signal, best = seen[values]
    ends = tuple(name for name, value in (named | {RIDGE: ridge}).items() if _at_edge(name, value))
    if GAIN in named and arch.attention != "softmax":
        named[GAIN] *= _input_variance(fitted.replace(s_1=1.0), batch) / unit  # at the fitted ratio
    return Fit(fitted, named.get(RATIO), named.get(GAIN), ridge, signal, best, len(labels), ends)


def _look(likelihood: Callable[[Sequence[float]], float], names: tuple[str, ...]) -> tuple[float, ...]:
    """The best of a few well spread points, one coordinate after the other."""
    best = tuple(FIRST[name] for name in names)
    for place, name in enumerate(names):
        best = max(((*best[:place], value, *best[place + 1 :]) for value in LOOKS[name]), key=likelihood)
    likelihood(best)
    return best


def _search(likelihood: Callable[[Sequence[float]], float], names: tuple[str, ...], start: tuple[float, ...]) -> None:
    """Climb from a point of the first look, in logarithms and within bounds; what is evaluated is remembered by `likelihood`."""

    def negative(logarithms: Any) -> float:
        return -likelihood(np.exp(np.atleast_1d(logarithms)).tolist())

    neighbours = [_neighbours(name, value) for name, value in zip(names, start, strict=True)]
    if len(names) == 1:
        optimize.minimize_scalar(negative, bounds=neighbours[0], method="bounded", options={"xatol": _PRECISION})
    elif names:
        at, bounds = np.log(start), np.log([BOUNDS[name] for name in names])
        # A simplex of halves of the way to the neighbour that lies farther inside.
        steps = [(high if high - here > here - low else low) - here for here, (low, high) in zip(at, neighbours, strict=True)]
        simplex = np.vstack([at, at + 0.5 * np.diag(steps)])
        options = {"initial_simplex": simplex, "xatol": _PRECISION, "fatol": 1e-8, "maxfev": 100}
        optimize.minimize(negative, at, method="Nelder-Mead", bounds=bounds, options=options)


def _neighbours(name: str, value: float) -> tuple[float, float]:
    """Logarithms of the points of the first look on either side, or of the end itself."""
    points = LOOKS[name]
    place = points.index(value)
    return math.log(points[max(place - 1, 0)]), math.log(points[min(place + 1, len(points) - 1)])


def _at_edge(name: str, value: float) -> bool:
    low, high = BOUNDS[name]
    return value < _EDGE * low or value > high / _EDGE


@dataclasses.dataclass(frozen=True)
class Shape:
    """How ratio and gain set the variances of an architecture."""

    arch: Architecture
    names: tuple[str, ...]
    """Which of them the architecture has."""

    @classmethod
    def of(cls, arch: Architecture) -> Shape:
        has_gain = arch.activation != "linear" or arch.attention == "softmax"
        return cls(arch, (RATIO,) * (arch.position_variance > 0.0) + (GAIN,) * has_gain)

    def variances(self, values: Any, unit: Any) -> Variances:
        """For values by the order of `names`, NumPy or JAX; `unit` is the input variance of the activation at s_1 = 1."""
        named = {name: values[place] for place, name in enumerate(self.names)}
        softmax, gain, ratio = self.arch.attention == "softmax", named.get(GAIN, 1.0), named.get(RATIO, 0.0)
        total = gain if softmax else 1.0
        positions = total * ratio / (1.0 + ratio) if RATIO in named else self.arch.s_p
        dense = self.arch.s_1 if self.arch.activation == "linear" else (1.0 if softmax else gain) / unit
        return Variances(total / (1.0 + ratio), positions, dense, self.arch.s_2)

    def apply(self, values: Any, unit: float) -> Architecture:
        """The architecture with these variances."""
        return self.arch.with_variances(Variances(*(float(number) for number in self.variances(values, unit))))


def _normalised(batch: CountedBatch, arch: Architecture, variances: Variances | None = None) -> np.ndarray:
    gram = batch.gram(arch, variances)
    size = float(np.trace(gram)) / len(gram)
    if not size > 0.0:
        raise InputError(f"The kernel of {arch} vanishes on these sequences: raise a variance, or choose another architecture.")
    gram /= size
    gram += 1.0
    return gram


def _input_variance(arch: Architecture, batch: CountedBatch) -> float:
    """Mean variance of what enters the activation, which the same network without it puts out."""
    if arch.activation == "linear":
        return 1.0
    gram = batch.gram(arch.replace(activation="linear", s_1=1.0, s_2=1.0))
    return float(gram.diagonal()[:_SOME].mean())
