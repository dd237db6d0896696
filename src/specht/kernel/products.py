"""Inner products of features: of all pairs of rows, or of each row with its own."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def outer(left: Float[Array, "n features"], right: Float[Array, "m features"]) -> Float[Array, "n m"]:
    """All pairs of rows, in full precision, which accelerators lower unless told."""
    return jnp.matmul(left, right.T, precision=jax.lax.Precision.HIGHEST)


def rows(left: Float[Array, "n features"], right: Float[Array, "n features"]) -> Float[Array, " n"]:
    """Each row with the one beside it."""
    return jnp.sum(left * right, axis=1)
