r"""Characters of the symmetric group, in exact integers, by the rule of Murnaghan and Nakayama:

$$ \chi^\lambda(\rho) = \sum_{h} (-1)^{\mathrm{height}(h)}\, \chi^{\lambda \setminus h}(\rho \setminus r), $$

the sum being over the rim hooks $h$ of $\lambda$ with $r$ boxes, for any one cycle of length $r$ in the cycle type $\rho$.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from numbers import Rational

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError
from specht.groups.partition import Partition, about, check_shape, count_partitions, partitions

LARGEST_TABLE = 26  # 2436 rows and columns; int64 holds every character, as none exceeds sqrt(n!)


def character(shape: Partition, cycle_type: Partition) -> int:
    r"""The trace of a permutation with the given cycle type in the irrep $S^\lambda$.

    >>> character(Partition((3, 1)), Partition((2, 1, 1)))  # fixed points - 1
    1
    """
    if check_shape(shape).n != check_shape(cycle_type).n:
        raise InputError(f"{shape} is an irrep of S_{shape.n}, but {cycle_type} is a cycle type of S_{cycle_type.n}: make them equal.")
    return _character(shape.parts, tuple(length for length in cycle_type.parts if length > 1))


@functools.lru_cache(maxsize=2**16)
def _character(parts: tuple[int, ...], cycles: tuple[int, ...]) -> int:
    shapes = Counter({parts: 1})
    for length in cycles:
        smaller: Counter[tuple[int, ...]] = Counter()
        for outer, coefficient in shapes.items():
            for inner, sign in _without_rim_hook(outer, length):
                smaller[inner] += sign * coefficient
        shapes = smaller
    # What is left is acted on by fixed points, that is by the identity.
    return sum(coefficient * Partition(inner).dimension for inner, coefficient in shapes.items() if coefficient)


def _without_rim_hook(parts: tuple[int, ...], length: int) -> list[tuple[tuple[int, ...], int]]:
    r"""The shapes left when a rim hook of `length` boxes is taken away, each with its sign.

    On the beta numbers $\lambda_i + (\text{rows below } i)$ that is one bead moving down by `length` to a free place, and the sign
    counts the beads it passes.
    """
    beads = [part + below for part, below in zip(parts, range(len(parts) - 1, -1, -1), strict=True)]
    shapes = []
    for bead in beads:
        target = bead - length
        if target >= 0 and target not in beads:
            passed = sum(target < other < bead for other in beads)
            moved = sorted((*(other for other in beads if other != bead), target), reverse=True)
            inner = tuple(place - below for place, below in zip(moved, range(len(parts) - 1, -1, -1), strict=True) if place > below)
            shapes.append((inner, -1 if passed % 2 else 1))
    return shapes


def class_size(cycle_type: Partition) -> int:
    r"""Number of permutations with a cycle type: $n! / \prod_r r^{m_r} m_r!$ for $m_r$ cycles of length $r$.

    >>> class_size(Partition((2, 1, 1)))
    6
    """
    cycles = Counter(check_shape(cycle_type).parts)
    moved = cycle_type.n - cycles.pop(1, 0)
    return math.perm(cycle_type.n, moved) // math.prod(length**count * math.factorial(count) for length, count in cycles.items())


def character_table(n: int) -> np.ndarray:
    r"""All characters of $S_n$ as int64: rows are irreps, columns cycle types, both in the order of `partitions(n)`.

    >>> character_table(3)
    array([[ 1,  1,  1],
           [-1,  0,  2],
           [ 1, -1,  1]])
    """
    n = whole_number("n", n)
    if n > LARGEST_TABLE:
        raise InputError(f"The character table of S_{n} is too large (n is at most {LARGEST_TABLE}): use character() for single entries.")
    tables: list[np.ndarray] = []
    for size in range(n + 1):
        tables.append(_next_table(size, tables))
    return tables[n]


def _next_table(n: int, tables: list[np.ndarray]) -> np.ndarray:
    """The table of n points, from those of fewer points."""
    if n == 0:
        return np.ones((1, 1), dtype=np.int64)
    table = np.zeros((len(_rows(n)), len(_rows(n))), dtype=np.int64)
    stop = 0
    # Cycle types with the same longest cycle stand side by side, and so do, at the end of a smaller table, the types they continue with.
    for longest in range(n, 0, -1):
        rest = n - longest
        width = sum(not cycles or cycles[0] <= longest for cycles in _rows(rest))
        start, stop = stop, stop + width
        for parts, row in _rows(n).items():
            for inner, sign in _without_rim_hook(parts, longest):
                table[row, start:stop] += sign * tables[rest][_rows(rest)[inner], -width:]
    return table


@functools.cache
def _rows(n: int) -> dict[tuple[int, ...], int]:
    return {shape.parts: row for row, shape in enumerate(partitions(n))}


def decompose(class_function: Mapping[Partition, int | Fraction]) -> dict[Partition, int | Fraction]:
    r"""Coefficients of a class function in the irreducible characters, exactly; irreps that do not occur are left out.

    $$ m_\lambda = \frac{1}{n!} \sum_\rho |\rho|\, f(\rho)\, \chi^\lambda(\rho), $$

    where `class_function` gives the value f for every cycle type $\rho \vdash n$. For the character of a representation, such as the
    number of points that a permutation fixes, $m_\lambda$ is the multiplicity of $S^\lambda$.

    >>> fixed_points = {cycles: cycles.parts.count(1) for cycles in partitions(5)}
    >>> decompose(fixed_points)
    {Partition(parts=(5,)): 1, Partition(parts=(4, 1)): 1}
    """
    if not isinstance(class_function, Mapping):
        raise InputError(f"A class function is a dictionary from cycle types to values, got {class_function!r}.")
    n = check_shape(next(iter(class_function))).n if class_function else 0
    if n > LARGEST_TABLE:
        raise InputError(
            f"A class function of S_{n} is decomposed with its character table, {about(count_partitions(n))} rows and columns, which stops "
            f"at n = {LARGEST_TABLE}: choose a smaller group."
        )
    for cycles in class_function:
        check_shape(cycles)
    classes = list(partitions(n))
    if odd := set(classes) ^ set(class_function):
        fault = "is not one of them" if max(odd) in class_function else "has none"
        raise InputError(f"A class function of S_{n} has one value for each of its {len(classes)} cycle types, but {max(odd)} {fault}.")
    order = math.factorial(n)
    weights = [class_size(cycles) * _fraction(cycles, class_function[cycles]) for cycles in classes]
    coefficients = {}
    for shape, characters in zip(classes, character_table(n).tolist(), strict=True):
        total = sum((weight * value for weight, value in zip(weights, characters, strict=True) if value), Fraction(0)) / order
        if total:
            coefficients[shape] = total.numerator if total.denominator == 1 else total
    return coefficients


def _fraction(cycles: Partition, value: int | Fraction) -> Fraction:
    if not isinstance(value, Rational):  # whole numbers of NumPy are welcome too
        raise InputError(f"The value of a class function must be a whole number or a Fraction, got {value!r} at {cycles}.")
    return Fraction(int(value.numerator), int(value.denominator))
