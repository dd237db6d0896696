r"""Gaussian process regression, exact: by the Gram of the samples, or by explicit features where they are fewer.

With labels $y$, a Gram $K$ and a ridge $\delta$, which is the variance of label noise, the posterior of the network's output at new
sequences has

$$ \text{mean } k_* (K + \delta)^{-1} y , \qquad \text{variance } k_{**} - k_* (K + \delta)^{-1} k_*^T , $$

and the labels have the likelihood $N(0, K + \delta)$, one factor for each output. When $K = \Phi \Phi^T$ with features $\Phi$ of
size $N \times P$, the same numbers come from the smaller matrix $A = \Phi^T \Phi + \delta$:

$$ \text{mean } \varphi_* A^{-1} \Phi^T y , \qquad \text{variance } \delta\, \varphi_* A^{-1} \varphi_*^T , \qquad
   \det(K + \delta) = \delta^{N - P} \det A . $$

The ridge is absolute here, in the units of the kernel.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, get_lapack_funcs, solve_triangular

from specht.checks import not_negative
from specht.errors import InputError
from specht.learning.checks import labels, square_gram, table, vector

_potrf, _trtri = get_lapack_funcs(("potrf", "trtri"), dtype=np.float64)  # say where they stop, and work in place

_ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""A pivot below this times the size of the matrix and its largest diagonal entry is rounding, whatever its sign."""
_VARIANCE_ROUNDING = 1e-6
"""Share of the prior variance by which rounding may push a posterior variance below zero."""
_BLOCK = 1024
"""Rows of new sequences that are solved for together."""


@dataclasses.dataclass(frozen=True, eq=False)
class Regression:
    """The posterior given samples, by their Gram: made by `regress`."""

    factor: np.ndarray
    """Lower triangular Cholesky factor (N, N) of K + ridge; what is above the diagonal means nothing."""
    y: np.ndarray
    """Labels (N, K)."""
    ridge: float

    @functools.cached_property
    def weights(self) -> np.ndarray:
        """(K + ridge)^-1 y, shape (N, K)."""
        return cho_solve((self.factor, True), self.y, check_finite=False)

    def mean(self, cross: Any) -> np.ndarray:
        """Posterior mean (M, K) at new sequences, from their kernel with the samples (M, N)."""
        return table("cross", cross, columns=len(self.y)) @ self.weights

    def variance(self, cross: Any, prior: Any) -> np.ndarray:
        """Posterior variance (M,) of the output without label noise, from the kernel with the samples (M, N) and k(x, x) itself (M,)."""
        cross = table("cross", cross, columns=len(self.y))
        prior = vector("prior", prior, len(cross))
        variance = prior - _squared_lengths(self.factor, cross)
        worst = int(np.argmin(variance)) if len(variance) else 0
        if len(variance) and variance[worst] < -_VARIANCE_ROUNDING * np.abs(prior).max():
            raise InputError(
                f"The posterior variance of row {worst} would be {variance[worst]:.1e} with a prior variance of {prior[worst]:.1e}: "
                "give cross and prior of the same kernel as the Gram, or a larger ridge if that is close to singular."
            )
        return np.maximum(variance, 0.0)

    def covariance(self, cross: Any, prior: Any) -> np.ndarray:
        """Posterior covariance (M, M) of the output at new sequences, from their kernel with the samples (M, N) and each other (M, M)."""
        cross = table("cross", cross, columns=len(self.y))
        prior = table("prior", prior, rows=len(cross), columns=len(cross))
        explained = solve_triangular(self.factor, cross.T, lower=True, check_finite=False)
        return prior - explained.T @ explained

    @property
    def log_marginal_likelihood(self) -> float:
        """log N(y; 0, K + ridge), summed over outputs."""
        log_determinant = 2.0 * float(np.log(self.factor.diagonal()).sum())
        return _log_likelihood(float(np.vdot(self.y, self.weights)), log_determinant, self.y.shape)

    @property
    def train_residual(self) -> np.ndarray:
        """Labels minus posterior mean at the samples (N, K), which is the ridge times the weights."""
        return self.ridge * self.weights

    def leave_one_out(self) -> np.ndarray:
        """Posterior mean (N, K) at each sample given all others, y - w / diag((K + ridge)^-1), without solving anew."""
        inverse, _ = _trtri(self.factor, lower=1)
        precision = np.array([column[row:] @ column[row:] for row, column in enumerate(inverse.T)])
        return self.y - self.weights / precision[:, None]

    def leading(self, n: int) -> Regression:
        """The posterior given the first `n` samples alone: their factor is the leading block of this one."""
        return Regression(self.factor[:n, :n], self.y[:n], self.ridge)


@dataclasses.dataclass(frozen=True, eq=False)
class FeatureRegression:
    """The posterior given samples, by explicit features: made by `regress_features`."""

    factor: np.ndarray
    """Lower triangular Cholesky factor (P, P) of the features' own Gram plus ridge."""
    features: np.ndarray
    """Features of the samples (N, P)."""
    y: np.ndarray
    """Labels (N, K)."""
    ridge: float

    @functools.cached_property
    def coefficients(self) -> np.ndarray:
        """The mean is features @ coefficients, shape (P, K)."""
        return cho_solve((self.factor, True), self.features.T @ self.y, check_finite=False)

    def mean(self, features: Any) -> np.ndarray:
        """Posterior mean (M, K) at new sequences, from their features (M, P)."""
        return table("features", features, columns=len(self.factor)) @ self.coefficients

    def variance(self, features: Any) -> np.ndarray:
        """Posterior variance (M,) of the output without label noise."""
        return self.ridge * _squared_lengths(self.factor, table("features", features, columns=len(self.factor)))

    def covariance(self, features: Any) -> np.ndarray:
        """Posterior covariance (M, M) of the output at new sequences, from their features (M, P)."""
        features = table("features", features, columns=len(self.factor))
        half = solve_triangular(self.factor, features.T, lower=True, check_finite=False)
        return self.ridge * (half.T @ half)

    @property
    def log_marginal_likelihood(self) -> float:
        """log N(y; 0, K + ridge), summed over outputs."""
        if self.ridge == 0.0:
            raise InputError("At ridge 0 labels have no likelihood given features that are fewer than samples: give a positive ridge.")
        n, p = self.features.shape
        log_determinant = 2.0 * float(np.log(self.factor.diagonal()).sum()) + (n - p) * math.log(self.ridge)
        return _log_likelihood(float(np.vdot(self.y, self.train_residual)) / self.ridge, log_determinant, self.y.shape)

    @functools.cached_property
    def train_residual(self) -> np.ndarray:
        """Labels minus posterior mean at the samples (N, K)."""
        return self.y - self.features @ self.coefficients

    def leave_one_out(self) -> np.ndarray:
        """Posterior mean (N, K) at each sample given all others, from the leverage of each."""
        own = 1.0 - _squared_lengths(self.factor, self.features)  # what a sample's own label does not determine of the fit there
        if own.min() <= _ROUNDING * len(self.features):
            raise InputError(
                f"Sample {int(np.argmin(own))} alone determines one of the features, so the others say nothing about it: raise the ridge."
            )
        return self.y - self.train_residual / own[:, None]


def regress(gram: Any, y: Any, ridge: float, *, overwrite: bool = False) -> Regression:
    """The exact posterior given N samples, by Cholesky in float64.

    Arguments:
        gram: kernel (N, N) of the samples with themselves.
        y: labels (N,) or (N, K).
        ridge: variance of label noise, in the units of the kernel; zero where the Gram is positive definite by itself.
        overwrite: factorise in the memory of `gram`, which is then lost.

    >>> fit = regress([[2.0, 1.0], [1.0, 2.0]], [1.0, 0.0], ridge=1.0)
    >>> fit.mean([[2.0, 1.0]]).round(3), fit.variance([[2.0, 1.0]], [2.0]).round(3)
    (array([[0.625]]), array([0.625]))
    >>> round(fit.log_marginal_likelihood, 4)
    -3.0651
    """
    ridge = not_negative("ridge", ridge)
    matrix = square_gram(gram)
    y = labels(y, len(matrix))
    if not overwrite or not matrix.flags.writeable or not (matrix.flags.c_contiguous or matrix.flags.f_contiguous):
        matrix = matrix.copy()
    return Regression(_factorise(matrix, ridge, "The Gram", "leave out samples that repeat"), y, ridge)


def regress_features(features: Any, y: Any, ridge: float) -> FeatureRegression:
    """The exact posterior from explicit features (N, P), the same as that of their Gram at cost N P^2.

    >>> fit = regress_features([[1.0], [1.0], [0.0]], [1.0, 2.0, 3.0], ridge=1.0)
    >>> fit.mean([[1.0], [2.0]]).ravel(), fit.variance([[1.0]])
    (array([1., 2.]), array([0.33333333]))
    """
    ridge = not_negative("ridge", ridge)
    features = table("features", features)
    if features.size == 0:
        raise InputError(f"features must have a row a sample and a column a feature, got an array of shape {features.shape}.")
    y = labels(y, len(features))
    cure = "use `regress` with features @ features.T where samples are fewer than features"
    return FeatureRegression(_factorise(features.T @ features, ridge, "The second moment of the features", cure), features, y, ridge)


def _factorise(matrix: np.ndarray, ridge: float, what: str, cure: str) -> np.ndarray:
    """Lower Cholesky factor of a contiguous symmetric matrix plus ridge, in the memory of the matrix."""
    n = len(matrix)
    matrix.reshape(-1, order="A")[:: n + 1] += ridge
    largest = float(matrix.diagonal().max())
    # LAPACK reads columns first, and a symmetric matrix is its own transpose: no copy is made.
    factor, stopped = _potrf(matrix if matrix.flags.f_contiguous else matrix.T, lower=1, clean=0, overwrite_a=1)
    pivots = factor.diagonal() ** 2 if stopped == 0 else factor.diagonal()[stopped - 1 : stopped]
    row = int(np.argmin(pivots))
    if stopped or pivots[row] <= _ROUNDING * n * largest:
        if pivots[row] < -1e-8 * abs(largest):
            cure = "no kernel has such a Gram, so check where it came from"
        else:
            cure = f"raise the ridge, for example to {1e-8 * (largest or 1.0):.0e}, or {cure}"
        raise InputError(
            f"{what} of size {n} is not positive definite at ridge {ridge:g}, to rounding: row {stopped - 1 if stopped else row} has pivot "
            f"{pivots[row]:.1e}, and the diagonal goes up to {largest:.1e}: {cure}."
        )
    return factor


def _squared_lengths(factor: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Squared length of F^-1 r for every row r (M,), where F is a lower triangular factor."""
    lengths = np.empty(len(rows))
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].T
        lengths[start : start + _BLOCK] = np.square(solve_triangular(factor, block, lower=True, check_finite=False)).sum(axis=0)
    return lengths


def _log_likelihood(quadratic: float, log_determinant: float, shape: tuple[int, ...]) -> float:
    n, outputs = shape
    return -0.5 * (quadratic + outputs * (log_determinant + n * math.log(2.0 * math.pi)))
