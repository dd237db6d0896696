"""Counters of tokens. Those of separate pieces of a text add up, and their arrays can be saved and sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np

from specht.corpus.read.chunks import Segment
from specht.errors import InputError

_LARGEST_TABLE = 2**28
"""Counters of a table, 2 GiB: whoever asks for more does so by mistake."""


def table_of_zeros(shape: tuple[int, ...], cure: str) -> np.ndarray:
    """Counters at zero; a table that would not fit into memory is refused with a sentence that ends in the cure."""
    size = int(np.prod([float(n) for n in shape]))
    if size > _LARGEST_TABLE:
        raise InputError(f"Counting would take {size * 8 / 2**30:.1f} GiB, and {_LARGEST_TABLE // 2**27} GiB are the limit: {cure}.")
    return np.zeros(shape, dtype=np.int64)


class Counts:
    """Arrays of counts, which start at zero."""

    added: ClassVar[tuple[str, ...]]
    """The names of the arrays."""
    tokens: np.ndarray
    """Counts of single tokens, with the symbol along the last axis."""

    @property
    def probabilities(self) -> np.ndarray:
        """p, the frequency of each symbol among all tokens."""
        return self.tokens.reshape(-1, self.tokens.shape[-1]).sum(axis=0) / max(1, self.tokens.sum())

    def merge(self, other: Self) -> None:
        """Add the counts of other pieces of the same text."""
        mine, theirs = ([array.shape for array in counter.arrays().values()] for counter in (self, other))
        if mine != theirs:
            raise InputError(f"Counts of shapes {theirs} cannot be added to those of shapes {mine}: count all pieces alike.")
        self.restore(other.arrays())

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name, to be saved or sent."""
        return {name: getattr(self, name) for name in self.added}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Add the arrays of another counter of the same kind."""
        for name in self.added:
            total = getattr(self, name)
            total += arrays[name]


class LagCounts(Counts):
    """How often tokens follow each other at every distance in the whole corpus, which gives the blocks C(k) of the harmonics."""

    added = ("tables", "tokens")

    def __init__(self, length: int, symbols: int) -> None:
        self.length, self.symbols = length, symbols
        self.tables = np.zeros((length - 1, symbols, symbols), dtype=np.int64)
        """[t - 1, i, j]."""
        self.tokens = np.zeros(symbols, dtype=np.int64)

    @property
    def pairs(self) -> np.ndarray:
        """Number of pairs at each lag."""
        return self.tables.sum(axis=(1, 2))

    def update(self, segment: Segment) -> None:
        """Count the pairs of a segment."""
        ids, rows = segment.ids, segment.ids * self.symbols
        self.tokens += np.bincount(ids[: segment.owned], minlength=self.symbols)
        for lag in range(1, self.length):
            self.tables[lag - 1] += count_pairs(segment, rows, lag, self.symbols)


def count_pairs(segment: Segment, rows: np.ndarray, lag: int, symbols: int) -> np.ndarray:
    """How often j stands `lag` tokens behind i, in one record; `rows` are the ids times the number of symbols."""
    stop, apart = segment.pairs(lag)
    cells = rows[:stop] + segment.ids[lag : stop + lag]
    if apart is not None:
        cells[apart] = symbols**2  # beyond the table
    return np.bincount(cells, minlength=symbols**2)[: symbols**2].reshape(symbols, symbols)
