"""Architecture -> Kernel: the object that evaluates the covariance of the infinitely wide network at any size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, SupportsIndex, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from specht.architecture import Architecture, Variances
from specht.checks import whole_number
from specht.errors import InputError, explains_calls, unknown_choice
from specht.kernel.evaluation import TileProgram, heads_wanted, in_parts, relative_error, tiled_diagonal, tiled_gram
from specht.kernel.features import HEADS_STEP, explicit_features, whole_groups
from specht.kernel.forms import (
    FORMS,
    MAX_POSITIONS,
    SAMPLED_FORMS,
    Form,
    Kind,
    check_memory,
    choose_form,
    refuse_many_positions,
    refuse_without_limit,
    why_no_features,
)
from specht.kernel.gram import Composable, Gram
from specht.kernel.joint import joint_gram
from specht.kernel.model import model_of
from specht.kernel.pairs import Sequences, both, sequences, take
from specht.progress import Progress

_PILOT_ROWS = 48
"""Sequences of the pilot run that judges how many heads a relative error needs."""


class Kernel(Composable):
    r"""Covariance of the infinitely wide network: `kernel.nngp` at initialisation, `kernel.ntk` under gradient descent.

    >>> kernel = Kernel(Architecture(vocab=2, length=3))
    >>> x = [[0, 1, 1, 0], [1, 0, 0, 1]]
    >>> kernel(x).round(4).tolist()
    [[15.0, 6.0], [6.0, 15.0]]

    A call returns a `Gram`: a NumPy array with `stderr`, the standard error of every entry (None where the kernel is exact), and `heads`.
    Softmax attention at scaling 1/sqrt(d) is sampled: `heads` heads, or as many as `relative_error` (Frobenius norm) asks for, judged
    on a pilot run of the first call. The same seed draws the same heads in every call, so Grams of different batches fit together. Where
    `form` says position by position, heads are drawn for one batch jointly instead, so evaluate training and test sequences in one call.
    Kernels add and multiply, with each other, with numbers and with any function of two batches: `2 * kernel + other`.

    Arguments:
        arch: the network.
        variances: `Variances` in place of the architecture's own; tokens and positions may have one each.
        relative_error: requested standard error of a sampled Gram, relative to its norm.
        heads: number of sampled heads, instead of `relative_error`; rounded up to a multiple of 256.
        seed: seed of the sampled heads.
        memory: bytes of working space for a tile, beyond the Gram itself.
        progress: called as progress(done, total) after every tile.
    """

    @explains_calls
    def __init__(
        self,
        arch: Architecture,
        *,
        variances: Any = None,
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
        self._model = model_of(arch, variances)
        self._heads_given = None if heads is None else whole_groups(whole_number("heads", heads, at_least=1))
        self._heads_chosen: dict[Kind, int] = {}

    def __repr__(self) -> str:
        return f"Kernel({self.arch}; {self.form})"

    def __call__(self, x: Any, y: Any = None, *, mask: Any = None, mask_y: Any = None) -> Gram:
        """The NNGP kernel: see `nngp`."""
        return self.nngp(x, y, mask=mask, mask_y=mask_y)

    @property
    def form(self) -> str:
        """How the NNGP of this architecture is computed, in words."""
        return FORMS[self._form("nngp")]

    @property
    def variances(self) -> Variances:
        """The variances that this kernel is evaluated at."""
        return Variances(self._model.tokens, self._model.positions, self._model.dense, self._model.readout)

    def nngp(self, x: Any, y: Any = None, *, mask: Any = None, mask_y: Any = None) -> Gram:
        """Covariance E[f(x) f(y)] of the network at initialisation.

        Arguments:
            x: tokens (n, columns).
            y: tokens (m, columns); x itself when left out.
            mask: True for the real tokens of `x`, to pad sequences of unequal length; `mask_y` likewise.

        Returns:
            float64 array (n, m).
        """
        return self._evaluate(*both(self.arch, x, y, mask, mask_y), "nngp")

    def ntk(self, x: Any, y: Any = None, *, mask: Any = None, mask_y: Any = None) -> Gram:
        """Tangent kernel: inner product of the gradients of f(x) and f(y), arguments as for `nngp`."""
        return self._evaluate(*both(self.arch, x, y, mask, mask_y), "ntk")

    def diagonal(self, x: Any, *, kind: Kind | str = "nngp", mask: Any = None) -> Gram:
        """k(x, x) of every sequence, without the Gram; its `stderr` has one entry a sequence."""
        kind = _checked(kind)
        batch, form = sequences(self.arch, x, mask, "x"), self._form(kind)
        if form == "joint":

            def joint_diagonal(part: Sequences) -> tuple[np.ndarray, np.ndarray]:
                gram = self._joint(part, None, kind)
                assert gram.stderr is not None
                return np.diagonal(gram), np.diagonal(gram.stderr)

            step = max(1, MAX_POSITIONS // self.arch.columns // 4)
            return Gram.of(*in_parts(batch, step, joint_diagonal), heads=self._heads_chosen[kind])
        heads = self._number_of_heads(kind, batch) if form == "heads" else None
        with jax.enable_x64(True):
            return tiled_diagonal(TileProgram(self._model, form, kind, self.seed, heads), batch, self.memory)

    def features(self, x: Any, *, mask: Any = None) -> Float[np.ndarray, "n features"]:
        """Explicit features with `features(x) @ features(y).T == nngp(x, y)`, where they are finite.

        That is one block with a linear activation and no norm or residual sum: exact for linear and tied attention, and the random
        features of the sampled heads for softmax.
        """
        reason = why_no_features(self.arch)
        if reason is not None:
            raise InputError(f"{self.arch} has no explicit features: {reason}.")
        batch = sequences(self.arch, x, mask, "x")
        heads = self._number_of_heads("nngp", batch) if self._form("nngp") == "heads" else 0
        with jax.enable_x64(True):
            return explicit_features(self._model, _placed(batch), seed=self.seed, heads=heads)

    def tiles(
        self, x: Any, y: Any = None, *, rows: SupportsIndex, kind: Kind | str = "nngp", mask: Any = None, mask_y: Any = None
    ) -> Iterator[tuple[slice, Gram]]:
        """The Gram as blocks of rows, for one that does not fit in memory: yields (slice of rows, block)."""
        left, right = both(self.arch, x, y, mask, mask_y)
        kind, rows = _checked(kind), whole_number("rows", rows, at_least=1)
        if self._form(kind) == "joint":
            raise InputError(
                "Heads of a deep softmax stack are drawn for one batch jointly, so its Gram has no tiles: evaluate it in one call."
            )
        for start in range(0, len(left.symbols), rows):
            at = slice(start, min(start + rows, len(left.symbols)))
            yield at, self._evaluate(take(left, at), left if right is None else right, kind)

    def heads_drawn(self, kind: Kind | str = "nngp") -> int | None:
        """Heads that Grams of this kernel are drawn with; None where it is exact, or before the first of them has decided."""
        kind = _checked(kind)
        return (self._heads_given if self._form(kind) in SAMPLED_FORMS else None) or self._heads_chosen.get(kind)

    def _form(self, kind: Kind) -> Form:
        return choose_form(self.arch, kind, of_each=self._model.of_each)

    def _evaluate(self, left: Sequences, right: Sequences | None, kind: Kind) -> Gram:
        form = self._form(kind)
        if form == "joint":
            return self._joint(left, right, kind)
        in_features = "" if why_no_features(self.arch) else ", or solve in feature space with kernel.features(x)"
        advice = "take it in blocks with kernel.tiles(x, y, rows={rows})" + in_features
        check_memory(len(left.symbols), len((right or left).symbols), 2 if form == "heads" else 1, advice)
        if form != "heads":
            return self._tiled(form, kind, left, right, heads=None)
        undecided = self._heads_given is None and kind not in self._heads_chosen
        value = self._tiled(form, kind, left, right, heads=self._number_of_heads(kind, left))
        if undecided and relative_error(value) > self.relative_error:  # the pilot was too hopeful
            self._heads_chosen[kind] = heads_wanted(value, self.relative_error)
            value = self._tiled(form, kind, left, right, heads=self._heads_chosen[kind])
        return value

    def _tiled(self, form: Form, kind: Kind, left: Sequences, right: Sequences | None, heads: int | None) -> Gram:
        with jax.enable_x64(True):
            return tiled_gram(TileProgram(self._model, form, kind, self.seed, heads), left, right, self.memory, self.progress)

    def _joint(self, left: Sequences, right: Sequences | None, kind: Kind) -> Gram:
        n = len(left.symbols)
        batch = left if right is None else jax.tree.map(lambda *parts: np.concatenate(parts), left, right)
        refuse_many_positions(self.arch, len(batch.symbols))
        columns = slice(0, n) if right is None else slice(n, None)

        def draw(heads: int) -> Gram:
            with jax.enable_x64(True):
                value, stderr = joint_gram(self._model, _placed(batch), seed=self.seed, heads=heads, kind=kind, progress=self.progress)
            return Gram.of(value, stderr, heads)

        value = draw(self._heads_given or self._heads_chosen.get(kind, HEADS_STEP))
        if self._heads_given is None and heads_wanted(value, self.relative_error) > (value.heads or 0):
            value = draw(heads_wanted(value, self.relative_error))
        assert value.heads is not None
        assert value.stderr is not None
        self._heads_chosen[kind] = value.heads
        return Gram.of(value[:n, columns], value.stderr[:n, columns], value.heads)

    def _number_of_heads(self, kind: Kind, batch: Sequences) -> int:
        """Heads to draw: as given, or from the error of a pilot run; decided once, so that later Grams share the same heads."""
        heads = self._heads_given or self._heads_chosen.get(kind)
        if heads is None:
            pilot = self._tiled("heads", kind, take(batch, slice(_PILOT_ROWS)), None, heads=HEADS_STEP)
            heads = heads_wanted(pilot, self.relative_error)
        self._heads_chosen[kind] = heads
        return heads


def _checked(kind: str) -> Kind:
    if kind == "nngp" or kind == "ntk":
        return kind
    raise unknown_choice("kernel", kind, get_args(Kind))


def _placed(batch: Sequences) -> Sequences:
    return jax.tree.map(jnp.asarray, batch)
