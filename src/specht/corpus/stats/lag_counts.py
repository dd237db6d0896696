"""How often tokens follow each other at every distance in the whole corpus: what the blocks C(k) of the harmonics are made of."""

from __future__ import annotations

from typing import Self

import numpy as np

from specht.corpus.read.chunks import Segment
from specht.corpus.stats.counts import Counts
from specht.errors import InputError


class LagCounts(Counts):
    """Counts of pairs by lag, without blocks."""

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

    @property
    def probabilities(self) -> np.ndarray:
        """Frequencies of the symbols."""
        return self.tokens / max(1, self.tokens.sum())

    def update(self, segment: Segment) -> None:
        """Count the pairs of a segment."""
        ids, rows = segment.ids, segment.ids * self.symbols
        self.tokens += np.bincount(ids[: segment.owned], minlength=self.symbols)
        for lag in range(1, self.length):
            self.tables[lag - 1] += count_pairs(segment, rows, lag, self.symbols)

    def merge(self, other: Self) -> None:
        """Add the counts of other pieces of the same text."""
        if self.tables.shape != other.tables.shape:
            raise InputError(f"Counts of shape {other.tables.shape} cannot be added to those of shape {self.tables.shape}: count alike.")
        super().merge(other)


def count_pairs(segment: Segment, rows: np.ndarray, lag: int, symbols: int) -> np.ndarray:
    """How often j stands `lag` tokens behind i, in one record; `rows` are the ids times the number of symbols."""
    stop, apart = segment.pairs(lag)
    cells = rows[:stop] + segment.ids[lag : stop + lag]
    if apart is not None:
        cells[apart] = symbols**2  # beyond the table
    return np.bincount(cells, minlength=symbols**2)[: symbols**2].reshape(symbols, symbols)
