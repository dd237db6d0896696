r"""Gaussian process regression with more samples than a Gram of them has room in memory, by conjugate gradients.

Only products of the Gram with vectors are needed, and these are made from blocks of its rows, which are computed anew in every iteration:

    product = product_of_tiles(lambda: kernel.tiles(x, rows=512), len(x))
    fit = regress_iteratively(product, y, ridge)
    mean = product_of_tiles(lambda: kernel.tiles(x_test, x, rows=512), len(x_test))(fit.weights)

The error of the weights falls by a factor $(\sqrt c - 1) / (\sqrt c + 1)$ an iteration at least, where $c$ is the largest eigenvalue of
$K + \delta$ over its smallest, and faster when few eigenvalues are large. Those can be taken out: given features with
$\Phi \Phi^T \approx K$ in these directions, the preconditioner

$$ (\Phi \Phi^T + \delta)^{-1} = \tfrac1\delta \big[1 - \Phi (\Phi^T \Phi + \delta)^{-1} \Phi^T \big] $$

costs $N P$ operations, and what counts is then the spectrum of $K - \Phi \Phi^T$. All outputs share one product an iteration.
Variances and likelihoods by the same products: `specht.learning.gp.matrix_free`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, eigh
from scipy.sparse.linalg import LinearOperator, cg

from specht.checks import not_negative, whole_number
from specht.errors import InputError
from specht.learning.checks import labels, square_gram, table
from specht.learning.gp.regression import regress_features
from specht.progress import Progress, report

Product = Callable[[np.ndarray], np.ndarray]
"""The Gram times vectors (N, K)."""
Tiles = Callable[[], Iterable[tuple[slice, np.ndarray]]]
"""Gives the blocks of rows of a matrix, each time it is called anew."""

_NULL = 1e-12
"""Share of the largest eigenvalue below which a direction of the landmarks is left out."""
_MARGIN = 0.5
"""Share of the tolerance at which to stop: the residual that the method tracks and the true one drift apart by rounding."""


@dataclasses.dataclass(frozen=True, eq=False)
class Convergence:
    """How far conjugate gradients came."""

    iterations: int
    relative_residual: float
    """|y - (K + ridge) w| / |y|, recomputed at the end from the weights, of the worst output."""
    converged: bool
    tolerance: float
    history: np.ndarray
    """Relative residual before each iteration as the method tracks it, all outputs together."""

    def __str__(self) -> str:
        verb = "reached" if self.converged else "stopped at"
        return f"{self.iterations} iterations {verb} a relative residual of {self.relative_residual:.1e} (asked: {self.tolerance:.0e})"


class ConvergenceError(InputError):
    """Conjugate gradients that stopped before the tolerance; `convergence` tells how far they came."""

    def __init__(self, convergence: Convergence) -> None:
        super().__init__(
            f"Conjugate gradients did not converge: {convergence}; allow more iterations, raise the ridge or the tolerance, "
            "or give features of the large eigenvalues with low_rank."
        )
        self.convergence = convergence


@dataclasses.dataclass(frozen=True, eq=False)
class IterativeRegression:
    """The posterior mean given samples, and how well it is solved for."""

    weights: np.ndarray
    """(K + ridge)^-1 y, shape (N, K), to the tolerance."""
    ridge: float
    convergence: Convergence
    residual: np.ndarray
    """y - (K + ridge) weights, shape (N, K), recomputed at the end."""

    def mean(self, cross: Any) -> np.ndarray:
        """Posterior mean (M, K) at new sequences, from their kernel with the samples (M, N)."""
        return table("cross", cross, columns=len(self.weights)) @ self.weights

    @property
    def train_residual(self) -> np.ndarray:
        """Labels minus posterior mean at the samples (N, K)."""
        return self.ridge * self.weights


def product_of_tiles(tiles: Tiles, rows: int) -> Product:
    """The product of a matrix with vectors, from the blocks of its rows.

    >>> halves = lambda: [(slice(0, 1), np.array([[2.0, 1.0]])), (slice(1, 2), np.array([[1.0, 2.0]]))]
    >>> product_of_tiles(halves, 2)(np.array([[1.0], [0.0]])).ravel()
    array([2., 1.])
    """

    def product(vectors: np.ndarray) -> np.ndarray:
        result = np.full((rows, vectors.shape[1]), np.nan)
        for at, block in tiles():
            result[at] = block @ vectors
        return result

    return product


def nystrom_features(gram: Any, cross: Any) -> np.ndarray:
    r"""Features (N, P) with $\Phi \Phi^T = K_{nm} K_{mm}^{-1} K_{mn}$, the best that landmarks can say about the Gram.

    Arguments:
        gram: kernel (P, P) of the landmarks with themselves, for example of the first samples, which are as random as any.
        cross: kernel (N, P) of the samples with the landmarks.

    Directions in which the landmarks do not differ are left out, so there may be fewer features than landmarks.
    """
    gram = square_gram(gram)
    cross = table("cross", cross, columns=len(gram))
    eigenvalues, vectors = eigh(gram, check_finite=False)
    kept = eigenvalues > _NULL * eigenvalues[-1]
    return cross @ (vectors[:, kept] / np.sqrt(eigenvalues[kept]))


def regress_iteratively(
    product: Product,
    y: Any,
    ridge: float,
    *,
    low_rank: Any = None,
    tolerance: float = 1e-8,
    max_iterations: int = 1000,
    strict: bool = True,
    progress: Progress | None = None,
) -> IterativeRegression:
    """The posterior mean given N samples, from products of their Gram with vectors.

    Arguments:
        product: maps vectors (N, K) to the Gram times them, for example from `product_of_tiles`.
        y: labels (N,) or (N, K).
        ridge: variance of label noise, in the units of the kernel.
        low_rank: features (N, P) whose Gram is close to that of the samples: a preconditioner, for example from `nystrom_features`.
            They change how fast the answer comes, not the answer.
        tolerance: relative residual of each output at which to stop.
        strict: raise a `ConvergenceError` where the tolerance is not reached; otherwise look at `convergence.converged`.
        progress: called as progress(iteration, max_iterations).

    >>> gram = np.diag([1.0, 2.0, 3.0])
    >>> fit = regress_iteratively(lambda v: gram @ v, [2.0, 3.0, 4.0], ridge=1.0)
    >>> fit.weights.ravel().round(6), str(fit.convergence)[:12]
    (array([1., 1., 1.]), '3 iterations')
    """
    y = labels(y)
    ridge, max_iterations = not_negative("ridge", ridge), whole_number("max_iterations", max_iterations, 1)
    if not isinstance(tolerance, float) or not 0.0 < tolerance < 1.0:
        raise InputError(f"tolerance must be a number between 0 and 1, got {tolerance!r}.")
    n, outputs = y.shape
    norms = np.linalg.norm(y, axis=0)
    scaled = y / np.where(norms > 0.0, norms, 1.0)  # so that a small output is solved for as well as a large one

    def regularised(flat: np.ndarray) -> np.ndarray:
        vectors = flat.reshape(n, outputs)
        if not np.isfinite(vectors).all():
            raise InputError("Conjugate gradients broke down, because the Gram plus ridge is not positive definite: raise the ridge.")
        result = np.asarray(product(vectors))
        if result.shape != vectors.shape:
            raise InputError(f"product turned vectors of shape {vectors.shape} into shape {result.shape}: the Gram is of {n} samples.")
        if not np.isfinite(result).all():
            raise InputError("product gave numbers that are not finite: give a finite Gram, and tiles that cover all of its rows.")
        return (result + ridge * vectors).ravel()

    history: list[float] = []
    precondition = _preconditioner(low_rank, ridge, n)

    def watched(flat: np.ndarray) -> np.ndarray:
        history.append(float(np.linalg.norm(flat)))  # called once an iteration, with the residual, which no callback is told
        report(progress, len(history), max_iterations)
        return precondition(flat.reshape(n, outputs)).ravel()

    # All outputs as one system: the same iterations serve each of them, with one product.
    matrix, preconditioner = (LinearOperator((y.size, y.size), function, dtype=y.dtype) for function in (regularised, watched))  # type: ignore[call-overload]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # a breakdown is told in words
        solution, _ = cg(matrix, scaled.ravel(), rtol=0.0, atol=_MARGIN * tolerance, maxiter=max_iterations, M=preconditioner)
    residual = scaled - regularised(solution).reshape(n, outputs)
    worst = float(np.linalg.norm(residual, axis=0).max())
    start = max(float(np.linalg.norm(scaled)), np.finfo(float).tiny)
    convergence = Convergence(len(history), worst, worst <= tolerance, tolerance, np.array(history) / start)
    if strict and not convergence.converged:
        raise ConvergenceError(convergence)
    return IterativeRegression(solution.reshape(n, outputs) * norms, ridge, convergence, residual * norms)


def _preconditioner(low_rank: Any, ridge: float, n: int) -> Product:
    if low_rank is None:
        return lambda vectors: vectors
    features = table("low_rank", low_rank, rows=n)
    if ridge == 0.0:
        raise InputError("low_rank needs a positive ridge, got ridge 0: leave it out, or raise the ridge.")
    factor = regress_features(features, np.zeros(n), ridge).factor

    def apply(vectors: np.ndarray) -> np.ndarray:
        return (vectors - features @ cho_solve((factor, True), features.T @ vectors, check_finite=False)) / ridge

    return apply
