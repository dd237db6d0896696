r"""Partial shuffles of positions, what each leaves of every irrep, and a function sampled on cubes of them.

Shuffle a random set of $j$ positions uniformly and leave the others in place. Averaged over sets and orders this commutes with all
permutations, so it multiplies irrep $\lambda$ by a number: the share of it that is invariant under $S_j$,

$$ a_\lambda(j) = \frac{f^{\lambda/(j)}}{f^\lambda} , $$

where $f^\lambda$ counts standard tableaux of the shape and $f^{\lambda/(j)}$ those of the skew shape. Shuffling several disjoint blocks of
$j_1, j_2, \dots$ positions, each within itself, leaves the share $K_{\lambda\mu} / f^\lambda$ that is invariant under
$S_{j_1} \times S_{j_2} \times \dots$, with the Kostka number of $\mu = (j_1, j_2, \dots, 1, \dots, 1)$ (Young's rule). Both are exact.

A *cube* of shuffles has one such shuffle $\sigma_i$ for each of $B$ disjoint blocks. Doing those in a set $S$ of blocks and not the others
gives $2^B$ orders of one sequence and a function $F(S) = f(\sigma_S x)$ on a Boolean cube, with Fourier coefficients
$\hat F(T) = 2^{-B} \sum_S (-1)^{|S \cap T|} F(S)$. Their squares sum to the mean of $F^2$, and on average

$$ \mathrm{E}\, \hat F(T)^2 = \sum_\lambda p_\lambda(T)\, \|f_\lambda\|^2 , \qquad
   p_\lambda(T) = 2^{-B} \sum_S (-1)^{|S \cap T|} \frac{K_{\lambda\mu(S)}}{f^\lambda} \ge 0 . $$

A function that singles out $m$ positions does not see the shuffle of a block that holds none of them. So $p_\lambda(T) = 0$ when $T$ has
more blocks than $\lambda$ has boxes below its first row, and then $\hat F(T)$ is zero for every $x$, not only on average: high levels that
a function lacks cost no noise.

A function is sampled on such cubes (`sample_cubes`): one row of numbers a sequence, whose means are linear in the weights of the irreps.
For one sequence $x$ there is a cube for every design, each started from an order of its own. With $g = f - \mathrm{E} f$ its row holds

- for every cube, the mean of $G(S)^2$, and for every kind of sets of one block or more the sum of $\hat G(T)^2$ over the sets of that kind;
- the mean over pairs of cubes of $\hat G(\emptyset)\, \hat G'(\emptyset)$. Two cubes have independent orders, so its mean is the weight of
  the part of $g$ that ignores order;
- $|\mathrm{E} f|^2$, with what $x$ has added to it.

Outputs are summed over. All orders of one sequence are drawn uniformly, so the law of the sequences is symmetrised by this, if need be.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from specht.arrays import as_numpy
from specht.checks import whole_number
from specht.errors import InputError
from specht.groups import Partition, inner_shapes, partitions
from specht.progress import Progress

Blocks = tuple[int, ...]
"""Sizes of disjoint sets of positions, largest first."""
Batch = tuple[np.ndarray, Any]
"""Sequences (n, columns, ...) and what stays fixed while their positions move: None, an array (n, ...) or a tuple of such arrays."""

SMALL_LENGTH = 8
"""Up to here the cubes of `designs` distinguish all irreps."""
MOST_BLOCKS = 8
"""Blocks of a cube at most: 256 orders of a sequence."""
_BLOCK = 2**22
"""Entries of shuffled sequences held at a time."""
_FIRST = 8
"""Sequences that are evaluated twice, to see whether the function gives the same values again."""
_UNSTEADY = 1e-3
"""Change of a value, relative to the spread of the function, above which it is not taken for rounding."""


def shuffle_factor(shape: Partition, blocks: int | Sequence[int]) -> Fraction:
    r"""The share of irrep $\lambda$ that is left after shuffling $j$ random positions, or several disjoint blocks of positions.

    >>> [str(shuffle_factor(Partition((3, 1)), j)) for j in (1, 2, 3, 4)]
    ['1', '2/3', '1/3', '0']
    >>> str(shuffle_factor(Partition((2, 2)), (2, 2)))
    '1/2'
    """
    sizes = [blocks] if isinstance(blocks, int) else blocks
    whole = tuple(sorted((whole_number("a block of positions", size) for size in sizes), reverse=True))
    if sum(whole) > shape.n:
        raise InputError(f"{sum(whole)} positions cannot be shuffled where {shape} has {shape.n}: make the blocks smaller.")
    return Fraction(_invariants(shape, tuple(size for size in whole if size > 1)), shape.dimension)


@functools.lru_cache(maxsize=2**17)
def _invariants(shape: Partition, blocks: Blocks) -> int:
    """The Kostka number of the blocks and single positions: blocks are taken away from the shape one horizontal strip at a time."""
    if not blocks:
        return shape.dimension
    return sum(_invariants(inner, blocks[1:]) for inner in inner_shapes(shape, shape.n - blocks[0]))


def designs(length: int, blocks: int) -> tuple[Blocks, ...]:
    """The cubes that a profile is measured with, as block sizes: at most `blocks` blocks each.

    Short sequences have a cube for every way of cutting them into blocks, which distinguishes all shapes (the matrix of Kostka numbers can
    be inverted). Long ones have three: equal blocks, blocks that halve what is left, and blocks that take two thirds of it, so that
    shapes with as many boxes below the first row but in other rows are distinguished as well.

    >>> designs(5, blocks=5)
    ((3, 2), (4,), (2, 2))
    >>> designs(40, blocks=5)
    ((8, 8, 8, 8, 8), (20, 10, 5), (27, 9))
    """
    if length < 3:
        return ((), ())  # the whole shuffle, from one cube to another, is the only one
    if length <= SMALL_LENGTH:
        cuts = [tuple(part for part in cut.parts if part > 1) for cut in partitions(length) if cut.parts.count(1) <= 1]
        cuts = sorted(cuts[1:], key=lambda cut: (-sum(cut), len(cut)))  # the first one is the whole shuffle
        return tuple(cuts if len(cuts) > 1 else 2 * cuts)  # the whole shuffle is that from one cube to another
    number = min(blocks, length // 2)
    equal = (length // number,) * number  # positions that are left over stay in place
    # Few of them: the smallest block must still be met often enough by a function of few positions.
    return tuple(dict.fromkeys([equal, _shrinking(length, 3, 1, 2), _shrinking(length, 2, 2, 3)]))


def _shrinking(length: int, number: int, part: int, whole: int) -> Blocks:
    """Blocks that each take a share part/whole of the positions that are left."""
    blocks: list[int] = []
    while len(blocks) < number and length > 1:
        blocks.append(max(2, -(-length * part // whole)))
        length -= blocks[-1]
    return tuple(blocks)


class Cube:
    """The sets of blocks of one design, pooled into kinds: two sets are of one kind when their blocks have the same sizes."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.sets = list(itertools.product((False, True), repeat=len(blocks)))
        """Which blocks are in each of the 2^B sets, in the order of binary numbers."""
        named = [tuple(size for size, chosen in zip(blocks, chosen_ones, strict=True) if chosen) for chosen_ones in self.sets]
        self.kinds: list[Blocks] = list(dict.fromkeys(named))
        """Sizes of the blocks of a set, one entry a kind."""
        self.kind_of = np.array([self.kinds.index(kind) for kind in named])
        """The kind of each set."""

    def factors(self, shape: Partition | None) -> np.ndarray:
        r"""What $\lambda$ adds to the row of a cube, shape (kinds,): 1 to the mean square, then sums of $p_\lambda(T)$ over each kind.

        Exact until the last division. None is the limit of high levels, a function that is left with nothing after any shuffle.

        >>> Cube((2, 2)).factors(Partition((3, 1))).tolist()  # the mean square, one block, two blocks
        [1.0, 0.3333333333333333, 0.0]
        """
        counts = [int(not kind) if shape is None else _invariants(shape, kind) for kind in self.kinds]
        squares = fourier(np.array([counts[kind] for kind in self.kind_of], dtype=object)).tolist()
        sums = [0] * len(self.kinds)
        for kind, square in zip(self.kind_of, squares, strict=True):
            sums[kind] += square
        sums[0] = sum(squares)
        return np.array([float(Fraction(total, counts[0] * len(self.sets))) for total in sums])

    def pool(self, squares: np.ndarray) -> np.ndarray:
        """Sums (n, kinds) of squared coefficients (n, 2^B) over the sets of each kind."""
        sums = np.zeros((len(squares), len(self.kinds)))
        np.add.at(sums.T, self.kind_of, squares.T)
        return sums

    def single_blocks(self) -> dict[int, np.ndarray]:
        r"""For each block size $j$, coefficients (kinds,) with which the row of a cube makes up $C(j)$.

        The correlation of $F$ across one block $i$ is the mean of $F^2$ less $2 \sum_{T \ni i} \hat F(T)^2$, averaged over equal blocks.
        """
        shared = {size: [kind.count(size) / self.blocks.count(size) for kind in self.kinds] for size in set(self.blocks)}
        return {size: np.array([1.0, *(-2.0 * share for share in shares[1:])]) for size, shares in shared.items()}

    def orders(self, rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        """For each of `n` sequences a uniformly random order and, from there, its cube of shuffles: positions (n, 2^B, length)."""
        base, places = (rng.permuted(np.broadcast_to(np.arange(length), (n, length)), axis=1) for _ in range(2))
        # The tokens of the blocks are chosen by `base` and shuffled side by side; `places` then says where each of them stands.
        orders = np.repeat(base[:, None, :], len(self.sets), axis=1)
        start = 0
        for block, size in enumerate(self.blocks):
            columns = slice(start, start + size)
            chosen = [number for number, members in enumerate(self.sets) if members[block]]
            orders[:, chosen, columns] = rng.permuted(base[:, columns], axis=1)[:, None, :]
            start += size
        return np.take_along_axis(orders, places[:, None, :], axis=2)


def fourier(values: np.ndarray) -> np.ndarray:
    """Sums of values (..., 2^B) over all sets, with the signs of each set: the Walsh-Hadamard transform, not normalised.

    >>> fourier(np.array([3, 1, 0, 0])).tolist()
    [4, 2, 4, 2]
    """
    size, step = values.shape[-1], 1
    while step < size:
        pairs = values.reshape(*values.shape[:-1], size // (2 * step), 2, step)
        first, second = pairs[..., 0, :], pairs[..., 1, :]
        values = np.stack([first + second, first - second], axis=-2).reshape(values.shape)
        step *= 2
    return values


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
