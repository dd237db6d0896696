"""Vectors of counts, looked up, and sequences with weights over which expectations are taken: all that differ, or a sample."""

from __future__ import annotations

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from specht.groups import count_vectors
from specht.sequences import Source

MOST_CLASSES = 2**17
"""Most classes of sequences that are listed; beyond, sequences are drawn."""


class Points(NamedTuple):
    """Sequences (n, columns) and weights (n,) that add up to one."""

    x: np.ndarray
    weights: np.ndarray
    exact: bool
    """False for a sample, which has equal weights."""


def points(source: Source, length: int, columns: int, reads: int, samples: int, rng: np.random.Generator) -> Points:
    """Points for functions of the first `reads` positions, the readout token, and how often each token occurs in the rest of the context.

    Sequences on which no such function differs form a class. Under an exchangeable source one of each is enough, weighted with the
    probability of its class, as long as classes are few.
    """
    if source.is_mixture and count_classes(source.vocab, length, columns, reads) <= MOST_CLASSES:
        return _classes(source, length, columns, reads)
    x = source.draw(rng, samples, columns)
    return Points(x, np.full(samples, 1.0 / samples), exact=False)


def count_classes(vocab: int, length: int, columns: int, reads: int) -> int:
    """Number of classes of sequences that functions of this kind distinguish."""
    if reads > length:
        return vocab**columns
    return vocab ** (reads + columns - length) * math.comb(length - reads + vocab - 1, vocab - 1)


def _classes(source: Source, length: int, columns: int, reads: int) -> Points:
    vocab, reads = source.vocab, min(reads, length)
    seen = np.array(list(itertools.product(range(vocab), repeat=reads + columns - length)), dtype=np.int32)
    counts = count_vectors(vocab, length - reads)
    rest = np.array([np.repeat(np.arange(vocab), count) for count in counts], dtype=np.int32).reshape(len(counts), length - reads)
    first, second = np.repeat(np.arange(len(seen)), len(rest)), np.tile(np.arange(len(rest)), len(seen))
    x = np.concatenate([seen[first, :reads], rest[second], seen[first, reads:]], axis=1)
    orders = log_factorial(np.array(length - reads)) - log_factorial(counts).sum(axis=1)
    weights = np.exp(source.mixture.log_probability(x) + orders[second])
    possible = weights > 0.0
    return Points(x[possible], weights[possible] / weights.sum(), exact=True)


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
