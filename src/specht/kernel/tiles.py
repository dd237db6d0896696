"""The n x m matrix from kernels of tiles: memory bound, symmetric halves, several devices, progress."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from specht.kernel.pairs import Sequences

Tick = Callable[[], None]
Tile = Callable[[Sequences, Sequences | None, Tick], tuple[jax.Array, ...]]
"""Evaluates one tile, and ticks after each of its steps."""
Progress = Callable[[int, int], None]
_BLOCK = 256
"""Rows of a block, where that many fit."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """How a Gram is cut up."""

    rows: int
    """Rows of a square tile."""
    outputs: int = 1
    """Matrices that a tile returns: the kernel, and its standard error where it is sampled."""
    steps: int = 1
    """Ticks of progress a tile."""


def gram(tile: Tile, x: Sequences, y: Sequences | None, plan: Plan, progress: Progress | None = None) -> tuple[np.ndarray, ...]:
    """Every output of `tile` on all pairs of sequences; only half of the tiles when `y` is None (y = x)."""
    n, m = len(x.symbols), len(x.symbols if y is None else y.symbols)
    left = list(_blocks(x, plan.rows))
    right = left if y is None else list(_blocks(y, plan.rows))
    wanted = [(i, j) for i in range(len(left)) for j in range(len(right)) if y is not None or i <= j]
    results = tuple(np.empty((n, m)) for _ in range(plan.outputs))
    ticks = itertools.count(1)

    def tick() -> None:
        if progress is not None:
            progress(next(ticks), len(wanted) * plan.steps)

    for i, j in wanted:
        (at_i, block_i), (at_j, block_j) = left[i], right[j]
        for result, part in zip(results, tile(block_i, block_j, tick), strict=True):
            values = np.asarray(part)[: at_i.stop - at_i.start, : at_j.stop - at_j.start]
            # a matrix product need not round (i, j) and (j, i) alike; their mean does
            result[at_i, at_j] = (values + values.T) / 2.0 if y is None and i == j else values
            if y is None and i < j:
                result[at_j, at_i] = values.T
    return results


def _blocks(x: Sequences, rows: int) -> Iterator[tuple[slice, Sequences]]:
    """Equal blocks of at most about `rows` rows, the last filled up with copies of the first row.

    Few sizes, few compilations: a multiple of 16 for batches below `_BLOCK`, and blocks of that size for all others.
    """
    n, devices = len(x.symbols), jax.devices()
    whole = min(_BLOCK, 16 * math.ceil(n / 16))
    size = math.ceil((whole if whole <= rows else n / math.ceil(n / rows)) / len(devices)) * len(devices)
    for start in range(0, n, size):
        stop = min(start + size, n)
        block = Sequences(*(_filled(np.asarray(part[start:stop]), size) for part in x))
        yield slice(start, stop), _placed(block, devices)


def _filled(part: np.ndarray, size: int) -> np.ndarray:
    missing = size - len(part)
    return part if missing == 0 else np.concatenate([part, np.repeat(part[:1], missing, axis=0)])


def _placed(block: Sequences, devices: list[Any]) -> Sequences:
    """The block on the device, its rows spread when there are several: XLA then splits the whole tile by rows."""
    if len(devices) == 1:
        return block  # compiled programs take NumPy arrays faster than device_put does
    return jax.device_put(block, NamedSharding(Mesh(np.array(devices), ("rows",)), PartitionSpec("rows")))
