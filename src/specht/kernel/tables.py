r"""The kernel as a function of counts: what an invariant kernel is, evaluated without any sequence.

Where positions are learned or absent, $k(x, y)$ depends on two sequences only through their contingency table
$n_{vw} = \#\{a : x_a = v,\ y_a = w\}$ over the context and on their readout tokens, and of the table only a few sums enter.
So the spectrum of a kernel at any length needs one cheap evaluation a table, not one pass over a pair of sequences.
"""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from specht.architecture import Architecture, Kind
from specht.errors import InputError
from specht.kernel.closed import propagate
from specht.kernel.forms import choose_form
from specht.kernel.layers import embedding
from specht.kernel.model import KernelModel, model_of
from specht.kernel.pairs import ClassPairs

_CHUNK = 2**17
"""Pairs evaluated at a time."""


@dataclasses.dataclass(frozen=True)
class PairCounts:
    """What the kernel sees of pairs of sequences, over all columns; arrays of one shape."""

    matches: Int[np.ndarray, "*pairs"]
    """Columns where both hold the same token."""
    same_token: Int[np.ndarray, "*pairs"]
    """Pairs of columns, one of each sequence, that hold the same token."""
    own_left: Int[np.ndarray, "*pairs"]
    """Pairs of columns of the left sequence that hold the same token."""
    own_right: Int[np.ndarray, "*pairs"]
    readouts_agree: Bool[np.ndarray, "*pairs"]

    @classmethod
    def of_tables(
        cls,
        arch: Architecture,
        tables: Int[np.ndarray, "*pairs vocab vocab"],
        left: Int[np.ndarray, "*pairs"],
        right: Int[np.ndarray, "*pairs"],
    ) -> PairCounts:
        """Counts of contingency tables of the context with readout tokens `left` and `right`, which only readout "last" looks at."""
        vocab, last = range(arch.vocab), arch.readout == "last"
        agree = (left == right) if last else np.ones(tables.shape[:-2], dtype=bool)
        extra = agree.astype(tables.dtype) if arch.readout != "mean" else 0  # the readout column, in which they may agree
        matches: Any = sum(tables[..., v, v] for v in vocab) + extra
        # token by token: sums over the short last axes take several times as long
        tally_left = [sum(tables[..., v, w] for w in vocab) + (left == v if last else 0) for v in vocab]
        tally_right = [sum(tables[..., v, w] for v in vocab) + (right == w if last else 0) for w in vocab]
        classes = 1 if arch.readout == "cls" else 0  # the class symbol, in both and nowhere else

        def pairs(first: list[Any], second: list[Any]) -> Any:
            return sum(a * b for a, b in zip(first, second, strict=True)) + classes

        return cls(matches, pairs(tally_left, tally_right), pairs(tally_left, tally_left), pairs(tally_right, tally_right), agree)


def kernel_of_counts(arch: Architecture, counts: PairCounts, kind: Kind) -> Float[np.ndarray, "*pairs"]:
    """The kernel of every pair, in float64."""
    if choose_form(arch, kind) != "classes":
        raise InputError(f"The kernel of {arch} is not a closed function of token counts: evaluate it on sequences.")
    shape = counts.matches.shape
    flat = [np.ascontiguousarray(part).ravel() for part in vars(counts).values()]
    total = math.prod(shape)
    size = min(_CHUNK, 1 << max(0, total - 1).bit_length())  # few shapes, few compilations
    values = np.empty(total)
    model = model_of(arch)
    with jax.enable_x64(True):
        for start in range(0, total, size):
            parts = [part[start : start + size] for part in flat]
            missing = size - len(parts[0])
            padded = [np.concatenate([part, np.repeat(part[:1], missing)]) if missing else part for part in parts]
            values[start : start + size] = np.asarray(_evaluate(model, *padded, kind=kind))[: len(parts[0])]
    return values.reshape(shape)


@partial(jax.jit, static_argnames="kind")
def _evaluate(model: KernelModel, matches, same_token, own_left, own_right, agree: Array, *, kind: Kind) -> Float[Array, " pairs"]:
    arch = model.arch
    columns = jnp.full(matches.shape, arch.columns, dtype=jnp.float64)
    matches, same_token, own_left, own_right = (part.astype(jnp.float64) for part in (matches, same_token, own_left, own_right))
    same_tally = own_left + own_right == 2.0 * same_token
    coincide = jnp.where(model.positions_matter, matches == columns, same_tally) if arch.has_positions else same_tally

    def pairs(matches: Array, same_token: Array, coincide: Array | bool, agree: Array | bool) -> ClassPairs:
        if arch.has_positions:
            classes = matches, columns - matches, same_token - matches, columns**2 - columns - same_token + matches
        else:
            classes = same_token, columns**2 - same_token
        return ClassPairs(classes, columns**2, coincide, agree, outer=False)

    families = pairs(matches, same_token, coincide, agree), pairs(columns, own_left, True, True), pairs(columns, own_right, True, True)
    return propagate(model, embedding(model, *families, jnp.zeros((), dtype=jnp.float64), ntk=kind == "ntk"))
