"""A Gram function of one's own where the kernel of an architecture stands otherwise."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError
from specht.learning.gp.gram_source import GramSource


@dataclasses.dataclass(frozen=True, eq=False)
class OwnGram:
    """What exact inference asks of a kernel, from a function `gram(x, y=None)` of tokens (n, columns), (m, columns) to numbers (n, m)."""

    source: GramSource
    columns: int
    seed: int = 0

    def nngp(self, x: np.ndarray) -> np.ndarray:
        """The Gram of sequences with themselves."""
        return self.source.gram(self.source.inputs(x)).copy()

    def tiles(self, x: np.ndarray, y: np.ndarray, *, rows: int, kind: str = "nngp") -> Iterator[tuple[slice, np.ndarray]]:
        """The Gram of sequences x with y, some rows at a time."""
        for start in range(0, len(x), rows):
            at = slice(start, min(start + rows, len(x)))
            yield at, self.source.between(self.source.inputs(x[at]), self.source.inputs(y))

    def diagonal(self, x: np.ndarray, kind: str = "nngp") -> np.ndarray:
        """The kernel of every sequence with itself."""
        return self.source.diagonal(self.source.inputs(x))

    def heads_drawn(self, kind: str = "nngp") -> int | None:
        """Heads are a matter of the function itself."""
        return None


def own_gram(function: Callable[..., Any], columns: Any, seed: int) -> OwnGram:
    """A Gram function with the number of columns of its sequences, which it may know itself."""
    if columns is None:
        columns = getattr(function, "columns", getattr(getattr(function, "arch", None), "columns", None))
    if columns is None:
        raise InputError("A Gram function does not say how long its sequences are: give columns, the number of tokens of a sequence.")
    return OwnGram(GramSource(function), whole_number("columns", columns, 1), whole_number("seed", seed))
