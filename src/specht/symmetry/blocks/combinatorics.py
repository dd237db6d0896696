"""Vectors of counts, listed and looked up."""

from __future__ import annotations

import functools

import numpy as np

FACTORIALS = np.cumprod(np.concatenate([[1.0], np.arange(1.0, 171.0)]))
"""0! to 170!, all that fit into float64."""


@functools.lru_cache(maxsize=64)
def compositions(total: int, parts: int) -> np.ndarray:
    """All vectors of `parts` counts that add up to `total`, in lexicographic order: shape (N, parts).

    >>> compositions(2, 2)
    array([[0, 2],
           [1, 1],
           [2, 0]])
    """
    if parts == 1:
        return np.array([[total]])
    tails = [compositions(total - first, parts - 1) for first in range(total + 1)]
    firsts = np.repeat(np.arange(total + 1), [len(tail) for tail in tails])
    return np.column_stack([firsts, np.concatenate(tails)])


class CountIndex:
    """Looks count vectors of one total up in the list of them all."""

    def __init__(self, total: int, parts: int) -> None:
        self.vectors = compositions(total, parts)
        # The last count follows from the others, so it needs no digit.
        self.weights = np.concatenate([(total + 1) ** np.arange(parts - 2, -1, -1, dtype=object), [0]])
        self.codes = self.encode(self.vectors)  # increasing, as the list is lexicographic

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def fits(self) -> bool:
        """Whether codes stay within 64 bits."""
        return int(self.weights[0]) * (int(self.vectors.max()) + 1) < 2**63

    def encode(self, vectors: np.ndarray) -> np.ndarray:
        """A whole number a vector; codes of parts add up to the code of the whole."""
        return vectors @ self.weights.astype(np.int64)

    def rank(self, codes: np.ndarray) -> np.ndarray:
        """Places of the codes in the list."""
        return np.searchsorted(self.codes, codes)
