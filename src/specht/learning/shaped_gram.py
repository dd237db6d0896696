"""The normalised Gram of a fitted architecture and how it changes with what is fitted, compiled once for a structure and a shape."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from specht.kernel.functions import kernel_of_batches
from specht.kernel.pairs import Sequences

if TYPE_CHECKING:
    from specht.learning.fit import Shape


@partial(jax.jit, static_argnames="shape")
def gram_and_slopes(logarithms: Any, unit: Any, batch: Sequences, *, shape: Shape) -> tuple[jax.Array, jax.Array]:
    """k / E[k(x, x)] + 1 on a batch (n, n), and its derivatives in the logarithms of ratio and gain (P, n, n).

    There are two of them at most, so derivatives go forwards along with the Gram: cheaper to run and to compile than backwards.
    """

    def normalised(logarithms: jax.Array) -> jax.Array:
        gram = kernel_of_batches(shape.arch, batch, variances=shape.variances(jnp.exp(logarithms), unit))
        return gram / jnp.mean(jnp.diagonal(gram)) + 1.0

    gram, push = jax.linearize(normalised, logarithms)
    return gram, jax.vmap(push)(jnp.eye(len(logarithms), dtype=logarithms.dtype))
