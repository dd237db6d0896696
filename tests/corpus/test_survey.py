"""Surveys of a corpus in parts: the same statistics whoever counts them, from files or memory, in one pass or lag by lag; and refusals."""

from __future__ import annotations

import dataclasses
import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from specht.corpus import measuring
from specht.corpus.measuring import LagByLag, count_all, explain, findings, measure, null_score, score, scores
from specht.corpus.read.corpora import Corpus, open_corpus
from specht.corpus.read.stream import Segment
from specht.corpus.read.vocabulary import Vocabulary
from specht.corpus.stats.exchangeability import symmetry
from specht.corpus.stats.moments import Tables
from specht.corpus.survey import EXTRAS, Statistics, Survey, SurveySettings, merge_censuses, merge_statistics, plan_survey, take_census
from specht.errors import InputError


def write_texts(folder: Path, files: int = 6, words: int = 900, types: int = 40) -> Path:
    """Texts of made-up words, each file with a law of its own, and so with something that ignores order."""
    rng = np.random.default_rng(1)
    spelled = ["".join(pair) for pair in itertools.product("bcdfgh", "aeiou")] + [f"{each}n" for each in "abcdefghij"]
    for number in range(files):
        drawn = rng.choice(types, p=rng.dirichlet(np.full(types, 0.5)), size=words + 7 * number)
        again = np.flatnonzero(rng.random(len(drawn)) < 0.3)
        drawn[again] = drawn[again - 1]
        (folder / f"{number}.txt").write_text(" ".join(spelled[each] for each in drawn) + "\n", encoding="utf-8")
    return folder


def survey_of(corpus: Corpus, **settings) -> Survey:
    given = {"length": 8, "lengths": (4,), "blocks": 4} | settings
    return plan_survey(corpus, SurveySettings(**given), take_census(corpus, range(len(corpus.parts))))


def words(folder: Path) -> list[list[str]]:
    return [path.read_text(encoding="utf-8").split() for path in sorted(folder.glob("*.txt"))]


def same(one: Statistics, other: Statistics) -> bool:
    arrays = [{block: sums.tobytes() for block, sums in each.moments.sums.items()} for each in (one, other)]
    extras = [
        {(name, field): array.tobytes() for name, counter in each.extras.items() for field, array in counter.arrays().items()}
        for each in (one, other)
    ]
    return arrays[0] == arrays[1] and extras[0] == extras[1] and (one.moments.pairs == other.moments.pairs).all()


def test_census_of_files(tmp_path):
    corpus = open_corpus(write_texts(tmp_path))
    texts = words(tmp_path)
    census = take_census(corpus, range(6))
    assert census.sizes == tuple(len(text) for text in texts)
    every = [word for text in texts for word in text]
    assert {word: census.counts.counts[word] for word in set(every)} == {word: every.count(word) for word in set(every)}
    parts = merge_censuses([take_census(corpus, [0, 1]), take_census(corpus, [2]), take_census(corpus, [3, 4, 5])])
    assert parts == census


def test_statistics_of_files_are_those_of_their_words(tmp_path):
    survey = survey_of(open_corpus(write_texts(tmp_path)), vocab=12)
    found = count_all(survey).moments
    places = {word: place for place, word in enumerate(survey.vocabulary.types)}
    bounds = np.cumsum([0, *survey.sizes])
    for lag in (1, 7):
        expected = np.zeros((4, 13, 13), dtype=int)
        for start, text in zip(bounds, words(tmp_path), strict=False):
            ids = [places.get(word, 12) for word in text]
            for s in range(len(ids) - lag):  # no pair crosses the end of a file
                block = np.searchsorted(survey.plan.blocks.bounds, start + s, side="right") - 1
                expected[block, ids[s], ids[s + lag]] += 1
        for block in range(4):
            np.testing.assert_array_equal(found.sums[block][lag - 1], expected[block])


@pytest.mark.parametrize("how", ["tables", "sketch"])
def test_batches_can_be_counted_anywhere(tmp_path, how):
    survey = survey_of(open_corpus(write_texts(tmp_path)), how=how, cells=256, extras=tuple(EXTRAS), batch=1)
    assert len(survey.batches) > 2
    told = Survey.from_json(json.loads(json.dumps(survey.as_json())))

    def elsewhere(order: int) -> Statistics:
        """Counted from a description of the survey, sent and received."""
        statistics = Statistics(told)
        statistics.count(told.batches[order])
        return Statistics.from_arrays(statistics.arrays(), survey)

    late_first = [elsewhere(order) for order in reversed(range(len(survey.batches)))]
    merged = merge_statistics(reversed(late_first))
    whole = count_all(survey)
    assert same(merged, whole)
    one, other = findings(merged), findings(whole)
    assert one.main == other.main
    assert (one.isotypic, one.third, one.influence) == (other.isotypic, other.third, other.influence)


def test_counting_holds_one_block_of_a_batch_beside_the_whole(tmp_path, monkeypatch):
    survey = survey_of(open_corpus(write_texts(tmp_path)), batch=1, blocks=8)
    held: list[int] = []
    update = Tables.update

    def watched(moments: Tables, segment: Segment) -> None:
        update(moments, segment)
        held.append(len(moments.sums))

    monkeypatch.setattr(Tables, "update", watched)
    statistics = Statistics(survey)
    statistics.count(range(len(survey.sizes)))
    assert max(held) == 8
    held.clear()
    whole = count_all(survey)
    assert max(held) == 1
    assert same(whole, statistics)


def test_batches_are_consecutive_and_as_large_as_a_block(tmp_path):
    survey = survey_of(open_corpus(write_texts(tmp_path, files=20, words=300)), blocks=5, batch=100)
    assert list(itertools.chain.from_iterable(survey.batches)) == list(range(20))
    sizes = [sum(survey.sizes[part] for part in batch) for batch in survey.batches]
    assert min(sizes[:-1]) >= survey.total / 5
    assert max(sizes) < survey.total / 5 + max(survey.sizes)
    assert survey.offsets == tuple(sum(survey.sizes[:part]) for part in range(20))


def test_a_survey_is_described_by_plain_values(tmp_path):
    for corpus in (open_corpus(write_texts(tmp_path)), open_corpus(f"char:{tmp_path}")):
        survey = survey_of(corpus, extras=("isotypic",), metric="plain", seed=3)
        told = Survey.from_json(json.loads(json.dumps(survey.as_json())))
        assert told.plan.digest == survey.plan.digest
        assert told.settings == survey.settings
        assert told.corpus == survey.corpus
        assert told.vocabulary.types == survey.vocabulary.types
        assert told.batches == survey.batches
        assert same(count_all(told, "window"), count_all(survey, "window"))


def test_statistics_survive_being_sent(tmp_path):
    survey = survey_of(open_corpus(write_texts(tmp_path)), extras=tuple(EXTRAS))
    for null in (None, "window", "global"):
        statistics = count_all(survey, null)
        again = Statistics.from_arrays(statistics.arrays(), survey, null)
        assert same(again, statistics)
        assert again.null == null
        assert scores(again) == scores(statistics)


def test_statistics_of_another_survey_are_refused(tmp_path):
    corpus = open_corpus(write_texts(tmp_path))
    arrays = count_all(survey_of(corpus)).arrays()
    with pytest.raises(InputError, match="count all parts alike"):
        Statistics.from_arrays(arrays, survey_of(corpus, vocab=5))


# Lag by lag.


def close(one, other) -> bool:
    names = ("score", "low", "high", "distance", "direction", "rms", "plug_in")
    return all(getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9, abs=1e-12) for name in names)


@pytest.mark.parametrize("memory", [1, 200_000, 2**28])
def test_tables_lag_by_lag_are_tables_at_once(tmp_path, memory, monkeypatch):
    monkeypatch.setattr(measuring, "_MEMORY", memory)  # of one lag, of a few, of all
    corpus = open_corpus(write_texts(tmp_path))
    at_once = scores(count_all(survey_of(corpus, how="tables")))
    by_lag = scores(count_all(survey_of(corpus, how="exact")))
    for one, other in zip((*at_once.lengths, *at_once.cuts), (*by_lag.lengths, *by_lag.cuts), strict=True):
        assert close(one, other)


def test_tables_lag_by_lag_of_a_book(data):
    for source, vocab in (("alice", 150), ("char:alice", 47)):
        corpus = open_corpus(source)
        found = [measure(corpus, SurveySettings(length=12, lengths=(), vocab=vocab, how=how))[1].main for how in ("tables", "exact")]
        assert close(*found)


def test_estimates_are_in_double_precision(tmp_path):
    corpus = open_corpus(write_texts(tmp_path))
    for how in ("tables", "sketch"):
        moments = count_all(survey_of(corpus, how=how)).moments
        assert all(part.dtype == np.float64 for part in moments.centred(3))
    passes = LagByLag(survey_of(corpus, how="exact"))
    assert all(part.dtype == np.float64 for part in passes.centred(3))
    assert symmetry(passes, length=8).main.length == 8
    passes.close()


def test_heavy_types_only_make_sketches_exact(tmp_path):
    corpus = open_corpus(write_texts(tmp_path))
    tables, sketches = (measure(corpus, SurveySettings(length=8, lengths=(), how=how, blocks=4))[1].main for how in ("tables", "sketch"))
    assert sketches.score == pytest.approx(tables.score, rel=1e-5)
    assert sketches.energy.value == pytest.approx(tables.energy.value, rel=1e-5)


# What comes with a measurement.


def test_extras_are_measured_when_asked_for(tmp_path):
    corpus = open_corpus(write_texts(tmp_path))
    settings = SurveySettings(length=16, lengths=(8,), blocks=4)
    _, bare = measure(corpus, settings)
    assert (bare.influence, bare.isotypic, bare.third, bare.harmonics) == (None, None, None, ())
    _, full = measure(corpus, dataclasses.replace(settings, extras=tuple(EXTRAS)))
    assert full.main == bare.main
    assert full.isotypic is not None
    assert sum(share.value for share in full.isotypic.shares.values()) == pytest.approx(1)
    assert full.third is not None
    assert len(full.harmonics) == 3


def test_records_too_short_for_an_extra():
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 3, size=(3000, 3)) * rng.integers(0, 2, size=(3000, 1))
    _, found = measure(open_corpus(rows), SurveySettings(length=3, lengths=(), extras=("influence", "isotypic", "third")))
    assert found.isotypic is None  # which takes four positions
    assert found.third is not None
    assert found.main.defined


def test_progress_counts_both_passes(tmp_path):
    corpus = open_corpus(write_texts(tmp_path))
    seen: list[tuple[int, int]] = []
    survey, _ = measure(corpus, SurveySettings(length=8, lengths=(), blocks=4), lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (2 * survey.total, 2 * survey.total)


def test_types_are_explained(tmp_path):
    survey = survey_of(open_corpus(f"char:{write_texts(tmp_path)}"))
    assert explain(survey, [survey.vocabulary.types.index(ord("a")), len(survey.vocabulary)]) == ["a"]
    numbers = survey_of(open_corpus(np.arange(2000) % 7 + 10))
    assert explain(numbers, [0, 6]) == ["10", "16"]


def test_shorter_windows_than_the_others_can_be_shuffled():
    rng = np.random.default_rng(3)
    rows = rng.permuted(np.sort(rng.integers(0, 4, size=(2000, 40)), axis=1).reshape(-1, 8), axis=1).reshape(2000, 40)
    corpus = open_corpus(rows)
    survey = plan_survey(corpus, SurveySettings(length=8, lengths=(16, 32)), take_census(corpus, [0]))
    found = null_score(survey, "window")
    assert found.defined
    assert found.length == 8
    assert found.low < 1 < found.high


def test_measuring_does_not_load_jax():
    code = "import sys, specht.corpus.measuring; print(sorted({'jax', 'xarray', 'plotly', 'pydantic', 'tqdm'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.strip() == "[]"


# Refusals: one sentence each.


def texts_of(words: int, folder: Path) -> str:
    (folder / "short.txt").write_text("to be or not " * words, encoding="utf-8")
    return str(folder / "short.txt")


REFUSALS = {
    "one token": (lambda folder: score([3]), "tokens has 1 token: give a corpus of many windows"),
    "no tokens": (lambda folder: score([]), "There are no tokens"),
    "one type": (lambda folder: score(np.zeros(5000, dtype=int)), r"one type of token only \(0\)"),
    "too few": (lambda folder: score(texts_of(100, folder)), "short.txt has 400 tokens, too few for 16 blocks of windows of 64 tokens"),
    "vocabulary": (lambda folder: score(texts_of(1000, folder), vocab=5), "4 types of token, fewer than a vocabulary of 5: ask for 4"),
    "no vocabulary": (lambda folder: score(texts_of(1000, folder), vocab=0), "vocab must be a whole number of at least 1, got 0"),
    "length": (lambda folder: score(np.arange(5000) % 3, length=1), "length must be a whole number of at least 2, got 1"),
    "length as text": (lambda folder: score(np.arange(5000) % 3, length="8"), "length must be a whole number of at least 2, got '8'"),
    "other lengths": (lambda folder: SurveySettings(lengths=(0,)), "length must be a whole number of at least 2, got 0"),
    "blocks": (lambda folder: score(np.arange(5000) % 3, blocks=1), "blocks must be a whole number of at least 2, got 1"),
    "seed": (lambda folder: score(np.arange(5000) % 3, seed=-1), "seed must be a whole number of at least 0, got -1"),
    "metric": (lambda folder: score(np.arange(5000) % 3, metric="chi"), "Unknown metric 'chi': did you mean 'chi2'"),
    "how": (lambda folder: score(np.arange(5000) % 3, how="skech"), "Unknown way of counting 'skech': did you mean 'sketch'"),
    "extras": (lambda folder: SurveySettings(extras=("isotipic",)), "Unknown statistic 'isotipic': did you mean 'isotypic'"),
    "cells": (lambda folder: measure(open_corpus(np.arange(5000) % 3), SurveySettings(how="sketch", cells=1000)), "four times a square"),
    "floats": (lambda folder: score(np.ones(5000)), r"whole numbers, shape \(n,\) or \(records, n\), got float64 of shape \(5000,\)"),
    "words": (lambda folder: score(["to", "be"] * 3000), "tokens must be whole numbers"),
    "negative": (lambda folder: score([1, -1] * 3000), "some are negative"),
    "beyond ids": (lambda folder: score(np.array([1, 2**63] * 3000, dtype=np.uint64)), r"below 2\^63"),
    "three axes": (lambda folder: score(np.zeros((9, 9, 9), dtype=int)), r"of shape \(9, 9, 9\)"),
    "ragged": (lambda folder: score([[[1], [2, 3]]]), "whole numbers in a row, or rows of them"),
    "a number": (lambda folder: score(5), "A corpus is a path, a name or an array of ids, got int"),
    "absent": (lambda folder: score(folder / "absent.txt"), "does not exist: check the path of the corpus"),
}


@pytest.mark.parametrize(("attempt", "sentence"), REFUSALS.values(), ids=REFUSALS)
def test_refusals_are_sentences(attempt, sentence, tmp_path):
    with pytest.raises(InputError, match=sentence) as error:
        attempt(tmp_path)
    assert "\n" not in str(error.value)
    assert "Traceback" not in str(error.value)
    assert str(error.value).endswith((".", "?"))


@pytest.mark.parametrize("how", ["tables", "sketch", "exact"])
def test_windows_longer_than_any_record_are_refused(how):
    rows = np.random.default_rng(4).integers(0, 3, size=(500, 8))
    with pytest.raises(InputError, match="A window of 9 tokens is longer than any record, the longest of which has 8: take a smaller"):
        score(rows, length=9, how=how)
    assert score(rows, length=8, how=how).length == 8


@pytest.mark.parametrize(
    ("types", "tokens", "how"),
    [
        (180, 10_000, "tables"),
        (180, 10**8, "tables"),
        (181, 10_000, "exact"),
        (2000, 10**6, "exact"),
        (2001, 10**6, "sketch"),
        (500, 2 * 10**6, "sketch"),
    ],
)
def test_counts_exactly_where_tables_are_small_or_sketches_would_be_noisy(types, tokens, how):
    words = Vocabulary(tuple(range(types)), np.ones(types, dtype=np.int64), tokens - types)
    survey = Survey(open_corpus([0, 1]), SurveySettings(), words, (tokens,))
    assert survey.how == how
    assert survey.plan.method == ("sketch" if how == "sketch" else "tables")
    assert dataclasses.replace(survey, settings=SurveySettings(how="sketch")).how == "sketch"
