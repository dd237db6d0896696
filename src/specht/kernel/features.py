r"""Explicit finite features of one block with a linear activation, whose NNGP is an inner product.

Linear attention collects, at the query a, what is itself an inner product over the tokens that it sees,

$$ K^1_{aa'} = K_{aa'} \sum_{bb'} K_{bb'} V_{bb'}, \qquad \sum_{bb'} K_{bb'} V_{bb'}
   = s_w^2\, N \cdot N' + \sum_{bb'} (s_p + s_p^V) s_w\, [x_b = y_{b'}]\, P_{bb'} + s_p s_p^V P_{bb'}^2, $$

with token counts N and $P = \ell\ell^T$, so the features are the tensor product of those of the query and of the sum, averaged over
queries under mean readout. A tied head is one deterministic feature vector, and sampled heads are random features.
"""

from __future__ import annotations

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from specht.architecture import Architecture
from specht.kernel.attention import visible_keys
from specht.kernel.heads import GROUPS, HEADS_STEP, head_features, reading, tied_features
from specht.kernel.pairs import Sequences


def explicit_features(arch: Architecture, x: Sequences, *, seed: int, heads: int) -> Float[np.ndarray, "n features"]:
    """Features whose inner product is the NNGP; `seed` and `heads` are those of the sampled form."""
    scale = math.sqrt(arch.s_1 * arch.s_2)
    if arch.scaling == "tied":
        return scale * np.asarray(_tied_features(arch, x))
    if arch.attention == "linear":
        return scale * np.asarray(_linear_attention_features(arch, x))
    root = jax.random.key(seed)
    chunks = range(heads // HEADS_STEP)
    keys = (jax.random.fold_in(jax.random.fold_in(root, group), chunk) for group in range(GROUPS) for chunk in chunks)
    return scale / math.sqrt(heads) * np.concatenate([np.asarray(_drawn_features(arch, x, key)) for key in keys], axis=1)


@partial(jax.jit, static_argnames="arch")
def _tied_features(arch: Architecture, x: Sequences) -> Array:
    return tied_features(arch, reading(arch), x)


@partial(jax.jit, static_argnames="arch")
def _drawn_features(arch: Architecture, x: Sequences, key: Array) -> Array:
    return head_features(arch, reading(arch), x, key, ntk=False).weights


@partial(jax.jit, static_argnames="arch")
def _linear_attention_features(arch: Architecture, x: Sequences) -> Array:
    factor = reading(arch).factor
    query = _query_features(arch, x, factor)
    if arch.readout == "mean" and not arch.causal:
        query = jnp.sum(query, axis=1, keepdims=True)  # every query sees the same tokens
    seen = visible_keys(arch, x) if query.shape[1] > 1 else x.visible[:, None, :]
    share = 1.0 / jnp.maximum(jnp.sum(seen, axis=2, dtype=jnp.float64), 1.0) if arch.normalised else jnp.ones(query.shape[:2])
    collected = _collected_features(arch, x, seen, factor)
    return jnp.einsum("na,naq,nar->nqr", share, query, collected).reshape(len(query), -1)


def _query_features(arch: Architecture, x: Sequences, factor: np.ndarray | None) -> Float[Array, "n queries features"]:
    s_w, s_p = arch.token_variance, arch.position_variance
    if arch.readout != "mean":
        return x.one_hot(arch.symbols, jnp.float64)[:, -1:] @ jnp.asarray(_root(s_w * np.eye(arch.symbols) + s_p))
    tokens = math.sqrt(s_w) * x.one_hot(arch.symbols, jnp.float64)
    share = (x.visible.astype(jnp.float64) / x.sizes()[:, None])[:, :, None]
    if s_p == 0.0:
        return share * tokens
    positions = math.sqrt(s_p) * jnp.asarray(np.eye(arch.columns) if factor is None else factor)
    return share * jnp.concatenate([tokens, jnp.broadcast_to(positions, (len(tokens), *positions.shape))], axis=2)


def _collected_features(arch: Architecture, x: Sequences, seen: Array, factor: np.ndarray | None) -> Float[Array, "n queries features"]:
    """Features of the sum over the tokens that each query sees; `seen` is (n, queries, columns)."""
    s_w, s_p = arch.token_variance, arch.position_variance
    in_values = s_p if arch.values_see_positions else 0.0
    seen = seen.astype(jnp.float64)
    hot = seen[:, :, :, None] * x.one_hot(arch.symbols, jnp.float64)[:, None]
    parts = [s_w * jnp.sum(hot, axis=2)]
    if s_p > 0.0 and factor is None:  # one feature a token and position covers both other terms
        root = jnp.asarray(_root((s_p + in_values) * s_w * np.eye(arch.symbols) + s_p * in_values))
        parts.append(hot @ root)
    elif s_p > 0.0:
        parts.append(math.sqrt((s_p + in_values) * s_w) * jnp.einsum("nabv,bi->navi", hot, factor))
        parts.append(math.sqrt(s_p * in_values) * jnp.einsum("nab,bi,bj->naij", seen, factor, factor))
    return jnp.concatenate([part.reshape(*seen.shape[:2], -1) for part in parts], axis=2)


def _root(gram: np.ndarray) -> np.ndarray:
    """Symmetric square root of a small positive semidefinite matrix."""
    eigenvalues, vectors = np.linalg.eigh(gram)
    return (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
