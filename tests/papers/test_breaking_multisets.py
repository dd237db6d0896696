"""The least loss of predictors that see digits in no order, against lists of all orders and against sampled problems."""

from __future__ import annotations

import collections
import itertools
import math

import numpy as np
import pytest

from specht.errors import InputError
from specht.papers.breaking_symmetry.multisets import floor, laws, sum_digits


def orders(multiset, base):
    """How often each digit of the sum comes at each place, and each sum, over all orders of some digits."""
    half = len(multiset) // 2
    places = [collections.Counter() for _ in range(half + 1)]
    totals = collections.Counter()
    for order in itertools.permutations(multiset):
        total = sum(int("".join(map(str, part)), base) for part in (order[:half], order[half:]))
        totals[total] += 1
        for place, digit in enumerate(reversed(range(half + 1))):
            places[place][total // base**digit % base] += 1
    return places, totals


def by_hand(digits, base):
    """Losses and accuracies at each place and the share of right sums, multiset by multiset."""
    losses, accuracies, exact = np.zeros(digits + 1), np.zeros(digits + 1), 0.0
    for multiset in itertools.combinations_with_replacement(range(base), 2 * digits):
        repeats = math.prod(math.factorial(count) for count in collections.Counter(multiset).values())
        probability = math.factorial(2 * digits) / repeats / base ** (2 * digits)
        places, totals = orders(multiset, base)
        n = sum(totals.values())
        exact += probability * max(totals.values()) / n
        for place, counts in enumerate(places):
            losses[place] -= probability * sum(count / n * math.log(count / n) for count in counts.values())
            accuracies[place] += probability * max(counts.values()) / n
    return losses, accuracies, exact


@pytest.mark.parametrize(("digits", "base"), [(1, 10), (2, 4), (2, 10), (3, 3)])
def test_floor_is_that_of_all_orders(digits, base):
    losses, accuracies, exact = by_hand(digits, base)
    found = floor(digits, base)
    np.testing.assert_allclose(found.losses, losses, atol=1e-12)
    np.testing.assert_allclose(found.accuracies, accuracies, atol=1e-12)
    assert found.exact == pytest.approx(exact, abs=1e-12)


def test_three_digits_against_sampled_problems():
    """The loss of the law of each multiset, from its 720 orders, on 300 problems of three digits."""
    rng = np.random.default_rng(0)
    problems = rng.integers(10, size=(300, 6))
    rights = sum_digits(problems)
    losses = np.zeros(rights.shape)
    for row, (problem, right) in enumerate(zip(problems, rights, strict=True)):
        every = np.array(list(itertools.permutations(problem)))
        losses[row] = -np.log((sum_digits(every) == right).mean(axis=0))
    found = floor(3)
    stderr = losses.std(axis=0, ddof=1) / np.sqrt(len(losses))
    assert (np.abs(losses.mean(axis=0) - found.losses) < 4.0 * stderr).all()
    assert found.losses.min() > 10.0 * stderr.min()  # the comparison tells something


def test_laws_are_laws():
    known = laws(3)
    assert len(known.multisets) == math.comb(15, 6)
    np.testing.assert_allclose(known.probability.sum(), 1.0, atol=1e-12)
    np.testing.assert_allclose(known.digits.sum(axis=2), 1.0, atol=1e-12)
    assert (np.diff(known.multisets, axis=1) >= 0).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"digits": 0}, "digits must be a whole number of at least 1"),
        ({"digits": 4}, "more than 4000000: take fewer digits"),
    ],
)
def test_bad_input_is_told(arguments, words):
    with pytest.raises(InputError, match=words):
        floor(**arguments)
