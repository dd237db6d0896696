r"""Any length, any number of tokens, low levels: several eigenvalues of each irrep, by the Rayleigh-Ritz method on sampled sequences.

Rayleigh quotients know one function of an irrep. Learning curves need the leading ones, which for few tokens are simple: products of

- a *flag* function of the tall columns, $\prod_\text{columns} \det [1, f_1(x_a), \dots, f_{h-1}(x_a)]_{a \in \text{column}}$, which lies in
  the irrep for any functions $f_1, f_2, \dots$ of a token; as many random ones as the irrep has copies of lowest degree,
- the readout token, $[x_c = w]$,
- a polynomial in the token counts of the context, which permutations leave as they are.

On the span of such functions $h_i$, made orthonormal over many sequences, the eigenvalues of $T_{ij} = E_{xy}[h_i(x) k(x, y) h_j(y)]$ are
lower bounds on the leading eigenvalues of the irrep, one by one. $T$ is sampled, with the alternating sum over orders of the columns taken
exactly and pairs of a sequence with itself left out. Sampled functions are not quite orthogonal, so the largest eigenvalue would drown the
small ones. Therefore $T$ is the least-squares fit of $k(x, y)$ by $h(x) \cdot T h(y)$ over the sampled pairs, which has the same limit and
in which only the part of the kernel outside the span is noise.

Eigenvalues that do not stand out of the noise one by one share their mean, which does so much sooner; if not even that stands out, they
are dropped.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from specht.architecture import Architecture, Kind
from specht.groups import Partition, count_semistandard
from specht.progress import Progress
from specht.sequences import Source
from specht.spectra.block import IrrepBlock, diagonalise
from specht.spectra.combinatorics import Points, points
from specht.spectra.rayleigh import BATCHES, SpectrumSampling, grams_of_orders, signed_orders, tall_columns
from specht.stats import standard_error

DEGREE = 2
"""Largest degree of trial functions in the tokens: their level, and that of the polynomial in counts."""
SIGNIFICANT = 3.0
"""Eigenvalues are kept that are larger than so many standard errors."""
_NORM_SAMPLES = 2**18
"""Sequences over which mean products of trial functions are taken, where there are too many classes of sequences to list."""
_PAIRS = 30
"""Pairs of sequences for each entry of the matrix from which on it is fitted."""
_ROUNDS, _CONVERGED = 50, 1e-6
"""Most steps of the fit, and the relative residual at which it ends."""
_DEPENDENT = 1e-7
"""Combinations of trial functions whose mean square is below this share of the largest count as dependent."""


def ritz_block(
    arch: Architecture, source: Source, shape: Partition, kind: Kind, sampling: SpectrumSampling, progress: Progress | None = None
) -> IrrepBlock:
    """The leading eigenvalues of one shape that stand out of the noise, as lower bounds."""
    trial = _trial(arch, shape)
    rng = np.random.default_rng([sampling.seed, BATCHES, *shape.parts])
    at = points(source, arch.length, arch.columns, sum(map(len, trial.columns)), _NORM_SAMPLES, rng)
    basis = _orthonormal(trial, at)
    orders, signs = signed_orders(trial.columns, arch.columns)
    n = sampling.sequences_of(orders)
    matrices, sampled = [], []
    for x, gram in grams_of_orders(arch, shape, orders, lambda rng, _: source.draw(rng, n, arch.columns), kind, sampling, progress):
        antisymmetric = np.einsum("s,isjt,t->ij", signs, gram, signs, optimize=True) / len(orders) ** 2
        np.fill_diagonal(antisymmetric, 0.0)
        values = trial(x) @ basis
        matrices.append(values.T @ antisymmetric @ values / (n * (n - 1)))
        sampled.append(values)
    fitted = _fit(np.array(matrices), sampled)
    eigenvalues, vectors = diagonalise(fitted.mean(axis=0))
    rotated = np.einsum("ic,bij,jc->bc", vectors, fitted, vectors, optimize=True)  # first-order perturbation of each
    stderr = standard_error(rotated)
    kept = int(np.argmin(np.append(eigenvalues > SIGNIFICANT * stderr, False)))  # up to the first that does not stand out
    rest = rotated[:, kept:].mean(axis=1) if kept < len(eigenvalues) else np.zeros(BATCHES)
    mean_rest, stderr_rest = float(rest.mean()), float(standard_error(rest))
    if mean_rest > SIGNIFICANT * stderr_rest:
        eigenvalues[kept:], stderr[kept:] = min(mean_rest, eigenvalues[:kept].min(initial=math.inf)), stderr_rest
        kept = len(eigenvalues)
    combined = basis @ vectors[:, :kept]
    errors = stderr[:kept]
    if not at.exact:  # an eigenvalue is in proportion to the mean square of its function, which is then sampled too
        errors = np.hypot(errors, eigenvalues[:kept] * ((trial(at.x) @ combined) ** 2).std(axis=0) / math.sqrt(_NORM_SAMPLES))
    return IrrepBlock(shape, eigenvalues[:kept], _Combinations(trial, combined), errors, is_bound=True)


def _fit(matrices: np.ndarray, sampled: list[np.ndarray]) -> np.ndarray:
    """The matrix T of each batch, from its sampled products and the values (n, functions) that they are products of.

    With too few pairs of sequences for its entries the fit would follow the noise: sampled products are then taken as they are.
    """
    mean, size = matrices.mean(axis=0), matrices.shape[1]
    pairs = sum(len(values) * (len(values) - 1) // 2 for values in sampled)
    if pairs < _PAIRS * size * (size + 1) // 2:
        return matrices

    def mean_products(entries: np.ndarray) -> np.ndarray:
        return np.mean([_products(values, entries.reshape(size, size)) for values in sampled], axis=0).ravel()

    operator = LinearOperator((size**2, size**2), matvec=mean_products, dtype=np.float64)  # pyright: ignore[reportCallIssue]
    solution, _ = cg(operator, mean.ravel(), x0=mean.ravel(), rtol=_CONVERGED, maxiter=_ROUNDS)
    mean_fit = (solution.reshape(size, size) + solution.reshape(size, size).T) / 2.0
    return mean_fit + matrices - np.array([_products(values, mean_fit) for values in sampled])


def _products(values: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Mean over pairs of different sequences of h(x) (h(x) . C h(y)) h(y)."""
    n, squares = len(values), values.T @ values
    own = np.einsum("ni,ij,nj->n", values, matrix, values, optimize=True)
    return (squares @ matrix @ squares - (values.T * own) @ values) / (n * (n - 1))


@dataclasses.dataclass(frozen=True)
class _Trial:
    """Trial functions of one shape: from tokens (n, columns) to values (n, functions)."""

    arch: Architecture
    columns: list[list[int]]
    """Positions of the tall columns."""
    flags: np.ndarray
    """Functions of a token, shape (flags, V, tallest - 1)."""
    degree: int
    """Largest degree of the polynomials in the counts."""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        length, vocab = self.arch.length, self.arch.vocab
        counts = (x[:, :length, None] == np.arange(vocab - 1)).sum(axis=1)  # the last count follows from the others
        centred = (counts - length / vocab) / math.sqrt(length)
        powers = [np.ones(len(x))]
        for degree in range(1, self.degree + 1):
            powers += [
                centred[:, list(tokens)].prod(axis=1) for tokens in itertools.combinations_with_replacement(range(vocab - 1), degree)
            ]
        functions = self._flags(x)[:, :, None] * np.stack(powers, axis=1)[:, None, :]
        functions = functions.reshape(len(x), -1)
        if self.arch.readout != "last":
            return functions
        readout = x[:, -1, None] == np.arange(vocab)
        return (readout[:, :, None] * functions[:, None, :]).reshape(len(x), -1)

    def _flags(self, x: np.ndarray) -> np.ndarray:
        """The flag functions, shape (n, flags)."""
        value = np.ones((len(x), len(self.flags)))
        for column in self.columns:
            tokens = self.flags[:, x[:, column], : len(column) - 1]  # (flags, n, height, height - 1)
            matrix = np.concatenate([np.ones((*tokens.shape[:3], 1)), tokens], axis=3)
            value = value * np.linalg.det(matrix).T
        return value


class _Combinations(NamedTuple):
    """Combinations of trial functions, as columns."""

    trial: _Trial
    coefficients: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.trial(x) @ self.coefficients


def _trial(arch: Architecture, shape: Partition) -> _Trial:
    columns = tall_columns(shape)
    copies = count_semistandard(shape.tail, arch.vocab - 1) if shape.level else 1
    tallest = max((len(column) for column in columns), default=1)
    flags = np.random.default_rng([arch.vocab, *shape.tail.parts]).standard_normal((copies, arch.vocab, tallest - 1))
    return _Trial(arch, columns, flags, max(0, DEGREE - shape.level))


def _orthonormal(trial: _Trial, at: Points) -> np.ndarray:
    """Combinations of the trial functions, as columns, whose mean products are those of an orthonormal system."""
    values = trial(at.x)
    scale = np.sqrt(at.weights @ values**2)
    scale = np.where(scale > 0, scale, 1.0)
    values = values / scale
    squares, vectors = np.linalg.eigh((values.T * at.weights) @ values)
    kept = squares > _DEPENDENT * squares.max()
    return vectors[:, kept] / np.sqrt(squares[kept]) / scale[:, None]
