r"""Kernels behind a given embedding: what an infinitely wide network makes of tokens whose vectors are known.

Layers behind the embedding see columns only through inner products. With vectors $z_a(x)$ of $d$ entries, $z_a(x) = w_{x_a} + p_a$,

$$ K_{ab}(x, y) = z_a(x) \cdot z_b(y) / d $$

takes the place of $s_w [x_a = y_b] + s_p [a = b]$, its mean over random vectors, and the recursion goes on as before. In one block only
the readout query matters. Linear attention with infinitely many heads is then a product of two Grams,

$$ K^1(x, y) = \frac{z_T \cdot z'_T}{d}\, \langle Y(x), Y(y) \rangle , \qquad Y(x) = \frac1d \sum_a z_a z_a^T , $$

and heads that are given, $S^h_b = z_T^T R^h z_b / d$, have explicit features $c^h = \sum_b \Phi(S^h)_b z_b$,

$$ K^1(x, y) = \frac{1}{H d} \sum_h u_h\, c^h(x) \cdot c^h(y) . $$

$R^h = W_Q W_K^T / \sqrt{d_k}$ is the mixing matrix of a head of size $d_k$, with independent normal entries as $d_k$ grows. $u_h$ is what
its value and output weights make of it: one as $d_k$ grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from specht.architecture import Architecture
from specht.errors import InputError
from specht.kernel.dual import root
from specht.kernel.layers import (
    PointPairs,
    StreamMoments,
    attention_weights,
    finish_block,
    kernel_of,
    propagate,
    readout,
    visible_keys,
)
from specht.kernel.model import KernelModel
from specht.kernel.one_block import coincide
from specht.kernel.pairs import Sequences, outer, rows
from specht.kernel.position_pairs import position_pairs

Features = tuple[Array, ...]
"""Matrices (n, features) whose Grams are multiplied entry by entry."""


class Embedding(NamedTuple):
    """The vectors of tokens and positions."""

    tokens: Float[Array, "symbols width"]
    positions: Float[Array, "columns width"] | None

    @classmethod
    def scaled(cls, model: KernelModel, tokens: Array, positions: Array | None) -> Embedding:
        """Vectors of the variances that the model says, from vectors of variance one."""
        spread = None if positions is None else root(model.by_position)[:, None] * positions
        return cls(root(model.by_token)[:, None] * tokens, spread)


class Heads(NamedTuple):
    """Attention heads that are given."""

    query: Float[Array, "heads width size"]
    """Q of a mixing matrix R = Q K^T: the score of a query z and a key z' is z R z' / d. It is never formed: heads are small."""
    key: Float[Array, "heads width size"] | None
    """K; None for the identity."""
    strength: Float[Array, " heads"]
    """u: what value and output weights of the head multiply its kernel by."""

    @classmethod
    def of_weights(cls, arch: Architecture, query: Array, key: Array | None, strength: Array) -> Heads:
        """Heads of finite size from their query and key weights (heads, width, size), standard normal; tied without keys."""
        size = query.shape[-1]
        divisor = size if arch.scaling == "tied" else math.sqrt(size)
        return cls(query / divisor, query if key is None else key, strength)

    def scores(self, queries: Float[Array, "n a width"], keys: Float[Array, "n b width"]) -> Float[Array, "n heads a b"]:
        """The score of every query with every key of its sequence."""
        asked = jnp.einsum("nai,hik->nhak", queries, self.query)
        if self.key is not None:
            asked = jnp.einsum("nhak,hjk->nhaj", asked, self.key)
        return jnp.einsum("nhaj,nbj->nhab", asked, keys) / keys.shape[-1]


class Streams(NamedTuple):
    """What the columns of a batch hold, (n, columns, width)."""

    whole: Array
    """The stream itself, which residual sums add to."""
    read: Array
    """What queries and keys read."""
    value: Array
    """What values read."""


def why_not_embedded(arch: Architecture) -> str | None:
    """Why an architecture has no kernel behind a given embedding here, or None where it has one."""
    if arch.positions not in ("learned", "none"):
        return f"positions of kind {arch.positions!r} are no learned vectors: use positions 'learned' or 'none'"
    if by_position(arch):
        if arch.attention == "softmax" and arch.scaling != "tied":
            return (
                "softmax heads at all positions have no closed form: use one block with readout 'last' or 'cls', scaling 'tied' or linear "
                "attention"
            )
        if arch.has_positions and not arch.values_see_positions:
            return "position by position, values have to see positions: set values_see_positions to True"
    return None


def by_position(arch: Architecture) -> bool:
    """Whether all pairs of positions have to be followed: deep stacks, and averages behind something that is not linear."""
    averages = arch.readout == "mean" and (arch.activation != "linear" or arch.norm != "none" or arch.residual)
    return arch.depth > 1 or averages


def embedded_kernel(
    model: KernelModel, embedding: Embedding, x: Sequences, y: Sequences | None = None, *, heads: Heads | None = None
) -> Float[Array, "n m"]:
    """The kernel of all pairs of sequences behind an embedding; y is x when left out.

    Arguments:
        heads: attention heads that are given; without them linear and tied attention have infinitely many.
    """
    model, other = jax.tree.map(jnp.asarray, model), x if y is None else y  # outside compiled code its numbers are NumPy's
    if by_position(model.arch):
        return _by_position(model, embedding, x, other)
    left = _side(model, embedding, x, heads)
    right = left if y is None else _side(model, embedding, other, heads)
    return _finish(model, left, right, PointPairs(coincide(model, x, other), outer=True))


def embedded_diagonal(model: KernelModel, embedding: Embedding, x: Sequences, *, heads: Heads | None = None) -> Float[Array, " n"]:
    """The kernel of each sequence with itself; arguments as for `embedded_kernel`."""
    model = jax.tree.map(jnp.asarray, model)
    if by_position(model.arch):
        return jax.lax.map(lambda one: _by_position(model, embedding, one, one)[0, 0], jax.tree.map(lambda part: part[:, None], x))
    side = _side(model, embedding, x, heads)
    return _finish(model, side, side, PointPairs(True, outer=False))


class _Side(NamedTuple):
    """What one batch brings to the readout."""

    features: Features
    """Features of the attention output."""
    stream: Float[Array, "n width"]
    """The stream beside it."""


def _side(model: KernelModel, embedding: Embedding, x: Sequences, heads: Heads | None) -> _Side:
    stream = streams(model, embedding, x)
    return _Side(attended(model, stream, x, heads), jnp.einsum("na,nai->ni", _shares(model.arch, x), stream.whole))


def _finish(model: KernelModel, left: _Side, right: _Side, pairs: PointPairs) -> Array:
    """The rest of the network at the readout."""
    own, width, product = PointPairs(True, outer=False), left.stream.shape[1], outer if pairs.outer else rows

    def attention(gram: Callable[[Array, Array], Array], one: _Side, two: _Side) -> Array:
        return math.prod((gram(*factors) for factors in zip(one.features, two.features, strict=True)), start=jnp.asarray(1.0))

    def beside(gram: Callable[[Array, Array], Array], one: _Side, two: _Side) -> Array:
        return gram(one.stream, two.stream) / width

    def of_all(covariance: Callable[..., Array], means: tuple[Array, Array]) -> StreamMoments:
        nngp = (covariance(product, left, right),), (covariance(rows, left, left),), (covariance(rows, right, right),)
        return StreamMoments.of((pairs, own, own), nngp, None, means)

    stream = of_all(beside, (left.stream.mean(axis=1), right.stream.mean(axis=1)))
    after = finish_block(model, stream, of_all(attention, (jnp.zeros(len(left.stream)), jnp.zeros(len(right.stream)))))
    return kernel_of(readout(model, after, pooled=True))


def streams(model: KernelModel, embedding: Embedding, x: Sequences) -> Streams:
    """What attention reads of a batch."""
    arch, vectors = model.arch, embedding.tokens[x.symbols]
    in_stream = embedding.positions is not None and arch.values_see_positions
    whole = vectors + embedding.positions[None] if in_stream and embedding.positions is not None else vectors
    value = _normed(whole) if arch.norm == "pre" else whole
    read = value if in_stream or embedding.positions is None else value + embedding.positions[None]
    return Streams(whole, read, value)


def attended(model: KernelModel, stream: Streams, x: Sequences, heads: Heads | None) -> Features:
    """Features of the attention output at the readout, or averaged over all queries under mean readout."""
    arch, width = model.arch, stream.value.shape[-1]
    if heads is None and arch.scaling == "tied":
        heads = Heads(jnp.eye(width)[None], None, jnp.ones(1))
    if heads is None:
        if arch.attention == "softmax":
            raise InputError("Softmax attention needs heads that are given: draw them.")
        return _linear_attention(arch, stream, x)
    queries = stream.read if arch.readout == "mean" else stream.read[:, -1:]
    scores = heads.scores(queries, stream.read)
    visible = visible_keys(arch, x)[:, -queries.shape[1] :]
    weights = attention_weights(arch, scores, visible[:, None])
    share = _shares(arch, x)[:, -queries.shape[1] :]
    context = jnp.einsum("na,nhab,nbi->nhi", share, weights, stream.value)
    scale = root(heads.strength / (len(heads.strength) * width))
    return ((scale[None, :, None] * context).reshape(len(context), -1),)


def _linear_attention(arch: Architecture, stream: Streams, x: Sequences) -> Features:
    """Linear attention with infinitely many heads: the query, and what keys and values make together."""
    width, real = stream.value.shape[-1], x.visible.astype(stream.value.dtype)
    share = _shares(arch, x)
    if arch.causal and arch.readout == "mean":  # each query sees keys of its own, so they stay together
        visible = visible_keys(arch, x).astype(stream.value.dtype)
        seen = share / jnp.maximum(visible.sum(axis=2), 1.0) if arch.normalised else share
        queries = jnp.einsum("na,nab,nai->nbi", seen, visible, stream.read)
        third = jnp.einsum("nbi,nbj,nbk->nijk", queries, stream.read, stream.value) / width**1.5
        return (third.reshape(len(third), -1),)
    query = jnp.einsum("na,nai->ni", share, stream.read)
    mixed = jnp.einsum("na,nai,naj->nij", real, stream.read, stream.value) / width
    mixed = mixed / x.sizes()[:, None, None] if arch.normalised else mixed
    return query / math.sqrt(width), mixed.reshape(len(mixed), -1)


def _shares(arch: Architecture, x: Sequences) -> Float[Array, "n columns"]:
    """How much each query counts at the readout: the last one alone, or all real ones alike."""
    if arch.readout == "mean":
        return x.visible.astype(jnp.float64) / x.sizes()[:, None]
    return jnp.zeros(x.visible.shape).at[:, -1].set(1.0)


def _normed(stream: Array) -> Array:
    """Layer norm over the entries of each vector."""
    centred = stream - stream.mean(axis=-1, keepdims=True)
    return centred / root(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-12)


def _by_position(model: KernelModel, embedding: Embedding, x: Sequences, y: Sequences) -> Array:
    """Every pair of positions, from the inner products of their vectors."""
    width = embedding.tokens.shape[1]
    left, right = streams(model, embedding, x).whole, streams(model, embedding, y).whole
    cross = position_pairs(model, x, y, jnp.zeros((left.shape[1],) * 2), outer=True)
    own_x, own_y = (position_pairs(model, batch, batch, jnp.zeros((left.shape[1],) * 2), outer=False) for batch in (x, y))
    own_left, own_right = (jnp.einsum("nai,nbi->nab", batch, batch) / width for batch in (left, right))
    nngp = (jnp.einsum("nai,mbi->namb", left, right) / width,), (own_left,), (own_right,)
    return propagate(model, StreamMoments.of((cross, own_x, own_y), nngp, None, (left.mean(axis=2), right.mean(axis=2))))
