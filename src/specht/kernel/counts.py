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
    n = len(batch.symbols)
    size = min(_BLOCK, 1 << max(n - 1, 0).bit_length())
    places = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    symbols = int(batch.symbols.max()) + 1
    blocks = [_CountedBlock(take(batch, place), size, symbols) for place in places]
    return [
        _Tile(places[i], places[j], blocks[i].side, blocks[j].side, blocks[i].shared_with(blocks[j]))
        for i in range(len(blocks))
        for j in range(i, len(blocks))
    ]


class _CountedBlock:
    """Sequences of one block, filled up to its size with copies of the first."""

    def __init__(self, batch: Sequences, size: int, symbols: int) -> None:
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

    def shared_with(self, other: _CountedBlock) -> Shared:
        # padding matches nothing, not even padding
        left, right = np.where(self.visible, self.symbols, -1).T, np.where(other.visible, other.symbols, -2).T
        matches = np.zeros((left.shape[1], right.shape[1]), np.int32)
        for one, two in zip(left, right, strict=True):
            matches += one[:, None] == two[None, :]
        return Shared(self.tally @ other.tally.T, matches.astype(self.real.dtype), self.real @ other.real.T)


@jax.jit
def _from_counts(model: KernelModel, x: Side, y: Side, shared: Shared) -> jax.Array:
    """The kernel of all pairs of two blocks, from their counts."""
    model, x, y = jax.tree.map(jnp.asarray, (model, x, y))
    exact = Shared(*(jnp.asarray(count).astype(jnp.float64) for count in shared))
    cross, left, right = classes_of_counts(model, x, y, exact), classes_with_itself(model, x), classes_with_itself(model, y)
    return kernel_of_classes(model, cross, left, right, False)


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
