"""An architecture as JAX sees it: a static structure beside traced variances."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float

from specht.architecture import Architecture, Variances
from specht.errors import InputError


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class KernelModel:
    """The variances of an architecture with its structure: programs are compiled once for a structure.

    Variances are float64 arrays, of NumPy outside compiled code and of JAX inside; `tokens` and `positions` have no axis, or one entry for
    each symbol and for each column.
    """

    tokens: Any
    positions: Any
    dense: Any
    readout: Any
    arch: Architecture = dataclasses.field(metadata={"static": True})

    @property
    def positions_matter(self) -> Bool[Array, ""]:
        """Whether positions have any variance: without it, sequences with the same tokens are one and the same to the network."""
        return jnp.any(self.positions > 0.0)

    @property
    def of_each(self) -> bool:
        """Whether single tokens or single positions have variances of their own."""
        return self.tokens.ndim > 0 or self.positions.ndim > 0

    @property
    def by_token(self) -> Float[Array, " symbols"]:
        """The variance of every symbol."""
        return jnp.broadcast_to(self.tokens, (self.arch.symbols,))

    @property
    def by_position(self) -> Float[Array, " columns"]:
        """The variance of every column."""
        return jnp.broadcast_to(self.positions, (self.arch.columns,))


def model_of(arch: Architecture, variances: Any = None) -> KernelModel:
    """The model of an architecture, with its own variances unless others are given; call it where float64 is enabled."""
    numbers = arch.variances if variances is None else _checked(arch, variances)
    tokens, positions, dense, readout = (
        number if isinstance(number, jax.Array) else np.asarray(number, dtype=np.float64) for number in numbers
    )
    return KernelModel(tokens, positions, dense, readout, arch.structure)


def _checked(arch: Architecture, variances: Any) -> Variances:
    if not isinstance(variances, (tuple, list)) or len(variances) != len(Variances._fields):
        raise InputError(f"variances must be a specht.Variances(tokens, positions, dense, readout), got {variances!r}.")
    allowed = {"tokens": (arch.symbols, "symbols"), "positions": (arch.columns, "columns"), "dense": (0, ""), "readout": (0, "")}
    return Variances(*(_variance(name, number, *allowed[name]) for name, number in zip(Variances._fields, variances, strict=True)))


def _variance(name: str, number: Any, entries: int, axis: str) -> Any:
    if isinstance(number, jax.Array):
        number = number.astype(jnp.float64)
    else:
        try:
            number = np.asarray(number, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"variances.{name} must be a number or an array of numbers, got {number!r}.") from None
    if number.shape not in ((), *[(entries,)] * (entries > 0)):
        shapes = f"a number or an array of {entries} entries, one for each of the {axis}" if entries else "one number"
        raise InputError(f"variances.{name} must be {shapes}, got shape {number.shape}.")
    if not isinstance(number, Tracer) and not (np.isfinite(number).all() and (np.asarray(number) >= 0.0).all()):
        raise InputError(f"variances.{name} must be finite and not negative, got {number}.")
    return number
