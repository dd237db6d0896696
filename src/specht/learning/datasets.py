"""Datasets that can be drawn again: number i of a seed is the same whatever else is asked for, and grows without changing its beginning."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from specht.sequences.tasks import Task

Draw = Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray]]
"""Draws sequences (n, columns) and values (n, outputs)."""

CHUNK = 256
"""Sequences drawn with one generator. It is fixed, so that the first ones stay the same when more are asked for."""


class Role(enum.IntEnum):
    """What random numbers are for; each use has a stream of its own."""

    TRAIN = 0
    NOISE = 1
    TEST = 2
    OOD = 3
    REFERENCE = 4


class Samples(NamedTuple):
    """Sequences (n, columns) and values (n, outputs)."""

    x: np.ndarray
    y: np.ndarray


class Datasets(NamedTuple):
    """The datasets of a task, by number."""

    task: Task
    columns: int
    noise: float
    """Variance of Gaussian noise on each label."""
    seed: int

    def training(self, dataset: int, n: int) -> Samples:
        """Samples of the task, with noise on the labels."""
        x, y = self._drawn(self.task.draw, n, Role.TRAIN, dataset)
        noise = np.concatenate([rng.standard_normal((CHUNK, y.shape[1])) for rng in self._generators(n, Role.NOISE, dataset)])
        return Samples(x, y + np.sqrt(self.noise) * noise[:n])

    def test(self, dataset: int, n: int) -> Samples:
        """Fresh sequences for this dataset, with the target's values."""
        return self._drawn(self.task.draw_test, n, Role.TEST, dataset)

    def out_of_distribution(self, dataset: int, n: int) -> Samples:
        """The same from the test source."""
        return self._drawn(self.task.draw_ood, n, Role.OOD, dataset)

    def reference(self, n: int) -> np.ndarray:
        """Sequences of the source that belong to no dataset."""
        return self._drawn(self.task.draw_test, n, Role.REFERENCE, 0).x

    def _drawn(self, draw: Draw, n: int, role: Role, dataset: int) -> Samples:
        parts = [draw(rng, CHUNK, self.columns) for rng in self._generators(n, role, dataset)]
        x, y = (np.concatenate(each)[:n] for each in zip(*parts, strict=True))
        return Samples(x, y)

    def _generators(self, n: int, role: Role, dataset: int) -> Iterator[np.random.Generator]:
        for chunk in range(-(-n // CHUNK)):
            yield np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(role, dataset, chunk)))
