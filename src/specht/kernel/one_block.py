r"""The kernel of one attention block whose output is needed in one place: at the readout column, or averaged over all of them.

Only what attention makes of the readout query matters, whatever comes after it. Under mean readout that is so where everything behind
attention is linear; then averaging comes first.

Softmax heads are sampled, and a tied head is deterministic. In linear attention tokens and positions may have variances of their own: with
$K_{ab} = w_{x_a} [x_a = y_b] + p_a [a = b]$ and $r_a$ what a norm before attention multiplies column a by (one without a norm), the sum
over all pairs of columns that attention takes is made of weighted counts,

$$ \sum_{ab} K_{ab}^2 = \sum_v w_v^2 \sum_{a: x_a = v} r_a^2 \sum_{b: y_b = v} {r'_b}^2
   + 2 \sum_a p_a w_{x_a} [x_a = y_a]\, r_a^2 {r'_a}^2 + \sum_a p_a^2\, r_a^2 {r'_a}^2 , $$

where the second term counts once and without the squares, and the third not at all, if values do not see positions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from specht.architecture import Kind
from specht.kernel.dual import root
from specht.kernel.features import CHUNK, GROUPS, ColumnStrengths, head_features, reading, tied_features
from specht.kernel.layers import PointPairs, StreamMoments, finish_block, kernel_of, readout
from specht.kernel.model import KernelModel
from specht.kernel.pairs import Sequences, count_product, matching_columns, outer, rows
from specht.kernel.position_pairs import position_gram, position_mean


class Attended(NamedTuple):
    """Attention output at the readout: covariances between the batches and of each sequence with itself."""

    cross: Array
    left: Array
    right: Array
    score_path: Array
    """Sum over K_bd K_ef J_be J_df between the batches, in the tangent kernel; zero where scores are deterministic."""


def sampled_kernel(
    model: KernelModel, x: Sequences, y: Sequences | None, *, seed: int, chunks: int, kind: Kind, tick: Callable[[], None] | None = None
) -> tuple[Array, Array]:
    """Kernel of all pairs from `GROUPS * chunks * CHUNK` heads, and its standard error by the jackknife over groups.

    `y=None` pairs each sequence with itself: the diagonal; features of a batch with itself (`y is x`) are drawn once. `tick` is called
    after every group.
    """
    groups = []
    for group in range(GROUPS):
        groups.append(_attended(model, x, y, jnp.asarray([seed, group, chunks]), ntk=kind == "ntk", same=y is x))
        if tick is not None:
            jax.block_until_ready(groups[-1])
            tick()
    return _jackknife(model, x, y, groups, kind=kind)


def kernel_of_heads(model: KernelModel, x: Sequences, y: Sequences | None, *, seed: Array | int, chunks: int, kind: Kind) -> Array:
    """Compute the sampled kernel in one differentiable piece, without its error. The derivative draws the heads again."""
    same = y is x

    @jax.checkpoint
    def attended(model: KernelModel, chunk: Array) -> Attended:
        return _chunk(model, x, y, seed, chunk // chunks, chunk % chunks, ntk=kind == "ntk", same=same)

    def add_chunk(total: Attended, chunk: Array) -> tuple[Attended, None]:
        return jax.tree.map(jnp.add, total, attended(model, chunk)), None

    total, _ = jax.lax.scan(add_chunk, _nothing(x, y), jnp.arange(GROUPS * chunks))
    mean = jax.tree.map(lambda part: part / (GROUPS * chunks * CHUNK), total)
    return _after_attention(model, x, y, mean, kind=kind)


@partial(jax.jit, static_argnames="kind")
def _jackknife(model: KernelModel, x: Sequences, y: Sequences | None, groups: list[Attended], *, kind: Kind) -> tuple[Array, Array]:
    """Value from the mean of all groups; its standard error from leaving one out, since what follows attention is not linear."""
    model, x, y = jax.tree.map(jnp.asarray, (model, x, y))
    stacked = jax.tree.map(lambda *parts: jnp.stack(parts), *groups)
    total = jax.tree.map(lambda part: jnp.sum(part, axis=0), stacked)
    value = _after_attention(model, x, y, jax.tree.map(lambda whole: whole / GROUPS, total), kind=kind)

    def add_squared_change(group: Array | int, spread: Array) -> Array:
        rest = jax.tree.map(lambda whole, parts: (whole - parts[group]) / (GROUPS - 1), total, stacked)
        return spread + (_after_attention(model, x, y, rest, kind=kind) - value) ** 2

    spread = jax.lax.fori_loop(0, GROUPS, add_squared_change, jnp.zeros_like(value))
    return value, jnp.sqrt(spread * (GROUPS - 1) / GROUPS)


@partial(jax.jit, static_argnames=("kind", "same"))
def tied_kernel(model: KernelModel, x: Sequences, y: Sequences | None, *, kind: Kind, same: bool = False) -> Array:
    """Kernel of tied attention, in closed form; `y=None` gives the diagonal, and `same` says that y is x."""
    model, x, y = jax.tree.map(jnp.asarray, (model, x, y))
    y = x if same else y
    left = tied_features(model, reading(model, x), x)
    right = left if y is None or same else tied_features(model, reading(model, y), y)
    cross = rows(left, right) if y is None else outer(left, right)
    return _after_attention(model, x, y, Attended(cross, rows(left, left), rows(right, right), jnp.zeros_like(cross)), kind=kind)


@partial(jax.jit, static_argnames=("kind", "same"))
def weighted_kernel(model: KernelModel, x: Sequences, y: Sequences | None, *, kind: Kind, same: bool = False) -> Array:
    """Kernel of linear attention by weighted counts; `y=None` gives the diagonal, and `same` says that y is x."""
    model, x, y = jax.tree.map(jnp.asarray, (model, x, y))
    y = x if same else y
    read_x = reading(model, x)
    read_y = read_x if y is None or same else reading(model, y)
    own_x = attention_sum(model, x, None, (read_x, read_x))
    own_y = own_x if y is None or same else attention_sum(model, y, None, (read_y, read_y))
    weight = own_x if y is None else attention_sum(model, x, y, (read_x, read_y))
    own_left = own_x * _read_at_readout(model, x, None, (read_x, read_x))
    own_right = own_y * _read_at_readout(model, x if y is None else y, None, (read_y, read_y))
    attended = Attended(weight * _read_at_readout(model, x, y, (read_x, read_y)), own_left, own_right, weight)
    return _after_attention(model, x, y, attended, kind=kind)


@partial(jax.jit, static_argnames=("ntk", "same"))
def _attended(model: KernelModel, x: Sequences, y: Sequences | None, draw: Int[Array, "3"], *, ntk: bool, same: bool) -> Attended:
    """Average over the heads of one group; `draw` is (seed, group, chunks of heads), and `same` says that y is x."""
    model, x, y = jax.tree.map(jnp.asarray, (model, x, y))  # without compilation they are still NumPy
    seed, group, chunks = draw

    def add_chunk(index: Array | int, total: Attended) -> Attended:
        return jax.tree.map(jnp.add, total, _chunk(model, x, y, seed, group, index, ntk=ntk, same=same))

    total = jax.lax.fori_loop(0, chunks, add_chunk, _nothing(x, y))
    return jax.tree.map(lambda part: part / (chunks * CHUNK).astype(jnp.float64), total)


def _chunk(model: KernelModel, x: Sequences, y: Sequences | None, seed, group, index, *, ntk: bool, same: bool) -> Attended:
    """The sum over `CHUNK` heads, which seed, group and index name."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), group), index)
    left = head_features(model, reading(model, x), x, key, ntk=ntk)
    right = left if y is None or same else head_features(model, reading(model, y), y, key, ntk=ntk)
    product = rows if y is None else outer
    cross = product(left.weights, right.weights)
    path = product(left.moved, right.moved) if ntk else jnp.zeros_like(cross)
    return Attended(cross, rows(left.weights, left.weights), rows(right.weights, right.weights), path)


def _nothing(x: Sequences, y: Sequences | None) -> Attended:
    n, m = len(x.symbols), len(x.symbols if y is None else y.symbols)
    shape = (n,) if y is None else (n, m)
    return Attended(*(jnp.zeros(s, dtype=jnp.float64) for s in (shape, (n,), (m,), shape)))


def _after_attention(model: KernelModel, x: Sequences, y: Sequences | None, attended: Attended, *, kind: Kind) -> Array:
    r"""The rest of the network at the readout, with $\Theta^1 = 3 K^1 + 4 K_{cc} \cdot$ score path (positions trained or absent)."""
    arch = model.arch
    pairs = PointPairs(True if y is None else coincide(model, x, y), outer=y is not None)
    own = PointPairs(True, outer=False)
    other = x if y is None else y

    def moments(cross: Array, left: Array, right: Array, ntk: Array, mean: Array) -> StreamMoments:
        means = jnp.broadcast_to(mean, left.shape), jnp.broadcast_to(mean, right.shape)
        return StreamMoments.of((pairs, own, own), ((cross,), (left,), (right,)), (ntk,) if kind == "ntk" else None, means)

    zero, mean = jnp.zeros((), dtype=jnp.float64), float(position_mean(arch)[-1]) if arch.values_see_positions else 0.0
    stream_k = _at_readout(model, x, y, positions=arch.values_see_positions)
    left, right = (_at_readout(model, batch, None, positions=arch.values_see_positions) for batch in (x, other))
    stream = moments(stream_k, left, right, stream_k, mean * root(model.by_position[-1]))
    tangent = 3.0 * attended.cross
    if kind == "ntk":
        reads = reading(model, x), reading(model, other)
        tangent = tangent + 4.0 * _read_at_readout(model, x, y, reads) * attended.score_path
    after = finish_block(model, stream, moments(attended.cross, attended.left, attended.right, tangent, zero))
    return kernel_of(readout(model, after, pooled=True))


def _at_readout(model: KernelModel, x: Sequences, y: Sequences | None, *, positions: bool) -> Array:
    """Covariance of the embedding at the readout column, or averaged over all pairs of columns under mean readout."""
    arch, other, product = model.arch, x if y is None else y, rows if y is None else outer
    positions = positions and arch.has_positions
    if arch.readout == "mean":
        share_x, share_y = (batch.visible.astype(jnp.float64) / batch.sizes()[:, None] for batch in (x, other))
        tally_x, tally_y = (batch.tally(arch.symbols).astype(jnp.float64) / batch.sizes()[:, None] for batch in (x, other))
        total = product(model.by_token[None, :] * tally_x, tally_y)
        return total + product(model.by_position[None, :] * share_x, share_y) if positions else total
    at_column = float(position_gram(arch)[-1, -1]) * model.by_position[-1] if positions else jnp.zeros((), dtype=jnp.float64)
    last, variance = x.symbols[:, -1], model.by_token[x.symbols[:, -1]]
    if y is None:
        return variance + at_column
    return jnp.where(last[:, None] == y.symbols[None, :, -1], variance[:, None], 0.0) + at_column


def _read_at_readout(model: KernelModel, x: Sequences, y: Sequences | None, reads: tuple[ColumnStrengths, ColumnStrengths]) -> Array:
    """Covariance at the readout of what queries read: the stream after its norm, with positions."""
    if reads[0].inverse is None:
        return _at_readout(model, x, y, positions=True)
    product = rows if y is None else outer
    factor = product(*(read.inverse[:, -1:] for read in reads if read.inverse is not None))
    if reads[0].in_stream:
        return factor * _at_readout(model, x, y, positions=True)
    tokens = _at_readout(model, x, y, positions=False)
    return factor * tokens + (_at_readout(model, x, y, positions=True) - tokens)


def coincide(model: KernelModel, x: Sequences, y: Sequences) -> Array:
    """Pairs of sequences that the network cannot distinguish."""

    def same_tally() -> Array:
        tally_x, tally_y = (batch.tally(model.arch.symbols) for batch in (x, y))
        squares_x, squares_y = (jnp.sum(tally**2, axis=1).astype(jnp.float64) for tally in (tally_x, tally_y))
        same = squares_x[:, None] + squares_y[None, :] == 2.0 * count_product(tally_x, tally_y)
        return same if model.arch.readout == "mean" else same & (x.symbols[:, -1:] == y.symbols[None, :, -1])

    if not model.arch.has_positions:
        return same_tally()
    return jax.lax.cond(model.positions_matter, lambda: x.fingerprint()[:, None] == y.fingerprint()[None, :], same_tally)


def attention_sum(
    model: KernelModel, x: Sequences, y: Sequences | None, reads: tuple[ColumnStrengths, ColumnStrengths]
) -> Float[Array, "..."]:
    """The sum over pairs of columns, of all pairs of sequences (n, m), or of each sequence with itself (`y=None`)."""
    other, read = x if y is None else y, reads[0]
    product = rows if y is None else outer
    tokens, positions = model.by_token, model.by_position
    squares_x, squares_y = (_squares(of_batch, batch) for of_batch, batch in zip(reads, (x, other), strict=True))
    if read.inverse is None:
        tally_x, tally_y = (batch.tally(model.arch.symbols).astype(jnp.float64) for batch in (x, other))
    else:
        tally_x, tally_y = (_tally(model, batch, squares) for batch, squares in ((x, squares_x), (other, squares_y)))
    total = product(tokens[None, :] ** 2 * tally_x, tally_y)
    if read.has_positions:
        once_x, once_y = (squares_x, squares_y) if read.in_stream else (jnp.sqrt(squares_x), jnp.sqrt(squares_y))
        weights = (2.0 if read.in_stream else 1.0) * positions[None, :] * tokens[x.symbols] * once_x
        if y is None:
            total = total + rows(weights, once_y)  # every column matches itself
        else:
            total = total + matching_columns(x, y, weights, None if read.inverse is None else once_y)
        if read.in_stream:
            everywhere = jnp.all(x.visible) & jnp.all(other.visible) if read.inverse is None else False
            total = total + jax.lax.cond(
                everywhere,
                lambda: jnp.full(total.shape, jnp.sum(positions**2)),
                lambda: product(positions[None, :] ** 2 * squares_x, squares_y),
            )
    if not model.arch.normalised:
        return total
    return total / product(x.sizes()[:, None], other.sizes()[:, None])


def _tally(model: KernelModel, batch: Sequences, weights: Float[Array, "n columns"]) -> Float[Array, "n symbols"]:
    """How often each token occurs, with the weight of its column."""
    return jnp.einsum("nav,na->nv", batch.one_hot(model.arch.symbols, jnp.float64), weights)


def _squares(read: ColumnStrengths, batch: Sequences) -> Float[Array, "n columns"]:
    """r^2 of the real columns, and zero for the others."""
    visible = batch.visible.astype(jnp.float64)
    return visible if read.inverse is None else visible * read.inverse**2
