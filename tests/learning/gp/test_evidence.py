"""The log marginal likelihood and its gradient against NumPy, finite differences and JAX's own derivative of a Cholesky."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from specht.learning.gp.evidence import log_evidence
from specht.learning.gp.regression import regress

RNG = np.random.default_rng(0)
ROOT, Y = RNG.normal(size=(12, 9)), RNG.normal(size=(12, 2))
GRAM = ROOT @ ROOT.T


def plain(gram, y, ridge):
    """The same formula without a derivative of its own."""
    matrix = gram + ridge * jnp.eye(12)
    _, log_determinant = jnp.linalg.slogdet(2 * jnp.pi * matrix)
    return -0.5 * (jnp.vdot(y, jnp.linalg.solve(matrix, y)) + y.shape[1] * log_determinant)


def test_value_is_that_of_regression():
    with jax.enable_x64(True):
        assert float(log_evidence(GRAM, Y, 0.3)) == pytest.approx(regress(GRAM, Y, 0.3).log_marginal_likelihood, rel=1e-12)


def test_gradients_in_gram_labels_and_ridge():
    with jax.enable_x64(True):
        ours, theirs = (jax.jit(jax.grad(function, argnums=(0, 1, 2)))(GRAM, Y, 0.3) for function in (log_evidence, plain))
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_composes_with_jit_and_vmap():
    with jax.enable_x64(True):
        ridges = np.linspace(0.1, 2.0, 5)
        slopes = jax.jit(jax.vmap(jax.grad(lambda ridge: log_evidence(GRAM, Y, ridge))))(jnp.asarray(ridges))
        step = 1e-5
        values = [(regress(GRAM, Y, r + step).log_marginal_likelihood, regress(GRAM, Y, r - step).log_marginal_likelihood) for r in ridges]
        np.testing.assert_allclose(slopes, [(up - down) / (2 * step) for up, down in values], rtol=1e-6)


def test_not_a_number_where_there_is_no_likelihood():
    with jax.enable_x64(True):
        assert np.isnan(float(log_evidence(-GRAM, Y, 0.1)))
