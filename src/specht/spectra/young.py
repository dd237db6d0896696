r"""Any invariant kernel, any number of tokens: blocks from sums over contingency tables.

On the basis functions of a shape, the tensor power $Z^{\otimes L}$ of a matrix $Z$ has the entries

$$ \prod_h \mathrm{Sym}^{b_h}(\Lambda^h Z), $$

polynomials in $Z_{vw}$ whose monomials are contingency tables. Replacing each monomial by the kernel of its table gives the operator:
the minors in $\Lambda^h Z$ are the alternating sums over orders of a column, the symmetric powers the sums over equal columns.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from specht.groups import Partition, count_vectors
from specht.progress import Progress, report
from specht.spectra.basis import Basis, TableauColumns, basis, columns_of, evaluate
from specht.spectra.block import CountLaw, IrrepBlock, diagonalise
from specht.spectra.combinatorics import CountIndex, log_factorial

_RARE = 1e-24
"""Eigenfunctions are set to zero on sequences that are rarer than this, all alike taken together: float64 does not resolve them there."""
_STEP = 2**21
"""Terms of a sum over tables held at a time."""


class Terms(NamedTuple):
    """A matrix of polynomials as a list of terms: entry (row, column), contingency table, coefficient."""

    rows: np.ndarray
    columns: np.ndarray
    tables: np.ndarray
    """Codes, which add up when polynomials are multiplied."""
    coefficients: np.ndarray


def young_block(law: CountLaw, shape: Partition, index: CountIndex, kernel: np.ndarray, progress: Progress | None = None) -> IrrepBlock:
    """The block of one shape; `kernel` has one entry for each pair of readout tokens and table, shape (W, W, tables)."""
    functions = basis(shape, law.arch.vocab)
    sums = _sums_over_tables(functions, law.arch.vocab, index, kernel, progress)
    half = np.exp(law.log_probability(functions.copy_counts) / 2.0)  # (W, copies)
    blocks = np.einsum("ia,wxij,jb->waxb", functions.copies, sums, functions.copies, optimize=True)
    return solved_block(law, functions, half, blocks)


def solved_block(law: CountLaw, functions: Basis, half: np.ndarray, operator: np.ndarray) -> IrrepBlock:
    """Eigenvalues and eigenfunctions of an operator (W, copies, W, copies), given the roots of probabilities (W, copies)."""
    matrix = half[:, :, None, None] * operator * half[None, None]
    eigenvalues, vectors = diagonalise(matrix.reshape(half.size, half.size))
    copies = None if functions.is_whole else functions.copies
    return IrrepBlock(functions.shape, eigenvalues, _YoungFunctions(law, functions.shape, copies, vectors.reshape(*half.shape, -1)))


@dataclasses.dataclass(frozen=True)
class _YoungFunctions:
    """Combinations of basis functions, divided by the root of the probability."""

    law: CountLaw
    shape: Partition
    copies: np.ndarray | None
    """Copies in the basis as combinations of basis functions, as columns; None where they are the basis functions themselves.

    They are kept, and not computed anew, because another machine may choose other ones.
    """
    vectors: np.ndarray
    """Eigenvectors, shape (W, copies in the basis, copies)."""

    @functools.cached_property
    def weights(self) -> np.ndarray:
        """Eigenvectors over basis functions (W, functions, copies); made when a function is called, since many never are."""
        return self.vectors if self.copies is None else np.einsum("fa,wac->wfc", self.copies, self.vectors, optimize=True)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        context, readout = self.law.split(x)
        index, sign, log_size = evaluate(columns_of(self.shape, self.law.arch.vocab), context)
        counts = (context[:, :, None] == np.arange(self.law.arch.vocab)).sum(axis=1)
        log_probability = np.take_along_axis(self.law.log_probability(counts), readout[None], axis=0)[0]
        # the number of sequences alike and the probability of one are huge and tiny, their product is not
        log_class = log_size + log_probability
        known = log_class > math.log(_RARE)
        scale = np.where(known, sign * np.exp(-np.where(known, log_class, 0.0) / 2.0), 0.0)
        return scale[:, None] * self.weights[readout, index]


def count_terms(shape: Partition, vocab: int) -> int:
    """How many terms the sum over tables has before equal ones are merged: what a block costs in time."""
    return math.prod(powers for powers, _ in _power_lists(shape, vocab))


def count_entries(shape: Partition, vocab: int) -> int:
    """How many numbers the longest list of powers of minors has: what a block costs in memory."""
    return max((powers * cells for powers, cells in _power_lists(shape, vocab)), default=0)


def _power_lists(shape: Partition, vocab: int) -> list[tuple[int, int]]:
    """For the columns of each height: products of terms of their minors, and terms of all minors."""
    parts = (*shape.parts, *[0] * (vocab + 1 - len(shape.parts)))
    counts = [(parts[h - 1] - parts[h], math.comb(vocab, h) ** 2 * math.factorial(h)) for h in range(1, vocab + 1)]
    return [(math.comb(columns + cells - 1, cells - 1), cells) for columns, cells in counts if columns]


def _sums_over_tables(functions: Basis, vocab: int, index: CountIndex, kernel: np.ndarray, progress: Progress | None) -> np.ndarray:
    """The operator between basis functions, without probabilities: shape (W, W, functions, functions)."""
    size, readouts = len(functions.counts), len(kernel)
    sums = np.zeros((readouts, readouts, size * size))
    weights = index.weights.reshape(vocab, vocab)
    for terms in _products([_symmetric_power(columns, weights) for columns in functions.columns], functions, progress):
        values = kernel[:, :, index.rank(terms.tables)] * terms.coefficients
        entry = terms.rows * size + terms.columns
        for left, right in itertools.product(range(readouts), repeat=2):
            sums[left, right] += np.bincount(entry, values[left, right], minlength=size * size)
    return sums.reshape(readouts, readouts, size, size)


def _products(factors: list[Terms], functions: Basis, progress: Progress | None) -> Iterator[Terms]:
    """The terms of a product of matrices of polynomials (Kronecker product of rows and columns), some at a time."""
    whole = factors[0]
    for factor, columns in zip(factors[1:], functions.columns[1:], strict=True):
        step = max(1, _STEP // len(factor.rows))
        starts = range(0, len(whole.rows), step)
        parts = (Terms(*(part[start : start + step] for part in whole)) for start in starts)
        products = (_product(part, factor, len(columns.fillings)) for part in parts)
        if columns is functions.columns[-1]:
            for number, terms in enumerate(products, start=1):
                yield terms
                report(progress, number, len(starts))
            return
        whole = _merged(Terms(*(np.concatenate(parts) for parts in zip(*products, strict=True))))
    yield whole
    report(progress, 1, 1)


def _product(first: Terms, second: Terms, size: int) -> Terms:
    rows = (first.rows[:, None] * size + second.rows[None]).ravel()
    columns = (first.columns[:, None] * size + second.columns[None]).ravel()
    return Terms(
        rows, columns, np.add.outer(first.tables, second.tables).ravel(), np.multiply.outer(first.coefficients, second.coefficients).ravel()
    )


def _symmetric_power(columns: TableauColumns, weights: np.ndarray) -> Terms:
    r"""$\mathrm{Sym}^b(\Lambda^h Z)$ between orthonormal fillings, by the multinomial theorem over the terms of all minors."""
    letters = columns.letters
    cells = [  # one term of one minor each: letters on either side, table, sign
        (left, right, sum(weights[v, w] for v, w in zip(letters[left], order, strict=True)), sign)
        for left, right in itertools.product(range(len(letters)), repeat=2)
        for order, sign in _signed_terms(letters[right])
    ]
    left, right, tables, signs = (np.array(part) for part in zip(*cells, strict=True))
    powers = count_vectors(len(cells), columns.count)
    in_left, in_right = ((side[:, None] == np.arange(len(letters))).astype(int) for side in (left, right))
    rows, cols = powers @ in_left, powers @ in_right
    # b! / prod(powers!) orders, over the norms sqrt(b! / prod(n!)) of either side
    logs = (log_factorial(rows).sum(axis=1) + log_factorial(cols).sum(axis=1)) / 2.0 - log_factorial(powers).sum(axis=1)
    coefficients = np.where((powers @ (signs < 0)) % 2, -1.0, 1.0) * np.exp(logs)
    rank = columns.fillings.rank
    return _merged(Terms(rank(columns.fillings.encode(rows)), rank(columns.fillings.encode(cols)), powers @ tables, coefficients))


def _signed_terms(letter: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
    for order in itertools.permutations(letter):
        inversions = sum(first > second for first, second in itertools.combinations(order, 2))
        yield order, -1 if inversions % 2 else 1


def _merged(terms: Terms) -> Terms:
    """Equal tables of one entry added up, and what cancels left out."""
    order = np.lexsort((terms.tables, terms.columns, terms.rows))
    rows, columns, tables, coefficients = (part[order] for part in terms)
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (np.diff(rows) != 0) | (np.diff(columns) != 0) | (np.diff(tables) != 0)
    totals = np.add.reduceat(coefficients, np.flatnonzero(new))
    keep = np.abs(totals) > 1e-13
    return Terms(rows[new][keep], columns[new][keep], tables[new][keep], totals[keep])
