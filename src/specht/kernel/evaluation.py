"""How a Gram of any size is evaluated: which program a tile runs, how large tiles are, how many heads are drawn."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from specht.architecture import Kind
from specht.kernel.batches import take
from specht.kernel.closed import closed_kernel
from specht.kernel.forms import Form
from specht.kernel.heads import CHUNK, GROUPS, HEADS_STEP, whole_groups
from specht.kernel.model import KernelModel
from specht.kernel.one_block import sampled_kernel, tied_kernel, weighted_kernel
from specht.kernel.pairs import Sequences
from specht.kernel.tiles import Tick, Tile, TilePlan

_MARGIN = 1.3
"""More heads than the pilot asks for: its sequences are few, and its error is itself an estimate."""


def tile_program(model: KernelModel, form: Form, kind: Kind, *, seed: int, heads: int) -> Tile:
    """The function that evaluates one tile, or the diagonal when its second batch is None."""
    if form == "heads":
        chunks = heads // HEADS_STEP
        return lambda x, y, tick: sampled_kernel(model, x, y, seed=seed, chunks=chunks, kind=kind, tick=tick)

    def tile(x: Sequences, y: Sequences | None, tick: Tick) -> tuple[Any, ...]:
        value = jax.block_until_ready(_closed(model, form, kind, x, y))
        tick()
        return (value,)

    return tile


def _closed(model: KernelModel, form: Form, kind: Kind, x: Sequences, y: Sequences | None) -> Any:
    if form == "tied":  # what belongs to one batch is expensive, so it is computed once
        return tied_kernel(model, x, None if y is x else y, kind=kind, same=y is x)
    # elsewhere it is cheap or counted already, and one program for all tiles saves a compilation
    same = form != "positions" and y is x and x.counts is None
    if form == "weighted":
        return weighted_kernel(model, x, None if same else y, kind=kind, same=same)
    return closed_kernel(model, x, None if same else y, kind=kind, bookkeeping="classes" if form == "classes" else "positions", same=same)


def tile_plan(model: KernelModel, form: Form, memory: int) -> TilePlan:
    """Square tiles whose working arrays stay within `memory` bytes."""
    columns, symbols = model.arch.columns, model.arch.symbols
    if form == "positions":
        return TilePlan(rows=max(1, int(math.sqrt(memory / (6 * 8 * columns**2)))))
    row = columns * symbols * (4 if form == "classes" else 8) + (CHUNK * (columns + symbols) * 8 * 3 if form == "heads" else 0)
    row += 3 * 8 * columns**2 if form == "tied" and model.arch.readout == "mean" else 0
    planes = 3 * GROUPS if form == "heads" else 6
    rows = max(16, min(512, int(memory / (2 * row)), int(math.sqrt(memory / (8 * planes)))))
    if form == "heads":
        return TilePlan(rows, usual=None, outputs=2, steps=GROUPS)  # heads are drawn again for every tile, so large ones save work
    if form == "tied":
        return TilePlan(rows)
    kept = max(1, int(memory / (4 * rows * symbols * columns)))  # as if every symbol had its place, which it has where they are few
    return TilePlan(rows, prepare=functools.partial(_counted, symbols=symbols), kept=kept)


@functools.partial(jax.jit, static_argnames="symbols")
def _counted(block: Sequences, *, symbols: int) -> Sequences:
    return jax.tree.map(jnp.asarray, block).counted(symbols)


def diagonal_rows(model: KernelModel, form: Form, memory: int) -> int:
    """Sequences whose entries with themselves stay within `memory` bytes."""
    columns, symbols = model.arch.columns, model.arch.symbols
    whole = form == "positions" or (form == "tied" and model.arch.readout == "mean")
    entries = 6 * columns**2 if whole else columns * symbols + (3 * CHUNK * (columns + symbols) if form == "heads" else 0)
    return max(1, memory // (8 * entries))


def relative_error(value: np.ndarray, stderr: np.ndarray) -> float:
    """Standard error of a Gram relative to its norm."""
    return float(np.linalg.norm(stderr) / max(np.linalg.norm(value), 1e-300))


def heads_wanted(value: np.ndarray, stderr: np.ndarray, *, drawn: int, target: float) -> int:
    """Heads that meet the target, given what `drawn` heads reach: errors fall as the root of their number."""
    excess = relative_error(value, stderr) / target
    return whole_groups(math.ceil(drawn * max(1.0, _MARGIN * excess**2)))


def in_parts(batch: Sequences, step: int, evaluate: Callable[[Sequences], tuple[Any, ...]]) -> list[np.ndarray]:
    """Outputs of a function of single sequences, evaluated on `step` of them at a time."""
    parts = [evaluate(take(batch, slice(start, start + step))) for start in range(0, len(batch.symbols), step)]
    return [np.concatenate(output) for output in zip(*parts, strict=True)]
