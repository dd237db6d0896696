"""The kernel of perceptrons against the duals and against sampled wide networks."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from specht.kernel.dual import dual
from specht.kernel.perceptron import perceptron_gram
from specht.testing import assert_psd

X = np.array(list(itertools.product([0, 1], repeat=4)))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_recursion_is_that_of_the_duals(depth):
    signs = 2.0 * X - 1.0
    with jax.enable_x64(True):
        k = theta = jnp.asarray(signs @ signs.T / 4)
        for _ in range(depth):
            one = jnp.ones_like(k)
            step = dual("relu", k, one, one, jnp.eye(len(X), dtype=bool))
            k, theta = 2.0 * step.value, 2.0 * step.value + 2.0 * step.slope * theta
    np.testing.assert_allclose(perceptron_gram(X, depth=depth), k, atol=1e-7)
    np.testing.assert_allclose(perceptron_gram(X, kind="ntk", depth=depth), theta, atol=1e-6)
    assert_psd(perceptron_gram(X, kind="ntk", depth=depth))


def test_wide_networks_have_this_covariance():
    rng, x = np.random.default_rng(0), X[[0, 3, 5, 15]]
    outputs = []
    for _ in range(1500):
        h = np.maximum(0, (2.0 * x - 1.0) @ rng.standard_normal((4, 100)) / 2.0)
        h = np.maximum(0, h @ rng.standard_normal((100, 100)) * np.sqrt(2 / 100))
        outputs.append(h @ rng.standard_normal(100) * np.sqrt(2 / 100))
    products = np.einsum("sa,sb->sab", outputs, outputs)
    mean, error = products.mean(axis=0), products.std(axis=0) / np.sqrt(len(products))
    # Width 100 moves covariances by about a hundredth, beyond the sampling error.
    assert (np.abs(mean - perceptron_gram(x)) < 4 * error + 0.03).all()


def test_between_two_sets():
    np.testing.assert_allclose(perceptron_gram(X[:3], X, kind="ntk"), perceptron_gram(X, kind="ntk")[:3])
