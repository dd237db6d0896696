"""Third cumulants: against all windows and orders of three positions, exchangeable draws, and the closed form of a Markov chain."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from specht.corpus.read.stream import Segment
from specht.corpus.stats.third import ThirdMoments, gap_pairs, third_score
from specht.errors import InputError


def circular(ids: np.ndarray, length: int, blocks: int = 2) -> ThirdMoments:
    """The triples of a stream closed to a ring, in every block the same: products of blocks are exact squares."""
    moments = ThirdMoments(length, int(ids.max()) + 1, blocks)
    for block in range(blocks):
        moments.update(Segment(np.concatenate([ids, ids[: length - 1]]), len(ids), block))
    return moments


@pytest.mark.parametrize("length", [3, 4, 7])
def test_all_windows_and_ordered_triples(length):
    rng = np.random.default_rng(length)
    ids, weights = rng.integers(0, 3, 30), np.array([1.0, 2.0, 0.5])
    windows = np.stack([np.roll(ids, -a) for a in range(length)], axis=1)
    y = (np.eye(3)[windows] - np.bincount(ids) / len(ids)) * weights
    triples = itertools.permutations(range(length), 3)
    cumulants = [np.einsum("ni,nj,nk->ijk", *(y[:, a] for a in triple)) / len(y) for triple in triples]
    invariant, energy = (np.mean(cumulants, axis=0) ** 2).sum(), np.mean([(each**2).sum() for each in cumulants])

    found = third_score(circular(ids, length), weights)
    assert found.energy.value == pytest.approx(energy)
    assert found.invariant.value == pytest.approx(invariant)
    assert found.score.value == pytest.approx(invariant / energy)


def test_triples_stay_inside_records():
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 9, size=50)
    ids = rng.integers(0, 2, sizes.sum())
    left = np.concatenate([np.arange(size)[::-1] for size in sizes])
    owned = len(ids) - 5
    moments = ThirdMoments(5, 2, 1)
    moments.update(Segment(ids, owned, 0, left[:owned]))
    for index, (s, t) in enumerate(moments.gaps):
        expected = np.zeros((2, 2, 2))
        for n in range(owned):
            if left[n] >= s + t:
                expected[ids[n], ids[n + s], ids[n + s + t]] += 1
        np.testing.assert_array_equal(moments.triples[0, index].reshape(2, 2, 2), expected)


def test_pieces_add_up_in_any_order():
    rng = np.random.default_rng(2)
    segments = [Segment(rng.integers(0, 3, 40).astype(np.uint8), 36, block) for block in (0, 1, 0, 1)]
    whole, pieces = ThirdMoments(5, 3, 2), [ThirdMoments(5, 3, 2) for _ in segments]
    for segment, piece in zip(segments, pieces, strict=True):
        whole.update(segment)
        piece.update(segment)
    merged = ThirdMoments(5, 3, 2)
    merged.restore(pieces[3].arrays())
    for piece in (pieces[1], pieces[0], pieces[2]):
        merged.merge(piece)
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(merged.arrays()[name], array)


def test_exchangeable_draws_score_one():
    rng = np.random.default_rng(1)
    length, inside, scores = 6, 0, []
    left = np.tile(np.arange(length)[::-1], 400)
    for repeat in range(12):
        moments = ThirdMoments(length, 3, 12)
        for block in range(12):
            composition = rng.dirichlet([0.3, 0.5, 0.7], size=400)
            tokens = (rng.random((400, length, 1)) > composition.cumsum(axis=1)[:, None, :2]).sum(axis=2).ravel()
            moments.update(Segment(tokens, len(tokens), block, left))
        found = third_score(moments, np.ones(3), seed=repeat)
        assert found.defined
        assert found.z > 5
        inside += found.score.low <= 1 <= found.score.high
        scores.append(found.score.value)
    assert inside >= 9
    assert abs(np.mean(scores) - 1) < 4 * np.std(scores) / math.sqrt(len(scores)) + 1e-3


def two_states(length: int, eigenvalue: float) -> float:
    r"""S3 of a chain of two states, where $T(s,t) = p (1-p) (1-2p) \lambda^{s+t}$ times signs."""
    gaps = gap_pairs(length)
    w = np.array([length - s - t for s, t in gaps]) / math.comb(length, 3)
    power = eigenvalue ** np.array([s + t for s, t in gaps])
    return float((w @ power) ** 2 / (w @ power**2))


def test_markov_chain_in_closed_form():
    length, eigenvalue, p = 6, 0.6, 0.2
    stationary = np.array([p, 1 - p])
    step = eigenvalue * np.eye(2) + (1 - eigenvalue) * stationary
    moments = ThirdMoments(length, 2, 2)
    for index, (s, t) in enumerate(moments.gaps):
        first, second = np.linalg.matrix_power(step, s), np.linalg.matrix_power(step, t)
        moments.triples[:, index] = np.rint(1e12 * np.einsum("i,ij,jk->ijk", stationary, first, second)).ravel()
    moments.tokens[:] = np.rint(1e12 * stationary)
    found = third_score(moments, np.ones(2))
    assert found.score.value == pytest.approx(two_states(length, eigenvalue), rel=1e-8)
    w = np.array([length - s - t for s, t in moments.gaps]) / math.comb(length, 3)
    square = (p * (1 - p) * (1 - 2 * p)) ** 2 * 8 * (w @ [eigenvalue ** (2 * (s + t)) for s, t in moments.gaps])
    assert found.energy.value == pytest.approx(square, rel=1e-8)


def test_markov_chain_with_three_states_in_powers_of_its_matrix():
    rng = np.random.default_rng(8)
    step = rng.dirichlet([1, 1, 1], size=3)
    stationary = np.linalg.matrix_power(step, 200)[0]
    length, weights = 5, np.array([1.0, 3.0, 0.0])
    moments = ThirdMoments(length, 3, 2)
    centred = []
    for index, (s, t) in enumerate(moments.gaps):
        joint = np.einsum("i,ij,jk->ijk", stationary, np.linalg.matrix_power(step, s), np.linalg.matrix_power(step, t))
        moments.triples[:, index] = np.rint(1e12 * joint).ravel()
        ij, ik, jk = joint.sum(axis=2), joint.sum(axis=1), joint.sum(axis=0)
        q = stationary
        cumulant = joint - np.einsum("ij,k->ijk", ij, q) - np.einsum("ik,j->ijk", ik, q) - np.einsum("jk,i->ijk", jk, q)
        centred.append((cumulant + 2 * np.einsum("i,j,k->ijk", q, q, q)) * np.einsum("i,j,k->ijk", weights, weights, weights))
    moments.tokens[:] = np.rint(1e12 * stationary)
    w = np.array([length - s - t for s, t in moments.gaps]) / math.comb(length, 3)
    mean = np.einsum("x,xijk->ijk", w, centred)
    mean = np.mean([mean.transpose(order) for order in itertools.permutations(range(3))], axis=0)
    energy = w @ [(each**2).sum() for each in centred]
    found = third_score(moments, weights)
    assert found.energy.value == pytest.approx(energy, rel=1e-6)
    assert found.score.value == pytest.approx((mean**2).sum() / energy, rel=1e-6)


def test_sampled_markov_chain_lies_inside_its_interval():
    rng = np.random.default_rng(6)
    length, eigenvalue, p, number = 6, 0.6, 0.2, 60_000
    renewed, fresh = rng.random(number) > eigenvalue, (rng.random(number) > p).astype(np.intp)
    # The state is the fresh one drawn at the last renewal.
    ids = fresh[np.maximum.accumulate(np.where(renewed, np.arange(number), 0))]
    moments = ThirdMoments(length, 2, 12)
    for block in range(12):
        moments.update(Segment(ids[block * 5000 : (block + 1) * 5000], 5000, block))
    found = third_score(moments, np.ones(2))
    assert found.score.low < two_states(length, eigenvalue) < found.score.high
    assert str(found) == str(found.score)


def test_independent_tokens_are_undefined():
    rng = np.random.default_rng(0)
    moments = ThirdMoments(6, 3, 12)
    for block in range(12):
        moments.update(Segment(rng.integers(0, 3, 2000), 2000, block))
    found = third_score(moments, np.ones(3))
    assert not found.defined
    assert str(found).startswith("undefined")


def test_bad_input_is_answered_by_a_sentence():
    moments = ThirdMoments(7, 3, 2)
    with pytest.raises(InputError, match="0 of 0 blocks hold data"):
        third_score(moments, np.ones(3))
    with pytest.raises(InputError, match="length must be a whole number of at least 3"):
        ThirdMoments(2, 3, 2)
    with pytest.raises(InputError, match="one a symbol"):
        third_score(moments, np.ones(4))
    with pytest.raises(InputError, match="count all pieces alike"):
        moments.merge(ThirdMoments(6, 3, 2))
    with pytest.raises(InputError, match="GiB"):
        ThirdMoments(64, 1000, 16)
