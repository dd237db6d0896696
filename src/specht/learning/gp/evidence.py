r"""The log marginal likelihood (evidence) of labels under a Gaussian process, as a pure function that JAX differentiates quickly.

With $A = K + \delta$ and $\alpha = A^{-1} y$ for each of K outputs,

$$ \log p(y) = -\tfrac12 \big[\, y^T \alpha + \log\det A + N \log 2\pi \,\big], \qquad
   \frac{\partial \log p}{\partial A} = \tfrac12 \big( \alpha \alpha^T - A^{-1} \big), $$

summed over outputs. The derivative is written down here, so that JAX differentiates the kernel alone and no Cholesky: value and
gradient need one factorisation and one inverse.

Behind a layer of finite width the K outputs are no longer independent: they share its units. Given what the layer does, labels have the
covariance $U \otimes k + \delta$, with a K x K matrix $U$ that is the identity at infinite width. With $k = Q \Lambda Q^T$,
$U = V \mathrm{diag}(u) V^T$ and $\tilde Y = Q^T Y V$,

$$ \log p(Y) = -\tfrac12 \sum_{ij} \Big[ \frac{\tilde Y_{ij}^2}{\lambda_i u_j + \delta}
   + \log(\lambda_i u_j + \delta) + \log 2\pi \Big] . $$

Its derivatives are written down: those of an eigendecomposition would be infinite at equal eigenvalues.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular

_BASE = 100
"""Rows of a triangular matrix that is worked on in one piece."""


@jax.custom_vjp
def log_evidence(gram: Any, y: Any, ridge: Any) -> jax.Array:
    """log N(y; 0, gram + ridge) of labels (N, K), summed over outputs; not a number where gram + ridge is not positive definite.

    It composes with `jax.jit`, `jax.grad` (in all three arguments) and `jax.vmap`. Call it inside `jax.enable_x64(True)`.

    >>> with jax.enable_x64(True):
    ...     gram = jnp.asarray([[2.0, 1.0], [1.0, 2.0]])
    ...     value, slope = jax.value_and_grad(log_evidence, argnums=2)(gram, jnp.asarray([[1.0], [0.0]]), 1.0)
    >>> round(float(value), 4), round(float(slope), 4)
    (-3.0651, -0.2969)
    """
    return _forward(gram, y, ridge)[0]


def _forward(gram: Any, y: Any, ridge: Any) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    n, outputs = y.shape
    factor = jnp.linalg.cholesky(gram + ridge * jnp.eye(n, dtype=gram.dtype), symmetrize_input=False)
    weights = cho_solve((factor, True), y)
    log_determinant = 2.0 * jnp.sum(jnp.log(jnp.diagonal(factor)))
    value = -0.5 * (jnp.vdot(y, weights) + outputs * (log_determinant + n * math.log(2.0 * math.pi)))
    return value, (factor, weights)


def _backward(kept: tuple[jax.Array, jax.Array], slope: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    factor, weights = kept
    outputs = weights.shape[1]
    of_gram = 0.5 * slope * (weights @ weights.T - outputs * _square(_inverse(factor)))
    return of_gram, -slope * weights, jnp.trace(of_gram)


def _inverse(lower: jax.Array) -> jax.Array:
    """The inverse of a lower triangular matrix by halves: nearly all of it matrix products, which XLA is fast at."""
    n = len(lower)
    if n <= _BASE:
        return solve_triangular(lower, jnp.eye(n, dtype=lower.dtype), lower=True)
    first, second = _inverse(lower[: n // 2, : n // 2]), _inverse(lower[n // 2 :, n // 2 :])
    below = -second @ (lower[n // 2 :, : n // 2] @ first)
    return jnp.block([[first, jnp.zeros_like(below.T)], [below, second]])


def _square(lower: jax.Array) -> jax.Array:
    """M^T M of a lower triangular matrix by halves, which leaves out most of its zeros."""
    n = len(lower)
    if n <= _BASE:
        return lower.T @ lower
    first, below, second = lower[: n // 2, : n // 2], lower[n // 2 :, : n // 2], lower[n // 2 :, n // 2 :]
    corner = second.T @ below
    return jnp.block([[_square(first) + below.T @ below, corner.T], [corner, _square(second)]])


log_evidence.defvjp(_forward, _backward)


@partial(jax.jit, static_argnames=("gram", "unpack"))
def evidence_and_slope(
    logarithms: Any, y: Any, data: Any, *, gram: Callable[[dict[str, Any], Any], Any], unpack: Callable[[Any], tuple[dict[str, Any], Any]]
) -> Any:
    """Log marginal likelihood and the mean of k(x, x), and then the gradient of the former in the logarithms of parameters.

    Arguments:
        logarithms: logarithms of the parameters (P,).
        data: arrays that the Gram needs.
        gram: maps parameters by name and `data` to the Gram.
        unpack: maps values (P,) to parameters by name, and the ridge.
    """

    def value(logarithms: jax.Array) -> tuple[jax.Array, jax.Array]:
        values, ridge = unpack(jnp.exp(logarithms))
        covariance = gram(values, data)
        return log_evidence(covariance, y, ridge), jnp.mean(jnp.diagonal(covariance))

    return jax.value_and_grad(value, has_aux=True)(logarithms)


def log_evidence_of(gram: Any, mixing: Any, y: Any, ridge: Any) -> jax.Array:
    """log p(Y) of labels (N, K) with covariance mixing x gram + ridge; one output needs no eigendecomposition."""
    if y.shape[1] == 1:
        return log_evidence(mixing[0, 0] * gram, y, ridge)
    return _mixed(gram, mixing, y, ridge)


@jax.custom_vjp
def _mixed(gram: Any, mixing: Any, y: Any, ridge: Any) -> jax.Array:
    return _mixed_forward(gram, mixing, y, ridge)[0]


def _mixed_forward(gram: Any, mixing: Any, y: Any, ridge: Any) -> tuple[jax.Array, tuple[jax.Array, ...]]:
    of_gram, left = jnp.linalg.eigh(gram)
    of_mixing, right = jnp.linalg.eigh(mixing)
    spread = jnp.maximum(of_gram, 0.0)[:, None] * of_mixing[None, :] + ridge
    rotated = left.T @ y @ right
    value = -0.5 * jnp.sum(rotated**2 / spread + jnp.log(spread) + math.log(2.0 * math.pi))
    return value, (of_gram, left, of_mixing, right, spread, rotated)


def _mixed_backward(kept: tuple[jax.Array, ...], slope: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    of_gram, left, of_mixing, right, spread, rotated = kept
    weights = rotated / spread
    by_gram = left @ ((weights * of_mixing[None, :]) @ weights.T - jnp.diag(jnp.sum(of_mixing[None, :] / spread, axis=1))) @ left.T
    by_mixing = right @ ((weights * of_gram[:, None]).T @ weights - jnp.diag(jnp.sum(of_gram[:, None] / spread, axis=0))) @ right.T
    by_ridge = jnp.sum(weights**2 - 1.0 / spread)
    return 0.5 * slope * by_gram, 0.5 * slope * by_mixing, -slope * (left @ weights @ right.T), 0.5 * slope * by_ridge


_mixed.defvjp(_mixed_forward, _mixed_backward)
