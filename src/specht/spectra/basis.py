r"""The copies of an irrep among functions of V tokens: an orthonormal basis, and its functions as callables.

Fill the shape $\lambda$ with the L positions, column by column. Functions that are antisymmetric in the positions of every column, and
symmetric under exchanging columns of equal height $h$, are products

$$ \bigotimes_h \mathrm{Sym}^{b_h}(\Lambda^h \mathbb{C}^V), \qquad b_h = \lambda_h - \lambda_{h+1} \text{ columns of height } h, $$

with one basis function for each way to write a set of h tokens ("letter") into every column of height h. The copies of $S^\lambda$
correspond to the largest irreducible part of this space under $GL_V$, generated from its highest weight vector by the operators that turn
a token v into v + 1. For two tokens it is the whole space: $\prod_j (x_{a_j} - x_{b_j})$ times a function of the number of ones elsewhere.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import NamedTuple

import numpy as np
import scipy.sparse

from specht.groups import Partition, count_semistandard, kostka_number
from specht.spectra.combinatorics import CountIndex, log_factorial


class TableauColumns(NamedTuple):
    """The columns of one height: how many there are, what can stand in them, and in which numbers."""

    height: int
    count: int
    letters: tuple[tuple[int, ...], ...]
    """Increasing sets of `height` tokens."""
    fillings: CountIndex
    """How often each letter occurs."""


class Evaluation(NamedTuple):
    """Which basis function is not zero on a sequence, and its value there: sign / sqrt(exp(log_size))."""

    index: np.ndarray
    sign: np.ndarray
    """Zero where every basis function vanishes."""
    log_size: np.ndarray
    """Logarithm of the number of sequences on which the basis function has this value, up to its sign."""


@dataclasses.dataclass(frozen=True)
class Basis:
    """Basis functions of one irrep, and the combinations of them that span its copies."""

    shape: Partition
    vocab: int
    columns: tuple[TableauColumns, ...]
    """Tallest first, as they take the positions."""
    counts: np.ndarray
    """Token counts of each basis function, shape (functions, V)."""
    copies: np.ndarray
    """Orthonormal combinations, one column a copy; each has definite counts."""
    copy_counts: np.ndarray
    """Token counts of each copy, shape (copies, V)."""

    @property
    def is_whole(self) -> bool:
        """Whether every basis function is a copy by itself."""
        return len(self.counts) == self.copies.shape[1]


@functools.lru_cache(maxsize=256)
def basis(shape: Partition, vocab: int) -> Basis:
    """The basis of an irrep among the functions of `vocab` tokens; the shape must not have more rows."""
    columns = columns_of(shape, vocab)
    counts = _token_counts(vocab, columns)
    if len(counts) == count_semistandard(shape, vocab):
        return Basis(shape, vocab, columns, counts, np.eye(len(counts)), counts)
    copies, copy_counts = _highest_part(shape, vocab, columns, counts)
    return Basis(shape, vocab, columns, counts, copies, copy_counts)


@functools.lru_cache(maxsize=256)
def columns_of(shape: Partition, vocab: int) -> tuple[TableauColumns, ...]:
    """The columns of a shape by height, tallest first, with all that can be written into them."""
    parts = (*shape.parts, *[0] * (vocab + 1 - len(shape.parts)))
    numbers = {height: parts[height - 1] - parts[height] for height in range(vocab, 0, -1)}
    return tuple(_columns(vocab, height, count) for height, count in numbers.items() if count)


def evaluate(columns_by_height: tuple[TableauColumns, ...], context: np.ndarray) -> Evaluation:
    """The basis function that does not vanish on each sequence of tokens (n, L)."""
    index, total_sign, log_size, start = np.zeros(len(context), dtype=int), np.ones(len(context)), np.zeros(len(context)), 0
    for columns in columns_by_height:
        stop = start + columns.height * columns.count
        tokens = context[:, start:stop].reshape(len(context), columns.count, columns.height)
        letter, sign = _letters(tokens, columns.letters)
        counts = (letter[:, :, None] == np.arange(len(columns.letters))).sum(axis=1)
        counts[(sign == 0).any(axis=1)] = columns.fillings.vectors[0]  # anything: the sign is zero
        numbers = np.array([columns.count, columns.height])
        orders, inside = log_factorial(numbers)
        log_size = log_size + orders - log_factorial(counts).sum(axis=1) + columns.count * inside
        total_sign = total_sign * sign.prod(axis=1)
        index = index * len(columns.fillings) + columns.fillings.rank(columns.fillings.encode(counts))
        start = stop
    return Evaluation(index, total_sign, log_size)


def _columns(vocab: int, height: int, count: int) -> TableauColumns:
    letters = tuple(itertools.combinations(range(vocab), height))
    return TableauColumns(height, count, letters, CountIndex(count, len(letters)))


def _token_counts(vocab: int, columns: tuple[TableauColumns, ...]) -> np.ndarray:
    counts = np.zeros((1, vocab), dtype=int)
    for part in columns:
        holds = np.array([[token in letter for token in range(vocab)] for letter in part.letters], dtype=int)
        counts = (counts[:, None, :] + (part.fillings.vectors @ holds)[None, :, :]).reshape(-1, vocab)
    return counts


def _letters(tokens: np.ndarray, letters: tuple[tuple[int, ...], ...]) -> tuple[np.ndarray, np.ndarray]:
    """Number of the letter in each column (n, columns, height) and the sign of its order; sign 0 where a token is repeated."""
    n, count, height = tokens.shape
    inversions, distinct = np.zeros((n, count), dtype=int), np.ones((n, count), dtype=bool)
    for first, second in itertools.combinations(range(height), 2):
        inversions += tokens[:, :, first] > tokens[:, :, second]
        distinct &= tokens[:, :, first] != tokens[:, :, second]
    masks = np.array([sum(1 << token for token in letter) for letter in letters])
    order = np.argsort(masks)
    mask = (1 << tokens.astype(np.int64)).sum(axis=2)
    letter = order[np.searchsorted(masks[order], mask).clip(max=len(masks) - 1)]
    return letter, np.where(distinct, 1 - 2 * (inversions % 2), 0)


def _highest_part(shape: Partition, vocab: int, columns: tuple[TableauColumns, ...], counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal basis of the part generated from the highest weight vector, and the token counts of its vectors."""
    lower = [_lowering(columns, token) for token in range(vocab - 1)]
    highest = (*shape.parts, *[0] * (vocab - len(shape.parts)))
    start = np.zeros((len(counts), 1))
    start[np.flatnonzero((counts == highest).all(axis=1))[0]] = 1.0
    by_weight = {highest: start}
    layer = {highest: start}
    while layer:  # every application moves one token on by one
        images: dict[tuple[int, ...], list[np.ndarray]] = {}
        for weight, vectors in layer.items():
            for token in range(vocab - 1):
                moved = tuple(count - (i == token) + (i == token + 1) for i, count in enumerate(weight))
                if min(moved) >= 0:
                    images.setdefault(moved, []).append(lower[token] @ vectors)
        layer = {weight: _orthonormal(np.hstack(parts), kostka_number(shape, weight)) for weight, parts in images.items()}
        layer = {weight: vectors for weight, vectors in layer.items() if vectors.shape[1]}
        by_weight |= layer
    copy_counts = [weight for weight, vectors in by_weight.items() for _ in range(vectors.shape[1])]
    return np.hstack(list(by_weight.values())), np.array(copy_counts)


def _orthonormal(vectors: np.ndarray, rank: int) -> np.ndarray:
    """An orthonormal basis of the span of the columns, whose dimension is known."""
    rows = np.flatnonzero(np.abs(vectors).max(axis=1))  # the functions with these counts, few of all
    out = np.zeros((len(vectors), rank))
    if rank:
        out[rows] = np.linalg.svd(vectors[rows], full_matrices=False)[0][:, :rank]
    return out


def _lowering(columns: tuple[TableauColumns, ...], token: int) -> scipy.sparse.csr_array:
    """The operator that turns `token` into `token + 1` in one place, on the product of all columns."""
    sizes = [len(part.fillings) for part in columns]
    total = scipy.sparse.csr_array((math.prod(sizes), math.prod(sizes)))
    for place, part in enumerate(columns):
        before, after = math.prod(sizes[:place]), math.prod(sizes[place + 1 :])
        own = scipy.sparse.kron(scipy.sparse.eye_array(before), _lowering_of_columns(part, token))
        total = total + scipy.sparse.kron(own, scipy.sparse.eye_array(after))
    return scipy.sparse.csr_array(total)


def _lowering_of_columns(columns: TableauColumns, token: int) -> scipy.sparse.coo_array:
    """The lowering operator on columns of one height. Letters are bosons: I becomes J at amplitude sqrt(n_I (n_J + 1))."""
    vectors, rows, sources, amplitudes = columns.fillings.vectors, [], [], []
    for number, letter in enumerate(columns.letters):
        if token not in letter or token + 1 in letter:
            continue
        target = columns.letters.index(tuple(sorted({*letter} - {token} | {token + 1})))
        holding = np.flatnonzero(vectors[:, number])
        moved = vectors[holding].copy()
        moved[:, number] -= 1
        moved[:, target] += 1
        rows.append(columns.fillings.rank(columns.fillings.encode(moved)))
        sources.append(holding)
        amplitudes.append(np.sqrt(vectors[holding, number] * moved[:, target]))
    size = (len(vectors), len(vectors))
    if not rows:
        return scipy.sparse.coo_array(size)
    return scipy.sparse.coo_array((np.concatenate(amplitudes), (np.concatenate(rows), np.concatenate(sources))), shape=size)
