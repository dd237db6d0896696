"""The network that `transformer` trains: a transformer whose last symbol is padding, and a bias at its outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from specht.architecture import Architecture
from specht.nn import EVALUATED_TOGETHER, Network, Size

FILLED = EVALUATED_TOGETHER
"""Rows that validation sets, and small test sets, are filled up to."""


class PaddedNetwork(eqx.Module):
    """A transformer that does not see padding, plus a trained bias."""

    network: Network
    bias: jax.Array

    def __call__(self, tokens: Any) -> jax.Array:
        return self.network(tokens, tokens != self.network.arch.vocab - 1) + self.bias[None]


def biased(arch: Architecture, size: Size, bias: np.ndarray) -> Callable[[Any], PaddedNetwork]:
    """From a random key to a network that begins near the given outputs; the last symbol of the vocabulary is padding."""

    def start(key: Any) -> PaddedNetwork:
        network = Network.init(arch, size, key=key, parametrisation="standard", outputs=len(bias))
        return PaddedNetwork(network, jnp.asarray(bias, jnp.float32))

    return start


def forward(model: Any, tokens: Any, key: Any) -> Any:
    """Outputs of a network; one function for all trainings, so that they share a program."""
    return model(tokens)
