"""The ready mixtures, and the ways to change one between training and test."""

from __future__ import annotations

import re

import numpy as np
import pytest

from specht.errors import InputError
from specht.sequences import sources


def test_default_mixture_is_the_one_of_the_theory():
    source = sources.default_mixture()
    assert (source.vocab, len(source.components)) == (4, 4)
    np.testing.assert_array_equal(source.weights, np.full(4, 0.25))
    for part in source.components:
        assert part.emission.shape == (2, 4)
        np.testing.assert_allclose(part.transition, [part.initial, part.initial], rtol=1e-15)
    for part in sources.default_mixture(chain="static").components:
        np.testing.assert_array_equal(part.transition, np.eye(2))


def test_seed_decides_the_components():
    def emissions(seed: int) -> np.ndarray:
        return np.array([part.emission for part in sources.default_mixture(seed=seed).components])

    np.testing.assert_array_equal(emissions(1), emissions(1))
    assert (emissions(1) != emissions(2)).any()


def test_emissions_have_the_spread_of_their_dirichlet_law():
    # Dirichlet(2) on 4 tokens has variance a (a0 - a) / (a0^2 (a0 + 1)) with a = 2, a0 = 8; Dirichlet(0.5) has a = 0.5, a0 = 2.
    source = sources.default_mixture(components=4000, hidden=1)
    for emissions, variance in ((source, 2 * 6 / (64 * 9)), (sources.redrawn(source, seed=1), 0.5 * 1.5 / (4 * 3))):
        squares = (np.array([part.emission for part in emissions.components]) - 0.25) ** 2
        assert abs(squares.mean() - variance) < 5 * squares.mean(axis=(1, 2)).std() / np.sqrt(4000)


def test_graded_mixture_changes_only_the_transitions():
    default, graded = sources.default_mixture(hidden=3), sources.graded_mixture(0.25, hidden=3)
    shift = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    for before, after in zip(default.components, graded.components, strict=True):
        np.testing.assert_array_equal(after.initial, before.initial)
        np.testing.assert_array_equal(after.emission, before.emission)
        np.testing.assert_allclose(after.transition, 0.75 * before.transition + 0.25 * np.array(shift), atol=1e-15)


def test_generic_mixture_keeps_emissions_and_can_be_stationary():
    default, generic = sources.default_mixture(), sources.generic_mixture()
    for before, after in zip(default.components, generic.components, strict=True):
        np.testing.assert_array_equal(after.initial, before.initial)
        np.testing.assert_array_equal(after.emission, before.emission)
    for part in sources.generic_mixture(hidden=5, stationary=True).components:
        np.testing.assert_allclose(part.initial @ part.transition, part.initial, atol=1e-14)


def test_reweighted_keeps_the_components():
    source = sources.default_mixture(components=2)
    assert sources.reweighted(source, [0.9, 0.1]).components == source.components
    mixture = source.mixture
    changed = sources.reweighted(mixture, [0.9, 0.1])
    np.testing.assert_allclose(changed.probabilities, mixture.probabilities, rtol=1e-15)
    np.testing.assert_allclose(sources.reweighted(source, [0.9, 0.1]).enumerate(3)[1], changed.enumerate(3)[1], atol=1e-16)


@pytest.mark.parametrize("chain", ["memoryless", "static"])
def test_redrawn_changes_emissions_and_stays_exchangeable(chain):
    source = sources.default_mixture(chain=chain)
    changed = sources.redrawn(source, seed=5)
    assert changed.is_exchangeable
    for before, after in zip(source.components, changed.components, strict=True):
        np.testing.assert_allclose(after.transition, before.transition, atol=1e-15)
        assert (after.emission != before.emission).any()
    mixture = sources.redrawn(source.mixture, seed=5)
    np.testing.assert_allclose(mixture.weights, source.mixture.weights, rtol=1e-15)
    assert (mixture.probabilities != source.mixture.probabilities).any()


def test_order_broken_by_nothing_keeps_the_law():
    source = sources.default_mixture()
    np.testing.assert_allclose(sources.order_broken(source, 0).enumerate(4)[1], source.enumerate(4)[1], atol=1e-16)
    assert not sources.order_broken(source, 0.1).is_exchangeable


REFUSED = {
    "Unknown chain 'statc': did you mean 'static'?": lambda: sources.default_mixture(chain="statc"),  # pyright: ignore
    "hidden must be a whole number of at least 1, got 0.": lambda: sources.default_mixture(hidden=0),
    "components must be a whole number of at least 1, got 2.5.": lambda: sources.generic_mixture(components=2.5),  # pyright: ignore
    "seed must be a whole number of at least 0, got 'one'.": lambda: sources.default_mixture(seed="one"),  # pyright: ignore
    "epsilon must be a number from 0 to 1, got 1.5.": lambda: sources.graded_mixture(1.5),
    "epsilon must be a number from 0 to 1, got nan.": lambda: sources.graded_mixture(float("nan")),
    "every component has a single hidden state, which cannot be shifted": lambda: sources.graded_mixture(0.1, hidden=1),
    "order_broken changes a source of kind MixtureOfHMMs, got Exchangeable": lambda: sources.order_broken(sources.uniform(2), 0.1),  # pyright: ignore
    "reweighted changes a source of kind Exchangeable or MixtureOfHMMs, got HiddenMarkov": lambda: sources.reweighted(
        sources.markov([1, 0], np.eye(2)), [1]
    ),  # pyright: ignore
    "weights has 2 entries for 4 components": lambda: sources.reweighted(sources.default_mixture(), [0.5, 0.5]),
    "concentration must be a positive number, got 0.": lambda: sources.redrawn(sources.uniform(2), seed=0, concentration=0),
    "concentration must be a positive number, got 'high'.": lambda: sources.redrawn(sources.uniform(2), seed=0, concentration="high"),  # pyright: ignore
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_cannot_be_made_is_refused_with_a_sentence(sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        REFUSED[sentence]()
