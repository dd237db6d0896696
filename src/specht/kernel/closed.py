"""Kernels that need no sampling: linear attention and tied attention, any depth."""

from __future__ import annotations

from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array

from specht.architecture import Kind
from specht.kernel.attention import linear_attention, tied_attention
from specht.kernel.layers import StreamMoments, at_readout, embedding, finish_block, kernel_of, layer_norm, readout
from specht.kernel.model import KernelModel
from specht.kernel.pairs import ClassPairs, Sequences, class_pairs, class_pairs_with_itself, position_pairs
from specht.kernel.positions import position_gram, position_mean

Bookkeeping = Literal["classes", "positions"]


@partial(jax.jit, static_argnames=("kind", "bookkeeping", "same"))
def closed_kernel(
    model: KernelModel, x: Sequences, y: Sequences | None, *, kind: Kind, bookkeeping: Bookkeeping, same: bool = False
) -> Array:
    """The kernel of every sequence of `x` with every sequence of `y`, or of every sequence with itself (`y=None`).

    `same` says that y is x, so that what belongs to one batch is computed once.
    """
    model, x, y = jax.tree.map(jnp.asarray, (model, x, y))  # without compilation they are still NumPy
    y = x if same else y
    if bookkeeping == "classes":
        left = class_pairs_with_itself(model, x)
        pairs = (left, left, left) if y is None else (class_pairs(model, x, y), left, class_pairs_with_itself(model, y))
        return _by_classes(model, *pairs, kind == "ntk")
    return propagate(model, embed(model, x, y, ntk=kind == "ntk"))


@partial(jax.checkpoint, static_argnums=4)
def _by_classes(model: KernelModel, cross: ClassPairs, left: ClassPairs, right: ClassPairs, ntk: bool) -> Array:
    """The kernel from counts. Derivatives compute it again from them, which takes less time than keeping every step."""
    return propagate(model, embedding(model, cross, left, right, jnp.zeros((), dtype=jnp.float64), ntk=ntk))


def embed(model: KernelModel, x: Sequences, y: Sequences | None, *, ntk: bool) -> StreamMoments:
    """Moments of the embedded tokens, position by position, of all pairs of two batches or of each sequence with itself (`y=None`)."""
    positions = jnp.asarray(position_gram(model.arch), dtype=jnp.float64)
    mean = jnp.asarray(position_mean(model.arch), dtype=jnp.float64)[None, :]
    left = position_pairs(model, x, x, positions, outer=False)
    if y is None:
        return embedding(model, left, left, left, mean, ntk=ntk)
    cross = position_pairs(model, x, y, positions, outer=True)
    return embedding(model, cross, left, position_pairs(model, y, y, positions, outer=False), mean, ntk=ntk)


def propagate(model: KernelModel, stream: StreamMoments) -> Array:
    """The kernel, given the moments of the embedded tokens."""
    arch = model.arch
    attend = tied_attention if arch.scaling == "tied" else linear_attention
    for block in range(arch.depth):
        attended = attend(model, layer_norm(stream) if arch.norm == "pre" else stream, block)
        if block == arch.depth - 1 and arch.readout != "mean":
            stream, attended = at_readout(stream), at_readout(attended)
        stream = finish_block(model, stream, attended)
    return kernel_of(readout(model, stream))
