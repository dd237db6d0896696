"""The n x m matrix from kernels of tiles: memory bound, symmetric halves, several devices, progress."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from specht.kernel.batches import take
from specht.kernel.pairs import Sequences
from specht.progress import Progress, report

Tick = Callable[[], None]
Tile = Callable[[Sequences, Sequences | None, Tick], tuple[jax.Array, ...]]
"""Evaluates one tile, and ticks after each of its steps."""


@dataclasses.dataclass(frozen=True)
class TilePlan:
    """How a Gram is cut up."""

    rows: int
    """Rows of a square tile at most."""
    usual: int | None = 256
    """Rows of a tile, where that many fit; None for as many as fit."""
    outputs: int = 1
    """Matrices that a tile returns: the kernel, and its standard error where it is sampled."""
    steps: int = 1
    """Ticks of progress a tile."""
    prepare: Callable[[Sequences], Sequences] = lambda block: block
    """Counts once what depends on one block alone."""
    kept: int = 1
    """Prepared blocks that memory holds."""


def gram(tile: Tile, x: Sequences, y: Sequences | None, plan: TilePlan, progress: Progress | None = None) -> tuple[np.ndarray, ...]:
    """Every output of `tile` on all pairs of sequences; only half of the tiles when `y` is None (y = x)."""
    n, m = len(x.symbols), len(x.symbols if y is None else y.symbols)
    left = _Blocks(x, plan)
    right = left if y is None else _Blocks(y, plan)
    wanted = [(i, j) for i in range(len(left)) for j in range(len(right)) if y is not None or i <= j]
    results = tuple(np.empty((n, m)) for _ in range(plan.outputs))
    ticks = itertools.count(1)

    def tick() -> None:
        report(progress, next(ticks), len(wanted) * plan.steps)

    for i, j in wanted:
        at_i, at_j = left.places[i], right.places[j]
        block_i = left.block(i)
        block_j = block_i if y is None and i == j else right.block(j)
        for result, part in zip(results, tile(block_i, block_j, tick), strict=True):
            values = np.asarray(part)[: at_i.stop - at_i.start, : at_j.stop - at_j.start]
            # a matrix product need not round (i, j) and (j, i) alike; their mean does
            result[at_i, at_j] = (values + values.T) / 2.0 if y is None and i == j else values
            if y is None and i < j:
                result[at_j, at_i] = values.T
    return results


class _Blocks:
    """Equal blocks of at most about `plan.rows` rows, the last filled up with copies of the first row, each prepared when it is asked for.

    Few sizes, few compilations: a multiple of 8 for batches below the usual size, and blocks of that size for all others.
    """

    def __init__(self, x: Sequences, plan: TilePlan) -> None:
        n, self._devices = len(x.symbols), jax.devices()
        whole = min(plan.usual or n, 8 * math.ceil(n / 8))
        size = whole if whole <= plan.rows else n / math.ceil(n / plan.rows)
        self._size = math.ceil(size / len(self._devices)) * len(self._devices)
        self._batch, self._plan = x, plan
        self.places = [slice(start, min(start + self._size, n)) for start in range(0, n, self._size)]
        self.block = functools.lru_cache(maxsize=plan.kept)(self._prepared)

    def __len__(self) -> int:
        return len(self.places)

    def _prepared(self, index: int) -> Sequences:
        part = take(self._batch, self.places[index])
        block = _placed(Sequences(_filled(part.symbols, self._size), _filled(part.visible, self._size)), self._devices)
        return block if len(self) == 1 else self._plan.prepare(block)


def _filled(part: np.ndarray, size: int) -> np.ndarray:
    missing = size - len(part)
    return part if missing == 0 else np.concatenate([part, np.repeat(part[:1], missing, axis=0)])


def _placed(block: Sequences, devices: list[Any]) -> Sequences:
    """The block on the device, its rows spread when there are several: XLA then splits the whole tile by rows."""
    if len(devices) == 1:
        return block  # compiled programs take NumPy arrays faster than device_put does
    return jax.device_put(block, NamedSharding(Mesh(np.array(devices), ("rows",)), PartitionSpec("rows")))
