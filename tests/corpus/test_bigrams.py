"""The bigram surrogate: a chain with the pairs of neighbours of a text, against closed forms of Markov chains."""

from __future__ import annotations

import numpy as np
import pytest

from specht.corpus.measuring import count_all, scores
from specht.corpus.read.corpora import open_corpus
from specht.corpus.read.stream import Encoded
from specht.corpus.stats.bigrams import chained, followers_of
from specht.corpus.stats.moments import LagCounts
from specht.corpus.survey import SurveySettings, plan_survey, take_census

LENGTH = 8


def markov(followers, tokens, rng):
    """A chain of many tokens, side by side and then one behind the other."""
    streams = 200
    sums = followers.cumsum(axis=1)
    words = np.zeros((streams, tokens // streams), dtype=int)
    for place in range(1, words.shape[1]):
        words[:, place] = (rng.random(streams)[:, None] > sums[words[:, place - 1]]).sum(axis=1)
    return words


def topics(rng, records=800, steps=100):
    """Records with frequencies of their own, in which tokens come in no order."""
    sums = rng.dirichlet([1.0, 1.0, 1.0], size=records).cumsum(axis=1)
    return np.minimum((rng.random((records, steps, 1)) > sums[:, None]).sum(axis=2), 2)


def surveyed(words, **settings):
    corpus = open_corpus(words)
    census = take_census(corpus, range(len(corpus.parts)))
    return plan_survey(corpus, SurveySettings(length=LENGTH, lengths=(), cuts=(), **settings), census)


def counted(survey, null=None):
    counts = LagCounts(LENGTH, len(survey.vocabulary) + 1)
    for segment in survey.segments(range(len(survey.sizes)), null):
        counts.update(segment)
    return counts


def test_pairs_at_every_distance_are_those_of_a_chain():
    """Of a text that is no chain: K(t) + p p^T = diag(p) P^t with the text's own pairs of neighbours in P."""
    words = topics(np.random.default_rng(0))
    survey = surveyed(words)
    text, surrogate = counted(survey), counted(survey, "bigram")
    seen = np.flatnonzero(text.tables[0].any(axis=1))
    pairs = text.tables[0][np.ix_(seen, seen)].astype(float)
    followers = pairs / pairs.sum(axis=1, keepdims=True)
    for lag in range(1, LENGTH):
        number = surrogate.tables[lag - 1].sum()
        assert number == text.tables[lag - 1].sum()
        found = surrogate.tables[lag - 1][np.ix_(seen, seen)] / number
        firsts = found.sum(axis=1)
        expected = firsts[:, None] * np.linalg.matrix_power(followers, lag)
        # Neighbouring pairs are not independent: ten times the variance of independent ones is more than there is.
        assert (abs(found - expected) < 4 * np.sqrt(10 * expected / number)).all(), lag
    assert abs(text.tables[4] / text.pairs[4] - surrogate.tables[4] / surrogate.pairs[4]).max() > 0.02


def test_a_chain_scores_as_its_surrogate_does_and_topics_do_not():
    rng = np.random.default_rng(1)
    for words, same in ((markov(rng.dirichlet([0.5] * 4, size=4), 80_000, rng), True), (topics(rng), False)):
        survey = surveyed(words)
        text, surrogate = (scores(count_all(survey, null)).main for null in (None, "bigram"))
        error = np.hypot(text.high - text.low, surrogate.high - surrogate.low) / 4
        assert surrogate.defined
        assert (abs(text.score - surrogate.score) < 4 * error) == same


def test_records_begin_as_those_of_the_text():
    rng = np.random.default_rng(2)
    pieces = [Encoded(rng.integers(3, size=50), np.array([7, 30])), Encoded(rng.integers(3, size=40), np.array([0, 9]))]
    counts = np.array([[0, 5, 0], [0, 0, 5], [5, 0, 0]])
    one, other = chained(pieces, followers_of(counts), rng)
    whole, given = np.concatenate([one.ids, other.ids]), np.concatenate([pieces[0].ids, pieces[1].ids])
    begins = [0, 7, 30, 50, 59]
    assert (whole[begins] == given[begins]).all()
    for low, high in zip(begins, [*begins[1:], 90], strict=True):
        assert (np.diff(whole[low:high]) % 3 == 1).all()
    assert other.records.tolist() == [0, 9]


def test_a_chain_goes_on_from_piece_to_piece():
    cycle = followers_of(np.roll(np.eye(4, dtype=int), 1, axis=1))
    pieces = [Encoded(np.zeros(size, dtype=int)) for size in (3, 1, 4)]
    ids = np.concatenate([piece.ids for piece in chained(pieces, cycle, np.random.default_rng(0))])
    assert ids.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


def test_what_nothing_follows_is_followed_by_what_follows_any():
    counts = np.array([[0, 1, 3], [0, 0, 0], [4, 0, 0]])
    (piece,) = chained([Encoded(np.ones(40_000, dtype=int), np.arange(40_000))], followers_of(counts), np.random.default_rng(0))
    assert (piece.ids == 1).all()  # records of one token each
    (piece,) = chained([Encoded(np.ones(40_000, dtype=int), np.arange(0, 40_000, 2))], followers_of(counts), np.random.default_rng(0))
    shares = np.bincount(piece.ids[1::2], minlength=3) / 20_000
    assert shares == pytest.approx([0.5, 0.125, 0.375], abs=4 * np.sqrt(0.25 / 20_000))


def test_the_same_seed_draws_the_same_chain():
    words = topics(np.random.default_rng(3), records=60)
    tables = [counted(surveyed(words, seed=seed), "bigram").tables for seed in (0, 0, 1)]
    assert (tables[0] == tables[1]).all()
    assert (tables[0] != tables[2]).any()
