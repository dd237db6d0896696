"""How far heads move and how many can be told apart, against all signs, differences and all pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import special

from specht.errors import InputError
from specht.studies.sparse.bounds import attend, packing_number, packing_radii, steepest_change
from specht.studies.sparse.bounds.covering import spectral

RNG = np.random.default_rng(0)


def random_head(length, width=3):
    return RNG.standard_normal((length, width)), 2 * RNG.standard_normal(length), RNG.standard_normal((width, width))


def test_heads_take_means_of_values():
    tokens, scores, value = random_head(5)
    assert attend(tokens, scores, value) == pytest.approx(
        sum(p * (value.T @ x) for p, x in zip(special.softmax(scores), tokens, strict=True))
    )
    several = attend(np.stack([tokens, 2 * tokens]), np.stack([scores, scores]), value)
    assert several[1] == pytest.approx(2 * several[0])


def test_the_steepest_change_is_that_of_all_signs():
    """The Jacobian by central differences, its norm from the largest entry to the Euclidean norm by all corners of the cube."""
    for length in (2, 3, 6):
        for _ in range(10):
            tokens, scores, value = random_head(length)
            steps = 1e-6 * np.eye(length)
            slopes = np.array([attend(tokens, scores + step, value) - attend(tokens, scores - step, value) for step in steps]) / 2e-6
            largest = max(float(np.linalg.norm(np.array(signs) @ slopes)) for signs in itertools.product((-1, 1), repeat=length))
            found, signs = steepest_change(tokens, scores, value, starts=20)
            assert found == pytest.approx(largest, rel=1e-6)
            assert np.linalg.norm(signs @ slopes) == pytest.approx(found, rel=1e-6)


def test_the_constant_of_softmax_is_one():
    """No head moves faster than the norm of values times the longest token, and two opposite tokens do."""
    for length in (2, 5, 20):
        for _ in range(100):
            tokens, scores, value = random_head(length)
            found, _ = steepest_change(tokens, scores, value)
            assert found <= spectral(value) * np.linalg.norm(tokens, axis=1).max()
    assert steepest_change([[2.0], [-2.0]], [1.0, 1.0], [[3.0]])[0] == pytest.approx(6.0)


def test_packings_lie_apart_and_nothing_can_be_added():
    outputs = RNG.standard_normal((60, 4, 2))
    distances = np.linalg.norm(outputs[:, None] - outputs[None], axis=3).max(axis=2)
    radii = packing_radii(outputs)
    assert (np.diff(radii) <= 1e-12).all()
    for epsilon in (0.5, 1.5, 2.5):
        count = packing_number(radii, epsilon)
        chosen = [0]
        while len(chosen) < count:
            chosen.append(int(distances[chosen].min(axis=0).argmax()))
        apart = distances[np.ix_(chosen, chosen)][np.triu_indices(count, 1)]
        assert (apart > epsilon).all()
        assert distances[chosen].min(axis=0).max() <= epsilon  # every function is near one of them: a cover, too
    assert packing_number(radii, 0.0) == 60
    assert packing_number(packing_radii(np.zeros((3, 2, 1))), 0.0) == 1


def test_outputs_of_another_shape_are_refused():
    with pytest.raises(InputError, match=r"Outputs must be \(functions, points, k\), got the shape \(3, 2\)."):
        packing_radii(np.zeros((3, 2)))
