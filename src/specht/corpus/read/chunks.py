"""What flows from a file to the counters: tokens in pieces, with the places that windows must not cross."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

Positions = np.ndarray
"""Increasing positions in the tokens of a piece."""
NOWHERE: Positions = np.empty(0, dtype=np.intp)


@dataclasses.dataclass(frozen=True)
class Chunk:
    """A piece of a stream of tokens."""

    tokens: list[str] | np.ndarray
    """Words, or whole numbers: code points, bytes, codes of k-mers, ids."""
    records: Positions = dataclasses.field(default_factory=lambda: NOWHERE)
    """Where a new record begins, which no window crosses. The first token of a stream begins one anyway."""
    articles: Positions = dataclasses.field(default_factory=lambda: NOWHERE)
    """Where a new article begins: what belongs together by its subject."""

    def __len__(self) -> int:
        return len(self.tokens)


@dataclasses.dataclass(frozen=True)
class Encoded:
    """A piece of a stream whose tokens are places in a vocabulary of V types; V itself stands for the rest."""

    ids: np.ndarray
    records: Positions = dataclasses.field(default_factory=lambda: NOWHERE)
    articles: Positions = dataclasses.field(default_factory=lambda: NOWHERE)

    def __len__(self) -> int:
        return len(self.ids)


@dataclasses.dataclass(frozen=True)
class Segment:
    """Consecutive tokens of one block, and those behind them that pairs reach into."""

    ids: np.ndarray
    owned: int
    """Pairs, triples and windows count here if they begin at one of the first `owned` tokens."""
    block: int
    left: np.ndarray | None = None
    """How many tokens follow each owned one in its record; None if nothing but the end of `ids` limits it."""

    def pairs(self, lag: int) -> tuple[int, np.ndarray | None]:
        """How many of the first tokens have another one `lag` tokens behind them, and which of these are in another record, if any are."""
        stop = max(0, min(self.owned, len(self.ids) - lag))
        if self.left is None:
            return stop, None
        return stop, self.left[:stop] < lag

    def starts(self, reach: int) -> Any:
        """Owned positions with `reach` tokens behind them in the same record: a slice where all are, otherwise their places."""
        if self.left is None:
            return slice(0, max(0, min(self.owned, len(self.ids) - reach)))
        return np.flatnonzero(self.left >= reach)

    def shifted(self, starts: Any, by: int) -> Any:
        """The same positions, moved to the right."""
        return slice(starts.start + by, starts.stop + by) if isinstance(starts, slice) else starts + by
