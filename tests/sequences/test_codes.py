"""Nearly orthogonal codes and the vector of equal overlaps."""

from __future__ import annotations

import numpy as np
import pytest

from specht.errors import InputError
from specht.sequences.codes import dual_code, random_codes


def test_codes_are_signs_of_norm_one():
    codes = random_codes(np.random.default_rng(0), 16, 50)
    assert codes.shape == (16, 50)
    np.testing.assert_allclose(np.abs(codes), 0.25)
    np.testing.assert_allclose(np.linalg.norm(codes, axis=0), 1.0)


def test_dual_code_overlaps_alike_and_is_the_shortest_that_does():
    codes = random_codes(np.random.default_rng(1), 40, 100)
    chosen = [3, 17, 58, 99]
    found = dual_code(codes, chosen)
    np.testing.assert_allclose(codes[:, chosen].T @ found, 1.0, atol=1e-12)
    shortest = np.linalg.lstsq(codes[:, chosen].T, np.ones(4), rcond=None)[0]
    np.testing.assert_allclose(found, shortest, atol=1e-12)


def test_orthogonal_codes_are_added():
    np.testing.assert_allclose(dual_code(np.eye(5), [0, 3]), [1, 0, 0, 1, 0])


def test_several_choices_at_once():
    codes, rng = random_codes(np.random.default_rng(2), 30, 20), np.random.default_rng(3)
    chosen = np.array([[rng.choice(20, 3, replace=False) for _ in range(4)] for _ in range(2)])
    found = dual_code(codes, chosen)
    assert found.shape == (2, 4, 30)
    for place in np.ndindex(2, 4):
        np.testing.assert_allclose(found[place], dual_code(codes, chosen[place]), atol=1e-12)


def test_dependent_codes_are_refused():
    with pytest.raises(InputError, match="linearly dependent"):
        dual_code(np.ones((4, 3)), [0, 1])
