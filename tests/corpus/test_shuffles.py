"""Null models: what a shuffle keeps, and that shuffled texts score as they must."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math

import numpy as np
import pytest

from specht.corpus.measuring import null_score, nulls_of
from specht.corpus.read.corpora import has_articles, open_corpus
from specht.corpus.read.named import NAMED
from specht.corpus.read.stream import Encoded
from specht.corpus.stats import shuffles
from specht.corpus.stats.shuffles import drawn, shuffled, split_counts
from specht.corpus.survey import SurveySettings, plan_survey, take_census
from specht.errors import InputError

NONE = np.empty(0)


def stream(seed: int, total: int, records: int, pieces: int) -> list[Encoded]:
    """Ids that are their own places, in pieces of any size, empty ones too."""
    rng = np.random.default_rng(seed)
    begins = np.sort(rng.choice(np.arange(1, total), size=records, replace=False))
    bounds = [0, *np.sort(rng.integers(0, total + 1, size=pieces)).tolist(), total]
    return [Encoded(np.arange(low, high), begins[(begins >= low) & (begins < high)] - low) for low, high in itertools.pairwise(bounds)]


def joined(pieces) -> tuple[np.ndarray, np.ndarray]:
    """Ids, and where records begin, without the start of the stream."""
    ids, records, total = [], [], 0
    for piece in pieces:
        ids.append(piece.ids)
        records.append(np.asarray(piece.records) + total)
        total += len(piece)
    found = np.concatenate(records).astype(int)
    return np.concatenate(ids), found[found > 0]


@pytest.mark.parametrize("batch", [1, 50, 2**18])
@pytest.mark.parametrize("records", [0, 8, 100])
def test_windows_are_shuffled_in_themselves(batch, records, monkeypatch):
    monkeypatch.setattr(shuffles, "_BATCH", batch)
    pieces = stream(records, 400, records, pieces=9)
    _, starts = joined(pieces)
    ids, begins = joined(shuffled(pieces, "window", 7, np.random.default_rng(0)))
    assert len(ids) == 400
    expected = []  # windows from the start of each record on, and what is left over token by token
    for low, high in itertools.pairwise([0, *starts.tolist(), 400]):
        whole = (high - low) // 7 * 7
        expected += [range(start, start + 7) for start in range(low, low + whole, 7)]
        expected += [range(start, start + 1) for start in range(low + whole, high)]
    assert begins.tolist() == [window.start for window in expected[1:]]
    for window in expected:
        assert sorted(ids[list(window)].tolist()) == list(window)
    if records < 100:
        assert (ids != np.arange(400)).mean() > 0.5


def test_all_orders_of_a_window_are_as_likely():
    ids, _ = joined(shuffled([Encoded(np.tile([0, 1, 2, 3], 24_000))], "window", 4, np.random.default_rng(1)))
    counts = np.array(list(collections.Counter(map(tuple, ids.reshape(-1, 4).tolist())).values()))
    assert len(counts) == math.factorial(4)
    assert (abs(counts - 1000) < 4.5 * math.sqrt(1000)).all()
    assert ((counts - 1000) ** 2 / 1000).sum() < 23 + 4 * math.sqrt(2 * 23)  # chi-square with 23 degrees of freedom


def test_articles_are_shuffled_in_themselves():
    rng = np.random.default_rng(2)
    bounds = [0, 3, 90, 91, 250, 400]  # of articles
    pieces = []
    for low, high in itertools.pairwise([0, 40, 90, 90, 300, 400]):
        pieces.append(Encoded(np.arange(low, high), np.array([0]), np.array([b - low for b in bounds[:-1] if low <= b < high])))
    ids, begins = joined(shuffled(pieces, "article", 7, rng))
    for low, high in itertools.pairwise(bounds):
        assert sorted(ids[low:high].tolist()) == list(range(low, high))
    assert (ids != np.arange(400)).mean() > 0.9
    assert sorted(set(begins.tolist())) == [40, 90, 300]  # where records were


def test_long_articles_are_shuffled_in_pieces(monkeypatch):
    monkeypatch.setattr(shuffles, "_LONGEST_ARTICLE", 100)
    found = list(shuffled(stream(3, 1000, 0, pieces=40), "article", 7, np.random.default_rng(0)))
    assert sorted(np.concatenate([piece.ids for piece in found]).tolist()) == list(range(1000))
    assert max(len(piece) for piece in found) < 1000


def test_a_global_shuffle_keeps_counts_and_records():
    rng = np.random.default_rng(4)
    ids = rng.integers(0, 5, size=3000)
    places = stream(4, 3000, 12, pieces=6)
    pieces = [Encoded(ids[piece.ids], piece.records) for piece in places]
    counts = np.bincount(ids, minlength=5)
    found, begins = joined(drawn(pieces, counts, rng))
    np.testing.assert_array_equal(np.bincount(found, minlength=5), counts)
    assert begins.tolist() == joined(places)[1].tolist()
    assert abs((found == ids).mean() - ((counts / 3000) ** 2).sum()) < 4 * 0.5 / math.sqrt(3000)


def test_parts_of_a_global_shuffle_share_the_tokens():
    counts, sizes = np.array([500, 30, 0, 1]), [100, 0, 400, 31]
    draws = np.array([split_counts(counts, sizes, seed) for seed in range(300)])
    assert (draws.sum(axis=1) == counts).all()
    assert (draws.sum(axis=2) == sizes).all()
    mean = np.outer(sizes, counts) / 531
    spread = draws.std(axis=0) / math.sqrt(300)
    assert (abs(draws.mean(axis=0) - mean) <= 4 * spread + 1e-12).all()


def test_unknown_null_models_are_answered_by_a_sentence():
    with pytest.raises(InputError, match="Unknown null model 'windows': did you mean 'window'"):
        shuffled([], "windows", 4, np.random.default_rng(0))  # pyright: ignore[reportArgumentType]


# Shuffled texts: one for windows, nothing to score after a global shuffle.


def surveys(name: str, seeds: int, **settings):
    """A corpus, to be shuffled with several seeds."""
    corpus = open_corpus(name)
    census = take_census(corpus, range(len(corpus.parts)))
    for seed in range(seeds):
        yield plan_survey(corpus, SurveySettings(lengths=(), seed=seed, **settings), census)


def judged(found: list[tuple[bool, bool]]) -> None:
    ones, undefined = np.sum(found, axis=0)
    print(f"{ones} of {len(found)} windows within, {undefined} of {len(found)} global shuffles undefined")
    assert len(found) >= 40
    assert ones >= 0.9 * len(found)
    assert undefined >= 0.9 * len(found)


def outcome(survey) -> tuple[bool, bool]:
    inside, mixed = null_score(survey, "window"), null_score(survey, "global")
    print(survey.corpus.name, survey.settings.seed, inside, "|", mixed)
    return inside.low <= 1 <= inside.high, not mixed.defined


SMALL = ("alice", "der-prozess", "kalevala", "nt-syriac", "nt-coptic", "nt-basque", "nt-ukrainian")


@pytest.mark.whole
def test_shuffles_of_small_corpora(data):
    words = [survey for name in SMALL for survey in surveys(name, 3, length=32, vocab=100)]
    characters = [survey for name in SMALL for survey in surveys(f"char:{name}", 3, length=32)]
    judged([outcome(survey) for survey in (*words, *characters)])


@pytest.mark.slow
def test_shuffles_of_all_corpora(data):
    names = [name for name, named in NAMED.items() if named.path is not None and (data / named.path).exists()]
    books = [f"char:{name}" for name in names if not name.startswith(("ecoli", "wikitext", "hong"))]
    judged([outcome(survey) for name in (*names, *books, "kmer3:ecoli-genome", "stdlib") for survey in surveys(name, 2)])


def test_shuffles_lag_by_lag(data):
    """Tables that are made lag by lag are those of the same shuffle."""
    (survey,) = surveys("char:alice", 1, length=12)
    passes = dataclasses.replace(survey, settings=dataclasses.replace(survey.settings, how="exact"))
    for null in ("window", "global"):
        assert null_score(passes, null).score == pytest.approx(null_score(survey, null).score, rel=1e-9)


def test_articles_that_are_shuffled_score_one_far_from_their_ends(data):
    (survey,) = surveys("wikitext-2-valid", 1, length=16, vocab=100)
    found = null_score(survey, "article")
    assert found.defined
    assert found.low < 1 < found.high
    assert found.rms < 0.5 * 0.04  # much less than there is in the text


def test_null_models_that_say_something(data, tmp_path):
    for name in ("alice", "nt-coptic"):
        assert nulls_of(open_corpus(name)) == ("window", "global")
    for name in ("wikitext-2-valid", "ecoli-proteins", "stdlib"):
        assert has_articles(open_corpus(name))
    assert nulls_of(open_corpus("wikitext-2-valid")) == ("window", "article", "global")
    assert nulls_of(open_corpus(np.arange(10))) == ("window", "global")
