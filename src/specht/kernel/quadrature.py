r"""Gaussian expectations of any activation, by quadrature in Hermite polynomials.

Written in normalised Hermite polynomials $h_n$, a function of a normal variable has coefficients
$c_n(q) = E[\phi(\sqrt q\, t)\, h_n(t)]$, and a pair with correlation $\rho$ has (Mehler's formula)

$$ E[\phi(u) \phi(v)] = \sum_n c_n(q_x)\, c_n(q_y)\, \rho^n . $$

Coefficients belong to single variables, so a Gram costs one polynomial an entry and not one double integral. Their integrals use equal
steps, which converge faster than Gauss-Hermite nodes for functions with poles: at correlation 1 the error for tanh is 1e-13 at variance 2,
4e-10 at 4 and 3e-7 at 9, where 128 Gauss-Hermite nodes have 1e-9, 7e-7 and 1e-4. At a kink the error falls slowly, as
$1/\text{terms}^{3/2}$: give such an activation a closed form.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

TERMS = 192
"""Terms of the expansion."""
_REACH, _NODES = 12.0, 321
"""Integrals over t run from -reach to reach, where the Gaussian weight has fallen below rounding."""


def quadrature_dual(phi: Callable[[Array], Array], k: Array, q_x: Array, q_y: Array) -> tuple[Array, Array]:
    """E[phi(u) phi(v)] and E[phi'(u) phi'(v)] of a pair with covariance `k` and variances `q_x`, `q_y`, which broadcast."""
    product = q_x * q_y
    positive = product > 0.0
    correlation = jnp.where(positive, k / jnp.sqrt(jnp.where(positive, product, 1.0)), 0.0)
    correlation = jnp.clip(correlation, -1.0, 1.0)
    return _mehler(phi, correlation, q_x, q_y), _mehler(derivative(phi), correlation, q_x, q_y)


def quadrature_mean(phi: Callable[[Array], Array], q: Array) -> Array:
    """E[phi(u)] of a variable with variance `q`."""
    return _coefficients(phi, q)[0]


def derivative(phi: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """phi', entry by entry."""
    return lambda u: jax.jvp(phi, (u,), (jnp.ones_like(u),))[1]


def _mehler(phi: Callable[[Array], Array], correlation: Array, q_x: Array, q_y: Array) -> Array:
    return _series(correlation, _coefficients(phi, q_x), _coefficients(phi, q_y))


@jax.custom_jvp
def _series(correlation: Array, left: Array, right: Array) -> Array:
    r"""$\sum_n l_n r_n \rho^n$, by Horner's scheme."""
    shape = jnp.broadcast_shapes(correlation.shape, left.shape[1:], right.shape[1:])

    def add_term(total: Array, terms: tuple[Array, Array]) -> tuple[Array, None]:
        return total * correlation + terms[0] * terms[1], None

    return jax.lax.scan(add_term, jnp.zeros(shape, dtype=jnp.float64), (left, right), reverse=True)[0]


@_series.defjvp
def _series_change(primals, tangents):
    # The sums below are linear in what changes, so the reverse mode keeps nothing for each term, where Horner's scheme itself would.
    (correlation, left, right), (change, change_left, change_right) = primals, tangents
    order = jnp.arange(len(left), dtype=jnp.float64).reshape(-1, *[1] * (left.ndim - 1))
    slope = _series(correlation, (order * left)[1:], right[1:])
    along = slope * change + _series(correlation, change_left, right) + _series(correlation, left, change_right)
    return _series(correlation, left, right), along


def _coefficients(phi: Callable[[Array], Array], q: Array) -> Float[Array, "terms ..."]:
    """c_n(q) of every term, in front of the axes of `q`."""
    nodes, projection = hermite_rule(TERMS)
    positive = q > 0.0
    root = jnp.where(positive, jnp.sqrt(jnp.where(positive, q, 1.0)), 0.0)
    at_nodes = phi(root[..., None] * jnp.asarray(nodes))
    return jnp.moveaxis(at_nodes @ jnp.asarray(projection), -1, 0)


@functools.cache
def hermite_rule(terms: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes t_i, and the weight of node i in coefficient n: shapes (nodes,) and (nodes, terms).

    >>> t, projection = hermite_rule(4)
    >>> (t**2 @ projection[:, :3]).round(12).tolist()
    [1.0, 0.0, 1.414213562373]
    """
    nodes = np.linspace(-_REACH, _REACH, _NODES)
    # a polynomial times the root of the weight stays of order one, where alone it would overflow
    half_weight = np.exp(-(nodes**2) / 4.0) / (2.0 * math.pi) ** 0.25
    columns, previous = [half_weight], np.zeros_like(nodes)
    for n in range(terms - 1):
        following = (nodes * columns[-1] - math.sqrt(n) * previous) / math.sqrt(n + 1)
        previous = columns[-1]
        columns.append(following)
    return nodes, np.stack(columns, axis=1) * (half_weight * (nodes[1] - nodes[0]))[:, None]
