r"""Explicit finite features of one block with a linear activation, whose NNGP is an inner product.

Linear attention collects, at the query a, what is itself an inner product over the tokens that it sees,

$$ K^1_{aa'} = K_{aa'} \sum_{bb'} K_{bb'} V_{bb'}, \qquad \sum_{bb'} K_{bb'} V_{bb'}
   = s_w^2\, N \cdot N' + \sum_{bb'} (s_p + s_p^V) s_w\, [x_b = y_{b'}]\, P_{bb'} + s_p s_p^V P_{bb'}^2, $$

with token counts N and $P = \ell\ell^T$, so the features are the tensor product of those of the query and of the sum, averaged over
queries under mean readout. A tied head is one deterministic feature vector, and sampled heads are random features.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from specht.kernel.dual import root
from specht.kernel.heads import GROUPS, HEADS_STEP, head_features, reading, tied_features
from specht.kernel.layers import visible_keys
from specht.kernel.model import KernelModel
from specht.kernel.pairs import Sequences


def explicit_features(model: KernelModel, x: Sequences, *, seed: int, heads: int) -> Float[np.ndarray, "n features"]:
    """Features whose inner product is the NNGP; `seed` and `heads` are those of the sampled form."""
    scale = math.sqrt(model.dense * model.readout)
    if model.arch.scaling == "tied":
        return scale * np.asarray(_tied_features(model, x))
    if model.arch.attention == "linear":
        return scale * np.asarray(_linear_attention_features(model, x))
    random = jax.random.key(seed)
    chunks = range(heads // HEADS_STEP)
    keys = (jax.random.fold_in(jax.random.fold_in(random, group), chunk) for group in range(GROUPS) for chunk in chunks)
    return scale / math.sqrt(heads) * np.concatenate([np.asarray(_drawn_features(model, x, key)) for key in keys], axis=1)


@jax.jit
def _tied_features(model: KernelModel, x: Sequences) -> Array:
    return tied_features(model, reading(model, x), x)


@jax.jit
def _drawn_features(model: KernelModel, x: Sequences, key: Array) -> Array:
    return head_features(model, reading(model, x), x, key, ntk=False).weights


@jax.jit
def _linear_attention_features(model: KernelModel, x: Sequences) -> Array:
    arch, factor = model.arch, reading(model, x).factor
    query = _query_features(model, x, factor)
    if arch.readout == "mean" and not arch.causal:
        query = jnp.sum(query, axis=1, keepdims=True)  # every query sees the same tokens
    seen = visible_keys(arch, x) if query.shape[1] > 1 else x.visible[:, None, :]
    share = 1.0 / jnp.maximum(jnp.sum(seen, axis=2, dtype=jnp.float64), 1.0) if arch.normalised else jnp.ones(query.shape[:2])
    collected = _collected_features(model, x, seen, factor)
    return jnp.einsum("na,naq,nar->nqr", share, query, collected).reshape(len(query), -1)


def _query_features(model: KernelModel, x: Sequences, factor: np.ndarray | None) -> Float[Array, "n queries features"]:
    arch, hot = model.arch, x.one_hot(model.arch.symbols, jnp.float64)
    if arch.readout != "mean":
        at_readout = model.by_position[-1] if arch.has_positions else jnp.zeros((), dtype=jnp.float64)
        return hot[:, -1:] @ _symmetric_root(jnp.diag(model.by_token) + at_readout)
    tokens = root(model.by_token)[None, None, :] * hot
    share = (x.visible.astype(jnp.float64) / x.sizes()[:, None])[:, :, None]
    if not arch.has_positions:
        return share * tokens
    positions = root(model.by_position)[:, None] * jnp.asarray(np.eye(arch.columns) if factor is None else factor)
    return share * jnp.concatenate([tokens, jnp.broadcast_to(positions[None], (len(tokens), *positions.shape))], axis=2)


def _collected_features(model: KernelModel, x: Sequences, seen: Array, factor: np.ndarray | None) -> Float[Array, "n queries features"]:
    """Features of the sum over the tokens that each query sees; `seen` is (n, queries, columns)."""
    arch, tokens, positions = model.arch, model.by_token, model.by_position
    in_values = positions if arch.values_see_positions else jnp.zeros_like(positions)
    seen = seen.astype(jnp.float64)
    hot = seen[:, :, :, None] * x.one_hot(arch.symbols, jnp.float64)[:, None]
    parts = [tokens[None, None, :] * jnp.sum(hot, axis=2)]
    if arch.has_positions and factor is None:  # one feature a token and position covers both other terms
        cross, square = (positions + in_values)[:, None, None] * jnp.diag(tokens)[None], (positions * in_values)[:, None, None]
        parts.append(jnp.einsum("nabv,bvw->nabw", hot, jax.vmap(_symmetric_root)(cross + square)))
    elif arch.has_positions:
        # P is ell ell^T between encodings of unit variance, and encoding b has the deviation of its own column
        fixed, own, value = jnp.asarray(factor), root(positions), root(in_values)
        together = root(positions + in_values)[:, None] * fixed
        parts.append(root(tokens)[None, None, :, None] * jnp.einsum("nabv,bi->navi", hot, together))
        parts.append(jnp.einsum("nab,bi,bj->naij", seen, own[:, None] * fixed, value[:, None] * fixed))
    return jnp.concatenate([part.reshape(*seen.shape[:2], -1) for part in parts], axis=2)


def _symmetric_root(gram: Array) -> Array:
    """Symmetric square root of a small positive semidefinite matrix."""
    eigenvalues, vectors = jnp.linalg.eigh(gram)
    return (vectors * jnp.sqrt(jnp.maximum(eigenvalues, 0.0))[None, :]) @ vectors.T
