r"""Softmax attention position by position, any depth: heads drawn for all sequences together, layer by layer.

Given the covariance $K = \varphi\varphi^T$ of all positions of all sequences, one head at infinite head size is a normal matrix $M$,

$$ S_{ab} = \varphi_a^T M \varphi_b, \qquad E[S_{ab} S_{a'b'}] = K_{aa'} K_{bb'}, $$

and the attended covariance is the average of $A V A^T$ with $A = \mathrm{softmax}(S)$. Its estimate is the input of the next block, so
all sequences share their heads, and the cost is that of the joint covariance: (sequences x columns) squared. The path through the
scores is $\tilde A V \tilde A^T$ with $\tilde A = J s$, the change of the weights when the scores move by a field $s$ of covariance
$2 K_{aa'} K_{ef} + \Theta_{aa'} K_{ef} + K_{aa'} \Theta_{ef}$.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from specht.architecture import Architecture
from specht.kernel.attention import apply_weights, masked_softmax, visible_keys, with_positions
from specht.kernel.closed import embed
from specht.kernel.forms import Kind
from specht.kernel.heads import GROUPS
from specht.kernel.layers import Family, Moments, at_readout, finish_block, kernel_of, layer_norm, readout
from specht.kernel.pairs import Sequences

_RANK_TOLERANCE = 1e-10
_RANK_STEP = 64
"""Factors are filled up with zero columns to multiples of this: few shapes, few compilations."""


def joint_gram(
    arch: Architecture, x: Sequences, *, seed: int, heads: int, kind: Kind, progress: Callable[[int, int], None] | None = None
) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n n"]]:
    """Kernel of all pairs of one batch from `heads` heads a block, and its standard error.

    What follows attention is not linear, so an estimate from h heads is biased by O(1/h) beside its scatter of O(1/sqrt(h)). The value
    therefore comes from one propagation with all heads, whose bias is a fraction O(1/sqrt(heads)) of its error, and the error from the
    scatter of `GROUPS` further, independent propagations that share as many heads between them.
    """
    share, first = heads // GROUPS, _embedded(arch, x, kind)
    ticks = itertools.count(1)

    def tick() -> None:
        if progress is not None:
            progress(next(ticks), 2 * GROUPS * arch.depth)

    def propagate(draw: int, batches: int) -> np.ndarray:
        key = jax.random.fold_in(jax.random.key(seed), draw)
        value = np.asarray(_propagate(arch, first, key, batches, jnp.asarray(share), tick))
        return (value + value.T) / 2.0  # products need not round (i, j) and (j, i) alike

    spread = np.std([propagate(group, batches=1) for group in range(GROUPS)], axis=0, ddof=1)
    return propagate(GROUPS, batches=GROUPS), spread / math.sqrt(GROUPS)


@partial(jax.jit, static_argnames=("arch", "kind"))
def _embedded(arch: Architecture, x: Sequences, kind: Kind) -> tuple[Moments, Array]:
    """The stream before the first block, and which keys each query sees."""
    return embed(arch, x, x, ntk=kind == "ntk", bookkeeping="positions"), visible_keys(arch, x)


def _propagate(
    arch: Architecture, embedded: tuple[Moments, Array], key: Array, batches: int, heads: Array, tick: Callable[[], None]
) -> Array:
    """The kernel when every block averages over `batches` times `heads` heads."""
    stream, visible = embedded
    for block in range(arch.depth):
        inputs, total = _attention_inputs(arch, stream), None
        for batch in range(batches):
            average = _average(*inputs, visible, jax.random.fold_in(jax.random.fold_in(key, block), batch), heads)
            total = jax.block_until_ready(average if total is None else jax.tree.map(jnp.add, total, average))
            tick()
        attended, ntk = jax.tree.map(lambda part: part / batches, total)
        stream = _finish(arch, stream, attended, ntk, block)
    return kernel_of(stream)


def _attention_inputs(arch: Architecture, stream: Moments) -> tuple[Array, Array | None, Array, Array | None]:
    """Factors of what queries and keys read (and of its tangent kernel), covariance that values read (and its tangent kernel)."""
    read, tangent, value, tangent_value = _covariances(arch, stream)
    shape = value.shape  # (n, columns, n, columns)

    def factor(covariance: Array) -> Array:
        rows = shape[0] * shape[1]
        return jnp.asarray(echelon_factor(np.asarray(covariance).reshape(rows, rows)).reshape(*shape[:2], -1))

    return factor(read), None if tangent is None else factor(tangent), value, tangent_value


@partial(jax.jit, static_argnames=("arch",))
def _covariances(arch: Architecture, stream: Moments) -> tuple[Array, Array | None, Array, Array | None]:
    m = layer_norm(stream) if arch.norm == "pre" else stream
    pairs, rows = m.cross.pairs, m.cross.pairs.x.symbols.shape
    full = partial(jnp.broadcast_to, shape=(*rows, *rows))
    read, value = full(with_positions(arch, pairs, m.cross.nngp)[0]), full(m.cross.nngp[0])
    if m.ntk is None:
        return read, None, value, None
    return read, full(with_positions(arch, pairs, m.ntk, tangent=True)[0]), value, full(m.ntk[0])


@partial(jax.jit, static_argnames=("arch", "block"))
def _finish(arch: Architecture, stream: Moments, attended: Array, ntk: Array | None, block: int) -> Moments:
    """The block after its attention, and the readout after the last block."""
    own = (jnp.einsum("nanb->nab", attended),)

    def attended_family(family: Family, nngp: tuple[Array]) -> Family:
        return Family(family.pairs, nngp, family.pairs.same(block))

    cross, left, right = (attended_family(f, k) for f, k in ((stream.cross, (attended,)), (stream.left, own), (stream.right, own)))
    zeros = jnp.zeros_like(stream.means[0]), jnp.zeros_like(stream.means[1])
    out = Moments(cross, left, right, None if ntk is None else (ntk,), zeros)
    last = block == arch.depth - 1
    if last and arch.readout != "mean":
        stream, out = at_readout(stream), at_readout(out)
    stream = finish_block(arch, stream, out)
    return readout(arch, stream) if last else stream


def _average(read, tangent, value, tangent_value, visible: Array, key: Array, heads: Array) -> tuple[Array, Array | None]:
    """Attended covariance, and attended tangent kernel where it is wanted, of `heads` drawn heads."""
    if tangent is None:
        return _average_nngp(read, value, visible, key, heads), None
    attended, inputs = _average_ntk(read, tangent, value, tangent_value, visible, key, heads)
    return attended, 2.0 * attended + inputs


@jax.jit
def _average_nngp(read: Array, value: Array, visible: Bool[Array, "n columns columns"], key: Array, heads: Array) -> Array:
    def add_head(head, total):
        weights = masked_softmax(_bilinear(jax.random.fold_in(key, head), read, read), visible)
        return total + apply_weights(weights, value, weights)

    return jax.lax.fori_loop(0, heads, add_head, jnp.zeros_like(value)) / heads.astype(jnp.float64)


@jax.jit
def _average_ntk(
    read, tangent, value, tangent_value, visible: Bool[Array, "n columns columns"], key: Array, heads: Array
) -> tuple[Array, Array]:
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
    return first / heads.astype(jnp.float64), second / heads.astype(jnp.float64)


def _bilinear(key: Array, left: Array, right: Array) -> Array:
    """phi_a^T M psi_b inside every sequence for one normal matrix M: (n, columns, columns)."""
    matrix = jax.random.normal(key, (left.shape[2], right.shape[2]), dtype=jnp.float64)
    return jnp.einsum("nad,nbd->nab", jnp.einsum("nac,cd->nad", left, matrix), right)


def echelon_factor(covariance: Float[np.ndarray, "rows rows"]) -> Float[np.ndarray, "rows rank"]:
    r"""$\varphi$ with $K = \varphi\varphi^T$, one column for each row that is not a combination of earlier ones.

    A Cholesky factorisation in the given order that skips dependent rows: unlike eigenvectors or pivoting, it does not depend on how
    ties round.
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
    padded = math.ceil(rank / _RANK_STEP) * _RANK_STEP
    return np.pad(buffer[:, :rank], ((0, 0), (0, padded - rank)))
