r"""Softmax attention position by position, any depth: heads drawn for all sequences together, layer by layer.

Given the covariance $K = \varphi\varphi^T$ of all positions of all sequences, one head at infinite head size is a normal matrix $M$,

$$ S_{ab} = \varphi_a^T M \varphi_b, \qquad E[S_{ab} S_{a'b'}] = K_{aa'} K_{bb'}, $$

and the attended covariance is the average of $A V A^T$ with $A = \mathrm{softmax}(S)$. Its estimate is the input of the next block, so
all sequences share their heads, and the cost is that of the joint covariance: (sequences x columns) squared. The path through the
scores is $\tilde A V \tilde A^T$ with $\tilde A = J s$, the change of the weights when the scores move by a field $s$ of covariance
$2 K_{aa'} K_{ef} + \Theta_{aa'} K_{ef} + K_{aa'} \Theta_{ef}$.

The factor $\varphi$ of a singular covariance must not depend on how ties round, and needs a derivative. It is Cholesky's in the given
order, and it skips rows that are combinations of earlier ones: which rows stay is decided first (`pivot_rows`), and
$\varphi = K_{:P}\, \mathrm{chol}(K_{PP})^{-T}$ for the rows P that stay. Factors are filled up with columns of zeros to a multiple of
`BLOCK`: few shapes, few compilations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int

from specht.architecture import Kind
from specht.kernel.features import GROUPS
from specht.kernel.layers import (
    StreamMoments,
    apply_weights,
    at_readout,
    embed,
    finish_block,
    kernel_of,
    layer_norm,
    masked_softmax,
    readout,
    visible_keys,
    with_positions,
)
from specht.kernel.model import KernelModel
from specht.kernel.pairs import Sequences
from specht.progress import Progress, report

Inputs = tuple[Array, Array | None, Array, Array | None, Array]
"""What attention takes: factors of what queries and keys read, covariances that values read, and which keys each query sees."""
BLOCK = 64
"""Columns of factors are a multiple of this."""
_TOLERANCE = 1e-10
"""Variance that must be left of a row, in units of the largest, for it to stay."""


def joint_gram(
    model: KernelModel, x: Sequences, *, seed: int, heads: int, kind: Kind, progress: Progress | None = None
) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n n"]]:
    """Kernel of all pairs of one batch from `heads` heads a block, and its standard error.

    What follows attention is not linear, so an estimate from h heads is biased by O(1/h) beside its scatter of O(1/sqrt(h)). The value
    therefore comes from one propagation with all heads, whose bias is a fraction O(1/sqrt(heads)) of its error, and the error from the
    scatter of `GROUPS` further, independent propagations that share as many heads between them.
    """
    first = _embedded(model, x, kind)
    ticks = itertools.count(1)

    def tick() -> None:
        report(progress, next(ticks), 2 * GROUPS * model.arch.depth)

    def propagate(draw: int, batches: int) -> np.ndarray:
        value = np.asarray(_propagate(model, first, _draw(seed, draw), batches, jnp.asarray(heads // GROUPS), tick))
        return (value + value.T) / 2.0  # products need not round (i, j) and (j, i) alike

    spread = np.std([propagate(group, batches=1) for group in range(GROUPS)], axis=0, ddof=1)
    return propagate(GROUPS, batches=GROUPS), spread / math.sqrt(GROUPS)


def joint_kernel(model: KernelModel, x: Sequences, *, seed: Array | int, heads: int, kind: Kind) -> Array:
    """Compute the sampled kernel in one differentiable piece, without its standard error."""
    value = _propagate(model, _embedded(model, x, kind), _draw(seed, GROUPS), GROUPS, heads // GROUPS)
    return (value + value.T) / 2.0


def _draw(seed: Array | int, number: int) -> Array:
    return jax.random.fold_in(jax.random.key(seed), number)


@partial(jax.jit, static_argnames="kind")
def _embedded(model: KernelModel, x: Sequences, kind: Kind) -> tuple[StreamMoments, Array]:
    """The stream before the first block, and which keys each query sees."""
    model, x = jax.tree.map(jnp.asarray, (model, x))
    return embed(model, x, x, ntk=kind == "ntk"), visible_keys(model.arch, x)


def _propagate(
    model: KernelModel,
    embedded: tuple[StreamMoments, Array],
    key: Array,
    batches: int,
    heads: Array | int,
    tick: Callable[[], None] | None = None,
) -> Array:
    """The kernel when every block averages over `batches` times `heads` heads; with a tick batch by batch, otherwise in one piece."""
    stream, visible = embedded
    for block in range(model.arch.depth):
        inputs, of_block = (*_attention_inputs(model, stream), visible), jax.random.fold_in(key, block)
        if tick is None:
            attended, ntk = _average(inputs, partial(_key_of_head, of_block, heads), batches * heads)
        else:
            total = None
            for batch in range(batches):
                average = jax.block_until_ready(_batch_average(inputs, jax.random.fold_in(of_block, batch), heads))
                total = average if total is None else jax.tree.map(jnp.add, total, average)
                tick()
            attended, ntk = jax.tree.map(lambda part: part / batches, total)
        stream = _finish(model, stream, attended, ntk, block)
    return kernel_of(stream)


def _key_of_head(key: Array, heads: Array | int, number: Array) -> Array:
    """The key of a head when heads of all batches are numbered in one row."""
    return jax.random.fold_in(jax.random.fold_in(key, number // heads), number % heads)


def _attention_inputs(model: KernelModel, stream: StreamMoments) -> tuple[Array, Array | None, Array, Array | None]:
    """Factors of what queries and keys read (and of its tangent kernel), covariance that values read (and its tangent kernel)."""
    read, tangent, value, tangent_value = _covariances(model, stream)
    shape = value.shape  # (n, columns, n, columns)

    def factor(covariance: Array) -> Array:
        rows = shape[0] * shape[1]
        return echelon_factor(covariance.reshape(rows, rows)).reshape(*shape[:2], -1)

    return factor(read), None if tangent is None else factor(tangent), value, tangent_value


@jax.jit
def _covariances(model: KernelModel, stream: StreamMoments) -> tuple[Array, Array | None, Array, Array | None]:
    m = layer_norm(stream) if model.arch.norm == "pre" else stream
    pairs, rows = m.cross.pairs, m.cross.pairs.x.symbols.shape
    full = partial(jnp.broadcast_to, shape=(*rows, *rows))
    read, value = full(with_positions(model, pairs, m.cross.nngp)[0]), full(m.cross.nngp[0])
    if m.ntk is None:
        return read, None, value, None
    return read, full(with_positions(model, pairs, m.ntk, tangent=True)[0]), value, full(m.ntk[0])


@partial(jax.jit, static_argnames="block")
def _finish(model: KernelModel, stream: StreamMoments, attended: Array, ntk: Array | None, block: int) -> StreamMoments:
    """The block after its attention, and the readout after the last block."""
    model = jax.tree.map(jnp.asarray, model)
    own = (jnp.einsum("nanb->nab", attended),)
    out = StreamMoments.of(stream.pairs, ((attended,), own, own), None if ntk is None else (ntk,), stream.zero_means(), block)
    last = block == model.arch.depth - 1
    if last and model.arch.readout != "mean":
        stream, out = at_readout(stream), at_readout(out)
    stream = finish_block(model, stream, out)
    return readout(model, stream) if last else stream


@jax.jit
def _batch_average(inputs: Inputs, key: Array, heads: Array) -> tuple[Array, Array | None]:
    return _average(inputs, partial(jax.random.fold_in, key), heads)


def _average(inputs: Inputs, key_of: Callable[[Array], Array], heads: Array | int) -> tuple[Array, Array | None]:
    """Attended covariance, and attended tangent kernel where it is wanted, of `heads` drawn heads."""
    read, tangent, value, tangent_value, visible = inputs
    if tangent is None or tangent_value is None:
        return _mean_over_heads(lambda head: _nngp_of_head(read, value, visible, key_of(head)), heads, jnp.zeros_like(value)), None

    def one_head(head: Array) -> tuple[Array, Array]:
        return _ntk_of_head(read, tangent, value, tangent_value, visible, key_of(head))

    attended, through = _mean_over_heads(one_head, heads, (jnp.zeros_like(value), jnp.zeros_like(value)))
    return attended, 2.0 * attended + through


def _nngp_of_head(read: Array, value: Array, visible: Bool[Array, "n columns columns"], key: Array) -> Array:
    weights = masked_softmax(_bilinear(key, read, read), visible)
    return apply_weights(weights, value, weights)


def _ntk_of_head(read, tangent, value, tangent_value, visible: Bool[Array, "n columns columns"], key: Array) -> tuple[Array, Array]:
    """A V A^T, and A Theta A^T plus the path through the scores."""
    keys = jax.random.split(key, 4)
    weights = masked_softmax(_bilinear(keys[0], read, read), visible)
    field = jnp.sqrt(2.0) * _bilinear(keys[1], read, read) + _bilinear(keys[2], tangent, read) + _bilinear(keys[3], read, tangent)
    moved = weights * (field - jnp.sum(weights * field, axis=-1, keepdims=True))
    through = apply_weights(weights, tangent_value, weights) + apply_weights(moved, value, moved)
    return apply_weights(weights, value, weights), through


def _mean_over_heads(one_head: Callable[[Array], Any], heads: Array | int, zeros: Any) -> Any:
    """Average over heads: a loop of any length where their number is traced, one with a derivative where it is known."""

    def add(total, head):
        return jax.tree.map(jnp.add, total, one_head(head)), None

    if isinstance(heads, int):
        total, _ = jax.lax.scan(jax.checkpoint(add), zeros, jnp.arange(heads))
        return jax.tree.map(lambda part: part / heads, total)
    total = jax.lax.fori_loop(0, heads, lambda head, total: add(total, head)[0], zeros)
    return jax.tree.map(lambda part: part / heads.astype(jnp.float64), total)


def _bilinear(key: Array, left: Array, right: Array) -> Array:
    """phi_a^T M psi_b inside every sequence for one normal matrix M: (n, columns, columns)."""
    matrix = _normal_matrix(key, left.shape[2], right.shape[2])
    return jnp.einsum("nad,nbd->nab", jnp.einsum("nac,cd->nad", left, matrix), right)


def _normal_matrix(key: Array, rows: int, columns: int) -> Array:
    """Normal numbers block by block, so that factors with more columns of zeros give the same scores."""
    down, across = rows // BLOCK, columns // BLOCK
    keys = [key if i == j == 0 else jax.random.fold_in(key, 1024 * i + j) for i in range(down) for j in range(across)]
    if len(keys) == 1:
        return jax.random.normal(key, (BLOCK, BLOCK), dtype=jnp.float64)
    blocks = jax.vmap(lambda one: jax.random.normal(one, (BLOCK, BLOCK), dtype=jnp.float64))(jnp.stack(keys))
    return blocks.reshape(down, across, BLOCK, BLOCK).transpose(0, 2, 1, 3).reshape(rows, columns)


def echelon_factor(covariance: Float[Array, "rows rows"]) -> Float[Array, "rows rank"]:
    """phi with one column for each row that stays.

    The number of columns follows from the numbers where they are known, and is as large as it can be while JAX traces them.
    """
    traced = isinstance(covariance, Tracer)
    pivots = _traced_pivots(jax.lax.stop_gradient(covariance)) if traced else jnp.asarray(pivot_rows(np.asarray(covariance)))
    return _factor(covariance, pivots)


@jax.jit
def _factor(covariance: Float[Array, "rows rows"], pivots: Int[Array, " rank"]) -> Float[Array, "rows rank"]:
    """The factor, given the rows that stay; -1 fills the list up."""
    real = pivots >= 0
    columns = jnp.where(real[None, :], covariance[:, pivots], 0.0)
    block = jnp.where(real[:, None] & real[None, :], columns[pivots, :], jnp.eye(len(pivots)))
    factor = solve_triangular(jnp.linalg.cholesky(block), columns.T, lower=True).T
    order = jnp.arange(len(covariance))
    return jnp.where(order[:, None] < pivots[None, :], 0.0, factor)  # rows before a pivot were explained without it


def pivot_rows(covariance: Float[np.ndarray, "rows rows"]) -> Int[np.ndarray, " rank"]:
    """Rows that are no combination of earlier ones, filled up with -1 to a multiple of `BLOCK`.

    >>> pivot_rows(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]]))[:3].tolist()
    [0, 2, -1]
    """
    rows = len(covariance)
    buffer, pivots = np.zeros((rows, min(rows, BLOCK))), []
    residual = np.diag(covariance).copy()
    threshold = _TOLERANCE * max(float(residual.max(initial=0.0)), 1e-300)
    for row in range(rows):
        if residual[row] <= threshold:
            continue
        if len(pivots) == buffer.shape[1]:
            buffer = np.concatenate([buffer, np.zeros_like(buffer)], axis=1)[:, :rows]
        factor = buffer[:, : len(pivots)]
        column = (covariance[:, row] - factor @ factor[row]) / np.sqrt(residual[row])
        column[:row] = 0.0  # rows already explained
        buffer[:, len(pivots)] = column
        residual = residual - column**2
        pivots.append(row)
    return np.array(pivots + [-1] * (_filled(len(pivots)) - len(pivots)))


def _traced_pivots(covariance: Float[Array, "rows rows"]) -> Int[Array, " rank"]:
    """Find the pivot rows by a loop of fixed length, for numbers that JAX traces."""
    rows = len(covariance)
    threshold = _TOLERANCE * jnp.maximum(jnp.max(jnp.diag(covariance)), 1e-300)
    order = jnp.arange(rows)

    def take_row(row: Array | int, state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        factor, residual, pivots, rank = state
        stays = residual[row] > threshold
        column = (covariance[:, row] - factor @ factor[row]) / jnp.sqrt(jnp.where(stays, residual[row], 1.0))
        column = jnp.where(stays & (order >= row), column, 0.0)
        place = jnp.where(stays, rank, _filled(rows))  # out of range, so that nothing is set
        factor, pivots = factor.at[:, place].set(column, mode="drop"), pivots.at[place].set(row, mode="drop")
        return factor, residual - column**2, pivots, rank + stays.astype(rank.dtype)

    start = jnp.zeros((rows, rows)), jnp.diag(covariance), jnp.full(_filled(rows), -1), jnp.zeros((), dtype=int)
    return jax.lax.fori_loop(0, rows, take_row, start)[2]


def _filled(rank: int) -> int:
    return BLOCK * math.ceil(max(rank, 1) / BLOCK)
