"""How a Gram of any size is evaluated: tile by tile within a bound of memory, by halves where it is symmetric, and on how many heads."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from specht.architecture import Kind
from specht.kernel.features import CHUNK, GROUPS, HEADS_STEP, whole_groups
from specht.kernel.forms import Form
from specht.kernel.gram import Gram
from specht.kernel.layers import closed_kernel
from specht.kernel.model import KernelModel
from specht.kernel.one_block import sampled_kernel, tied_kernel, weighted_kernel
from specht.kernel.pairs import Sequences, take
from specht.progress import Progress, report

_MARGIN = 1.3
"""More heads than the pilot asks for: its sequences are few, and its error is itself an estimate."""


class TileProgram(NamedTuple):
    """What is evaluated on every tile."""

    model: KernelModel
    form: Form
    kind: Kind
    seed: int
    heads: int | None
    """Heads to draw; None where the kernel is exact."""

    @property
    def steps(self) -> int:
        """Signs of progress that a tile gives."""
        return 1 if self.heads is None else GROUPS

    def __call__(self, x: Sequences, y: Sequences | None, tick: Callable[[], None] | None = None) -> tuple[jax.Array, ...]:
        """The kernel of a tile, and its standard error where heads are sampled; without a second batch, of each sequence with itself."""
        if self.heads is not None:
            return sampled_kernel(self.model, x, y, seed=self.seed, chunks=self.heads // HEADS_STEP, kind=self.kind, tick=tick)
        # What belongs to one batch is computed once where it is expensive; elsewhere one program for all tiles saves a compilation.
        same = y is x and (self.form == "tied" or (self.form != "positions" and x.counts is None))
        value = jax.block_until_ready(exact_kernel(self.model, x, None if same else y, form=self.form, kind=self.kind, same=same))
        if tick is not None:
            tick()
        return (value,)


def exact_kernel(model: KernelModel, x: Sequences, y: Sequences | None, *, form: Form, kind: Kind, same: bool = False) -> jax.Array:
    """The kernel of a form that needs no sampling; `y=None` gives the diagonal, and `same` says that y is x."""
    if form == "tied":
        return tied_kernel(model, x, y, kind=kind, same=same)
    if form == "weighted":
        return weighted_kernel(model, x, y, kind=kind, same=same)
    return closed_kernel(model, x, y, kind=kind, bookkeeping="classes" if form == "classes" else "positions", same=same)


def tiled_gram(program: TileProgram, x: Sequences, y: Sequences | None, memory: int, progress: Progress | None = None) -> Gram:
    """The kernel of all pairs of sequences; only half of the tiles are evaluated when `y` is None (y = x)."""
    n, m = len(x.symbols), len(x.symbols if y is None else y.symbols)
    left = _Blocks(x, program, memory)
    right = left if y is None else _Blocks(y, program, memory)
    wanted = [(i, j) for i in range(len(left.places)) for j in range(len(right.places)) if y is not None or i <= j]
    results = [np.empty((n, m)) for _ in range(1 if program.heads is None else 2)]
    ticks = itertools.count(1)

    def tick() -> None:
        report(progress, next(ticks), len(wanted) * program.steps)

    for i, j in wanted:
        at_i, at_j = left.places[i], right.places[j]
        block_i = left.block(i)
        block_j = block_i if y is None and i == j else right.block(j)
        for result, part in zip(results, program(block_i, block_j, tick), strict=True):
            values = np.asarray(part)[: at_i.stop - at_i.start, : at_j.stop - at_j.start]
            # a matrix product need not round (i, j) and (j, i) alike; their mean does
            result[at_i, at_j] = (values + values.T) / 2.0 if y is None and i == j else values
            if y is None and i < j:
                result[at_j, at_i] = values.T
    return Gram.of(results[0], results[1] if program.heads is not None else None, program.heads)


class TilePlan(NamedTuple):
    """How a Gram is cut up."""

    rows: int
    """Rows of a square tile at most."""
    usual: int | None = 256
    """Rows of a tile, where that many fit; None for as many as fit."""
    kept: int = 0
    """Blocks that memory holds with their counts; zero where nothing is counted once for many tiles."""

    @classmethod
    def of(cls, model: KernelModel, form: Form, memory: int) -> TilePlan:
        """Square tiles whose working arrays stay within `memory` bytes."""
        columns, symbols = model.arch.columns, model.arch.symbols
        if form == "positions":
            return cls(rows=max(1, int(math.sqrt(memory / (6 * 8 * columns**2)))))
        row = columns * symbols * (4 if form == "classes" else 8) + (CHUNK * (columns + symbols) * 8 * 3 if form == "heads" else 0)
        row += 3 * 8 * columns**2 if form == "tied" and model.arch.readout == "mean" else 0
        planes = 3 * GROUPS if form == "heads" else 6
        rows = max(16, min(512, int(memory / (2 * row)), int(math.sqrt(memory / (8 * planes)))))
        if form == "heads":
            return cls(rows, usual=None)  # heads are drawn again for every tile, so large ones save work
        # kept as if every symbol had its place, which it has where they are few
        return cls(rows, kept=0 if form == "tied" else max(1, int(memory / (4 * rows * symbols * columns))))


class _Blocks:
    """Equal blocks of at most about `plan.rows` rows, the last filled up with copies of the first row, each prepared when it is asked for.

    Few sizes, few compilations: a multiple of 8 for batches below the usual size, and blocks of that size for all others.
    """

    def __init__(self, x: Sequences, program: TileProgram, memory: int) -> None:
        n, self._devices = len(x.symbols), jax.devices()
        plan = TilePlan.of(program.model, program.form, memory)
        whole = min(plan.usual or n, 8 * math.ceil(n / 8))
        size = whole if whole <= plan.rows else n / math.ceil(n / plan.rows)
        self._size = math.ceil(size / len(self._devices)) * len(self._devices)
        self._batch, self._symbols = x, program.model.arch.symbols
        self.places = [slice(start, min(start + self._size, n)) for start in range(0, n, self._size)]
        self._counts = plan.kept > 0 and len(self.places) > 1
        self.block = functools.lru_cache(maxsize=max(1, plan.kept))(self._prepared)

    def _prepared(self, index: int) -> Sequences:
        batch, at = self._batch, self.places[index]
        block = Sequences(_filled(batch.symbols[at], self._size), _filled(batch.visible[at], self._size))
        if len(self._devices) > 1:  # rows are spread over them: XLA then splits the whole tile by rows
            block = jax.device_put(block, NamedSharding(Mesh(np.array(self._devices), ("rows",)), PartitionSpec("rows")))
        return _counted(block, symbols=self._symbols) if self._counts else block


def _filled(part: np.ndarray, size: int) -> np.ndarray:
    missing = size - len(part)
    return part if missing == 0 else np.concatenate([part, np.repeat(part[:1], missing, axis=0)])


@functools.partial(jax.jit, static_argnames="symbols")
def _counted(block: Sequences, *, symbols: int) -> Sequences:
    return jax.tree.map(jnp.asarray, block).counted(symbols)


def tiled_diagonal(program: TileProgram, x: Sequences, memory: int) -> Gram:
    """The kernel of each sequence with itself, of as many at a time as stay within `memory` bytes."""
    arch = program.model.arch
    whole = program.form == "positions" or (program.form == "tied" and arch.readout == "mean")
    drawn = 3 * CHUNK * (arch.columns + arch.symbols) if program.form == "heads" else 0
    entries = 6 * arch.columns**2 if whole else arch.columns * arch.symbols + drawn
    values, *stderr = in_parts(x, max(1, memory // (8 * entries)), lambda part: program(jax.tree.map(jnp.asarray, part), None))
    return Gram.of(values, stderr[0] if stderr else None, program.heads)


def in_parts(batch: Sequences, step: int, evaluate: Callable[[Sequences], tuple[Any, ...]]) -> list[np.ndarray]:
    """Outputs of a function of single sequences, evaluated on `step` of them at a time."""
    parts = [evaluate(take(batch, slice(start, start + step))) for start in range(0, len(batch.symbols), step)]
    return [np.concatenate(output) for output in zip(*parts, strict=True)]


def relative_error(gram: Gram) -> float:
    """Standard error of a sampled Gram relative to its norm."""
    assert gram.stderr is not None
    return float(np.linalg.norm(gram.stderr) / max(np.linalg.norm(gram), 1e-300))


def heads_wanted(gram: Gram, target: float) -> int:
    """Heads that meet the target, given what those of a Gram reach: errors fall as the root of their number."""
    assert gram.heads is not None
    excess = relative_error(gram) / target
    return whole_groups(math.ceil(gram.heads * max(1.0, _MARGIN * excess**2)))
