"""Token arrays as users hand them in: checked once, at the door.

Tokens are whole numbers, one sequence a row: nested lists, or an array of NumPy, pandas, PyTorch, JAX or xarray. What a tokenizer returns,
`{"input_ids": ..., "attention_mask": ...}`, brings its mask along.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, NamedTuple

import numpy as np

from specht.architecture import Architecture
from specht.arrays import as_numpy
from specht.errors import InputError

IDS, ATTENTION = "input_ids", "attention_mask"
"""What tokenizers call tokens and mask."""
_EXAMPLE = "write one list of numbers a sequence, for example [[0, 1, 1], [1, 0, 1]]"
_MASK = "give True or 1 where the token is real, and False or 0 where it is padding"


class TokenBatch(NamedTuple):
    """Sequences, and which of their tokens are real."""

    tokens: np.ndarray
    """int32 (n, columns)."""
    visible: np.ndarray
    """bool (n, columns)."""


def check_batch(arch: Architecture, tokens: Any, mask: Any = None, name: str = "x") -> TokenBatch:
    """Tokens and the mask of their padding, given beside them or by a tokenizer in one mapping.

    >>> encoded = {"input_ids": [[0, 1, 2]], "attention_mask": [[0, 1, 1]]}
    >>> check_batch(Architecture(vocab=3, length=2), encoded).visible
    array([[False,  True,  True]])
    """
    ids, mask = split_batch(tokens, mask, name)
    checked = check_tokens(arch, ids, name)
    return TokenBatch(checked, check_mask(arch, mask, checked, f"the mask of {name}"))


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
    array = whole_numbers(tokens, name, cure, f"whole numbers from 0 to {vocab - 1}")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= vocab:
        raise InputError(
            f"{name} holds token {low if low < 0 else high}, but vocab={vocab} allows 0 to {vocab - 1}: remap it or raise vocab."
        )
    return array.astype(np.int32, copy=False)


def whole_numbers(
    tokens: Any, name: str = "x", cure: str = "give sequences of one length at a time", kind: str = "whole numbers"
) -> np.ndarray:
    """Tokens of any vocabulary as an integer array with one sequence a row; `kind` says in sentences what tokens are.

    >>> whole_numbers(np.array([[7, 9]], dtype=np.uint8)).dtype
    dtype('uint8')
    """
    array = input_array(tokens, name, f"{name} has sequences of unequal length: {cure}.")
    if array.size == 0:
        raise InputError(f"{name} is empty (shape {array.shape}): give at least one sequence.")
    if array.dtype.kind not in "iu":
        fault, remedy = _not_whole(array, name)
        raise InputError(f"{name} {fault}, but tokens are {kind}: {remedy}.")
    array = array[None, :] if array.ndim == 1 else array
    if array.ndim != 2:
        flat = _EXAMPLE if array.ndim == 0 else f"write {name}.argmax(axis=-1) if it is one-hot, or give one table at a time"
        raise InputError(f"{name} must be a table with one sequence a row, got an array of shape {array.shape}: {flat}.")
    return array


def split_batch(tokens: Any, mask: Any, name: str = "x") -> tuple[Any, Any]:
    """Tokens and mask apart, where a tokenizer has put both into one mapping.

    A table of pandas with such columns is one, too. Other entries, such as `token_type_ids`, are left alone.
    """
    keys = tokens.keys() if callable(getattr(tokens, "keys", None)) else ()
    if IDS in keys:
        own = tokens[ATTENTION] if ATTENTION in keys else None
        if own is not None and mask is not None:
            raise InputError(f"{name} brings an {ATTENTION}, and a mask was given beside it: leave one of the two out.")
        return tokens[IDS], mask if own is None else own
    if isinstance(tokens, Mapping):
        entries = ", ".join(repr(str(key)) for key in keys) or "nothing"
        raise InputError(
            f"{name} is a {type(tokens).__name__} with {entries}, but tokens are read from {IDS!r}: "
            f"give the array alone, or write {{{IDS!r}: ..., {ATTENTION!r}: ...}}."
        )
    return tokens, mask


def input_array(values: Any, name: str = "x", unequal: str | None = None) -> np.ndarray:
    """What a model or a function reads, tokens or vectors, as an array of any shape. No mask goes along, so none may hide a token."""
    ids, mask = split_batch(values, None, name)
    if mask is not None and not (shown := booleans(mask, f"the {ATTENTION} of {name}")).all():
        raise InputError(
            f"{name} brings an {ATTENTION} that hides {np.count_nonzero(~shown)} tokens, and padding cannot be told apart here: "
            "give sequences without padding."
        )
    return as_numpy(ids, name, unequal)


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
    array = booleans(mask, name)
    array = array[None, :] if array.ndim == 1 else array
    if array.shape != tokens.shape:
        raise InputError(f"{name} has shape {array.shape}, but the tokens have shape {tokens.shape}: give one entry a token.")
    if arch.readout == "mean":
        if not array.any(axis=1).all():
            raise InputError(f"{name} hides every token of row {int(np.argmin(array.any(axis=1)))}: leave at least one real token.")
    elif not array[:, -1].all():
        raise InputError(
            f"{name} hides the readout token of row {int(np.argmin(array[:, -1]))}: pad the context, before the last column, "
            "as a tokenizer with padding_side='left' does."
        )
    return array


def booleans(mask: Any, name: str = "mask") -> np.ndarray:
    """A mask as booleans, from booleans or from zeros and ones.

    Floating-point numbers are refused: masks that are added to scores hold zero where the token is real.

    >>> booleans([[0, 1]])
    array([[False,  True]])
    """
    array = as_numpy(mask, name)
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {array.dtype}: {_MASK}.")
    odd = (array != 0) & (array != 1)
    if odd.any():
        raise InputError(f"{name} holds {array[odd][0]}: {_MASK}.")
    return array == 1


def _not_whole(array: np.ndarray, name: str) -> tuple[str, str]:
    """What an array holds instead of whole numbers, and what to do about it."""
    convert = f"convert them to integers first, for example with numpy.asarray({name}).astype(int)"
    fill = "leave these sequences out, or put any token there and hide it with a mask"
    if array.dtype == object and array.ndim == 0:
        in_a_row = isinstance(array.item(), (Iterator, KeysView, ValuesView))
        return f"is {_shown(array.item())}", "write list(...) around it" if in_a_row else _EXAMPLE
    if array.dtype == object:
        other = next((value for value in array.flat if not isinstance(value, int) or abs(value) >= 2**63), array.flat[0])
        return f"holds {_shown(other)}", "remap it" if isinstance(other, int) else _EXAMPLE if isinstance(other, Iterable) else fill
    if array.dtype.kind in "US":
        return f"holds the text {array.flat[0].item()!r}", "encode them first, as a tokenizer does, for example as [[0, 1, 1]]"
    if array.dtype.kind == "f":
        others = array[~np.isfinite(array) | (array != np.floor(array))]
        if np.isnan(others).any():
            return "contains NaN", fill
        return (f"holds {others[0]}", _EXAMPLE) if others.size else (f"has dtype {array.dtype}", convert)
    return f"has dtype {array.dtype}", convert if array.dtype.kind == "b" else _EXAMPLE


def _shown(value: Any) -> str:
    """The value where it is short, and its type where it is not."""
    shown = repr(value)
    return shown if len(shown) <= 24 and " at 0x" not in shown else f"an object of type {type(value).__name__}"
