"""Sparse functions against enumeration: tables, balance, and whether samples have one explanation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from specht.errors import InputError
from specht.sequences import targets
from specht.studies.sparse.task import FUNCTIONS, Samples, SparseFunction, sparse_function

NAMED = {
    "and": targets.conjunction,
    "or": targets.disjunction,
    "majority": targets.majority,
    "parity": targets.parity,
}


@pytest.mark.parametrize("support", [1, 2, 3, 4])
@pytest.mark.parametrize("name", NAMED)
def test_values_are_those_of_the_targets(name, support):
    x = np.array(list(itertools.product([0, 1], repeat=5)))
    function = sparse_function(name, support)
    np.testing.assert_array_equal(2 * function.values(x) - 1, NAMED[name](support, 5)(x)[:, 0])
    np.testing.assert_array_equal(function.target(5)(x)[:, 0], 2 * function.values(x) - 1)
    assert function.is_symmetric


def test_tables_are_read_in_the_order_of_binary_numbers():
    implies = sparse_function("1101")
    assert implies.values(np.array([[0, 0], [0, 1], [1, 0], [1, 1]])).tolist() == [1, 1, 0, 1]
    assert not implies.is_symmetric


@pytest.mark.parametrize("name", ["and", "or", "majority", "parity", "threshold", "00010111", "0100", "01111110"])
def test_labels_are_balanced(name):
    function = sparse_function(name, 4, at_least=3) if name == "threshold" else sparse_function(name, 3)
    p = function.probability
    chances = [math.prod(p if bit else 1 - p for bit in bits) for bits in itertools.product([0, 1], repeat=function.support)]
    balance = sum(chance for chance, value in zip(chances, function.table, strict=True) if value)
    if name == "0100":  # x(1 - y) is at most 1/4
        assert p == 0.5
    else:
        assert balance == pytest.approx(0.5, abs=1e-9)
    assert sparse_function("and", 3).probability == pytest.approx(0.5 ** (1 / 3), abs=1e-9)


@pytest.mark.parametrize("name", ["and", "or", "majority", "parity", "0100", "1101"])
@pytest.mark.parametrize(("length", "n"), [(7, 5), (8, 9), (70, 3)])
def test_ambiguity_is_that_of_enumeration(name, length, n):
    function = sparse_function(name, 2) if name in FUNCTIONS else sparse_function(name)
    choose = itertools.combinations if function.is_symmetric else itertools.permutations
    rng, seen = np.random.default_rng(length * n), set()
    for _ in range(25):
        sample = function.draw(rng, n, length)
        explained = sum(
            (function.values(sample.x[:, list(places)]) == sample.y).all() for places in choose(range(length), function.support)
        )
        assert function.is_ambiguous(sample) == (explained > 1)
        seen.add(explained > 1)
    assert True in seen


def test_more_samples_than_a_word_of_the_machine():
    function = sparse_function("parity", 2)
    sample = function.draw(np.random.default_rng(0), 150, 9)
    assert function.is_ambiguous(sample) is False
    twice = Samples(np.concatenate([sample.x, sample.x[:, :1]], axis=1), sample.y)
    assert function.is_ambiguous(twice) is True


def test_identified_samples_and_those_that_cannot_be():
    function, rng = sparse_function("and", 3), np.random.default_rng(0)
    sample, identified = function.draw_identified(rng, 40, 60)
    assert identified
    assert sample.x.shape == (40, 60)
    np.testing.assert_array_equal(function.values(sample.x), sample.y)
    assert not function.draw_identified(rng, 2, 60)[1]
    assert sparse_function("parity", 4).is_ambiguous(function.draw(rng, 8, 300)) is None
    # Few choices, but each of a table of 1024 values.
    assert sparse_function("parity", 10).is_ambiguous(sparse_function("parity", 10).draw(rng, 40, 20)) is None
    assert sparse_function("parity", 3).is_ambiguous(sparse_function("parity", 3).draw(rng, 100, 100)) is False


def test_a_bit_that_does_nothing_is_refused():
    for table, words in (("0011", "does not depend on bit 2,"), ("01010101", "does not depend on bits 1, 2,")):
        with pytest.raises(InputError, match=words):
            sparse_function(table)
    assert sparse_function("0111").support == 2


BAD = {
    "unknown": (lambda: sparse_function("nand"), "Unknown function 'nand': did you mean 'and'?"),
    "table": (lambda: sparse_function("011"), "A table of a function of s bits has 2^s values, s from 1 to 10, got 3 values"),
    "constant": (lambda: sparse_function("1111"), "The function 'table 1111' is constant: there is nothing to learn."),
    "threshold": (lambda: sparse_function("threshold", 3), "threshold is one from a number of ones on, and that number is missing"),
    "too many": (lambda: sparse_function("and", 11), "support must be a whole number from 1 to 10, got 11."),
    "s > T": (lambda: sparse_function("and", 5).check_length(4), "and of 5 reads s = 5 bits, and there are T = 4"),
    "at least": (lambda: sparse_function("threshold", 3, at_least=4), "at_least must be a whole number from 1 to 3, got 4."),
    "one value": (lambda: SparseFunction("nothing", (True,)), "got 1 values"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_sentence(case):
    call, sentence = BAD[case]
    with pytest.raises(InputError) as error:
        call()
    assert sentence in str(error.value)
