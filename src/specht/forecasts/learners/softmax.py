r"""Softmax regression of few rows with many features, by what the rows share: n numbers a class in place of one a feature.

With rows $X$ (n, features), classes $y$ and strength $C$ the weights $W$ and offsets $b$ minimise

$$ C \sum_i \left( \log \sum_k e^{z_{ik}} - z_{i y_i} \right) + \tfrac12 \lVert W \rVert^2 , \qquad z = X W + b . $$

The best $W$ is a combination of rows. So with $X X^T = Q \Lambda Q^T$ it is enough to know the rows' coordinates $R = Q \Lambda^{1/2}$,
and new rows have the coordinates $X' X^T Q \Lambda^{-1/2}$. There $R^T R$ is diagonal, which tells how curved the loss is along each
coordinate; steps are taken in units of that. Two classes have one weight a feature, as in scikit-learn: the same as half the strength.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, optimize
from scipy.special import logsumexp, softmax

_LEAST = 1e-10
"""Eigenvalues below this share of the largest one are rounding."""
_TOLERANCE = 1e-4
"""Largest entry of the gradient of the mean loss at which a fit ends."""


class Coordinates:
    """Rows by what they share with each other."""

    def __init__(self, gram: np.ndarray) -> None:
        values, vectors = linalg.eigh(gram, driver="evd", check_finite=False)
        kept = values > _LEAST * max(float(values[-1]), np.finfo(float).tiny)
        self.values = values[kept]
        self.rows: np.ndarray = vectors[:, kept] * np.sqrt(self.values)
        """(n, rank)"""
        self._back = vectors[:, kept] / np.sqrt(self.values)

    def of(self, cross: np.ndarray) -> np.ndarray:
        """Coordinates of other rows from their products (m, n) with these."""
        return cross @ self._back


class SoftmaxRegression:
    """Fits to some rows at one strength after the other, each from where the last one ended."""

    def __init__(self, space: Coordinates, classes: np.ndarray, outputs: int, steps: int) -> None:
        self.space, self.classes, self.outputs, self.steps = space, classes, outputs, steps
        self._weights: np.ndarray | None = None  # (rank + 1, classes present): of coordinates, and of the offset

    def shares(self, inside: np.ndarray, x_new: np.ndarray, strength: float) -> np.ndarray:
        """Probability of every class at coordinates `x_new` after a fit to the rows `inside`: zero for classes that none of these has."""
        shares = np.zeros((len(x_new), self.outputs))
        present, labels = np.unique(self.classes[inside], return_inverse=True)
        if len(present) == 1:
            shares[:, present[0]] = 1.0
            return shares
        self._weights = self._fitted(inside, np.eye(len(present))[labels], strength / 2.0 if len(present) == 2 else strength)
        shares[:, present] = softmax(x_new @ self._weights[:-1] + self._weights[-1], axis=1)
        return shares

    def _fitted(self, inside: np.ndarray, targets: np.ndarray, strength: float) -> np.ndarray:
        x, (n, k) = self.space.rows[inside], targets.shape
        penalty, curvature = 1.0 / (strength * n), (1.0 - 1.0 / k) / k
        unit = 1.0 / np.sqrt(np.append(curvature * self.space.values / len(self.classes) + penalty, curvature))[:, None]

        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            weights = flat.reshape(-1, k) * unit
            scores = x @ weights[:-1] + weights[-1]
            sums = logsumexp(scores, axis=1, keepdims=True)
            missed = (np.exp(scores - sums) - targets) / n
            value = float(np.mean(sums) - np.sum(targets * scores) / n + 0.5 * penalty * np.sum(weights[:-1] ** 2))
            slope = np.vstack([x.T @ missed + penalty * weights[:-1], missed.sum(axis=0)])
            return value, (slope * unit).ravel()

        start = np.zeros((x.shape[1] + 1, k)) if self._weights is None else self._weights / unit
        options = {"maxiter": self.steps, "gtol": _TOLERANCE, "ftol": 1e-7}
        found: Any = optimize.minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        return found.x.reshape(-1, k) * unit
