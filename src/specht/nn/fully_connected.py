"""A fully connected network with layers of any widths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from specht.checks import whole_number
from specht.errors import InputError


class FullyConnected(eqx.Module):
    """Rectified linear layers, and a linear one at the end.

    >>> net = FullyConnected.init([4, 8, 1], key=jax.random.key(0))
    >>> net(jnp.ones((3, 4))).shape
    (3, 1)
    """

    weights: list[Float[Array, "_ _"]]
    """From the inputs of a layer to its outputs."""
    biases: list[Float[Array, " _"]]

    @classmethod
    def init(cls, widths: Sequence[int], *, key: Any) -> FullyConnected:
        """Normal weights of variance 2 over the number of inputs, which keeps the size of activations, and no biases.

        Args:
            widths: sizes of the input, of every hidden layer, and of the output.
        """
        if len(widths) < 2:
            raise InputError(f"widths must name the input and the output at least, got {list(widths)}.")
        sizes = [whole_number("width", width, 1) for width in widths]
        keys = jax.random.split(key, len(sizes) - 1)
        pairs = list(zip(keys, sizes, sizes[1:], strict=False))
        return cls(
            [jax.random.normal(layer_key, (n, m)) * np.float32(np.sqrt(2 / n)) for layer_key, n, m in pairs],
            [jnp.zeros(m) for _, _, m in pairs],
        )

    def __call__(self, x: Float[Array, "n inputs"]) -> Float[Array, "n outputs"]:
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jax.nn.relu(x @ weight + bias[None])
        return x @ self.weights[-1] + self.biases[-1][None]
