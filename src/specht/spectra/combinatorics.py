"""Vectors of counts, looked up."""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import gammaln

from specht.groups import count_vectors


def log_factorial(n: np.ndarray) -> np.ndarray:
    """log n! of whole numbers, from a table."""
    return _log_factorials(int(np.max(n, initial=0)))[n]


@functools.lru_cache(maxsize=8)
def _log_factorials(largest: int) -> np.ndarray:
    return gammaln(np.arange(largest + 1) + 1.0)


class CountIndex:
    """Looks count vectors of one total up in the list of them all."""

    def __init__(self, total: int, parts: int) -> None:
        self.vectors = count_vectors(parts, total)
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
