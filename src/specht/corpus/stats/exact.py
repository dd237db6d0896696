"""Exact estimates for large vocabularies: tables of all pairs, a few lags at a time, in as many passes as memory demands."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator

import numpy as np

from specht.corpus.read.chunks import Encoded
from specht.corpus.read.stream import SEGMENT, segments
from specht.corpus.stats.moments import Tables
from specht.corpus.stats.shuffles import Null
from specht.corpus.survey import Survey

_MEMORY = 2**26
"""Bytes that tables may take."""


class LagByLag:
    """Estimates by block and lag, computed when they are asked for; lags should be asked for in increasing order.

    The ids of the corpus are kept in a file meanwhile, so that text is read once and memory does not grow with it.
    """

    def __init__(self, survey: Survey, null: Null | None = None) -> None:
        self.survey, self.plan = survey, survey.plan
        with contextlib.ExitStack() as stack:
            self._file = stack.enter_context(tempfile.TemporaryFile())
            size, self._records = self._write(null)
            self.plan.check_records(int(np.diff(self._records, append=size).max()))
            self._stack = stack.pop_all()
        self._ids = np.memmap(self._file, dtype=np.uint32, mode="r", shape=(size,))
        self._step = max(1, _MEMORY // (4 * self.plan.blocks.number * self.plan.symbols**2))
        self._tables = Tables(self.plan, lags=range(0))

    def close(self) -> None:
        """Let go of the file."""
        self._stack.close()

    def centred(self, lag: int) -> tuple[np.ndarray, np.ndarray]:
        """See `specht.corpus.stats.moments.PairSums.centred`."""
        return self.tables(lag).centred(lag)

    def pairs_at(self, lag: int) -> np.ndarray:
        """See `specht.corpus.stats.moments.PairSums.pairs_at`."""
        return self.tables(lag).pairs_at(lag)

    def tables(self, lag: int) -> Tables:
        """Counts of pairs at this lag and at some others."""
        if lag not in self._tables.lags:
            self._tables = Tables(self.plan, lags=range(lag, min(lag + self._step, self.plan.length)))
            for segment in segments(self._pieces(), self.plan.blocks, self._tables.lags[-1]):
                self._tables.update(segment)
        return self._tables

    def _write(self, null: Null | None) -> tuple[int, np.ndarray]:
        """Write the ids; returns their number, and where records begin."""
        size, records = 0, [np.zeros(1, dtype=np.intp)]
        for batch in self.survey.batches:
            for piece in self.survey.pieces(batch, null):
                self._file.write(piece.ids.astype(np.uint32).tobytes())
                records.append(piece.records + size)
                size += len(piece)
        return size, np.unique(np.concatenate(records))

    def _pieces(self) -> Iterator[Encoded]:
        for start in range(0, len(self._ids), SEGMENT):
            stop = min(start + SEGMENT, len(self._ids))
            first, last = np.searchsorted(self._records, [start, stop])
            yield Encoded(self._ids[start:stop].astype(np.intp), self._records[first:last] - start)
