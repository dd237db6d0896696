"""Spaces of functions: the multilinear theorem by projectors, Schur-Weyl duality by counting, degrees by Kostka numbers."""

from __future__ import annotations

import functools
import itertools
import math
import re

import numpy as np
import pytest

from specht.errors import InputError
from specht.groups.characters import decompose
from specht.groups.decompositions import Decomposition, functions_of_degree, functions_on_sequences, multilinear, permutation_module
from specht.groups.irreps import isotypic_projectors
from specht.groups.partition import Partition, partitions
from specht.groups.tableaux import kostka_number

DEGREES = [(length, degree) for length in range(11) for degree in range(length + 1)]


def on_monomials(length: int, degree: int):
    """The action on products of `degree` different variables out of `length`, by the sets of their indices."""
    subsets = np.array(list(itertools.combinations(range(length), degree)), dtype=int).reshape(math.comb(length, degree), degree)
    masks = (1 << subsets).sum(axis=1, dtype=int)
    index = np.empty(2**length, dtype=int)
    index[masks] = np.arange(len(masks))

    def action(permutation):
        return index[(1 << np.array(permutation, dtype=int)[subsets]).sum(axis=1, dtype=int)]

    return action


@pytest.mark.parametrize(("length", "degree"), [case for case in DEGREES if case[0] > 0])
def test_multilinear_theorem_by_projectors(length, degree):
    projectors = isotypic_projectors(length, on_monomials(length, degree))
    ranks = {shape: np.linalg.matrix_rank(projector, tol=1e-6) for shape, projector in projectors.items()}
    assert ranks == {shape: shape.dimension for shape in multilinear(length, degree)}
    assert sum(ranks.values()) == math.comb(length, degree)


@pytest.mark.parametrize(("length", "degree"), DEGREES)
def test_multilinear_theorem_by_characters_and_by_kostka_numbers(length, degree):
    found = multilinear(length, degree)
    assert len(found) == min(degree + 1, length - degree + 1)
    assert list(found) == sorted(found, reverse=True)
    assert found == permutation_module((length - degree, degree))
    assert found == decompose({cycles: fixed_sequences(cycles, (length - degree, degree)) for cycles in partitions(length)})


def fixed_sequences(cycles: Partition, content: tuple[int, ...]) -> int:
    """Sequences with these counts that are constant on every cycle: a coefficient of the product of power sums."""
    return sum(
        1
        for symbols in itertools.product(range(len(content)), repeat=len(cycles.parts))
        if all(sum(length for length, s in zip(cycles.parts, symbols, strict=True) if s == v) == content[v] for v in range(len(content)))
    )


@functools.cache
def fixed_words(vocab: int, cycles: Partition) -> int:
    """Sequences that a permutation with these cycles maps to themselves, counted one by one."""
    ends = list(itertools.accumulate(cycles.parts, initial=0))
    images = [end - 1 if position == start else position - 1 for start, end in itertools.pairwise(ends) for position in range(start, end)]
    return sum(word == tuple(word[image] for image in images) for word in itertools.product(range(vocab), repeat=cycles.n))


@pytest.mark.parametrize(("vocab", "length"), [(1, 4), (2, 1), (2, 5), (2, 8), (3, 5), (3, 6), (4, 4), (5, 3)])
def test_functions_on_sequences_by_counting_fixed_sequences(vocab, length):
    found = functions_on_sequences(vocab, length)
    assert found == decompose({cycles: fixed_words(vocab, cycles) for cycles in partitions(length)})
    assert found.dimension == vocab**length


def test_low_levels_of_long_sequences():
    length = 10**6
    found = functions_on_sequences(3, length, max_level=2)
    assert [str(shape.tail) for shape in found] == ["[]", "[1]", "[2]", "[1,1]"]
    assert found == {shape: multiplicity for shape, multiplicity in found.items() if shape.level <= 2}
    assert found[Partition((length,))] == math.comb(length + 2, 2)
    assert found[Partition((length - 2, 1, 1))] == math.comb(length - 1, 2)


@pytest.mark.parametrize("max_level", range(6))
def test_levels_cut_a_decomposition_off(max_level):
    full = functions_on_sequences(3, 6)
    assert functions_on_sequences(3, 6, max_level) == {shape: count for shape, count in full.items() if shape.level <= max_level}


@pytest.mark.parametrize("vocab", [2, 3, 5, 50])
@pytest.mark.parametrize("length", [4, 16, 10**6])
def test_first_and_second_degree_in_closed_form(vocab, length):
    row, standard = Partition((length,)), Partition((length - 1, 1))
    assert functions_of_degree(vocab, length, 1) == {row: vocab - 1, standard: vocab - 1}
    assert functions_of_degree(vocab, length, 2) == Decomposition(
        {
            row: vocab * (vocab - 1) // 2,
            standard: (vocab - 1) ** 2,
            Partition((length - 2, 2)): vocab * (vocab - 1) // 2,
            Partition((length - 2, 1, 1)): (vocab - 1) * (vocab - 2) // 2,
        }
    )


@pytest.mark.parametrize(("vocab", "length"), [(1, 3), (2, 6), (3, 5), (4, 4)])
def test_degrees_are_sums_of_permutation_modules_and_add_up_to_all_functions(vocab, length):
    together: dict[Partition, int] = dict.fromkeys(partitions(length, max_rows=vocab), 0)
    for degree in range(length + 1):
        found = functions_of_degree(vocab, length, degree)
        assert found.dimension == math.comb(length, degree) * (vocab - 1) ** degree
        for shape in together:
            compositions = (d for d in itertools.product(range(degree + 1), repeat=vocab - 1) if sum(d) == degree)
            assert found.get(shape, 0) == sum(kostka_number(shape, (length - degree, *d)) for d in compositions)
            together[shape] += found.get(shape, 0)
    assert functions_on_sequences(vocab, length) == together


def test_two_tokens_make_the_degrees_multilinear():
    for length, degree in DEGREES:
        assert functions_of_degree(2, length, degree) == multilinear(length, degree)


@pytest.mark.parametrize("content", [(), (0, 0), (3,), (2, 2), (1, 1, 1), (0, 3, 2), (1, 2, 2)], ids=str)
def test_permutation_modules_have_as_many_dimensions_as_sequences(content):
    sequences = math.factorial(sum(content)) // math.prod(map(math.factorial, content))
    found = permutation_module(content)
    assert found.dimension == sequences
    assert found == decompose({cycles: fixed_sequences(cycles, content) for cycles in partitions(sum(content))})


def test_a_decomposition_prints_as_a_sum_without_zeros():
    shapes = Partition((3,)), Partition((2, 1)), Partition((1, 1, 1))
    assert str(Decomposition(dict(zip(shapes, (2, 1, 0), strict=True)))) == "2 [3] + [2,1]"
    assert str(Decomposition({})) == "0"
    assert Decomposition({shapes[1]: 0}) == {}


@pytest.mark.parametrize("content", [(4, 3, 2, 1), (2, 2, 2, 2, 1), (1,) * 8, (6, 0, 3), (10**6, 2, 1)], ids=str)
def test_multiplicities_in_permutation_modules_are_kostka_numbers(content):
    found, length = permutation_module(content), sum(content)
    shapes = partitions(length, max_rows=len(content), max_level=length - max(content))
    assert list(found.items()) == [(shape, count) for shape in shapes if (count := kostka_number(shape, content))]


BAD = {
    "Functions on sequences of 6 tokens at length 200 have about 4.8e+06 irreps, more than the 2e+05": lambda: functions_on_sequences(
        6, 200
    ),
    "listed in seconds: give a smaller max_level.": lambda: functions_on_sequences(50, 10**9),
    "Functions of exactly 40 tokens out of 10 take about 2.1e+07 horizontal strips to count": lambda: functions_of_degree(10, 100, 40),
    "Functions of exactly 100 tokens out of 1000000000 take about": lambda: functions_of_degree(10**9, 10**9, 100),
    "Functions on arrangements of 20 symbols in 60 places have about": lambda: permutation_module((3,) * 20),
    "use kostka_number for single ones.": lambda: permutation_module((3,) * 20),
    "content must be a list of whole numbers, got 5.": lambda: permutation_module(5),
    "A product of 5 different positions needs a sequence at least as long, got length 4.": lambda: multilinear(4, 5),
    "A product of 9 different positions needs a sequence at least as long, got length 4.": lambda: functions_of_degree(2, 4, 9),
    "degree must be a whole number of at least 0, got -1.": lambda: multilinear(4, -1),
    "length must be a whole number of at least 0, got 2.5.": lambda: functions_on_sequences(2, 2.5),
    "vocab must be a whole number of at least 1, got 0.": lambda: functions_on_sequences(0, 4),
    "max_level must be a whole number of at least 0, got -1.": lambda: functions_on_sequences(2, 4, -1),
    "each number of content must be a whole number of at least 0, got -2.": lambda: permutation_module((4, -2)),
    "An irrep cannot occur a negative number of times, got -1 for [2,1].": lambda: Decomposition({Partition((2, 1)): -1}),
}


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()
