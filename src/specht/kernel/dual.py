r"""Gaussian expectations of activations: the map that a dense layer applies to a covariance.

For $(u, v) \sim N(0, \begin{pmatrix} q_x & k \\ k & q_y \end{pmatrix})$ the dual of an activation $\phi$ and its slope are

$$ F(k) = E[\phi(u) \phi(v)], \qquad \dot F(k) = E[\phi'(u) \phi'(v)] = \partial F / \partial k . $$

The neural tangent kernel needs the slope, and layer norm after an activation needs the mean $E[\phi(u)]$. Activations without a closed
form here or in their registration go through quadrature in Hermite polynomials.

XLA's `arccos` and `arcsin` run at about a tenth of the speed of a multiplication chain on a CPU. Both reduce to
$g(u) = \arcsin(\sqrt u)/\sqrt u$ on $0 \le u \le 1/4$, where $g$ is analytic (nearest singularity $u = 1$), so a
polynomial of degree 13 reaches rounding. Written in the gap $1 - \rho$ the angle is accurate at $\rho = 1$ too.

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
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from numpy.polynomial import Chebyshev, Polynomial

from specht.activations import activation

TERMS = 192
"""Terms of the expansion."""
_REACH, _NODES = 12.0, 321
"""Integrals over t run from -reach to reach, where the Gaussian weight has fallen below rounding."""


class Dual(NamedTuple):
    """F and its derivative with respect to the covariance."""

    value: Float[Array, "..."]
    slope: Float[Array, "..."]


def dual(
    name: str,
    k: Float[Array, "..."],
    q_x: Float[Array, "..."],
    q_y: Float[Array, "..."],
    same: Bool[Array, "..."] | bool,
) -> Dual:
    """E[phi(u) phi(v)] and E[phi'(u) phi'(v)] of a pair with covariance `k` and variances `q_x`, `q_y`.

    `same` marks pairs that are one and the same variable. There the correlation is 1 by structure; computed from rounded
    covariances it would miss 1 by 1e-16, and the ReLU slope, whose derivative diverges at 1, by 1e-8.
    """
    phi = activation(name)
    if phi.dual is not None:
        return Dual(*phi.dual(k, q_x, q_y))
    match name:
        case "linear":
            return Dual(k, jnp.ones_like(k))
        case "erf":
            return _erf(k, q_x, q_y)
        case "relu":
            return _relu(k, q_x, q_y, same)
        case "gelu":
            return _gelu(k, q_x, q_y)
        case "sine":
            return _sine(k, q_x, q_y)
        case _:
            return Dual(*quadrature_dual(phi.phi, k, q_x, q_y))


def activation_mean(name: str, q: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""$E[\phi(u)]$ for $u \sim N(0, q)$: zero for odd activations, $\sqrt{q/2\pi}$ for ReLU, $q/\sqrt{2\pi(1+q)}$ for GELU."""
    phi = activation(name)
    if phi.mean is not None:
        return phi.mean(q)
    match name:
        case "linear" | "erf" | "tanh" | "sine":
            return jnp.zeros_like(q)
        case "relu":
            return root(q / (2.0 * math.pi))
        case "gelu":
            return q / jnp.sqrt(2.0 * math.pi * (1.0 + q))
        case _:
            return quadrature_mean(phi.phi, q)


def root(square: Float[Array, "..."]) -> Float[Array, "..."]:
    """The square root, with derivative zero at zero, where the true one is infinite and would make NaN of whatever it meets."""
    positive = square > 0.0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, square, 1.0)), 0.0)


def _erf(k, q_x, q_y) -> Dual:
    r"""$F = \frac2\pi \arcsin \frac{2k}{\sqrt A}$, $\dot F = \frac4\pi (A - 4k^2)^{-1/2}$, $A = (1 + 2q_x)(1 + 2q_y)$ (Williams 1997)."""
    scale = (1.0 + 2.0 * q_x) * (1.0 + 2.0 * q_y)
    value = (2.0 / math.pi) * arcsine(2.0 * k / jnp.sqrt(scale))
    return Dual(value, (4.0 / math.pi) / jnp.sqrt(scale - 4.0 * k * k))


def _relu(k, q_x, q_y, same) -> Dual:
    r"""Arc-cosine kernels (Cho & Saul 2009) at the angle $\vartheta$ between the two variables:

    $$ F = \frac{\sqrt{q_x q_y}}{2\pi} (\sin\vartheta + (\pi - \vartheta) \cos\vartheta), \qquad \dot F = \frac{\pi - \vartheta}{2\pi} . $$
    """
    return Dual(*_relu_pair(k, q_x, q_y, jnp.asarray(same)))


def _gap(k, q_x, q_y, same) -> Array:
    """1 - correlation; zero where the two are one variable."""
    scale = root(q_x * q_y)
    rho = jnp.where(scale > 0.0, k / jnp.where(scale > 0.0, scale, 1.0), 0.0)
    return jnp.where(same, 0.0, jnp.clip(1.0 - rho, 0.0, 2.0))


def _relu_slope(k, q_x, q_y, same) -> Array:
    return (math.pi - angle_of_gap(_gap(k, q_x, q_y, same))) / (2.0 * math.pi)


@jax.custom_jvp
def _relu_pair(k, q_x, q_y, same) -> tuple[Array, Array]:
    gap, slope = _gap(k, q_x, q_y, same), _relu_slope(k, q_x, q_y, same)
    return jnp.sqrt(q_x * q_y) * (jnp.sqrt(gap * (2.0 - gap)) / (2.0 * math.pi) + slope * (1.0 - gap)), slope


@_relu_pair.defjvp
def _relu_change(primals, tangents):
    r"""$\partial_k F = \dot F$ and $\partial_{q_x} F = \frac{\sin\vartheta}{4\pi} \sqrt{q_y/q_x}$: smooth, where the parts of F are not."""
    k, q_x, q_y, same = primals
    change, change_x, change_y, _ = tangents
    gap = _gap(k, q_x, q_y, same)
    slope, change_slope = jax.jvp(lambda a, b, c: _relu_slope(a, b, c, same), (k, q_x, q_y), (change, change_x, change_y))
    quarter = root(gap * (2.0 - gap)) / (4.0 * math.pi)
    ratio = root(jnp.where(q_x > 0.0, q_y / jnp.where(q_x > 0.0, q_x, 1.0), 0.0))
    inverse = jnp.where(ratio > 0.0, 1.0 / jnp.where(ratio > 0.0, ratio, 1.0), 0.0)
    # one variable: k, q_x and q_y move together, and only their common change counts
    along = jnp.where(same, 0.25 * (change_x + change_y), slope * change + quarter * (ratio * change_x + inverse * change_y))
    return _relu_pair(k, q_x, q_y, same), (along, change_slope)


def _gelu(k, q_x, q_y) -> Dual:
    r"""Exact GELU $u\Phi(u)$, by integrating by parts twice; with $A = (1+q_x)(1+q_y)$, $D = A - k^2$,
    $N = q_x q_y + k^2(\frac1{1+q_x} + \frac1{1+q_y} - 1)$:

    $$ F = k\Big(\frac14 + \frac1{2\pi}\arcsin\frac{k}{\sqrt A}\Big) + \frac{N}{2\pi\sqrt D}, \qquad \dot F = \partial_k F. $$
    """
    product = (1.0 + q_x) * (1.0 + q_y)
    distance = jnp.sqrt(product - k * k)
    curvature = 1.0 / (1.0 + q_x) + 1.0 / (1.0 + q_y) - 1.0
    numerator = q_x * q_y + curvature * k * k
    both_positive = 0.25 + arcsine(k / jnp.sqrt(product)) / (2.0 * math.pi)
    value = k * both_positive + numerator / (2.0 * math.pi * distance)
    slope = both_positive + k * (1.0 + 2.0 * curvature + numerator / (distance * distance)) / (2.0 * math.pi * distance)
    return Dual(value, slope)


def _sine(k, q_x, q_y) -> Dual:
    r"""$F = e^{-(q_x + q_y)/2} \sinh k$, $\dot F = e^{-(q_x + q_y)/2} \cosh k$, written so that large variances do not overflow."""
    up, down = jnp.exp(k - (q_x + q_y) / 2.0), jnp.exp(-k - (q_x + q_y) / 2.0)
    return Dual((up - down) / 2.0, (up + down) / 2.0)


def _ratio_coefficients(degree: int = 13, terms: int = 28) -> list[float]:
    r"""Coefficients of g in powers of t = 8u - 1: its Taylor series $\sum_n \binom{2n}{n} u^n / (4^n (2n+1))$, economised by Chebyshev."""
    taylor = Polynomial([math.comb(2 * n, n) / (4**n * (2 * n + 1)) for n in range(terms)])
    in_t = taylor(Polynomial([1 / 8, 1 / 8]))
    return [float(c) for c in in_t.convert(kind=Chebyshev).truncate(degree + 1).convert(kind=Polynomial).coef]


_COEFFICIENTS = _ratio_coefficients()


def _arcsine_of_root(u: Float[Array, "..."], root: Float[Array, "..."]) -> Float[Array, "..."]:
    """arcsin(root) for root = sqrt(u), 0 <= u <= 1/4."""
    t = 8.0 * u - 1.0
    ratio = jnp.full_like(t, _COEFFICIENTS[-1])
    for coefficient in reversed(_COEFFICIENTS[:-1]):
        ratio = ratio * t + coefficient
    return root * ratio


@jax.custom_jvp
def arcsine(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """arcsin(z) for |z| <= 1, accurate to a few units in the last place."""
    size = jnp.minimum(jnp.abs(z), 1.0)
    small = size <= 0.5
    u = jnp.where(small, size * size, (1.0 - size) / 2.0)
    angle = _arcsine_of_root(u, jnp.where(small, size, jnp.sqrt(u)))
    return jnp.sign(z) * jnp.where(small, angle, math.pi / 2 - 2.0 * angle)


@arcsine.defjvp
def _arcsine_slope(primals, tangents):
    # branches of `where` with a root at zero would turn the derivative into NaN
    (z,), (change,) = primals, tangents
    return arcsine(z), change / jnp.sqrt(jnp.maximum(1.0 - z * z, jnp.finfo(z.dtype).tiny))


@jax.custom_jvp
def angle_of_gap(gap: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""$\vartheta = \arccos(1 - \text{gap})$ for a gap $1 - \rho$ between 0 and 2."""
    rho = 1.0 - gap
    near, far = gap <= 0.5, gap >= 1.5
    u = jnp.where(near, gap / 2.0, jnp.where(far, (2.0 - gap) / 2.0, rho * rho))
    angle = _arcsine_of_root(u, jnp.sqrt(u))
    return jnp.where(near, 2.0 * angle, jnp.where(far, math.pi - 2.0 * angle, math.pi / 2 - jnp.sign(rho) * angle))


@angle_of_gap.defjvp
def _angle_slope(primals, tangents):
    # where the gap closes the slope diverges; a gap that is zero by structure does not move, so zero is its derivative
    (gap,), (change,) = primals, tangents
    square = gap * (2.0 - gap)
    open_ = square > 0.0
    return angle_of_gap(gap), jnp.where(open_, change / jnp.sqrt(jnp.where(open_, square, 1.0)), 0.0)


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
    at_nodes = phi(root(q)[..., None] * jnp.asarray(nodes).reshape(*[1] * q.ndim, -1))
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
