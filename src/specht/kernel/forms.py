"""Which form the kernel of an architecture has, and whether a Gram fits into memory: asked before anything heavy is loaded."""

from __future__ import annotations

from typing import Literal

from specht.architecture import Architecture, Kind
from specht.errors import InputError, NoLimitError
from specht.memory import available_memory

Form = Literal["classes", "weighted", "positions", "tied", "heads", "joint"]

FORMS: dict[Form, str] = {
    "classes": "closed, four classes of position pairs",
    "weighted": "closed, weighted counts",
    "positions": "closed, position by position",
    "tied": "closed, one deterministic head",
    "heads": "sampled heads as random features",
    "joint": "sampled heads, position by position",
}

SAMPLED_FORMS: frozenset[Form] = frozenset({"heads", "joint"})
"""Forms that carry a standard error."""

MAX_POSITIONS = 2048
"""Largest (sequences x columns) that the form "joint" propagates."""
_SURELY_FITS = 2**28
"""Bytes below which the system is not even asked."""


def choose_form(arch: Architecture, kind: Kind, *, of_each: bool = False) -> Form:
    """The cheapest form that the architecture's kernel has, or a `NoLimitError` that says why there is none.

    `of_each` says that single tokens or positions have variances of their own, which four classes of position pairs cannot distinguish.
    """
    refuse_without_limit(arch)
    fixed_positions = arch.positions == "sinusoidal"
    one_query = arch.depth == 1 and arch.readout != "mean"  # the last column sees everything, causal or not
    explicit = one_query and not (fixed_positions and (kind == "ntk" or arch.norm == "pre"))
    # behind attention everything is linear, so the average over columns may be taken first
    averages = arch.depth == 1 and arch.readout == "mean" and arch.activation == "linear" and arch.norm == "none" and not fixed_positions
    if arch.scaling == "tied":
        return "tied" if explicit or averages else "positions"
    if arch.attention == "softmax":
        return "heads" if explicit else "joint"
    if fixed_positions or (arch.causal and not one_query):
        return "positions"
    if of_each:
        return "weighted" if one_query or averages else "positions"
    return "classes"


def why_no_features(arch: Architecture) -> str | None:
    """Why the NNGP of an architecture is no inner product of finitely many known features, or None where it is one."""
    if arch.activation != "linear" or arch.depth > 1 or arch.norm != "none" or arch.residual:
        return "they need one block, a linear activation, no norm and no residual sum"
    if choose_form(arch, "nngp") == "joint":
        return "heads of softmax attention at all positions are drawn for one batch jointly; readout 'last' has them"
    return None


def refuse_many_positions(arch: Architecture, sequences: int) -> None:
    """Raise where heads would have to be drawn for too many positions together."""
    if sequences * arch.columns > MAX_POSITIONS:
        raise InputError(
            f"Softmax attention of this architecture is sampled for all sequences together, up to {MAX_POSITIONS} positions, and "
            f"{sequences} sequences of {arch.columns} columns have {sequences * arch.columns}: give at most "
            f"{MAX_POSITIONS // arch.columns} of them, or use one block with readout 'last', scaling='tied', or linear attention."
        )


def refuse_without_limit(arch: Architecture) -> None:
    """Raise where an infinitely wide network has no kernel of its own."""
    if arch.scaling == "untied":
        raise NoLimitError(
            "Scores at scaling 1/d with independent queries and keys vanish as the width grows, so attention stops depending on tokens: "
            "use scaling='sqrt', or 'tied' for the 1/d limit."
        )
    if arch.positions == "stochastic":
        raise NoLimitError(
            "Stochastic positions are drawn anew for every sequence, so fixed weights still give a random function, without one kernel: "
            "use positions='learned' (one fixed draw), or a finite Network."
        )
    if arch.positions == "rotary":
        raise NoLimitError(
            "Rotary positions act inside the head, and their wide-limit kernel is not implemented: "
            "use positions='sinusoidal' or 'learned', or a finite Network, which supports them."
        )


def check_memory(n: int, m: int, matrices: int, advice: str) -> None:
    """Refuse n x m matrices in float64 that cannot fit together; in `advice`, {rows} stands for the rows of a block that would."""
    needed = n * m * 8 * matrices
    free = available_memory() if needed > _SURELY_FITS else None
    if free is not None and needed > 0.9 * free:
        rows = max(1, int(0.25 * free / (m * 8 * matrices)))
        what = f"A Gram of {n} x {m}" if matrices == 1 else f"{matrices} matrices of {n} x {m}"
        raise InputError(
            f"{what} in float64 {'needs' if matrices == 1 else 'need'} {needed / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are free: "
            f"{advice.format(rows=rows)}."
        )
