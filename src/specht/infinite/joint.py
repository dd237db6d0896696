r"""Softmax attention position by position, any depth: heads drawn for all sequences together, layer by layer.

Given the covariance $K = \varphi\varphi^T$ of all positions of all sequences, one head at infinite head size is a normal matrix $M$,

$$ S_{ab} = \varphi_a^T M \varphi_b, \qquad E[S_{ab} S_{a'b'}] = K_{aa'} K_{bb'}, $$

and the attended covariance is the average of $A V A^T$ with $A = \mathrm{softmax}(S)$. Its estimate is the input of the next block, so all sequences
share their heads, and the cost is that of the joint covariance: (sequences x columns) squared. The path through the scores is
$\tilde A V \tilde A^T$ with $\tilde A = J s$, the change of the weights when the scores move by a field $s$ of covariance
$2 K_{aa'} K_{ef} + \Theta_{aa'} K_{ef} + K_{aa'} \Theta_{ef}$.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from specht.architecture import Architecture
from specht.infinite.attention import apply_weights, masked_softmax, visible_keys, with_positions
from specht.infinite.closed import Kind, embed
from specht.infinite.heads import GROUPS
from specht.infinite.layers import Family, Moments, at_readout, finish_block, layer_norm, readout
from specht.infinite.pairs import Sequences

MAX_POSITIONS = 2048
"""Largest (sequences x columns) whose joint covariance is propagated."""
_RANK_TOLERANCE = 1e-10


def joint_gram(
    arch: Architecture, x: Sequences, *, seed: int, heads_per_group: int, kind: Kind, progress: Callable[[int, int], None] | None = None
) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n n"]]:
    """Kernel of all pairs of one batch: mean over independent groups of heads, and the standard error of that mean."""
    values = []
    for group in range(GROUPS):
        values.append(np.asarray(_one_group(arch, x, jax.random.key(seed * GROUPS + group), heads_per_group, kind)))
        if progress is not None:
            progress(group + 1, GROUPS)
    stacked = np.stack(values)
    return stacked.mean(axis=0), stacked.std(axis=0, ddof=1) / np.sqrt(GROUPS)


def _one_group(arch: Architecture, x: Sequences, key: Array, heads: int, kind: Kind) -> Array:
    stream = embed(arch, x, x, ntk=kind == "ntk", bookkeeping="positions")
    for block in range(arch.depth):
        normed = layer_norm(stream) if arch.norm == "pre" else stream
        attended = _sampled_attention(arch, normed, block, jax.random.fold_in(key, block), heads)
        if block == arch.depth - 1 and arch.readout != "mean":
            stream, attended = at_readout(stream), at_readout(attended)
        stream = finish_block(arch, stream, attended)
    out = readout(arch, stream)
    return out.cross.nngp[0] if out.ntk is None else out.ntk[0]


def _sampled_attention(arch: Architecture, m: Moments, block: int, key: Array, heads: int) -> Moments:
    """Attention of `heads` drawn heads on the joint covariance."""
    sequences: Sequences = m.cross.pairs.x
    shape = m.cross.nngp[0].shape  # (n, columns, n, columns)

    def factor(entry: Array) -> Array:
        rows = shape[0] * shape[1]
        return jnp.asarray(echelon_factor(np.asarray(jnp.broadcast_to(entry, shape)).reshape(rows, rows)).reshape(*shape[:2], -1))

    read = factor(with_positions(arch, m.cross.pairs, m.cross.nngp)[0])
    value, visible = jnp.broadcast_to(m.cross.nngp[0], shape), visible_keys(arch, sequences)
    if m.ntk is None:
        attended, ntk = _average_nngp(read, value, visible, key, heads), None
    else:
        tangent = factor(with_positions(arch, m.cross.pairs, m.ntk, tangent=True)[0])
        attended, tangent_value = _average_ntk(read, tangent, value, jnp.broadcast_to(m.ntk[0], shape), visible, key, heads)
        ntk = (2.0 * attended + tangent_value,)
    own = (jnp.einsum("nanb->nab", attended),)
    cross = Family(m.cross.pairs, (attended,), m.cross.pairs.same(block))
    sides = (Family(f.pairs, own, f.pairs.same(block)) for f in (m.left, m.right))
    return Moments(cross, *sides, ntk, jnp.zeros_like(m.mean_left), jnp.zeros_like(m.mean_right))


@partial(jax.jit, static_argnames=("heads",))
def _average_nngp(read: Array, value: Array, visible: Bool[Array, "n columns columns"], key: Array, heads: int) -> Array:
    def add_head(head, total):
        weights = masked_softmax(_bilinear(jax.random.fold_in(key, head), read, read), visible)
        return total + apply_weights(weights, value, weights)

    return jax.lax.fori_loop(0, heads, add_head, jnp.zeros_like(value)) / heads


@partial(jax.jit, static_argnames=("heads",))
def _average_ntk(read, tangent, value, tangent_value, visible: Bool[Array, "n columns columns"], key: Array, heads: int) -> tuple[Array, Array]:
    """A V A^T, and A Theta A^T plus the path through the scores."""

    def add_head(head, totals):
        keys = jax.random.split(jax.random.fold_in(key, head), 4)
        weights = masked_softmax(_bilinear(keys[0], read, read), visible)
        field = jnp.sqrt(2.0) * _bilinear(keys[1], read, read) + _bilinear(keys[2], tangent, read) + _bilinear(keys[3], read, tangent)
        moved = weights * (field - jnp.sum(weights * field, axis=-1, keepdims=True))
        through = apply_weights(weights, tangent_value, weights) + apply_weights(moved, value, moved)
        return totals[0] + apply_weights(weights, value, weights), totals[1] + through

    zeros = jnp.zeros_like(value)
    first, second = jax.lax.fori_loop(0, heads, add_head, (zeros, zeros))
    return first / heads, second / heads


def _bilinear(key: Array, left: Array, right: Array) -> Array:
    """phi_a^T M psi_b inside every sequence for one normal matrix M: (n, columns, columns)."""
    matrix = jax.random.normal(key, (left.shape[2], right.shape[2]), dtype=jnp.float64)
    return jnp.einsum("nad,nbd->nab", jnp.einsum("nac,cd->nad", left, matrix), right)


def echelon_factor(covariance: Float[np.ndarray, "rows rows"]) -> Float[np.ndarray, "rows rank"]:
    r"""$\varphi$ with $K = \varphi\varphi^T$, one column for each row that is not a combination of earlier ones.

    A Cholesky factorisation in the given order that skips dependent rows: unlike eigenvectors or pivoting, it does not depend on how ties round.
    """
    rows = len(covariance)
    buffer = np.zeros((rows, min(rows, 64)))
    residual = np.diag(covariance).copy()
    threshold = _RANK_TOLERANCE * max(float(residual.max(initial=0.0)), 1e-300)
    rank = 0
    for row in range(rows):
        if residual[row] <= threshold:
            continue
        if rank == buffer.shape[1]:
            buffer = np.concatenate([buffer, np.zeros_like(buffer)], axis=1)[:, :rows]
        factor = buffer[:, :rank]
        column = (covariance[:, row] - factor @ factor[row]) / np.sqrt(residual[row])
        column[:row] = 0.0  # rows already explained
        buffer[:, rank] = column
        residual = residual - column**2
        rank += 1
    return buffer[:, :rank]
