r"""A function sampled on cubes of shuffles: one row of numbers a sequence, whose means are linear in the weights of the irreps.

For one sequence $x$ there is a cube of shuffles (`specht.profiles.shuffles`) for every design, each started from an order of its own. With
$g = f - \mathrm{E} f$ the row of $x$ holds

- for every cube, the mean of $G(S)^2$, and for every kind of sets of one block or more the sum of $\hat G(T)^2$ over the sets of that kind;
- the mean over pairs of cubes of $\hat G(\emptyset)\, \hat G'(\emptyset)$. Two cubes have independent orders, so its mean is the weight of
  the part of $g$ that ignores order;
- $|\mathrm{E} f|^2$, with what $x$ has added to it.

Outputs are summed over. All orders of one sequence are drawn uniformly, so the law of the sequences is symmetrised by this, if need be.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from specht.arrays import as_numpy
from specht.errors import InputError
from specht.profiles.shuffles import Cube, fourier
from specht.progress import Progress

Batch = tuple[np.ndarray, Any]
"""Sequences (n, columns, ...) and what stays fixed while their positions move: None, an array (n, ...) or a tuple of such arrays."""

_BLOCK = 2**22
"""Entries of shuffled sequences held at a time."""
_FIRST = 8
"""Sequences that are evaluated twice, to see whether the function gives the same values again."""
_UNSTEADY = 1e-3
"""Change of a value, relative to the spread of the function, above which it is not taken for rounding."""


@dataclasses.dataclass(frozen=True, eq=False)
class CubeSample:
    """What a function gives on cubes of shuffles."""

    rows: np.ndarray
    """One row a sequence, shape (n, rows): mean square and sums of squares of each cube, product across cubes, square of the mean."""
    excess: float
    """Variance of the mean of the function, by which the square of the mean was too large."""
    evaluations: int
    """How often the function was evaluated."""

    @property
    def values(self) -> np.ndarray:
        """Means of the rows."""
        return self.rows.mean(axis=0)

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of these means."""
        covariance = np.cov(self.rows, rowvar=False) / len(self.rows)
        covariance[-1, -1] += 2.0 * self.excess**2  # what is left of the variance of |mean|^2 where the mean is zero
        return covariance


def sample_cubes(
    function: Callable[..., Any],
    draw: Callable[[int], Batch],
    cubes: list[Cube],
    length: int,
    samples: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> CubeSample:
    """Evaluate a function on the cubes of `samples` sequences.

    Arguments:
        function: from sequences (n, columns, ...) to values (n,) or (n, outputs); takes what stays fixed as a second argument, if any.
        draw: from a number to so many sequences.
        length: the first so many positions are those that move.
    """
    x, fixed = draw(min(_FIRST, samples))
    widest = max(len(cube.sets) for cube in cubes)
    step = max(1, min(samples, _BLOCK // (widest * max(1, x[0].size))))
    check_steady(function, x, fixed)
    squares: list[np.ndarray] = []
    means: list[np.ndarray] = []
    for start in range(0, samples, step):
        x, fixed = draw(min(step, samples - start))
        pooled, centres = zip(*(_coefficients(function, x, fixed, cube, length, rng) for cube in cubes), strict=True)
        squares.append(np.hstack(pooled))
        means.append(np.stack(centres, axis=1))  # (n, cubes, outputs)
        if progress is not None:
            progress(min(start + step, samples), samples)
    return _sample(np.concatenate(squares), np.concatenate(means), cubes)


def _coefficients(
    function: Callable[..., Any], x: np.ndarray, fixed: Any, cube: Cube, length: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The row of one cube (n, kinds), with its own mean for that of the function, and this mean (n, outputs)."""
    n, sets = len(x), len(cube.sets)
    orders = cube.orders(rng, n, length)
    moved = np.repeat(x[:, None], sets, axis=1)
    moved[:, :, :length] = x[np.arange(n)[:, None, None], orders]
    values = evaluate(function, moved.reshape(n * sets, *x.shape[1:]), _repeat(fixed, sets))
    coefficients = fourier(np.moveaxis(values.reshape(n, sets, -1), 1, 2)) / sets  # (n, outputs, sets)
    squares = (coefficients**2).sum(axis=1)
    rows = cube.pool(squares)
    rows[:, 0] = squares[:, 1:].sum(axis=1)  # no block comes first, and gives way to the mean square
    return rows, coefficients[:, :, 0]


def _sample(squares: np.ndarray, means: np.ndarray, cubes: list[Cube]) -> CubeSample:
    n, number, _ = means.shape
    own = means.mean(axis=1)  # of each sequence, (n, outputs)
    mean = own.mean(axis=0)
    centred = means - mean
    bessel = n / (n - 1)  # the mean was taken from the same sequences
    first = np.cumsum([0, *(len(cube.kinds) for cube in cubes)])[:-1]
    squares[:, first] += bessel * (centred**2).sum(axis=2)
    pairs = (centred.sum(axis=1) ** 2).sum(axis=1) - (centred**2).sum(axis=(1, 2))
    across = bessel * pairs / (number * (number - 1))
    # |mean|^2 is too large by its own variance, and moves by 2 mean . (own - mean) / n with one sequence.
    excess = ((own - mean) ** 2).sum() / (n - 1) / n
    square = mean @ mean - excess + 2.0 * (own - mean) @ mean
    return CubeSample(np.column_stack([squares, across, square]), float(excess), n * sum(len(cube.sets) for cube in cubes))


def _repeat(fixed: Any, times: int) -> Any:
    if isinstance(fixed, tuple):
        return tuple(_repeat(part, times) for part in fixed)
    return None if fixed is None else np.repeat(fixed, times, axis=0)


def evaluate(function: Callable[..., Any], x: np.ndarray, fixed: Any = None) -> np.ndarray:
    """Values (n, outputs) of a function, in float64."""
    values = as_numpy(function(x) if fixed is None else function(x, fixed), "what f returns")
    if values.dtype.kind not in "biuf":
        raise InputError(f"f must return real numbers, got an array of dtype {values.dtype}.")
    if values.ndim not in (1, 2) or len(values) != len(x) or not values.size:
        raise InputError(
            f"f must return one value or one row of values a sequence, so an array of shape ({len(x)},) or ({len(x)}, outputs), "
            f"got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise InputError(f"f returned {values[~np.isfinite(values)][0]} for a sequence: make it finite for every sequence.")
    return values.reshape(len(x), -1).astype(np.float64)


def check_steady(function: Callable[..., Any], x: np.ndarray, fixed: Any) -> None:
    """Refuse a function whose value for a sequence changes from call to call, or with the other sequences of the call."""
    together = evaluate(function, x, fixed)
    alone = evaluate(function, x[:1], fixed if fixed is None else _first(fixed))
    change, scale = np.abs(together[:1] - alone).max(), max(np.ptp(together, axis=0).max(), np.abs(together).max() * _UNSTEADY)
    if change > _UNSTEADY * scale:
        raise InputError(
            f"f returned {together[0].tolist()} for a sequence among others and {alone[0].tolist()} for the same one alone: "
            "it must be a function of the sequence only, so switch off dropout and other randomness."
        )


def _first(fixed: Any) -> Any:
    return tuple(_first(part) for part in fixed) if isinstance(fixed, tuple) else fixed[:1]
