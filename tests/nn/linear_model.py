"""A linear model, small enough to be trained by hand."""

from __future__ import annotations

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float


class Linear(eqx.Module):
    """f(x) = x . w."""

    weight: Float[Array, "columns outputs"]

    def __call__(self, x):
        return x @ self.weight


def linear(columns: int, outputs: int = 1):
    """Makes linear models from random keys."""
    return lambda key: Linear(jax.random.normal(key, (columns, outputs)))


def first_weight(columns: int, seed: int, outputs: int = 1) -> np.ndarray:
    """The weight from which `train` starts at a seed: the first half of the seed's key makes the model."""
    key = jax.random.split(jax.random.key(seed))[0]
    return np.asarray(linear(columns, outputs)(key).weight, dtype=np.float64)


def problem(n: int = 12, columns: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, columns)).astype(np.float32)
    return x, (x @ rng.standard_normal((columns, 1)) + 0.1 * rng.standard_normal((n, 1))).astype(np.float32)
