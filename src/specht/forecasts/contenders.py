"""The architectures that a table is tried on, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specht.architecture import Architecture
from specht.errors import InputError, unknown_choice

CONTENDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "bag": ("no positions, mean readout: a bag of words", {"positions": "none", "readout": "mean"}),
    "last": ("no positions, read at the last token: a bag of words and the last one", {"positions": "none"}),
    "positions": ("positions, read at the last token", {}),
    "mean": ("positions, mean readout", {"readout": "mean"}),
    "erf": ("positions, nonlinear dense layer", {"activation": "erf"}),
    "softmax": ("positions, softmax attention with tied queries and keys", {"attention": "softmax", "scaling": "tied"}),
}
"""What each is, and how it differs from one block of linear attention with learned positions, read at the last token."""
DEFAULT_CONTENDERS = ("bag", "positions", "mean", "erf")


def choose_contenders(names: Sequence[str], vocab: int, columns: int) -> dict[str, Architecture]:
    """The named architectures for sequences of so many columns; linear attention is divided by their number of real tokens.

    >>> {name: str(arch) for name, arch in choose_contenders(["bag"], vocab=5, columns=8).items()}
    {'bag': 'V=5 L=8 | pos=none(1.0) | linear/sqrt normalised | linear | mean'}
    """
    if not names:
        raise InputError(f"No architecture is named: choose from {', '.join(CONTENDERS)}.")
    found = {}
    for name in names:
        if name not in CONTENDERS:
            raise unknown_choice("architecture to compare", name, CONTENDERS)
        fields = CONTENDERS[name][1]
        length = columns if fields.get("readout") == "mean" else columns - 1
        # Sequences of unequal length would otherwise have outputs of unequal size.
        found[name] = Architecture(vocab=vocab, length=length, normalised=fields.get("attention") != "softmax", **fields)
    return found
