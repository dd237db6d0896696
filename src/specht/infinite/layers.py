r"""How each layer of an infinitely wide transformer acts on covariances.

The stream $z_a(X)$ of a wide network is described by its second moments $K_{ab}(X, Y) = z_a(X) \cdot z_b(Y) / d$ (NNGP) and by the
tangent kernel $\Theta_{ab}(X, Y)$, the inner product of gradients. `Moments` carries both for the pairs of two batches, together
with the moments of each sequence with itself, whose diagonal supplies the variances that activations and norms divide by.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from specht.architecture import Architecture
from specht.infinite.dual import activation_mean, dual
from specht.infinite.pairs import Entries, Flags, PointPairs
from specht.infinite.positions import positions_are_trained


@dataclasses.dataclass(frozen=True)
class Family:
    """Second moments over one bookkeeping of position pairs."""

    pairs: Any
    nngp: Entries
    same: Flags


@dataclasses.dataclass(frozen=True)
class Moments:
    """Moments of a stream: between two batches, and of each batch with itself."""

    cross: Family
    left: Family
    right: Family
    ntk: Entries | None
    """Tangent kernel between the batches; None when only the NNGP is wanted."""
    mean_left: Array
    """Mean over the width at each position, which layer norm subtracts; zero but for ReLU, GELU and sinusoids."""
    mean_right: Array

    def variances(self) -> tuple[Array, Array]:
        return self.left.pairs.diagonal(self.left.nngp), self.right.pairs.diagonal(self.right.nngp)

    def families(self) -> tuple[tuple[Family, Array, Array, Array, Array], ...]:
        """Each family with the variances and means of its two sides, ready to broadcast."""
        q_left, q_right = self.variances()
        m_left, m_right = self.mean_left, self.mean_right
        sides = (
            (self.cross, q_left, q_right, m_left, m_right),
            (self.left, q_left, q_left, m_left, m_left),
            (self.right, q_right, q_right, m_right, m_right),
        )
        return tuple((f, *f.pairs.expand(q1, q2), *f.pairs.expand(m1, m2)) for f, q1, q2, m1, m2 in sides)


def each(function: Callable[..., Array], *entries: Entries | Flags) -> Entries:
    """The function applied entry by entry."""
    return tuple(function(*parts) for parts in zip(*entries, strict=True))


def embedding(arch: Architecture, cross: Any, left: Any, right: Any, mean: Array, *, ntk: bool) -> Moments:
    r"""Moments of the embedded tokens, $K_{ab} = s_w [x_a = y_b] + s_p P_{ab}$; only trained parts enter the tangent kernel.

    `mean` is the mean encoding at each position (for `ClassPairs` and learned positions: zero).
    """
    s_w = arch.token_variance
    s_p = arch.position_variance if arch.values_see_positions else 0.0

    def covariance(pairs: Any, s_p: float) -> Entries:
        return each(lambda token, position: s_w * token + s_p * position, pairs.token_entries(), pairs.position_entries())

    def family(pairs: Any) -> Family:
        return Family(pairs, covariance(pairs, s_p), pairs.same(0))

    tangent = covariance(cross, s_p if positions_are_trained(arch) else 0.0) if ntk else None
    families = family(cross), family(left), family(right)
    shapes = (f.pairs.diagonal(f.nngp).shape for f in families[1:])
    mean_left, mean_right = (jnp.broadcast_to(mean * s_p**0.5, shape) for shape in shapes)
    return Moments(*families, tangent, mean_left, mean_right)


def layer_norm(m: Moments) -> Moments:
    r"""$K \to (K - \mu\mu')/\sqrt{(q - \mu^2)(q' - \mu'^2)}$, $\Theta \to \Theta / \sqrt{\cdots}$; what coincides has covariance exactly 1.

    The Jacobian of the norm also removes the mean and the radial direction, two directions out of `width`: nothing in the limit.
    """

    def scale(q_x, q_y, mean_x, mean_y) -> Array:
        product = (q_x - mean_x**2) * (q_y - mean_y**2)
        return jnp.where(product > 0.0, 1.0 / jnp.sqrt(jnp.where(product > 0.0, product, 1.0)), 0.0)

    normed = []
    for family, q_x, q_y, mean_x, mean_y in m.families():
        factor = scale(q_x, q_y, mean_x, mean_y)
        centre = mean_x * mean_y
        nngp = each(lambda k, same, c=centre, f=factor: jnp.where(same, 1.0, (k - c) * f), family.nngp, family.same)
        normed.append(dataclasses.replace(family, nngp=nngp))
    cross_factor = scale(*m.families()[0][1:])
    ntk = None if m.ntk is None else each(lambda theta: theta * cross_factor, m.ntk)
    return Moments(*normed, ntk, jnp.zeros_like(m.mean_left), jnp.zeros_like(m.mean_right))


def dense(arch: Architecture, m: Moments) -> Moments:
    r"""A dense layer and its activation, $\Lambda = s_1 K$: $K \to F(\Lambda)$, $\Theta \to \dot F(\Lambda)(s_1 \Theta + \Lambda)$."""
    s_1, out, slopes = arch.s_1, [], None
    for family, q_x, q_y, *_ in m.families():
        duals = [
            dual(arch.activation, s_1 * k, s_1 * q_x, s_1 * q_y, same) for k, same in zip(family.nngp, family.same, strict=True)
        ]
        out.append(dataclasses.replace(family, nngp=tuple(d.value for d in duals)))
        slopes = tuple(d.slope for d in duals) if slopes is None else slopes
    ntk = None
    if m.ntk is not None:
        assert slopes is not None
        ntk = each(lambda slope, theta, k: slope * s_1 * (theta + k), slopes, m.ntk, m.cross.nngp)
    q_left, q_right = m.variances()
    return Moments(*out, ntk, activation_mean(arch.activation, s_1 * q_left), activation_mean(arch.activation, s_1 * q_right))


def linear(m: Moments, variance: float = 1.0) -> Moments:
    r"""A linear layer with weights of its own: $K \to s K$, $\Theta \to s (\Theta + K)$, mean zero."""
    families = (dataclasses.replace(f, nngp=each(lambda k: variance * k, f.nngp)) for f in (m.cross, m.left, m.right))
    ntk = None if m.ntk is None else each(lambda theta, k: variance * (theta + k), m.ntk, m.cross.nngp)
    return Moments(*families, ntk, jnp.zeros_like(m.mean_left), jnp.zeros_like(m.mean_right))


def add(stream: Moments, branch: Moments) -> Moments:
    """The residual sum; branches end in a matrix of their own, so they are uncorrelated with the stream and have mean zero."""

    def summed(first: Family, second: Family) -> Family:
        return dataclasses.replace(second, nngp=each(lambda a, b: a + b, first.nngp, second.nngp))

    families = (summed(getattr(stream, name), getattr(branch, name)) for name in ("cross", "left", "right"))
    ntk = None if stream.ntk is None or branch.ntk is None else each(lambda a, b: a + b, stream.ntk, branch.ntk)
    return Moments(*families, ntk, stream.mean_left, stream.mean_right)


def at_readout(m: Moments) -> Moments:
    """The readout column alone: what comes after it acts entry by entry, so the other columns are not needed."""

    def point(family: Family) -> Family:
        same = family.pairs.at_readout(tuple(jnp.asarray(flag) for flag in family.same))
        pairs = PointPairs(family.pairs.outer, same[0])
        return Family(pairs, family.pairs.at_readout(family.nngp), same)

    families = (point(f) for f in (m.cross, m.left, m.right))
    ntk = None if m.ntk is None else m.cross.pairs.at_readout(m.ntk)
    last_left, last_right = (mean if mean.ndim == 1 else mean[:, -1] for mean in (m.mean_left, m.mean_right))
    return Moments(*families, ntk, last_left, last_right)


def pool(m: Moments) -> Moments:
    """Mean pooling over the real tokens."""

    def pooled(family: Family) -> Family:
        return Family(PointPairs(family.pairs.outer, False), (family.pairs.average(family.nngp),), (False,))

    families = tuple(pooled(f) for f in (m.cross, m.left, m.right))
    ntk = None if m.ntk is None else (m.cross.pairs.average(m.ntk),)
    zeros = (jnp.zeros_like(f.nngp[0]) for f in families[1:])
    return Moments(*families, ntk, *zeros)


def finish_block(arch: Architecture, stream: Moments, attended: Moments) -> Moments:
    """What follows attention in a block: residual sum, norms, dense layer."""
    out = add(stream, attended) if arch.residual else attended
    out = layer_norm(out) if arch.norm == "post" else out
    hidden = dense(arch, layer_norm(out) if arch.norm == "pre" else out)
    out = add(out, linear(hidden)) if arch.residual else hidden
    return layer_norm(out) if arch.norm == "post" else out


def readout(arch: Architecture, m: Moments) -> Moments:
    """What follows the last block: norm, pooling, the extra layer, the readout weights."""
    m = layer_norm(m) if arch.norm == "pre" else m
    m = pool(m) if arch.readout == "mean" else m
    m = linear(m) if arch.extra_linear else m
    return linear(m, arch.s_2)
