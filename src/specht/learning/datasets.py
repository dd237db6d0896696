"""Datasets that can be drawn again: number i of a seed is the same whatever else is asked for, and grows without changing its beginning."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from specht.sequences import Task

FIRST = 256
"""Samples of a dataset that are drawn first. Each further draw, with a generator of its own, doubles their number."""


class Role(enum.IntEnum):
    """What random numbers are for; each use has a stream of its own."""

    TRAIN = 0
    NOISE = 1
    TEST = 2
    OOD = 3
    REFERENCE = 4


class LabelledSequences(NamedTuple):
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

    def training(self, dataset: int, n: int) -> LabelledSequences:
        """Samples of the task, with noise on the labels."""
        parts = [self.task.draw(self._generator(Role.TRAIN, dataset, i), size, self.columns) for i, size in enumerate(_draws(n))]
        x, y = (np.concatenate(arrays)[:n] for arrays in zip(*parts, strict=True))
        return LabelledSequences(x, y + np.sqrt(self.noise) * self._generator(Role.NOISE, dataset).standard_normal(y.shape))

    def test(self, dataset: int, n: int) -> LabelledSequences:
        """Fresh sequences for this dataset, with the target's values."""
        return LabelledSequences(*self.task.draw_test(self._generator(Role.TEST, dataset), n, self.columns))

    def out_of_distribution(self, dataset: int, n: int) -> LabelledSequences:
        """Fresh sequences of the test source for this dataset, with the target's values."""
        return LabelledSequences(*self.task.draw_ood(self._generator(Role.OOD, dataset), n, self.columns))

    def reference(self, n: int) -> np.ndarray:
        """Sequences of the source that belong to no dataset."""
        return self.task.source.draw(self._generator(Role.REFERENCE, 0), n, self.columns)

    def _generator(self, role: Role, dataset: int, draw: int = 0) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(role, dataset, draw)))


def _draws(n: int) -> Iterator[int]:
    """Sizes of draws that give n samples or more. They do not depend on n, so that the first samples stay the same when it grows."""
    size = total = FIRST
    yield size
    while total < n:
        size, total = total, 2 * total
        yield size
