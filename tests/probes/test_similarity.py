"""How positions show in hidden states: against loops, ties, closed forms and probes that must find nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from specht.errors import InputError
from specht.probes.similarity import (
    adjacency_score,
    position_probe,
    rows_without_self,
    self_cosines,
    size_features,
    slice_score,
    uniform_cosines,
)


def states(seed: int, n: int = 5, length: int = 6, width: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, length, width))


def test_cosines_are_those_of_a_loop():
    hidden = states(0)
    hidden[0, 2] = 0.0
    found = self_cosines(hidden)
    for b, i, j in itertools.product(range(5), range(6), range(6)):
        norm = np.linalg.norm(hidden[b, i]) * np.linalg.norm(hidden[b, j])
        assert found[b, i, j] == pytest.approx(hidden[b, i] @ hidden[b, j] / norm if norm else 0.0, abs=1e-14)


def looped_adjacency(cosines: np.ndarray) -> float:
    wins = []
    for matrix in cosines:
        length = len(matrix)
        for i, j, k in itertools.permutations(range(length), 3):
            if (j - i) * (k - i) > 0 and abs(j - i) < abs(k - i):
                apart = matrix[i, j] - matrix[i, k]
                wins.append(0.5 if abs(apart) < 1e-13 else float(apart > 0))
    return float(np.mean(wins))


def test_adjacency_is_that_of_a_loop_over_triples():
    cosines = self_cosines(states(1))
    cosines[0, 0, 2] = cosines[0, 0, 4]
    assert adjacency_score(cosines) == pytest.approx(looped_adjacency(cosines), abs=1e-14)
    assert adjacency_score(cosines[1]) == pytest.approx(looped_adjacency(cosines[1:2]), abs=1e-14)


def test_equal_states_are_ties_even_after_rounding():
    same = np.repeat(states(3, length=1), 8, axis=1)
    noisy = same * (1.0 + 1e-16 * np.random.default_rng(0).normal(size=same.shape))
    assert adjacency_score(self_cosines(noisy)) == 0.5
    assert adjacency_score(self_cosines(same)) == 0.5


def test_running_means_have_the_cosines_of_uniform_attention():
    values = np.random.default_rng(4).normal(size=(400, 12, 256))
    means = np.cumsum(values, axis=1) / np.arange(1, 13)[None, :, None]
    found = self_cosines(means)
    stderr = found.std(axis=0, ddof=1) / np.sqrt(len(found)) + 1e-12
    # A cosine of random vectors is biased by about one over the width.
    assert (np.abs(found.mean(axis=0) - uniform_cosines(12)) < 4 * stderr + 1 / 256).all()
    assert adjacency_score(found) > 0.99


def test_cosines_with_a_stream_beside_attention():
    rng = np.random.default_rng(5)
    stream = rng.normal(size=(400, 10, 256)) * np.sqrt(0.3)
    means = np.cumsum(rng.normal(size=(400, 10, 256)), axis=1) / np.arange(1, 11)[None, :, None]
    found = self_cosines(stream + means)
    stderr = found.std(axis=0, ddof=1) / np.sqrt(len(found)) + 1e-12
    assert (np.abs(found.mean(axis=0) - uniform_cosines(10, residual=0.3)) < 4 * stderr + 1 / 256).all()


def test_slices_are_those_of_a_loop():
    one, other = states(6), states(7) + states(6)
    first, second = (each - each.reshape(-1, 4).mean(axis=0) for each in (one, other))
    cosines = np.zeros((6, 6))
    for b, i, j in itertools.product(range(5), range(6), range(6)):
        cosines[i, j] += first[b, i] @ second[b, j] / np.linalg.norm(first[b, i]) / np.linalg.norm(second[b, j]) / 5
    found = slice_score(one, other)
    off = [np.mean([cosines[i, j] for j in range(6) if j != i]) for i in range(6)]
    assert found.score == pytest.approx(np.mean(np.diag(cosines) - off), abs=1e-13)
    assert found.hit == np.mean([np.argmax(cosines[i]) == i for i in range(6)])


def test_a_row_does_not_give_its_own_place_away():
    # Independent states know nothing of their position; with its own cosine of one a row would tell it exactly.
    cosines = self_cosines(np.random.default_rng(8).normal(size=(400, 6, 32)))
    assert position_probe(cosines) > 0.8
    assert abs(position_probe(rows_without_self(cosines))) < 0.05
    assert rows_without_self(cosines)[3, 2].tolist() == [cosines[3, 2, j] for j in (0, 1, 3, 4, 5)]


def test_sizes_tell_the_position_of_running_means():
    values = np.random.default_rng(9).normal(size=(200, 8, 64))
    means = np.cumsum(values, axis=1) / np.arange(1, 9)[None, :, None]
    assert position_probe(size_features(means)) > 0.8
    assert abs(position_probe(size_features(values))) < 0.05
    assert position_probe(rows_without_self(self_cosines(means))) > 0.8


@pytest.mark.parametrize(
    ("attempt", "sentence"),
    [
        (lambda: self_cosines(np.ones(3)), "States have the shape"),
        (lambda: adjacency_score(np.ones((2, 2))), "three or more positions"),
        (lambda: adjacency_score(np.ones((2, 3, 4))), "Cosines have the shape"),
        (lambda: slice_score(states(0), states(0)[:, :3]), "states of one shape"),
        (lambda: position_probe(states(0, n=2)), "A probe is fitted"),
    ],
)
def test_bad_input_gets_a_sentence(attempt, sentence):
    with pytest.raises(InputError, match=sentence):
        attempt()
