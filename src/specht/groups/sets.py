r"""Sets: without positions, and with the mean as readout, a sequence is no more than how often each token occurs.

Such a kernel does not change when its two arguments are permuted independently, $k(gx, hy) = k(x, y)$, and not only together. Then
$K \rho(g) = K$: every irrep but the trivial one has eigenvalue zero. What is left are the functions of the counts, and nothing makes their
eigenvalues equal.
"""

from __future__ import annotations

import math

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError
from specht.groups.partition import about

_LARGEST_LIST = 2**28
"""Most counts in a list of count vectors: two gigabytes."""


def count_vectors(vocab: int, length: int) -> np.ndarray:
    """All ways in which L tokens can be shared out among V symbols, in lexicographic order: the points that functions of counts live on.

    One a row, shape (N, V).

    >>> count_vectors(vocab=2, length=2)
    array([[0, 2],
           [1, 1],
           [2, 0]])
    """
    vocab, length = whole_number("vocab", vocab, 1), whole_number("length", length)
    number = math.comb(length + vocab - 1, vocab - 1)
    if number * vocab > _LARGEST_LIST:
        raise InputError(
            f"{length} tokens can be shared out among {vocab} symbols in {about(number)} ways, a list of more than "
            f"{_LARGEST_LIST / 2**27:.0f} GiB: choose fewer symbols or a shorter length."
        )
    left, choices = np.array([length]), []
    for _ in range(vocab - 1):
        parent = np.repeat(np.arange(len(left)), left + 1)
        ends = np.cumsum(left + 1)
        chosen = np.arange(len(parent)) - np.repeat(ends - left - 1, left + 1)  # 0, 1, ... up to what is left
        choices.append((parent, chosen))
        left = left[parent] - chosen
    vectors = np.empty((len(left), vocab), dtype=int)
    vectors[:, -1] = left
    branch = np.arange(len(left))
    for symbol in reversed(range(vocab - 1)):  # from the last choice back to those that it followed
        parent, chosen = choices[symbol]
        vectors[:, symbol] = chosen[branch]
        branch = parent[branch]
    return vectors
