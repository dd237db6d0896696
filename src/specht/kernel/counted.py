"""The Gram of one batch at many variances: what does not depend on them is counted once, and hardly anything is compiled.

The kernel of linear attention sees two sequences through a few counts (`specht.kernel.pairs.ClassPairs`). They are integers, so NumPy
counts them as exactly as a compiled program does. What is left to compile is a formula for each entry: a fifth of the time to compile, and
about a fiftieth of the time to run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from specht.architecture import Architecture, Variances
from specht.kernel.batches import sequences, take
from specht.kernel.closed import propagate
from specht.kernel.forms import choose_form
from specht.kernel.kernel import Kernel
from specht.kernel.layers import embedding
from specht.kernel.model import KernelModel, model_of
from specht.kernel.pairs import Sequences, Shared, Side, classes_of_counts, classes_with_itself

_BLOCK = 256
"""Rows of a block: Grams of all sizes are cut into blocks of this size, or of a smaller power of two, and share a program."""
MAX_SYMBOLS = 4096
"""Tokens beyond which tallies would fill the memory, and `Kernel` cuts smaller blocks."""


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
    return propagate(model, embedding(model, cross, left, right, jnp.zeros((), dtype=jnp.float64), ntk=False))
