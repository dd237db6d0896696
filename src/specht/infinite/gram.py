"""The n x m matrix from kernels of tiles: memory bound, symmetric halves, several devices, progress."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from specht.errors import InputError
from specht.infinite.pairs import Sequences

Tile = Callable[[Sequences, Sequences], tuple[jax.Array, ...]]
Progress = Callable[[int, int], None]


def gram(tile: Tile, x: Sequences, y: Sequences | None, *, rows: int, outputs: int, progress: Progress | None) -> tuple[np.ndarray, ...]:
    """Every output of `tile` on all pairs, tile by tile of about `rows` x `rows`; only half of them when `y` is None (y = x)."""
    n, m = len(x.symbols), len(x.symbols if y is None else y.symbols)
    check_memory(n, m, outputs)
    left = list(_blocks(x, rows))
    right = left if y is None else list(_blocks(y, rows))
    wanted = [(i, j) for i in range(len(left)) for j in range(len(right)) if y is not None or i <= j]
    results = tuple(np.empty((n, m)) for _ in range(outputs))
    for done, (i, j) in enumerate(wanted, start=1):
        (at_i, block_i), (at_j, block_j) = left[i], right[j]
        for result, part in zip(results, tile(block_i, block_j), strict=True):
            values = np.asarray(part)[: at_i.stop - at_i.start, : at_j.stop - at_j.start]
            result[at_i, at_j] = values
            if y is None and i == j:
                # a matrix product need not round (i, j) and (j, i) alike; the lower half is the one that is kept
                result[at_i, at_i] = np.tril(values) + np.tril(values, -1).T
            elif y is None:
                result[at_j, at_i] = values.T
        if progress is not None:
            progress(done, len(wanted))
    return results


def _blocks(x: Sequences, rows: int) -> Iterator[tuple[slice, Sequences]]:
    """Equal blocks of at most about `rows` rows, the last filled up with copies of the first row: one shape, one compilation."""
    n, devices = len(x.symbols), jax.devices()
    count = max(1, math.ceil(n / rows))
    size = math.ceil(n / count / len(devices)) * len(devices)
    for start in range(0, n, size):
        stop = min(start + size, n)
        block = Sequences(*(_filled(np.asarray(part[start:stop]), size) for part in x))
        yield slice(start, stop), _placed(block, devices)


def _filled(part: np.ndarray, size: int) -> np.ndarray:
    missing = size - len(part)
    return part if missing == 0 else np.concatenate([part, np.repeat(part[:1], missing, axis=0)])


def _placed(block: Sequences, devices: list[jax.Device]) -> Sequences:
    """The block on the device, its rows spread when there are several: XLA then splits the whole tile by rows."""
    if len(devices) == 1:
        return Sequences(*(jnp.asarray(part) for part in block))
    sharding = NamedSharding(Mesh(np.array(devices), ("rows",)), PartitionSpec("rows"))
    return Sequences(*(jax.device_put(part, sharding) for part in block))


def check_memory(n: int, m: int, outputs: int) -> None:
    """Refuse a Gram that cannot fit before computing anything."""
    needed, free = n * m * 8 * outputs, available_memory()
    if free is not None and needed > 0.9 * free:
        rows = max(1, int(0.25 * free / (m * 8 * outputs)))
        raise InputError(
            f"A Gram of {n} x {m} in float64 needs {needed / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are free: "
            f"take it in blocks with kernel.tiles(x, y, rows={rows}), or solve in feature space with kernel.features(x)."
        )


def available_memory() -> int | None:
    """Bytes that can be had without swapping, or None where the system does not say."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None
