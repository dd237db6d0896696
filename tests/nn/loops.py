"""The second implementation of the finite network: one sequence, one position, one head at a time, in NumPy float64."""

from __future__ import annotations

import math

import jax
import numpy as np
import scipy.special

from specht.architecture import Architecture
from specht.nn.network import Network, Size

VOCAB, LENGTH = 3, 4
SIZE = Size(width=6, heads=3, head_size=4)
SCALES = {"s_w": 0.7, "s_p": 0.4, "s_1": 1.3, "s_2": 0.8}  # all different from one and from each other

OPTIONS = {
    "linear": {},
    "softmax erf": {"attention": "softmax", "activation": "erf"},
    "causal normalised, depth 2": {"causal": True, "normalised": True, "depth": 2, "activation": "relu"},
    "causal softmax, mean readout": {"causal": True, "attention": "softmax", "readout": "mean", "activation": "gelu"},
    "tied softmax, class symbol": {"scaling": "tied", "attention": "softmax", "readout": "cls", "activation": "relu"},
    "untied normalised": {"scaling": "untied", "normalised": True, "activation": "erf"},
    "residual pre-norm, depth 2": {"residual": True, "norm": "pre", "depth": 2, "attention": "softmax", "activation": "gelu"},
    "residual post-norm, mean": {"residual": True, "norm": "post", "depth": 2, "readout": "mean", "activation": "relu"},
    "post-norm": {"norm": "post", "activation": "erf"},
    "sinusoidal, extra linear": {"positions": "sinusoidal", "extra_linear": True, "activation": "relu"},
    "rotary softmax, depth 2": {"positions": "rotary", "attention": "softmax", "depth": 2, "activation": "erf"},
    "learned qk-only pre-norm, depth 2": {"values_see_positions": False, "norm": "pre", "depth": 2, "attention": "softmax"},
    "sinusoidal qk-only residual": {"positions": "sinusoidal", "values_see_positions": False, "residual": True, "activation": "relu"},
    "stochastic": {"positions": "stochastic", "attention": "softmax", "activation": "relu"},
    "no positions, mean, extra linear": {"positions": "none", "readout": "mean", "extra_linear": True, "activation": "gelu"},
}


def architecture(**options) -> Architecture:
    return Architecture(**{"vocab": VOCAB, "length": LENGTH, **SCALES, **options})


def network_of(arch: Architecture, seed: int = 0, **options) -> Network:
    return Network.init(arch, SIZE, key=jax.random.key(seed), **options)


@jax.jit
def outputs_of(network: Network, tokens, mask=None, key=None):
    return network(tokens, mask, key=key)


@jax.jit
def streams_of(network: Network, tokens, key=None):
    return network.streams(tokens, key=key)


def sequences(arch: Architecture, n: int = 5, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, VOCAB, (n, arch.columns))


def left_padding(arch: Architecture, n: int = 5) -> np.ndarray:
    """Row i has its first i mod 3 columns masked, so that the readout column is always real."""
    return np.arange(arch.columns)[None] >= (np.arange(n) % 3)[:, None]


def raw_weights(network: Network) -> dict[str, np.ndarray]:
    """Every trained array by name, such as `query0`, in float64."""
    named = {"embedding": network.embedding, "position": network.position, "extra": network.extra, "readout": network.readout}
    for layer, block in enumerate(network.blocks):
        named |= {f"{name}{layer}": getattr(block, name) for name in ("query", "key", "value", "output", "dense", "branch")}
    return {name: np.asarray(weight.raw, np.float64) for name, weight in named.items() if weight is not None}


def frequency(i: int, count: int) -> float:
    return 10000 ** (-(i + 0.5) / count)


def position_vectors(arch: Architecture, weights: dict[str, np.ndarray], signs: np.ndarray | None) -> np.ndarray:
    width = weights["embedding"].shape[1]
    vectors = np.zeros((arch.columns, width))
    for a in range(arch.columns):
        if arch.positions == "learned":
            vectors[a] = math.sqrt(arch.s_p) * weights["position"][a]
        if arch.positions == "stochastic":
            assert signs is not None
            vectors[a] = math.sqrt(arch.s_p) * signs[a]
        if arch.positions == "sinusoidal":
            for i in range(width // 2):
                vectors[a, i] = math.sqrt(2 * arch.s_p) * math.sin(a * frequency(i, width // 2))
                vectors[a, i + width // 2] = math.sqrt(2 * arch.s_p) * math.cos(a * frequency(i, width // 2))
    return vectors


def turned(vector: np.ndarray, a: int) -> np.ndarray:
    half = len(vector) // 2
    out = np.empty_like(vector)
    for i in range(half):
        number = complex(vector[i], vector[i + half]) * np.exp(1j * a * frequency(i, half))
        out[i], out[i + half] = number.real, number.imag
    return out


def standardised(vector: np.ndarray) -> np.ndarray:
    return (vector - vector.mean()) / vector.std()


def activated(arch: Architecture, u: np.ndarray) -> np.ndarray:
    erf = scipy.special.erf
    return {"linear": u, "erf": erf(u), "relu": u * (u > 0), "gelu": u * (1 + erf(u / math.sqrt(2))) / 2}[arch.activation]


def attended(arch: Architecture, weights: dict[str, np.ndarray], layer: int, read, values, a: int, real) -> np.ndarray:
    """What position a takes from the positions it sees; `read` holds what queries and keys read."""
    query, value, output = (weights[f"{name}{layer}"] for name in ("query", "value", "output"))
    key = query if arch.scaling == "tied" else weights[f"key{layer}"]
    heads, width, size = query.shape
    seen = [b for b in range(arch.columns) if real[b] and (b <= a or not arch.causal)]
    total = np.zeros(width)
    for h in range(heads):
        q = query[h].T @ read[a] / math.sqrt(width)
        keys = {b: key[h].T @ read[b] / math.sqrt(width) for b in seen}
        if arch.positions == "rotary":
            q, keys = turned(q, a), {b: turned(k, b) for b, k in keys.items()}
        score = {b: q @ keys[b] / (math.sqrt(size) if arch.scaling == "sqrt" else size) for b in seen}
        if arch.attention == "softmax":
            partition = sum(math.exp(s) for s in score.values())
            score = {b: math.exp(s) / partition for b, s in score.items()}
        if arch.normalised:
            score = {b: s / len(seen) for b, s in score.items()}
        for b in seen:
            total += output[h].T @ (score[b] * value[h].T @ values[b] / math.sqrt(width))
    return total / math.sqrt(heads * size)


def reference(arch: Architecture, weights: dict[str, np.ndarray], row, real, signs=None) -> float:
    """The output for one sequence."""
    symbols = [*row[:-1], VOCAB] if arch.readout == "cls" else row
    width = weights["embedding"].shape[1]
    positions = position_vectors(arch, weights, signs)
    stream = [math.sqrt(arch.token_variance) * weights["embedding"][symbol] for symbol in symbols]
    if arch.values_see_positions:
        stream = [z + p for z, p in zip(stream, positions, strict=True)]
    for layer in range(arch.depth):
        values = [standardised(z) if arch.norm == "pre" else z for z in stream]
        read = values if arch.values_see_positions else [z + p for z, p in zip(values, positions, strict=True)]
        following = []
        for a in range(arch.columns):
            o = attended(arch, weights, layer, read, values, a, real)
            o = stream[a] + o if arch.residual else o
            if not o.any():  # padding that sees nothing, and that nothing sees
                following.append(np.ones(width))
                continue
            o = standardised(o) if arch.norm == "post" else o
            h = activated(arch, math.sqrt(arch.s_1 / width) * weights[f"dense{layer}"].T @ (standardised(o) if arch.norm == "pre" else o))
            h = o + weights[f"branch{layer}"].T @ h / math.sqrt(width) if arch.residual else h
            following.append(standardised(h) if arch.norm == "post" else h)
        stream = following
    if arch.norm == "pre":
        stream = [standardised(z) for z in stream]
    hidden = sum(z for z, r in zip(stream, real, strict=True) if r) / sum(real) if arch.readout == "mean" else stream[-1]
    if arch.extra_linear:
        hidden = weights["extra"].T @ hidden / math.sqrt(width)
    return float(math.sqrt(arch.s_2 / width) * hidden @ weights["readout"][:, 0])


def drawn_signs(arch: Architecture, network: Network, tokens: np.ndarray, key) -> np.ndarray | None:
    """The signs behind stochastic positions, read off the embedded stream."""
    if arch.positions != "stochastic":
        return None
    symbols = raw_weights(network)["embedding"][tokens]
    return (np.asarray(streams_of(network, tokens, key)[0]) - math.sqrt(arch.token_variance) * symbols) / math.sqrt(arch.s_p)
