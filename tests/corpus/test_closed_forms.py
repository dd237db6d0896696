"""Processes whose scores are known in closed form: the mean over repeats, and how often intervals cover the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from known_pairs import by_position, covariances, population, shares, stationary

from specht.corpus.measuring import score
from specht.corpus.read.stream import Blocks, Encoded, segments
from specht.corpus.stats.exchangeability import Score, symmetry
from specht.corpus.stats.moments import Plan
from specht.errors import InputError


def chains(rng: np.random.Generator, steps: np.ndarray, records: int, length: int) -> np.ndarray:
    """Records, each of a Markov chain drawn anew, from its stationary law on."""
    which = rng.integers(len(steps), size=records)
    laws = np.array([stationary(step) for step in steps])
    sums = np.cumsum(steps, axis=2)[:, :, :-1]
    found = np.empty((records, length), dtype=np.intp)
    found[:, 0] = (rng.random((records, 1)) > np.cumsum(laws, axis=1)[which, :-1]).sum(axis=1)
    for place in range(1, length):
        found[:, place] = (rng.random((records, 1)) > sums[which, found[:, place - 1]]).sum(axis=1)
    return found


def scored(records: np.ndarray, symbols: int, length: int, seed: int) -> Score:
    """The score of an array of records."""
    p = np.bincount(records.ravel(), minlength=symbols) / records.size
    plan = Plan(p, Blocks(records.size), length, method="tables")
    moments = plan.counter()
    encoded = Encoded(records.ravel(), np.arange(0, records.size, records.shape[1]))
    for segment in segments([encoded], plan.blocks, plan.lags):
        moments.update(segment)
    return symmetry(moments, seed=seed).main


def check_repeats(found: list[Score], truth: float) -> None:
    values = np.array([each.score for each in found])
    spread = values.std(ddof=1)
    half = np.median([each.high - each.low for each in found]) / 2
    covered = np.mean([each.low <= truth <= each.high for each in found])
    print(f"truth {truth:.4f} mean {values.mean():.4f} sd {spread:.4f} coverage {covered:.2f} half-width {half / spread:.2f} sd")
    assert all(each.defined for each in found)
    assert abs(values.mean() - truth) < 3 * spread / math.sqrt(len(found))
    assert covered >= 0.85
    assert half <= 3 * spread


REPEATS = 120


def test_markov_chain_in_closed_form():
    steps = np.random.default_rng(11).dirichlet([0.5] * 6, size=(1, 6))
    p, by_lag = covariances(steps, lags=15)
    truth = symmetry(population(p, by_lag)).main
    assert truth.score == pytest.approx(shares(by_position(p, by_lag, "chi2-floor"))[0])
    assert truth.score < 0.2
    rng = np.random.default_rng(12)
    streams = chains(rng, steps, REPEATS, 20_000)  # one stream a repeat
    found = [scored(stream[None], 6, 16, seed) for seed, stream in enumerate(streams)]
    check_repeats(found, truth.score)
    for name in ("distance", "direction", "rms"):
        values = np.array([getattr(each, name) for each in found])
        assert abs(values.mean() - getattr(truth, name)) < 4 * values.std() / math.sqrt(REPEATS) + 1e-4


@pytest.mark.parametrize("total", [20_000, 100_000])
def test_de_finetti_mixture_scores_one(total):
    rng, length, found = np.random.default_rng(13), 16, []
    for seed in range(REPEATS if total < 50_000 else 60):
        laws = rng.dirichlet(np.full(8, 2.0), size=total // length)
        records = (rng.random((len(laws), length, 1)) > laws.cumsum(axis=1)[:, None, :-1]).sum(axis=2)
        found.append(scored(records, 8, length, seed))
    check_repeats(found, 1.0)
    assert np.mean([each.plug_in for each in found]) < np.mean([each.score for each in found])


@pytest.mark.parametrize("memory", [0.6, 0.1])
def test_mixture_of_markov_chains_in_closed_form(memory):
    """Twenty chains with token laws of their own, which repeat their last token or step at random with the strength of their memory."""
    rng, symbols, length = np.random.default_rng(14), 6, 12
    laws = rng.dirichlet([1.5] * symbols, size=(20, 1))
    steps = memory * rng.dirichlet([0.3] * symbols, size=(20, symbols)) + (1 - memory) * laws
    p, by_lag = covariances(steps, lags=length - 1)
    truth = symmetry(population(p, by_lag)).main.score
    assert truth == pytest.approx(shares(by_position(p, by_lag, "chi2-floor"))[0])
    assert 0.2 < truth < 0.7 if memory > 0.5 else 0.9 < truth < 0.999
    found = [scored(chains(rng, steps, 800, 24), symbols, length, seed) for seed in range(REPEATS)]
    check_repeats(found, truth)


def test_independent_tokens_are_undefined():
    rng = np.random.default_rng(15)
    found = [scored(rng.choice(6, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1], size=(1, 20_000)), 6, 16, seed) for seed in range(40)]
    assert sum(not each.defined for each in found) >= 36
    undefined = next(each for each in found if not each.defined)
    assert str(undefined).startswith("undefined: no correlations beyond noise")
    energies = np.array([each.energy.value for each in found])
    assert abs(energies.mean()) < 3 * energies.std() / math.sqrt(40)
    assert max(each.rms for each in found) < 0.01


def test_score_of_an_array():
    rng = np.random.default_rng(16)
    steps = rng.dirichlet([0.5] * 5, size=(1, 5))
    stream = chains(rng, steps, 1, 40_000)[0]
    found = score(stream, length=10)
    p, by_lag = covariances(steps, lags=9)
    truth = shares(by_position(p, by_lag, "chi2-floor"))[0]
    assert found.low < truth < found.high
    assert str(found) == f"{found.score:.3f} [{found.low:.3f}, {found.high:.3f}]"
    rows = stream.reshape(-1, 50)
    as_rows, as_list = score(rows, length=10), score(list(rows), length=10)
    assert as_rows.score == pytest.approx(as_list.score, rel=1e-12)
    assert as_rows.score != found.score  # pairs across rows are no longer counted
    sketched = score(rows, length=10, how="sketch")
    assert sketched.score == pytest.approx(as_rows.score, rel=1e-5)  # five types have cells of their own
    assert score(rows, length=10, how="exact").score == pytest.approx(as_rows.score, rel=1e-9)


def test_long_records_at_the_front_make_no_bias(tmp_path):
    """Every record throws a coin of its own, so the score is one; only the first blocks hold records as long as a window."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)

        def records(number: int, length: int, rng=rng) -> list[np.ndarray]:
            return list((rng.random((number, length)) < rng.choice([0.2, 0.8], size=(number, 1))).astype(int))

        text = "\n".join(" ".join(map(str, row)) for row in records(700, 16) + records(3000, 4))
        (tmp_path / "text.txt").write_text(text)
        found.append(score(tmp_path / "text.txt", tokens="white", records="line", length=16))
    scores = np.array([each.score for each in found])
    assert abs(scores.mean() - 1.0) <= 4.0 * scores.std(ddof=1) / np.sqrt(len(scores))
    rms = np.array([each.rms for each in found])  # the covariance of two throws is 0.3^2, that of one 0.5^2
    assert abs(rms.mean() - 0.36) <= 4.0 * rms.std(ddof=1) / np.sqrt(len(rms)) + 0.005
    covered = np.mean([each.low <= 1.0 <= each.high for each in found])
    assert covered >= 0.8


def test_windows_in_too_few_blocks_are_refused():
    rng = np.random.default_rng(0)
    records = [rng.integers(0, 3, 64) for _ in range(20)] + [rng.integers(0, 3, 4) for _ in range(5000)]
    with pytest.raises(InputError, match="Windows of 64 tokens lie in 1 of 16 blocks of the corpus, too few or too uneven for an interval"):
        score(records, length=64)
