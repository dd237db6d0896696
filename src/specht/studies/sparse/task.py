r"""Sparse Boolean functions: of T random bits, the label depends on the first s alone.

A function is the table of its values on the $2^s$ patterns of the bits that it reads. Bits are independent and one with a probability that
makes both labels as frequent as each other, where there is such a probability: $P(x_i = 1) = 2^{-1/s}$ for AND (Edelman, Goel, Kakade &
Zhang 2022, appendix C). A learner does not know which bits are read, and a training set that more than one choice of bits explains cannot
tell it: such sets are drawn again, as in that paper.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from specht.checks import whole_number
from specht.errors import InputError, unknown_choice
from specht.sequences import Target, input_array

MOST_BITS = 10
"""Largest number of bits that a function may read: its table has two to the power of it entries."""
_MOST_WORK = 2_000_000
"""Work that is done to see whether a training set has one explanation: values of the table times choices of all bits but the last."""
_TRIES = 200
"""How often a training set is drawn again before it is given up."""


class Samples(NamedTuple):
    """Bits (n, T) and labels (n,), both 0 or 1."""

    x: np.ndarray
    y: np.ndarray


def needed(share: float, n: int) -> int:
    """The smallest number of n samples that is at least a share of them; whole numbers, so that rounding decides nothing.

    >>> needed(1.0, 107), needed(0.99, 10_000), needed(0.99, 512)
    (107, 9900, 507)
    """
    return math.ceil(share * n - 1e-9)


@dataclasses.dataclass(frozen=True)
class SparseFunction:
    """A Boolean function of the first s bits, by its table.

    >>> conjunction = sparse_function("and", 3)
    >>> conjunction.values(np.array([[1, 1, 1, 0], [1, 0, 1, 1]])).tolist()
    [1, 0]
    >>> round(conjunction.probability, 4)
    0.7937
    """

    name: str
    table: tuple[bool, ...]
    """Values on the patterns of the bits in the order of binary numbers, the first bit being the highest."""

    def __post_init__(self) -> None:
        s = self.support
        if len(self.table) != 2**s or not 1 <= s <= MOST_BITS:
            raise InputError(
                f"A table of a function of s bits has 2^s values, s from 1 to {MOST_BITS}, got {len(self.table)} values: write 2, 4, 8, "
                "... "
                "of 0 and 1."
            )
        if len(set(self.table)) == 1:
            raise InputError(f"The function {self.name!r} is constant: there is nothing to learn.")
        idle = [place for place in range(1, s + 1) if not self._depends_on(place)]
        if idle:
            one = len(idle) == 1
            raise InputError(
                f"The function {self.name!r} does not depend on {'bit' if one else 'bits'} {', '.join(map(str, idle))}, so no samples "
                f"tell which {'bit that is: leave it' if one else 'bits those are: leave them'} out of the table."
            )

    def _depends_on(self, place: int) -> bool:
        """Whether the bit with this number, from one on, changes a value somewhere."""
        values = np.array(self.table).reshape(2 ** (place - 1), 2, -1)
        return bool((values[:, 0] != values[:, 1]).any())

    @property
    def support(self) -> int:
        """The number s of bits that are read."""
        return max(len(self.table).bit_length() - 1, 0)

    @functools.cached_property
    def probability(self) -> float:
        """Of a one among the bits: the one that makes labels balanced and lies nearest to 1/2; 1/2 where there is none."""
        ones = np.array([bin(pattern).count("1") for pattern in range(len(self.table))])

        def excess(p: float) -> float:
            chances = p**ones * (1.0 - p) ** (self.support - ones)
            return float(chances[np.array(self.table)].sum()) - 0.5

        if excess(0.5) == 0.0:
            return 0.5
        grid = np.linspace(0.0, 1.0, 201)
        signs = np.sign([excess(p) for p in grid])
        places = np.flatnonzero(signs[:-1] * signs[1:] < 0)
        roots = [float(optimize.brentq(excess, grid[i], grid[i + 1])) for i in places]  # pyright: ignore[reportArgumentType]
        return min(roots, key=lambda p: abs(p - 0.5), default=0.5)

    def values(self, x: Any) -> np.ndarray:
        """Labels (n,), 0 or 1, of bits (n, T)."""
        x = input_array(x)
        weights = 2 ** np.arange(self.support - 1, -1, -1)
        return np.array(self.table, dtype=np.int8)[x[:, : self.support].astype(np.int64) @ weights]

    def draw(self, rng: np.random.Generator, n: int, length: int) -> Samples:
        """Independent samples."""
        x = (rng.random((n, length), dtype=np.float32) < self.probability).astype(np.int8)
        return Samples(x, self.values(x))

    def draw_identified(self, rng: np.random.Generator, n: int, length: int) -> tuple[Samples, bool]:
        """Samples that one choice of bits alone explains, and whether that could be checked and reached.

        Very few samples never are; then the last draw is returned.
        """
        self.check_length(length)
        sample = self.draw(rng, n, length)
        for _ in range(_TRIES):
            ambiguous = self.is_ambiguous(sample)
            if not ambiguous:
                return sample, ambiguous is not None
            sample = self.draw(rng, n, length)
        return sample, False

    def is_ambiguous(self, sample: Samples) -> bool | None:
        """Whether another choice of s bits gives the same labels; None where there are too many choices to go through.

        Bits are distinguished by their order in the table: a function that is not symmetric may also read the same bits in another order.
        """
        columns, (label, samples) = _packed(sample.x.T), _packed(np.stack([sample.y, np.ones_like(sample.y)]))
        candidates = np.arange(len(columns))
        if sum(self.table) == 1 and self.table[-1]:  # AND: a bit that it reads is one wherever the label is
            candidates = np.flatnonzero(((label & ~columns) == 0).all(axis=1))
        elif sum(self.table) == len(self.table) - 1 and not self.table[0]:  # OR: zero wherever the label is
            candidates = np.flatnonzero(((columns & ~label) == 0).all(axis=1))
        choices = math.comb(len(candidates), self.support - 1) * (1 if self.is_symmetric else math.factorial(self.support))
        if choices * len(self.table) > _MOST_WORK:
            return None
        return self._explanations(columns[candidates], label, samples, stop=2) > 1

    @functools.cached_property
    def is_symmetric(self) -> bool:
        """Whether the order of the bits that are read does not matter."""
        ones = [bin(pattern).count("1") for pattern in range(len(self.table))]
        return all(len({value for value, k in zip(self.table, ones, strict=True) if k == count}) == 1 for count in range(self.support + 1))

    def _explanations(self, columns: np.ndarray, label: np.ndarray, samples: np.ndarray, stop: int) -> int:
        """Choices of columns whose function is the label, counted up to `stop`; the last column of a choice is tried for all at once."""
        count = 0
        choose = itertools.combinations if self.is_symmetric else itertools.permutations
        for first in choose(range(len(columns)), self.support - 1):
            later = columns[max(first, default=-1) + 1 :] if self.is_symmetric else np.delete(columns, first, axis=0)
            values = _evaluate(self.table, [*columns[list(first)], later])
            count += int((((values ^ label) & samples) == 0).all(axis=-1).sum())
            if count >= stop:
                return count
        return count

    def check_length(self, length: int) -> int:
        """The number of bits T, which must hold those that are read."""
        length = whole_number("length T", length, at_least=1)
        if self.support > length:
            raise InputError(
                f"{self.name} reads s = {self.support} bits, and there are T = {length}: take at least as many bits as it reads."
            )
        return length

    def target(self, length: int) -> Target:
        """The same as a target with values 1 and -1, for `specht profile` and the rest of the package."""
        self.check_length(length)
        return Target(self.name, lambda x: 2.0 * self.values(x) - 1.0, reads=tuple(range(self.support % length)))


def _packed(bits: np.ndarray) -> np.ndarray:
    """Rows of bits as rows of 64-bit words, filled up with zeros."""
    words = -(-bits.shape[1] // 64)
    padded = np.zeros((len(bits), 64 * words), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1).view(np.uint64)


def _evaluate(table: Sequence[bool], columns: Sequence[np.ndarray]) -> np.ndarray:
    """The function of packed columns, split by the first of them: f = x f_1 + (1 - x) f_0."""
    if not columns:
        return np.full(1, -1 if table[0] else 0, np.int64).view(np.uint64)
    half = len(table) // 2
    zero, one = (_evaluate(part, columns[1:]) for part in (table[:half], table[half:]))
    return (columns[0] & one) | (~columns[0] & zero)


def _counted(name: str, support: int, holds: Callable[[int], bool]) -> SparseFunction:
    return SparseFunction(name, tuple(holds(bin(pattern).count("1")) for pattern in range(2**support)))


FUNCTIONS: dict[str, Callable[[int, int], Callable[[int], bool]]] = {
    "and": lambda s, k: lambda ones: ones == s,
    "or": lambda s, k: lambda ones: ones > 0,
    "majority": lambda s, k: lambda ones: 2 * ones > s,
    "threshold": lambda s, k: lambda ones: ones >= k,
    "parity": lambda s, k: lambda ones: ones % 2 == 1,
}
"""Functions of the number of ones among s bits; `k` is what "threshold" asks for."""


def sparse_function(name: str, support: int = 3, at_least: int | None = None) -> SparseFunction:
    """A function by its name, or by its table of zeros and ones.

    >>> sparse_function("threshold", 3, at_least=2).table == sparse_function("majority", 3).table == sparse_function("00010111").table
    True
    """
    if name and set(name) <= {"0", "1"}:
        return SparseFunction(f"table {name}", tuple(letter == "1" for letter in name))
    if name not in FUNCTIONS:
        raise unknown_choice("function", name, [*FUNCTIONS, "a table such as 0110"])
    support = whole_number("support", support, at_least=1, at_most=MOST_BITS)
    if name != "threshold":
        return _counted(f"{name} of {support}", support, FUNCTIONS[name](support, 0))
    if at_least is None:
        raise InputError("threshold is one from a number of ones on, and that number is missing: give at_least (--at-least).")
    at_least = whole_number("at_least", at_least, at_least=1, at_most=support)
    return _counted(f"at least {at_least} of {support}", support, FUNCTIONS[name](support, at_least))
