"""Random and trained networks beside the kernel of their stack: how much of what they compute lies at each level.

All sequences are listed, so that the projections on irreps are exact. A level m singles out m positions; level 0 ignores order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

import specht
from specht import groups, nn, sequences

VOCAB = 2
STEPS, RATE = 150, 3e-3
"""Of trainings, on all sequences at once."""


def architecture(attention: str, positions: str, causal: bool, depth: int, length: int) -> Any:
    fields: Any = {"attention": attention, "positions": positions, "normalised": attention == "linear"}
    return specht.Architecture(vocab=VOCAB, length=length, activation="erf", causal=causal, depth=depth, residual=True, s_w=0.5, **fields)


def all_sequences(length: int) -> np.ndarray:
    """All sequences of the context and the readout token."""
    return sequences.every_sequence(VOCAB, length + 1)


def split(values: np.ndarray, x: np.ndarray, length: int) -> np.ndarray:
    """The part of functions at each level, (levels, *values.shape); the first axis of `values` goes over sequences."""
    parts: dict[int, np.ndarray] = {}
    for irrep, projector in groups.isotypic_projectors(length, sequences.action_on(x, length)).items():
        part = np.tensordot(projector, values.astype(np.float64), axes=1)
        parts[irrep.level] = parts.get(irrep.level, 0.0) + part
    return np.stack([parts[level] for level in sorted(parts)])


def even_target(length: int, seed: int) -> np.ndarray:
    """A function of all sequences that has the mean square one, an equal part of which lies at each level; random but for that."""
    x = all_sequences(length)
    parts = split(np.random.default_rng([seed, 3]).standard_normal(len(x)), x, length)
    parts /= np.sqrt((parts**2).mean(axis=1, keepdims=True) * len(parts))
    return parts.sum(axis=0)


def measure_networks(
    attention: str, positions: str, causal: bool, depth: int, length: int, width: int, networks: int, seed: int
) -> xarray.Dataset:
    """Shares of the mean square of random networks by level, with standard errors over networks."""
    import equinox as eqx
    import jax

    x, arch = all_sequences(length), architecture(attention, positions, causal, depth, length)
    size, outputs = nn.Size(width, width // 4, 8), 8
    call = eqx.filter_jit(lambda net, x: net(x))
    values = [np.asarray(call(nn.Network.init(arch, size, key=jax.random.key(seed + n), outputs=outputs), x)) for n in range(networks)]
    by_level = (split(np.stack(values, axis=1), x, length) ** 2).sum(axis=(1, 3))
    whole = by_level.sum(axis=0)
    shares = by_level.mean(axis=1) / whole.mean()
    off = (by_level - shares[:, None] * whole) / whole.mean()
    return xarray.Dataset({"shares": ("level", shares), "stderr": ("level", off.std(axis=1, ddof=1) / np.sqrt(networks))})


def measure_trained(
    attention: str, positions: str, causal: bool, depth: int, length: int, width: int, networks: int, seed: int
) -> xarray.Dataset:
    """Networks trained on all values of a target with equal parts at every level.

    `shares` of their mean square are by level, and `learnt` is how much of each level of the target they give back, one for all of it and
    zero for none; both are means over networks, with standard errors.
    """
    x, arch = all_sequences(length), architecture(attention, positions, causal, depth, length)
    y = even_target(length, seed)
    size = nn.Size(width, width // 4, 8)
    recipe = nn.Recipe(steps=STEPS, learning_rate=RATE, optimiser="adam", schedule="cosine")
    trained = nn.train(
        lambda key: nn.Network.init(arch, size, key=key, parametrisation="standard"),
        nn.Fixed(x, y.astype(np.float32)),
        recipe,
        seeds=[seed + number for number in range(networks)],
    )
    values = np.stack([trained.function(seed=number)(x)[:, 0] for number in range(networks)], axis=1)
    rest = values - y[:, None].astype(values.dtype)
    own, left, asked = ((split(part, x, length) ** 2).sum(axis=1) for part in (values, rest, y[:, None]))
    numbers = {"shares": own / own.sum(axis=0), "learnt": 1.0 - left / asked}
    means = {name: ("level", values.mean(axis=1)) for name, values in numbers.items()}
    errors = {f"{name}_stderr": ("level", values.std(axis=1, ddof=1) / np.sqrt(networks)) for name, values in numbers.items()}
    return xarray.Dataset(means | errors)
