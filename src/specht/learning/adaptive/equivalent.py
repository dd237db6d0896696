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

The operator of one block with a readout column and many tokens is diagonal plus low rank, which is cheaper (`LowRank`). There
$T_{st} = a_0 + a_s \delta_{st}$ (`linear_kernel`). So M is $a_0 N$ plus a block $a_s N_{ss}$ at each setting s of the readout token, with
$N = B B^T$, and $B_{if} = \Phi_{if} \sqrt{\omega_f}$ has few columns. In the eigenvectors of the blocks, with their eigenvalues $d_i$,

$$ M + \kappa = \mathrm{diag}(d + \kappa) + a_0 B B^T , \qquad R = E - G\, C\, G^T , \qquad
   E = \mathrm{diag}(d + \kappa)^{-1} , \quad G = E B , \quad C = a_0 S^{-1} , \quad S = 1 + a_0 B^T G , $$

by Woodbury's identity, and $\log\det(1 + M/\kappa) = \sum_i \ln(1 + d_i/\kappa) + \log\det S$. With m rows, n of them at each setting,
and r columns this costs $m n^2 + m r^2$ and not $m^3$. The gradient needs the diagonals of $B^T D B$ and of its part at each setting, for
D = R, $R^2$ and $R t t^T R$. With $P_s = B_s^T G_s$ and $Q_s = G_s^T G_s$ they are those of

$$ B_s^T R\, B_s = P_s - P_s C P_s , \qquad B_s^T R^2 B_s = Q_s - Q_s C P_s - P_s C Q_s + P_s C Q C P_s , \qquad
   B^T R\, B = P S^{-1} , \quad B^T R^2 B = S^{-1} Q\, S^{-1} , $$

where $P = \sum_s P_s$ and $Q = \sum_s Q_s$.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs

from specht.learning.adaptive.linear_kernel import Matrix

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


def is_low_rank(matrix: Matrix) -> bool:
    """Whether an operator has this form, with settings that have equally many rows."""
    sizes = np.bincount(matrix.settings, minlength=matrix.values.shape[1])
    whole, single = matrix.values[0], matrix.values[1:]
    return len(sizes) > 1 and bool((sizes == sizes[0]).all() and (whole == 1.0).all() and np.array_equal(single, np.eye(len(sizes))))


class LowRank:
    """An operator at given variances."""

    def __init__(self, matrix: Matrix, logarithms: np.ndarray, target: np.ndarray) -> None:
        self.matrix, self.degeneracy = matrix, matrix.degeneracy
        self.whole, *single = self.multipliers = matrix.multipliers.at(logarithms)
        self.single, self.weights = np.array(single), matrix.weights.at(logarithms)
        settings, columns = len(self.single), matrix.functions.shape[1]
        b = (matrix.functions * np.sqrt(self.weights)).reshape(settings, -1, columns)
        inside, vectors = np.linalg.eigh(b @ b.transpose(0, 2, 1))
        turned = vectors.transpose(0, 2, 1)
        self.diagonal = (self.single[:, None] * np.maximum(inside, 0.0)).ravel()
        self.b = (turned @ b).reshape(-1, columns)
        self.target = (turned @ target.reshape(settings, b.shape[1], -1)).reshape(len(target), -1)
        self.trace = float(self.diagonal.sum() + self.whole * np.vdot(b, b))

    def resolve(self, kappa: float) -> None:
        """E, G, S and C at kappa."""
        self.kappa, self.e = kappa, 1.0 / (self.diagonal + kappa)
        self.g = self.e[:, None] * self.b
        self.s = self.whole * (self.b.T @ self.g)
        self.s.flat[:: len(self.s) + 1] += 1.0
        self.inverse = np.linalg.inv(self.s)
        self.c = self.whole * self.inverse
        self.q = self.g.T @ self.g

    def count(self, kappa: float) -> Count:
        """Sum of lambda / (lambda + kappa), and of lambda kappa / (lambda + kappa)^2."""
        self.resolve(kappa)
        cq = self.c @ self.q
        low = kappa * float(np.trace(cq))
        twice = float(np.vdot(self.c, self.g.T @ (self.e[:, None] * self.g)))
        learnt = float(self.diagonal @ self.e) + low
        change = kappa * float(self.diagonal @ self.e**2) - low + kappa**2 * (2.0 * twice - float(np.vdot(cq, cq.T)))
        return Count(learnt, change)

    def log_determinant(self) -> float:
        """Sum of ln(1 + lambda / kappa)."""
        return float(np.log1p(self.diagonal / self.kappa).sum()) + float(np.linalg.slogdet(self.s)[1])

    def solve(self) -> np.ndarray:
        """R t."""
        return self.e[:, None] * self.target - self.g @ (self.c @ (self.g.T @ self.target))

    def pull(self, first: float, second: float, solved: np.ndarray) -> np.ndarray:
        """Gradient in the logarithms of variances for the derivative (first R - second R^2 - solved solved^T) / 2 in M."""
        settings, columns = len(self.single), self.b.shape[1]
        b, g = (columns_of.reshape(settings, -1, columns) for columns_of in (self.b, self.g))
        p, q = b.transpose(0, 2, 1) @ g, g.transpose(0, 2, 1) @ g
        cp = self.c @ p
        once = np.einsum("sff->sf", p) - np.einsum("sgf,sgf->sf", p, cp)
        twice = np.einsum("sff->sf", q) + np.einsum("sgf,sgf->sf", cp, self.q @ cp - 2.0 * q)
        fitted = b.transpose(0, 2, 1) @ solved.reshape(settings, b.shape[1], -1)
        at_settings = 0.5 * (first * once - second * twice - (fitted**2).sum(axis=-1))
        whole_once = np.einsum("fg,gf->f", p.sum(axis=0), self.inverse)
        whole_twice = np.einsum("gf,gf->f", self.inverse, self.q @ self.inverse)
        at_all = 0.5 * (first * whole_once - second * whole_twice - (fitted.sum(axis=0) ** 2).sum(axis=-1))
        of_weights = self.whole * at_all + self.single @ at_settings
        of_multipliers = self.multipliers * np.concatenate([[at_all.sum()], at_settings.sum(axis=1)])
        return of_weights @ self.matrix.weights.powers + of_multipliers @ self.matrix.multipliers.powers


def low_rank_energy(operators: Sequence[LowRank], labels: Labels, start: float = math.inf) -> tuple[float, np.ndarray, float]:
    """Free energy without the cost of moving variances, its gradient in their logarithms, and kappa, which is looked for from a start."""
    kappa, count = _resolve_low_rank(operators, labels, start)
    log_determinant = sum(operator.degeneracy * operator.log_determinant() for operator in operators)
    solved = [operator.solve() for operator in operators]
    fit, square = fit_and_square([operator.target for operator in operators], solved)
    value, second = assemble(labels, kappa, log_determinant, count.change, fit, square)
    gradient = np.zeros(operators[0].matrix.weights.powers.shape[1])
    for operator, solution in zip(operators, solved, strict=True):
        gradient += operator.pull(operator.degeneracy * labels.outputs, operator.degeneracy * second, solution / math.sqrt(labels.unit))
    return value, gradient, kappa


def low_rank_losses(operators: Sequence[LowRank], labels: Labels) -> PredictedLosses:
    """Test and train loss by theory."""
    kappa, count = _resolve_low_rank(operators, labels, math.inf)
    solved = [operator.solve() for operator in operators]
    targets = [operator.target for operator in operators]
    total, _ = fit_and_square(targets, targets)
    fit, square = fit_and_square(targets, solved)
    return assemble_losses(labels, kappa, count, total, fit, square)


def _resolve_low_rank(operators: Sequence[LowRank], labels: Labels, start: float) -> tuple[float, Count]:
    """kappa and the count there, which leave the operators resolved."""

    def count(kappa: float) -> Count:
        counts = [operator.count(kappa) for operator in operators]
        numbers = [operator.degeneracy for operator in operators]
        return Count(*(sum(number * operator[place] for number, operator in zip(numbers, counts, strict=True)) for place in range(2)))

    trace = sum(operator.degeneracy * operator.trace for operator in operators)
    return solve_kappa(count, trace, labels.n_train, labels.ridge, start)
