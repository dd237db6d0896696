"""Probabilities of hidden Markov models where products of probabilities are too small for a float."""

from __future__ import annotations

import numpy as np
import pytest
from named_sources import random_hmm

from specht.sequences import sources


def test_a_path_that_falls_far_behind_can_still_win():
    # State 0 loses a factor of about 1e-9 a token against state 1, then token 2 shows that it was state 0 all the time.
    stay = 1 - 1e-9
    emission = [[1e-9, 0, 1 - 1e-9], [1 - 1e-9, 1e-9, 0]]
    source = sources.hmm([0.5, 0.5], [[stay, 1e-9], [0, 1]], emission)
    assert not source.is_exchangeable
    x = np.zeros((1, 101), dtype=int)
    x[0, -1] = 2
    expected = np.log(0.5) + 100 * np.log(1e-9) + 100 * np.log(stay) + np.log(1 - 1e-9)
    np.testing.assert_allclose(source.log_probability(x), [expected], rtol=1e-13)


def test_tiny_transitions_do_not_underflow():
    source = sources.hmm([1, 0], [[1, 1e-200], [0, 1]], [[0.5, 0.5, 0], [0, 0.25, 0.75]])
    x = [[0, 2, 2], [0, 0, 2]]
    expected = np.log([0.5 * 1e-200 * 0.75 * 0.75, 0.5 * 0.5 * 1e-200 * 0.75])
    np.testing.assert_allclose(source.log_probability(x), expected, rtol=1e-14)
    twice = sources.hmm([1, 0, 0], [[1, 1e-200, 0], [0, 1, 1e-200], [0, 0, 1]], [[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]])
    np.testing.assert_allclose(twice.log_probability([[0, 1, 2]]), [2 * np.log(1e-200) + np.log(0.25)], rtol=1e-14)


def test_matrix_product_and_term_by_term_sums_agree(monkeypatch):
    source = random_hmm(3, vocab=4, hidden=5)
    x = source.sample(seed=0, n=20, length=50)
    usual = source.log_probability(x)
    monkeypatch.setattr("specht.sequences.hmm._SMALLEST_EXPONENT", 0.0)
    np.testing.assert_allclose(source.log_probability(x), usual, rtol=1e-13)


def test_a_chain_that_is_seen_has_the_probability_of_its_one_path():
    chain = sources.markov([0.2, 0.3, 0.5], [[0.1, 0.9, 0], [0.3, 0.3, 0.4], [0, 0.5, 0.5]])
    relabelled = sources.hmm(chain.initial, chain.transition, np.eye(3)[[1, 2, 0]])  # takes the forward algorithm
    x = chain.sample(seed=0, n=20, length=30)
    np.testing.assert_allclose(relabelled.log_probability((x + 1) % 3), chain.log_probability(x), rtol=1e-13)
    impossible = chain.log_probability([[0, 2, 1]])
    assert np.isneginf(impossible).all()


def test_a_mixture_remembers_components_that_fall_far_behind():
    fair, loaded = sources.hmm([1], [[1]], [[0.5, 0.5]]), sources.hmm([1], [[1]], [[1, 0]])
    source = sources.mixture_of_hmms([0.5, 0.5], [fair, loaded])
    x = np.zeros((1, 2000), dtype=int)
    x[0, -1] = 1
    np.testing.assert_allclose(source.log_probability(x), [2001 * np.log(0.5)], rtol=1e-15)


@pytest.mark.parametrize("columns", [1, 3])
def test_mixture_as_one_chain_has_the_same_law(columns):
    source = sources.generic_mixture(vocab=3, hidden=3)
    x, p = source.enumerate(columns)
    np.testing.assert_allclose(np.exp(source.one_chain.log_probability(x)), p, rtol=1e-12)
    np.testing.assert_allclose(np.exp(source.log_probability(x)), p, rtol=1e-12)


def test_sequences_of_a_mixture_come_from_its_components_at_their_weights():
    apart = [sources.hmm([1], [[1]], [row]) for row in np.eye(3)]
    weights = np.array([0.2, 0.3, 0.5])
    n = 10_000
    x = sources.mixture_of_hmms(weights, apart).sample(seed=0, n=n, length=3)
    assert (x == x[:, :1]).all()
    found = np.bincount(x[:, 0]) / n
    assert np.all(np.abs(found - weights) < 5 * np.sqrt(weights * (1 - weights) / n))
