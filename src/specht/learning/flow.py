r"""Gradient flow of an infinitely wide network: what it has learnt after a time, by its tangent kernel.

Such a network is linear in its parameters around their initial values, $f(x) = f_0(x) + J(x) (\theta - \theta_0)$, with tangent kernel
$\Theta = J J^T$. The convention here is the loss summed over samples and outputs, with a weight decay $\delta$ towards the initial values,

$$ \mathcal L = \tfrac12 \sum_n |f(x_n) - y_n|^2 + \tfrac\delta2 |\theta - \theta_0|^2 , \qquad
   \frac{d\theta}{dt} = - \nabla \mathcal L . $$

From an initial output of zero (in the mean over initial networks, or after subtracting $f_0$ from the labels) it solves to

$$ f_t(x) = \Theta(x, X)\, w_t , \qquad w_t = (\Theta + \delta)^{-1} \big[1 - e^{-t (\Theta + \delta)}\big] y , $$

so that $t \to \infty$ is regression with the kernel $\Theta$ at ridge $\delta$, and at $\delta = 0$ the interpolation of least norm.
Steps of size $\eta$ of plain gradient descent take the time $\eta$ each. For the mean $\frac1N \sum_n |f - y|^2$ instead of the sum above,
time runs slower: $t$ of that flow is $2 t / N$ here.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.linalg import eigh

from specht.checks import not_negative
from specht.errors import InputError
from specht.learning.checks import labels, square_gram, table

_ROUNDING = 4 * float(np.finfo(np.float64).eps)
"""An eigenvalue below this times the size of the Gram and its largest eigenvalue is zero, whatever its sign."""


@dataclasses.dataclass(frozen=True, eq=False)
class GradientFlow:
    """A network of infinite width under gradient flow: made by `gradient_flow`.

    Wherever a method takes a time, it may be infinity, or an array of times, which then becomes the first axis of the result.
    """

    eigenvalues: np.ndarray
    """Eigenvalues of the Gram of the samples (N,), smallest first; those that are zero to rounding are exactly zero."""
    vectors: np.ndarray
    """Eigenvectors of the Gram, as columns (N, N)."""
    projected: np.ndarray
    """Labels in the basis of the eigenvectors (N, K)."""
    ridge: float

    def weights(self, time: Any) -> np.ndarray:
        """w_t with f_t(x) = Theta(x, X) w_t, shape (N, K); zero in directions that the kernel does not reach."""
        return self.vectors @ self._grown(_times(time))

    def mean(self, cross: Any, time: Any) -> np.ndarray:
        """Output (M, K) at new sequences, from their tangent kernel with the samples (M, N)."""
        cross = table("cross", cross, columns=len(self.vectors))
        return (cross @ self.vectors) @ self._grown(_times(time))

    def train_residual(self, time: Any) -> np.ndarray:
        """Labels minus output at the samples (N, K)."""
        return self.vectors @ self._left(_times(time))

    def train_error(self, time: Any) -> Any:
        """Mean over samples of the squared error, summed over outputs: without the factor 1/2 and the decay of the loss."""
        return _plain(np.square(self._left(_times(time))).sum(axis=(-2, -1)) / len(self.vectors))

    def loss(self, time: Any) -> Any:
        """The loss that the flow descends: half the squared error summed over samples, and half the ridge times |theta - theta_0|^2."""
        times = _times(time)
        moved = np.einsum("i,...ik,...ik->...", self.eigenvalues, self._grown(times), self._grown(times))  # w Theta w
        return _plain((np.square(self._left(times)).sum(axis=(-2, -1)) + self.ridge * moved) / 2.0)

    def _grown(self, times: np.ndarray) -> np.ndarray:
        """w_t in the basis of the eigenvectors (..., N, K)."""
        done = -np.expm1(-self._exponents(times))  # 1 - e^(-t rate), exact also for small t
        return self._over_rates(done, np.zeros_like(done))

    def _left(self, times: np.ndarray) -> np.ndarray:
        """y - f_t(X) in the basis of the eigenvectors (..., N, K)."""
        decayed = np.exp(-self._exponents(times))
        left = self.ridge + self.eigenvalues * decayed  # a sum of positive terms: precise however small the residual is
        return self._over_rates(left, np.ones_like(left))

    def _exponents(self, times: np.ndarray) -> np.ndarray:
        """Times x rates, shape (..., N); what the kernel does not reach stays as it is for ever."""
        rates = np.where(self.eigenvalues > 0.0, self.eigenvalues + self.ridge, 0.0)
        return np.multiply.outer(times, rates, out=np.zeros((*times.shape, len(rates))), where=rates > 0.0)

    def _over_rates(self, numbers: np.ndarray, unreached: np.ndarray) -> np.ndarray:
        """The labels times numbers over rates, with other numbers in directions that the kernel does not reach (..., N, K)."""
        share = np.divide(numbers, self.eigenvalues + self.ridge, out=unreached, where=self.eigenvalues > 0.0)
        return share[..., None] * self.projected


def gradient_flow(gram: Any, y: Any, ridge: float = 0.0) -> GradientFlow:
    """Gradient flow on N samples, by the eigenvectors of their tangent kernel.

    Arguments:
        gram: tangent kernel (N, N) of the samples with themselves.
        y: labels (N,) or (N, K), minus the initial output where that is not zero.
        ridge: weight decay towards the initial parameters, in the units of the kernel.

    >>> flow = gradient_flow([[1.0, 0.0], [0.0, 0.1]], [1.0, 1.0])
    >>> flow.mean([[1.0, 0.0], [0.0, 0.1]], time=[0.0, 1.0, np.inf])[..., 0].round(3)
    array([[0.   , 0.   ],
           [0.632, 0.095],
           [1.   , 1.   ]])
    >>> round(flow.train_error(1.0), 4)
    0.477
    """
    ridge = not_negative("ridge", ridge)
    matrix = square_gram(gram)
    y = labels(y, len(matrix))
    eigenvalues, vectors = eigh(matrix, check_finite=False)
    rounding = _ROUNDING * len(matrix) * float(np.abs(eigenvalues).max())
    if eigenvalues[0] < -1e-8 * abs(float(eigenvalues[-1])):
        raise InputError(
            f"gram has the eigenvalue {eigenvalues[0]:.1e} and a largest one of {eigenvalues[-1]:.1e}, but a tangent kernel has none below "
            "zero: check where it came from."
        )
    return GradientFlow(np.where(eigenvalues > rounding, eigenvalues, 0.0), vectors, vectors.T @ y, ridge)


def _times(time: Any) -> np.ndarray:
    try:
        times = np.asarray(time, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"time must be a number or a list of numbers, got {time!r}.") from None
    if times.ndim > 1 or times.size == 0 or not (times >= 0.0).all():
        raise InputError(f"time must be a number of at least 0 or a list of such (infinity is allowed), got {time!r}.")
    return times


def _plain(values: np.ndarray) -> Any:
    return float(values) if values.ndim == 0 else values
