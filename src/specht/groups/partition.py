r"""Partitions $\lambda \vdash n$: the labels of the irreducible representations of the symmetric group $S_n$.

Sequences are long and the interesting shapes differ from a single row by a few boxes only, so whatever can be computed from the boxes
below the first row is: the shape $(n - |\mu|, \mu)$ costs $O(|\mu|)$, whatever $n$ is.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import operator
import re
from collections.abc import Iterable, Iterator

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError

_LONGEST_COUNT = 10**6
"""Sizes up to which shapes are counted; beyond, there are at least as many."""
_MANY = 1e12
"""So many shapes that nobody asks how many more there are."""


@dataclasses.dataclass(frozen=True, order=True)
class Partition:
    r"""A partition $\lambda \vdash n$, written `[3,1]`; it labels the Specht module $S^\lambda$ and the cycle type of a permutation.

    Order is lexicographic: `[n]`, the label of functions that ignore order, is the largest partition of n.

    >>> shape = Partition.parse("[3,1]")
    >>> str(shape), shape.n, shape.level, shape.dimension
    ('[3,1]', 4, 1, 3)
    >>> Partition((10**6 - 3, 3)).dimension
    166665666667500000
    """

    parts: tuple[int, ...]
    """Lengths of the rows, longest first."""

    def __post_init__(self) -> None:
        try:
            parts = tuple(operator.index(part) for part in self.parts)
        except TypeError:
            raise InputError(f"The parts of a partition must be whole numbers, got {self.parts!r}: write Partition((3, 1)).") from None
        if any(part < 1 for part in parts) or any(above < below for above, below in itertools.pairwise(parts)):
            raise InputError(
                f"The parts of a partition must be positive and stand longest first, got {self.parts!r}: write Partition((3, 1))."
            )
        object.__setattr__(self, "parts", parts)

    def __str__(self) -> str:
        return f"[{','.join(map(str, self.parts))}]"

    @classmethod
    def parse(cls, notation: str) -> Partition:
        """The partition that a notation such as `[3,1]` describes; `[]` is the partition of 0.

        >>> Partition.parse("[2, 1, 1]").parts
        (2, 1, 1)
        """
        if not isinstance(notation, str) or not re.fullmatch(r"\s*\[\s*(\d+\s*(,\s*\d+\s*)*)?\]\s*", notation):
            raise InputError(f"A partition is written as row lengths in brackets, such as [3,1], got {notation!r}.")
        return cls(tuple(int(part) for part in re.findall(r"\d+", notation)))

    @property
    def n(self) -> int:
        """Number of boxes."""
        return sum(self.parts)

    @property
    def tail(self) -> Partition:
        """The rows below the first one.

        >>> str(Partition((5, 2, 1)).tail)
        '[2,1]'
        """
        return Partition(self.parts[1:])

    @property
    def level(self) -> int:
        r"""Boxes below the first row, $m = n - \lambda_1$: how many positions a function must single out. The dimension grows as $n^m$."""
        return sum(self.parts[1:])

    @property
    def conjugate(self) -> Partition:
        """The partition with rows and columns exchanged; its irrep is this one times the sign.

        >>> str(Partition((3, 1)).conjugate)
        '[2,1,1]'
        """
        columns: list[int] = []
        for height in range(len(self.parts), 0, -1):
            columns += [height] * (self.parts[height - 1] - len(columns))
        return Partition(tuple(columns))

    def hook_lengths(self) -> tuple[tuple[int, ...], ...]:
        """For each box, the number of boxes to its right and below it, itself included; one tuple a row.

        >>> Partition((3, 1)).hook_lengths()
        ((4, 2, 1), (1,))
        """
        heights = self.conjugate.parts
        return tuple(tuple(part - column + heights[column] - row - 1 for column in range(part)) for row, part in enumerate(self.parts))

    def tall_hook_product(self) -> int:
        r"""Product of the hook lengths in columns of two boxes or more; the other columns contribute $(\lambda_1 - \lambda_2)!$."""
        heights = self.tail.conjugate.parts
        first_row = math.prod(self.parts[0] - column + height for column, height in enumerate(heights))
        return first_row * math.prod(itertools.chain.from_iterable(self.tail.hook_lengths()))

    @property
    def dimension(self) -> int:
        r"""Dimension of $S^\lambda$, by the hook length formula $n! / \prod_{\text{boxes}} h$, at a cost of O(`level`).

        >>> [Partition((length - 2, 2)).dimension for length in (4, 5, 6)]
        [2, 5, 9]
        """
        second = self.parts[1] if len(self.parts) > 1 else 0
        return math.perm(self.n, self.level + second) // self.tall_hook_product()  # n! / (first - second)! is a short product

    def dominates(self, other: Partition) -> bool:
        """Whether the first k rows of this partition hold at least as many boxes as those of the other one, for every k.

        >>> Partition((3, 1)).dominates(Partition((2, 2))), Partition((3, 3)).dominates(Partition((4, 1, 1)))
        (True, False)
        """
        if self.n != check_shape(other).n:
            raise InputError(f"Dominance compares partitions of one number, got {self} of {self.n} and {other} of {other.n}.")
        pairs = itertools.zip_longest(self.parts, other.parts, fillvalue=0)
        return all(lead >= 0 for lead in itertools.accumulate(own - compared for own, compared in pairs))


def check_shape(shape: Partition) -> Partition:
    """The shape, or an `InputError` for anything but a `Partition`."""
    if not isinstance(shape, Partition):
        raise InputError(f"A shape or cycle type must be a Partition, got {shape!r}: write for example Partition((3, 1)).")
    return shape


def about(number: int) -> str:
    """A whole number of any size, for a sentence.

    >>> about(12345), about(10**400)
    ('1.2e+04', '1e+400')
    """
    return f"{number:.1e}" if number < 10**300 else f"1e+{math.floor(math.log10(number))}"


def whole_numbers(name: str, values: Iterable[int], at_least: int = 0) -> tuple[int, ...]:
    """The values as whole numbers, or an `InputError` that says which is none."""
    try:
        listed = tuple(values)
    except TypeError:
        raise InputError(f"{name} must be a list of whole numbers, got {values!r}.") from None
    return tuple(whole_number(f"each number of {name}", value, at_least) for value in listed)


def partitions(n: int, max_rows: int | None = None, max_level: int | None = None) -> Iterator[Partition]:
    """The partitions of `n` in reverse lexicographic order, with at most `max_rows` rows and `max_level` boxes below the first row.

    >>> [str(shape) for shape in partitions(4)]
    ['[4]', '[3,1]', '[2,2]', '[2,1,1]', '[1,1,1,1]']
    >>> [str(shape) for shape in partitions(10**6, max_level=2)]
    ['[1000000]', '[999999,1]', '[999998,2]', '[999998,1,1]']
    """
    n = whole_number("n", n)
    rows = n if max_rows is None else whole_number("max_rows", max_rows, 1)
    shortest = 1 if max_level is None else n - whole_number("max_level", max_level)
    return map(Partition, _descending(n, n, rows, shortest))


def _descending(n: int, longest: int, rows: int, shortest: int = 1) -> Iterator[tuple[int, ...]]:
    """Decreasing tuples that add up to `n`, with at most `rows` entries and the first between `shortest` and `longest`."""
    if n == 0:
        yield ()
        return
    for first in range(min(n, longest), max(shortest, -(-n // rows)) - 1, -1):
        for rest in _descending(n - first, first, rows - 1):
            yield (first, *rest)


def count_partitions(n: int, max_rows: int | None = None, max_level: int | None = None) -> int:
    """How many `partitions(n, max_rows, max_level)` there are, without listing them.

    The number is exact for levels up to n/2 and for all levels together, and no less than the true one in between. Counting stops
    where there are very many (n beyond a million, or 10^12 shapes): then there are at least as many as this.

    >>> count_partitions(100), count_partitions(100, max_rows=3), count_partitions(10**6, max_level=2)
    (190569292, 884, 4)
    """
    n = whole_number("n", n)
    rows = n if max_rows is None else min(n, whole_number("max_rows", max_rows, 1))
    level = n if max_level is None else min(n, whole_number("max_level", max_level))
    every = count_sums(n, range(1, rows + 1))[-1]
    return round(min(every, count_sums(level, range(1, rows)).sum()) if level < n else every)


def count_sums(size: int, parts: Iterable[int]) -> np.ndarray:
    """In how many ways 0, 1, ... `size` are sums of parts, each taken as often as one likes; cut off as `count_partitions` is.

    Parts are given in increasing order. One that is given twice comes in two colours.

    >>> count_sums(4, [1, 2])
    array([1., 1., 2., 2., 3.])
    """
    size = min(size, _LONGEST_COUNT)
    ways = np.eye(1, size + 1)[0]
    for part in parts:
        if part > size or ways[-1] > _MANY:
            break
        rows = -(-(size + 1) // part)
        ways = np.pad(ways, (0, rows * part - size - 1)).reshape(rows, part).cumsum(axis=0).ravel()[: size + 1]
    return ways
