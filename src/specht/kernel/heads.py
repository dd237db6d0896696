r"""One block of softmax attention, read at the readout column: heads are random features.

Softmax of Gaussian scores has no closed form, but its heads can be drawn exactly at infinite head size. With queries and keys reading
the covariance $t [x_a = y_b] + p P_{ab}$, $P = \ell \ell^T$, and independent normal tables $A, B, C, D$ for each head,

$$ S_b(X) = t A_{x_c x_b} + \sqrt{tp}\, (\ell B_{x_c})_b + \sqrt{tp P_{cc}}\, C_{x_b} + p \sqrt{P_{cc}}\, (\ell D)_b $$

has covariance $K_{cc} K_{bd}$. The attention weights $a = \mathrm{softmax}(S)$ give the features $P_v = \sum_{b: x_b = v} a_b$ and
$\ell^T a$, whose inner product averages to $K^1$: a Gram of $G$ heads is one matrix product, positive semidefinite for every $G$.

The tangent kernel adds the path through the scores, $4 K_{cc} \sum K_{bd} K_{ef} E[J_{be} J_{df}]$ with $J$ the Jacobian of the
softmax. It is the same product for the *change* of the weights, $J s$, when the scores move by a random field $s$ of covariance
$K_{ef}$: one more random feature a head.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from specht.architecture import Architecture
from specht.kernel.attention import attention_weights, masked_softmax, visible_keys
from specht.kernel.pairs import Sequences
from specht.kernel.positions import position_gram

GROUPS = 16
"""Independent groups of heads, whose spread gives the standard error."""
CHUNK = 16
"""Heads drawn together; fixed, so that a head is the same in every evaluation with the same seed."""
HEADS_STEP = GROUPS * CHUNK
"""Numbers of heads are multiples of this."""


class Reading(NamedTuple):
    """Coefficients of the covariance that queries and keys (and values) read: token part and position part."""

    token: float
    position: float
    value_position: float
    factor: np.ndarray | None
    """ell with P = ell ell^T, shape (columns, columns); None for the identity."""
    at_readout: float
    """P at the readout column."""

    def correlate(self, field: Array, axis: int) -> Array:
        """ell applied along the axis of positions: gives an independent field the covariance P (ell is symmetric)."""
        return field if self.factor is None else jnp.moveaxis(jnp.moveaxis(field, axis, -1) @ jnp.asarray(self.factor), -1, axis)


def reading(arch: Architecture) -> Reading:
    """What the first block reads; a norm before it divides by the variance of the stream, the same at every position."""
    gram = position_gram(arch)
    in_stream = arch.position_variance if arch.values_see_positions else 0.0
    variance = arch.token_variance + in_stream if arch.norm == "pre" else 1.0
    position = in_stream / variance if arch.values_see_positions else arch.position_variance
    factor = None
    if arch.positions == "sinusoidal":
        eigenvalues, vectors = np.linalg.eigh(gram)  # singular to rounding, so no Cholesky; the symmetric root does not depend on signs
        factor = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
    return Reading(arch.token_variance / variance, position, in_stream / variance, factor, float(gram[-1, -1]))


class HeadFeatures(NamedTuple):
    """Features of a chunk of heads, flattened to (n, features)."""

    weights: Array
    """Attention weights summed by token and spread by position: their inner product is the attended covariance."""
    moved: Array
    """The same for the change of the weights when the scores move at random."""


def head_features(arch: Architecture, read: Reading, x: Sequences, key: Array, *, ntk: bool) -> HeadFeatures:
    """Random features of `CHUNK` heads for a batch."""
    columns, symbols = x.symbols.shape[1], arch.symbols
    key_tables, key_field = jax.random.split(key)
    last = x.symbols[:, -1]
    t, p = read.token, read.position
    # one draw for all four tables: every call of the generator is compiled anew
    draws = jax.random.normal(key_tables, ((symbols + 1) * (symbols + columns), CHUNK), dtype=jnp.float64)
    by_row = draws.reshape(symbols + 1, symbols + columns, CHUNK)
    table_a, table_c = by_row[:-1, :symbols], by_row[-1, :symbols]  # readout symbol, key symbol, head
    table_b, table_d = read.correlate(by_row[:-1, symbols:], axis=1), read.correlate(by_row[-1, symbols:], axis=0)
    root = math.sqrt(read.at_readout)
    by_symbol = (t * table_a + math.sqrt(t * p) * root * table_c[None])[last]  # (n, symbols, head)
    by_position = (math.sqrt(t * p) * table_b + p * root * table_d[None])[last]  # (n, columns, head)
    hot = x.one_hot(symbols, jnp.float64)
    scores = jnp.einsum("nbv,nvh->nhb", hot, by_symbol) + by_position.transpose(0, 2, 1)
    weights = masked_softmax(scores, x.visible[:, None, :])  # (n, head, columns)
    features = _spread(read, hot, weights)
    if not ntk:
        return HeadFeatures(features, features)
    signs = jax.random.rademacher(key_field, (symbols + columns, CHUNK), dtype=jnp.float64)
    field = math.sqrt(t) * jnp.einsum("nbv,vh->nhb", hot, signs[:symbols]) + math.sqrt(p) * read.correlate(signs[symbols:], axis=0).T[None]
    moved = weights * (field - jnp.sum(weights * field, axis=-1, keepdims=True))
    return HeadFeatures(features, _spread(read, hot, moved))


def _spread(read: Reading, hot: Array, weights: Array) -> Array:
    """Features of weights (n, head, columns): their inner product is sum_bd w_b w'_d V_bd for the covariance V that values read."""
    by_token = math.sqrt(read.token) * jnp.einsum("nbv,nhb->nhv", hot, weights)
    if read.value_position == 0.0:
        return by_token.reshape(len(hot), -1)
    by_position = math.sqrt(read.value_position) * read.correlate(weights, axis=2)
    return jnp.concatenate([by_token, by_position], axis=2).reshape(len(hot), -1)


def tied_features(arch: Architecture, read: Reading, x: Sequences) -> Array:
    """Features of tied attention at 1/d: the scores are the covariance itself, so one deterministic head is all there is.

    What follows it is linear under mean readout, so the weights of all queries are averaged first.
    """
    queries = slice(None) if arch.readout == "mean" else slice(-1, None)
    same_token = x.symbols[:, queries, None] == x.symbols[:, None, :]
    scores = read.token * same_token.astype(jnp.float64) + read.position * jnp.asarray(position_gram(arch)[queries])[None]
    weights = attention_weights(arch, scores, visible_keys(arch, x)[:, queries])
    real = x.visible[:, queries].astype(jnp.float64)
    pooled = jnp.einsum("na,nab->nb", real / jnp.sum(real, axis=1, keepdims=True), weights)
    return _spread(read, x.one_hot(arch.symbols, jnp.float64), pooled[:, None, :])
