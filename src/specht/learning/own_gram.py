"""A Gram function of one's own where the kernel of an architecture stands otherwise."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from specht.errors import InputError, whole_number
from specht.learning.checks import table

_ROWS = 128
"""Sequences whose diagonal is computed together."""


@dataclasses.dataclass(frozen=True, eq=False)
class GramFunction:
    """What exact inference asks of a kernel, from a function `gram(x, y=None)` of tokens (n, columns), (m, columns) to numbers (n, m)."""

    function: Callable[..., Any]
    columns: int
    seed: int = 0
    heads = None

    def nngp(self, x: np.ndarray) -> np.ndarray:
        """The Gram of sequences with themselves."""
        return table("gram(x)", self.function(x), rows=len(x), columns=len(x)).copy()

    def tiles(self, x: np.ndarray, y: np.ndarray, *, rows: int, kind: str = "nngp") -> Iterator[tuple[slice, np.ndarray]]:
        """The Gram of sequences x with y, some rows at a time."""
        for start in range(0, len(x), rows):
            at = slice(start, min(start + rows, len(x)))
            yield at, table("gram(x, y)", self.function(x[at], y), rows=at.stop - at.start, columns=len(y))

    def diagonal(self, x: np.ndarray, kind: str = "nngp") -> np.ndarray:
        """The kernel of every sequence with itself."""
        return np.concatenate([self.nngp(x[start : start + _ROWS]).diagonal() for start in range(0, len(x), _ROWS)])


def own_gram(function: Callable[..., Any], columns: Any, seed: int) -> GramFunction:
    """A Gram function with the number of columns of its sequences, which it may know itself."""
    if columns is None:
        columns = getattr(function, "columns", getattr(getattr(function, "arch", None), "columns", None))
    if columns is None:
        raise InputError("A Gram function does not say how long its sequences are: give columns, the number of tokens of a sequence.")
    return GramFunction(function, whole_number("columns", columns, 1), whole_number("seed", seed))
