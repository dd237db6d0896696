"""Null models: the same corpus with its tokens permuted, so that what a score must be is known.

- `window`: inside each window. All pairs of positions have the same law, so the score is one, whatever the correlations.
- `article`: inside each article. What articles have in common stays, order goes; the score is one there too, for long articles.
- `global`: over the whole corpus. No correlations are left, so there is nothing to score.

Beside these shuffles there is a null model with an order of its own, `bigram`: see `specht.corpus.stats.bigrams`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Literal, get_args

import numpy as np

from specht.corpus.read.stream import Encoded, join, starts_in
from specht.errors import check_choice

Shuffle = Literal["window", "article", "global"]
NULLS: tuple[Shuffle, ...] = get_args(Shuffle)
Null = Shuffle | Literal["bigram"]
_BATCH = 2**18
"""Tokens that are shuffled at a time."""
_LONGEST_ARTICLE = 2**20
"""Longer articles are shuffled in pieces of this size, so that memory stays bounded."""
_EXACT_DRAWS = 10**9
"""Tokens up to which NumPy draws without replacement; among more it makes no difference."""


def shuffled(pieces: Iterable[Encoded], null: Null, length: int, rng: np.random.Generator) -> Iterator[Encoded]:
    """A stream whose tokens are permuted inside windows of `length` tokens, or inside articles."""
    check_choice("null model", null, ("window", "article"))
    return _in_windows(pieces, length, rng) if null == "window" else _in_articles(pieces, rng)


def split_counts(counts: np.ndarray, sizes: Iterable[int], seed: int) -> list[np.ndarray]:
    """How many tokens of each type the parts of a corpus have after a permutation of all its tokens.

    >>> [part.tolist() for part in split_counts(np.array([2, 0]), [1, 1], seed=0)]
    [[1, 0], [1, 0]]
    """
    rng = np.random.default_rng([seed, 3])
    left, parts = np.asarray(counts, dtype=np.int64), []
    for size in sizes:
        parts.append(_draw(rng, left, size))
        left = left - parts[-1]
    return parts


def _draw(rng: np.random.Generator, left: np.ndarray, size: int) -> np.ndarray:
    if left.sum() >= _EXACT_DRAWS:
        return np.minimum(rng.multinomial(size, left / left.sum()), left)
    return rng.multivariate_hypergeometric(left, min(size, int(left.sum())), method="marginals")


def _in_windows(pieces: Iterable[Encoded], length: int, rng: np.random.Generator) -> Iterator[Encoded]:
    """Windows from the start of each record on, each a record of its own. What is left over has no partners and keeps its place."""
    for ids, records, last in _batches(pieces, length):
        places = starts_in(records, len(ids), length)[:, None] + np.arange(length)
        permuted, begins = ids.copy(), np.ones(len(ids), dtype=bool)
        permuted[places] = rng.permuted(ids[places], axis=1)
        begins[places[:, 1:]] = False
        stop = len(ids) if last else _taken(ids, records, length)
        yield Encoded(permuted[:stop], np.flatnonzero(begins[:stop]))


def _batches(pieces: Iterable[Encoded], length: int) -> Iterator[tuple[np.ndarray, np.ndarray, bool]]:
    """Many tokens at a time, with the starts of records in them, the first of which is 0; what no window took comes again."""
    ids, records = np.empty(0, dtype=np.intp), np.zeros(1, dtype=np.intp)
    for piece in pieces:
        records = np.union1d(records, piece.records + len(ids))
        ids = np.concatenate([ids, piece.ids])
        if len(ids) >= max(_BATCH, 2 * length):
            yield ids, records, False
            ids, records = ids[_taken(ids, records, length) :], np.zeros(1, dtype=np.intp)
    if len(ids):
        yield ids, records[records < len(ids)], True


def _taken(ids: np.ndarray, records: np.ndarray, length: int) -> int:
    """The end of the last window."""
    return int(records[-1] + (len(ids) - records[-1]) // length * length)


def _in_articles(pieces: Iterable[Encoded], rng: np.random.Generator) -> Iterator[Encoded]:
    held: list[Encoded] = []
    size = 0
    for piece in pieces:
        articles = piece.articles.tolist()
        begins = {*articles}
        for start, stop in itertools.pairwise([0, *filter(None, articles), len(piece)]):
            if size and (start in begins or size >= _LONGEST_ARTICLE):
                yield _permuted(held, rng)
                held, size = [], 0
            held.append(piece.part(start, stop))
            size += stop - start
    if size:
        yield _permuted(held, rng)


def _permuted(pieces: list[Encoded], rng: np.random.Generator) -> Encoded:
    article = join(pieces)
    return Encoded(rng.permutation(article.ids), article.records)


def drawn(pieces: Iterable[Encoded], counts: np.ndarray, rng: np.random.Generator) -> Iterator[Encoded]:
    """A stream with tokens drawn at random from this many tokens of each type, see `split_counts`."""
    left = np.asarray(counts, dtype=np.int64)
    for piece in pieces:
        numbers = _draw(rng, left, len(piece))
        left = left - numbers
        yield Encoded(rng.permutation(np.repeat(np.arange(len(numbers)), numbers)), piece.records)
