r"""Kernels measured on sampled networks, each entry with its standard error.

NNGP: $\frac{s_2}{d}\, h(x) \cdot h(y)$ with $h$ the vector that the readout multiplies. NTK: $\nabla_\theta f(x) \cdot \nabla_\theta f(y)$
over every trained parameter $\theta$, in NTK parametrisation. Both are averaged over random networks, and estimate the average at the
given width, heads and head size, which differs from the infinite-width kernel by terms of order 1/width.

With stochastic positions every sequence of x and of y has its own draw, new in every network; if y is None, an entry on the
diagonal is that of one draw with itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float64, Int, Key, PRNGKeyArray

from specht.architecture import Architecture
from specht.checks import whole_number
from specht.errors import explains_calls
from specht.nn.network import Network, Size
from specht.progress import Progress, report
from specht.sequences import check_batch

_WORKING_BYTES = 2**29  # what is held for the sequences evaluated together stays below half a gigabyte


class Estimate(NamedTuple):
    """A kernel averaged over networks."""

    mean: Float64[np.ndarray, "n m"]
    stderr: Float64[np.ndarray, "n m"]
    """Standard error of the mean, entry by entry. Entries of one estimate are correlated, since they share their networks."""
    networks: int


class KeyedSequences(NamedTuple):
    """Sequences, which of their tokens are real, and a key for each, from which its stochastic positions are drawn."""

    tokens: Int[Array, "n columns"]
    mask: Bool[Array, "n columns"]
    keys: Key[Array, " n"] | None


@explains_calls
def empirical_nngp(
    arch: Architecture,
    x: Any,
    y: Any = None,
    *,
    size: Size,
    networks: int,
    seed: int,
    mask: Any = None,
    mask_y: Any = None,
    progress: Progress | None = None,
) -> Estimate:
    """The NNGP kernel of x with y (with x itself if y is None), averaged over random networks.

    Args:
        x: tokens (n, columns), and `y` likewise.
        size: width, heads and head size of the networks.
        networks: how many to sample, at least 2; network number i depends on the seed and on i only.
        mask: True for the real tokens of `x`, and `mask_y` likewise.
        progress: called as `progress(done, networks)`.
    """
    return _average_over_networks(feature_kernel, arch, size, networks, seed, progress, x=x, y=y, mask=mask, mask_y=mask_y)


@explains_calls
def empirical_ntk(
    arch: Architecture,
    x: Any,
    y: Any = None,
    *,
    size: Size,
    networks: int,
    seed: int,
    mask: Any = None,
    mask_y: Any = None,
    progress: Progress | None = None,
) -> Estimate:
    """The neural tangent kernel of x with y (with x itself if y is None), averaged over random networks.

    The arguments are those of `empirical_nngp`.
    """
    return _average_over_networks(tangent_kernel, arch, size, networks, seed, progress, x=x, y=y, mask=mask, mask_y=mask_y)


def feature_kernel(
    network: Network,
    x: Any,
    y: Any = None,
    *,
    mask: Any = None,
    mask_y: Any = None,
    chunk: int | None = None,
    key: PRNGKeyArray | None = None,
) -> Float64[np.ndarray, "n m"]:
    r"""The kernel $\frac{s_2}{d}\, h(x) \cdot h(y)$ of one network: the covariance of its output over random readout weights.

    Args:
        chunk: sequences evaluated together; as many as fit into half a gigabyte unless given.
        key: draws stochastic positions, which alone need it.
    """
    rows = _inputs(network.arch, "x", x, mask, key)
    columns = None if y is None else _inputs(network.arch, "y", y, mask_y, key)
    heads, width, head_size = network.blocks[0].query.raw.shape
    per_sequence = 4 * network.arch.columns * (6 * width + heads * (4 * head_size + 2 * network.arch.columns))
    return _kernel(_scaled_hidden, network, rows, columns, max(1, _WORKING_BYTES // per_sequence) if chunk is None else chunk)


def tangent_kernel(
    network: Network,
    x: Any,
    y: Any = None,
    *,
    mask: Any = None,
    mask_y: Any = None,
    chunk: int | None = None,
    key: PRNGKeyArray | None = None,
) -> Float64[np.ndarray, "n m"]:
    r"""The tangent kernel $\nabla_\theta f(x) \cdot \nabla_\theta f(y)$ of one network, random or trained, for its first output.

    Args:
        chunk: sequences whose gradients are held in memory together, for a block of x and one of y; as many as fit into half a
            gigabyte unless given. Smaller blocks repeat more of the work.
        key: draws stochastic positions, which alone need it.
    """
    rows = _inputs(network.arch, "x", x, mask, key)
    columns = None if y is None else _inputs(network.arch, "y", y, mask_y, key)
    gradient_bytes = sum(leaf.nbytes for leaf in jax.tree.leaves(network))
    return _kernel(_gradients, network, rows, columns, max(1, _WORKING_BYTES // (2 * gradient_bytes)) if chunk is None else chunk)


def _kernel(
    features: Callable[[Network, KeyedSequences], Any], network: Network, rows: KeyedSequences, columns: KeyedSequences | None, chunk: int
) -> Float64[np.ndarray, "n m"]:
    """Inner products of features, block by block; without columns, of the rows with themselves."""
    row_blocks = _blocks(rows, chunk)
    column_blocks = row_blocks if columns is None else _blocks(columns, chunk)
    height, width = len(row_blocks[0].tokens), len(column_blocks[0].tokens)
    kernel = np.zeros((height * len(row_blocks), width * len(column_blocks)))
    for i, row_block in enumerate(row_blocks):
        left = features(network, row_block)
        for j in range(i if columns is None else 0, len(column_blocks)):
            right = left if row_block is column_blocks[j] else features(network, column_blocks[j])
            kernel[i * height : (i + 1) * height, j * width : (j + 1) * width] = _inner_products(left, right)
    if columns is None:
        kernel = np.triu(kernel) + np.triu(kernel, 1).T
    return kernel[: len(rows.tokens), : len((rows if columns is None else columns).tokens)]


@jax.jit
def _scaled_hidden(network: Network, inputs: KeyedSequences) -> Float[Array, "n width"]:
    def hidden(sequence: KeyedSequences) -> Float[Array, " width"]:
        return network.hidden(sequence.tokens[None], sequence.mask[None], key=sequence.keys)[0]

    vectors = jax.vmap(hidden)(inputs)
    return math.sqrt(network.arch.s_2 / vectors.shape[1]) * vectors


@jax.jit
def _gradients(network: Network, inputs: KeyedSequences) -> Network:
    """The gradient of the output for every sequence, stacked on a leading axis of every weight."""

    def output(network: Network, sequence: KeyedSequences) -> Float[Array, ""]:
        return network(sequence.tokens[None], sequence.mask[None], key=sequence.keys)[0, 0]

    return jax.vmap(jax.grad(output), in_axes=(None, 0))(network, inputs)


@jax.jit
def _inner_products(left: Any, right: Any) -> Float[Array, "n m"]:
    leaves = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return jnp.stack([a.reshape(len(a), -1) @ b.reshape(len(b), -1).T for a, b in leaves]).sum(axis=0)


def _blocks(inputs: KeyedSequences, chunk: int) -> list[KeyedSequences]:
    """Blocks of one size, at most `chunk`, the last filled up with copies of the last sequence so that one shape is compiled."""
    n = len(inputs.tokens)
    size = math.ceil(n / math.ceil(n / whole_number("chunk", chunk, at_least=1)))
    rows = (np.minimum(np.arange(start, start + size), n - 1) for start in range(0, n, size))
    return [jax.tree.map(lambda field, chosen=chosen: field[chosen], inputs) for chosen in rows]


def _average_over_networks(
    kernel: Callable[..., Float64[np.ndarray, "n m"]],
    arch: Architecture,
    size: Size,
    networks: int,
    seed: int,
    progress: Progress | None,
    **inputs: Any,
) -> Estimate:
    """Mean and standard error by Welford's update, with one network and one kernel in memory at a time."""
    networks = whole_number("networks", networks, at_least=2)  # one network has no standard error
    root = jax.random.key(whole_number("seed", seed, at_least=0, at_most=2**31 - 1))
    mean: Any = 0.0
    squares: Any = 0.0
    for number in range(networks):
        weights, signs = jax.random.split(jax.random.fold_in(root, number))
        # Sampled outside the compiled programs: random numbers compile slowly, and out here architectures share them.
        sample = kernel(Network.init(arch, size, key=weights), key=signs, **inputs)
        step = sample - mean
        mean = mean + step / (number + 1)
        squares = squares + step * (sample - mean)
        report(progress, number + 1, networks)
    return Estimate(mean, np.sqrt(squares / (networks - 1) / networks), networks)


def _inputs(arch: Architecture, name: str, tokens: Any, mask: Any, key: PRNGKeyArray | None) -> KeyedSequences:
    """Checked inputs; `name` is x or y, whose stochastic positions differ even where the sequences agree."""
    checked, real = check_batch(arch, tokens, mask, name)
    keys = None if key is None else jax.random.split(jax.random.fold_in(key, ord(name)), len(checked))
    return KeyedSequences(jnp.asarray(checked), jnp.asarray(real), keys)
