r"""Kernel ridge regression whose ridge is chosen by leaving out one row at a time, in closed form.

With $K = Q \Lambda Q^T$ and labels $y$, the weights are $\alpha = Q (\Lambda + \rho)^{-1} Q^T y$, and the prediction at row i without row i
misses its label by $\alpha_i / [Q (\Lambda + \rho)^{-1} Q^T]_{ii}$. So one eigendecomposition gives the error at every ridge.

Eigenvalues are right to about $\epsilon \lambda_1$, with $\epsilon = 2 \cdot 10^{-16}$ in float64, so weights are right to a share of
$\epsilon \lambda_1 / \rho$. The floor $\rho \ge 10^{-9} \lambda_1$ keeps that below a millionth, summed errors included.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal

import numpy as np
from scipy import linalg, optimize

FLOOR, CEILING = 1e-9, 1e3
"""Smallest and largest ridge in units of the largest eigenvalue; at the ceiling nothing is learnt."""
_LOOKS = 49
"""Ridges that are looked at, four a decade, before the best one is refined."""
_TOGETHER = 128
"""Columns, ridges times outputs, that are multiplied at a time: more would only take memory."""
_EDGE = 2.0
"""A ridge within this factor of a bound stopped there."""


@dataclasses.dataclass(frozen=True, eq=False)
class RidgeFit:
    """A kernel regression with the ridge that predicts best the rows that are left out."""

    ridge: float
    weights: np.ndarray
    """(n, outputs): predictions are the cross kernel (m, n) times these."""
    left_out_error: float
    """Mean squared error at rows left out, summed over outputs."""
    bound: Literal["floor", "ceiling"] | None
    """Where the ridge stopped; at the ceiling there was nothing to learn, and at the floor predictions deserve no trust."""

    @property
    def at_bound(self) -> bool:
        """Whether the ridge stopped at either end."""
        return self.bound is not None


class LeaveOneOut:
    """Errors at left out rows at any ridge.

    >>> left = LeaveOneOut(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [0.0]]))
    >>> left.residuals(1.0).round(4).tolist()  # without row 1, row 0 is predicted as 0; without row 0, row 1 as 1/3
    [[1.0], [-0.3333]]
    """

    def __init__(self, gram: np.ndarray, labels: np.ndarray) -> None:
        values, self.vectors = linalg.eigh(gram, driver="evd", check_finite=False)
        self.values = np.maximum(values, 0.0)
        self.squares = self.vectors**2
        self.rotated = self.vectors.T @ labels

    def weights(self, ridge: float) -> np.ndarray:
        """(K + ridge)^-1 labels."""
        return self.vectors @ (self.rotated / (self.values + ridge)[:, None])

    def residuals(self, ridge: float) -> np.ndarray:
        """Label minus prediction at each row (n, outputs), given all others."""
        return self.weights(ridge) / (self.squares @ (1.0 / (self.values + ridge)))[:, None]

    def error(self, ridge: float) -> float:
        """Mean over rows of the squared residuals, summed over outputs."""
        return float(np.sum(self.residuals(ridge) ** 2) / len(self.values))

    def errors(self, ridges: np.ndarray) -> np.ndarray:
        """The error at each ridge, in products of matrices, which take a fifth of the time of as many vectors."""
        n, outputs = self.rotated.shape
        errors = np.empty(len(ridges))
        step = max(1, _TOGETHER // outputs)
        for start in range(0, len(ridges), step):
            inverse = 1.0 / (self.values[:, None] + ridges[start : start + step])  # (n, ridges)
            weights = self.vectors @ (inverse[:, :, None] * self.rotated[:, None, :]).reshape(n, -1)
            residuals = weights.reshape(n, -1, outputs) / (self.squares @ inverse)[:, :, None]
            errors[start : start + step] = np.sum(residuals**2, axis=(0, 2)) / n
        return errors


def ridge_seconds(rows: int, outputs: int = 1) -> float:
    """About what `fit_ridge_by_leaving_out` takes on one ordinary core: the eigenvectors, and looking at every ridge."""
    return 0.14 * (rows / 1000) ** 3 + 3.3e-9 * rows**2 * (outputs + 1)


def fit_ridge_by_leaving_out(gram: np.ndarray, labels: np.ndarray) -> RidgeFit:
    """Regression of labels (n, outputs), without mean, by their Gram (n, n)."""
    left = LeaveOneOut(gram, labels)
    largest = max(float(left.values[-1]), np.finfo(float).tiny)
    low, high = math.log(FLOOR * largest), math.log(CEILING * largest)
    points = np.linspace(high, low, _LOOKS)  # of equal errors the larger ridge is taken
    best = int(np.argmin(left.errors(np.exp(points))))
    around = points[min(best + 1, _LOOKS - 1)], points[max(best - 1, 0)]
    optimum: Any = optimize.minimize_scalar(
        lambda point: left.error(math.exp(point)), bounds=around, method="bounded", options={"xatol": 1e-2}
    )
    point = min((float(points[best]), float(optimum.x)), key=lambda point: left.error(math.exp(point)))
    ridge, edge = math.exp(point), math.log(_EDGE)
    bound = "floor" if point < low + edge else "ceiling" if point > high - edge else None
    return RidgeFit(ridge, left.weights(ridge), left.error(ridge), bound)
