"""Architecture -> Kernel: the object that evaluates the covariance of the infinitely wide network."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, SupportsIndex, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from specht.architecture import Architecture
from specht.errors import InputError, unknown_choice, whole_number
from specht.kernel.closed import closed_kernel
from specht.kernel.features import explicit_features
from specht.kernel.forms import FORMS, MAX_POSITIONS, Form, Kind, choose_form, refuse_without_limit, why_no_features
from specht.kernel.gram import Plan, Progress, Tick, gram
from specht.kernel.heads import CHUNK, GROUPS, HEADS_STEP
from specht.kernel.joint import joint_gram
from specht.kernel.memory import check_memory
from specht.kernel.one_block import sampled_kernel, tied_kernel
from specht.kernel.pairs import Sequences
from specht.sequences.tokens import check_mask, check_tokens

_MARGIN = 1.3
"""More heads than the pilot asks for: its sequences are few, and its error is itself an estimate."""
_PILOT_ROWS = 48
"""Sequences of the pilot run that judges how many heads a relative error needs."""


class Kernel:
    r"""Covariance of the infinitely wide network: `kernel.nngp` at initialisation, `kernel.ntk` under gradient descent.

    >>> kernel = Kernel(Architecture(vocab=2, length=3))
    >>> x = [[0, 1, 1, 0], [1, 0, 0, 1]]
    >>> kernel(x).round(4).tolist()
    [[15.0, 6.0], [6.0, 15.0]]

    Softmax attention at scaling 1/sqrt(d) is sampled: `heads` heads, or as many as `relative_error` (Frobenius norm) asks for, judged
    on a pilot run. The same seed draws the same heads in every call, so Grams of different batches fit together; `stderr` then holds
    the standard error of every entry of the last Gram, and `heads` how many were drawn. Where `form` says position by position, heads
    are drawn for one batch jointly instead, so evaluate training and test sequences in one call.

    Arguments:
        arch: the network.
        relative_error: requested standard error of a sampled Gram, relative to its norm.
        heads: number of sampled heads, instead of `relative_error`; rounded up to a multiple of 256.
        seed: of the sampled heads.
        memory: bytes of working space for a tile, beyond the Gram itself.
        progress: called as progress(done, total) after every tile.
    """

    def __init__(
        self,
        arch: Architecture,
        *,
        relative_error: float = 0.01,
        heads: SupportsIndex | None = None,
        seed: SupportsIndex = 0,
        memory: SupportsIndex = 128 * 2**20,
        progress: Progress | None = None,
    ) -> None:
        if not 0 < relative_error < 1:
            raise InputError(f"relative_error must lie between 0 and 1, got {relative_error!r}.")
        refuse_without_limit(arch)
        self.arch, self.relative_error, self.progress = arch, relative_error, progress
        self.seed = whole_number("seed", seed, at_least=0, at_most=2**31 - 1)
        self.memory = whole_number("memory (bytes of working space)", memory, at_least=2**20)
        self.heads: int | None = None
        self.stderr: np.ndarray | None = None
        self._heads_given = None if heads is None else _whole_groups(whole_number("heads", heads, at_least=1))
        self._heads_chosen: dict[Kind, int] = {}

    def __repr__(self) -> str:
        return f"Kernel({self.arch}; {self.form})"

    def __call__(self, x: Any, y: Any = None, *, mask: Any = None, mask_y: Any = None) -> Float[np.ndarray, "n m"]:
        """The NNGP kernel: see `nngp`."""
        return self.nngp(x, y, mask=mask, mask_y=mask_y)

    @property
    def form(self) -> str:
        """How the NNGP of this architecture is computed, in words."""
        return FORMS[choose_form(self.arch, "nngp")]

    def nngp(self, x: Any, y: Any = None, *, mask: Any = None, mask_y: Any = None) -> Float[np.ndarray, "n m"]:
        """Covariance E[f(x) f(y)] of the network at initialisation.

        Arguments:
            x: tokens (n, columns).
            y: tokens (m, columns); x itself when left out.
            mask: True for the real tokens of `x`, to pad sequences of unequal length; `mask_y` likewise.

        Returns:
            float64 array (n, m).
        """
        return self._gram(x, y, mask, mask_y, "nngp")

    def ntk(self, x: Any, y: Any = None, *, mask: Any = None, mask_y: Any = None) -> Float[np.ndarray, "n m"]:
        """Tangent kernel: inner product of the gradients of f(x) and f(y), arguments as for `nngp`."""
        return self._gram(x, y, mask, mask_y, "ntk")

    def diagonal(self, x: Any, *, kind: Kind | str = "nngp", mask: Any = None) -> Float[np.ndarray, " n"]:
        """k(x, x) of every sequence, without the Gram; `stderr` then has one entry a sequence."""
        kind = _checked(kind)
        batch, form = self._sequences(x, mask, "x"), choose_form(self.arch, kind)
        if form == "joint":
            step = max(1, MAX_POSITIONS // self.arch.columns // 4)
            parts = (self._joint(_rows(batch, slice(i, i + step)), None, kind) for i in range(0, len(batch.symbols), step))
            value, self.stderr = (np.concatenate([np.diagonal(part) for part in both]) for both in zip(*parts, strict=True))
            return value
        with jax.enable_x64(True):
            tile, step = self._tile(form, kind, batch), self._diagonal_rows(form)
            results = [tile(_placed(_rows(batch, slice(i, i + step))), None, _silent) for i in range(0, len(batch.symbols), step)]
        value, *stderr = (np.concatenate(parts) for parts in zip(*results, strict=True))
        self.stderr = stderr[0] if stderr else None
        return value

    def features(self, x: Any, *, mask: Any = None) -> Float[np.ndarray, "n features"]:
        """Explicit features with `features(x) @ features(y).T == nngp(x, y)`, where they are finite.

        That is one block with a linear activation and no norm or residual sum: exact for linear and tied attention, and the random
        features of the sampled heads for softmax.
        """
        reason = why_no_features(self.arch)
        if reason is not None:
            raise InputError(f"{self.arch} has no explicit features: {reason}.")
        batch = self._sequences(x, mask, "x")
        heads = self._number_of_heads("nngp", batch) if choose_form(self.arch, "nngp") == "heads" else 0
        with jax.enable_x64(True):
            return explicit_features(self.arch, _placed(batch), seed=self.seed, heads=heads)

    def tiles(
        self, x: Any, y: Any = None, *, rows: SupportsIndex, kind: Kind | str = "nngp", mask: Any = None, mask_y: Any = None
    ) -> Iterator[tuple[slice, Float[np.ndarray, "rows m"]]]:
        """The Gram as blocks of rows, for one that does not fit in memory: yields (slice of rows, block)."""
        left, right = self._both(x, y, mask, mask_y)
        kind, rows = _checked(kind), whole_number("rows", rows, at_least=1)
        if choose_form(self.arch, kind) == "joint":
            raise InputError(
                "Heads of a deep softmax stack are drawn for one batch jointly, so its Gram has no tiles: evaluate it in one call."
            )
        for start in range(0, len(left.symbols), rows):
            at = slice(start, min(start + rows, len(left.symbols)))
            yield at, self._evaluate(_rows(left, at), left if right is None else right, kind)

    def _gram(self, x: Any, y: Any, mask: Any, mask_y: Any, kind: Kind) -> np.ndarray:
        return self._evaluate(*self._both(x, y, mask, mask_y), kind)

    def _both(self, x: Any, y: Any, mask: Any, mask_y: Any) -> tuple[Sequences, Sequences | None]:
        if y is None and mask_y is not None:
            raise InputError("mask_y belongs to y, and no y was given: leave it out.")
        return self._sequences(x, mask, "x"), None if y is None else self._sequences(y, mask_y, "y")

    def _evaluate(self, left: Sequences, right: Sequences | None, kind: Kind) -> np.ndarray:
        form = choose_form(self.arch, kind)
        if form == "joint":
            value, self.stderr = self._joint(left, right, kind)
            return value
        in_features = "" if why_no_features(self.arch) else ", or solve in feature space with kernel.features(x)"
        advice = "take it in blocks with kernel.tiles(x, y, rows={rows})" + in_features
        check_memory(len(left.symbols), len((right or left).symbols), 2 if form == "heads" else 1, advice)
        undecided = form == "heads" and self._heads_given is None and kind not in self._heads_chosen
        value, *stderr = self._tiled(form, kind, left, right)
        if undecided and self._relative_error(value, stderr[0]) > self.relative_error:  # the pilot was too hopeful
            self._heads_chosen[kind] = self._heads_wanted(value, stderr[0], drawn=self._heads_chosen[kind])
            value, *stderr = self._tiled(form, kind, left, right)
        self.stderr = stderr[0] if stderr else None
        return value

    def _tiled(self, form: Form, kind: Kind, left: Sequences, right: Sequences | None) -> tuple[np.ndarray, ...]:
        with jax.enable_x64(True):
            return gram(self._tile(form, kind, left), left, right, self._plan(form), self.progress)

    def _tile(self, form: Form, kind: Kind, pilot: Sequences) -> Callable[..., tuple[Any, ...]]:
        """The function that evaluates one tile, or the diagonal when its second batch is None."""
        arch = self.arch
        if form == "heads":
            chunks = self._number_of_heads(kind, pilot) // HEADS_STEP
            return lambda x, y, tick: sampled_kernel(arch, x, y, seed=self.seed, chunks=chunks, kind=kind, tick=tick)

        def tile(x: Sequences, y: Sequences | None, tick: Tick) -> tuple[Any, ...]:
            if form == "tied":
                value = tied_kernel(arch, x, y, kind=kind)
            else:
                value = closed_kernel(arch, x, None if y is x else y, kind=kind, bookkeeping=form, same=y is x)
            jax.block_until_ready(value)
            tick()
            return (value,)

        return tile

    def _plan(self, form: Form) -> Plan:
        """Square tiles whose working arrays stay within `memory`."""
        columns, symbols = self.arch.columns, self.arch.symbols
        if form == "positions":
            return Plan(rows=max(1, int(math.sqrt(self.memory / (6 * 8 * columns**2)))))
        row = columns * symbols * (4 if form == "classes" else 8) + (CHUNK * (columns + symbols) * 8 * 3 if form == "heads" else 0)
        planes = 3 * GROUPS if form == "heads" else 6
        rows = max(16, min(512, int(self.memory / (2 * row)), int(math.sqrt(self.memory / (8 * planes)))))
        return Plan(rows, outputs=2, steps=GROUPS) if form == "heads" else Plan(rows)

    def _diagonal_rows(self, form: Form) -> int:
        """Sequences whose entries with themselves stay within `memory`."""
        columns, symbols = self.arch.columns, self.arch.symbols
        entries = 6 * columns**2 if form == "positions" else columns * symbols + (3 * CHUNK * (columns + symbols) if form == "heads" else 0)
        return max(1, self.memory // (8 * entries))

    def _joint(self, left: Sequences, right: Sequences | None, kind: Kind) -> tuple[np.ndarray, np.ndarray]:
        n = len(left.symbols)
        both = left if right is None else Sequences(*(np.concatenate(parts) for parts in zip(left, right, strict=True)))
        positions = both.symbols.size
        if positions > MAX_POSITIONS:
            raise InputError(
                f"Softmax attention of this architecture is sampled for all sequences together, up to {MAX_POSITIONS} positions, and "
                f"{len(both.symbols)} sequences of {self.arch.columns} columns have {positions}: give at most "
                f"{MAX_POSITIONS // self.arch.columns} of them, or use one block with readout 'last', scaling='tied', or linear attention."
            )
        with jax.enable_x64(True):
            draw = partial(joint_gram, self.arch, _placed(both), seed=self.seed, kind=kind, progress=self.progress)
            self.heads = self._heads_given or self._heads_chosen.get(kind, HEADS_STEP)
            value, stderr = draw(heads=self.heads)
            wanted = self._heads_wanted(value, stderr, drawn=self.heads)
            if self._heads_given is None and wanted > self.heads:
                self.heads = wanted
                value, stderr = draw(heads=self.heads)
        self._heads_chosen[kind] = self.heads
        columns = slice(0, n) if right is None else slice(n, None)
        return value[:n, columns], stderr[:n, columns]

    def _number_of_heads(self, kind: Kind, batch: Sequences) -> int:
        """Heads to draw: as given, or from the error of a pilot run; decided once, so that later Grams share the same heads."""
        self.heads = self._heads_given or self._heads_chosen.get(kind)
        if self.heads is None:
            pilot = Kernel(self.arch, heads=HEADS_STEP, seed=self.seed)
            value = pilot._evaluate(_rows(batch, slice(_PILOT_ROWS)), None, kind)
            assert pilot.stderr is not None
            self.heads = self._heads_wanted(value, pilot.stderr, drawn=HEADS_STEP)
        self._heads_chosen[kind] = self.heads
        return self.heads

    def _heads_wanted(self, value: np.ndarray, stderr: np.ndarray, *, drawn: int) -> int:
        """Heads that meet the relative error, given what `drawn` heads reach: errors fall as the root of their number."""
        excess = self._relative_error(value, stderr) / self.relative_error
        return _whole_groups(math.ceil(drawn * max(1.0, _MARGIN * excess**2)))

    def _relative_error(self, value: np.ndarray, stderr: np.ndarray) -> float:
        return float(np.linalg.norm(stderr) / max(np.linalg.norm(value), 1e-300))

    def _sequences(self, tokens: Any, mask: Any, name: str) -> Sequences:
        checked = check_tokens(self.arch, tokens, name)
        visible = check_mask(self.arch, mask, checked, f"the mask of {name}")
        if self.arch.readout == "cls":
            checked = checked.copy()
            checked[:, -1] = self.arch.vocab
        return Sequences(checked, visible)


def _checked(kind: str) -> Kind:
    if kind == "nngp" or kind == "ntk":
        return kind
    raise unknown_choice("kernel", kind, get_args(Kind))


def _rows(batch: Sequences, at: slice) -> Sequences:
    return Sequences(*(part[at] for part in batch))


def _placed(batch: Sequences) -> Sequences:
    return Sequences(*(jnp.asarray(part) for part in batch))


def _silent() -> None:
    """A tick that nobody hears."""


def _whole_groups(heads: int) -> int:
    return math.ceil(heads / HEADS_STEP) * HEADS_STEP
