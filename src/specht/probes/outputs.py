"""What a model returns, as layers of numbers with names.

Models return one array, or a dict or a list of them, or an object with `logits` and perhaps `hidden_states`, as libraries of language
models do. The arrays come from NumPy, JAX or PyTorch. Whichever it is becomes layers (n, rows, width) in the order of the model, the last
of which is its output: one row a position, or a single one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from specht.arrays import as_numpy
from specht.errors import InputError

OUTPUT = "output"
"""What the last layer is called unless the model names it."""

EXACT = "exact"
"""The precision of whole numbers, none of whose changes is rounding."""
EPSILON = {EXACT: 0.0, "float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Distance of 1 from the next number in each precision."""
_WHOLE = 2**53
"""Whole numbers up to here are exact in float64."""
_LARGEST = {"float64": 1e150, "float32": 1e37}
"""Differences beyond this leave the range when they are added up or squared."""


class Values(NamedTuple):
    """The numbers of one layer for n sequences."""

    array: np.ndarray
    """(n, rows, width): one row a position, or a single one."""
    precision: str
    """What the model computed them in."""


Layers = dict[str, Values]


def name_layers(returned: Any) -> dict[str, Any]:
    """The parts of what a model returned, by name, the output last.

    >>> list(name_layers([np.zeros(3), np.zeros(3), np.zeros(3)])), list(name_layers(np.zeros(3)))
    (['layer 0', 'layer 1', 'output'], ['output'])
    """
    output = next((part for name in ("logits", "last_hidden_state") if (part := getattr(returned, name, None)) is not None), None)
    if output is not None:
        states = getattr(returned, "hidden_states", None)
        return name_layers([*states, output]) if states else {OUTPUT: output}
    if isinstance(returned, Mapping):
        names = [" ".join(str(name).split()) for name in returned]
        if len(set(names)) < len(names):
            raise InputError(f"Two layers have the same name ({', '.join(names)}): name each in another way.")
        return {name: part for name, part in zip(names, returned.values(), strict=True) if part is not None}
    if isinstance(returned, (list, tuple)) and any(hasattr(part, "shape") and np.ndim(part) > 0 for part in returned):
        *before, last = [part for part in returned if part is not None]  # such as the loss of labels that were not given
        return {f"layer {number}": part for number, part in enumerate(before)} | {OUTPUT: last}
    return {OUTPUT: returned}


def read_layers(returned: Any, n: int, columns: int, model: str) -> Layers:
    """The layers of what a model returned for n sequences, or an `InputError` that says what is wrong with it."""
    parts = name_layers(returned)
    if not parts:
        raise InputError(f"{model} returned nothing: it must return an array, or a dict or list of arrays with the output last.")
    return {name: _read(part, n, columns, model if len(parts) == 1 else f"{model} ({name})") for name, part in parts.items()}


def _read(part: Any, n: int, columns: int, what: str) -> Values:
    array, precision = _numbers(part, what)
    shape = array.shape
    if shape[:1] != (n,):
        raise InputError(f"{what} must return one row a sequence, so {n} rows, got an array of shape {shape}.")
    if array.ndim < 3:
        array = array.reshape(n, 1, -1)
    if array.ndim > 3 or array.shape[1] not in (1, columns) or not array.size:
        raise InputError(
            f"{what} returned an array of shape {shape} for {n} sequences of {columns} tokens: return ({n},), ({n}, outputs), "
            f"or ({n}, {columns}, width) with one row a position."
        )
    if not np.isfinite(array).all():
        raise InputError(f"{what} returned {array[~np.isfinite(array)][0]} for a sequence: make it finite for every sequence.")
    with np.errstate(over="ignore"):
        apart = max(float(np.ptp(array, axis=0).max()), float(np.abs(array).max()) if array.dtype == np.float64 else 0.0)
    if apart > _LARGEST[array.dtype.name]:  # a large constant, such as the masked logits of float32, does no harm
        raise InputError(f"{what} returned numbers of size {apart:.0e}, whose squares are out of range: return smaller ones.")
    return Values(array, precision)


def _numbers(part: Any, what: str) -> tuple[np.ndarray, str]:
    """An array of one of the precisions that NumPy computes in, and the precision that it had before."""
    try:
        array = as_numpy(part)
    except InputError:  # ragged lists, and whatever the classes of others raise
        raise InputError(f"{what} must return an array of real numbers, got a {type(part).__name__} that is none.") from None
    precision = str(part.dtype).removeprefix("torch.") if hasattr(part, "detach") else array.dtype.name
    if array.dtype.name == "bfloat16":  # NumPy has no such numbers of its own
        array = array.astype(np.float32)
    if array.dtype.kind in "biu":
        if array.size and max(int(array.max()), -int(array.min())) > _WHOLE:
            raise InputError(f"{what} returned whole numbers above 2^53, which are not exact in float64: return smaller ones.")
        return array.astype(np.float64), EXACT
    if array.dtype.kind != "f":
        raise InputError(f"{what} must return real numbers, got an array of dtype {precision}.")
    kept = "float64" if array.dtype.itemsize >= 8 else "float32"
    own = array.astype(kept)  # a copy: the model may write into its array again
    return own, precision if precision in EPSILON else kept
