"""Which types of token a corpus has, how often, and the vocabulary of the most frequent ones."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from specht.checks import whole_number
from specht.corpus.read.stream import Chunk, Encoded
from specht.errors import InputError

UNKNOWN = "<unk>"
"""What some texts write for a rare word; it is never in a vocabulary."""
_TABLE = 1 << 21
"""Numbers below this are looked up in a table, larger ones searched."""


@dataclasses.dataclass
class TypeCounts:
    """How often each type occurs. Counts of parts add up to those of the whole, in any order.

    >>> counts = TypeCounts()
    >>> counts.update(Chunk(["a", "b", "a"]))
    >>> counts.tokens, counts.counts["a"], len(counts)
    (3, 2, 2)
    """

    counts: Counter[Any] = dataclasses.field(default_factory=Counter)
    tokens: int = 0

    def update(self, chunk: Chunk) -> None:
        """Adds a piece of a stream."""
        if not len(chunk):
            return
        if isinstance(chunk.tokens, list):
            self._expect(str)
            self.counts.update(chunk.tokens)
        else:
            self._expect(int)
            for number, count in zip(*_tally(chunk.tokens), strict=True):
                self.counts[number] += count
        self.tokens += len(chunk)

    def merge(self, other: TypeCounts) -> None:
        """Adds the counts of another piece."""
        if other.kind is not None:
            self._expect(other.kind)
        self.counts.update(other.counts)
        self.tokens += other.tokens

    @property
    def kind(self) -> type | None:
        """`str` or `int`, or None before there is a type."""
        return next(map(type, self.counts), None)

    def _expect(self, kind: type) -> None:
        if self.kind not in (None, kind):
            raise InputError(
                "The corpus has words in some files and numbers in others: choose --tokens for all of them, or leave files out."
            )

    def __len__(self) -> int:
        return len(self.counts)

    def arrays(self) -> dict[str, np.ndarray]:
        """Plain arrays, sorted by type: numbers as `types`, words as the bytes of `text`, the i-th up to `ends[i]`."""
        types = sorted(self.counts)
        counts = np.array([self.counts[token] for token in types], dtype=np.int64)
        if self.kind is not str:
            return {"types": np.array(types, dtype=np.int64), "counts": counts}
        words = [word.encode() for word in types]
        ends = np.cumsum([len(word) for word in words], dtype=np.int64)
        return {"text": np.frombuffer(b"".join(words), dtype=np.uint8), "ends": ends, "counts": counts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> TypeCounts:
        """The inverse of `arrays`."""
        if "text" in arrays:
            text, ends = np.asarray(arrays["text"], dtype=np.uint8).tobytes(), np.asarray(arrays["ends"]).tolist()
            types: list = [text[start:end].decode() for start, end in itertools.pairwise([0, *ends])]
        else:
            types = np.asarray(arrays["types"]).tolist()
        counts = Counter(dict(zip(types, np.asarray(arrays["counts"]).tolist(), strict=True)))
        return cls(counts, counts.total())


def _tally(numbers: np.ndarray) -> tuple[list[int], list[int]]:
    """Different numbers and how often each occurs."""
    if int(numbers.max()) < _TABLE:
        counts = np.bincount(numbers)
        types = np.flatnonzero(counts)
        return types.tolist(), counts[types].tolist()
    types, counts = np.unique(numbers, return_counts=True)
    return types.tolist(), counts.tolist()


@dataclasses.dataclass(frozen=True, eq=False)
class Vocabulary:
    """The V most frequent types of a corpus; index V, the rest, stands for every other type and for `<unk>`."""

    types: tuple[Any, ...]
    """All `str` or all `int`."""
    counts: np.ndarray
    """How often each type occurs, the most frequent first."""
    rest: int
    """How many tokens are of none of them."""

    @classmethod
    def top(cls, counts: TypeCounts, size: int, strict: bool = True) -> Vocabulary:
        """The most frequent types; of equally frequent ones the smaller.

        Args:
            counts: Counts of the whole corpus.
            size: How many types.
            strict: Whether a corpus with fewer types is an error; otherwise all of them are taken.
        """
        size = whole_number("vocab", size, at_least=1)
        if not counts.tokens:
            raise InputError("The corpus has no tokens: give files with text.")
        if len(counts) == 1:
            only = next(iter(counts.counts))
            raise InputError(f"The corpus has one type of token only ({only!r}): choose other --tokens, or another corpus.")
        known = sorted((item for item in counts.counts.items() if item[0] != UNKNOWN), key=lambda item: (-item[1], item[0]))
        if strict and size > len(known):
            raise InputError(
                f"The corpus has {len(known)} types of token, fewer than a vocabulary of {size}: ask for {len(known)} or less."
            )
        kept = known[:size]
        numbers = np.array([count for _, count in kept], dtype=np.int64)
        return cls(tuple(token for token, _ in kept), numbers, counts.tokens - int(numbers.sum()))

    def __len__(self) -> int:
        return len(self.types)

    @property
    def probabilities(self) -> np.ndarray:
        """Relative frequencies of the V types and of the rest, V + 1 in all."""
        counts = np.append(self.counts, self.rest).astype(np.float64)
        return counts / counts.sum()

    def encode(self, chunk: Chunk) -> Encoded:
        """Tokens as places in the vocabulary.

        >>> Vocabulary(("b", "a"), np.array([3, 2]), 1).encode(Chunk(["a", "b", "c"])).ids
        array([1, 0, 2])
        """
        if isinstance(chunk.tokens, list):
            places = map(self._places.get, chunk.tokens, itertools.repeat(len(self)))
            ids = np.fromiter(places, dtype=np.intp, count=len(chunk.tokens))
        else:
            ids = self._find(chunk.tokens)
        return Encoded(ids, chunk.records, chunk.articles)

    @functools.cached_property
    def _places(self) -> dict:
        return {token: place for place, token in enumerate(self.types)}

    @functools.cached_property
    def _table(self) -> np.ndarray | None:
        """Places by number, the last one for all larger numbers; None where it would be too long."""
        longest = max(self.types, default=0)
        if isinstance(longest, str) or longest >= _TABLE:
            return None
        table = np.full(longest + 2, len(self), dtype=np.intp)
        table[list(self.types)] = np.arange(len(self))
        return table

    @functools.cached_property
    def _order(self) -> tuple[np.ndarray, np.ndarray]:
        types = np.array(self.types, dtype=np.int64)
        order = np.argsort(types)
        return types[order], order

    def _find(self, numbers: np.ndarray) -> np.ndarray:
        if self._table is not None:
            last = len(self._table) - 1
            # A type of small numbers, such as bytes, may not even be able to hold the last place.
            return self._table[np.minimum(numbers, last) if np.iinfo(numbers.dtype).max > last else numbers]
        types, order = self._order
        places = np.minimum(np.searchsorted(types, numbers), len(types) - 1)
        return np.where(types[places] == numbers, order[places], len(self)).astype(np.intp)
