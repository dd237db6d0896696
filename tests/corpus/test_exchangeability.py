"""The exchangeability score: against averages over all permutations, loops over pairs of positions, and processes in closed form."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

from specht.corpus.chunks import Encoded, Segment
from specht.corpus.exchangeability import CUTS, Score, symmetry
from specht.corpus.exchangeability import _Sums as Sums
from specht.corpus.measure import score
from specht.corpus.metrics import site_norm, weights
from specht.corpus.moments import Plan
from specht.corpus.resampling import Resampling
from specht.corpus.stream import Blocks, segments
from specht.errors import InputError

METRICS = ("chi2-floor", "chi2", "plain")


@dataclasses.dataclass
class Given:
    """Estimates that are known: K(t) by lag, block and pair of types."""

    plan: Plan
    by_lag: np.ndarray

    def centred(self, lag: int) -> tuple[np.ndarray, np.ndarray]:
        found = self.by_lag[lag - 1] * np.outer(self.plan.weights, self.plan.weights)
        turned = found.transpose(0, 2, 1)
        return ((found + turned) / 2).reshape(len(found), -1), ((found - turned) / 2).reshape(len(found), -1)

    def pairs_at(self, lag: int) -> np.ndarray:
        return np.full(self.plan.blocks.number, 100)


def plan_for(p: np.ndarray, length: int, blocks: int = 2, metric="chi2-floor", total: int = 10_000) -> Plan:
    return Plan(p, Blocks(total, blocks), length, metric, "tables")


def population(p: np.ndarray, by_lag: np.ndarray, metric="chi2-floor") -> Given:
    """The same matrices in every block: products of blocks are exact squares."""
    return Given(plan_for(p, len(by_lag) + 1, metric=metric), np.repeat(by_lag[:, None], 2, axis=1))


def stationary(step: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eig(step.T)
    vector = vectors[:, np.argmax(values.real)].real
    return vector / vector.sum()


def covariances(steps: np.ndarray, lags: int) -> tuple[np.ndarray, np.ndarray]:
    """p, and K(t) of a mixture of Markov chains: the mean of diag(pi) P^t, less p p^T."""
    laws = [stationary(step) for step in steps]
    p = np.mean(laws, axis=0)
    joint = [
        np.mean([np.diag(law) @ np.linalg.matrix_power(step, t) for law, step in zip(laws, steps, strict=True)], axis=0)
        for t in range(1, lags + 1)
    ]
    return p, np.array(joint) - np.outer(p, p)


def shares(tensor: np.ndarray) -> tuple[float, float, float, float]:
    """The score, the parts of distance and direction, and the mean square, position by position; `tensor` is [a, b, i, j]."""
    different = [(a, b) for a, b in itertools.permutations(range(len(tensor)), 2)]
    mean = np.mean([tensor[pair] for pair in different], axis=0)
    energy = np.mean([(tensor[pair] ** 2).sum() for pair in different])
    even = {pair: (tensor[pair] + tensor[pair].T) / 2 for pair in different}
    odd = {pair: (tensor[pair] - tensor[pair].T) / 2 for pair in different}
    distance = np.mean([((even[pair] - mean) ** 2).sum() for pair in different])
    direction = np.mean([(odd[pair] ** 2).sum() for pair in different])
    return (mean**2).sum() / energy, distance / energy, direction / energy, float(energy)


def by_position(p: np.ndarray, by_lag: np.ndarray, metric) -> np.ndarray:
    """The tensor [a, b, i, j] of a stationary process in the metric, with the covariance of one position on its diagonal."""
    length, s = len(by_lag) + 1, weights(metric, p)
    tensor = np.empty((length, length, len(p), len(p)))
    for a, b in itertools.product(range(length), repeat=2):
        tensor[a, b] = np.diag(p) - np.outer(p, p) if a == b else by_lag[b - a - 1] if a < b else by_lag[a - b - 1].T
    return tensor * np.outer(s, s)


PERMUTATIONS = list(itertools.permutations(range(5)))


@pytest.mark.parametrize("metric", METRICS)
def test_the_invariant_part_is_the_average_over_all_permutations(metric):
    rng = np.random.default_rng(1)
    p, by_lag = covariances(rng.dirichlet([0.5] * 4, size=(2, 4)), lags=4)
    tensor = by_position(p, by_lag, metric)
    average = np.mean([tensor[np.ix_(order, order)] for order in PERMUTATIONS], axis=0)
    assert len(PERMUTATIONS) == 120

    known = population(p, by_lag, metric)
    sums = Sums()
    for lag in range(1, 5):
        sums.add(known.centred(lag)[0])
    for a, b in itertools.permutations(range(5), 2):
        np.testing.assert_allclose(sums.weighted[0].reshape(4, 4) / (4 + 3 + 2 + 1), average[a, b], atol=1e-14)
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
    steps = []
    found = symmetry(population(p, by_lag), progress=lambda done, total: steps.append((done, total)))
    tensor = by_position(p, by_lag, "chi2-floor")
    assert steps == [(lag, 9) for lag in range(1, 10)]
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


# Processes whose scores are known in closed form: the mean over repeats, and how often intervals cover the truth.


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
