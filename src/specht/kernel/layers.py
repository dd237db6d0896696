r"""How each layer of an infinitely wide transformer acts on covariances, and kernels that follow from it without sampling.

The stream $z_a(X)$ of a wide network is described by its second moments $K_{ab}(X, Y) = z_a(X) \cdot z_b(Y) / d$ (NNGP) and by the
tangent kernel $\Theta_{ab}(X, Y)$, the inner product of gradients. `StreamMoments` carries both for the pairs of two batches, together
with the moments of each sequence with itself, whose diagonal supplies the variances that activations and norms divide by.

Scores of an untied attention head at scaling $1/\sqrt{d_k}$ are Gaussian, $E[S_{ab}(X) S_{a'b'}(Y)] = K_{aa'} K_{bb'}$ with $K$ the
covariance that queries and keys read, and many heads average (Hron et al. 2020):

$$ K^1_{ab} = \sum_{ef} E[\Phi_{ae}(X) \Phi_{bf}(Y)]\, V_{ef}, \qquad V = \text{covariance that values read}. $$

Linear attention closes, $K^1_{ab} = K_{ab} \sum_{ef} K_{ef} V_{ef}$. Tied queries and keys at scaling $1/d_k$ make scores deterministic,
$S_{ab}(X) = K_{ab}(X, X)$.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from specht.architecture import Architecture, Kind
from specht.kernel.dual import activation_mean, dual, root
from specht.kernel.model import KernelModel
from specht.kernel.pairs import ClassPairs, Entries, Flags, Sequences, class_pairs, class_pairs_with_itself, static
from specht.kernel.position_pairs import position_gram, position_mean, position_pairs, positions_are_trained

Bookkeeping = Literal["classes", "positions"]


@partial(jax.jit, static_argnames=("kind", "bookkeeping", "same"))
def closed_kernel(
    model: KernelModel, x: Sequences, y: Sequences | None, *, kind: Kind, bookkeeping: Bookkeeping, same: bool = False
) -> Array:
    """The kernel of every sequence of `x` with every sequence of `y`, or of every sequence with itself (`y=None`).

    `same` says that y is x, so that what belongs to one batch is computed once.
    """
    model, x, y = jax.tree.map(jnp.asarray, (model, x, y))  # without compilation they are still NumPy
    y = x if same else y
    if bookkeeping == "classes":
        left = class_pairs_with_itself(model, x)
        pairs = (left, left, left) if y is None else (class_pairs(model, x, y), left, class_pairs_with_itself(model, y))
        # Derivatives compute it again from the counts, which takes less time than keeping every step.
        return jax.checkpoint(kernel_of_classes, static_argnums=4)(model, *pairs, kind == "ntk")
    return propagate(model, embed(model, x, y, ntk=kind == "ntk"))


def kernel_of_classes(model: KernelModel, cross: ClassPairs, left: ClassPairs, right: ClassPairs, ntk: bool) -> Array:
    """The kernel from counts of position pairs: between two batches, and of each sequence of either with itself."""
    return propagate(model, embedding(model, cross, left, right, jnp.zeros((), dtype=jnp.float64), ntk=ntk))


def embed(model: KernelModel, x: Sequences, y: Sequences | None, *, ntk: bool) -> StreamMoments:
    """Moments of the embedded tokens, position by position, of all pairs of two batches or of each sequence with itself (`y=None`)."""
    positions = jnp.asarray(position_gram(model.arch), dtype=jnp.float64)
    mean = jnp.asarray(position_mean(model.arch), dtype=jnp.float64)[None, :]
    left = position_pairs(model, x, x, positions, outer=False)
    if y is None:
        return embedding(model, left, left, left, mean, ntk=ntk)
    cross = position_pairs(model, x, y, positions, outer=True)
    return embedding(model, cross, left, position_pairs(model, y, y, positions, outer=False), mean, ntk=ntk)


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


def propagate(model: KernelModel, stream: StreamMoments) -> Array:
    """The kernel, given the moments of the embedded tokens."""
    arch = model.arch
    attend = tied_attention if arch.scaling == "tied" else linear_attention
    for block in range(arch.depth):
        attended = attend(model, layer_norm(stream) if arch.norm == "pre" else stream, block)
        if block == arch.depth - 1 and arch.readout != "mean":
            stream, attended = at_readout(stream), at_readout(attended)
        stream = finish_block(model, stream, attended)
    return kernel_of(readout(model, stream))


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

    @classmethod
    def of(
        cls, pairs: tuple[Any, Any, Any], nngp: tuple[Entries, ...], ntk: Entries | None, means: tuple[Array, Array], block: int = 0
    ) -> StreamMoments:
        """Moments behind attention block `block`, over the bookkeepings of cross, left and right."""
        cross, left, right = (MomentFamily(kept, entries, kept.same(block)) for kept, entries in zip(pairs, nngp, strict=True))
        return cls(cross, left, right, ntk, means)

    def map(
        self, change: Callable[[MomentFamily, Sides], MomentFamily], ntk: Entries | None, means: tuple[Array, Array] | None = None
    ) -> StreamMoments:
        """Every family changed, given its sides; means are zero unless they are given."""
        cross, left, right = (change(family, sides) for family, sides in self.with_sides())
        return StreamMoments(cross, left, right, ntk, self.zero_means() if means is None else means)

    @property
    def pairs(self) -> tuple[Any, Any, Any]:
        """The bookkeepings of cross, left and right."""
        return self.cross.pairs, self.left.pairs, self.right.pairs

    def zero_means(self) -> tuple[Array, Array]:
        """What is the mean of a stream that ends in a matrix of its own."""
        return jnp.zeros_like(self.means[0]), jnp.zeros_like(self.means[1])

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


def linear_attention(model: KernelModel, m: StreamMoments, block: int) -> StreamMoments:
    r"""Linear attention: $K^1 = K \sum K V$ and, every factor of the product contributing its own gradient,

    $$ \Theta^1 = 4 K^1 + \Theta \sum K V + K \Big(\sum \Theta V + \sum K \Theta^V\Big), $$

    where $4 K^1$ comes from $W_O, W_V, W_Q, W_K$ and the rest from the inputs of queries, keys and values.
    """

    def contract(family: MomentFamily, first: Entries, second: Entries) -> Array:
        total = family.pairs.total(entrywise(lambda a, b: a * b, first, second))
        return total / family.pairs.visible_pairs() if model.arch.normalised else total

    def attend(family: MomentFamily, _: Sides) -> MomentFamily:
        read = with_positions(model, family.pairs, family.nngp)
        weight = contract(family, read, family.nngp)
        return MomentFamily(family.pairs, entrywise(lambda k: k * weight, read), family.pairs.same(block))

    out = m.map(attend, None)
    if m.ntk is None:
        return out
    read = with_positions(model, m.cross.pairs, m.cross.nngp)
    tangent = with_positions(model, m.cross.pairs, m.ntk, tangent=True)
    weight = contract(m.cross, read, m.cross.nngp)
    slope = contract(m.cross, tangent, m.cross.nngp) + contract(m.cross, read, m.ntk)
    ntk = entrywise(lambda k1, k, theta: 4.0 * k1 + theta * weight + k * slope, out.cross.nngp, read, tangent)
    return dataclasses.replace(out, ntk=ntk)


def with_positions(model: KernelModel, pairs, entries: Entries, *, tangent: bool = False) -> Entries:
    """What queries and keys read: the stream, plus the positions where the stream itself does not hold them."""
    arch = model.arch
    if arch.values_see_positions or not arch.has_positions or (tangent and not positions_are_trained(arch)):
        return entries
    return entrywise(lambda k, p: k + p, entries, pairs.position_entries(model.positions))


def tied_attention(model: KernelModel, m: StreamMoments, block: int) -> StreamMoments:
    r"""Tied queries and keys at $1/d_k$: deterministic weights $A(X) = \Phi(K(X, X))$, $K^1 = A V A'^T$.

    The gradient through the scores vanishes like $1/d_k$, so $\Theta^1 = 2 K^1 + A \Theta^V A'^T$.
    """
    left, right = (
        attention_weights(model.arch, with_positions(model, f.pairs, f.nngp)[0], visible_keys(model.arch, f.pairs.x))
        for f in (m.left, m.right)
    )

    def attend(family: MomentFamily, first: Array, second: Array) -> Entries:
        return (apply_weights(first, family.nngp[0], second),)

    cross, own_left, own_right = attend(m.cross, left, right), attend(m.left, left, left), attend(m.right, right, right)
    ntk = None if m.ntk is None else (2.0 * cross[0] + apply_weights(left, m.ntk[0], right),)
    return StreamMoments.of(m.pairs, (cross, own_left, own_right), ntk, m.zero_means(), block)


def visible_keys(arch: Architecture, x: Sequences) -> Array:
    """Which keys each query sees, shape (n, columns, columns)."""
    columns = x.visible.shape[1]
    order = jnp.tril(jnp.ones((columns, columns), dtype=bool)) if arch.causal else jnp.ones((columns, columns), dtype=bool)
    return x.visible[:, None, :] & order[None]


def attention_weights(arch: Architecture, scores: Array, visible: Array) -> Array:
    """Phi of the scores (n, queries, keys), zero where nothing is visible."""
    if arch.attention == "softmax":
        return masked_softmax(scores, visible)
    weights = jnp.where(visible, scores, 0.0)
    count = jnp.maximum(jnp.sum(visible, axis=-1, keepdims=True, dtype=jnp.float64), 1.0)
    return weights / count if arch.normalised else weights


def masked_softmax(scores: Array, visible: Array) -> Array:
    """Softmax over the last axis among visible entries; a query that sees nothing gets zeros instead of 0/0."""
    shifted = scores - jax.lax.stop_gradient(jnp.max(jnp.where(visible, scores, -jnp.inf), axis=-1, keepdims=True, initial=-1e300))
    weights = jnp.where(visible, jnp.exp(jnp.where(visible, shifted, 0.0)), 0.0)
    return weights / jnp.maximum(jnp.sum(weights, axis=-1, keepdims=True), 1e-300)


def apply_weights(left: Array, covariance: Array, right: Array) -> Array:
    """A K A'^T on every pair: (n, a, e), (n, e, m, f), (m, b, f), or inside each sequence: (n, a, e), (n, e, f), (n, b, f)."""
    if covariance.ndim == 4:
        half = jnp.einsum("nae,nemf->namf", left, covariance)
        return jnp.einsum("namf,mbf->namb", half, right)
    return jnp.einsum("nae,nef,nbf->nab", left, covariance, right)


def at_readout(m: StreamMoments) -> StreamMoments:
    """The readout column alone: what comes after it acts entry by entry, so the other columns are not needed."""

    def point(family: MomentFamily, _: Sides) -> MomentFamily:
        same = family.pairs.at_readout(tuple(jnp.asarray(flag) for flag in family.same))
        return MomentFamily(PointPairs(same[0], outer=family.pairs.outer), family.pairs.at_readout(family.nngp), same)

    left, right = (mean if mean.ndim == 1 else mean[:, -1] for mean in m.means)
    return m.map(point, None if m.ntk is None else m.cross.pairs.at_readout(m.ntk), (left, right))


def finish_block(model: KernelModel, stream: StreamMoments, attended: StreamMoments) -> StreamMoments:
    """What follows attention in a block: residual sum, norms, dense layer."""
    arch = model.arch
    out = add(stream, attended) if arch.residual else attended
    out = layer_norm(out) if arch.norm == "post" else out
    hidden = dense(model, layer_norm(out) if arch.norm == "pre" else out)
    out = add(out, linear(hidden)) if arch.residual else hidden
    return layer_norm(out) if arch.norm == "post" else out


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


def readout(model: KernelModel, m: StreamMoments, *, pooled: bool = False) -> StreamMoments:
    """What follows the last block: norm, pooling unless it was done before, the extra layer, the readout weights."""
    arch = model.arch
    m = layer_norm(m) if arch.norm == "pre" else m
    m = pool(m) if arch.readout == "mean" and not pooled else m
    m = linear(m) if arch.extra_linear else m
    return linear(m, model.readout)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PointPairs:
    """The readout column of each sequence: one entry, shape (n, m) if `outer`, else (n,)."""

    coincide: Array | bool
    outer: bool = static()

    def same(self, block: int) -> Flags:
        return (self.coincide,)

    def diagonal(self, entries: Entries) -> Array:
        return entries[0]

    def expand(self, left: Array, right: Array) -> tuple[Array, Array]:
        return (left[:, None], right[None, :]) if self.outer else (left, right)


def pool(m: StreamMoments) -> StreamMoments:
    """Mean pooling over the real tokens."""

    def pooled(family: MomentFamily, _: Sides) -> MomentFamily:
        return MomentFamily(PointPairs(False, outer=family.pairs.outer), (family.pairs.average(family.nngp),), (False,))

    zeros = jnp.zeros(len(m.means[0]), dtype=jnp.float64), jnp.zeros(len(m.means[1]), dtype=jnp.float64)
    return m.map(pooled, None if m.ntk is None else (m.cross.pairs.average(m.ntk),), zeros)


def kernel_of(m: StreamMoments) -> Array:
    """The tangent kernel where it was carried along, else the NNGP."""
    return m.cross.nngp[0] if m.ntk is None else m.ntk[0]
