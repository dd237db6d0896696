r"""Sets: without positions, and with the mean as readout, a sequence is no more than how often each token occurs.

Such a kernel does not change when its two arguments are permuted independently, $k(gx, hy) = k(x, y)$, and not only together. Then
$K \rho(g) = K$: every irrep but the trivial one has eigenvalue zero. What is left are the functions of the counts, and nothing makes their
eigenvalues equal.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from specht.errors import whole_number
from specht.groups.labels import Decomposition
from specht.groups.partitions import Partition


def functions_of_counts(vocab: int, length: int) -> Decomposition[Partition]:
    r"""Irreps with an eigenvalue other than zero: the trivial one, $\binom{L+V-1}{V-1}$ times.

    >>> print(functions_of_counts(vocab=2, length=4))
    5 [4]
    """
    vocab, length = whole_number("vocab", vocab, 1), whole_number("length", length, 1)
    return Decomposition({Partition((length,)): math.comb(length + vocab - 1, vocab - 1)})


def count_vectors(vocab: int, length: int) -> Iterator[tuple[int, ...]]:
    """All ways in which L tokens can be shared out among V symbols: the points that functions of counts live on.

    >>> list(count_vectors(vocab=2, length=2))
    [(0, 2), (1, 1), (2, 0)]
    """
    vocab, length = whole_number("vocab", vocab, 1), whole_number("length", length)
    return _shares(vocab, length)


def _shares(vocab: int, length: int) -> Iterator[tuple[int, ...]]:
    places = length + vocab - 1
    for bars in itertools.combinations(range(places), vocab - 1):
        yield tuple(after - before - 1 for before, after in itertools.pairwise((-1, *bars, places)))


def sequences_with(counts: Sequence[int]) -> int:
    r"""Number of sequences that have the given counts, $L! / \prod_v n_v!$: the weight of a point under uniform tokens.

    >>> [sequences_with(counts) for counts in count_vectors(vocab=2, length=4)]
    [1, 4, 6, 4, 1]
    """
    totals = list(itertools.accumulate(whole_number("each of counts", count) for count in counts))
    return math.prod(math.comb(total, count) for total, count in zip(totals, counts, strict=True))
