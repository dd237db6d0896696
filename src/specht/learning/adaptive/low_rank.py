r"""The free energy of `equivalent` for an operator that is diagonal plus low rank: one block with a readout column and many tokens.

There $T_{st} = a_0 + a_s \delta_{st}$ (`operators`). So M is $a_0 N$ plus a block $a_s N_{ss}$ at each setting s of the readout token, with
$N = B B^T$, and $B_{if} = \Phi_{if} \sqrt{\omega_f}$ has few columns. In the eigenvectors of the blocks, with their eigenvalues $d_i$,

$$ M + \kappa = \mathrm{diag}(d + \kappa) + a_0 B B^T , \qquad R = E - G\, C\, G^T , \qquad
   E = \mathrm{diag}(d + \kappa)^{-1} , \quad G = E B , \quad C = a_0 S^{-1} , \quad S = 1 + a_0 B^T G , $$

by Woodbury's identity, and $\log\det(1 + M/\kappa) = \sum_i \ln(1 + d_i/\kappa) + \log\det S$. With m rows, n of them at each setting,
and r columns this costs $m n^2 + m r^2$ and not $m^3$. The gradient needs the diagonals of $B^T D B$ and of its part at each setting, for
D = R, $R^2$ and $R t t^T R$. With $P_s = B_s^T G_s$ and $Q_s = G_s^T G_s$ they are those of

$$ B_s^T R\, B_s = P_s - P_s C P_s , \qquad B_s^T R^2 B_s = Q_s - Q_s C P_s - P_s C Q_s + P_s C Q C P_s , \qquad
   B^T R\, B = P S^{-1} , \quad B^T R^2 B = S^{-1} Q\, S^{-1} , $$

where $P = \sum_s P_s$ and $Q = \sum_s Q_s$. The rest is as in `equivalent`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from specht.learning.adaptive.equivalent import Count, Labels, PredictedLosses, assemble, assemble_losses, fit_and_square, solve_kappa
from specht.learning.adaptive.linear_kernel import Matrix


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


def energy(operators: Sequence[LowRank], labels: Labels, start: float = math.inf) -> tuple[float, np.ndarray, float]:
    """Free energy without the cost of moving variances, its gradient in their logarithms, and kappa, which is looked for from a start."""
    kappa, count = _resolve(operators, labels, start)
    log_determinant = sum(operator.degeneracy * operator.log_determinant() for operator in operators)
    solved = [operator.solve() for operator in operators]
    fit, square = fit_and_square([operator.target for operator in operators], solved)
    value, second = assemble(labels, kappa, log_determinant, count.change, fit, square)
    gradient = np.zeros(operators[0].matrix.weights.powers.shape[1])
    for operator, solution in zip(operators, solved, strict=True):
        gradient += operator.pull(operator.degeneracy * labels.outputs, operator.degeneracy * second, solution / math.sqrt(labels.unit))
    return value, gradient, kappa


def losses(operators: Sequence[LowRank], labels: Labels) -> PredictedLosses:
    """Test and train loss by theory."""
    kappa, count = _resolve(operators, labels, math.inf)
    solved = [operator.solve() for operator in operators]
    targets = [operator.target for operator in operators]
    total, _ = fit_and_square(targets, targets)
    fit, square = fit_and_square(targets, solved)
    return assemble_losses(labels, kappa, count, total, fit, square)


def _resolve(operators: Sequence[LowRank], labels: Labels, start: float) -> tuple[float, Count]:
    """kappa and the count there, which leave the operators resolved."""

    def count(kappa: float) -> Count:
        counts = [operator.count(kappa) for operator in operators]
        numbers = [operator.degeneracy for operator in operators]
        return Count(*(sum(number * operator[place] for number, operator in zip(numbers, counts, strict=True)) for place in range(2)))

    trace = sum(operator.degeneracy * operator.trace for operator in operators)
    return solve_kappa(count, trace, labels.n_train, labels.ridge, start)
