r"""The invariance probe: which permutations of positions a model ignores, at every position of every layer.

All columns of the tokens are positions: the $L$ context positions and, with readout "last", the readout token after them. For every output
the probe finds the positions that it does not read, and those that it reads but does not distinguish (`specht.probes.stabilisers`). Then
it tries random members of the group of permutations that should change nothing, and random permutations of the context as a whole, with its
reversal and its rotation, under which a function can be invariant without any exchange (a bag of cyclic bigrams is).

A change of a number counts if it is larger than $\epsilon^{2/3}$ times its largest value, with $\epsilon$ the precision: 3.7e-11 of it in
float64, 2.4e-5 in float32; any change of a whole number counts. What is shown is the change as a fraction of the spread of the output, as
in `invariance_residual`.

Beside that every layer has the symmetry profile of what the readout sees (`specht.profiles.solve`), from one evaluation of the model, and
the adjacency score of its states (`specht.probes.similarity`).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError, explains_calls
from specht.groups import Permutation, transposition
from specht.probes.models import OpenedModel, open_model
from specht.probes.outputs import Layers
from specht.probes.result import AdjacencyScore, Probe, ProbedLayer, View
from specht.probes.similarity import adjacency_score, self_cosines
from specht.probes.stabilisers import Comparison, members, permuted, position_classes, with_readout
from specht.profiles import LEAST_SAMPLES, Profile, profile
from specht.progress import Progress, report, stages
from specht.sequences import random_permutations, uniform
from specht.stats import standard_error

WIDEST = 256
"""Outputs of which a profile is taken as they are; more are projected to so many."""
_KEPT_BYTES = 2**28
"""Outputs that the profiles share at most; beyond that the model is evaluated anew for each."""


@explains_calls
def probe(
    model: Any,
    vocab: int | None = None,
    length: int | None = None,
    *,
    readout: str | None = None,
    sequences: int = 32,
    permutations: int = 64,
    seed: int = 0,
    profile_samples: int = 400,
    max_level: int = 3,
    size: tuple[int, int, int] | None = None,
    weights: int | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Probe:
    """Which permutations of the tokens a model ignores, layer by layer.

    Arguments:
        model: a function of tokens (n, columns), or anything else that `specht.probes.models` calls: an `Architecture` with random
            weights, a `Network`, a PyTorch module, an Equinox module. It returns (n,), (n, outputs) or (n, columns, width), or a dict or a
            list of these, layers by name with the output last.
        vocab: tokens are drawn uniformly from 0 to vocab - 1. An architecture or a network knows it itself, and `length` and `readout`.
        length: number of context positions, two or more.
        readout: "last" (unless given): one more column, read at its own position; "mean": none, outputs are averaged over positions.
        sequences: drawn to compare outputs on. A difference that shows in few sequences takes more of them.
        permutations: random ones tried, of the context and in each group that should change nothing.
        profile_samples: sequences drawn for the profile of each layer; 0: no profile.
        max_level: levels up to here are measured one by one in the profile.
        size: width, heads and head size of the network that an `Architecture` becomes; 64, 4 and 16 unless given.
        weights: seed of its weights; 0 unless given.
        name: what the model is called in sentences.
        progress: called as progress(done, total).

    >>> result = probe(lambda x: x[:, :3].sum(axis=1) + 10 * x[:, 3], vocab=4, length=4, profile_samples=0)
    >>> result.invariant, result.subgroups
    (False, (((0, 1, 2), (3,), (4,)),))
    """
    sequences = whole_number("sequences", sequences, 4)
    permutations = whole_number("permutations", permutations, 1)
    seed = whole_number("seed", seed)
    if whole_number("profile_samples", profile_samples) and profile_samples < LEAST_SAMPLES:
        raise InputError(f"profile_samples must be 0 or at least {LEAST_SAMPLES}, got {profile_samples}.")
    max_level = whole_number("max_level", max_level, 0)
    opened = open_model(model, vocab, length, readout, size=size, weights=weights, name=name)
    drawing, searching, confirming = np.random.default_rng(seed).spawn(3)
    search, confirm, profiled = stages(progress, [2, 2, 3])
    comparison = Comparison(opened, sequences, drawing)
    frame = opened.frame
    labels = position_classes(comparison, searching, search)
    comparison.exchange(filter(None, (_first_exchange(labels[output], frame.length) for output in comparison.readouts)))
    views = _Views(comparison, labels, permutations, seed, confirming, confirm).views()
    layers = [_layer(comparison, views, number) for number in range(len(comparison.layers))]
    if profile_samples:
        profiles = layer_profiles(opened, len(layers), profile_samples, max_level, seed, profiled)
        layers = [dataclasses.replace(layer, profile=own, profile_note=note) for layer, (own, note) in zip(layers, profiles, strict=True)]
    comparison.require_repeatable()  # at the end, too: randomness may begin late
    return Probe(
        model=opened.name,
        vocab=frame.vocab,
        length=frame.length,
        readout=frame.readout,
        layers=tuple(layers),
        sequences=sequences,
        permutations=permutations,
        exchanges=len(comparison.exchanged),
        evaluations=opened.fed,
        notes=opened.notes,
    )


class _Views:
    """Tries permutations on every output, keeps the largest changes, and says with its classes what is known of it."""

    def __init__(
        self, comparison: Comparison, labels: np.ndarray, count: int, seed: int, rng: np.random.Generator, progress: Progress | None
    ) -> None:
        self.comparison, self.labels, self.rng, self.count = comparison, labels, rng, count
        frame = comparison.frame
        rest = tuple(range(frame.length, frame.columns))
        context = [*random_permutations(frame.length, count, seed), tuple(range(frame.length))[::-1], (*range(1, frame.length), 0)]
        self.context = [permutation + rest for permutation in context]
        whole, groups = stages(progress, [2, 1])
        self.changes = comparison.under(np.array(self.context), whole)
        self.inside: list[tuple[float, Permutation] | None] = [None] * comparison.outputs
        self._confirm(groups)

    def _confirm(self, progress: Progress | None) -> None:
        """Try random members of every group: on all sequences if it is that of a readout, otherwise on one sequence each."""
        distinct, which = np.unique(self.labels, axis=0, return_inverse=True)
        groups = [members(labels, self.count, self.rng) for labels in distinct]
        at_readout = {int(which.reshape(-1)[output]) for output in self.comparison.readouts}
        changes = self._one_sequence_each([[] if number in at_readout else group for number, group in enumerate(groups)])
        for step, number in enumerate(sorted(at_readout)):
            changes[number] = self.comparison.under(groups[number])
            report(progress, step + 1, len(at_readout))
        for output, number in enumerate(which.reshape(-1)):
            if len(groups[number]):
                worst = int(changes[number][:, output].argmax())
                self.inside[output] = (float(changes[number][worst, output]), tuple(groups[number][worst].tolist()))

    def _one_sequence_each(self, groups: list[Any]) -> list[np.ndarray]:
        """Changes by the members of several groups, in one go."""
        columns, sizes = self.comparison.frame.columns, [len(group) for group in groups]
        permutations = np.concatenate([np.reshape(group, (-1, columns)) for group in groups]).astype(int)
        which = self.rng.integers(len(self.comparison.tokens), size=len(permutations))
        changes = self.comparison.changes(permuted(self.comparison.tokens[which], permutations), which)
        return np.split(changes, np.cumsum(sizes)[:-1])

    def views(self) -> list[View]:
        frame, outputs = self.comparison.frame, self.comparison.outputs
        pairs = [pair for pair in self.comparison.exchanged if pair[1] < frame.length]
        changes = np.vstack([self.changes, *(self.comparison.exchanged[pair] for pair in pairs)])
        tried = [*self.context, *(transposition(frame.columns, *pair) for pair in pairs)]
        worst = changes.argmax(axis=0)
        return [self._view(output, float(changes[worst[output], output]), tried[worst[output]]) for output in range(outputs)]

    def _view(self, output: int, change: float, permutation: Permutation) -> View:
        comparison, inside, tolerance = self.comparison, self.inside[output], float(self.comparison.tolerance[output])
        *_, reversal, rotation = self.changes[:, output] <= tolerance
        return View(
            position=None,
            labels=tuple(self.labels[output].tolist()),
            context=comparison.residual(output, change, permutation),
            inside=None if inside is None else comparison.residual(output, *inside),
            tolerance=tolerance,
            rotation=bool(rotation),
            reversal=bool(reversal),
            length=comparison.frame.length,
        )


def _layer(comparison: Comparison, views: list[View], number: int) -> ProbedLayer:
    sample, frame = comparison.layers[number], comparison.frame
    start, readout = int(comparison.offsets[number]), int(comparison.readouts[number])
    has_positions = sample.rows > 1
    own = views[start : start + (frame.columns if has_positions else 1)]
    last = frame.columns - 1 if frame.readout == "last" else None
    placed = [dataclasses.replace(view, position=place if has_positions else last) for place, view in enumerate(own)]
    seen = dataclasses.replace(views[readout], position=last)
    exchange = _first_exchange(seen.labels, frame.length)
    residual = None
    if exchange is not None:
        change = float(comparison.exchanged[exchange][readout])
        residual = comparison.residual(readout, change, transposition(frame.columns, *exchange))
    return ProbedLayer(
        name=sample.name,
        precision=sample.precision,
        tolerance=seen.tolerance,
        views=tuple(placed),
        readout=seen,
        exchange=exchange,
        exchange_residual=residual,
        adjacency=_adjacency(sample.before[:, : frame.columns]) if has_positions else None,
    )


def _first_exchange(labels: Sequence[int] | np.ndarray, length: int) -> tuple[int, int] | None:
    """The first two neighbours in the context that are in different classes."""
    return next(((place - 1, place) for place in range(1, length) if labels[place] != labels[place - 1]), None)


def _adjacency(states: np.ndarray) -> AdjacencyScore | None:
    _, positions, width = states.shape
    if positions < 3 or width < 2:  # cosines of numbers are signs
        return None
    scores = np.array([adjacency_score(cosines) for cosines in self_cosines(states)])
    return AdjacencyScore(float(scores.mean()), float(standard_error(scores)))


def layer_profiles(
    model: OpenedModel, layers: int, samples: int, max_level: int, seed: int, progress: Progress | None = None
) -> list[tuple[Profile | None, str]]:
    """For each layer the profile of what the readout sees of it, under uniform tokens, or None and the reason."""
    shared, source, frame = _SharedOutputs(model, seed), uniform(model.frame.vocab), model.frame
    profiles: list[tuple[Profile | None, str]] = []
    for number, part in enumerate(stages(progress, [layers, *[1] * (layers - 1)])):  # the first one evaluates the model
        function = functools.partial(shared.layer, number)
        settings = {"samples": samples, "max_level": max_level, "readout": frame.readout, "progress": part}
        try:
            profiles.append((profile(function, source, frame.length, seed, **settings), ""))
        except InputError as refusal:  # such as too few sequences behind the variance
            profiles.append((None, str(refusal)))
    return profiles


class _SharedOutputs:
    """What the readout sees of every layer, evaluated once for all profiles: with one seed these ask for the same sequences."""

    def __init__(self, model: OpenedModel, seed: int) -> None:
        self.model, self.rng = model, np.random.default_rng(seed)
        self.projections: dict[int, np.ndarray] = {}
        self.kept: dict[bytes, list[np.ndarray]] = {}
        self.room = _KEPT_BYTES

    def layer(self, number: int, tokens: np.ndarray) -> np.ndarray:
        """What the readout sees of one layer; of the others it is kept as long as there is room."""
        key = hashlib.blake2b(tokens.tobytes(), digest_size=16).digest()
        if key in self.kept:
            return self.kept[key][number]
        blocks = [self._seen(layers) for _, layers in self.model.blocks(tokens)]
        values = [np.concatenate(parts) for parts in zip(*blocks, strict=True)]
        size = sum(array.nbytes for array in values)
        if size <= self.room:
            self.kept[key], self.room = values, self.room - size
        return values[number]

    def _seen(self, layers: Layers) -> list[np.ndarray]:
        return [self._narrow(with_readout(values.array, self.model.frame)[:, -1]) for values in layers.values()]

    def _narrow(self, values: np.ndarray) -> np.ndarray:
        """A random projection of what is too wide; it keeps squares on average."""
        width = values.shape[1]
        if width <= WIDEST:
            return values
        if width not in self.projections:
            self.projections[width] = self.rng.standard_normal((width, WIDEST)) / math.sqrt(WIDEST)
        return values @ self.projections[width]
