r"""How each layer of an infinitely wide transformer acts on covariances.

The stream $z_a(X)$ of a wide network is described by its second moments $K_{ab}(X, Y) = z_a(X) \cdot z_b(Y) / d$ (NNGP) and by the
tangent kernel $\Theta_{ab}(X, Y)$, the inner product of gradients. `StreamMoments` carries both for the pairs of two batches, together
with the moments of each sequence with itself, whose diagonal supplies the variances that activations and norms divide by.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from specht.kernel.dual import activation_mean, dual, root
from specht.kernel.model import KernelModel
from specht.kernel.pairs import Entries, Flags, PointPairs
from specht.kernel.positions import positions_are_trained


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class MomentFamily:
    """Second moments over one bookkeeping of position pairs."""

    pairs: Any
    nngp: Entries
    same: Flags

    def with_nngp(self, nngp: Entries) -> MomentFamily:
        return dataclasses.replace(self, nngp=nngp)


class Sides(NamedTuple):
    """Variances and means of the two sides of a family, ready to broadcast against its entries."""

    q_x: Array
    q_y: Array
    mean_x: Array
    mean_y: Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class StreamMoments:
    """Moments of a stream: between two batches (cross), and of each sequence of a batch with itself (left, right)."""

    cross: MomentFamily
    left: MomentFamily
    right: MomentFamily
    ntk: Entries | None
    """Tangent kernel between the batches; None when only the NNGP is wanted."""
    means: tuple[Array, Array]
    """Mean over the width at each position of either batch, which layer norm subtracts; zero but for ReLU, GELU and sinusoids."""

    def map(
        self, change: Callable[[MomentFamily, Sides], MomentFamily], ntk: Entries | None, means: tuple[Array, Array] | None = None
    ) -> StreamMoments:
        """Every family changed, given its sides; means are zero unless they are given."""
        cross, left, right = (change(family, sides) for family, sides in self.with_sides())
        zeros = jnp.zeros_like(self.means[0]), jnp.zeros_like(self.means[1])
        return StreamMoments(cross, left, right, ntk, zeros if means is None else means)

    def variances(self) -> tuple[Array, Array]:
        return self.left.pairs.diagonal(self.left.nngp), self.right.pairs.diagonal(self.right.nngp)

    def with_sides(self) -> tuple[tuple[MomentFamily, Sides], tuple[MomentFamily, Sides], tuple[MomentFamily, Sides]]:
        """Each family with the variances and means of its two sides."""
        q, mean = self.variances(), self.means

        def sides(family: MomentFamily, first: int, second: int) -> tuple[MomentFamily, Sides]:
            q_x, q_y = family.pairs.expand(q[first], q[second])
            mean_x, mean_y = family.pairs.expand(mean[first], mean[second])
            return family, Sides(q_x, q_y, mean_x, mean_y)

        return sides(self.cross, 0, 1), sides(self.left, 0, 0), sides(self.right, 1, 1)


def entrywise(function: Callable[..., Array], *entries: Entries | Flags) -> Entries:
    """The function applied entry by entry."""
    return tuple(function(*parts) for parts in zip(*entries, strict=True))


def embedding(model: KernelModel, cross: Any, left: Any, right: Any, mean: Array, *, ntk: bool) -> StreamMoments:
    r"""Moments of the embedded tokens, $K_{ab} = s_w [x_a = y_b] + s_p P_{ab}$; only trained parts enter the tangent kernel.

    `mean` is the mean encoding at each position, in units of $\sqrt{s_p}$.
    """
    arch = model.arch
    in_stream = arch.has_positions and arch.values_see_positions

    def covariance(pairs: Any, positions: bool) -> Entries:
        tokens = pairs.token_entries(model.tokens)
        return entrywise(lambda token, position: token + position, tokens, pairs.position_entries(model.positions)) if positions else tokens

    def family(pairs: Any) -> MomentFamily:
        return MomentFamily(pairs, covariance(pairs, in_stream), pairs.same(0))

    def means(own: MomentFamily) -> Array:
        shape = own.pairs.diagonal(own.nngp).shape
        deviation = root(model.positions)
        spread = (deviation[None, :] if deviation.ndim else deviation) * mean
        return jnp.broadcast_to(spread, shape) if in_stream else jnp.zeros(shape, dtype=jnp.float64)

    tangent = covariance(cross, in_stream and positions_are_trained(arch)) if ntk else None
    own_left, own_right = family(left), family(right)
    return StreamMoments(family(cross), own_left, own_right, tangent, (means(own_left), means(own_right)))


def layer_norm(m: StreamMoments) -> StreamMoments:
    r"""$K \to (K - \mu\mu')/\sqrt{(q - \mu^2)(q' - \mu'^2)}$, $\Theta \to \Theta / \sqrt{\cdots}$; what coincides has covariance exactly 1.

    The Jacobian of the norm also removes the mean and the radial direction, two directions out of `width`: nothing in the limit.
    """

    def inverse_deviations(sides: Sides) -> Array:
        product = (sides.q_x - sides.mean_x**2) * (sides.q_y - sides.mean_y**2)
        return jnp.where(product > 0.0, 1.0 / jnp.sqrt(jnp.where(product > 0.0, product, 1.0)), 0.0)

    def normed(family: MomentFamily, sides: Sides) -> MomentFamily:
        factor, centre = inverse_deviations(sides), sides.mean_x * sides.mean_y
        return family.with_nngp(entrywise(lambda k, same: jnp.where(same, 1.0, (k - centre) * factor), family.nngp, family.same))

    factor = inverse_deviations(m.with_sides()[0][1])
    return m.map(normed, None if m.ntk is None else entrywise(lambda theta: theta * factor, m.ntk))


def dense(model: KernelModel, m: StreamMoments) -> StreamMoments:
    r"""A dense layer and its activation, $\Lambda = s_1 K$: $K \to F(\Lambda)$, $\Theta \to \dot F(\Lambda)(s_1 \Theta + \Lambda)$."""
    s_1, activation = model.dense, model.arch.activation

    def duals(family: MomentFamily, sides: Sides):
        q_x, q_y = s_1 * sides.q_x, s_1 * sides.q_y
        return [dual(activation, s_1 * k, q_x, q_y, same) for k, same in zip(family.nngp, family.same, strict=True)]

    def activated(family: MomentFamily, sides: Sides) -> MomentFamily:
        return family.with_nngp(tuple(entry.value for entry in duals(family, sides)))

    ntk = None
    if m.ntk is not None:
        slopes = tuple(entry.slope for entry in duals(*m.with_sides()[0]))
        ntk = entrywise(lambda slope, theta, k: slope * s_1 * (theta + k), slopes, m.ntk, m.cross.nngp)
    q_left, q_right = m.variances()
    return m.map(activated, ntk, (activation_mean(activation, s_1 * q_left), activation_mean(activation, s_1 * q_right)))


def linear(m: StreamMoments, variance: Array | float = 1.0) -> StreamMoments:
    r"""A linear layer with weights of its own: $K \to s K$, $\Theta \to s (\Theta + K)$, mean zero."""
    ntk = None if m.ntk is None else entrywise(lambda theta, k: variance * (theta + k), m.ntk, m.cross.nngp)
    return m.map(lambda family, _: family.with_nngp(entrywise(lambda k: variance * k, family.nngp)), ntk)


def add(stream: StreamMoments, branch: StreamMoments) -> StreamMoments:
    """The residual sum; branches end in a matrix of their own, so they are uncorrelated with the stream and have mean zero."""

    def total(first: Entries, second: Entries) -> Entries:
        return entrywise(lambda a, b: a + b, first, second)

    return StreamMoments(
        branch.cross.with_nngp(total(stream.cross.nngp, branch.cross.nngp)),
        branch.left.with_nngp(total(stream.left.nngp, branch.left.nngp)),
        branch.right.with_nngp(total(stream.right.nngp, branch.right.nngp)),
        None if stream.ntk is None or branch.ntk is None else total(stream.ntk, branch.ntk),
        stream.means,
    )


def at_readout(m: StreamMoments) -> StreamMoments:
    """The readout column alone: what comes after it acts entry by entry, so the other columns are not needed."""

    def point(family: MomentFamily, _: Sides) -> MomentFamily:
        same = family.pairs.at_readout(tuple(jnp.asarray(flag) for flag in family.same))
        return MomentFamily(PointPairs(same[0], outer=family.pairs.outer), family.pairs.at_readout(family.nngp), same)

    left, right = (mean if mean.ndim == 1 else mean[:, -1] for mean in m.means)
    return m.map(point, None if m.ntk is None else m.cross.pairs.at_readout(m.ntk), (left, right))


def pool(m: StreamMoments) -> StreamMoments:
    """Mean pooling over the real tokens."""

    def pooled(family: MomentFamily, _: Sides) -> MomentFamily:
        return MomentFamily(PointPairs(False, outer=family.pairs.outer), (family.pairs.average(family.nngp),), (False,))

    zeros = jnp.zeros(len(m.means[0]), dtype=jnp.float64), jnp.zeros(len(m.means[1]), dtype=jnp.float64)
    return m.map(pooled, None if m.ntk is None else (m.cross.pairs.average(m.ntk),), zeros)


def finish_block(model: KernelModel, stream: StreamMoments, attended: StreamMoments) -> StreamMoments:
    """What follows attention in a block: residual sum, norms, dense layer."""
    arch = model.arch
    out = add(stream, attended) if arch.residual else attended
    out = layer_norm(out) if arch.norm == "post" else out
    hidden = dense(model, layer_norm(out) if arch.norm == "pre" else out)
    out = add(out, linear(hidden)) if arch.residual else hidden
    return layer_norm(out) if arch.norm == "post" else out


def readout(model: KernelModel, m: StreamMoments, *, pooled: bool = False) -> StreamMoments:
    """What follows the last block: norm, pooling unless it was done before, the extra layer, the readout weights."""
    arch = model.arch
    m = layer_norm(m) if arch.norm == "pre" else m
    m = pool(m) if arch.readout == "mean" and not pooled else m
    m = linear(m) if arch.extra_linear else m
    return linear(m, model.readout)


def kernel_of(m: StreamMoments) -> Array:
    """The tangent kernel where it was carried along, else the NNGP."""
    return m.cross.nngp[0] if m.ntk is None else m.ntk[0]
