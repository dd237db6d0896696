"""The self-consistent equation, against a root finder that knows nothing of tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import brentq

from specht.errors import InputError
from specht.learning.curves import equivalent_kernel, renormalised, samples_at

EIGENVALUES = np.array([0.5, 0.1, 0.02, 0.004, 1e-4, 1e-9])
DEGENERACIES = np.array([1.0, 4.0, 9.0, 30.0, 200.0, 5000.0])


def _by_root_finding(n, ridge):
    def surplus(log_kappa):
        kappa = np.exp(log_kappa)
        return (DEGENERACIES * EIGENVALUES / (EIGENVALUES + kappa)).sum() + ridge / kappa - n

    return np.exp(brentq(surplus, -60.0, 10.0, xtol=1e-13))


@pytest.mark.parametrize("ridge", [0.0, 1e-6, 0.05, 1.0, 30.0])
def test_kappa_is_the_root(ridge):
    n = np.array([1.0, 3.0, 16.0, 64.0, 500.0, 5000.0])
    found = renormalised(EIGENVALUES, DEGENERACIES, n, ridge)
    np.testing.assert_allclose(found.kappa, [_by_root_finding(each, ridge) for each in n], rtol=1e-10)
    share = EIGENVALUES / (EIGENVALUES + found.kappa[:, None])
    np.testing.assert_allclose(found.learnability, share, rtol=1e-12)
    np.testing.assert_allclose(found.overfitting, n / (n - share**2 @ DEGENERACIES), rtol=1e-9)


def test_without_ridge_enough_samples_learn_everything():
    rank = DEGENERACIES.sum()
    found = renormalised(EIGENVALUES, DEGENERACIES, np.array([rank, 2 * rank]), 0.0)
    np.testing.assert_array_equal(found.kappa, 0.0)
    np.testing.assert_array_equal(found.learnability, 1.0)
    np.testing.assert_allclose(found.overfitting, [np.inf, 2.0])


@given(st.lists(st.floats(-12, 1), min_size=1, max_size=30), st.floats(-8, 3), st.floats(0, 8))
def test_solves_its_own_equation(logs, log_ridge, log_n):
    eigenvalues, degeneracies = 10.0 ** np.array(logs), np.arange(1.0, len(logs) + 1.0)
    ridge, n = 10.0**log_ridge, 10.0**log_n
    kappa = renormalised(eigenvalues, degeneracies, np.array([n]), ridge).kappa
    assert samples_at(eigenvalues, degeneracies, kappa, ridge)[0] == pytest.approx(n, rel=1e-9)


def test_more_samples_learn_more_and_ridges_broadcast():
    n, ridge = np.geomspace(1, 1e5, 40), np.array([[0.01], [1.0]])
    found = renormalised(EIGENVALUES, DEGENERACIES, n, ridge)
    assert found.kappa.shape == (2, 40)
    assert found.learnability.shape == (2, 40, 6)
    assert (np.diff(found.learnability, axis=1) > 0).all()
    assert (found.learnability[0] > found.learnability[1]).all()
    np.testing.assert_allclose(found.kappa[1], renormalised(EIGENVALUES, DEGENERACIES, n, 1.0).kappa, rtol=1e-12)


def test_a_vanishing_eigenvalue_is_never_learnt():
    found = renormalised(np.array([1.0, 0.0]), np.array([2.0, 7.0]), np.array([1.0, 2.0, 100.0]), 0.0)
    np.testing.assert_array_equal(found.learnability[:, 1], 0.0)
    np.testing.assert_array_equal(found.kappa[1:], 0.0)  # the zero does not count towards the rank
    np.testing.assert_allclose(renormalised(np.zeros(2), np.ones(2), np.array([4.0]), 2.0).kappa, 0.5)


def test_the_equivalent_kernel_leaves_the_others_out():
    found = equivalent_kernel(EIGENVALUES, DEGENERACIES, np.array([10.0, 100.0]), 0.3)
    np.testing.assert_allclose(found.kappa, [0.03, 0.003])
    np.testing.assert_array_equal(found.overfitting, 1.0)


BAD = {
    "two lists of one length": (EIGENVALUES, DEGENERACIES[:2], [4.0], 1.0),
    "not negative": (-EIGENVALUES, DEGENERACIES, [4.0], 1.0),
    "positive numbers of samples": (EIGENVALUES, DEGENERACIES, [0.0], 1.0),
    "at least 0": (EIGENVALUES, DEGENERACIES, [4.0], -1.0),
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input(words):
    eigenvalues, degeneracies, n, ridge = BAD[words]
    with pytest.raises(InputError, match=words):
        renormalised(eigenvalues, degeneracies, np.array(n), ridge)
