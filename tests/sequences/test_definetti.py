"""Which sources are exchangeable, decided from their parameters, and the mixture of independent tokens that each of them is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from named_sources import DISGUISED, EXCHANGEABLE, MIXTURES, ORDERED, posterior_start, random_hmm

from specht.errors import InputError
from specht.sequences import sources


@pytest.mark.parametrize("name", MIXTURES)
def test_exchangeable_source_keeps_its_law_in_de_finettis_form(name):
    source = MIXTURES[name]
    _, p = source.enumerate(5)
    _, of_mixture = source.mixture.enumerate(5)
    np.testing.assert_allclose(of_mixture, p, atol=1e-15)


@pytest.mark.parametrize("name", EXCHANGEABLE)
def test_exchangeable_law_is_the_same_in_any_order(name):
    source = EXCHANGEABLE[name]
    assert source.is_exchangeable
    law = source.enumerate(4)[1].reshape((source.vocab,) * 4)
    for order in itertools.permutations(range(4)):
        np.testing.assert_allclose(law.transpose(order), law, atol=1e-15)


@pytest.mark.parametrize("name", ORDERED)
def test_source_whose_order_matters_is_not_exchangeable(name):
    source = ORDERED[name]
    assert not source.is_exchangeable
    law = source.enumerate(4)[1].reshape((source.vocab,) * 4)
    differences = [np.abs(law.transpose(order) - law).max() for order in itertools.permutations(range(4))]
    assert max(differences) > 1e-4


EXPECTED_COMPONENTS = {
    "memoryless chain": 1,
    "static chain": 3,
    "chain with a memoryless and a static class": 2,
    "single state": 1,
    "states that emit alike": 1,
    "bad states never reached": 2,
    "default mixture, memoryless": 4,
    "default mixture, static": 8,
}


@pytest.mark.parametrize("name", EXPECTED_COMPONENTS)
def test_number_of_components(name):
    assert len(MIXTURES[name].mixture.weights) == EXPECTED_COMPONENTS[name]


def test_what_structure_gives_is_exact():
    memoryless = sources.markov([0.2, 0.3, 0.5], np.tile([0.2, 0.3, 0.5], (3, 1))).mixture
    np.testing.assert_array_equal(memoryless.weights, [1])
    np.testing.assert_allclose(memoryless.probabilities, [[0.2, 0.3, 0.5]], rtol=1e-15)
    static = sources.hmm([0.4, 0.6], np.eye(2), [[1, 0, 0], [0, 0.5, 0.5]])
    np.testing.assert_array_equal(static.mixture.probabilities == 0, [[False, True, True], [True, False, False]])
    assert np.isneginf(static.log_probability([[0, 1]])).all()


@pytest.mark.parametrize("name", DISGUISED)
def test_mixture_in_disguise_is_recognised_but_not_read_off(name):
    assert DISGUISED[name].is_exchangeable
    with pytest.raises(
        InputError, match="this source is exchangeable, but the mixture of independent tokens that it is cannot be read off"
    ):
        _ = DISGUISED[name].mixture


@pytest.mark.parametrize("distance", [1e-1, 1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("components", [2, 8])
def test_mixture_in_disguise_is_recognised_however_close_its_components(distance, components):
    theta = 0.5 + distance * np.linspace(-1, 1, components)
    assert posterior_start(np.full(components, 1 / components), np.stack([theta, 1 - theta], axis=1)).is_exchangeable


def test_order_that_matters_only_late_is_found():
    # Independent fair tokens until state 2 is reached, which takes two steps; from there on tokens alternate.
    fair = [0.5, 0.5]
    transition = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    source = sources.hmm([1, 0, 0, 0], transition, [fair, fair, [1, 0], [0, 1]])
    np.testing.assert_allclose(source.enumerate(2)[1], 0.25)
    assert not source.is_exchangeable


@pytest.mark.parametrize("epsilon", [1e-3, 1e-6, 1e-9])
def test_a_small_degree_of_order_is_noticed(epsilon):
    assert not sources.graded_mixture(epsilon).is_exchangeable


@st.composite
def exchangeable_sources(draw) -> sources.Source:
    seed, vocab, hidden = draw(st.integers(0, 10**6)), draw(st.integers(2, 4)), draw(st.integers(1, 3))
    kind = draw(st.sampled_from(["memoryless", "static", "mixture", "posterior"]))
    if kind in ("memoryless", "static"):
        return sources.default_mixture(vocab, hidden, draw(st.integers(1, 3)), seed, chain=kind)
    rng = np.random.default_rng(seed)
    weights, theta = rng.dirichlet(np.full(hidden, 2.0)), rng.dirichlet(np.ones(vocab), size=hidden)
    return sources.exchangeable(weights, theta) if kind == "mixture" else posterior_start(weights, theta)


@given(exchangeable_sources(), st.integers(0, 10**6), st.integers(2, 40))
def test_probability_does_not_depend_on_the_order(source, seed, columns):
    assert source.is_exchangeable
    rng = np.random.default_rng(seed)
    x = source.draw(rng, 5, columns)
    moved = rng.permuted(x, axis=1)
    log_p = source.log_probability(x)
    np.testing.assert_allclose(source.log_probability(moved), log_p, rtol=1e-12)


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(2, 4))
def test_random_chains_are_not_exchangeable(seed, vocab, hidden):
    assert not random_hmm(seed, vocab, hidden).is_exchangeable
