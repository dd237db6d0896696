r"""Features of one attention block whose inner products are its kernel: softmax heads are random ones, others are known.

Softmax of Gaussian scores has no closed form, but its heads can be drawn exactly at infinite head size. With queries and keys reading
the covariance $t [x_a = y_b] + p P_{ab}$, $P = \ell \ell^T$, and independent normal tables $A, B, C, D$ for each head,

$$ S_b(X) = t A_{x_c x_b} + \sqrt{tp}\, (\ell B_{x_c})_b + \sqrt{tp P_{cc}}\, C_{x_b} + p \sqrt{P_{cc}}\, (\ell D)_b $$

has covariance $K_{cc} K_{bd}$. The attention weights $a = \mathrm{softmax}(S)$ give the features $P_v = \sum_{b: x_b = v} a_b$ and
$\ell^T a$, whose inner product averages to $K^1$: a Gram of $G$ heads is one matrix product, positive semidefinite for every $G$.

The tangent kernel adds the path through the scores, $4 K_{cc} \sum K_{bd} K_{ef} E[J_{be} J_{df}]$ with $J$ the Jacobian of the
softmax. It is the same product for the *change* of the weights, $J s$, when the scores move by a random field $s$ of covariance
$K_{ef}$: one more random feature a head.

With a linear activation the NNGP is itself an inner product of finite features. Linear attention collects, at the query a, what is an inner
product over the tokens that it sees,

$$ K^1_{aa'} = K_{aa'} \sum_{bb'} K_{bb'} V_{bb'}, \qquad \sum_{bb'} K_{bb'} V_{bb'}
   = s_w^2\, N \cdot N' + \sum_{bb'} (s_p + s_p^V) s_w\, [x_b = y_{b'}]\, P_{bb'} + s_p s_p^V P_{bb'}^2, $$

with token counts N and $P = \ell\ell^T$, so the features are the tensor product of those of the query and of the sum, averaged over
queries under mean readout. A tied head is one deterministic feature vector, and sampled heads are random features.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from specht.kernel.dual import root
from specht.kernel.layers import attention_weights, masked_softmax, visible_keys
from specht.kernel.model import KernelModel
from specht.kernel.pairs import Sequences
from specht.kernel.position_pairs import position_gram

GROUPS = 16
"""Independent groups of heads, whose spread gives the standard error."""
CHUNK = 16
"""Heads drawn together; fixed, so that a head is the same in every evaluation with the same seed."""
HEADS_STEP = GROUPS * CHUNK
"""Numbers of heads are multiples of this."""


def whole_groups(heads: int) -> int:
    """The next number of heads that can be drawn."""
    return math.ceil(heads / HEADS_STEP) * HEADS_STEP


class ColumnStrengths(NamedTuple):
    """How strongly the columns of a batch enter scores and values."""

    token: Float[Array, " symbols"]
    """Deviation of each token's embedding."""
    position: Float[Array, " columns"]
    """Deviation of each column's positional encoding."""
    inverse: Float[Array, "n columns"] | None
    """What a norm before attention multiplies the stream by; None without one."""
    factor: np.ndarray | None
    """ell with P = ell ell^T, shape (columns, columns); None for the identity."""
    at_readout: float
    """P at the readout column."""
    has_positions: bool
    in_stream: bool
    """Whether positions are part of the stream, so that the norm divides them and values see them."""

    def correlate(self, field: Array, axis: int) -> Array:
        """ell applied along the axis of positions: gives an independent field the covariance P (ell is symmetric)."""
        return field if self.factor is None else jnp.moveaxis(jnp.moveaxis(field, axis, -1) @ jnp.asarray(self.factor), -1, axis)

    def normed(self, tokens: Array, positions: Array, at: slice = slice(None)) -> tuple[Array, Array]:
        """What the norm makes of the token part and of the position part, (n, ..., columns), at some of the columns."""
        if self.inverse is None:
            return tokens, positions
        inverse = self.inverse[:, at].reshape(len(self.inverse), *[1] * (tokens.ndim - 2), -1)
        return tokens * inverse, positions * inverse if self.in_stream else positions


def reading(model: KernelModel, x: Sequences) -> ColumnStrengths:
    """What the first block reads of a batch."""
    arch, inverse, factor = model.arch, None, None
    in_stream = arch.has_positions and arch.values_see_positions
    if arch.norm == "pre":
        variance = model.by_token[x.symbols] + (model.by_position[None, :] if in_stream else 0.0)
        inverse = jnp.where(variance > 0.0, 1.0 / root(jnp.where(variance > 0.0, variance, 1.0)), 0.0)
    gram = position_gram(arch)
    if arch.positions == "sinusoidal":
        eigenvalues, vectors = np.linalg.eigh(gram)  # singular to rounding, so no Cholesky; the symmetric root does not depend on signs
        factor = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
    token, position = root(model.by_token), root(model.by_position)
    return ColumnStrengths(token, position, inverse, factor, float(gram[-1, -1]), arch.has_positions, in_stream)


class HeadFeatures(NamedTuple):
    """Features of a chunk of heads, flattened to (n, features)."""

    weights: Array
    """Attention weights summed by token and spread by position: their inner product is the attended covariance."""
    moved: Array
    """The same for the change of the weights when the scores move at random."""


def head_features(model: KernelModel, read: ColumnStrengths, x: Sequences, key: Array, *, ntk: bool) -> HeadFeatures:
    """Random features of `CHUNK` heads for a batch."""
    columns, symbols = x.symbols.shape[1], model.arch.symbols
    key_tables, key_field = jax.random.split(key)
    # one draw for all four tables: every call of the generator is compiled anew
    draws = jax.random.normal(key_tables, ((symbols + 1) * (symbols + columns), CHUNK), dtype=jnp.float64)
    hot = x.one_hot(symbols, jnp.float64)
    by_symbol, by_position = _scores_by_key(read, x, draws.reshape(symbols + 1, symbols + columns, CHUNK))
    scores = _sum(read, *read.normed(jnp.einsum("nbv,nvh->nhb", hot, by_symbol), by_position.transpose(0, 2, 1)))
    weights = masked_softmax(scores, x.visible[:, None, :])  # (n, head, columns)
    features = _spread(read, hot, weights)
    if not ntk:
        return HeadFeatures(features, features)
    signs = jax.random.rademacher(key_field, (symbols + columns, CHUNK), dtype=jnp.float64)
    along = (read.position[:, None] * read.correlate(signs[symbols:], axis=0)).T[None]
    field = _sum(read, *read.normed(jnp.einsum("nbv,vh->nhb", hot, read.token[:, None] * signs[:symbols]), along))
    moved = weights * (field - jnp.sum(weights * field, axis=-1, keepdims=True))
    return HeadFeatures(features, _spread(read, hot, moved))


def _scores_by_key(read: ColumnStrengths, x: Sequences, draws: Array) -> tuple[Array, Array]:
    """The score of the readout query with each token (n, symbols, head) and each column (n, columns, head), before norms of keys."""
    symbols, last = len(read.token), x.symbols[:, -1]
    tokens, positions = read.token[None, :, None], read.position[None, :, None]
    table_a, table_c = tokens * draws[:-1, :symbols], tokens * draws[-1:, :symbols]  # readout symbol, key symbol, head
    table_b, table_d = (positions * read.correlate(part[:, symbols:], axis=1) for part in (draws[:-1], draws[-1:]))
    from_position = read.at_readout**0.5 * read.position[-1] if read.has_positions else jnp.zeros_like(read.position[-1])
    if read.inverse is None:
        own = read.token[:, None, None]
        return (own * table_a + from_position * table_c)[last], (own * table_b + from_position * table_d)[last]
    own = (read.token[last] * read.inverse[:, -1])[:, None, None]
    from_position = from_position * (read.inverse[:, -1, None, None] if read.in_stream else jnp.ones((1, 1, 1)))
    return own * table_a[last] + from_position * table_c, own * table_b[last] + from_position * table_d


def _sum(read: ColumnStrengths, tokens: Array, positions: Array) -> Array:
    return tokens + positions if read.has_positions else tokens


def _spread(read: ColumnStrengths, hot: Array, weights: Array) -> Array:
    """Features of weights (n, head, columns): their inner product is sum_bd w_b w'_d V_bd for the covariance V that values read."""
    weights, by_position = read.normed(weights, weights)
    by_token = read.token[None, None, :] * jnp.einsum("nbv,nhb->nhv", hot, weights)
    if not read.in_stream:
        return by_token.reshape(len(hot), -1)
    by_position = read.correlate(read.position[None, None, :] * by_position, axis=2)
    return jnp.concatenate([by_token, by_position], axis=2).reshape(len(hot), -1)


def tied_features(model: KernelModel, read: ColumnStrengths, x: Sequences) -> Array:
    """Features of tied attention at 1/d: the scores are the covariance itself, so one deterministic head is all there is.

    What follows it is linear under mean readout, so the weights of all queries are averaged first.
    """
    arch = model.arch
    queries = slice(None) if arch.readout == "mean" else slice(-1, None)
    same_token = x.symbols[:, queries, None] == x.symbols[:, None, :]
    tokens = jnp.where(same_token, model.by_token[x.symbols][:, None, :], 0.0)
    positions = (read.position[:, None] * read.position[None, :] * jnp.asarray(position_gram(arch)))[None, queries]
    tokens, positions = read.normed(tokens, positions)  # as keys
    by_query = read.normed(tokens.transpose(0, 2, 1), positions.transpose(0, 2, 1), queries)
    scores = _sum(read, *(part.transpose(0, 2, 1) for part in by_query))
    weights = attention_weights(arch, scores, visible_keys(arch, x)[:, queries])
    real = x.visible[:, queries].astype(jnp.float64)
    pooled = jnp.einsum("na,nab->nb", real / jnp.sum(real, axis=1, keepdims=True), weights)
    return _spread(read, x.one_hot(arch.symbols, jnp.float64), pooled[:, None, :])


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
