r"""Bounds of a given network: its norms, what they make of the number of samples, and the same for a fully connected network.

What the theory does not have is counted as its authors suggest: layer norm as a projection on the unit ball, whose radius $\sqrt d$ and
gain go into the matrices behind it; biases not at all; what stands behind attention as a fixed map with its Lipschitz constant. All of
these make the bound smaller than a full proof would, and it is vacuous all the same.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from specht.activations import activation
from specht.errors import InputError
from specht.studies.sparse.bounds.covering import (
    DenseNorms,
    HeadNorms,
    LayerNorms,
    Risk,
    dense_capacity,
    generalisation_gap,
    head_capacity,
    samples_until,
    spectral,
    stack_capacity,
)

if TYPE_CHECKING:
    from specht.nn import Network
    from specht.studies.sparse.model import BitTransformer

STEEPEST_GELU = activation("gelu").steepest or 0.0
LOGISTIC = Risk(outputs=1.0, lipschitz=math.sqrt(2.0), loss=math.log1p(math.exp(2.0)))
"""Cross-entropy of two logits that are clipped to [-1, 1] each: the loss is at most log(1 + e²) = 2.13."""


@dataclasses.dataclass(frozen=True)
class Bound:
    """What a theorem says about a network."""

    theorem: str
    factor: float
    """The capacity without its logarithm: a product and sum of norms."""
    width: int
    """The factor of samples and positions inside the logarithm."""
    length: int

    def capacity(self, samples: float) -> float:
        return self.factor * math.log(max(2.0, self.width * self.length * samples))

    def gap(self, samples: float, risk: Risk = LOGISTIC) -> float:
        """The bound of the generalisation gap."""
        return generalisation_gap(self.capacity(samples), samples, risk)

    def samples(self, target: float = 0.5, risk: Risk = LOGISTIC) -> float:
        """The number of samples from which the bound is below `target`."""
        return samples_until(self.capacity, target, risk)


def network_bound(network: Network) -> Bound:
    """Lemma A.12 for one block, with any number of heads; theorem A.17 for a stack of blocks with one head and a norm.

    Attention goes straight into the dense layer, so their matrices count as one: $W_V$ is the product of value, output and dense matrices.
    """
    arch, blocks = network.arch, network.blocks
    if arch.attention != "softmax":
        raise InputError(f"Bounds are those of softmax attention, and this network has {arch.attention} attention.")
    slope, readout = activation(arch.activation).steepest, spectral(_full(network.readout))
    if slope is None:
        raise InputError(f"Bounds need the largest slope of activation {arch.activation!r}: register it with steepest=.")
    width = _full(network.embedding).shape[1]
    scale = math.sqrt(width) if arch.norm != "none" else 1.0
    if len(blocks) == 1 and not arch.residual:
        heads = [HeadNorms.of(value, query_key) for value, query_key in _heads(blocks[0], arch.scaling)]
        b_x = scale if arch.norm == "pre" else _longest_token(network)
        unit = head_capacity(heads, b_x, samples=1, length=3, width=1, lipschitz=slope * readout, query_norm=b_x) / math.log(3)
        return Bound("lemma A.12" if len(heads) > 1 else "corollary 4.5", unit, width, arch.columns)
    if arch.norm == "none":
        raise InputError("Theorem A.17 puts every token on the unit ball between layers: bounds of a stack need norm 'pre' or 'post'.")
    if any(len(_full(block.value)) > 1 for block in blocks):
        raise InputError(
            "Theorem A.17 is about one head a layer, and this stack has several: bounds of several heads are those of one block."
        )
    layers = [LayerNorms.of(scale * value, scale**2 * qk, np.eye(width)) for block in blocks for value, qk in _heads(block, arch.scaling)]
    layers = [dataclasses.replace(norms, mix_21=0.0) for norms in layers]  # the identity is fixed: no cover is needed for it
    size = _full(blocks[0].value).shape[2]
    unit = stack_capacity(
        layers, scale * readout, samples=1, length=3, width=1, head_size=size, lipschitz=slope, residual=arch.residual
    ) / math.log(3)
    return Bound("theorem A.17", unit, width, arch.columns)


def transformer_bound(model: BitTransformer, params: Mapping[str, Any]) -> Bound:
    """Lemma A.12 for the attention of a trained transformer on bits; what follows it enters with its Lipschitz constant."""
    p = {name: np.asarray(value, dtype=np.float64) for name, value in params.items()}
    d, h, k = model.width, model.heads, model.width // model.heads
    query, key, value = (p[name].reshape(d, h, k) for name in ("query", "key", "value"))
    output = p["output"].reshape(h, k, d)
    heads = [HeadNorms.of(value[:, i] @ output[i], query[:, i] @ key[:, i].T / math.sqrt(k)) for i in range(h)]
    gains = [float(np.abs(p[f"norm{place}_gain"]).max()) for place in (1, 2, 3)]
    after = (1.0 + STEEPEST_GELU * gains[1] * spectral(p["up"]) * spectral(p["down"])) * gains[2] * spectral(p["readout"])
    b_x = math.sqrt(d) * gains[0]  # of the class symbol, which asks, too
    unit = head_capacity(heads, b_x, samples=1, length=3, width=1, lipschitz=after, query_norm=b_x) / math.log(3)
    return Bound("lemma A.12", unit, d, model.length + 1)


def perceptron_bound(params: Mapping[str, Any], length: int) -> Bound:
    r"""The bound of a fully connected network on T bits ±1, whose input has the norm $\sqrt T$."""
    matrices = [np.asarray(params[name]) for name in sorted(params) if name.startswith("matrix")]
    layers = [DenseNorms.of(matrix) for matrix in matrices]
    widest = max(max(matrix.shape) for matrix in matrices)
    factor = dense_capacity(layers, math.sqrt(length), samples=3, width=1) / math.log(3)
    return Bound("fully connected (Bartlett et al. 2017)", factor, widest, 1)


def _heads(block: Any, scaling: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The matrices $W_V$ and $W_{QK}$ of every head."""
    query, value, output, dense = (_full(getattr(block, name)) for name in ("query", "value", "output", "dense"))
    key = query if block.key is None else _full(block.key)
    after = dense if block.branch is None else dense @ _full(block.branch)
    divisor = math.sqrt(query.shape[2]) if scaling == "sqrt" else query.shape[2]
    return [(value[i] @ output[i] @ after, query[i] @ key[i].T / divisor) for i in range(len(query))]


def _longest_token(network: Network) -> float:
    tokens = _full(network.embedding)
    positions = _full(network.position) if network.position is not None else np.zeros((1, tokens.shape[1]))
    if network.position is None and network.arch.positions == "sinusoidal":
        return float(np.linalg.norm(tokens, axis=1).max()) + math.sqrt(network.arch.s_p * tokens.shape[1])
    return float(np.linalg.norm(tokens[:, None] + positions[None], axis=2).max())


def _full(weight: Any) -> np.ndarray:
    """A weight with its scale, in float64."""
    return weight.scale * np.asarray(weight.raw, dtype=np.float64)
