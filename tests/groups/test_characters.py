"""Characters: orthogonality of whole tables, closed forms for long rows, two routes to every entry, exact decomposition."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from specht.errors import InputError
from specht.groups.characters import character, character_table, class_size, decompose
from specht.groups.partition import Partition, partitions
from specht.groups.permutations import compose, cycle_type, transposition


@pytest.mark.parametrize("n", range(13))
def test_rows_and_columns_of_the_table_are_orthogonal(n):
    # Whole numbers throughout: by the inequality of Cauchy and Schwarz no sum exceeds n! <= 12!, far below 2^63.
    table, order = character_table(n), math.factorial(n)
    sizes = np.array([class_size(cycles) for cycles in partitions(n)])
    assert table.dtype == np.int64
    assert sizes.sum() == order
    assert np.array_equal(table * sizes @ table.T, order * np.eye(len(table), dtype=np.int64))
    assert np.array_equal(table.T @ table, np.diag(order // sizes))
    assert np.array_equal(table[:, -1], [shape.dimension for shape in partitions(n)])
    assert (table[:, -1] ** 2).sum() == order


@pytest.mark.parametrize("n", range(9))
def test_single_characters_agree_with_the_table(n):
    table = [[character(shape, cycles) for cycles in partitions(n)] for shape in partitions(n)]
    assert np.array_equal(table, character_table(n))


@pytest.mark.parametrize("n", range(8))
def test_class_sizes_and_cycle_types_by_counting_permutations(n):
    counted = Counter(cycle_type(permutation) for permutation in itertools.permutations(range(n)))
    assert counted == {cycles: class_size(cycles) for cycles in partitions(n)}


def test_the_table_of_four_points_as_printed_in_books():
    table = [[1, 1, 1, 1, 1], [-1, 0, -1, 1, 3], [0, -1, 2, 0, 2], [1, 0, -1, -1, 3], [-1, 1, 1, -1, 1]]
    assert character_table(4).tolist() == table


def cycle_types(n: int):
    """Random cycle types of n points: cut points into cycles, mostly short ones, as many as fit."""
    lengths = st.lists(st.integers(1, 7) | st.integers(1, max(n // 3, 1)), max_size=12)

    def fill(cycles: list[int]) -> Partition:
        chosen = [length for length, total in zip(cycles, itertools.accumulate(cycles), strict=True) if total <= n]
        return Partition(tuple(sorted(chosen + [1] * (n - sum(chosen)), reverse=True)))

    return lengths.map(fill)


def fixed_subsets(cycles: Partition, size: int) -> int:
    """Subsets of a size that a permutation maps to themselves: unions of its cycles."""
    ways = [1] + [0] * size
    for length in cycles.parts:
        for total in range(size, length - 1, -1):
            ways[total] += ways[total - length]
    return ways[size]


@given(st.sampled_from([20, 100, 1000]).flatmap(cycle_types))
def test_long_rows_in_closed_form(cycles):
    n, fixed, pairs = cycles.n, cycles.parts.count(1), cycles.parts.count(2)
    sign = (-1) ** (n - len(cycles.parts))
    assert character(Partition((n,)), cycles) == 1
    assert character(Partition((n - 1, 1)), cycles) == fixed - 1
    assert character(Partition((n - 2, 2)), cycles) == fixed * (fixed - 3) // 2 + pairs
    assert character(Partition((n - 2, 1, 1)), cycles) == (fixed - 1) * (fixed - 2) // 2 - pairs
    for m in range(1, 7):
        assert character(Partition((n - m, m)), cycles) == fixed_subsets(cycles, m) - fixed_subsets(cycles, m - 1)
    if n == 20:
        assert character(Partition((1,) * n), cycles) == sign
        for shape in (Partition((8, 6, 3, 2, 1)), Partition((5, 5, 5, 5)), Partition((10, 10))):
            assert character(shape.conjugate, cycles) == sign * character(shape, cycles)


def test_rows_of_twenty_points_are_normalised():
    classes = [(cycles, class_size(cycles)) for cycles in partitions(20)]
    assert sum(size for _, size in classes) == math.factorial(20)
    for shape in (Partition((17, 3)), Partition((8, 6, 3, 2, 1)), Partition((5, 5, 5, 5))):
        assert sum(size * character(shape, cycles) ** 2 for cycles, size in classes) == math.factorial(20)


def test_a_million_points_and_a_thousand_cycles():
    n = 10**6
    cycles = Partition((7, 2, 2) + (1,) * (n - 11))
    assert character(Partition((n - 2, 2)), cycles) == (n - 11) * (n - 14) // 2 + 2
    assert class_size(Partition((2,) + (1,) * (n - 2))) == math.comb(n, 2)
    assert character(Partition((3997, 3)), Partition((2,) * 2000)) == -fixed_subsets(Partition((2,) * 2000), 2)


coefficients = st.fractions(-5, 5, max_denominator=6)
combinations = st.integers(0, 7).flatmap(lambda n: st.fixed_dictionaries(dict.fromkeys(partitions(n), coefficients)))


@given(combinations)
def test_decomposition_recovers_exact_coefficients(combination):
    function = {cycles: sum((c * character(shape, cycles) for shape, c in combination.items()), Fraction(0)) for cycles in combination}
    assert decompose(function) == {shape: c for shape, c in combination.items() if c}


def test_decomposition_of_the_regular_representation():
    regular = {cycles: math.factorial(6) if len(cycles.parts) == 6 else 0 for cycles in partitions(6)}
    found = decompose(regular)
    assert found == {shape: shape.dimension for shape in partitions(6)}
    assert all(isinstance(multiplicity, int) for multiplicity in found.values())


def test_decomposition_takes_numbers_of_numpy():
    assert decompose(dict(zip(partitions(3), np.array([1, -1, 1]), strict=True))) == {Partition((1, 1, 1)): 1}


def test_products_act_from_the_right_to_the_left():
    first, second = transposition(3, 0, 1), transposition(3, 1, 2)
    assert [first[second[point]] for point in range(3)] == list(compose(first, second)) == [1, 2, 0]
    assert compose(second, first) == (2, 0, 1)


BAD = {
    "A shape or cycle type must be a Partition, got (3, 1): write for example Partition((3, 1)).": lambda: character((3, 1), (2, 1, 1)),
    "must be a Partition, got (2, 1, 1): write": lambda: character(Partition((3, 1)), (2, 1, 1)),
    "must be a Partition, got [2, 1]: write": lambda: class_size([2, 1]),
    "A class function is a dictionary from cycle types to values, got [1, 2].": lambda: decompose([1, 2]),
    "must be a Partition, got 'a': write": lambda: decompose({"a": 1}),
    "must be a Partition, got 5: write": lambda: decompose({Partition((1,)): 1, 5: 1}),
    "with its character table, 3.0e+03 rows and columns, which stops at n = 26: choose a smaller group.": lambda: decompose(
        {Partition((27,)): 1}
    ),
    "A permutation is a list of images, got 3: write for example (1, 2, 0).": lambda: cycle_type(3),
    "A permutation of 2 points lists each of 0 to 1 once, got (0, None).": lambda: cycle_type((0, None)),
    "[3,1] is an irrep of S_4, but [2,1] is a cycle type of S_3: make them equal.": lambda: character(Partition((3, 1)), Partition((2, 1))),
    "The character table of S_27 is too large (n is at most 26): use character() for single entries.": lambda: character_table(27),
    "n must be a whole number of at least 0, got -1.": lambda: character_table(-1),
    "A class function of S_2 has one value for each of its 2 cycle types, but [1,1] has none.": lambda: decompose({Partition((2,)): 1}),
    "A class function of S_2 has one value for each of its 2 cycle types, but [3] is not one of them.": lambda: decompose(
        {Partition((2,)): 1, Partition((1, 1)): 1, Partition((3,)): 1}
    ),
    "The value of a class function must be a whole number or a Fraction, got 0.5 at [1].": lambda: decompose({Partition((1,)): 0.5}),
    "A permutation of 3 points lists each of 0 to 2 once, got (0, 0, 1).": lambda: cycle_type((0, 0, 1)),
    "A permutation of 2 points lists each of 0 to 1 once, got (0, 1, 2).": lambda: compose((0, 1, 2), (1, 0)),
    "A transposition of 3 points exchanges two different ones of 0 to 2, got 1 and 1.": lambda: transposition(3, 1, 1),
    "A transposition of 3 points exchanges two different ones of 0 to 2, got 0 and 3.": lambda: transposition(3, 0, 3),
}


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()
