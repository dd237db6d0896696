"""Batches of sequences as the kernels take them."""

from __future__ import annotations

from typing import Any

from specht.architecture import Architecture
from specht.errors import InputError
from specht.kernel.pairs import Sequences
from specht.sequences import check_batch


def sequences(arch: Architecture, tokens: Any, mask: Any, name: str) -> Sequences:
    """Checked tokens and mask, with the class symbol filled in."""
    checked, visible = check_batch(arch, tokens, mask, name)
    if arch.readout == "cls":
        checked = checked.copy()
        checked[:, -1] = arch.vocab
    return Sequences(checked, visible)


def both(arch: Architecture, x: Any, y: Any, mask: Any, mask_y: Any) -> tuple[Sequences, Sequences | None]:
    """Two batches, the second of which may be left out."""
    if y is None and mask_y is not None:
        raise InputError("mask_y belongs to y, and no y was given: leave it out.")
    return sequences(arch, x, mask, "x"), None if y is None else sequences(arch, y, mask_y, "y")


def take(batch: Sequences, at: slice) -> Sequences:
    """Some of the rows."""
    return Sequences(batch.symbols[at], batch.visible[at])
