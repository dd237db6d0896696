"""The kernel of one attention block whose readout is one column: only that query matters, whatever comes after it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from specht.architecture import Architecture
from specht.kernel.forms import Kind
from specht.kernel.heads import CHUNK, GROUPS, head_features, reading, tied_features
from specht.kernel.layers import Family, Moments, finish_block, kernel_of, readout
from specht.kernel.pairs import PointPairs, Sequences
from specht.kernel.positions import position_mean


class Attended(NamedTuple):
    """Attention output at the readout column: covariances between the batches and of each sequence with itself."""

    cross: Array
    left: Array
    right: Array
    score_path: Array
    """Sum over K_bd K_ef J_be J_df between the batches, in the tangent kernel; zero where scores are deterministic."""


def sampled_kernel(
    arch: Architecture, x: Sequences, y: Sequences | None, *, seed: int, chunks: int, kind: Kind, tick: Callable[[], None] | None = None
) -> tuple[Array, Array]:
    """Kernel of all pairs from `GROUPS * chunks * CHUNK` heads, and its standard error by the jackknife over groups.

    `y=None` pairs each sequence with itself: the diagonal; features of a batch with itself (`y is x`) are drawn once. `tick` is called
    after every group.
    """
    groups = []
    for group in range(GROUPS):
        groups.append(_attended(arch, x, y, jnp.asarray([seed, group, chunks]), ntk=kind == "ntk", same=y is x))
        if tick is not None:
            jax.block_until_ready(groups[-1])
            tick()
    return _jackknife(arch, x, y, groups, kind=kind)


@partial(jax.jit, static_argnames=("arch", "kind"))
def _jackknife(arch: Architecture, x: Sequences, y: Sequences | None, groups: list[Attended], *, kind: Kind) -> tuple[Array, Array]:
    """Value from the mean of all groups; its standard error from leaving one out, since what follows attention is not linear."""
    x, y = jax.tree.map(jnp.asarray, (x, y))
    stacked = jax.tree.map(lambda *parts: jnp.stack(parts), *groups)
    total = jax.tree.map(lambda part: jnp.sum(part, axis=0), stacked)
    value = _after_attention(arch, x, y, jax.tree.map(lambda whole: whole / GROUPS, total), kind=kind)

    def add_squared_change(group: Array | int, spread: Array) -> Array:
        rest = jax.tree.map(lambda whole, parts: (whole - parts[group]) / (GROUPS - 1), total, stacked)
        return spread + (_after_attention(arch, x, y, rest, kind=kind) - value) ** 2

    spread = jax.lax.fori_loop(0, GROUPS, add_squared_change, jnp.zeros_like(value))
    return value, jnp.sqrt(spread * (GROUPS - 1) / GROUPS)


@partial(jax.jit, static_argnames=("arch", "kind"))
def tied_kernel(arch: Architecture, x: Sequences, y: Sequences | None, *, kind: Kind) -> Array:
    """Kernel of tied attention, in closed form; `y=None` gives the diagonal."""
    x, y = jax.tree.map(jnp.asarray, (x, y))
    read = reading(arch)
    left = tied_features(arch, read, x)
    right = left if y is None else tied_features(arch, read, y)
    cross = _rows(left, right) if y is None else _outer(left, right)
    attended = Attended(cross, _rows(left, left), _rows(right, right), jnp.zeros_like(cross))
    return _after_attention(arch, x, y, attended, kind=kind)


@partial(jax.jit, static_argnames=("arch", "ntk", "same"))
def _attended(arch: Architecture, x: Sequences, y: Sequences | None, draw: Int[Array, "3"], *, ntk: bool, same: bool) -> Attended:
    """Average over the heads of one group; `draw` is (seed, group, chunks of heads), and `same` says that y is x."""
    x, y = jax.tree.map(jnp.asarray, (x, y))  # without compilation they are still NumPy
    seed, group, chunks = draw
    read = reading(arch)
    n, m = len(x.symbols), len(x.symbols if y is None else y.symbols)
    shape = (n,) if y is None else (n, m)
    product = _rows if y is None else _outer
    zero = Attended(*(jnp.zeros(s, dtype=jnp.float64) for s in (shape, (n,), (m,), shape)))

    def add_chunk(index: Array | int, total: Attended) -> Attended:
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), group), index)
        left = head_features(arch, read, x, key, ntk=ntk)
        right = left if y is None or same else head_features(arch, read, y, key, ntk=ntk)
        path = product(left.moved, right.moved) if ntk else jnp.zeros_like(total.score_path)
        chunk = (product(left.weights, right.weights), _rows(left.weights, left.weights), _rows(right.weights, right.weights), path)
        return Attended(*(old + part for old, part in zip(total, chunk, strict=True)))

    total = jax.lax.fori_loop(0, chunks, add_chunk, zero)
    return jax.tree.map(lambda part: part / (chunks * CHUNK).astype(jnp.float64), total)


def _after_attention(arch: Architecture, x: Sequences, y: Sequences | None, attended: Attended, *, kind: Kind) -> Array:
    r"""The rest of the network at the readout column, with $\Theta^1 = 3 K^1 + 4 K_{cc} \cdot$ score path (positions trained or absent)."""
    read = reading(arch)
    agrees = x.symbols[:, -1:] == y.symbols[None, :, -1] if y is not None else jnp.ones(len(x.symbols), dtype=bool)
    pairs = PointPairs(True if y is None else _coincide(arch, x, y), outer=y is not None)
    own = PointPairs(True, outer=False)

    def moments(cross: Array, left: Array, right: Array, ntk: Array, mean: float) -> Moments:
        families = Family(pairs, (cross,), pairs.same(0)), Family(own, (left,), own.same(0)), Family(own, (right,), own.same(0))
        return Moments(*families, (ntk,) if kind == "ntk" else None, (jnp.full_like(left, mean), jnp.full_like(right, mean)))

    s_p = arch.position_variance * read.at_readout if arch.values_see_positions else 0.0
    mean = float(position_mean(arch)[-1]) * math.sqrt(arch.position_variance) if arch.values_see_positions else 0.0
    stream_k = arch.token_variance * agrees.astype(jnp.float64) + s_p
    left, right = (jnp.full_like(side, arch.token_variance + s_p) for side in (attended.left, attended.right))
    stream = moments(stream_k, left, right, stream_k, mean)
    read_k = read.token * agrees.astype(jnp.float64) + read.position * read.at_readout
    tangent = 3.0 * attended.cross + 4.0 * read_k * attended.score_path
    return kernel_of(readout(arch, finish_block(arch, stream, moments(attended.cross, attended.left, attended.right, tangent, 0.0))))


def _coincide(arch: Architecture, x: Sequences, y: Sequences) -> Array:
    """Pairs of sequences that the network cannot tell apart."""
    if arch.position_variance > 0.0:
        return jnp.all((x.symbols[:, None] == y.symbols[None]) & (x.visible[:, None] == y.visible[None]), axis=2)
    tally_x, tally_y = (jnp.sum(s.one_hot(arch.symbols, jnp.float64), axis=1) for s in (x, y))
    squares_x, squares_y = jnp.sum(tally_x**2, axis=1), jnp.sum(tally_y**2, axis=1)
    same_tally = squares_x[:, None] + squares_y[None, :] == 2.0 * _outer(tally_x, tally_y)
    return same_tally & (x.symbols[:, -1:] == y.symbols[None, :, -1])


def _outer(left: Array, right: Array) -> Array:
    return jnp.matmul(left, right.T, precision=jax.lax.Precision.HIGHEST)


def _rows(left: Array, right: Array) -> Array:
    return jnp.sum(left * right, axis=1)
