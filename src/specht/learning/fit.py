r"""Variances and ridge of an architecture from data, by the likelihood of the labels.

Labels are Gaussian with covariance $a (\tilde k + \rho)$, where $\tilde k = k / E[k(x, x)] + 1$ is the kernel in units of its own trace
plus an offset that every sequence shares. The size $a$ has its best value in closed form. The ridge $\rho$ and what shapes the kernel are
found by gradients, in logarithms and from several starts:

- `ratio` = s_p / s_w, how much positions weigh against tokens, where there are positions;
- `gain`, the typical input variance of a nonlinear activation, or of the scores of softmax attention.

With $A = \tilde k + \rho$, labels $y$ of n rows and K outputs, and $\alpha = A^{-1} y$,

$$ a = \frac{y^T \alpha}{n K}, \qquad \log p = -\frac{nK}{2} (\log 2\pi a + 1) - \frac{K}{2} \log\det A, \qquad
   \frac{\partial \log p}{\partial A} = \frac12 \Big( \frac{\alpha \alpha^T}{a} - K A^{-1} \Big) . $$
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, optimize

from specht.architecture import Architecture, Variances
from specht.errors import InputError
from specht.learning.fitting import maximise

_potrf, _potri = linalg.get_lapack_funcs(("potrf", "potri"), dtype=np.float64)

RATIO, GAIN, RIDGE = "ratio", "gain", "ridge"
BOUNDS = {RATIO: (1e-3, 1e3), GAIN: (0.03, 100.0), RIDGE: (1e-6, 1e4)}
"""Smallest and largest value of what is fitted. The ridge is in units of E[k]; the gain of an activation is that at a ratio of 1."""
STARTS: dict[str, tuple[float, ...]] = {RATIO: (1.0, 0.1, 10.0), GAIN: (3.0, 0.5, 1.0)}
"""Where the searches start, one after the other."""
_SOME = slice(0, 64)
"""Rows that are enough for the scale of the input of an activation."""


@dataclasses.dataclass(frozen=True)
class Fit:
    """What the likelihood of the labels says about an architecture."""

    arch: Architecture
    """With the variances that fit best."""
    ratio: float | None
    gain: float | None
    ridge: float
    """In units of E[k(x, x)]."""
    signal: float
    """Size of the kernel: prior variance of the output, in units of the label variance."""
    log_likelihood: float
    """Of one row."""
    rows: int
    """Rows that it was judged on."""
    at_edge: tuple[str, ...]
    """Parameters that stopped at a bound."""


def normalised_gram(arch: Architecture, tokens: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The kernel in units of E[k(x, x)] on these sequences, plus the shared offset."""
    from specht.kernel.kernel import Kernel  # loads JAX

    gram = Kernel(arch).nngp(tokens, mask=None if mask.all() else mask)
    size = float(np.trace(gram)) / len(gram)
    if not size > 0.0:
        raise InputError(f"The kernel of {arch} vanishes on these sequences: raise a variance, or choose another architecture.")
    return gram / size + 1.0


def fit_ridge(gram: np.ndarray, labels: np.ndarray) -> tuple[float, float, float]:
    """Best ridge, size of the kernel and log likelihood of one row, for labels (n, outputs) without mean.

    >>> eigenvalues = np.repeat([4.0, 0.0], 50)
    >>> ridge, signal, _ = fit_ridge(np.diag(eigenvalues), np.sqrt(2.0 * (eigenvalues + 1.0))[:, None])
    >>> round(ridge, 3), round(signal, 3)
    (1.0, 2.0)
    """
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    power = np.sum((vectors.T @ labels) ** 2, axis=1)
    n, outputs = labels.shape

    def negative(log_ridge: float) -> float:
        shifted = values + math.exp(log_ridge)
        size = float(np.sum(power / shifted)) / (n * outputs)
        return 0.5 * (n * outputs * (math.log(size) + 1.0 + math.log(2.0 * math.pi)) + outputs * float(np.log(shifted).sum()))

    # The likelihood may have several maxima in the ridge, so a coarse look comes before the search.
    low, high = BOUNDS[RIDGE]
    points = np.linspace(math.log(low), math.log(high), 47)
    best = int(np.argmin([negative(point) for point in points]))
    around = (points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)])
    optimum = optimize.minimize_scalar(negative, bounds=around, method="bounded", options={"xatol": 1e-4})
    ridge = math.exp(float(optimum.x))
    size = float(np.sum(power / (values + ridge))) / (n * outputs)
    return ridge, size, -float(optimum.fun) / n


def profile_likelihood(gram: np.ndarray, slopes: np.ndarray, labels: np.ndarray, ridge: float) -> tuple[float, np.ndarray, float]:
    """Log likelihood at the best size of the kernel, its slopes, and that size.

    Arguments:
        gram: normalised kernel (n, n).
        slopes: derivatives of the Gram in P logarithms (P, n, n).
        labels: (n, outputs), without mean.

    Returns:
        log likelihood of all rows; slopes in the P logarithms and in that of the ridge; size. Not a number where the Gram plus ridge is
        not positive definite.
    """
    n, outputs = labels.shape
    matrix = gram.T.copy(order="F")
    matrix.reshape(-1, order="F")[:: n + 1] += ridge
    factor, stopped = _potrf(matrix, lower=1, clean=0, overwrite_a=1)
    if stopped:
        return math.nan, np.full(len(slopes) + 1, math.nan), math.nan
    log_determinant = 2.0 * float(np.log(factor.diagonal()).sum())
    weights = linalg.cho_solve((factor, True), labels, check_finite=False)
    size = float(np.vdot(labels, weights)) / (n * outputs)
    inverse, _ = _potri(factor, lower=1, overwrite_c=1)
    lower = np.tril(inverse, -1)
    of_gram = 0.5 * (weights @ weights.T / size - outputs * (lower + lower.T + np.diag(inverse.diagonal())))
    value = -0.5 * (n * outputs * (math.log(2.0 * math.pi * size) + 1.0) + outputs * log_determinant)
    return value, np.array([*(np.vdot(of_gram, slope) for slope in slopes), ridge * np.trace(of_gram)]), size


def fit_architecture(
    arch: Architecture,
    tokens: np.ndarray,
    mask: np.ndarray,
    labels: np.ndarray,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """The variances and the ridge under which the labels of these sequences are most likely.

    Arguments:
        arch: its variances s_w, s_p (and s_1 of a nonlinear activation) are replaced.
        tokens, mask: sequences (n, columns), True where a token is real.
        labels: (n, outputs), without mean.
        progress: called as progress(done, total) after every start.
    """
    shape = Shape.of(arch)
    if not shape.names:
        fitted = shape.apply([], 1.0)
        return _described(fitted, {}, fit_ridge(normalised_gram(fitted, tokens, mask), labels), labels, ())
    unit = _input_variance(shape.apply([1.0] * len(shape.names), 1.0), tokens, mask)
    evaluate = _compiled(shape, tokens, mask, unit)

    def objective(logarithms: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope, _ = profile_likelihood(*evaluate(logarithms[:-1]), labels, math.exp(logarithms[-1]))
        return value, slope

    low, high = np.log([BOUNDS[name] for name in (*shape.names, RIDGE)]).T
    points = np.log([list(point) for point in zip(*(STARTS[name] for name in shape.names), strict=True)])
    ridges = [math.log(fit_ridge(evaluate(point)[0], labels)[0]) for point in points]
    optimum = maximise(
        objective, (*shape.names, RIDGE), np.column_stack([points, ridges]), low, high, labels=labels.size, progress=progress
    )
    *values, ridge = optimum.values.tolist()
    fitted = shape.apply(values, unit)
    _, _, size = profile_likelihood(*evaluate(np.log(values)), labels, ridge)
    named = dict(zip(shape.names, values, strict=True))
    if GAIN in named and arch.attention != "softmax":
        named[GAIN] *= _input_variance(fitted.replace(s_1=1.0), tokens, mask) / unit  # at the fitted ratio
    ends = tuple(name for name in optimum.at_bound if name != RIDGE)
    return _described(fitted, named, (ridge, size, optimum.log_likelihood / len(labels)), labels, ends)


def _described(
    arch: Architecture, values: dict[str, float], best: tuple[float, float, float], labels: np.ndarray, ends: tuple[str, ...]
) -> Fit:
    ridge, signal, likelihood = best
    low, high = BOUNDS[RIDGE]
    ends += (RIDGE,) * (ridge < 2 * low or ridge > high / 2)
    return Fit(arch, values.get(RATIO), values.get(GAIN), ridge, signal, likelihood, len(labels), ends)


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


def _input_variance(arch: Architecture, tokens: np.ndarray, mask: np.ndarray) -> float:
    """Mean variance of what enters the activation, which the same network without it puts out."""
    if arch.activation == "linear":
        return 1.0
    from specht.kernel.kernel import Kernel  # loads JAX

    linear = Kernel(arch.replace(activation="linear", s_1=1.0, s_2=1.0))
    return float(linear.diagonal(tokens[_SOME], mask=mask[_SOME]).mean())


def _compiled(shape: Shape, tokens: np.ndarray, mask: np.ndarray, unit: float) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """The normalised Gram and its derivatives in the logarithms (P, n, n), as a function of them."""
    import jax

    from specht.kernel.batches import sequences
    from specht.learning.shaped_gram import gram_and_slopes

    batch = sequences(shape.arch, tokens, mask, "tokens")

    def evaluate(logarithms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        with jax.enable_x64(True):
            gram, slopes = gram_and_slopes(logarithms, unit, batch, shape=shape)
            return np.asarray(gram), np.asarray(slopes)

    return evaluate
