"""Counts of runs of neighbouring tokens (n-grams), as sparse matrices."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from specht.forecasts.table import SequenceTable

SparseRows: TypeAlias = Any
"""A sparse matrix of SciPy, stored by rows."""


def orders_of(table: SequenceTable) -> tuple[int, ...]:
    """Lengths of the n-grams that are counted: up to three words or items, and up to six characters."""
    longest = 6 if table.facts.cut_into == "characters" else 3
    return tuple(range(1, min(longest, table.tokens.shape[1]) + 1))


def ngram_counts(tokens: np.ndarray, mask: np.ndarray, orders: tuple[int, ...], markers: bool = True) -> list[SparseRows]:
    """How often each n-gram stands in each sequence: for every order a matrix (n, different n-grams).

    Arguments:
        tokens, mask: sequences (n, columns) that are aligned at the end, True where a token is real.
        orders: lengths of the n-grams, ascending.
        markers: put a mark before and after every sequence, so that longer n-grams see where it begins and ends; single tokens do not.

    >>> counts = ngram_counts(np.array([[0, 1, 0, 1]]), np.ones((1, 4), bool), (1, 2), markers=False)
    >>> [matrix.toarray().astype(int).tolist() for matrix in counts]
    [[[2, 2]], [[2, 1]]]
    """
    symbols = int(tokens.max()) + 1
    matrices = [_counts(tokens.astype(np.int64), mask)] if 1 in orders else []
    if markers:
        tokens, mask = with_marks(tokens, mask, symbols)
        symbols += 2
    codes, real = tokens.astype(np.int64), mask
    for order in range(2, min(orders[-1], tokens.shape[1]) + 1):
        real = real[:, :-1] & mask[:, order - 1 :]
        codes = _numbered(codes[:, :-1] * symbols + tokens[:, order - 1 :], real)
        if order in orders:
            matrices.append(_counts(codes, real))
    return matrices


def with_marks(tokens: np.ndarray, mask: np.ndarray, symbols: int) -> tuple[np.ndarray, np.ndarray]:
    """Sequences with the token `symbols` before and `symbols + 1` after them."""
    rows, columns = tokens.shape
    longer, real = np.zeros((rows, columns + 2), tokens.dtype), np.zeros((rows, columns + 2), bool)
    longer[:, 1:-1], real[:, 1:-1] = tokens, mask
    first = columns - mask.sum(axis=1)  # sequences are aligned at the end
    longer[np.arange(rows), first], real[np.arange(rows), first] = symbols, True
    longer[:, -1], real[:, -1] = symbols + 1, True
    return longer, real


def _numbered(codes: np.ndarray, real: np.ndarray) -> np.ndarray:
    """The real ones of some codes numbered from zero, so that codes of longer n-grams stay small."""
    numbers = np.zeros_like(codes)
    numbers[real] = np.unique(codes[real], return_inverse=True)[1]
    return numbers


def _counts(codes: np.ndarray, real: np.ndarray) -> SparseRows:
    rows, columns = np.nonzero(real)[0], codes[real]
    width = int(columns.max()) + 1 if len(columns) else 1
    return sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(codes), width)).tocsr()
