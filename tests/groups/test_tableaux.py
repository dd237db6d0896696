"""Tableaux: enumeration against all fillings, counts against enumeration, Kostka numbers against characters of permutation modules."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from specht.errors import InputError
from specht.groups.characters import decompose
from specht.groups.partition import Partition, partitions
from specht.groups.tableaux import (
    count_semistandard,
    inner_shapes,
    kostka_number,
    lattice_words,
    standard_tableaux,
)

SMALL = [shape for n in range(6) for shape in partitions(n)]


def all_fillings(shape: Partition, entries):
    """Every way to write the words of `entries` into a shape, row by row."""
    ends = list(itertools.accumulate(shape.parts, initial=0))
    for word in entries:
        yield tuple(word[start:end] for start, end in itertools.pairwise(ends))


def is_semistandard(tableau) -> bool:
    rows = all(left <= right for row in tableau for left, right in itertools.pairwise(row))
    return rows and all(above < below for upper, lower in itertools.pairwise(tableau) for above, below in zip(upper, lower, strict=False))


def content_of(tableau, vocab: int) -> tuple[int, ...]:
    counts = Counter(itertools.chain(*tableau))
    return tuple(counts[symbol] for symbol in range(vocab))


def semistandard_tableaux(parts: tuple[int, ...], vocab: int):
    """Semistandard tableaux listed strip by strip: what Kostka numbers count."""
    if not parts:
        yield ()
        return
    for symbol in range(len(parts) - 1, vocab):
        for size in reversed(range(sum(parts))):
            for inner in inner_shapes(Partition(parts), size):
                for tableau in semistandard_tableaux(inner.parts, symbol):
                    yield completed(tableau, parts, symbol)


def tableaux_with_content(parts: tuple[int, ...], content: tuple[int, ...]):
    """Those that hold every symbol as often as the content says."""
    if not parts:
        yield ()
        return
    symbol = max(symbol for symbol, count in enumerate(content) if count)
    for inner in inner_shapes(Partition(parts), sum(parts) - content[symbol]):
        if kostka_number(inner, content[:symbol]):
            for tableau in tableaux_with_content(inner.parts, content[:symbol]):
                yield completed(tableau, parts, symbol)


def completed(tableau, parts: tuple[int, ...], symbol: int):
    """The tableau with `symbol` written into the boxes that it lacks."""
    rows = (*tableau, ())  # a strip adds one row at most
    return tuple(row + (symbol,) * (part - len(row)) for row, part in zip(rows, parts, strict=False))


@pytest.mark.parametrize("shape", SMALL, ids=str)
def test_standard_tableaux_are_all_increasing_fillings(shape):
    fillings = all_fillings(shape, itertools.permutations(range(shape.n)))
    found = list(standard_tableaux(shape))
    assert set(found) == {filling for filling in fillings if is_semistandard(filling)}
    assert len(found) == len(set(found)) == shape.dimension


@pytest.mark.parametrize("n", [8, 9])
def test_words_of_larger_shapes_are_as_many_as_the_dimension(n):
    for shape in partitions(n):
        words = list(lattice_words(shape))
        assert len(set(words)) == len(words) == shape.dimension
        assert all(Counter(word) == dict(enumerate(shape.parts)) for word in words)


def test_a_long_row_does_not_exhaust_the_stack():
    assert sum(1 for _ in lattice_words(Partition((1001, 1)))) == 1001


@pytest.mark.parametrize("shape", SMALL, ids=str)
@pytest.mark.parametrize("vocab", [0, 1, 2, 3])
def test_semistandard_tableaux_are_all_weakly_increasing_fillings(shape, vocab):
    fillings = all_fillings(shape, itertools.product(range(vocab), repeat=shape.n))
    expected = {filling for filling in fillings if is_semistandard(filling)}
    found = list(semistandard_tableaux(shape.parts, vocab))
    assert set(found) == expected
    assert len(found) == len(expected) == count_semistandard(shape, vocab)
    by_content = Counter(content_of(tableau, vocab) for tableau in expected)
    for content in itertools.product(range(shape.n + 1), repeat=vocab):
        if sum(content) == shape.n:
            chosen = list(tableaux_with_content(shape.parts, content))
            assert set(chosen) == {tableau for tableau in expected if content_of(tableau, vocab) == content}
            assert len(chosen) == by_content[content] == kostka_number(shape, content)


def test_many_symbols_do_not_exhaust_the_stack():
    assert sum(1 for _ in semistandard_tableaux((1,), vocab=5000)) == 5000


@pytest.mark.parametrize("length", [7, 1000, 10**6])
def test_counts_on_long_rows_in_closed_form(length):
    for m in range(4):
        two = tuple(part for part in (length - m, m) if part)
        assert count_semistandard(Partition(two), 2) == length - 2 * m + 1
    for second, third in ((0, 0), (1, 0), (1, 1), (2, 1)):
        first = length - second - third
        shape = Partition(tuple(part for part in (first, second, third) if part))
        assert count_semistandard(shape, 3) == (first - second + 1) * (second - third + 1) * (first - third + 2) // 2
    assert count_semistandard(Partition((length - 1, 1)), 1) == 0


@pytest.mark.parametrize(("vocab", "length"), [(1, 5), (2, 12), (3, 9), (5, 6), (50, 4)])
def test_counts_times_dimensions_fill_the_space_of_sequences(vocab, length):
    assert sum(count_semistandard(shape, vocab) * shape.dimension for shape in partitions(length)) == vocab**length


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_kostka_numbers_do_not_depend_on_the_order_of_symbols(content, random):
    shuffled = random.sample(content, len(content))
    for shape in partitions(sum(content)):
        assert kostka_number(shape, content) == kostka_number(shape, shuffled)


@pytest.mark.parametrize("content", list(partitions(7)), ids=str)
def test_kostka_numbers_are_multiplicities_in_permutation_modules(content):
    found = {shape: kostka_number(shape, content.parts) for shape in partitions(7)}
    assert {shape: number for shape, number in found.items() if number} == decompose(fixed_sequences(content))
    assert all((number > 0) == shape.dominates(content) for shape, number in found.items())


def fixed_sequences(content: Partition) -> dict[Partition, int]:
    """For each cycle type, the sequences with these counts that are constant on every cycle."""
    return {cycles: shares(cycles.parts, content.parts) for cycles in partitions(content.n)}


def shares(cycles: tuple[int, ...], room: tuple[int, ...]) -> int:
    if not cycles:
        return 1
    first, *rest = cycles
    return sum(shares(tuple(rest), (*room[:v], room[v] - first, *room[v + 1 :])) for v in range(len(room)) if room[v] >= first)


@pytest.mark.parametrize("shape", [Partition((6, 4)), Partition((5, 3, 2)), Partition((4, 3, 2, 1)), Partition((2, 2, 2, 2, 2))], ids=str)
@pytest.mark.parametrize("content", [(4, 3, 3), (3, 3, 2, 2), (2, 2, 2, 2, 2), (5, 1, 1, 1, 1, 1), (0, 2, 0, 6, 2)], ids=str)
def test_kostka_numbers_of_larger_shapes_count_tableaux(shape, content):
    assert kostka_number(shape, content) == sum(1 for _ in tableaux_with_content(shape.parts, content))


def test_kostka_numbers_of_distinct_symbols_are_dimensions():
    for shape in partitions(9):
        assert kostka_number(shape, [1] * 9) == shape.dimension


@pytest.mark.parametrize("length", [12, 10**5])
def test_kostka_numbers_of_long_rows_in_closed_form(length):
    for m in range(1, 5):
        shape = Partition((length - m, m))
        assert [kostka_number(shape, (length - d, d)) for d in range(6)] == [int(d >= m) for d in range(6)]
        for j in (1, 3, 5):  # tableaux of the skew shape that is left when j boxes of the first row are cut off
            skew = math.comb(length - j, m) - (math.comb(length - j, m - 1 - j) if m > j else 0)
            assert kostka_number(shape, [j] + [1] * (length - j)) == skew


@pytest.mark.parametrize("shape", SMALL, ids=str)
def test_inner_shapes_leave_no_two_boxes_in_one_column(shape):
    for size in range(shape.n + 2):
        expected = [inner for inner in partitions(size) if leaves_a_horizontal_strip(shape, inner)]
        assert sorted(inner_shapes(shape, size), reverse=True) == expected


def leaves_a_horizontal_strip(shape: Partition, inner: Partition) -> bool:
    heights, inner_heights = shape.conjugate.parts, inner.conjugate.parts
    pairs = list(itertools.zip_longest(heights, inner_heights, fillvalue=0))
    return all(0 <= height - inner_height <= 1 for height, inner_height in pairs)


@pytest.mark.parametrize("vocab", range(1, 7))
def test_two_formulas_count_semistandard_tableaux(vocab):
    """Weyl's formula, which takes over where symbols are few, against the boxes one by one."""
    for n in range(16):
        for shape in partitions(n):
            boxes = [(row, column) for row, part in enumerate(shape.parts) for column in range(part)]
            hooks = math.prod(itertools.chain.from_iterable(shape.hook_lengths()))
            assert count_semistandard(shape, vocab) == math.prod(vocab + column - row for row, column in boxes) // hooks


BAD = {
    "content adds up to 4, but the shape [2,1] has 3 boxes: make them equal.": lambda: kostka_number(Partition((2, 1)), (3, 1)),
    "each number of content must be a whole number of at least 0, got -1.": lambda: kostka_number(Partition((2, 1)), (4, -1)),
    "vocab must be a whole number of at least 0, got -1.": lambda: count_semistandard(Partition((2, 1)), -1),
    "vocab must be a whole number of at least 0, got 1.5.": lambda: count_semistandard(Partition((2, 1)), 1.5),
    "size must be a whole number of at least 0, got -1.": lambda: inner_shapes(Partition((2, 1)), -1),
}


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()
