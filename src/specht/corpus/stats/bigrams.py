r"""A chain in place of a text: the same pairs of neighbours, and no other order (a bigram Markov surrogate).

Every token is drawn from those that follow the same token somewhere in the corpus. With $P_{ij}$ the share of $j$ among what follows $i$,
the covariance of two tokens $t$ apart is that of a Markov chain,
$$ K(t) = \mathrm{diag}(p) P^t - p p^T , $$
which is the text's own at $t = 1$. Whatever a text has beyond its chain comes from more than neighbours.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator

import numpy as np

from specht.corpus.read.stream import Encoded

Followers = list[list[int]]
"""For each symbol how often symbols up to the j-th follow it, but for the last symbol, which is what remains."""


def followers_of(counts: np.ndarray) -> tuple[Followers, np.ndarray]:
    """From counts of neighbours [i, j] to what chains are drawn with, and how often anything follows each symbol.

    A symbol that nothing follows is followed by whatever follows any.
    """
    counts = np.where(counts.any(axis=1, keepdims=True), counts, counts.sum(axis=0))
    sums = np.cumsum(counts, axis=1)
    return sums[:, :-1].tolist(), sums[:, -1]


def chained(pieces: Iterable[Encoded], followers: tuple[Followers, np.ndarray], rng: np.random.Generator) -> Iterator[Encoded]:
    """A stream as long, whose records begin where and as they do, and go on as a chain.

    >>> always = followers_of(np.array([[0, 3, 0], [0, 0, 3], [2, 0, 0]]))  # 0, 1, 2, 0, ...
    >>> [piece.ids.tolist() for piece in chained([Encoded(np.array([1, 1, 1, 1]))], always, np.random.default_rng(0))]
    [[1, 2, 0, 1]]
    """
    rows, totals = followers[0], followers[1].tolist()
    symbol = -1
    for piece in pieces:
        ids, chances = piece.ids.tolist(), rng.random(len(piece)).tolist()
        begins = {*piece.records.tolist()}
        for place, chance in enumerate(chances):
            goes_on = symbol >= 0 and place not in begins
            symbol = bisect.bisect_right(rows[symbol], chance * totals[symbol]) if goes_on else ids[place]
            ids[place] = symbol
        yield Encoded(np.array(ids, dtype=np.intp), piece.records, piece.articles)
