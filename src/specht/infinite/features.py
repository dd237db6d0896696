r"""Explicit finite features of the solvable model: linear attention, linear activation, one block.

The kernel is $s_1 s_2$ times the covariance of the query times the sum that its head collects,

$$ \sum_{ab} K_{ab} V_{ab} = s_w^2\, N \cdot N' + \sum_a \big((s_p + s_p^V) s_w [x_a = y_a] + s_p s_p^V\big). $$

Both are inner products of counts and one-hot positions, so the features are their tensor product.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from specht.architecture import Architecture
from specht.infinite.pairs import Sequences


def linear_model_features(arch: Architecture, x: Sequences) -> Float[Array, "n features"]:
    """Features whose inner product is the NNGP of the solvable model."""
    hot = x.one_hot(arch.symbols, jnp.float64)
    query, collected = _query_features(arch, x, hot), _collected_features(arch, hot)
    scale = math.sqrt(arch.s_1 * arch.s_2) / (x.sizes() if arch.normalised else jnp.ones(len(hot), dtype=jnp.float64))
    return jnp.einsum("n,nq,nr->nqr", scale, query, collected).reshape(len(hot), -1)


def _query_features(arch: Architecture, x: Sequences, hot: Array) -> Array:
    s_w, s_p = arch.token_variance, arch.position_variance
    if arch.readout != "mean":
        return hot[:, -1] @ jnp.asarray(_root(s_w * np.eye(arch.symbols) + s_p))
    parts = [math.sqrt(s_w) * jnp.sum(hot, axis=1)] + [math.sqrt(s_p) * x.visible.astype(jnp.float64)] * (s_p > 0.0)
    return jnp.concatenate(parts, axis=1) / x.sizes()[:, None]


def _collected_features(arch: Architecture, hot: Array) -> Array:
    s_w, s_p = arch.token_variance, arch.position_variance
    in_values = s_p if arch.values_see_positions else 0.0
    parts = [s_w * jnp.sum(hot, axis=1)]
    if s_p > 0.0:
        root = jnp.asarray(_root((s_p + in_values) * s_w * np.eye(arch.symbols) + s_p * in_values))
        parts.append((hot @ root).reshape(len(hot), -1))
    return jnp.concatenate(parts, axis=1)


def _root(gram: np.ndarray) -> np.ndarray:
    """Symmetric square root of a small positive semidefinite matrix."""
    eigenvalues, vectors = np.linalg.eigh(gram)
    return (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
