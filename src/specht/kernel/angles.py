r"""Angles between Gaussian pre-activations, by one polynomial.

XLA's `arccos` and `arcsin` run at about a tenth of the speed of a multiplication chain on a CPU. Both reduce to
$g(u) = \arcsin(\sqrt u)/\sqrt u$ on $0 \le u \le 1/4$, where $g$ is analytic (nearest singularity $u = 1$), so a
polynomial of degree 13 reaches rounding. Written in the gap $1 - \rho$ the angle is accurate at $\rho = 1$ too.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from numpy.polynomial import Chebyshev, Polynomial


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
