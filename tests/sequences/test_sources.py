"""Laws that every source obeys, and a sentence for everything a source cannot be built from or asked for."""

from __future__ import annotations

import re

import numpy as np
import pytest
from named_sources import MIXTURES, ORDERED, SOURCES, THETA, probability_by_paths
from scipy import stats

from specht.errors import InputError
from specht.sequences import sources

every_source = pytest.mark.parametrize("name", SOURCES)
FAR_OUT = 1e-6
"""A test statistic less probable than this is no accident of the seed."""


@every_source
@pytest.mark.parametrize("columns", [1, 2, 4])
def test_probabilities_are_sums_over_paths_and_add_up_to_one(name, columns):
    source = SOURCES[name]
    x, p = source.enumerate(columns)
    assert x.shape == (source.vocab**columns, columns)
    assert len({tuple(row) for row in x}) == len(x)
    assert abs(p.sum() - 1) < 1e-14
    expected = [probability_by_paths(source, row) for row in x]
    np.testing.assert_allclose(p, expected, rtol=1e-12, atol=1e-16)
    log_p = source.log_probability(x)
    np.testing.assert_allclose(np.exp(log_p), expected, rtol=1e-12, atol=1e-16)
    np.testing.assert_array_equal(np.isneginf(log_p), np.equal(expected, 0))


@every_source
def test_leaving_out_the_last_column_gives_the_law_of_one_column_less(name):
    source = SOURCES[name]
    _, longer = source.enumerate(4)
    _, shorter = source.enumerate(3)
    np.testing.assert_allclose(longer.reshape(-1, source.vocab).sum(axis=1), shorter, atol=1e-15)


@every_source
def test_frequencies_of_a_sample_match_the_probabilities(name):
    source = SOURCES[name]
    n = 20_000
    x = source.sample(seed=7, n=n, length=2)
    found = np.bincount(x @ source.vocab ** np.array([2, 1, 0]), minlength=source.vocab**3)
    _, p = source.enumerate(3)
    assert not found[p == 0].any()
    if (p > 0).sum() > 1:
        assert stats.chisquare(found[p > 0], n * p[p > 0] / p.sum()).pvalue > FAR_OUT


@every_source
def test_tokens_far_apart_have_the_frequencies_of_their_joint_law(name):
    source = SOURCES[name]
    n, (early, late) = 20_000, (2, 7)
    x = source.draw(np.random.default_rng(3), n, 8)
    p = source.joint([early, late])
    found = np.zeros_like(p)
    np.add.at(found, (x[:, early], x[:, late]), 1 / n)
    assert np.all(np.abs(found - p) <= 5 * np.sqrt(p * (1 - p) / n) + 1e-14)


@every_source
def test_samples_repeat_and_the_first_ones_stay_when_more_are_drawn(name):
    source = SOURCES[name]
    x = source.sample(seed=1, n=50, length=6)
    assert x.shape == (50, 7)
    assert x.dtype.kind == "i"
    np.testing.assert_array_equal(x, source.sample(seed=1, n=50, length=6))
    np.testing.assert_array_equal(x[:20], source.sample(seed=1, n=20, length=6))
    if (source.enumerate(2)[1] > 0).sum() > 1:
        assert (x != source.sample(seed=2, n=50, length=6)).any()


@pytest.mark.parametrize("uniform", [0.0, np.nextafter(1, 0)])
def test_rounding_never_draws_an_impossible_token(uniform):
    tenths = [0.0, *[0.1] * 10, 0.0]
    assert np.cumsum(tenths)[-1] < 1  # here it could
    source = sources.mixture_of_hmms(tenths, [sources.hmm(tenths, np.tile(tenths, (12, 1)), np.tile(tenths, (12, 1)))] * 12)
    x = source._tokens(np.full((1, 1 + 2 * 3), uniform))
    assert np.isin(x, [1, 10]).all()
    assert np.isfinite(source.log_probability(x)).all()


def test_a_large_sample_is_drawn_in_blocks_that_do_not_show(monkeypatch):
    whole = ORDERED["mixture of hmms"].sample(seed=0, n=100, length=5)
    monkeypatch.setattr("specht.sequences.law._BLOCK", 50)
    np.testing.assert_array_equal(ORDERED["mixture of hmms"].sample(seed=0, n=100, length=5), whole)


@every_source
@pytest.mark.parametrize("positions", [(0, 1, 2), (3, 0, 2), (1, 3, 0)])
def test_moments_are_sums_of_the_enumerated_law(name, positions):
    source = SOURCES[name]
    _, p = source.enumerate(4)
    law = p.reshape((source.vocab,) * 4)
    (left_out,) = set(range(4)) - set(positions)
    three = law.sum(axis=left_out).transpose(np.argsort(np.argsort(positions)))
    p1, p2, p3 = source.moments(positions)
    np.testing.assert_allclose(p3, three, atol=1e-15)
    np.testing.assert_allclose(p2, three.sum(axis=2), atol=1e-15)
    np.testing.assert_allclose(p1, three.sum(axis=(1, 2)), atol=1e-15)


@pytest.mark.parametrize("name", MIXTURES)
def test_moments_of_an_exchangeable_source_are_those_of_its_mixture(name):
    weights, theta = MIXTURES[name].mixture.weights, MIXTURES[name].mixture.probabilities
    p1, p2, p3 = MIXTURES[name].moments()
    np.testing.assert_allclose(p1, weights @ theta, atol=1e-14)
    np.testing.assert_allclose(p2, np.einsum("m,mw,mv->wv", weights, theta, theta), atol=1e-14)
    np.testing.assert_allclose(p3, np.einsum("m,mw,mv,mu->wvu", weights, theta, theta, theta), atol=1e-14)


@every_source
def test_thousand_columns_do_not_underflow(name):
    source = SOURCES[name]
    x = source.sample(seed=0, n=3, length=999)
    log_p = source.log_probability(x)
    assert np.isfinite(log_p).all()
    assert (log_p <= 0).all()
    if name in MIXTURES:
        counts = np.stack([(x == v).sum(axis=1) for v in range(source.vocab)], axis=1)
        np.testing.assert_allclose(source.log_probability_of_counts(counts), log_p, rtol=1e-12)


def test_probability_of_counts_may_be_below_the_smallest_float():
    fair = sources.exchangeable([0.25, 0.75], [[0.5, 0.5], [1, 0]])
    counts = np.array([[600, 600], [1200, 0]])
    np.testing.assert_allclose(fair.log_probability_of_counts(counts), [np.log(0.25) - 1200 * np.log(2), np.log(0.75)], rtol=1e-15)


def test_counts_come_in_any_number_of_axes():
    source = MIXTURES["exchangeable"]
    context, readout = np.array([[2, 1, 0], [0, 0, 3]]), np.eye(3, dtype=int)
    table = source.log_probability_of_counts(context[:, None, :] + readout)
    assert table.shape == (2, 3)
    np.testing.assert_allclose(table[0], source.log_probability([[0, 0, 1, 0], [0, 0, 1, 1], [0, 0, 1, 2]]))
    assert source.log_probability_of_counts([2, 1, 0]).shape == ()


def test_a_single_token_is_always_the_same_one():
    one = sources.uniform(1)
    assert (one.sample(seed=0, n=2, length=99) == 0).all()
    x, p = one.enumerate(100)
    assert (x.shape, p.tolist(), one.log_probability(x).tolist()) == ((1, 100), [1], [0])


def test_sources_do_not_change_afterwards():
    theta = THETA.copy()
    source = sources.exchangeable([0.5, 0.5], theta)
    theta[:] = 0
    np.testing.assert_array_equal(source.probabilities, THETA)
    with pytest.raises(ValueError, match="read-only"):
        source.probabilities[0, 0] = 1
    with pytest.raises(AttributeError, match="cannot assign"):
        source.weights = np.ones(2) / 2


def test_single_precision_probabilities_are_accepted_and_normalised():
    source = sources.iid(np.full(3, 1 / 3, dtype=np.float32))
    assert source.probabilities.dtype == np.float64
    assert abs(source.probabilities.sum() - 1) < 1e-15


PAIR = [[0.5, 0.5], [0.1, 0.9]]
HMM = sources.hmm([0.5, 0.5], PAIR, PAIR)
REFUSED = {
    "weights must add up to one, but the sum is 1.2: divide by it.": lambda: sources.exchangeable([0.5, 0.7], PAIR),
    "row 1 of probabilities must add up to one, but the sum is 0.9: divide by it.": lambda: sources.exchangeable(
        [0.5, 0.5], [[1, 0], [0.4, 0.5]]
    ),
    "weights holds -0.5, but a probability is not negative: give numbers from 0 to 1.": lambda: sources.exchangeable([1.5, -0.5], PAIR),
    "probabilities holds nan: give finite probabilities.": lambda: sources.iid([float("nan"), 1]),
    "probabilities must be a vector of probabilities, got an array of shape (2, 2).": lambda: sources.iid(PAIR),
    "probabilities must be a vector of probabilities, got an array of shape (0,).": lambda: sources.iid(np.ones(0)),
    "probabilities must be a table with one distribution a row, got an array of shape (2,).": lambda: sources.exchangeable([1], [0.5, 0.5]),
    "probabilities has rows of unequal length: give a table": lambda: sources.exchangeable([0.5, 0.5], [[1], [0.5, 0.5]]),
    "weights has dtype <U4: give a vector of probabilities.": lambda: sources.exchangeable(["half"], PAIR[:1]),
    "weights has 1 entries, but probabilities has 2 rows: give one weight a row.": lambda: sources.exchangeable([1], PAIR),
    "vocab must be a whole number of at least 1, got 0.": lambda: sources.uniform(0),
    "transition has shape (1, 2), but initial names 2 states": lambda: sources.markov([0.5, 0.5], PAIR[:1]),
    "emission has 1 rows, but initial names 2 states: give one row a state.": lambda: sources.hmm([0.5, 0.5], PAIR, PAIR[:1]),
    "row 0 of transition must add up to one, but the sum is 2": lambda: sources.markov([0.5, 0.5], [[1, 1], [0, 1]]),
    "weights has 2 entries for 1 components: give one weight a component.": lambda: sources.mixture_of_hmms([0.5, 0.5], [HMM]),
    "a component must be a hidden Markov model, got Exchangeable": lambda: sources.mixture_of_hmms([1], [sources.uniform(2)]),  # pyright: ignore
    "the components have vocabularies of [1, 2] tokens": lambda: sources.mixture_of_hmms([0.5, 0.5], [HMM, sources.hmm([1], [[1]], [[1]])]),
    "seed must be a whole number of at least 0, got -1.": lambda: HMM.sample(-1, 1, 1),
    "n must be a whole number of at least 1, got 0.": lambda: HMM.sample(0, 0, 1),
    "length must be a whole number of at least 1, got 2.0.": lambda: HMM.sample(0, 1, 2.0),  # pyright: ignore
    "columns must be a whole number of at least 1, got 0.": lambda: HMM.enumerate(0),
    "2^21 sequences (about 10^6) are too many to list, at most 1048576: use fewer columns, or sample.": lambda: HMM.enumerate(21),
    "2^100000 sequences (about 10^30103) are too many to list": lambda: HMM.enumerate(100_000),
    "x holds token 2, but vocab=2 allows 0 to 1": lambda: HMM.log_probability([[0, 2]]),
    "x has sequences of unequal length: give sequences of one length at a time.": lambda: HMM.log_probability([[0, 1], [0]]),
    "x has dtype float64, but tokens are whole numbers from 0 to 1": lambda: HMM.log_probability([[0.0, 1.0]]),
    "positions must be distinct, and at least one, got (1, 1).": lambda: HMM.joint([1, 1]),
    "positions must be distinct, and at least one, got ().": lambda: HMM.joint([]),
    "a position must be a whole number of at least 0, got -1.": lambda: HMM.joint([0, -1]),
    "the joint law of 3 tokens out of 500 has 125000000 entries, at most 67108864": lambda: sources.uniform(500).moments(),
    "depend on the positions: name three, for example positions=(0, 1, 2).": lambda: HMM.moments(),
    "moments take three positions, got 2: use `joint` for another number.": lambda: HMM.moments((0, 1)),  # pyright: ignore
    "this source is not exchangeable, so it is no mixture of independent tokens": lambda: HMM.mixture,
    "so it is no mixture of independent tokens: use methods that sample": lambda: HMM.log_probability_of_counts([1, 1]),
    "of shape (..., 2), got dtype int64 and shape (3,).": lambda: sources.uniform(2).log_probability_of_counts([1, 1, 1]),
    "of shape (..., 2), got dtype float64 and shape (2,).": lambda: sources.uniform(2).log_probability_of_counts([1.0, 1.0]),
    "counts holds -1: a token cannot occur less than zero times.": lambda: sources.uniform(2).log_probability_of_counts([2, -1]),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_cannot_be_used_is_refused_with_a_sentence(sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        REFUSED[sentence]()
