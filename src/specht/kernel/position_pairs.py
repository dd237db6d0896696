r"""Every pair of positions, and the covariance of positional encodings that it needs, in units of $s_p$, as the width grows.

Learned positions are independent: $P_{ab} = \delta_{ab}$. Sinusoidal positions have frequencies $\omega = \Omega^{-u}$, $u$ uniform in
$[0, 1]$, $\Omega = 10^4$ (Vaswani et al. 2017), so that inner products and means over the width become integrals over $u$,

$$ P_{ab} = \int_0^1 \cos((a - b) \Omega^{-u})\, du = \frac{\mathrm{Ci}(|a-b|) - \mathrm{Ci}(|a-b|/\Omega)}{\ln \Omega}, $$

and likewise with the sine integral for the mean of the encoding at one position, which layer norm subtracts.
"""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import sici

from specht.architecture import Architecture
from specht.kernel.dual import root
from specht.kernel.model import KernelModel
from specht.kernel.pairs import Entries, Flags, Sequences, static

SLOWEST_WAVELENGTH = 1e4
"""Omega: the ratio of the fastest to the slowest frequency."""


def position_gram(arch: Architecture) -> np.ndarray:
    """P[a, b], shape (columns, columns), float64."""
    if arch.positions in ("none", "rotary"):
        return np.zeros((arch.columns, arch.columns))
    if arch.positions == "sinusoidal":
        column = np.arange(arch.columns)
        return _mean_cosine(np.abs(column[:, None] - column[None, :]))
    return np.eye(arch.columns)


def position_mean(arch: Architecture) -> np.ndarray:
    r"""Mean over the width of the encoding at each column, in units of $\sqrt{s_p}$: zero unless the encoding is fixed."""
    if arch.positions != "sinusoidal":
        return np.zeros(arch.columns)
    column = np.arange(arch.columns)
    mean_sine = (sici(column)[0] - sici(column / SLOWEST_WAVELENGTH)[0]) / math.log(SLOWEST_WAVELENGTH)
    return (_mean_cosine(column) + mean_sine) / math.sqrt(2)


def positions_are_trained(arch: Architecture) -> bool:
    """True if gradient descent moves the encodings, so that they add to the tangent kernel."""
    return arch.positions == "learned"


def _mean_cosine(angle: np.ndarray) -> np.ndarray:
    nonzero = np.where(angle > 0, angle, 1.0)
    mean = (sici(nonzero)[1] - sici(nonzero / SLOWEST_WAVELENGTH)[1]) / math.log(SLOWEST_WAVELENGTH)
    return np.where(angle > 0, mean, 1.0)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PositionPairs:
    """Every pair of positions: one entry of shape (n, columns, m, columns) if `outer`, else (n, columns, columns)."""

    x: Sequences
    y: Sequences
    positions: Float[Array, "columns columns"]
    """Covariance of positional encodings of unit variance."""
    positions_matter: Array
    symbols: int = static()
    causal: bool = static()
    has_positions: bool = static()
    outer: bool = static()

    def token_entries(self, variance: Array) -> Entries:
        left, right = self.expand(self.x.symbols, self.y.symbols)
        own = self.expand(variance[self.x.symbols], self.y.symbols)[0] if variance.ndim else variance
        return (jnp.where(left == right, own, 0.0),)

    def position_entries(self, variance: Array) -> Entries:
        if variance.ndim:
            deviation = root(variance)
            covariance = self.positions * deviation[:, None] * deviation[None, :]
        else:
            covariance = variance * self.positions
        return (covariance[None, :, None, :] if self.outer else covariance[None, :, :],)

    def same(self, block: int) -> Flags:
        if self.causal and block > 0:  # a second causal block sees the order of the first
            return (self._same_columns(),)
        if not self.has_positions:
            return (self._same_multisets(),)
        shape = jnp.broadcast_shapes(*(side.shape for side in self.expand(self.x.symbols, self.y.symbols)))
        flags = jax.lax.cond(
            self.positions_matter,
            lambda: jnp.broadcast_to(self._same_columns(), shape),
            lambda: jnp.broadcast_to(self._same_multisets(), shape),
        )
        return (flags,)

    def _same_multisets(self) -> Array:
        """Without positions attention sees the token that asks and the multiset of visible ones."""
        left, right = self.expand(self.x.symbols, self.y.symbols)
        return (left == right) & self._same_tally()

    def _same_columns(self) -> Array:
        """Which columns are one variable: with positions, equal columns of sequences that are equal up to there."""
        column = jnp.arange(self.positions.shape[0])
        same_column = column[:, None] == column[None, :]
        if not self.outer:
            return jnp.broadcast_to(same_column[None], (len(self.x.symbols), *same_column.shape))
        agree = (self.x.symbols[:, None] == self.y.symbols[None]) & (self.x.visible[:, None] == self.y.visible[None])  # (n, m, columns)
        differences = jnp.cumsum(~agree, axis=2)
        seen = differences if self.causal else differences[:, :, -1:]
        return same_column[None, :, None, :] & (seen == 0).transpose(0, 2, 1)[:, :, :, None]

    def _same_tally(self) -> Array:
        """Whether two queries see the same number of each token."""
        seen_x, seen_y = (jnp.cumsum(s.one_hot(self.symbols, jnp.float64), axis=1) for s in (self.x, self.y))
        if not self.causal:
            seen_x, seen_y = (jnp.broadcast_to(seen[:, -1:], seen.shape) for seen in (seen_x, seen_y))
        inner = jnp.einsum("nav,mbv->namb" if self.outer else "nav,nbv->nab", seen_x, seen_y)
        left, right = self.expand(jnp.sum(seen_x**2, axis=2), jnp.sum(seen_y**2, axis=2))
        return left + right == 2.0 * inner

    def total(self, entries: Entries) -> Array:
        first, second = (1, 3) if self.outer else (1, 2)
        left, right = self.expand(self.x.visible, self.y.visible)
        seen = jnp.where(left & right, entries[0], 0.0)
        if self.causal:
            return jnp.cumsum(jnp.cumsum(seen, axis=first), axis=second)
        return jnp.sum(seen, axis=(first, second), keepdims=True)

    def average(self, entries: Entries) -> Array:
        everything = dataclasses.replace(self, causal=False)
        axes = (1, 3) if self.outer else (1, 2)
        return jnp.squeeze(everything.total(entries) / everything.visible_pairs(), axis=axes)

    def visible_pairs(self) -> Array:
        # a padded query before every real token sees nothing; its entry is never read, and 1 keeps it finite
        seen_x, seen_y = (jnp.maximum(jnp.cumsum(s.visible, axis=1, dtype=jnp.float64), 1.0) for s in (self.x, self.y))
        if not self.causal:
            seen_x, seen_y = seen_x[:, -1:], seen_y[:, -1:]
        left, right = self.expand(seen_x, seen_y)
        return left * right

    def diagonal(self, entries: Entries) -> Array:
        return jnp.diagonal(entries[0], axis1=1, axis2=2)

    def expand(self, left: Array, right: Array) -> tuple[Array, Array]:
        if self.outer:
            return left[:, :, None, None], right[None, None, :, :]
        return left[:, :, None], right[:, None, :]

    def at_readout(self, entries: Entries) -> Entries:
        return (entries[0][:, -1, :, -1] if self.outer else entries[0][:, -1, -1],)


def position_pairs(model: KernelModel, x: Sequences, y: Sequences, positions: Array, *, outer: bool) -> PositionPairs:
    """Every pair of positions of two batches, or of each sequence with itself (`outer=False`, y is x)."""
    arch = model.arch
    return PositionPairs(x, y, positions, model.positions_matter, arch.symbols, arch.causal, arch.has_positions, outer)
