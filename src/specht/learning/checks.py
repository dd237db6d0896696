"""Arrays and numbers that inference takes, as users hand them in: checked once, at the door."""

from __future__ import annotations

from typing import Any

import numpy as np

from specht.arrays import as_numpy
from specht.errors import InputError

_SYMMETRY = 1e-6
"""Relative difference of mirror images beyond which a Gram is taken not to be one: what single precision leaves."""


def table(name: str, values: Any, *, rows: int | None = None, columns: int | None = None) -> np.ndarray:
    """A finite matrix in float64 of the given size, where one is given; the array itself if it is one already.

    >>> table("cross", [[1, 2]], columns=2)
    array([[1., 2.]])
    """
    array = _numbers(name, values)
    wanted = ("any number of" if rows is None else str(rows)) + " rows and " + ("any number of" if columns is None else str(columns))
    if array.ndim != 2 or rows not in (None, array.shape[0]) or columns not in (None, array.shape[1]):
        raise InputError(f"{name} must be a table of {wanted} columns, got an array of shape {array.shape}.")
    return _finite(name, array)


def vector(name: str, values: Any, size: int) -> np.ndarray:
    """A finite vector in float64 of the given size."""
    array = _numbers(name, values)
    if array.shape != (size,):
        raise InputError(f"{name} must be a vector of {size} numbers, got an array of shape {array.shape}.")
    return _finite(name, array)


def square_gram(values: Any) -> np.ndarray:
    """A finite symmetric Gram (N, N) in float64; the array itself if it is one already."""
    gram = table("gram", values)
    if gram.shape[0] != gram.shape[1] or gram.size == 0:
        raise InputError(f"gram must be square, with one row and one column a sample, got an array of shape {gram.shape}.")
    # One product with a random vector finds a lack of symmetry at the cost of reading the matrix.
    probe = np.random.default_rng(0).standard_normal(len(gram))
    gap, largest = np.abs(gram @ probe - probe @ gram).max(), np.abs(gram.diagonal()).max()
    if gap > _SYMMETRY * max(largest, np.abs(gram @ probe).max()):
        raise InputError(
            f"gram is not symmetric (its product with a vector and that of its transpose differ by {gap:.1e}, its diagonal goes up to "
            f"{largest:.1e}): give the kernel of the training sequences with themselves."
        )
    return gram


def labels(y: Any, n: int | None = None) -> np.ndarray:
    """Labels (N,) or (N, K) as a float64 array (N, K), for a known number of samples or any.

    >>> labels([1, 2, 3], 3).shape
    (3, 1)
    """
    array = _numbers("y", y)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.size == 0 or n not in (None, len(array)):
        samples = "every sample" if n is None else f"each of the {n} samples"
        raise InputError(f"y must hold one row of labels for {samples}, got an array of shape {np.shape(y)}.")
    return _finite("y", array)


def _numbers(name: str, values: Any) -> np.ndarray:
    array = as_numpy(values, name, f"{name} has rows of unequal length: give a rectangular array of numbers.")
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} has dtype {array.dtype}: give real numbers.")
    return array.astype(np.float64, copy=False)


def _finite(name: str, array: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        suspicious = not np.isfinite(array.sum())  # needs no second array, unlike a test of every entry
    if suspicious and not np.isfinite(array).all():
        wrong = ~np.isfinite(array)
        place = ", ".join(str(int(index)) for index in np.argwhere(wrong)[0])
        raise InputError(f"{name} holds {array[wrong][0]} at index ({place}), {np.count_nonzero(wrong)} such in all: give finite numbers.")
    return array
