r"""The transformer of an `Architecture` at finite width, in float32 unless it is taken to float64.

Every trained array is a `Weight`: Gaussian numbers beside the scale that the forward pass multiplies by. With parametrisation
"ntk" the numbers are $N(0, 1)$ and the scales are those written in `specht.architecture`; with "standard" the scale is folded into
the numbers (LeCun initialisation) and the forward pass has none. The same key gives the same function in both; gradients differ.

Axes in einsum: n sequences, a query positions, b key positions, h heads, k head size, i and o widths.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from specht.activations import activation
from specht.architecture import Architecture
from specht.checks import finite_number, whole_number
from specht.errors import InputError, explains_calls, unknown_choice
from specht.sequences import check_batch, split_batch

Parametrisation = Literal["ntk", "standard"]
Tokens: TypeAlias = Int[Array, "n columns"]
Mask: TypeAlias = Bool[Array, "n columns"]

_LOWEST_FREQUENCY = 1e-4  # sinusoidal and rotary frequencies run geometrically from 1 down to this


@explains_calls
class Size(NamedTuple):
    """How large a finite network is."""

    width: int
    """Size d of the stream and of the dense layer."""
    heads: int
    """Number of attention heads H."""
    head_size: int
    """Size of queries, keys and values in one head."""
    embedding: int | None = None
    """Size of the vectors of tokens and positions, where it is not the width; residual sums need one size for both."""

    @property
    def embedding_width(self) -> int:
        return self.width if self.embedding is None else self.embedding


class Weight(eqx.Module):
    """Independent Gaussian numbers and the scale by which the forward pass multiplies them."""

    raw: Float[Array, "*shape"]
    scale: float = eqx.field(static=True)
    variance: float = eqx.field(static=True)
    """Variance of the weights at initialisation."""

    def contract(self, axes: str, inputs: Float[Array, "*inputs"]) -> Float[Array, "*outputs"]:
        """The einsum of inputs and weight; the scale goes on the result, which is smaller than the weight."""
        return self.scale * jnp.einsum(axes, inputs, self.raw)


class _Weights:
    """A supply of random weights for one network, drawn in one piece: each random program takes about a second to compile."""

    def __init__(self, key: PRNGKeyArray, count: int, parametrisation: str, deviation: float | None = None):
        padded = 2**14 * math.ceil(count / 2**14)  # few different lengths, so that small networks share one program
        numbers = jax.random.normal(key, (padded,), jnp.float32)
        # Cut up by NumPy, where slices cost nothing, unless the key is traced.
        self.numbers = numbers if isinstance(numbers, Tracer) else np.asarray(numbers)
        self.used = 0
        self.folded = parametrisation == "standard"
        self.deviation = deviation

    def draw(self, shape: tuple[int, ...], variance: float) -> Weight:
        """A weight whose entries, scale included, have the given variance, unless all weights have one deviation."""
        variance = variance if self.deviation is None else self.deviation**2
        start, self.used = self.used, self.used + math.prod(shape)
        normal, scale = self.numbers[start : self.used].reshape(shape), math.sqrt(variance)
        return Weight(jnp.asarray(scale * normal), 1.0, variance) if self.folded else Weight(jnp.asarray(normal), scale, 1.0)


class Block(eqx.Module):
    """Attention followed by the dense layer; a residual block ends its dense branch in one more matrix."""

    query: Weight
    key: Weight | None  # None: tied to the query
    value: Weight
    output: Weight
    dense: Weight
    branch: Weight | None  # None: not residual
    arch: Architecture = eqx.field(static=True)

    @classmethod
    def init(cls, arch: Architecture, size: Size, weights: _Weights, entering: int) -> Block:
        """A block that reads a stream of size `entering`."""
        width, heads, head_size = size[:3]
        into_heads, square = (heads, entering, head_size), (width, width)
        return cls(
            query=weights.draw(into_heads, 1 / entering),
            key=None if arch.scaling == "tied" else weights.draw(into_heads, 1 / entering),
            value=weights.draw(into_heads, 1 / entering),
            output=weights.draw((heads, head_size, width), 1 / (heads * head_size)),
            dense=weights.draw(square, arch.s_1 / width),
            branch=weights.draw(square, 1 / width) if arch.residual else None,
            arch=arch,
        )

    def __call__(
        self,
        stream: Float[Array, "n columns entering"],
        positions: Float[Array, "... columns entering"] | None,
        visible: Bool[Array, "n columns columns"],
        first_query: int = 0,
    ) -> Float[Array, "n queries width"]:
        """The stream after this block at positions `first_query` and later."""
        after = layer_norm if self.arch.norm == "post" else _unchanged
        attended = self.attend(stream, positions, visible, first_query)
        attended = after(stream[:, first_query:] + attended if self.arch.residual else attended)
        hidden = activation(self.arch.activation).phi(self.dense.contract("nai,io->nao", self._before(attended)))
        return after(hidden if self.branch is None else attended + self.branch.contract("nai,io->nao", hidden))

    @property
    def _before(self) -> Callable[[Any], Any]:
        return layer_norm if self.arch.norm == "pre" else _unchanged

    def attend(
        self,
        stream: Float[Array, "n columns entering"],
        positions: Float[Array, "... columns entering"] | None,
        visible: Bool[Array, "n columns columns"],
        first_query: int = 0,
    ) -> Float[Array, "n queries width"]:
        r"""Multi-head attention $o_a = (H d_k)^{-1/2} \sum_h W_O^h \sum_b \Phi(S^h)_{ab} v^h_b$; `positions` reach q and k only.

        That is what attention makes of the stream that enters this block, before anything is added to it.
        """
        stream = self._before(stream)
        read = stream if positions is None else stream + positions
        q, key = self.query.contract("nai,hik->nhak", read[:, first_query:]), self.key or self.query
        divisor = math.sqrt(q.shape[-1]) if self.arch.scaling == "sqrt" else q.shape[-1]
        one_query = q.shape[2] == 1
        if self.arch.positions == "rotary":
            scores = jnp.einsum("nhak,nhbk->nhab", rotate(q, first_query), rotate(key.contract("nbi,hik->nhbk", read)))
        elif one_query:  # it goes through the key matrix instead of every column, and what it takes through the value matrix
            scores = jnp.einsum("nhai,nbi->nhab", key.contract("nhak,hik->nhai", q), read)
        else:
            scores = jnp.einsum("nhak,nhbk->nhab", q, key.contract("nbi,hik->nhbk", read))
        weights = attention_weights(scores / divisor, visible[:, None, first_query:], self.arch)
        if one_query:
            mixed = self.value.contract("nhai,hik->nhak", jnp.einsum("nhab,nbi->nhai", weights, stream))
        else:
            mixed = jnp.einsum("nhab,nhbk->nhak", weights, self.value.contract("nbi,hik->nhbk", stream))
        return self.output.contract("nhak,hko->nao", mixed)


class Network(eqx.Module):
    """A transformer of finite width; every array in it is trained.

    >>> arch = Architecture(vocab=3, length=4, attention="softmax")
    >>> network = Network.init(arch, Size(width=16, heads=2, head_size=8), key=jax.random.key(0))
    >>> network(jnp.zeros((7, 5), int)).shape
    (7, 1)
    """

    embedding: Weight
    position: Weight | None  # None: positions are not learned
    blocks: tuple[Block, ...]
    extra: Weight | None
    readout: Weight
    arch: Architecture = eqx.field(static=True)

    @classmethod
    @explains_calls
    def init(
        cls,
        arch: Architecture,
        size: Size,
        *,
        key: PRNGKeyArray,
        parametrisation: Parametrisation | str = "ntk",
        outputs: int = 1,
        deviation: float | None = None,
    ) -> Network:
        """A network at initialisation.

        Args:
            size: width, heads and head size.
            parametrisation: "ntk", raw weights N(0, 1) with scales in the forward pass; "standard", weights N(0, variance / fan-in).
            outputs: columns of the readout matrix.
            deviation: standard deviation of every weight, as many language models begin with (0.02), instead of what the architecture says.
        """
        size, outputs = _checked_size(arch, size), whole_number("outputs", outputs, at_least=1)
        width, heads, head_size = size[:3]
        embedding = size.embedding_width
        if parametrisation not in get_args(Parametrisation):
            raise unknown_choice("parametrisation", parametrisation, get_args(Parametrisation))
        wide = max(width, embedding)
        block = heads * wide * head_size * (3 if arch.scaling == "tied" else 4) + width**2 * (1 + arch.residual)
        # enough for any positions and extra layer
        count = embedding * (arch.symbols + arch.columns) + width * (width + outputs) + arch.depth * block
        deviation = None if deviation is None else finite_number("deviation", deviation, above=0.0)
        weights = _Weights(key, count, parametrisation, deviation)
        return cls(
            embedding=weights.draw((arch.symbols, embedding), arch.token_variance),
            position=weights.draw((arch.columns, embedding), arch.s_p) if arch.positions == "learned" else None,
            blocks=tuple(Block.init(arch, size, weights, width if block else embedding) for block in range(arch.depth)),
            extra=weights.draw((width, width), 1 / width) if arch.extra_linear else None,
            readout=weights.draw((width, outputs), arch.s_2 / width),
            arch=arch,
        )

    def in_double(self) -> Network:
        """The same network in float64, to be made and called inside `jax.enable_x64(True)`."""
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), self)

    def prior_variances(self) -> Network:
        """The variance of every weight at initialisation, in the place of the weight."""
        return jax.tree.map(
            lambda weight: Weight(jnp.asarray(weight.variance, jnp.float32), weight.scale, weight.variance),
            self,
            is_leaf=lambda node: isinstance(node, Weight),
        )

    def __call__(self, tokens: Any, mask: Any = None, *, key: PRNGKeyArray | None = None) -> Float[Array, "n outputs"]:
        """The outputs f(x).

        Args:
            tokens: integers below `vocab`, one sequence a row, in any form that `specht.sequences.tokens` takes; with readout "cls" the
                last column is ignored.
            mask: True at real tokens, False at padding. With readout "last" and "cls" the last column must be real.
            key: draws the signs of stochastic positions, which alone need it.
        """
        return self.readout.contract("ni,io->no", self.hidden(tokens, mask, key=key))

    def hidden(self, tokens: Any, mask: Any = None, *, key: PRNGKeyArray | None = None) -> Float[Array, "n width"]:
        """The vector that the readout matrix multiplies."""
        tokens, real = self._checked(tokens, mask)
        pooled = self.arch.readout == "mean"
        *_, stream = self._streams(tokens, real, key, last_queries=self.arch.columns if pooled else 1)
        if self.arch.norm == "pre":
            stream = layer_norm(stream)
        if pooled:
            counted = real.astype(stream.dtype)
            hidden = jnp.einsum("na,nai->ni", counted / counted.sum(axis=1, keepdims=True), stream)
        else:
            hidden = stream[:, -1]
        return hidden if self.extra is None else self.extra.contract("ni,io->no", hidden)

    def streams(self, tokens: Any, mask: Any = None, *, key: PRNGKeyArray | None = None) -> list[Float[Array, "n columns width"]]:
        """The stream at every position: the embedding, then what each block hands on."""
        return self._streams(*self._checked(tokens, mask), key, last_queries=self.arch.columns)

    def attended(self, tokens: Any, mask: Any = None, *, key: PRNGKeyArray | None = None) -> list[Float[Array, "n columns width"]]:
        """What the attention of each block makes of its stream, at every position, before anything is added to it."""
        tokens, real = self._checked(tokens, mask)
        visible, (_, positions) = self._visible(real), self._embed(tokens, key)
        streams = self._streams(tokens, real, key, last_queries=self.arch.columns)
        return [block.attend(stream, positions, visible) for block, stream in zip(self.blocks, streams[:-1], strict=True)]

    def _checked(self, tokens: Any, mask: Any) -> tuple[Tokens, Mask]:
        """Tokens and which of them are real. Inside a compiled function only their shapes are known: its caller has checked them."""
        tokens, mask = split_batch(tokens, mask)
        if not isinstance(tokens, Tracer) and not isinstance(mask, Tracer):
            checked, real = check_batch(self.arch, tokens, mask)
            return jnp.asarray(checked), jnp.asarray(real)
        tokens = jnp.asarray(tokens)
        if tokens.shape[1:] != (self.arch.columns,):
            raise InputError(f"x has shape {tokens.shape}, and {self.arch} needs (n, {self.arch.columns}).")
        return tokens, jnp.ones(tokens.shape, bool) if mask is None else jnp.asarray(mask).astype(bool)

    def _visible(self, real: Mask) -> Bool[Array, "n columns columns"]:
        """Which positions (last axis) each position may read."""
        columns, real = self.arch.columns, real[:, None, :]
        return real & (jnp.tri(columns, dtype=bool)[None] if self.arch.causal else jnp.ones((1, columns, columns), bool))

    def _streams(self, tokens: Tokens, real: Mask, key: PRNGKeyArray | None, last_queries: int) -> list[Float[Array, "n _ width"]]:
        """The streams, of which the last holds only the final `last_queries` positions: nothing reads the others."""
        columns, visible = self.arch.columns, self._visible(real)
        stream, positions = self._embed(tokens, key)
        streams = [stream]
        for layer, block in enumerate(self.blocks, start=1):
            first_query = columns - last_queries if layer == len(self.blocks) else 0
            streams.append(block(streams[-1], positions, visible, first_query))
        return streams

    def _embed(
        self, tokens: Tokens, key: PRNGKeyArray | None
    ) -> tuple[Float[Array, "n columns width"], Float[Array, "_ columns width"] | None]:
        """The stream that enters the first block, and what every block adds for its queries and keys."""
        symbols = tokens.at[:, -1].set(self.arch.vocab) if self.arch.readout == "cls" else tokens
        stream = self.embedding.scale * self.embedding.raw[symbols]  # (n, columns, width)
        positions = self._positions(len(symbols), key)
        if positions is None or not self.arch.values_see_positions:
            return stream, positions
        return stream + positions, None

    def _positions(self, n: int, key: PRNGKeyArray | None) -> Float[Array, "_ columns width"] | None:
        """What positions add; one for all sequences (1, columns, width), or one for each (n, columns, width)."""
        columns, width, size = self.arch.columns, self.embedding.raw.shape[1], math.sqrt(self.arch.s_p)
        precision = self.embedding.raw.dtype
        if self.position is not None:
            return self.position.scale * self.position.raw[None]
        if self.arch.positions == "sinusoidal":
            sin, cos = _waves(np.arange(columns), width // 2, precision)
            return size * math.sqrt(2) * jnp.concatenate([sin, cos], axis=1)[None]  # squared norm is exactly s_p * width
        if self.arch.positions == "stochastic":
            if key is None:
                raise InputError("Stochastic positions are drawn anew at every call: pass key=jax.random.key(...).")
            return size * jax.random.rademacher(key, (n, columns, width), precision)
        return None


def attention_weights(
    scores: Float[Array, "n heads queries columns"], visible: Bool[Array, "n 1 queries columns"], arch: Architecture
) -> Float[Array, "n heads queries columns"]:
    """How much each query takes from each visible position: the softmax of its scores, or the scores themselves."""
    if arch.attention == "softmax":
        # The floor is finite, so that a padded query that sees nothing makes no NaN; the last line sets its weights to zero.
        scores = jax.nn.softmax(jnp.where(visible, scores, jnp.finfo(scores.dtype).min), axis=-1)
    elif arch.normalised:
        scores = scores / jnp.maximum(visible.sum(axis=-1, keepdims=True, dtype=scores.dtype), 1)
    return jnp.where(visible, scores, 0)


def layer_norm(stream: Float[Array, "n positions width"]) -> Float[Array, "n positions width"]:
    """Mean zero and standard deviation one over the width, without gain or bias."""
    centred = stream - stream.mean(axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)  # the summand only keeps 0/0 away


def rotate(vectors: Float[Array, "n heads positions size"], first_position: int = 0) -> Float[Array, "n heads positions size"]:
    r"""Rotary positions: turn the plane of coordinates $(i, i + d_k/2)$ at position a by the angle $a\, w_i$."""
    positions, size = vectors.shape[2:]
    sin, cos = (wave[None, None] for wave in _waves(first_position + np.arange(positions), size // 2, vectors.dtype))
    left, right = jnp.split(vectors, 2, axis=-1)
    return jnp.concatenate([left * cos - right * sin, left * sin + right * cos], axis=-1)


def _waves(
    positions: Int[np.ndarray, " positions"], count: int, precision: Any
) -> tuple[Float[Array, "positions count"], Float[Array, "positions count"]]:
    r"""Sine and cosine of $a\, w_i$ with $w_i = 10^{-4 (i + 1/2)/\mathrm{count}}$, the midpoint rule over geometric frequencies."""
    frequencies = _LOWEST_FREQUENCY ** ((np.arange(count) + 0.5) / count)
    angles = positions[:, None] * frequencies[None]
    return jnp.asarray(np.sin(angles), precision), jnp.asarray(np.cos(angles), precision)


def _unchanged(stream: Float[Array, "n positions width"]) -> Float[Array, "n positions width"]:
    return stream


def _checked_size(arch: Architecture, size: Size) -> Size:
    finite = {name: value for name, value in size._asdict().items() if value is not None}
    sizes = {name: whole_number(name, value, at_least=1) for name, value in finite.items()}
    every_block_reads_it = arch.residual or (arch.depth > 1 and arch.has_positions and not arch.values_see_positions)
    if every_block_reads_it and sizes.get("embedding", sizes["width"]) != sizes["width"]:
        raise InputError(
            f"Every block of this network adds to the embedding or reads its positions, so embedding and width are one size, got "
            f"{size.embedding} and {size.width}: leave embedding out."
        )
    for positions, name in (("sinusoidal", "width"), ("rotary", "head_size")):
        paired = sizes.get("embedding", sizes[name]) if name == "width" else sizes[name]
        if arch.positions == positions and paired % 2:
            raise InputError(f"{positions.capitalize()} positions pair coordinates up, so {name} must be even, got {paired}.")
    return Size(**sizes)
