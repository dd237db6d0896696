"""The exchangeability score: against averages over all permutations, and loops over pairs of positions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from known_pairs import Given, by_position, covariances, plan_for, population, shares

from specht.corpus.read.stream import Segment
from specht.corpus.stats.exchangeability import CUTS, symmetry
from specht.corpus.stats.squares import Resampling, site_norm, weights
from specht.errors import InputError

METRICS = ("chi2-floor", "chi2", "plain")
PERMUTATIONS = list(itertools.permutations(range(5)))


@pytest.mark.parametrize("metric", METRICS)
def test_the_invariant_part_is_the_average_over_all_permutations(metric):
    rng = np.random.default_rng(1)
    p, by_lag = covariances(rng.dirichlet([0.5] * 4, size=(2, 4)), lags=4)
    tensor = by_position(p, by_lag, metric)
    average = np.mean([tensor[np.ix_(order, order)] for order in PERMUTATIONS], axis=0)
    assert len(PERMUTATIONS) == 120

    known = population(p, by_lag, metric)
    weighted = sum((5 - lag) * known.centred(lag)[0] for lag in range(1, 5))
    for a, b in itertools.permutations(range(5), 2):
        np.testing.assert_allclose(weighted[0].reshape(4, 4) / (4 + 3 + 2 + 1), average[a, b], atol=1e-14)
    off_diagonal = ~np.eye(5, dtype=bool)
    found = symmetry(known).main
    assert found.score == pytest.approx((average[off_diagonal] ** 2).sum() / (tensor[off_diagonal] ** 2).sum(), rel=1e-12)
    assert found.score * found.energy.value * 20 == pytest.approx((average[off_diagonal] ** 2).sum(), rel=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_all_permutations_of_all_windows_of_a_ring(metric):
    """A text closed to a ring is exactly stationary, and its windows can be permuted one by one."""
    ids = np.random.default_rng(2).integers(0, 3, 40) * np.tile([0, 1, 1, 0], 10)
    p = np.bincount(ids) / len(ids)
    plan = plan_for(p, 5, blocks=3, metric=metric)
    moments = plan.counter()
    for block in range(3):
        moments.update(Segment(np.concatenate([ids, ids[:4]]), len(ids), block))
    windows = np.stack([np.roll(ids, -a) for a in range(5)], axis=1)

    def second_moments(tokens: np.ndarray) -> np.ndarray:
        x = (np.eye(3)[tokens] - p) * plan.weights
        return np.einsum("nai,nbj->abij", x, x) / len(x)

    tensor = second_moments(windows)
    average = np.mean([second_moments(windows[:, order]) for order in PERMUTATIONS], axis=0)
    off_diagonal = ~np.eye(5, dtype=bool)
    found = symmetry(moments).main
    assert found.score == pytest.approx((average[off_diagonal] ** 2).sum() / (tensor[off_diagonal] ** 2).sum(), rel=1e-12)
    expected = shares(tensor)
    assert (found.score, found.distance, found.direction, found.energy.value) == pytest.approx(expected, rel=1e-10)
    assert found.plug_in == pytest.approx(found.score, rel=1e-12)  # of identical blocks
    np.testing.assert_allclose(found.influence, 0, atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", range(4))
def test_the_three_shares_are_those_of_the_full_tensor(metric, seed):
    rng = np.random.default_rng(seed)
    p, by_lag = covariances(rng.dirichlet([0.3] * 5, size=(1 + 2 * seed, 5)), lags=7)
    found = symmetry(population(p, by_lag, metric)).main
    tensor = by_position(p, by_lag, metric)
    assert (found.score, found.distance, found.direction, found.energy.value) == pytest.approx(shares(tensor), rel=1e-9)
    assert abs(found.score + found.distance + found.direction - 1) < 1e-12
    assert found.rms == pytest.approx(math.sqrt(found.energy.value / (tensor[0, 0] ** 2).sum()), rel=1e-9)


def test_shares_add_up_whatever_the_estimates():
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1] * 4)
    for length in (2, 3, 12):
        found = symmetry(Given(plan_for(p, length, blocks=6), rng.normal(size=(length - 1, 6, 4, 4)) + 0.5))
        for each in (*found.lengths, *found.cuts):
            assert abs(each.score + each.distance + each.direction - 1) < 1e-12
    assert found.main is found.cuts[0]


def test_two_positions_have_no_distances():
    p, by_lag = covariances(np.random.default_rng(4).dirichlet([1] * 3, size=(1, 3)), lags=1)
    found = symmetry(population(p, by_lag)).main
    assert found.distance == pytest.approx(0, abs=1e-12)
    assert found.score + found.direction == pytest.approx(1)


def test_shorter_windows_and_longer_lags():
    p, by_lag = covariances(np.random.default_rng(5).dirichlet([0.4] * 4, size=(3, 4)), lags=14)
    found = symmetry(population(p, by_lag), lengths=(4, 9))
    assert [each.length for each in found.lengths] == [4, 9, 15]
    for each in found.lengths:
        expected = shares(by_position(p, by_lag[: each.length - 1], "chi2-floor"))
        assert (each.score, each.distance, each.direction, each.energy.value) == pytest.approx(expected, rel=1e-9)
    assert [each.from_lag for each in found.cuts] == [cut for cut in CUTS if cut < 14]
    s = weights("chi2-floor", p)
    metric = np.outer(s, s)
    for each in found.cuts:
        pairs = [(a, b) for a, b in itertools.combinations(range(15), 2) if b - a >= each.from_lag]
        matrices = [by_lag[b - a - 1] * metric for a, b in pairs]
        mean = np.mean([(matrix + matrix.T) / 2 for matrix in matrices], axis=0)
        energy = np.mean([(matrix**2).sum() for matrix in matrices])
        assert each.score == pytest.approx((mean**2).sum() / energy, rel=1e-9)
        assert each.length == 15


def test_shorter_windows_are_asked_for_after_counting():
    p, by_lag = covariances(np.random.default_rng(5).dirichlet([0.4] * 4, size=(3, 4)), lags=14)
    short = symmetry(population(p, by_lag[:7])).main
    found = symmetry(population(p, by_lag), length=8)
    assert found.main.score == pytest.approx(short.score, rel=1e-12)
    assert len(found.lags) == 7
    with pytest.raises(InputError, match="a window of 16 tokens needs lags up to 15, and those up to 14 were counted"):
        symmetry(population(p, by_lag), length=16)
    with pytest.raises(InputError, match="length must be a whole number of at least 2, got 1"):
        symmetry(population(p, by_lag), lengths=(1,))


def test_correlations_by_lag():
    p, by_lag = covariances(np.random.default_rng(6).dirichlet([0.4] * 4, size=(2, 4)), lags=9)
    found = symmetry(population(p, by_lag))
    tensor = by_position(p, by_lag, "chi2-floor")
    for each in found.lags:
        matrix = tensor[0, each.lag]
        assert each.rms == pytest.approx(np.linalg.norm(matrix) / np.linalg.norm(tensor[0, 0]), rel=1e-9)
        assert each.low == pytest.approx(each.rms) == each.high
        assert each.direction == pytest.approx(((matrix - matrix.T) ** 2).sum() / 4 / (matrix**2).sum(), abs=1e-9)


def test_influence_is_what_the_score_loses_without_a_block():
    rng = np.random.default_rng(7)
    p, blocks = rng.dirichlet([1] * 4), 5
    estimates = rng.normal(size=(6, blocks, 4, 4)) + rng.normal(size=(4, 4))
    whole = symmetry(Given(plan_for(p, 7, blocks=blocks), estimates)).main
    for block, lost in enumerate(whole.influence):
        left = symmetry(Given(plan_for(p, 7, blocks=blocks - 1), np.delete(estimates, block, axis=1))).main
        assert lost == pytest.approx(whole.score - left.score, rel=1e-9)


# Metrics and squares without bias.


def test_metrics_weigh_types_by_their_frequency():
    p = np.array([0.6, 0.3, 0.0004, 0.0, 0.0996])
    np.testing.assert_allclose(weights("chi2", p), [0.6**-0.5, 0.3**-0.5, 50, 0, 0.0996**-0.5])
    np.testing.assert_allclose(weights("chi2-floor", p), [0.6**-0.5, 0.3**-0.5, 1000**0.5, 0, 0.0996**-0.5])
    np.testing.assert_array_equal(weights("plain", p), [1, 1, 1, 1, 0])
    for metric in METRICS:
        s = weights(metric, p)
        matrix = (np.diag(p) - np.outer(p, p)) * np.outer(s, s)
        assert site_norm(s, p) == pytest.approx(np.linalg.norm(matrix), rel=1e-12)
    # The chi-square norm of one position is the number of types less one.
    assert site_norm(weights("chi2", p[p > 0]), p[p > 0]) ** 2 == pytest.approx(3)
    with pytest.raises(InputError, match="Unknown metric 'chi'"):
        weights("chi", p)  # pyright: ignore[reportArgumentType]


def test_chi_square_norms_are_mean_square_contingencies():
    rng = np.random.default_rng(8)
    p, by_lag = covariances(0.9 / 5 + 0.1 * rng.dirichlet([1] * 5, size=(1, 5)), lags=1)
    joint = by_lag[0] + np.outer(p, p)
    contingency = (joint**2 / np.outer(p, p)).sum() - 1
    information = (joint * np.log(joint / np.outer(p, p))).sum()
    energy = symmetry(population(p, by_lag, "chi2")).main.energy.value
    assert energy == pytest.approx(contingency, rel=1e-9)
    assert energy == pytest.approx(2 * information, rel=0.05)


def test_squares_are_means_over_different_blocks():
    rng = np.random.default_rng(9)
    vectors, sizes = rng.normal(size=(5, 3)), np.array([1.0, 2.0, 0.0, 1.0, 3.0])
    found = Resampling(sizes, 200, seed=1).squared_norm(vectors @ vectors.T)
    above = below = 0.0
    for g, h in itertools.permutations(range(5), 2):
        above += sizes[g] * sizes[h] * vectors[g] @ vectors[h]
        below += sizes[g] * sizes[h]
    assert found.values[0] == pytest.approx(above / below)
    # A resample of vectors that are all alike is as good as the blocks themselves.
    alike = Resampling(np.ones(5), 200, seed=1).squared_norm(np.full((5, 5), 7.0))
    np.testing.assert_allclose(alike.values, 7.0)


def test_squares_have_no_bias_and_intervals_cover_them():
    rng = np.random.default_rng(10)
    mean, inside, values = np.full(6, 0.3), 0, []
    for repeat in range(300):
        vectors = mean + rng.normal(size=(16, 6))
        found = Resampling(np.ones(16), 500, seed=repeat).squared_norm(vectors @ vectors.T).estimate()
        values.append(found.value)
        inside += found.low <= mean @ mean <= found.high
    assert abs(np.mean(values) - mean @ mean) < 3 * np.std(values) / math.sqrt(300)
    assert np.mean((mean + rng.normal(size=(300, 16, 6))).mean(axis=1) ** 2) * 6 > mean @ mean + 0.2  # what a plain square would give
    assert inside >= 0.85 * 300


def test_one_block_has_no_squares():
    with pytest.raises(InputError, match="Debiasing multiplies different blocks, and 1 of 3 blocks hold data"):
        Resampling(np.array([0, 4, 0]))
