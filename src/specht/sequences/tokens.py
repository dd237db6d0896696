"""Token arrays as users hand them in: checked once, at the door."""

from __future__ import annotations

from typing import Any

import numpy as np

from specht.architecture import Architecture
from specht.errors import InputError


def check_tokens(arch: Architecture, tokens: Any, name: str = "x") -> np.ndarray:
    """Tokens as an int32 array (n, columns), or an `InputError` that says what is wrong with them.

    >>> check_tokens(Architecture(vocab=3, length=2), [[0, 1, 2]]).shape
    (1, 3)
    """
    array = check_sequences(arch.vocab, tokens, name, f"pad them to {arch.columns} columns and say which are real with a mask")
    if array.shape[1] != arch.columns:
        extra = "" if arch.readout == "mean" else " (context and readout token)"
        raise InputError(
            f"{name} has {array.shape[1]} columns, but length={arch.length} with readout {arch.readout!r} means {arch.columns}{extra}: "
            "change the length, or pad and give a mask."
        )
    return array


def check_sequences(vocab: int, tokens: Any, name: str = "x", cure: str = "give sequences of one length at a time") -> np.ndarray:
    """Tokens as an int32 array with one sequence a row, of any one length; `cure` is what to do about unequal lengths.

    >>> check_sequences(3, [0, 1, 2, 0]).shape
    (1, 4)
    """
    try:
        array = np.asarray(tokens)
    except ValueError:
        raise InputError(f"{name} has sequences of unequal length: {cure}.") from None
    if array.dtype.kind == "f":
        fault = "contains NaN" if np.isnan(array).any() else f"has dtype {array.dtype}"
        raise InputError(f"{name} {fault}, but tokens are whole numbers from 0 to {vocab - 1}: convert them to integers first.")
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {array.dtype}, but tokens are whole numbers from 0 to {vocab - 1}: encode them first.")
    array = array[None, :] if array.ndim == 1 else array
    if array.ndim != 2:
        raise InputError(f"{name} must be a table with one sequence a row, got an array of shape {array.shape}.")
    if array.size == 0:
        raise InputError(f"{name} is empty (shape {array.shape}): give at least one sequence.")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= vocab:
        raise InputError(
            f"{name} holds token {low if low < 0 else high}, but vocab={vocab} allows 0 to {vocab - 1}: remap it or raise vocab."
        )
    return array.astype(np.int32, copy=False)


def every_sequence(vocab: int, columns: int) -> np.ndarray:
    """All V^columns sequences, in lexicographic order.

    >>> every_sequence(2, 2).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    digits = vocab ** np.arange(columns - 1, -1, -1)
    return (np.arange(vocab**columns)[:, None] // digits % vocab).astype(np.int32)


def check_mask(arch: Architecture, mask: Any, tokens: np.ndarray, name: str = "mask") -> np.ndarray:
    """A padding mask (n, columns), True for real tokens; all True when none is given."""
    if mask is None:
        return np.ones(tokens.shape, dtype=bool)
    array = np.asarray(mask)
    array = array[None, :] if array.ndim == 1 else array
    if array.dtype != np.bool_:
        raise InputError(f"{name} has dtype {array.dtype}: give booleans, True where the token is real.")
    if array.shape != tokens.shape:
        raise InputError(f"{name} has shape {array.shape}, but the tokens have shape {tokens.shape}: give one entry a token.")
    if arch.readout == "mean":
        if not array.any(axis=1).all():
            raise InputError(f"{name} hides every token of row {int(np.argmin(array.any(axis=1)))}: leave at least one real token.")
    elif not array[:, -1].all():
        raise InputError(f"{name} hides the readout token of row {int(np.argmin(array[:, -1]))}: pad the context, before the last column.")
    return array
