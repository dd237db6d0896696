r"""The free energy of a kernel over data of which only the number N is known, and its gradient.

A kernel with eigenvalues $\lambda_i$ of degeneracy $d_i$, in which the target has mean squares $w_i$ (and $w_\perp$ in none of them),
fits N labels with noise $\sigma^2$ at ridge $\delta$. With $\kappa$ of `specht.learning.curves`, averages over data sets are

$$ E \log\det(K + \delta) = \sum_i d_i \ln(1 + \lambda_i/\kappa) + N \ln(N\kappa) + \delta/\kappa - N , \qquad
   E\, y^T (K + \delta)^{-1} y = \sum_i \frac{w_i}{\lambda_i + \kappa} + \frac{w_\perp + \sigma^2}{\kappa} , $$

and the energy is half of both, the first once for each of K outputs: minus the log evidence without its $2\pi$. Both are written with
resolvents $R = (M + \kappa)^{-1}$ of matrices M of the kernel's operator in orthonormal functions, which need no eigenvectors. The first
is stationary in $\kappa$; the second moves with it. So with target coefficients t,

$$ \frac{\partial}{\partial M} = \tfrac12 \big[ K R - R\, t t^T R \big] - \tfrac12\, q'\, \frac{\kappa R^2}{D} , \qquad
   q' = t^T R^2 t + \frac{w_\perp + \sigma^2}{\kappa^2} , \qquad D = \operatorname{tr} M R^2 + \frac{\delta}{\kappa^2} , $$

where $\kappa R^2 / D$ is the derivative of $\kappa$ itself. The losses are those of `specht.learning.curves`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs

_FACTOR, _INVERT = get_lapack_funcs(("potrf", "potri"), dtype=np.float64)
_ROUNDS = 100
"""Most steps of the search for kappa; Newton's method takes about six."""
_PRECISION = 1e-14
"""Precision of ln(kappa)."""


class Sector(NamedTuple):
    """The operator on functions that one irrep of the stabiliser holds."""

    matrix: np.ndarray
    """M in orthonormal functions (m, m), in units of E[k]."""
    target: np.ndarray
    """Coefficients of the target (m, K); no column where it has none here."""
    degeneracy: float
    """How often the same matrix occurs."""


class Labels(NamedTuple):
    """What the energy knows of the labels."""

    n_train: float
    ridge: float
    """In units of E[k]."""
    unseen: float
    """Mean square of the target that no function of the kernel has, w_perp, summed over outputs."""
    noise: float
    """Variance of the labels around the target, summed over outputs."""
    outputs: int
    unit: float = 1.0
    """Mean square of an output of random networks in the units of the target: how large labels are decides how far variances move, while
    losses at given variances are in proportion."""


class PredictedLosses(NamedTuple):
    """What is predicted."""

    test: float
    train: float
    learned: float
    """Mean of target times mean prediction: sum of L_i w_i."""
    kappa: float


def find_kappa(eigenvalues: np.ndarray, degeneracies: np.ndarray, n_train: float, ridge: float) -> float:
    r"""The root of $N = \sum_i d_i \lambda_i / (\lambda_i + \kappa) + \delta / \kappa$ for a positive ridge.

    >>> round(find_kappa(np.array([1.0]), np.array([4.0]), 4.0, 1.0), 6)
    0.640388
    """

    def count(kappa: float) -> Count:
        share = eigenvalues / (eigenvalues + kappa)
        learnt = degeneracies * share
        return Count(float(learnt.sum()), float(learnt @ (1.0 - share)))

    return solve_kappa(count, float(degeneracies @ eigenvalues), n_train, ridge)[0]


class Count(NamedTuple):
    """What all eigenvalues add up to at a kappa, each as often as it occurs."""

    learnt: float
    """Sum of lambda / (lambda + kappa)."""
    change: float
    """Sum of lambda kappa / (lambda + kappa)^2, by which it falls with ln(kappa)."""


def solve_kappa(
    count: Callable[[float], Count], trace: float, n_train: float, ridge: float, start: float = math.inf
) -> tuple[float, Count]:
    """kappa, and the count there, from the count at any kappa and the sum of all eigenvalues; `start` is where it may be."""
    low, high = math.log(ridge / n_train), math.log((ridge + trace) / n_train)
    u = min(max(math.log(start), low), high)
    for _ in range(_ROUNDS):
        kappa = math.exp(u)
        counted, pull = count(kappa), ridge / kappa
        excess = counted.learnt + pull - n_train
        if excess > 0.0:
            low = u
        else:
            high = u
        moved = u + excess / (counted.change + pull)
        if not low <= moved <= high:
            moved = (low + high) / 2.0
        if abs(moved - u) < _PRECISION * max(1.0, abs(u)):
            return kappa, counted
        u = moved
    return math.exp(u), count(math.exp(u))


def assemble(labels: Labels, kappa: float, log_determinant: float, change: float, fit: float, square: float) -> tuple[float, float]:
    r"""The free energy from its parts, and the factor of $R^2$ in its derivative, once for every copy of a matrix.

    Arguments:
        log_determinant: sum of ln(1 + lambda / kappa).
        change: sum of lambda kappa / (lambda + kappa)^2.
        fit: t^T R t.
        square: t^T R^2 t.
    """
    n, ridge, constant = labels.n_train, labels.ridge, labels.unseen + labels.noise
    bulk = log_determinant + n * math.log(n * kappa) + ridge / kappa - n
    stiffness = change / kappa + ridge / kappa**2
    value = 0.5 * (labels.outputs * bulk + (fit + constant / kappa) / labels.unit)
    return value, (square + constant / kappa**2) / labels.unit * kappa / stiffness


def assemble_losses(labels: Labels, kappa: float, count: Count, total: float, fit: float, square: float) -> PredictedLosses:
    """Losses from their parts: as above, and the square of t."""
    n = labels.n_train
    overfitting = n / (n - (count.learnt - count.change))
    missed = overfitting * (kappa**2 * square + labels.unseen + labels.noise)
    return PredictedLosses(missed - labels.noise, (labels.ridge / (n * kappa)) ** 2 * missed, total - kappa * fit, kappa)


def fit_and_square(targets: Sequence[np.ndarray], solved: Sequence[np.ndarray]) -> tuple[float, float]:
    """t^T R t and t^T R^2 t of all sectors, from t and R t of each."""
    fit = sum(float(np.vdot(target, solution)) for target, solution in zip(targets, solved, strict=True))
    return fit, sum(float(np.vdot(solution, solution)) for solution in solved)


def energy(sectors: Sequence[Sector], labels: Labels) -> tuple[float, list[np.ndarray]]:
    """Free energy without the cost of moving variances, and its derivative in the matrix of every sector."""
    values, numbers = _spectrum(sectors)
    kappa = find_kappa(values, numbers, labels.n_train, labels.ridge)
    inverses = [resolvent(sector.matrix, kappa) for sector in sectors]
    solved = [inverse @ sector.target for inverse, sector in zip(inverses, sectors, strict=True)]
    fit, square = fit_and_square([sector.target for sector in sectors], solved)
    change = kappa * float(numbers @ (values / (values + kappa) ** 2))
    value, second = assemble(labels, kappa, float(numbers @ np.log1p(values / kappa)), change, fit, square)
    derivatives = []
    for sector, inverse, solution in zip(sectors, inverses, solved, strict=True):
        of_determinant = labels.outputs * inverse - second * (inverse @ inverse)
        derivatives.append(0.5 * (sector.degeneracy * of_determinant - solution @ solution.T / labels.unit))
    return value, derivatives


def losses(sectors: Sequence[Sector], labels: Labels) -> PredictedLosses:
    """Test and train loss by theory."""
    values, numbers = _spectrum(sectors)
    kappa = find_kappa(values, numbers, labels.n_train, labels.ridge)
    share = values / (values + kappa)
    targets = [sector.target for sector in sectors if sector.target.shape[1]]
    solved = [resolvent(sector.matrix, kappa) @ sector.target for sector in sectors if sector.target.shape[1]]
    total, _ = fit_and_square(targets, targets)
    fit, square = fit_and_square(targets, solved)
    return assemble_losses(labels, kappa, Count(float(numbers @ share), float(numbers @ (share * (1.0 - share)))), total, fit, square)


def _spectrum(sectors: Sequence[Sector]) -> tuple[np.ndarray, np.ndarray]:
    """All eigenvalues, those below zero by rounding cut off, and how often each occurs."""
    values = [np.maximum(np.linalg.eigvalsh(sector.matrix), 0.0) for sector in sectors]
    numbers = [np.full(len(eigenvalues), sector.degeneracy) for eigenvalues, sector in zip(values, sectors, strict=True)]
    return np.concatenate(values), np.concatenate(numbers)


def resolvent(matrix: np.ndarray, kappa: float) -> np.ndarray:
    """(M + kappa)^-1 by Cholesky."""
    shifted = matrix.copy()
    shifted.flat[:: len(matrix) + 1] += kappa
    factor, failed = _FACTOR(shifted, lower=1, overwrite_a=1)
    if not failed:
        inverse, failed = _INVERT(factor, lower=1, overwrite_c=1)
    if failed:
        return np.linalg.inv(matrix + kappa * np.eye(len(matrix)))  # positive only to rounding
    whole = inverse + inverse.T  # the upper triangle is zero
    whole.flat[:: len(matrix) + 1] *= 0.5
    return whole
