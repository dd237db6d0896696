"""Activation duals against Gauss-Hermite quadrature, sampling, and exact values at correlation one."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf, ndtr

from specht.kernel.dual import activation_mean, angle_of_gap, arcsine, dual
from specht.testing import assert_matches_samples

ACTIVATIONS = {
    "linear": (lambda u: u, lambda u: np.ones_like(u)),
    "erf": (erf, lambda u: 2 / math.sqrt(math.pi) * np.exp(-(u**2))),
    "relu": (lambda u: np.maximum(u, 0), lambda u: (u > 0).astype(float)),
    "gelu": (lambda u: u * ndtr(u), lambda u: ndtr(u) + u * np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)),
}
COVARIANCES = [(0.3, 0.7, 1.1), (-0.8, 0.9, 1.4), (0.0, 1.0, 2.0), (2.4, 2.5, 2.6)]


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def duals(activation, k, q_x, q_y, same=False):
    return [np.asarray(part) for part in dual(activation, *(jnp.array([v], dtype=jnp.float64) for v in (k, q_x, q_y)), same)]


@pytest.mark.parametrize("activation", ["linear", "erf", "gelu"])
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_smooth_duals_match_quadrature(activation, covariance):
    k, q_x, q_y = covariance
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    weights = np.outer(weights, weights) / weights.sum() ** 2
    root = np.linalg.cholesky([[q_x, k], [k, q_y]])
    u = root[0, 0] * nodes[:, None] + 0 * nodes[None]
    v = root[1, 0] * nodes[:, None] + root[1, 1] * nodes[None]
    value, slope = duals(activation, k, q_x, q_y)
    phi, derivative = ACTIVATIONS[activation]
    np.testing.assert_allclose(value, (weights * phi(u) * phi(v)).sum(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(slope, (weights * derivative(u) * derivative(v)).sum(), rtol=1e-10)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_duals_match_samples(activation, covariance):
    k, q_x, q_y = covariance
    rng = np.random.default_rng(0)
    u, v = np.linalg.cholesky([[q_x, k], [k, q_y]]) @ rng.standard_normal((2, 200_000))
    value, slope = duals(activation, k, q_x, q_y)
    phi, derivative = ACTIVATIONS[activation]
    for exact, samples in ((value, phi(u) * phi(v)), (slope, derivative(u) * derivative(v))):
        stderr = samples.std() / math.sqrt(samples.size)
        assert_matches_samples(exact, np.array([samples.mean()]), np.array([stderr + 1e-15]))
    samples = phi(u)
    mean = np.asarray(activation_mean(activation, jnp.array([q_x], dtype=jnp.float64)))
    assert_matches_samples(mean, np.array([samples.mean()]), np.array([samples.std() / math.sqrt(samples.size)]))


def test_relu_at_correlation_one_is_exact_by_structure():
    q = 0.1 + 0.7 / 3
    perturbed = q * (1 - 1e-16 * 3)  # what rounding makes of a covariance that equals the variance
    value, slope = duals("relu", perturbed, q, q, same=True)
    assert slope == 0.5
    np.testing.assert_allclose(value, q / 2, rtol=1e-15)
    _, clipped = duals("relu", q * (1 - 2.2e-16), q, q, same=False)
    assert abs(clipped - 0.5) > 1e-9  # without the flag rounding shows


def test_relu_of_a_silent_unit_is_zero():
    value, slope = duals("relu", 0.0, 0.0, 1.0)
    assert value == 0.0
    assert np.isfinite(slope)


def test_angles_match_the_library_to_rounding():
    z = np.linspace(-1, 1, 100_001)
    np.testing.assert_allclose(np.asarray(arcsine(jnp.asarray(z))), np.arcsin(z), rtol=4e-16, atol=4e-16)
    gap = np.concatenate([np.logspace(-300, math.log10(1.999), 20_001), [0.0, 2.0]])
    exact = 2 * np.arcsin(np.sqrt(gap / 2))
    near = gap < 1.5  # close to 2 the ruler itself loses digits
    np.testing.assert_allclose(np.asarray(angle_of_gap(jnp.asarray(gap)))[near], exact[near], rtol=1e-15)
    np.testing.assert_allclose(np.asarray(angle_of_gap(jnp.asarray(gap))), exact, atol=1e-7)
    assert np.asarray(angle_of_gap(jnp.array([0.0], dtype=jnp.float64)))[0] == 0.0
    assert np.asarray(angle_of_gap(jnp.array([2.0], dtype=jnp.float64)))[0] == math.pi
