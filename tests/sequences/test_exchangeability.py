"""How far a source is from exchangeable: exact, sampled, and refused."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from named_sources import DISGUISED, EXCHANGEABLE, MIXTURES, ORDERED, SOURCES

from specht.errors import InputError
from specht.sequences import sources
from specht.sequences.exchangeability import _bounds, exchangeability_gap, require_exchangeable

SEEDS = range(6)


def gap_by_permutations(source: sources.Source, length: int, columns: int) -> float:
    """Half the sum of |p - mean over permutations of p|, one permutation of the axes at a time."""
    law = source.enumerate(columns)[1].reshape((source.vocab,) * columns)
    kept = tuple(range(length, columns))
    moved = [law.transpose(order + kept) for order in itertools.permutations(range(length))]
    return float(np.abs(law - np.mean(moved, axis=0)).sum() / 2)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize(("readout", "columns"), [("last", 5), ("mean", 4)])
def test_exact_gap_is_that_of_all_permutations(name, readout, columns):
    gap = exchangeability_gap(SOURCES[name], 4, readout=readout)
    assert gap.exact
    assert gap.value == gap.low == gap.high
    assert gap.stderr == 0
    assert abs(gap.value - gap_by_permutations(SOURCES[name], 4, columns)) < 1e-15


def test_the_readout_token_stays_in_place():
    source = ORDERED["starts fixed"]
    assert exchangeability_gap(source, 1).value == 0  # one context token has nothing to change places with
    assert exchangeability_gap(source, 2, readout="mean").value > 0.1
    ordered = sources.generic_mixture(3)  # its readout token tells something about the order of the others
    assert exchangeability_gap(ordered, 4, readout="cls") == exchangeability_gap(ordered, 4, readout="mean")
    assert exchangeability_gap(ordered, 4, readout="cls").value < exchangeability_gap(ordered, 4).value


def partly_static(seed: int) -> sources.MixtureOfHMMs:
    parts = [
        sources.hmm(part.initial, 0.7 * part.transition + 0.3 * np.eye(2), part.emission)
        for part in sources.default_mixture(3, seed=seed).components
    ]
    return sources.mixture_of_hmms(np.full(4, 0.25), parts)


# Orders of magnitude of the theory's own numbers for V = 3, L = 5, 2 hidden states and 4 components.
FIGURES = {
    "generic": (lambda seed: sources.generic_mixture(3, seed=seed), 7.6e-2),
    "stationary": (lambda seed: sources.generic_mixture(3, seed=seed, stationary=True), 2.0e-2),
    "partly static": (partly_static, 2.9e-2),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_mixture_of_hidden_markov_models_is_generically_not_exchangeable(name):
    make, figure = FIGURES[name]
    gaps = [exchangeability_gap(make(seed), 5).value for seed in SEEDS]
    assert figure / 5 < np.median(gaps) < figure * 2


@pytest.mark.parametrize("chain", ["memoryless", "static"])
@pytest.mark.parametrize("readout", ["last", "mean"])
def test_memoryless_and_static_chains_have_no_gap(chain, readout):
    for seed in SEEDS:
        assert exchangeability_gap(sources.default_mixture(3, seed=seed, chain=chain), 5, readout=readout).value < 1e-15


def test_gap_grows_with_the_degree_of_order():
    degrees = [0, 1e-4, 1e-3, 1e-2, 0.1, 0.3, 0.6, 1]
    gaps = [exchangeability_gap(sources.graded_mixture(epsilon, 3), 5).value for epsilon in degrees]
    assert (np.diff(gaps) > 0).all()
    assert abs(gaps[2] / gaps[1] / 10 - 1) < 0.01  # linear where it is small


CASES = [*ORDERED, "graded by a hundredth"]
SAMPLED = ORDERED | {"graded by a hundredth": sources.graded_mixture(0.01, vocab=3)}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("readout", ["last", "mean"])
def test_sampled_gap_agrees_with_the_exact_one(name, readout):
    exact = exchangeability_gap(SAMPLED[name], 5, readout=readout).value
    found = exchangeability_gap(SAMPLED[name], 5, readout=readout, method="sampled", seed=1)
    assert not found.exact
    assert (found.samples, found.permutations) == (2000, 32)
    assert 0 < found.stderr < 0.02
    assert abs(found.value - exact) < 5 * found.stderr
    margin = 3 * found.stderr  # low and high leave two standard errors already
    assert found.low - margin <= exact <= found.high + margin


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("permutations", [2, 3])
def test_sampled_terms_bound_the_gap_on_average(name, permutations):
    """The average of the terms over all sequences and all choices of permutations, instead of some: no chance is left."""
    source, length = ORDERED[name], 3
    x, p = source.enumerate(length + 1)
    x, p = x[p > 0], p[p > 0]
    moved = [x[:, [*order, length]] for order in itertools.permutations(range(length))]
    ratio = np.stack([np.exp(source.log_probability(y)) / p for y in moved], axis=1)
    terms = [_bounds(ratio[:, list(choice)]) for choice in itertools.product(range(len(moved)), repeat=permutations)]
    assert np.min(terms) >= 0
    assert np.max(terms) <= 1  # so that no rare term decides an average
    lower, upper = np.mean(terms, axis=0) @ p
    exact = exchangeability_gap(source, length).value
    assert 0 < lower < exact + 1e-15
    assert exact - 1e-15 < upper < 1


@pytest.mark.parametrize("permutations", [2, 4, 8])
def test_bounds_close_as_permutations_are_added(permutations):
    def bias(number: int) -> float:
        gap = exchangeability_gap(ORDERED["generic mixture"], 5, method="sampled", samples=8000, permutations=number)
        return gap.high - gap.low - 4 * gap.stderr

    assert 0 < bias(4 * permutations) < 0.5 * bias(permutations)


def test_standard_error_is_the_spread_over_seeds():
    found = [exchangeability_gap(ORDERED["hmm"], 4, method="sampled", samples=200, permutations=16, seed=seed) for seed in range(100)]
    spread = np.std([gap.value for gap in found], ddof=1)
    # the standard deviation of 100 normal numbers is known to 7 %
    assert abs(spread / np.mean([gap.stderr for gap in found]) - 1) < 0.3


@pytest.mark.parametrize("name", EXCHANGEABLE)
def test_exchangeable_source_has_no_gap_when_sampled(name):
    gap = exchangeability_gap(EXCHANGEABLE[name], 30, method="sampled", samples=50, permutations=4)
    assert gap.high < 1e-12


def test_long_exchangeable_source_has_no_gap_by_its_parameters():
    gap = exchangeability_gap(sources.default_mixture(), 512)
    assert (gap.value, gap.high, gap.exact) == (0, 0, True)


def test_long_source_is_sampled_in_blocks_with_progress(monkeypatch):
    monkeypatch.setattr("specht.sequences.exchangeability._BLOCK", 101 * 8 * 30)
    calls = []
    gap = exchangeability_gap(
        sources.graded_mixture(0.5), 100, samples=70, permutations=8, progress=lambda done, total: calls.append((done, total))
    )
    assert calls == [(30, 70), (60, 70), (70, 70)]
    assert 0 < gap.low < gap.value < gap.high < 1


def test_gap_says_what_it_is():
    source = ORDERED["reversible stationary markov"]
    assert str(exchangeability_gap(source, 2)) == "0.36"
    sampled = str(exchangeability_gap(source, 2, method="sampled"))
    assert re.fullmatch(r"0\.3\d ± 0\.0\d+ \(between 0\.3\d* and 0\.3\d, 2000 sequences sampled\)", sampled)


@pytest.mark.parametrize("name", MIXTURES)
def test_exchangeable_source_is_let_in_as_its_mixture(name):
    assert require_exchangeable(MIXTURES[name], 512) is MIXTURES[name].mixture


REFUSED = {
    "this method needs an exchangeable source, and the law of this one changes by a total variation of 0.36 when the 2 context positions "
    "are permuted: use a method that samples, or an exchangeable source such as `default_mixture`.": lambda: require_exchangeable(
        ORDERED["reversible stationary markov"], 2
    ),
    "500 sequences sampled) when the 40 context positions are permuted": lambda: require_exchangeable(ORDERED["graded mixture"], 40),
    "this source is exchangeable, but the mixture": lambda: require_exchangeable(DISGUISED["posterior start"], 5),
    "3^21 sequences (about 10^10) are too many to list": lambda: exchangeability_gap(ORDERED["hmm"], 20, method="exact"),
    "length must be a whole number of at least 1, got 0.": lambda: exchangeability_gap(ORDERED["hmm"], 0),
    "Unknown readout 'first'. Choose from: last, mean, cls.": lambda: exchangeability_gap(ORDERED["hmm"], 2, readout="first"),
    "Unknown method 'sample': did you mean 'sampled'?": lambda: exchangeability_gap(ORDERED["hmm"], 2, method="sample"),
    "samples must be a whole number of at least 2, got 1.": lambda: exchangeability_gap(ORDERED["hmm"], 40, samples=1),
    "permutations must be a whole number of at least 2, got 1.": lambda: exchangeability_gap(ORDERED["hmm"], 40, permutations=1),
    "seed must be a whole number of at least 0, got -3.": lambda: exchangeability_gap(ORDERED["hmm"], 40, seed=-3),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_cannot_be_measured_is_refused_with_a_sentence(sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        REFUSED[sentence]()
