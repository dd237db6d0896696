r"""Which exchanges of positions leave the outputs of a model unchanged.

For one output $f$ of a model, write $i \sim j$ if exchanging the tokens at positions $i$ and $j$ does not change it, for every sequence.
This is an equivalence: with $(i\,j)$ and $(j\,k)$ the stabiliser of $f$ holds $(i\,k) = (i\,j)(j\,k)(i\,j)$. The permutations that keep its
classes are products of such exchanges, and no larger group of this kind (a *Young subgroup* $S_A \times S_B \times \dots$) leaves $f$
unchanged.

Positions that $f$ does not read at all form one of the classes: exchanging one of them with a position that is read amounts to replacing
the token there. So they are found first, by replacing tokens, and only positions that are read are exchanged, each with one representative
of a class: for $T$ positions that is $T - 1$ exchanges if they are all alike, and $T (T - 1)/2$ if no two are.

One evaluation serves the outputs at all positions of all layers. What is compared are random sequences, so a difference that shows in few
of them may be missed.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable

import numpy as np

from specht.errors import InputError
from specht.groups import Permutation, transposition
from specht.memory import available_memory
from specht.probes.models import Frame, OpenedModel
from specht.probes.outputs import EPSILON, Values
from specht.progress import Progress, report
from specht.sequences import Residual, spread_of

_NOISE = 16.0
"""Roundings of the largest number of a row that may add up in another one."""
IGNORED = -1
"""Label of the class of positions that are not read."""


@dataclasses.dataclass(eq=False)
class LayerSample:
    """A layer on the sequences that everything is compared with; its rows are outputs: one a position, or a single one."""

    name: str
    before: np.ndarray
    """(n, rows, width); with readout "mean" the last of several rows is the mean of the others."""
    precision: str
    lowest: np.ndarray
    """(rows, width), of all values seen so far."""
    highest: np.ndarray

    @classmethod
    def of(cls, name: str, values: Values, frame: Frame) -> LayerSample:
        before = with_readout(values.array, frame)
        return cls(name, before, values.precision, before.min(axis=0), before.max(axis=0))

    @property
    def rows(self) -> int:
        return self.before.shape[1]

    @property
    def epsilon(self) -> float:
        return EPSILON[self.precision]

    @functools.cached_property
    def roundings(self) -> np.ndarray:
        """Changes of each number (rows, width) up to here are taken for rounding.

        Every number is judged by its own size, so that a large one, such as a masked logit, hides no other. Numbers that are no larger
        than the rounding of the others in their row are noise, and judged by these; one that never changes says nothing of the others.
        """
        sizes = np.abs(self.before).max(axis=0)
        moving = np.where(np.ptp(self.before, axis=0) > 0.0, sizes, 0.0)
        return np.maximum(self.epsilon ** (2 / 3) * sizes, _NOISE * self.epsilon * moving.max(axis=1, keepdims=True))

    @functools.cached_property
    def tolerances(self) -> np.ndarray:
        """The smallest of the roundings of each output, (rows,)."""
        return self.roundings.min(axis=1)

    def changes(self, values: np.ndarray, of: np.ndarray) -> np.ndarray:
        """Largest change of each output (m, rows) from what it was for the sequences `of`; above its tolerance if it is not rounding."""
        np.minimum(self.lowest, values.min(axis=0), out=self.lowest)
        np.maximum(self.highest, values.max(axis=0), out=self.highest)
        differences = np.abs(values - self.before[of])
        real = np.where(differences > self.roundings, differences, 0.0).max(axis=2)
        return np.where(real > 0.0, real, np.minimum(differences.max(axis=2), self.tolerances))

    def scale(self, row: int) -> float:
        """What changes of an output are compared with, from all values seen so far; numbers that never change do not count."""
        lowest, highest = self.lowest[row], self.highest[row]
        moving = lowest < highest if (lowest < highest).any() else slice(None)
        return spread_of(lowest[moving], highest[moving], self.epsilon)


def with_readout(values: np.ndarray, frame: Frame) -> np.ndarray:
    """The outputs of a layer, the last one being what the readout sees: the last position, or the mean over positions."""
    if values.shape[1] == 1 or frame.readout == "last":
        return values
    return np.concatenate([values, values.mean(axis=1, keepdims=True)], axis=1)


class Comparison:
    """A model on random sequences, beside the same model on these sequences changed in some way.

    Outputs are numbered through all layers, `offsets[layer] + row`.
    """

    def __init__(self, model: OpenedModel, sequences: int, rng: np.random.Generator) -> None:
        self.model, self.frame = model, model.frame
        self.tokens = rng.integers(self.frame.vocab, size=(sequences, self.frame.columns))
        values = _whole(model, self.tokens)
        self.layers = [LayerSample.of(name, layer, self.frame) for name, layer in values.items()]
        rows = [layer.rows for layer in self.layers]
        self.offsets = np.concatenate([[0], np.cumsum(rows)])
        self.readouts = self.offsets[1:] - 1
        """The output of each layer that the readout sees."""
        self.tolerance = np.concatenate([layer.tolerances for layer in self.layers])
        self.exchanged: dict[tuple[int, int], np.ndarray] = {}
        """Changes of every output by the exchanges of two positions that were tried so far."""
        self.require_repeatable()
        self._require_separate(rng)

    @property
    def outputs(self) -> int:
        return int(self.offsets[-1])

    def changes(self, tokens: np.ndarray, of: np.ndarray) -> np.ndarray:
        """How much every output changes from the drawn sequence `of` to the sequence in `tokens`, for m of them: (m, outputs)."""
        changes = np.empty((len(tokens), self.outputs))
        for rows, layers in self.model.blocks(tokens):
            by_layer = [
                layer.changes(with_readout(values.array, self.frame), of[rows])
                for layer, values in zip(self.layers, layers.values(), strict=True)
            ]
            changes[rows] = np.concatenate(by_layer, axis=1)
        return changes

    def under(self, permutations: np.ndarray, progress: Progress | None = None) -> np.ndarray:
        """Largest change of every output under each of some permutations of all positions: (permutations, outputs)."""
        n, largest = len(self.tokens), np.empty((len(permutations), self.outputs))
        step = max(1, 4096 // n)
        for start in range(0, len(permutations), step):
            part = permutations[start : start + step]
            moved = permuted(np.tile(self.tokens, (len(part), 1)), np.repeat(part, n, axis=0))
            changes = self.changes(moved, np.tile(np.arange(n), len(part)))
            largest[start : start + step] = changes.reshape(len(part), n, -1).max(axis=1)
            report(progress, start + len(part), len(permutations))
        return largest

    def exchange(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Exchange the tokens at two positions, for those pairs that were not tried before."""
        new = sorted(set(pairs) - set(self.exchanged))
        if new:
            held = 8.0 * self.outputs * (len(self.exchanged) + len(new))
            _require_memory(held, f"{len(self.exchanged) + len(new)} exchanges of {self.frame.columns} positions", self.model)
            swaps = np.array([transposition(self.frame.columns, *pair) for pair in new])
            self.exchanged |= dict(zip(new, self.under(swaps), strict=True))

    def reads(self, rng: np.random.Generator) -> np.ndarray:
        """Whether each output changes when the token at a position is replaced by another one: (outputs, columns)."""
        n, columns = self.tokens.shape
        changed = np.tile(self.tokens, (columns, 1)).reshape(columns, n, columns)
        for position in range(columns):
            other = rng.integers(1, self.frame.vocab, size=n)
            changed[position, :, position] = (self.tokens[:, position] + other) % self.frame.vocab
        changes = self.changes(changed.reshape(columns * n, columns), np.tile(np.arange(n), columns))
        largest = changes.reshape(columns, n, -1).max(axis=1).T
        return largest > self.tolerance[:, None]

    def residual(self, output: int, change: float, permutation: Permutation) -> Residual:
        layer = int(np.searchsorted(self.offsets, output, side="right")) - 1
        return Residual(change, self.layers[layer].scale(output - int(self.offsets[layer])), permutation)

    def require_repeatable(self) -> None:
        """Refuse a model that gives other numbers for the same tokens than at first."""
        again = self.changes(self.tokens, np.arange(len(self.tokens))).max(axis=0)
        if (again > self.tolerance).any():
            raise InputError(
                f"{self.model.name} returned other numbers when it was called again with the same tokens, {again.max():.2g} apart: switch "
                "off dropout and other randomness."
            )

    def _require_separate(self, rng: np.random.Generator) -> None:
        """Refuse a model that gives other numbers for the same tokens in other company."""
        name, n = self.model.name, len(self.tokens)
        some = rng.permutation(n)[: (n + 1) // 2]
        elsewhere = self.changes(self.tokens[some], some).max(axis=0)
        if (elsewhere > self.tolerance).any():
            raise InputError(
                f"{name} returned other numbers for the same sequences among fewer ones and in another order, {elsewhere.max():.2g} apart: "
                "it mixes the sequences of a batch, so check which axis holds them."
            )


def position_classes(comparison: Comparison, rng: np.random.Generator, progress: Progress | None = None) -> np.ndarray:
    """The class of every position for every output, (outputs, columns): from 0 on, or `IGNORED` if it is not read."""
    left = comparison.reads(rng)
    labels = np.full(left.shape, IGNORED)
    most = comparison.frame.columns * (comparison.frame.columns - 1) // 2
    for label in range(comparison.frame.columns):
        if not left.any():
            break
        # Every position that is left to an output has to be compared with the first of them, which begins a class.
        firsts = np.where(left.any(axis=1), left.argmax(axis=1), IGNORED)
        alike = left & (np.arange(left.shape[1]) == firsts[:, None])
        wanted = {first: np.flatnonzero(left[firsts == first].any(axis=0)) for first in np.unique(firsts).tolist()}
        pairs = [(first, int(other)) for first, others in wanted.items() for other in others if other > first]
        comparison.exchange(pairs)
        for first, other in pairs:
            unchanged = comparison.exchanged[first, other] <= comparison.tolerance
            alike[:, other] |= left[:, other] & (firsts == first) & unchanged
        labels[alike] = label
        left &= ~alike
        report(progress, len(comparison.exchanged), most)
    return labels


def members(labels: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Random permutations that keep the classes, (at most count, columns), all different and none of them the identity."""
    classes = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    if all(len(positions) < 2 for positions in classes):
        return np.empty((0, len(labels)), dtype=int)
    drawn = np.tile(np.arange(len(labels)), (count, 1))
    for positions in classes:
        drawn[:, positions] = rng.permuted(np.tile(positions, (count, 1)), axis=1)
    drawn = np.unique(drawn, axis=0)
    return drawn[(drawn != np.arange(len(labels))).any(axis=1)]


def permuted(tokens: np.ndarray, permutations: np.ndarray) -> np.ndarray:
    """Each sequence with the token at position a moved to position `permutation[a]`, by a permutation of its own."""
    moved = np.empty_like(tokens)
    np.put_along_axis(moved, permutations, tokens, axis=1)
    return moved


def _whole(model: OpenedModel, tokens: np.ndarray) -> dict[str, Values]:
    """The layers of all sequences together."""
    blocks = []
    for rows, layers in model.blocks(tokens):
        blocks.append(layers)
        row_bytes = sum(values.array.nbytes for values in layers.values()) / (rows.stop - rows.start)
        # As much again for what they are compared with.
        _require_memory(2.0 * len(tokens) * row_bytes, f"{len(tokens)} sequences", model)
    return {name: Values(np.concatenate([layers[name].array for layers in blocks]), blocks[0][name].precision) for name in blocks[0]}


def _require_memory(need: float, what: str, model: OpenedModel) -> None:
    """Refuse outputs that do not fit into memory."""
    room = available_memory()
    if room is not None and need > room:
        raise InputError(
            f"The outputs of {model.name} for {what} need {need / 2**30:.1f} GB, and {room / 2**30:.1f} GB are free: take fewer or shorter "
            "sequences, or return fewer outputs."
        )
