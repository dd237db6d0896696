r"""Networks that learn a function of T bits: a transformer of one layer with a class symbol, and a multilayer perceptron of its size.

The transformer is that of Edelman, Goel, Kakade & Zhang 2022 (appendix C): embeddings of tokens and positions, a pre-norm block with 16
heads and an MLP four times as wide, a last norm, two logits at the class symbol. Only the class symbol asks, and what it asks is the same
for every sequence, so scores $S_{tb}$ and values $v_{tb}$ are tables over positions t and bits b, and attention of all sequences is one
matrix product in their one-hot bits $[x_t = b]$:

$$ o = \frac{\sum_{tb} [x_t = b]\, e^{S_{tb}} v_{tb} + e^{S_c} v_c}{\sum_{tb} [x_t = b]\, e^{S_{tb}} + e^{S_c}}, $$

c being the class symbol itself. Scores and softmax sequence by sequence, as elsewhere, give the same and are what this is tested against.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from specht.checks import finite_number, whole_number
from specht.errors import InputError, unknown_choice

Start = Literal["small", "uniform"]
"""small: all weights N(0, 0.02²), as minGPT; uniform: matrices U(±1/√fan-in), as PyTorch's linear layers, and embeddings N(0, 0.02²)."""
Params: TypeAlias = dict[str, Any]
"""Weights by name, of NumPy at the start and of JAX from there on."""
Bits: TypeAlias = Float[Array, "n length"] | Float[np.ndarray, "n length"]
_DEVIATION = 0.02
_RANGE = 70.0
"""Exponents beyond which weights are cut off: scores of one head may lie twice as far apart, and trained ones do not."""
_CLASSES = 2


@dataclasses.dataclass(frozen=True)
class BitTransformer:
    """One pre-norm block of softmax attention and GELU on T bits and a class symbol.

    >>> model = BitTransformer(5, width=8, heads=2)
    >>> model.logits(model.init(np.random.default_rng(0)), jnp.zeros((3, 5))).shape
    (3, 2)
    """

    length: int
    width: int = 64
    heads: int = 16
    dropout: float = 0.1
    """Share of the outputs of attention and of the MLP that are set to zero while training."""
    start: Start | str = "small"

    def __post_init__(self) -> None:
        for name in ("length", "width", "heads"):
            whole_number(name, getattr(self, name), at_least=1)
        finite_number("dropout", self.dropout, at_least=0.0, below=1.0)
        if self.width % self.heads:
            raise InputError(f"A width of {self.width} cannot be shared out between {self.heads} heads: take a multiple.")
        if self.start not in ("small", "uniform"):
            raise unknown_choice("start", self.start, ("small", "uniform"))

    def init(self, rng: np.random.Generator) -> Params:
        """Weights at the start, drawn by NumPy: a random program of each shape would take a second to compile."""
        d = self.width

        def embedding(rows: int) -> Float[np.ndarray, "rows width"]:
            return _DEVIATION * rng.standard_normal((rows, d), np.float32)

        def matrix(rows: int, columns: int) -> Float[np.ndarray, "rows columns"]:
            if self.start == "small":
                return _DEVIATION * rng.standard_normal((rows, columns), np.float32)
            return _uniform(rng, rows, columns)

        params = {"token": embedding(_CLASSES + 1), "position": embedding(self.length + 1)}
        params |= {name: matrix(d, d) for name in ("query", "key", "value", "output")}
        params |= {"up": matrix(d, 4 * d), "down": matrix(4 * d, d), "readout": matrix(d, _CLASSES)}
        zeros = {"query_bias": d, "value_bias": d, "output_bias": d, "up_bias": 4 * d, "down_bias": d}
        zeros |= {f"norm{place}_shift": d for place in (1, 2, 3)}
        params |= {name: np.zeros(size, np.float32) for name, size in zeros.items()}
        return params | {f"norm{place}_gain": np.ones(d, np.float32) for place in (1, 2, 3)}

    def logits(self, params: Params, x: Bits, key: PRNGKeyArray | None = None) -> Float[Array, "n classes"]:
        """Two logits a sequence of bits; a key draws dropout."""
        params, x = _on_device(params), jnp.asarray(x)
        stream = params["token"][-1] + params["position"][-1]  # of the class symbol, (width,)
        attended = self._mixed(params, x) @ params["output"] + params["output_bias"][None]
        kept = self._kept(len(x), key)
        stream = stream[None] + kept[0] * attended
        hidden = jax.nn.gelu(_norm(params, 2, stream) @ params["up"] + params["up_bias"][None], approximate=True)
        stream = stream + kept[1] * (hidden @ params["down"] + params["down_bias"][None])
        return _norm(params, 3, stream) @ params["readout"]

    def attention(self, params: Params, x: Bits) -> Float[Array, "n heads columns"]:
        """How much the class symbol takes from every position, and from itself in the last column."""
        scores, own, _, _ = self._tables(_on_device(params))
        chosen = jnp.where(jnp.asarray(x)[:, None, :] > 0.5, scores[None, 1], scores[None, 0])  # (n, heads, length)
        own = jnp.broadcast_to(own[None, :, None], (len(x), self.heads, 1))
        return jax.nn.softmax(jnp.concatenate([chosen, own], axis=-1), axis=-1)

    def _tables(self, params: Params) -> tuple[Any, Any, Any, Any]:
        """Scores (bits, heads, length) and (heads,) of the class symbol; values (bits, length, heads, size) and (heads, size)."""
        d, heads, size = self.width, self.heads, self.width // self.heads
        bits = _norm(params, 1, params["token"][:_CLASSES, None] + params["position"][None, :-1])  # (bits, length, width)
        symbol = _norm(params, 1, (params["token"][-1] + params["position"][-1])[None])[0]
        query = (symbol @ params["query"] + params["query_bias"]).reshape(heads, size)
        # The bias of keys would move all scores of a head alike, which softmax does not see: there is none.
        reader = jnp.einsum("dhk,hk->dh", params["key"].reshape(d, heads, size), query) / math.sqrt(size)
        values = (bits.reshape(-1, d) @ params["value"] + params["value_bias"][None]).reshape(_CLASSES, -1, heads, size)
        own_value = (symbol @ params["value"] + params["value_bias"]).reshape(heads, size)
        return jnp.einsum("btd,dh->bht", bits, reader), symbol @ reader, values, own_value

    def _mixed(self, params: Params, x: Bits) -> Float[Array, "n width"]:
        """What all heads take from the sequences, side by side."""
        scores, own, values, own_value = self._tables(params)
        # Between the largest score and one that every sequence reaches: neither exponentials nor their sums leave the range of floats.
        reached = jnp.maximum(jnp.minimum(scores[0], scores[1]).max(axis=-1), own)
        centre = jax.lax.stop_gradient((jnp.maximum(scores.max(axis=(0, 2)), own) + reached) / 2)
        weights = jnp.exp(jnp.clip(scores - centre[None, :, None], -_RANGE, _RANGE))  # (bits, heads, length)
        own_weight = jnp.exp(jnp.clip(own - centre, -_RANGE, _RANGE))
        both = weights.transpose(0, 2, 1)[..., None] * jnp.concatenate([values, jnp.ones((*values.shape[:3], 1))], axis=-1)
        own_both = own_weight[:, None] * jnp.concatenate([own_value, jnp.ones((self.heads, 1))], axis=-1)
        chosen = jnp.concatenate([1.0 - x, x], axis=1)  # sums of positive terms: differences of large ones would lose the small
        sums = (chosen @ both.reshape(2 * self.length, -1) + own_both.reshape(1, -1)).reshape(len(x), self.heads, -1)
        return (sums[..., :-1] / sums[..., -1:]).reshape(len(x), -1)

    def _kept(self, n: int, key: PRNGKeyArray | None) -> Float[Array, "branches _ _"]:
        """What the outputs of attention and MLP are multiplied by: zero where they are dropped, one or a little more elsewhere."""
        if key is None or not self.dropout:
            return jnp.ones((2, 1, 1))
        return jax.random.bernoulli(key, 1.0 - self.dropout, (2, n, self.width)).astype(jnp.float32) / (1.0 - self.dropout)


@dataclasses.dataclass(frozen=True)
class Perceptron:
    """Two hidden layers of ReLU on T bits as -1 and 1, with LeCun-uniform matrices.

    >>> Perceptron.like(BitTransformer(100)).hidden
    192
    """

    length: int
    hidden: int

    def __post_init__(self) -> None:
        for name in ("length", "hidden"):
            whole_number(name, getattr(self, name), at_least=1)

    @classmethod
    def like(cls, model: BitTransformer) -> Perceptron:
        """The one with about as many weights as a transformer: $h^2 + (T + 4) h = $ their number."""
        weights = model.width * (12 * model.width + model.length + 1 + _CLASSES + 1 + 10) + model.width * (_CLASSES + 6)
        linear = model.length + 2 + _CLASSES
        return cls(model.length, max(1, round((math.sqrt(linear**2 + 4 * weights) - linear) / 2)))

    def init(self, rng: np.random.Generator) -> Params:
        sizes = (self.length, self.hidden, self.hidden, _CLASSES)
        matrices = {f"matrix{place}": _uniform(rng, *shape) for place, shape in enumerate(itertools.pairwise(sizes))}
        return matrices | {f"bias{place}": np.zeros(columns, np.float32) for place, columns in enumerate(sizes[1:])}

    def logits(self, params: Params, x: Bits, key: PRNGKeyArray | None = None) -> Float[Array, "n classes"]:
        params, values = _on_device(params), 2.0 * jnp.asarray(x) - 1.0
        for place in range(2):
            values = jax.nn.relu(values @ params[f"matrix{place}"] + params[f"bias{place}"][None])
        return values @ params["matrix2"] + params["bias2"][None]


BitModel: TypeAlias = BitTransformer | Perceptron
"""What can be trained on bits."""


def _on_device(params: Params) -> Params:
    return {name: jnp.asarray(value) for name, value in params.items()}


def _uniform(rng: np.random.Generator, rows: int, columns: int) -> Float[np.ndarray, "rows columns"]:
    return (2.0 * rng.random((rows, columns), np.float32) - 1.0) / np.float32(math.sqrt(rows))


def _norm(params: Params, place: int, stream: Float[Array, "... width"]) -> Float[Array, "... width"]:
    """Layer norm with a gain and a shift."""
    centred = stream - stream.mean(axis=-1, keepdims=True)
    unit = centred * jax.lax.rsqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    lead = (1,) * (stream.ndim - 1)
    return unit * params[f"norm{place}_gain"].reshape(*lead, -1) + params[f"norm{place}_shift"].reshape(*lead, -1)
