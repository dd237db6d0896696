r"""Pairs of positions: over which index pairs (a, b) a covariance $K_{ab}(X, Y)$ is kept.

A layer maps covariances entry by entry, and attention adds a sum over the pairs that a query sees. So the same layers serve
three bookkeepings with the same methods, from the smallest to the largest:

* `PointPairs` (in `specht.kernel.layers`): the readout column only, one entry a pair of sequences;
* `ClassPairs`: for one-hot tokens and independent positions, $K_{ab}$ depends on (a, b) only through "same position?" and
  "same token?", so that four entries, weighted by integer counts, carry the whole T x T covariance through any depth;
* `PositionPairs` (in `specht.kernel.position_pairs`): every (a, b), needed by a causal mask or fixed positions.

Each exists for all pairs of two batches (`outer`, shapes (n, m)) and for each sequence with itself (shapes (n,)).
`same` marks the entries that are one and the same variable in both sequences, decided on integers, never on rounded covariances.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, UInt

from specht.architecture import Architecture
from specht.errors import InputError
from specht.kernel.model import KernelModel
from specht.sequences import check_batch


def static() -> Any:
    """A field that is part of the structure, not of the numbers, when JAX compiles."""
    return dataclasses.field(metadata={"static": True})


_CACHED = 2**17
"""Bytes of counts that stay in the processor's cache while columns are gone through."""
_FEW_SYMBOLS = 8
"""Number of symbols up to which a product of one-hot tokens counts matching columns faster than comparing them."""
Entries = tuple[Array, ...]
Flags = tuple[Array | bool, ...]


class Sequences(NamedTuple):
    """A batch as the network sees it, in NumPy outside compiled code and in JAX inside."""

    symbols: Any
    """Tokens, with the class symbol filled in: integers (n, columns)."""
    visible: Any
    """Which tokens are real: booleans (n, columns)."""
    counts: Any = None
    """How often each symbol occurs (n, symbols), in a batch that was counted once to meet many others."""
    places: Any = None
    """Which symbol stands where, one-hot (n, columns x symbols), in a counted batch of few symbols."""
    code: Any = None
    """Fingerprints (n,), in a counted batch."""

    def sizes(self) -> Float[Array, " n"]:
        """Number of real tokens of each sequence."""
        return jnp.sum(self.visible, axis=1, dtype=jnp.float64)

    def fingerprint(self) -> UInt[Array, " n"]:
        """A 64-bit number for each sequence with its padding: equal for equal ones, and for others with probability 2^-64."""
        if self.code is not None:
            return self.code
        columns = self.symbols.shape[1]
        code = jnp.where(self.visible, self.symbols.astype(jnp.uint64) + 1, 0) * columns + jnp.arange(columns, dtype=jnp.uint64)[None, :]
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 0x9E3779B97F4A7C15)):  # mixes every bit
            code = (code ^ (code >> shift)) * jnp.uint64(factor)
        return jnp.sum(code ^ (code >> 29), axis=1, dtype=jnp.uint64)

    @property
    def count_dtype(self) -> Any:
        """float32 is exact on counts below 2^24, the square of 4096 columns, and twice as fast."""
        return jnp.float32 if self.symbols.shape[1] < 4096 else jnp.float64

    def counted(self, symbols: int) -> Sequences:
        """Count everything that depends on this batch alone, and keep it in the batch."""
        hot = self.one_hot(symbols, self.count_dtype)
        places = hot.reshape(len(hot), -1) if symbols <= _FEW_SYMBOLS else None
        return self._replace(counts=self.tally(symbols), places=places, code=self.fingerprint())

    def tally(self, symbols: int) -> Float[Array, "n symbols"]:
        """How often each symbol occurs."""
        return jnp.sum(self.one_hot(symbols, self.count_dtype), axis=1) if self.counts is None else self.counts

    def one_hot(self, symbols: int, dtype) -> Float[Array, "n columns symbols"]:
        hot = self.symbols[:, :, None] == jnp.arange(symbols, dtype=self.symbols.dtype)[None, None, :]
        return (hot & self.visible[:, :, None]).astype(dtype)


def sequences(arch: Architecture, tokens: Any, mask: Any, name: str) -> Sequences:
    """Checked tokens and mask, with the class symbol filled in."""
    checked, visible = check_batch(arch, tokens, mask, name)
    if arch.readout == "cls":
        checked = checked.copy()
        checked[:, -1] = arch.vocab
    return Sequences(checked, visible)


def both(arch: Architecture, x: Any, y: Any, mask: Any, mask_y: Any) -> tuple[Sequences, Sequences | None]:
    """Two batches, the second of which may be left out."""
    if y is None and mask_y is not None:
        raise InputError("mask_y belongs to y, and no y was given: leave it out.")
    return sequences(arch, x, mask, "x"), None if y is None else sequences(arch, y, mask_y, "y")


def take(batch: Sequences, at: slice) -> Sequences:
    """Some of the rows."""
    return Sequences(batch.symbols[at], batch.visible[at])


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ClassPairs:
    """Entries by class of position pair: (same position and token, same position only, same token only, neither); without
    positional encodings the first column of that table is dropped and two entries are left: (same token, another token)."""

    counts: tuple[Array, ...]
    sizes: Array  # T_x T_y
    coincide: Array | bool
    readout_agrees: Array | bool
    outer: bool = static()

    @property
    def has_positions(self) -> bool:
        return len(self.counts) == 4

    def token_entries(self, variance: Array) -> Entries:
        """Covariance of the token embeddings: their variance where the two positions hold the same token."""
        zero = jnp.zeros_like(variance)
        return (variance, zero, variance, zero) if self.has_positions else (variance, zero)

    def position_entries(self, variance: Array) -> Entries:
        """Covariance of the positional encodings."""
        zero = jnp.zeros_like(variance)
        return (variance, variance, zero, zero) if self.has_positions else (zero, zero)

    def same(self, block: int) -> Flags:
        """Entries whose two variables coincide after attention block `block` (0, 1, ...)."""
        return (self.coincide,) + (False,) * (len(self.counts) - 1)

    def total(self, entries: Entries) -> Array:
        """Sum over the pairs that each query pair sees, broadcastable against the entries."""
        return sum((count * entry for count, entry in zip(self.counts, entries, strict=True)), start=jnp.zeros_like(self.sizes))

    def average(self, entries: Entries) -> Array:
        """Mean over all pairs of real tokens: mean pooling."""
        return self.total(entries) / self.sizes

    def visible_pairs(self) -> Array:
        """How many pairs each query pair sees, broadcastable against the entries."""
        return self.sizes

    def diagonal(self, entries: Entries) -> Array:
        """Variances, from the entries of each sequence with itself."""
        return jnp.broadcast_to(entries[0], self.sizes.shape)

    def expand(self, left: Array, right: Array) -> tuple[Array, Array]:
        """Variances of the left and right batch, broadcastable against the entries."""
        return (left[:, None], right[None, :]) if self.outer else (left, right)

    def at_readout(self, entries: Entries) -> Entries:
        """The entry of the two readout columns, a single array for `PointPairs`."""
        return (jnp.broadcast_to(jnp.where(self.readout_agrees, entries[0], entries[1]), self.sizes.shape),)


def matching_columns(x: Sequences, y: Sequences, weights: Float[Array, "n columns"], other: Array | None = None) -> Float[Array, "n m"]:
    """Columns in which both hold the same real token, counted with weights of the left and, if given, of the right sequence.

    Column by column: comparing costs less than the product of one-hot tokens, which multiplies by zero V - 1 times out of V.
    """

    @partial(jax.checkpoint, prevent_cse=False)  # a scan needs no guard against merging what is computed again with what was
    def add_column(total: Array, column: tuple[Array, ...]) -> tuple[Array, None]:
        left, right, weight, *factor = column
        value = weight[:, None] * factor[0][None, :] if factor else weight[:, None]
        return total + jnp.where(left[:, None] == right[None, :], value, jnp.zeros((), weight.dtype)), None

    # padding matches nothing, not even padding
    left, right = jnp.where(x.visible, x.symbols, -1), jnp.where(y.visible, y.symbols, -2)
    of_right = tuple(part.T for part in (right, *([] if other is None else [other])))

    def some_rows(rows: tuple[Array, Array]) -> Array:
        symbols, weight = (part.T for part in rows)
        columns = symbols, of_right[0], weight, *of_right[1:]
        return jax.lax.scan(add_column, jnp.zeros((symbols.shape[1], len(right)), dtype=weights.dtype), columns)[0]

    step = max(8, _CACHED // (len(right) * weights.dtype.itemsize))
    if len(left) <= step:
        return some_rows((left, weights))
    blocks = -(-len(left) // step)
    parts = (jnp.pad(part, ((0, blocks * step - len(left)), (0, 0))).reshape(blocks, step, -1) for part in (left, weights))
    return jax.lax.map(some_rows, tuple(parts)).reshape(blocks * step, -1)[: len(left)]


class Side(NamedTuple):
    """What classes of position pairs need to know of every sequence of a batch."""

    sizes: Any
    """Real tokens (n,)."""
    squares: Any
    """Pairs of columns of the sequence with itself that hold the same token (n,)."""
    last: Any
    """Symbol in the readout column (n,)."""


class Shared(NamedTuple):
    """What every sequence of one batch shares with every sequence of another: counts (n, m)."""

    tokens: Any
    """Pairs of columns that hold the same token."""
    matches: Any
    """Columns in which both hold the same token; None without positions."""
    overlap: Any
    """Columns that are real in both; None without positions."""


def class_pairs(model: KernelModel, x: Sequences, y: Sequences) -> ClassPairs:
    """Classes of position pairs of all pairs of sequences, counted by two matrix products of one-hot tokens."""
    x, y = (batch if batch.counts is not None else batch.counted(model.arch.symbols) for batch in (x, y))
    tally_x, tally_y = x.counts, y.counts
    matches = overlap = None
    if model.arch.has_positions:
        if x.places is not None and y.places is not None:
            matches = count_product(x.places, y.places)
        else:
            matches = matching_columns(x, y, x.visible.astype(x.count_dtype)).astype(jnp.float64)
        overlap = count_product(*(batch.visible.astype(batch.count_dtype) for batch in (x, y)))
    return classes_of_counts(model, _side(x, tally_x), _side(y, tally_y), Shared(count_product(tally_x, tally_y), matches, overlap))


def class_pairs_with_itself(model: KernelModel, x: Sequences) -> ClassPairs:
    """Classes of position pairs inside each sequence."""
    return classes_with_itself(model, _side(x, x.tally(model.arch.symbols)))


def _side(x: Sequences, tally: Array) -> Side:
    return Side(x.sizes(), jnp.sum(tally**2, axis=1).astype(jnp.float64), x.symbols[:, -1])


def classes_of_counts(model: KernelModel, x: Side, y: Side, shared: Shared) -> ClassPairs:
    """Classes of position pairs of all pairs of sequences, from what was counted."""
    same_token, matches, overlap = shared
    sizes = x.sizes[:, None] * y.sizes[None, :]
    agrees = x.last[:, None] == y.last[None, :]
    same_tally = x.squares[:, None] + y.squares[None, :] == 2.0 * same_token
    if not model.arch.has_positions:
        return ClassPairs((same_token, sizes - same_token), sizes, same_tally, agrees, outer=True)
    counts = (matches, overlap - matches, same_token - matches, sizes - overlap - same_token + matches)
    identical = (matches == x.sizes[:, None]) & (matches == y.sizes[None, :])
    coincide = jnp.where(model.positions_matter, identical, same_tally)
    return ClassPairs(counts, sizes, coincide, agrees, outer=True)


def classes_with_itself(model: KernelModel, x: Side) -> ClassPairs:
    """Classes of position pairs inside each sequence, from what was counted."""
    size, same_token = x.sizes, x.squares
    if model.arch.has_positions:
        counts = (size, jnp.zeros_like(size), same_token - size, size**2 - same_token)
    else:
        counts = (same_token, size**2 - same_token)
    return ClassPairs(counts, size**2, True, True, outer=False)


def count_product(left: Array, right: Array) -> Float[Array, "n m"]:
    """All pairs of rows of counts, which are exact in full precision."""
    return outer(left, right).astype(jnp.float64)


def outer(left: Float[Array, "n features"], right: Float[Array, "m features"]) -> Float[Array, "n m"]:
    """All pairs of rows, in full precision, which accelerators lower unless told."""
    return jnp.matmul(left, right.T, precision=jax.lax.Precision.HIGHEST)


def rows(left: Float[Array, "n features"], right: Float[Array, "n features"]) -> Float[Array, " n"]:
    """Each row with the one beside it."""
    return jnp.sum(left * right, axis=1)
