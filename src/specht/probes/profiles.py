"""Symmetry profiles of all layers of a model, from one evaluation of it."""

from __future__ import annotations

import functools
import hashlib
import math

import numpy as np

from specht.errors import InputError
from specht.probes.models import OpenedModel
from specht.probes.outputs import Layers
from specht.probes.stabilisers import with_readout
from specht.profiles import Profile, profile
from specht.progress import Progress, stages
from specht.sequences import uniform

WIDEST = 256
"""Outputs of which a profile is taken as they are; more are projected to so many."""
_KEPT_BYTES = 2**28
"""Outputs that the profiles share at most; beyond that the model is evaluated anew for each."""


def layer_profiles(
    model: OpenedModel, layers: int, samples: int, max_level: int, seed: int, progress: Progress | None = None
) -> list[tuple[Profile | None, str]]:
    """For each layer the profile of what the readout sees of it, under uniform tokens, or None and the reason."""
    shared, source, frame = _Shared(model, seed), uniform(model.frame.vocab), model.frame
    profiles: list[tuple[Profile | None, str]] = []
    for number, part in enumerate(stages(progress, [layers, *[1] * (layers - 1)])):  # the first one evaluates the model
        function = functools.partial(shared.layer, number)
        settings = {"samples": samples, "max_level": max_level, "readout": frame.readout, "progress": part}
        try:
            profiles.append((profile(function, source, frame.length, seed, **settings), ""))
        except InputError as refusal:  # such as too few sequences behind the variance
            profiles.append((None, str(refusal)))
    return profiles


class _Shared:
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
