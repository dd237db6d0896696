r"""Variances and ridge of an architecture from data, by the likelihood of the labels.

Labels are Gaussian with covariance $a (\tilde k + \rho)$, where $\tilde k = k / E[k(x, x)] + 1$ is the kernel in units of its own trace
plus an offset that every sequence shares. For each kernel the ridge $\rho$ and the size $a$ have the best value that one
eigendecomposition gives; what shapes the kernel is searched on a grid, one coordinate after the other:

- `ratio` = s_p / s_w, how much positions weigh against tokens, where there are positions;
- `gain`, the typical input variance of a nonlinear activation, or of the scores of softmax attention.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import optimize

from specht.architecture import Architecture
from specht.errors import InputError

RATIOS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
GAINS = (0.3, 1.0, 3.0, 10.0)
_RIDGES = (1e-6, 1e4)
"""Smallest and largest ridge, in units of E[k]."""


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
    """Parameters that stopped at the end of their grid."""


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

    grid = np.linspace(math.log(_RIDGES[0]), math.log(_RIDGES[1]), 47)
    best = int(np.argmin([negative(point) for point in grid]))
    around = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    found = optimize.minimize_scalar(negative, bounds=around, method="bounded", options={"xatol": 1e-4})
    ridge = math.exp(float(found.x))
    size = float(np.sum(power / (values + ridge))) / (n * outputs)
    return ridge, size, -float(found.fun) / n


def fit_architecture(
    arch: Architecture,
    tokens: np.ndarray,
    mask: np.ndarray,
    labels: np.ndarray,
    *,
    ratios: Sequence[float] = RATIOS,
    gains: Sequence[float] = GAINS,
    progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """The variances and the ridge under which the labels of these sequences are most likely.

    Arguments:
        arch: its variances s_w, s_p (and s_1 of a nonlinear activation) are replaced.
        tokens, mask: sequences (n, columns), True where a token is real.
        labels: (n, outputs), without mean.
        ratios, gains: the grids.
        progress: called as progress(done, total) after every kernel.
    """
    wants_ratio, wants_gain = arch.position_variance > 0.0, arch.activation != "linear" or arch.attention == "softmax"
    grids = {"ratio": tuple(ratios) if wants_ratio else (1.0,), "gain": tuple(gains) if wants_gain else (1.0,)}
    total = len(grids["ratio"]) + (len(grids["gain"]) if wants_gain else 0)
    tried: dict[tuple[float, float], tuple[float, float, float]] = {}

    def score(point: dict[str, float]) -> float:
        key = (point["ratio"], point["gain"])
        if key not in tried:
            tried[key] = fit_ridge(normalised_gram(_shaped(arch, *key, tokens, mask), tokens, mask), labels)
        if progress is not None:
            progress(min(len(tried), total), total)
        return tried[key][2]

    point = {"ratio": grids["ratio"][len(grids["ratio"]) // 2], "gain": grids["gain"][len(grids["gain"]) // 2]}
    for name in ["ratio"] * wants_ratio + ["gain"] * wants_gain:
        point[name] = max(grids[name], key=lambda value: score(point | {name: value}))
    score(point)
    ridge, signal, likelihood = tried[point["ratio"], point["gain"]]
    ends = [
        name
        for name, wanted in (("ratio", wants_ratio), ("gain", wants_gain))
        if wanted and point[name] in (grids[name][0], grids[name][-1])
    ]
    ends += ["ridge"] * (ridge < 2 * _RIDGES[0] or ridge > _RIDGES[1] / 2)
    return Fit(
        arch=_shaped(arch, point["ratio"], point["gain"], tokens, mask),
        ratio=point["ratio"] if wants_ratio else None,
        gain=point["gain"] if wants_gain else None,
        ridge=ridge,
        signal=signal,
        log_likelihood=likelihood,
        rows=len(tokens),
        at_edge=tuple(ends),
    )


def _shaped(arch: Architecture, ratio: float, gain: float, tokens: np.ndarray, mask: np.ndarray) -> Architecture:
    """The architecture with s_p / s_w = ratio, and with s_1 or the sum s_w + s_p set by the gain."""
    size = gain if arch.attention == "softmax" else 1.0
    changes: dict[str, Any] = {"s_w": size}
    if arch.position_variance > 0.0:
        changes = {"s_w": size / (1.0 + ratio), "s_p": size * ratio / (1.0 + ratio)}
    if arch.activation == "linear":
        return arch.replace(**changes)
    from specht.kernel.kernel import Kernel  # loads JAX

    linear = arch.replace(**changes, activation="linear", s_1=1.0, s_2=1.0)
    some = slice(0, 64)  # enough for the scale of the input
    size = float(Kernel(linear).diagonal(tokens[some], mask=mask[some]).mean())
    # To a power of two: kernels are compiled for each value, and other rows of the same law then find theirs compiled.
    return arch.replace(**changes, s_1=(1.0 if arch.attention == "softmax" else gain) * 2.0 ** -round(math.log2(size)))
