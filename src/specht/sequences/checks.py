"""Numbers that describe a source, as users hand them in: checked once, at the door."""

from __future__ import annotations

from typing import Any

import numpy as np

from specht.errors import InputError

_SUM_TOLERANCE = 1e-6
"""How far from one a sum of probabilities may be: what single precision leaves. It is then divided out."""
_SUM_ROUNDING = 1e-14
"""A sum as close to one as this is left alone, so that probabilities stay the same to the bit when they are handed on."""


def probability_vector(name: str, values: Any) -> np.ndarray:
    """Probabilities of one distribution, adding up to one, as a read-only array.

    >>> probability_vector("weights", [1, 0])
    array([1., 0.])
    """
    return _probabilities(name, values, 1)


def probability_table(name: str, values: Any) -> np.ndarray:
    """Probabilities of one distribution a row, each adding up to one, as a read-only array."""
    return _probabilities(name, values, 2)


def _probabilities(name: str, values: Any, axes: int) -> np.ndarray:
    form = "a vector of probabilities" if axes == 1 else "a table with one distribution a row"
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} has rows of unequal length: give {form}.") from None
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name} has dtype {array.dtype}: give {form}.")
    if array.ndim != axes or array.size == 0:
        raise InputError(f"{name} must be {form}, got an array of shape {array.shape}.")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds {array[~np.isfinite(array)][0]}: give finite probabilities.")
    if array.min() < 0:
        raise InputError(f"{name} holds {array.min():g}, but a probability is not negative: give numbers from 0 to 1.")
    sums = array.sum(axis=-1, keepdims=True)
    wrong = np.flatnonzero(np.abs(sums - 1) > _SUM_TOLERANCE)
    if wrong.size:
        where = name if axes == 1 else f"row {wrong[0]} of {name}"
        raise InputError(f"{where} must add up to one, but the sum is {sums.flat[wrong[0]]:.8g}: divide by it.")
    array = np.where(np.abs(sums - 1) > _SUM_ROUNDING, array / sums, array)
    array.setflags(write=False)
    return array
