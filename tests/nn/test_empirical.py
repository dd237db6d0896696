"""Kernels of sampled finite networks: against finite differences, exact averages, and each other."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest
from loops import OPTIONS, SIZE, architecture, left_padding, network_of, raw_weights, reference, sequences

from specht.architecture import Architecture
from specht.errors import InputError
from specht.nn.empirical import empirical_nngp, empirical_ntk, feature_kernel, tangent_kernel
from specht.nn.network import Network, Size

DIFFERENTIATED = [
    "causal normalised, depth 2",  # padded on the left, causal queries see nothing: their gradients must be zero, not NaN
    "causal softmax, mean readout",
    "tied softmax, class symbol",
    "residual pre-norm, depth 2",
    "sinusoidal, extra linear",
]


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_tangent_kernel_matches_finite_differences(name):
    """Central differences of the loops in every raw weight: nothing here is differentiated by JAX."""
    arch = architecture(**{**OPTIONS[name], "activation": "erf", "length": 3})  # smooth, so that differences converge
    network = Network.init(arch, Size(4, 2, 2), key=jax.random.key(0))
    tokens, mask, step = sequences(arch, n=3)[1:], left_padding(arch, n=3)[1:], 1e-5
    weights = raw_weights(network)
    jacobian = []
    for values in weights.values():
        for index in np.ndindex(values.shape):
            ends = []
            for shift in (step, -step):
                values[index] += shift
                ends.append([reference(arch, weights, row, real) for row, real in zip(tokens, mask, strict=True)])
                values[index] -= shift
            jacobian.append((np.array(ends[0]) - ends[1]) / (2 * step))
    expected = np.array(jacobian).T @ np.array(jacobian)
    kernel = tangent_kernel(network, tokens, mask=mask)
    assert kernel.dtype == np.float64
    np.testing.assert_allclose(kernel, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", [feature_kernel, tangent_kernel])
def test_kernels_do_not_depend_on_blocks(kernel):
    arch = architecture(attention="softmax")
    network, x, y = network_of(arch), sequences(arch, n=6), sequences(arch, n=3, seed=2)
    blocks, whole = kernel(network, x, chunk=2), kernel(network, x, chunk=6)
    np.testing.assert_array_equal(blocks, blocks.T)
    np.testing.assert_allclose(blocks, whole, rtol=1e-4, atol=1e-5)
    both = np.concatenate([x, y])
    np.testing.assert_allclose(kernel(network, x, y, chunk=2), kernel(network, both, chunk=2)[:6, 6:], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kernel", [feature_kernel, tangent_kernel])
def test_stochastic_positions_differ_between_x_and_y(kernel):
    arch = architecture(positions="stochastic")
    network, x = network_of(arch), np.zeros((3, arch.columns), int)
    own, other = (kernel(network, x, y, key=jax.random.key(0)) for y in (None, x))
    np.testing.assert_array_equal(own, own.T)
    assert np.unique(np.diag(own)).size == 3  # one sequence, three draws
    assert np.abs(other - own).min() > 1e-4
    with pytest.raises(InputError, match="pass key"):
        kernel(network, x)


def wishart_nngp(arch: Architecture, x: np.ndarray, width: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and standard error over embeddings of $s_1 s_2\, G_{cc} \sum_{ab} G_{ab}^2$, with G the Gram matrix of embedded tokens.

    Given the embedding, this is the exact average over the other weights of the linear network, at any number and size of heads:
    each of them enters linearly, so that only its own covariance counts.
    """
    rng = np.random.default_rng(0)
    kernels = []
    for _ in range(samples):
        table = math.sqrt(arch.token_variance) * rng.standard_normal((arch.vocab, width))
        z = table[x] + math.sqrt(arch.s_p) * rng.standard_normal((arch.columns, width))
        gram = np.einsum("nai,mbi->nmab", z, z) / width
        kernels.append(arch.s_1 * arch.s_2 * gram[..., -1, -1] * (gram**2).sum(axis=(-2, -1)))
    return np.mean(kernels, axis=0), np.std(kernels, axis=0) / math.sqrt(samples)


def test_linear_network_has_the_nngp_kernel_of_its_embedding():
    arch, size = architecture(), Size(width=24, heads=12, head_size=4)
    x, done = sequences(arch, n=4), []
    expected, error = wishart_nngp(arch, x, size.width, samples=4000)
    estimate = empirical_nngp(arch, x, size=size, networks=300, seed=0, progress=lambda *count: done.append(count))
    assert np.all(np.abs(estimate.mean - expected) < 5 * np.hypot(estimate.stderr, error))
    assert np.all(estimate.stderr < 0.1 * np.diag(expected).min())
    assert (estimate.networks, done[0], done[-1], len(done)) == (300, (1, 300), (300, 300), 300)


def test_linear_network_has_a_tangent_kernel_nine_times_its_nngp_kernel():
    """Six weights enter the output linearly and the embedding enters it three times, up to corrections of order 1/width."""
    arch, sizes = architecture(), {"size": Size(width=32, heads=8, head_size=8), "networks": 60, "seed": 0}
    x = sequences(arch, n=3)
    nngp, ntk = empirical_nngp(arch, x, **sizes), empirical_ntk(arch, x, **sizes)
    error = np.hypot(ntk.stderr, 9 * nngp.stderr)
    assert np.all(np.abs(ntk.mean - 9 * nngp.mean) < 5 * error)
    assert np.all(error < 0.3 * np.diag(ntk.mean).min())


def test_standard_error_is_that_of_the_networks():
    arch = architecture()
    x, sizes = sequences(arch, n=2), {"size": SIZE, "seed": 7}
    first, second = empirical_ntk(arch, x, networks=2, **sizes), empirical_ntk(arch, x, networks=3, **sizes)
    third = 3 * second.mean - 2 * first.mean  # network number i does not depend on how many there are
    ends = first.mean + first.stderr, first.mean - first.stderr  # two samples lie one standard error either side of their mean
    np.testing.assert_allclose(second.stderr, np.std([*ends, third], axis=0, ddof=1) / math.sqrt(3), rtol=1e-4)


def test_inputs_that_cannot_be_used_are_refused():
    arch = architecture()
    x, sizes = sequences(arch), {"size": SIZE, "seed": 0}
    with pytest.raises(InputError, match="networks must be a whole number of at least 2, got 1"):
        empirical_nngp(arch, x, networks=1, **sizes)
    with pytest.raises(InputError, match="x holds token 3, but vocab=3 allows 0 to 2"):
        empirical_ntk(arch, np.maximum(x * 0, np.eye(5, dtype=int) * 3), networks=2, **sizes)
    with pytest.raises(InputError, match="y has 3 columns, but length=4"):
        empirical_nngp(arch, x, x[:, :3], networks=2, **sizes)
    with pytest.raises(InputError, match=r"the mask of y has shape \(5, 4\), but the tokens have shape \(5, 5\)"):
        empirical_nngp(arch, x, x, networks=2, mask_y=np.ones((5, 4), bool), **sizes)
    with pytest.raises(InputError, match="chunk must be a whole number of at least 1, got 0"):
        tangent_kernel(network_of(arch), x, chunk=0)
