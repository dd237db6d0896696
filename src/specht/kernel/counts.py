r"""The kernel of linear attention as a function of counts: of one batch at many variances, and of contingency tables without sequences.

The kernel sees two sequences through a few counts (`specht.kernel.pairs.ClassPairs`). They are integers, so NumPy counts them as exactly as
a compiled program does. What is left to compile is a formula for each entry: a fifth of the time to compile, and about a fiftieth of the
time to run.

Where positions are learned or absent, $k(x, y)$ depends on two sequences only through their contingency table
$n_{vw} = \#\{a : x_a = v,\ y_a = w\}$ over the context and on their readout tokens, and of the table only a few sums enter.
So the spectrum of a kernel at any length needs one cheap evaluation a table, not one pass over a pair of sequences.
"""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from specht.architecture import Architecture, Kind, Variances
from specht.errors import InputError
from specht.kernel.forms import choose_form
from specht.kernel.kernel import Kernel
from specht.kernel.layers import kernel_of_classes
from specht.kernel.model import KernelModel, model_of
from specht.kernel.pairs import ClassPairs, Sequences, Shared, Side, classes_of_counts, classes_with_itself, sequences, take

_BLOCK = 256
"""Rows of a block: Grams of all sizes are cut into blocks of this size, or of a smaller power of two, and share a program."""
MAX_SYMBOLS = 4096
"""Tokens beyond which tallies would fill the memory, and `Kernel` cuts smaller blocks."""
_CHUNK = 2**17
"""Pairs evaluated at a time."""
_BYTE = 127
"""Most columns whose matches a byte counts."""


class CountedBatch:
    """A batch whose NNGP Gram is wanted at many variances, and by several architectures.

    >>> batch = CountedBatch([[0, 1, 1, 0], [1, 0, 0, 1]])
    >>> arch = Architecture(vocab=2, length=3)
    >>> batch.gram(arch).round(4).tolist(), batch.gram(arch, Variances(0.5, 0.0)).round(4).tolist()
    ([[15.0, 6.0], [6.0, 15.0]], [[1.0, 0.0], [0.0, 1.0]])

    Arguments:
        tokens: (n, columns).
        mask: True for the real tokens.
    """

    def __init__(self, tokens: Any, mask: Any = None) -> None:
        self.tokens, self.mask = np.asarray(tokens), None if mask is None else np.asarray(mask)
        self._tiles: dict[tuple[int, int, bool], list[_Tile]] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def gram(self, arch: Architecture, variances: Variances | None = None) -> np.ndarray:
        """The Gram of an architecture, with its own variances unless others are given; equal to `Kernel(arch, ...).nngp` to rounding."""
        model = model_of(arch, variances)
        if choose_form(arch, "nngp", of_each=model.of_each) != "classes" or arch.symbols > MAX_SYMBOLS:
            return np.asarray(Kernel(arch, variances=variances).nngp(self.tokens, mask=self.mask))
        result = np.empty((len(self), len(self)))
        with jax.enable_x64(True):
            for tile in self._tiles_of(arch):
                rows, columns = tile.rows, tile.columns
                values = np.asarray(_from_counts(model, tile.left, tile.right, tile.shared))
                values = values[: rows.stop - rows.start, : columns.stop - columns.start]
                # vectorised code need not round (i, j) and (j, i) alike; their mean does
                result[rows, columns] = (values + values.T) / 2.0 if rows == columns else values
                result[columns, rows] = result[rows, columns].T
        return result

    def leading(self, arch: Architecture, columns: int) -> tuple[np.ndarray, np.ndarray]:
        """The Gram (n, columns) of all sequences with the first `columns` of them, and k(x, x) of all (n,).

        What the other sequences share with each other is not counted, and nothing is kept for the next call.

        >>> gram, own = CountedBatch([[0, 1, 1, 0], [1, 0, 0, 1]]).leading(Architecture(vocab=2, length=3), 1)
        >>> gram.round(4).tolist(), own.round(4).tolist()
        ([[15.0], [6.0]], [15.0, 15.0])
        """
        model = model_of(arch)
        if choose_form(arch, "nngp") != "classes" or arch.symbols > MAX_SYMBOLS:
            kernel, masks = Kernel(arch), (None, None) if self.mask is None else (self.mask, self.mask[:columns])
            gram = kernel.nngp(self.tokens, self.tokens[:columns], mask=masks[0], mask_y=masks[1])
            return np.asarray(gram), np.asarray(kernel.diagonal(self.tokens, mask=self.mask))
        blocks = _blocks(sequences(arch, self.tokens, self.mask, "tokens"))
        result, own = np.empty((len(self), columns)), np.empty(len(self))
        with jax.enable_x64(True):
            for i, left in enumerate(blocks):
                own[left.place] = np.asarray(_with_itself(model, left.side))[: left.rows]
                for j, right in enumerate(blocks):
                    if right.place.start >= columns or (j > i and left.place.start < columns):
                        continue  # not wanted, or the transpose of a tile that is
                    shared = left.shared_with(right, arch.has_positions)
                    values = np.asarray(_from_counts(model, left.side, right.side, shared))[: left.rows, : right.rows]
                    values = (values + values.T) / 2.0 if i == j else values
                    result[left.place, right.place] = values[:, : columns - right.place.start]
                    if j < i and left.place.start < columns:
                        result[right.place, left.place] = values.T[:, : columns - left.place.start]
        return result, own

    def _tiles_of(self, arch: Architecture) -> list[_Tile]:
        """Blocks on and above the diagonal, counted at the first call for architectures that see the same symbols."""
        key = arch.vocab, arch.columns, arch.readout == "cls"
        if key not in self._tiles:
            self._tiles[key] = _count(sequences(arch, self.tokens, self.mask, "tokens"))
        return self._tiles[key]


class _Tile(NamedTuple):
    """A block of the Gram: where it stands, and what its sequences have in common."""

    rows: slice
    columns: slice
    left: Side
    right: Side
    shared: Shared


def _count(batch: Sequences) -> list[_Tile]:
    blocks = _blocks(batch)
    return [
        _Tile(left.place, right.place, left.side, right.side, left.shared_with(right))
        for at, left in enumerate(blocks)
        for right in blocks[at:]
    ]


def _blocks(batch: Sequences) -> list[_CountedBlock]:
    n = len(batch.symbols)
    size = min(_BLOCK, 1 << max(n - 1, 0).bit_length())
    symbols = int(batch.symbols.max()) + 1
    return [_CountedBlock(batch, slice(start, min(start + size, n)), size, symbols) for start in range(0, n, size)]


class _CountedBlock:
    """Sequences of one block, filled up to its size with copies of the first."""

    def __init__(self, whole: Sequences, place: slice, size: int, symbols: int) -> None:
        self.place, self.rows = place, place.stop - place.start
        batch = take(whole, place)
        order = np.resize(np.append(np.arange(len(batch.symbols)), np.zeros(size, int)), size)
        self.symbols, self.visible = batch.symbols[order].astype(np.int32), batch.visible[order]
        # float32 is exact below 2^24, which no count of sequences shorter than 4096 reaches, and twice as fast
        dtype = np.float32 if batch.symbols.shape[1] < 4096 else np.float64
        rows = np.broadcast_to(np.arange(size)[:, None], self.symbols.shape)[self.visible]
        places = rows * symbols + self.symbols[self.visible]
        self.tally = np.bincount(places, minlength=size * symbols).reshape(size, symbols).astype(dtype)
        self.real = self.visible.astype(dtype)
        squares = np.einsum("ij,ij->i", self.tally, self.tally, dtype=np.float64)
        self.side = Side(self.visible.sum(axis=1).astype(np.float64), squares, self.symbols[:, -1])

    def shared_with(self, other: _CountedBlock, positions: bool = True) -> Shared:
        """What the sequences of both share; without `positions` the counts that only positions ask for are zero."""
        tokens = self.tally @ other.tally.T
        if not positions:
            nothing = np.broadcast_to(np.zeros((), tokens.dtype), tokens.shape)
            return Shared(tokens, nothing, nothing)
        return Shared(tokens, matching_places(self._placed(-1), other._placed(-2)).astype(tokens.dtype), self.real @ other.real.T)

    def _placed(self, padding: int) -> np.ndarray:
        """Symbols, with a number for padding that matches nothing, not even padding, in as few bytes as hold them."""
        dtype = np.int16 if self.tally.shape[1] < 2**15 else np.int32
        return np.where(self.visible, self.symbols, padding).astype(dtype)


def matching_places(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """In how many columns each row of one batch agrees with each of another.

    >>> matching_places(np.array([[0, 1, 2]]), np.array([[0, 1, 0], [2, 0, 2]])).tolist()
    [[2, 1]]
    """
    matches = np.zeros((len(left), len(right)), np.int32)
    same = np.empty(matches.shape, bool)
    for start in range(0, left.shape[1], _BYTE):
        few = np.zeros(matches.shape, np.int8)  # four times as fast as whole numbers, and they hold this many
        for one, two in zip(left[:, start : start + _BYTE].T, right[:, start : start + _BYTE].T, strict=True):
            np.equal(one[:, None], two[None, :], out=same)
            few += same.view(np.int8)
        matches += few
    return matches


@jax.jit
def _from_counts(model: KernelModel, x: Side, y: Side, shared: Shared) -> jax.Array:
    """The kernel of all pairs of two blocks, from their counts."""
    model, x, y = jax.tree.map(jnp.asarray, (model, x, y))
    exact = Shared(*(jnp.asarray(count).astype(jnp.float64) for count in shared))
    cross, left, right = classes_of_counts(model, x, y, exact), classes_with_itself(model, x), classes_with_itself(model, y)
    return kernel_of_classes(model, cross, left, right, False)


@jax.jit
def _with_itself(model: KernelModel, x: Side) -> jax.Array:
    """The kernel of every sequence with itself."""
    model, x = jax.tree.map(jnp.asarray, (model, x))
    own = classes_with_itself(model, x)
    return kernel_of_classes(model, own, own, own, False)


@dataclasses.dataclass(frozen=True)
class PairCounts:
    """What the kernel sees of pairs of sequences, over all columns; arrays of one shape."""

    matches: Int[np.ndarray, "*pairs"]
    """Columns where both hold the same token."""
    same_token: Int[np.ndarray, "*pairs"]
    """Pairs of columns, one of each sequence, that hold the same token."""
    own_left: Int[np.ndarray, "*pairs"]
    """Pairs of columns of the left sequence that hold the same token."""
    own_right: Int[np.ndarray, "*pairs"]
    readouts_agree: Bool[np.ndarray, "*pairs"]

    @classmethod
    def of_tables(
        cls,
        arch: Architecture,
        tables: Int[np.ndarray, "*pairs vocab vocab"],
        left: Int[np.ndarray, "*pairs"],
        right: Int[np.ndarray, "*pairs"],
    ) -> PairCounts:
        """Counts of contingency tables of the context with readout tokens `left` and `right`, which only readout "last" looks at."""
        vocab, last = range(arch.vocab), arch.readout == "last"
        agree = (left == right) if last else np.ones(tables.shape[:-2], dtype=bool)
        extra = agree.astype(tables.dtype) if arch.readout != "mean" else 0  # the readout column, in which they may agree
        matches: Any = sum(tables[..., v, v] for v in vocab) + extra
        # token by token: sums over the short last axes take several times as long
        tally_left = [sum(tables[..., v, w] for w in vocab) + (left == v if last else 0) for v in vocab]
        tally_right = [sum(tables[..., v, w] for v in vocab) + (right == w if last else 0) for w in vocab]
        classes = 1 if arch.readout == "cls" else 0  # the class symbol, in both and nowhere else

        def pairs(first: list[Any], second: list[Any]) -> Any:
            return sum(a * b for a, b in zip(first, second, strict=True)) + classes

        return cls(matches, pairs(tally_left, tally_right), pairs(tally_left, tally_left), pairs(tally_right, tally_right), agree)


def kernel_of_counts(arch: Architecture, counts: PairCounts, kind: Kind) -> Float[np.ndarray, "*pairs"]:
    """The kernel of every pair, in float64."""
    if choose_form(arch, kind) != "classes":
        raise InputError(f"The kernel of {arch} is not a closed function of token counts: evaluate it on sequences.")
    shape = counts.matches.shape
    flat = [np.ascontiguousarray(part).ravel() for part in vars(counts).values()]
    total = math.prod(shape)
    size = min(_CHUNK, 1 << max(0, total - 1).bit_length())  # few shapes, few compilations
    values = np.empty(total)
    model = model_of(arch)
    with jax.enable_x64(True):
        for start in range(0, total, size):
            parts = [part[start : start + size] for part in flat]
            missing = size - len(parts[0])
            padded = [np.concatenate([part, np.repeat(part[:1], missing)]) if missing else part for part in parts]
            values[start : start + size] = np.asarray(_evaluate(model, *padded, kind=kind))[: len(parts[0])]
    return values.reshape(shape)


@partial(jax.jit, static_argnames="kind")
def _evaluate(model: KernelModel, matches, same_token, own_left, own_right, agree: Array, *, kind: Kind) -> Float[Array, " pairs"]:
    arch = model.arch
    columns = jnp.full(matches.shape, arch.columns, dtype=jnp.float64)
    matches, same_token, own_left, own_right = (part.astype(jnp.float64) for part in (matches, same_token, own_left, own_right))
    same_tally = own_left + own_right == 2.0 * same_token
    coincide = jnp.where(model.positions_matter, matches == columns, same_tally) if arch.has_positions else same_tally

    def pairs(matches: Array, same_token: Array, coincide: Array | bool, agree: Array | bool) -> ClassPairs:
        if arch.has_positions:
            classes = matches, columns - matches, same_token - matches, columns**2 - columns - same_token + matches
        else:
            classes = same_token, columns**2 - same_token
        return ClassPairs(classes, columns**2, coincide, agree, outer=False)

    families = pairs(matches, same_token, coincide, agree), pairs(columns, own_left, True, True), pairs(columns, own_right, True, True)
    return kernel_of_classes(model, *families, kind == "ntk")
