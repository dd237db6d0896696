r"""Attention on covariances, with the tangent kernel.

Scores of an untied head at scaling $1/\sqrt{d_k}$ are Gaussian, $E[S_{ab}(X) S_{a'b'}(Y)] = K_{aa'} K_{bb'}$ with $K$ the covariance
that queries and keys read, and many heads average (Hron et al. 2020):

$$ K^1_{ab} = \sum_{ef} E[\Phi_{ae}(X) \Phi_{bf}(Y)]\, V_{ef}, \qquad V = \text{covariance that values read}. $$

Linear attention closes, $K^1_{ab} = K_{ab} \sum_{ef} K_{ef} V_{ef}$. Tied queries and keys at scaling $1/d_k$ make scores deterministic,
$S_{ab}(X) = K_{ab}(X, X)$.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array

from specht.architecture import Architecture
from specht.kernel.layers import MomentFamily, Sides, StreamMoments, entrywise
from specht.kernel.model import KernelModel
from specht.kernel.pairs import Entries, Sequences
from specht.kernel.positions import positions_are_trained


def with_positions(model: KernelModel, pairs, entries: Entries, *, tangent: bool = False) -> Entries:
    """What queries and keys read: the stream, plus the positions where the stream itself does not hold them."""
    arch = model.arch
    if arch.values_see_positions or not arch.has_positions or (tangent and not positions_are_trained(arch)):
        return entries
    return entrywise(lambda k, p: k + p, entries, pairs.position_entries(model.positions))


def linear_attention(model: KernelModel, m: StreamMoments, block: int) -> StreamMoments:
    r"""Linear attention: $K^1 = K \sum K V$ and, every factor of the product contributing its own gradient,

    $$ \Theta^1 = 4 K^1 + \Theta \sum K V + K \Big(\sum \Theta V + \sum K \Theta^V\Big), $$

    where $4 K^1$ comes from $W_O, W_V, W_Q, W_K$ and the rest from the inputs of queries, keys and values.
    """

    def contract(family: MomentFamily, first: Entries, second: Entries) -> Array:
        total = family.pairs.total(entrywise(lambda a, b: a * b, first, second))
        return total / family.pairs.visible_pairs() if model.arch.normalised else total

    def attend(family: MomentFamily, _: Sides) -> MomentFamily:
        read = with_positions(model, family.pairs, family.nngp)
        weight = contract(family, read, family.nngp)
        return MomentFamily(family.pairs, entrywise(lambda k: k * weight, read), family.pairs.same(block))

    out = m.map(attend, None)
    if m.ntk is None:
        return out
    read = with_positions(model, m.cross.pairs, m.cross.nngp)
    tangent = with_positions(model, m.cross.pairs, m.ntk, tangent=True)
    weight = contract(m.cross, read, m.cross.nngp)
    slope = contract(m.cross, tangent, m.cross.nngp) + contract(m.cross, read, m.ntk)
    ntk = entrywise(lambda k1, k, theta: 4.0 * k1 + theta * weight + k * slope, out.cross.nngp, read, tangent)
    return dataclasses.replace(out, ntk=ntk)


def tied_attention(model: KernelModel, m: StreamMoments, block: int) -> StreamMoments:
    r"""Tied queries and keys at $1/d_k$: deterministic weights $A(X) = \Phi(K(X, X))$, $K^1 = A V A'^T$.

    The gradient through the scores vanishes like $1/d_k$, so $\Theta^1 = 2 K^1 + A \Theta^V A'^T$.
    """
    left, right = (
        attention_weights(model.arch, with_positions(model, f.pairs, f.nngp)[0], visible_keys(model.arch, f.pairs.x))
        for f in (m.left, m.right)
    )

    def attend(family: MomentFamily, first: Array, second: Array) -> MomentFamily:
        return MomentFamily(family.pairs, (apply_weights(first, family.nngp[0], second),), family.pairs.same(block))

    cross = attend(m.cross, left, right)
    ntk = None if m.ntk is None else (2.0 * cross.nngp[0] + apply_weights(left, m.ntk[0], right),)
    zeros = jnp.zeros_like(m.means[0]), jnp.zeros_like(m.means[1])
    return StreamMoments(cross, attend(m.left, left, left), attend(m.right, right, right), ntk, zeros)


def visible_keys(arch: Architecture, x: Sequences) -> Array:
    """Which keys each query sees, shape (n, columns, columns)."""
    columns = x.visible.shape[1]
    order = jnp.tril(jnp.ones((columns, columns), dtype=bool)) if arch.causal else jnp.ones((columns, columns), dtype=bool)
    return x.visible[:, None, :] & order[None]


def attention_weights(arch: Architecture, scores: Array, visible: Array) -> Array:
    """Phi of the scores (n, queries, keys), zero where nothing is visible."""
    if arch.attention == "softmax":
        return masked_softmax(scores, visible)
    weights = jnp.where(visible, scores, 0.0)
    count = jnp.maximum(jnp.sum(visible, axis=-1, keepdims=True, dtype=jnp.float64), 1.0)
    return weights / count if arch.normalised else weights


def masked_softmax(scores: Array, visible: Array) -> Array:
    """Softmax over the last axis among visible entries; a query that sees nothing gets zeros instead of 0/0."""
    shifted = scores - jax.lax.stop_gradient(jnp.max(jnp.where(visible, scores, -jnp.inf), axis=-1, keepdims=True, initial=-1e300))
    weights = jnp.where(visible, jnp.exp(jnp.where(visible, shifted, 0.0)), 0.0)
    return weights / jnp.maximum(jnp.sum(weights, axis=-1, keepdims=True), 1e-300)


def apply_weights(left: Array, covariance: Array, right: Array) -> Array:
    """A K A'^T on every pair: (n, a, e), (n, e, m, f), (m, b, f), or inside each sequence: (n, a, e), (n, e, f), (n, b, f)."""
    if covariance.ndim == 4:
        half = jnp.einsum("nae,nemf->namf", left, covariance)
        return jnp.einsum("namf,mbf->namb", half, right)
    return jnp.einsum("nae,nef,nbf->nab", left, covariance, right)
