"""Tokens in pieces, with the places that windows must not cross; and from pieces to segments, whose tokens lie in one block each."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError

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

    def part(self, start: int, stop: int) -> Encoded:
        """The tokens from `start` to before `stop`, with the records that begin there."""
        first, last = np.searchsorted(self.records, [start, stop])
        return Encoded(self.ids[start:stop], self.records[first:last] - start)


def join(pieces: list[Encoded]) -> Encoded:
    """Consecutive pieces as one, without their articles."""
    starts = itertools.accumulate(map(len, pieces), initial=0)
    records = [piece.records + start for piece, start in zip(pieces, starts, strict=False)]
    return Encoded(np.concatenate([piece.ids for piece in pieces]), np.concatenate(records).astype(np.intp, copy=False))


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


SEGMENT = 2**17
"""Tokens of a segment: enough for counting to outweigh what every segment costs, few enough for the caches."""


@dataclasses.dataclass(frozen=True)
class Blocks:
    """A corpus of `total` tokens as `number` contiguous blocks of the same size.

    Estimates of different blocks are nearly independent, which is what removes bias and gives intervals.

    >>> Blocks(10, 4).bounds
    (0, 2, 5, 7, 10)
    """

    total: int
    number: int = 16

    def __post_init__(self) -> None:
        whole_number("number of blocks", self.number, 2)
        if self.total < self.number:
            raise InputError(f"{self.total} tokens cannot be split into {self.number} blocks: take a larger corpus, or fewer blocks.")

    @property
    def bounds(self) -> tuple[int, ...]:
        """Where blocks begin, and where the last one ends."""
        return tuple(block * self.total // self.number for block in range(self.number + 1))


def segments(pieces: Iterable[Encoded], blocks: Blocks, reach: int, *, offset: int = 0, size: int = SEGMENT) -> Iterator[Segment]:
    """The segments of one stream, in order. How the stream was cut into pieces makes no difference.

    Arguments:
        reach: how many tokens behind its own a segment holds, where there are so many.
        offset: place of the first token in the corpus, which decides about the blocks.
        size: a segment owns at most so many tokens.
    """
    bounds, place = np.asarray(blocks.bounds), offset
    buffer = nothing = Encoded(np.empty(0, dtype=np.intp))
    # A segment is complete with all it reaches into; what is left at the end is shorter.
    for piece, least in itertools.chain(zip(_joined(pieces, size), itertools.repeat(size + reach), strict=False), [(nothing, 1)]):
        buffer = join([buffer, piece])
        while len(buffer) >= least:
            segment = _first(buffer, place, bounds, reach, size)
            yield segment
            buffer, place = buffer.part(segment.owned, len(buffer)), place + segment.owned


def _joined(pieces: Iterable[Encoded], size: int) -> Iterator[Encoded]:
    """The same stream in pieces of at least so many tokens: many short ones would be copied again and again."""
    held: list[Encoded] = []
    total = 0
    for piece in pieces:
        held.append(piece)
        total += len(piece)
        if total >= size:
            yield join(held)
            held, total = [], 0
    if total:
        yield join(held)


def _first(buffer: Encoded, place: int, bounds: np.ndarray, reach: int, size: int) -> Segment:
    """The segment at the start of a buffer."""
    block = min(int(np.searchsorted(bounds, place, side="right")) - 1, len(bounds) - 2)
    room = int(bounds[block + 1]) - place
    owned = min(size, len(buffer), room if room > 0 else len(buffer))
    ids = buffer.ids[: owned + reach]
    inner = buffer.records[(buffer.records > 0) & (buffer.records < len(ids))]
    return Segment(ids, owned, block, _left(inner, len(ids), owned, reach) if len(inner) else None)


def _left(records: np.ndarray, length: int, owned: int, reach: int) -> np.ndarray:
    """How many tokens follow each owned one in its record, as far as anybody asks."""
    ends = np.append(records, length)
    places = np.arange(owned)
    return np.minimum(ends[np.searchsorted(ends, places, side="right")] - places - 1, reach)


def window_starts(segment: Segment, length: int) -> np.ndarray:
    """Where disjoint windows of a segment begin."""
    return starts_in(record_starts(segment), segment.owned, length)


def starts_in(records: np.ndarray, end: int, length: int) -> np.ndarray:
    """Where disjoint windows begin, the last before `end`: where a record does, and from there on in steps of `length`."""
    number = (np.append(records[1:], end) - records) // length
    before = np.cumsum(number) - number
    return np.repeat(records, number) + length * (np.arange(number.sum()) - np.repeat(before, number))


def record_starts(segment: Segment) -> np.ndarray:
    """The first token of a segment and those that begin a record."""
    closed = np.empty(0, dtype=np.intp) if segment.left is None else np.flatnonzero(segment.left == 0) + 1
    return np.concatenate([[0], closed[closed < segment.owned]]).astype(np.intp)
