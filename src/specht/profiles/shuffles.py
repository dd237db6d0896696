r"""Partial shuffles of positions, and what each leaves of every irrep.

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
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError
from specht.groups import Partition, inner_shapes, partitions

Blocks = tuple[int, ...]
"""Sizes of disjoint sets of positions, largest first."""

SMALL_LENGTH = 8
"""Up to here the cubes of `designs` distinguish all irreps."""
MOST_BLOCKS = 8
"""Blocks of a cube at most: 256 orders of a sequence."""


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
