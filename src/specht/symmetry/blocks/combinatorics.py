"""Vectors of counts, listed and looked up."""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import gammaln


def log_factorial(n: np.ndarray) -> np.ndarray:
    """log n! of whole numbers, from a table."""
    return _log_factorials(int(np.max(n, initial=0)))[n]


@functools.lru_cache(maxsize=8)
def _log_factorials(largest: int) -> np.ndarray:
    return gammaln(np.arange(largest + 1) + 1.0)


def compositions(total: int, parts: int) -> np.ndarray:
    """All vectors of `parts` counts that add up to `total`, in lexicographic order: shape (N, parts).

    >>> compositions(2, 2)
    array([[0, 2],
           [1, 1],
           [2, 0]])
    """
    vectors, left = np.zeros((1, 0), dtype=int), np.array([total])
    for _ in range(parts - 1):
        rows = np.repeat(np.arange(len(left)), left + 1)
        ends = np.cumsum(left + 1)
        chosen = np.arange(len(rows)) - np.repeat(ends - left - 1, left + 1)  # 0, 1, ... up to what is left
        vectors, left = np.column_stack([vectors[rows], chosen]), left[rows] - chosen
    return np.column_stack([vectors, left])


class CountIndex:
    """Looks count vectors of one total up in the list of them all."""

    def __init__(self, total: int, parts: int) -> None:
        self.vectors = compositions(total, parts)
        # The last count follows from the others, so it needs no digit.
        digits = [(total + 1) ** power for power in range(parts - 2, -1, -1)]
        self.weights = np.array([*digits, 0], dtype=np.int64)
        self.codes = self.encode(self.vectors)  # increasing, as the list is lexicographic

    def __len__(self) -> int:
        return len(self.vectors)

    def encode(self, vectors: np.ndarray) -> np.ndarray:
        """A whole number a vector; codes of parts add up to the code of the whole."""
        return vectors @ self.weights

    def rank(self, codes: np.ndarray) -> np.ndarray:
        """Places of the codes in the list."""
        return np.searchsorted(self.codes, codes)
