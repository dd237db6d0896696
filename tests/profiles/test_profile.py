"""The symmetry profile: known weights lie in its intervals, at the rate that it promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

import specht
from specht.errors import InputError
from specht.groups.irreps import isotypic_projectors
from specht.groups.partition import Partition
from specht.profiles.solve import Profile, profile
from specht.sequences.actions import action_on
from specht.sequences.sources import Source, default_mixture, generic_mixture, iid, uniform


def exact_shapes(function, source: Source, length: int, readout: str = "mean") -> dict[Partition, float]:
    """Weights by irrep from projectors on all sequences, under the law averaged over permutations."""
    x, p = source.enumerate(length + (readout == "last"))
    values = np.asarray(function(x), dtype=float).reshape(len(x), -1)
    orbits = np.unique(np.hstack([np.sort(x[:, :length], axis=1), x[:, length:]]), axis=0, return_inverse=True)[1]
    weights: dict[Partition, float] = {}
    for orbit in np.unique(orbits):
        members = orbits == orbit
        for shape, projector in isotypic_projectors(length, action_on(x[members], length)).items():
            weights[shape] = weights.get(shape, 0.0) + p[members].mean() * float(((projector @ values[members]) ** 2).sum())
    return weights


def by_level(shapes: dict[Partition, float], levels: tuple[int, ...]) -> np.ndarray:
    found = np.zeros(len(levels) + 1)
    for shape, weight in shapes.items():
        found[min(shape.level, len(levels))] += weight
    return found


def assert_inside(found: Profile, weights, slack: float = 1e-9) -> None:
    low, high = np.append(found.low, found.above.low), np.append(found.high, found.above.high)
    assert (low - slack <= weights).all(), f"{weights} below {low}"
    assert (weights <= high + slack).all(), f"{weights} above {high}"


JOINT = 0.99
"""Confidence of each of about six intervals that have to hold together with about 95 %."""


def signs(x: np.ndarray) -> np.ndarray:
    return 2.0 * x - 1.0


class TestKnownWeights:
    def test_sum_one_position_and_a_pair_at_length_40(self):
        length = 40

        def f(x):
            s = signs(x[:, :length])
            return 0.5 * s.sum(axis=1) / math.sqrt(length) + s[:, 3] + s[:, 1] * s[:, 7]

        pairs = math.comb(length, 2)
        # A monomial of degree d has the share dim(L - m, m) / C(L, d) at level m.
        zero = 0.25 + 1 / math.sqrt(length) + 1 / length + 1 / pairs
        exact = np.array([zero, 1 - 1 / length + (length - 1) / pairs, 1 - length / pairs, 0, 0, 0])
        np.testing.assert_allclose(exact[:3], [0.434, 1.025, 0.949], atol=6e-4)
        found = profile(f, uniform(2), length, seed=1, samples=6000, confidence=JOINT)
        assert_inside(found, exact)
        assert (found.high - found.low).max() < 0.15
        assert found.total == pytest.approx(exact.sum(), abs=0.06)
        assert found.above.value < 0.001

    def test_three_tokens_with_an_antisymmetric_part(self):
        length = 6

        def f(x):
            one, two = (x == 1).astype(float), (x == 2).astype(float)
            return one[:, 0] * two[:, 1] - two[:, 0] * one[:, 1] + 0.3 * (x[:, 2] == 0)

        shapes = exact_shapes(f, uniform(3), length)
        assert shapes[Partition((4, 1, 1))] > 0.04
        found = profile(f, uniform(3), length, seed=0, samples=6000, readout="mean", confidence=JOINT)
        assert_inside(found, by_level(shapes, found.levels))
        for shape in found.shapes:
            assert shape.low - 1e-9 <= shapes.get(shape.irrep, 0.0) <= shape.high + 1e-9
        # And the antisymmetric part is seen as such: the symmetric one alone cannot explain it.
        assert next(shape.low for shape in found.shapes if shape.irrep == Partition((4, 1, 1))) > 0.0

    def test_vectors_at_every_position(self):
        length = 12

        def f(x):
            cross = x[:, 0, 0] * x[:, 1, 1] - x[:, 0, 1] * x[:, 1, 0]
            return cross + x[:, 2, 0] + 0.5 * x[:, :, 1].sum(axis=1) / math.sqrt(length)

        # e_0 ^ e_1 has the share 2/L in (L-1,1) and the rest in (L-2,1,1).
        exact = np.array([0.25 + 1 / length, 1 - 1 / length + 4 / length, 2 - 4 / length, 0, 0, 0])
        found = profile(f, lambda rng, n: rng.normal(size=(n, length, 2)), length, seed=3, samples=6000, confidence=JOINT)
        assert_inside(found, exact)
        assert found.shuffled  # the law of a function is not known

    def test_any_function_of_three_tokens_under_a_mixture(self):
        length, source = 5, default_mixture(3)
        table = np.random.default_rng(5).normal(size=(3,) * (length + 1))
        f = lambda x: table[tuple(x.T)]  # noqa: E731
        shapes = exact_shapes(f, source, length, readout="last")
        found = profile(f, source, length, seed=2, samples=4000, confidence=JOINT)
        assert_inside(found, by_level(shapes, found.levels))
        assert found.total == pytest.approx(sum(shapes.values()), rel=0.1)

    def test_several_outputs_add_up_under_a_biased_law(self):
        length, source = 9, iid([0.3, 0.7])
        couplings = np.random.default_rng(1).normal(size=(length, length))
        f = lambda x: np.stack([np.einsum("ni,ij,nj->n", x - 0.5, couplings, x - 0.5), 3.0 + x[:, 0] * x[:, 1] * x[:, 2]], axis=1)  # noqa: E731
        shapes = exact_shapes(f, source, length)
        found = profile(f, source, length, seed=0, samples=3000, readout="mean", confidence=JOINT)
        assert_inside(found, by_level(shapes, found.levels))
        assert found.mean_square.low <= sum((source.enumerate(length)[1] @ f(source.enumerate(length)[0])) ** 2) <= found.mean_square.high

    def test_parity_of_many_bits_lies_above(self):
        length, bits = 20, 8
        found = profile(lambda x: signs(x[:, :bits]).prod(axis=1), uniform(2), length, samples=4000, max_level=3, confidence=JOINT)
        dimensions = np.array([Partition((length - m, m) if m else (length,)).dimension for m in range(bits + 1)])
        shares = dimensions / math.comb(length, bits)
        assert_inside(found, np.append(shares[:4], shares[4:].sum()))
        assert found.above.low > 0.8
        assert found.weights.sum() + found.above.value == found.total == pytest.approx(1.0, abs=1e-3)

    def test_a_random_function_is_left_with_nothing(self):
        table = np.random.default_rng(0).normal(size=2**12)
        found = profile(lambda x: table[x[:, :12] @ 2 ** np.arange(12)], uniform(2), 60, max_level=2, samples=1000)
        assert found.above.value > 0.9 * found.total
        assert found.above.low > 0.7 * found.total


class TestCoverage:
    # Percentiles of a bootstrap need more sequences to hold as often.
    @pytest.mark.parametrize(("interval", "samples"), [("likelihood", 400), pytest.param("bootstrap", 2000, marks=pytest.mark.slow)])
    def test_intervals_hold_as_often_as_they_say(self, interval, samples):
        length, repeats, confidence = 10, 40, 0.9
        source = iid([0.3, 0.7])
        f = lambda x: x[:, 0] * x[:, 1] + 0.5 * x[:, 2] + 0.2 * x[:, :length].sum(axis=1)  # noqa: E731
        exact = by_level(exact_shapes(f, source, length), (0, 1, 2))[:3]
        inside = np.zeros(3)
        for seed in range(repeats):
            found = profile(f, source, length, seed, samples=samples, max_level=2, confidence=confidence, interval=interval, readout="mean")
            inside += (found.low <= exact) & (exact <= found.high)
        assert (inside >= binom.ppf(0.01 / 3, repeats, confidence)).all(), inside

    def test_bootstrap_and_likelihood_agree_on_a_weight_far_from_zero(self):
        f = lambda x: signs(x[:, 0]) + signs(x[:, 1]) * signs(x[:, 2])  # noqa: E731
        one, other = (profile(f, uniform(2), 20, samples=2000, interval=interval) for interval in ("likelihood", "bootstrap"))
        assert (one.weights == other.weights).all()
        for level in (1, 2):
            assert other.high[level] - other.low[level] == pytest.approx(one.high[level] - one.low[level], rel=0.35)
            assert other.shares[level].low < other.shares[level].value < other.shares[level].high

    def test_errors_fall_with_the_root_of_samples(self):
        f = lambda x: signs(x[:, 0]) + signs(x[:, 1]) * signs(x[:, 2])  # noqa: E731
        widths = [np.subtract(*(lambda p: (p.high, p.low))(profile(f, uniform(2), 20, samples=n)))[1] for n in (400, 3600)]
        assert widths[0] / widths[1] == pytest.approx(3.0, rel=0.25)


class TestSimpleFunctions:
    def test_constant_is_level_0(self):
        found = profile(lambda x: np.full(len(x), 3.0), uniform(2), 10, samples=100)
        assert found.weights.tolist() == [9.0, 0.0, 0.0, 0.0, 0.0]
        assert (found.total, found.mean_square.value, found.variance, found.order.value) == (9.0, 9.0, 0.0, 0.0)
        assert found.variance_shares.tolist() == [0.0] * 5

    def test_zero_has_no_weight(self):
        found = profile(lambda x: np.zeros(len(x)), uniform(2), 10, samples=100)
        assert (found.total, found.above.value, found.weights.tolist()) == (0.0, 0.0, [0.0] * 5)
        assert "total  0" in str(found)

    def test_counts_ignore_order(self):
        found = profile(lambda x: (x[:, :30] == 1).mean(axis=1), default_mixture(4), 30)
        assert found.order.high < 0.005
        assert found.weights[0] == pytest.approx(found.total, rel=1e-3)

    def test_a_large_mean_does_not_drown_the_rest(self):
        f = lambda x: 100.0 + signs(x[:, 0])  # noqa: E731
        found = profile(f, uniform(2), 20)
        assert found.mean_square.value == pytest.approx(1e4, rel=1e-3)
        assert found.variance_shares[1] == pytest.approx(0.95, abs=0.02)
        assert found.order.low < 0.95 < found.order.high

    def test_the_readout_token_stays(self):
        found = profile(lambda x: signs(x[:, -1]), uniform(2), 10)
        assert found.weights[0] == pytest.approx(1.0, abs=1e-3)

    @pytest.mark.parametrize("length", [1, 2, 3])
    def test_short_sequences(self, length):
        f = lambda x: signs(x[:, 0])  # noqa: E731
        found = profile(f, uniform(2), length, confidence=JOINT)
        assert found.levels == tuple(range(length // 2 + 1))
        assert_inside(found, by_level(exact_shapes(f, uniform(2), length), found.levels))
        assert found.above == (0.0, 0.0, 0.0)

    def test_one_token_has_level_0_alone(self):
        assert profile(lambda x: x.sum(axis=1) + 1.0, uniform(1), 5, samples=100).levels == (0,)


class TestArguments:
    def test_what_stays_fixed(self):
        # The query says which coordinate counts; the first position is asked for.
        def sampler(rng, n):
            return rng.normal(size=(n, 10, 2)), (rng.integers(2, size=n), np.ones(n))

        def f(x, fixed):
            query, ones = fixed
            return x[np.arange(len(x)), 0, query] * ones

        assert_inside(profile(f, sampler, 10, samples=1000, confidence=JOINT), np.array([0.1, 0.9, 0, 0, 0, 0]))
        ask = lambda x, query: x[np.arange(len(x)), 0, query]  # noqa: E731
        alone = profile(ask, lambda rng, n: (sampler(rng, n)[0], np.zeros(n, int)), 10, confidence=JOINT)
        assert_inside(alone, np.array([0.1, 0.9, 0, 0, 0, 0]))

    def test_order_in_the_source_is_shuffled_away_and_said(self):
        length, source = 6, generic_mixture(2)
        f = lambda x: x[:, 0] * (1.0 - x[:, 1]) + 0.5 * x[:, 2]  # noqa: E731
        found = profile(f, source, length, samples=3000, readout="mean", confidence=JOINT)
        assert found.shuffled
        assert "under shuffled sequences" in str(found)
        assert_inside(found, by_level(exact_shapes(f, source, length), found.levels))
        assert not profile(f, uniform(2), length, samples=200).shuffled

    def test_same_seed_same_numbers(self):
        run = lambda seed: profile(lambda x: x[:, 0] * x[:, 1], uniform(3), 12, seed, samples=200)  # noqa: E731
        assert (run(4).weights == run(4).weights).all()
        assert (run(4).weights != run(5).weights).any()

    def test_class_column_is_zero(self):
        seen = []
        profile(lambda x: seen.append(x[:, -1].max()) or x[:, 0], uniform(2), 4, samples=100, readout="cls")
        assert max(seen) == 0

    def test_progress(self):
        calls = []
        profile(lambda x: x[:, 0], uniform(2), 2000, samples=200, progress=lambda done, total: calls.append((done, total)))
        assert len(calls) > 1
        assert calls[-1] == (200, 200)

    def test_is_public(self):
        assert specht.profile is profile
        assert specht.Profile is Profile

    def test_correlation_is_that_of_shuffles(self):
        length, f = 12, lambda x: signs(x[:, 0]) + 2.0
        curve = profile(f, uniform(2), length).correlation
        assert (curve.positions[0], curve.positions[-1]) == (0, length)
        # A level-1 part is left with (L - j) / (L - 1) from j = 1 on, and one position is in level 0 with 1/L.
        left = np.where(curve.positions > 0, (length - curve.positions) / (length - 1), 1.0)
        specht.testing.assert_matches_samples(4 + 1 / length + left * (1 - 1 / length), curve.values, curve.stderr + 1e-9, k=4)
        np.testing.assert_allclose(np.interp(curve.positions, curve.curve_positions, curve.curve), curve.values, atol=0.1)


def test_a_function_that_hardly_ever_differs_needs_more_sequences():
    f = lambda x: (x[:, :2] == 7).all(axis=1)  # noqa: E731
    with pytest.raises(
        InputError, match=r"f departs from its mean in about . of 1000 sequences, which is too few for a profile: draw more"
    ):
        profile(f, uniform(50), 10, samples=1000)


NOISE = np.random.default_rng(0)
BAD = {
    "one value for all": (lambda x: np.float64(1.0), "one value or one row of values a sequence"),
    "wrong number": (lambda x: np.ones(3), r"so an array of shape \(8,\) or \(8, outputs\), got shape \(3,\)"),
    "not a number": (lambda x: np.full(len(x), np.nan), "f returned nan for a sequence"),
    "words": (lambda x: np.array(["a"] * len(x)), "real numbers, got an array of dtype <U1"),
    "random": (lambda x: NOISE.normal(size=len(x)), "switch off dropout"),
    "no function": (3, "f must be a function of sequences, got 3"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_functions_are_one_sentence(name):
    f, sentence = BAD[name]
    with pytest.raises(InputError, match=sentence):
        profile(f, uniform(50), 10, samples=100)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"samples": 10}, "samples must be a whole number of at least 100, got 10"),
        ({"max_level": 8}, "max_level must be a whole number from 0 to 7, got 8"),
        ({"confidence": 1.0}, "confidence must lie between 0 and 1, got 1.0"),
        ({"length": 0}, "length must be a whole number of at least 1, got 0"),
        ({"interval": "normal"}, "Unknown interval 'normal'"),
        ({"readout": "first"}, "Unknown readout 'first'"),
        ({"source": 3}, "source must be a source of tokens or a function of a generator and a number, got 3"),
        ({"source": lambda rng, n: np.zeros((n, 4))}, r"so an array of shape \(8, 10, ...\), got shape \(8, 4\)"),
        ({"source": lambda rng, n: (np.zeros((n, 10)), np.zeros(3))}, r"one row a sequence, so 8, got shape \(3,\)"),
    ],
)
def test_bad_arguments_are_one_sentence(change, sentence):
    arguments = {"f": lambda x: x[:, 0], "source": uniform(2), "length": 10} | change
    with pytest.raises(InputError, match=sentence):
        profile(**arguments)
