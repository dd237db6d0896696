"""Partitions: a notation that round-trips, dimensions against counting, few boxes below a very long row at no cost."""

from __future__ import annotations

import functools
import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from specht.errors import InputError
from specht.groups.partition import Partition, count_partitions, partitions

shapes = st.lists(st.integers(1, 10**6), max_size=8).map(lambda parts: Partition(tuple(sorted(parts, reverse=True))))
small_shapes = st.lists(st.integers(1, 8), max_size=8).map(lambda parts: Partition(tuple(sorted(parts, reverse=True))))


@given(shapes)
def test_notation_round_trips(shape):
    assert Partition.parse(str(shape)) == shape
    assert Partition.parse(f" {str(shape).replace(',', ' , ')} ") == shape


def test_parts_of_numpy_and_of_lists_become_plain_integers():
    shape = Partition(np.array([3, 1]))
    assert shape == Partition((3, 1))
    assert [type(part) for part in shape.parts] == [int, int]


def number_of_partitions(n: int) -> int:
    """p(n), counting by the largest part that is allowed."""
    ways = [1] + [0] * n
    for part in range(1, n + 1):
        for total in range(part, n + 1):
            ways[total] += ways[total - part]
    return ways[n]


@pytest.mark.parametrize("n", range(26))
def test_all_partitions_in_reverse_lexicographic_order(n):
    found = list(partitions(n))
    assert len(found) == number_of_partitions(n)
    assert all(before > after for before, after in itertools.pairwise(found))
    assert all(shape.n == n for shape in found)


@pytest.mark.parametrize("n", range(11))
@pytest.mark.parametrize("max_rows", [None, 1, 2, 3, 20])
@pytest.mark.parametrize("max_level", [None, 0, 1, 4, 20])
def test_bounds_select_from_all_partitions(n, max_rows, max_level):
    expected = [
        shape
        for shape in partitions(n)
        if (max_rows is None or len(shape.parts) <= max_rows) and (max_level is None or shape.level <= max_level)
    ]
    assert list(partitions(n, max_rows=max_rows, max_level=max_level)) == expected


def test_few_boxes_below_a_million():
    n = 10**6
    found = list(partitions(n, max_rows=3, max_level=4))
    tails = [(), (1,), (2,), (1, 1), (3,), (2, 1), (4,), (3, 1), (2, 2)]
    assert [shape.parts for shape in found] == [(n - sum(tail), *tail) for tail in tails]
    assert [shape.tail.parts for shape in found] == tails
    assert [shape.level for shape in found] == [sum(tail) for tail in tails]


@functools.cache
def count_standard(parts: tuple[int, ...]) -> int:
    """Standard tableaux, counted by where the largest entry can stand."""
    if sum(parts) == 0:
        return 1
    below = (*parts[1:], 0)
    corners = [row for row, part in enumerate(parts) if part > below[row]]
    return sum(count_standard((*parts[:row], parts[row] - 1, *parts[row + 1 :])) for row in corners)


@pytest.mark.parametrize("n", range(15))
def test_dimension_counts_standard_tableaux(n):
    assert all(shape.dimension == count_standard(shape.parts) for shape in partitions(n))
    assert sum(shape.dimension**2 for shape in partitions(n)) == math.factorial(n)


@pytest.mark.parametrize("n", [10, 1000, 10**6, 10**12])
def test_dimension_of_long_rows_in_closed_form(n):
    assert Partition((n,)).dimension == 1
    for m in range(1, 6):
        assert Partition((n - m, m)).dimension == math.comb(n, m) - math.comb(n, m - 1)
        assert Partition((n - m, *[1] * m)).dimension == math.comb(n - 1, m)
    assert Partition((n - 3, 2, 1)).dimension == n * (n - 2) * (n - 4) // 3


@given(small_shapes)
def test_hooks_count_boxes_to_the_right_and_below(shape):
    boxes = {(row, column) for row, part in enumerate(shape.parts) for column in range(part)}
    for row, hooks in enumerate(shape.hook_lengths()):
        for column, hook in enumerate(hooks):
            arm = sum((row, other) in boxes for other in range(column + 1, 100))
            leg = sum((other, column) in boxes for other in range(row + 1, 100))
            assert hook == arm + leg + 1
    if shape.parts:
        overhang = shape.parts[0] - (*shape.parts, 0)[1]
        assert shape.tall_hook_product() * math.factorial(overhang) == math.prod(itertools.chain(*shape.hook_lengths()))


@given(small_shapes)
def test_conjugate_exchanges_rows_and_columns(shape):
    boxes = {(row, column) for row, part in enumerate(shape.parts) for column in range(part)}
    mirrored = {(row, column) for row, part in enumerate(shape.conjugate.parts) for column in range(part)}
    assert mirrored == {(column, row) for row, column in boxes}
    assert shape.conjugate.conjugate == shape
    assert shape.conjugate.dimension == shape.dimension


@pytest.mark.parametrize("n", range(9))
def test_dominance_is_a_partial_order_that_conjugation_turns_round(n):
    every = list(partitions(n))
    for one, other in itertools.product(every, every):
        longest = max(len(one.parts), len(other.parts))
        expected = all(sum(one.parts[:k]) >= sum(other.parts[:k]) for k in range(longest + 1))
        assert one.dominates(other) == expected
        assert one.dominates(other) == other.conjugate.dominates(one.conjugate)
        assert not one.dominates(other) or one >= other


@pytest.mark.parametrize("n", range(13))
def test_shapes_are_counted_without_listing_them(n):
    for max_rows in (None, 1, 2, 3, 7, 20):
        for max_level in (None, *range(n + 2)):
            listed = len(list(partitions(n, max_rows, max_level)))
            counted = count_partitions(n, max_rows, max_level)
            assert counted == listed if max_level is None or max_level <= n / 2 or max_level >= n else counted >= listed


def test_very_many_shapes_are_counted_at_once():
    assert count_partitions(10**20, max_rows=5, max_level=4) == 12
    assert count_partitions(10**20) > 10**12
    assert count_partitions(10**20, max_rows=2) > 10**5
    assert count_partitions(10**20, max_rows=1) == 1


BAD = {
    "A partition is written as row lengths in brackets, such as [3,1], got 3.": lambda: Partition.parse(3),
    "A shape or cycle type must be a Partition, got (2, 2): write": lambda: Partition((3, 1)).dominates((2, 2)),
    "n must be a whole number of at least 0, got -3.": lambda: count_partitions(-3),
    "The parts of a partition must be positive and stand longest first, got (1, 3): write Partition((3, 1)).": lambda: Partition((1, 3)),
    "The parts of a partition must be positive and stand longest first, got (2, 0): write Partition((3, 1)).": lambda: Partition((2, 0)),
    "The parts of a partition must be whole numbers, got (2.5, 1): write Partition((3, 1)).": lambda: Partition((2.5, 1)),
    "The parts of a partition must be whole numbers, got '[3,1]': write": lambda: Partition("[3,1]"),
    "The parts of a partition must be whole numbers, got 4: write": lambda: Partition(4),
    "A partition is written as row lengths in brackets, such as [3,1], got '3,1'.": lambda: Partition.parse("3,1"),
    "A partition is written as row lengths in brackets, such as [3,1], got '[3,]'.": lambda: Partition.parse("[3,]"),
    "must be positive and stand longest first, got (1, 2)": lambda: Partition.parse("[1,2]"),
    "n must be a whole number of at least 0, got -1.": lambda: partitions(-1),
    "n must be a whole number of at least 0, got 2.0.": lambda: partitions(2.0),
    "n must be a whole number of at least 0, got True.": lambda: partitions(True),
    "max_rows must be a whole number of at least 1, got 0.": lambda: partitions(3, max_rows=0),
    "max_level must be a whole number of at least 0, got -2.": lambda: partitions(3, max_level=-2),
    "Dominance compares partitions of one number, got [3] of 3 and [2,2] of 4.": lambda: Partition((3,)).dominates(Partition((2, 2))),
}


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()
