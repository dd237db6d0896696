r"""The evidence of several outputs that one hidden layer ties together.

Behind a layer of finite width the K outputs are no longer independent: they share its units. Given what the layer does, labels have the
covariance $U \otimes k + \delta$, with a K x K matrix $U$ that is the identity at infinite width. With $k = Q \Lambda Q^T$,
$U = V \mathrm{diag}(u) V^T$ and $\tilde Y = Q^T Y V$,

$$ \log p(Y) = -\tfrac12 \sum_{ij} \Big[ \frac{\tilde Y_{ij}^2}{\lambda_i u_j + \delta}
   + \log(\lambda_i u_j + \delta) + \log 2\pi \Big] . $$

Its derivatives are written down: those of an eigendecomposition would be infinite at equal eigenvalues.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from specht.learning.gp.evidence import log_evidence


def log_evidence_of(gram: Any, mixing: Any, y: Any, ridge: Any) -> jax.Array:
    """log p(Y) of labels (N, K) with covariance mixing x gram + ridge; one output needs no eigendecomposition."""
    if y.shape[1] == 1:
        return log_evidence(mixing[0, 0] * gram, y, ridge)
    return _mixed(gram, mixing, y, ridge)


@jax.custom_vjp
def _mixed(gram: Any, mixing: Any, y: Any, ridge: Any) -> jax.Array:
    return _forward(gram, mixing, y, ridge)[0]


def _forward(gram: Any, mixing: Any, y: Any, ridge: Any) -> tuple[jax.Array, tuple[jax.Array, ...]]:
    of_gram, left = jnp.linalg.eigh(gram)
    of_mixing, right = jnp.linalg.eigh(mixing)
    spread = jnp.maximum(of_gram, 0.0)[:, None] * of_mixing[None, :] + ridge
    rotated = left.T @ y @ right
    value = -0.5 * jnp.sum(rotated**2 / spread + jnp.log(spread) + math.log(2.0 * math.pi))
    return value, (of_gram, left, of_mixing, right, spread, rotated)


def _backward(kept: tuple[jax.Array, ...], slope: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    of_gram, left, of_mixing, right, spread, rotated = kept
    weights = rotated / spread
    by_gram = left @ ((weights * of_mixing[None, :]) @ weights.T - jnp.diag(jnp.sum(of_mixing[None, :] / spread, axis=1))) @ left.T
    by_mixing = right @ ((weights * of_gram[:, None]).T @ weights - jnp.diag(jnp.sum(of_gram[:, None] / spread, axis=0))) @ right.T
    by_ridge = jnp.sum(weights**2 - 1.0 / spread)
    return 0.5 * slope * by_gram, 0.5 * slope * by_mixing, -slope * (left @ weights @ right.T), 0.5 * slope * by_ridge


_mixed.defvjp(_forward, _backward)
