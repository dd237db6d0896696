"""Measured learning curves: datasets that can be drawn again, errors dataset by dataset, and the losses that they make.

Dataset number i of a seed is the same whatever else is asked for, and grows without changing its beginning.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from specht.results import Result, Variable, plain
from specht.sequences import Task
from specht.stats import standard_error

FIRST = 256
"""Samples of a dataset that are drawn first. Each further draw, with a generator of its own, doubles their number."""
LOSSES = ("test", "train", "ood", "learned")
"""Fields of a learning curve; `ood` is None without a test source."""
TARGET_SQUARED = "target squared"
_MEANING = {
    "test": "mean squared error on fresh sequences, against the target without noise",
    "train": "mean squared error on the training labels, noise included",
    "ood": "mean squared error out of distribution",
    "learned": "share of the target in the prediction",
}
_SHOWN = 6
"""Most numbers of samples that a summary shows."""


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


def axes_of(n_train: np.ndarray) -> tuple[str, ...]:
    """Names of the dimensions of a curve: `n_train`, unless several ridges make it a table."""
    return ("n_train",) if n_train.ndim == 1 else tuple(f"axis_{number}" for number in range(n_train.ndim))


def loss_variables(curve: Any, axes: tuple[str, ...], before: str = "") -> list[Variable]:
    """The losses of a curve, with their standard errors where it has them; `before` stands before their names."""
    variables = []
    for name in LOSSES:
        unit = "1" if name == "learned" else TARGET_SQUARED
        for end, words in (("", ""), ("_stderr", "standard error over datasets: ")):
            values = getattr(curve, name + end, None)
            if values is not None:
                variables.append(Variable(f"{before}{name}{end}", axes, values, words + _MEANING[name], unit))
    return variables


def describe_losses(curve: Any) -> str:
    """The test loss in a line."""
    if curve.n_train.ndim != 1:
        return f"test loss from {np.min(curve.test):.4g} to {np.max(curve.test):.4g} at {curve.n_train.size} points"
    count = len(curve.n_train)
    places = range(count) if count <= _SHOWN else [*range(_SHOWN - 2), count - 1]
    values = [f"{curve.test[place]:.4g} at N = {curve.n_train[place]:g}" for place in places]
    if count > _SHOWN:
        values.insert(-1, "...")
    return f"test loss {', '.join(values)}"


@dataclasses.dataclass(frozen=True, eq=False)
class MeasuredCurve(Result):
    """A measured learning curve: means over datasets and their standard errors, all of shape (S,) for S numbers of samples."""

    n_train: np.ndarray
    """Numbers of samples N."""
    test: np.ndarray
    test_stderr: np.ndarray
    train: np.ndarray
    train_stderr: np.ndarray
    ood: np.ndarray | None
    """None for a task without a test source."""
    ood_stderr: np.ndarray | None
    learned: np.ndarray
    """NaN where the target is zero."""
    learned_stderr: np.ndarray
    datasets: int
    scale: float
    """E[k(x, x)], the unit of the ridge."""
    scale_stderr: float
    """Standard error of the scale, from the sequences that it was estimated on; zero where it was given."""
    heads: int | None
    """Sampled heads of the kernel; None where it is exact or none was used."""

    def summary(self) -> dict[str, Any]:
        """Losses as plain values, as files and figures have them."""
        fields: dict[str, Any] = {"n_train": [int(n) for n in self.n_train], "datasets": self.datasets}
        for name in LOSSES:
            fields |= {name: plain(getattr(self, name)), f"{name}_stderr": plain(getattr(self, f"{name}_stderr"))}
        return fields

    def _summary(self) -> str:
        return f"means over {self.datasets} datasets\n{describe_losses(self)}"

    def _variables(self) -> list[Variable]:
        return [
            Variable("n_train", "n_train", self.n_train, "number of training samples N", "samples"),
            *loss_variables(self, ("n_train",)),
            Variable("datasets", (), self.datasets, "datasets that are averaged over"),
            Variable("scale", (), self.scale, "E[k(x, x)], the unit of the ridge", "kernel"),
            Variable("scale_stderr", (), self.scale_stderr, "standard error of the scale; zero where it was given", "kernel"),
        ]


@dataclasses.dataclass(frozen=True, eq=False)
class Tally:
    """Mean squared errors (D, S) of D datasets at S numbers of samples, to be filled in."""

    test: np.ndarray
    train: np.ndarray
    ood: np.ndarray | None
    overlap: np.ndarray
    """E[f . g] on the test sequences."""
    square: np.ndarray
    """E[g^2] on them, (D, 1)."""

    @classmethod
    def empty(cls, datasets: int, sizes: int, shifted: bool) -> Tally:
        test, train, ood, overlap = np.full((4, datasets, sizes), np.nan)
        return cls(test, train, ood if shifted else None, overlap, np.full((datasets, 1), np.nan))

    def curve(self, n_train: list[int], scale: float, scale_stderr: float = 0.0, heads: int | None = None) -> MeasuredCurve:
        """Means over datasets, with their standard errors."""
        ood = (None, None) if self.ood is None else average(self.ood)
        measured = {"test": average(self.test), "train": average(self.train), "ood": ood, "learned": ratio(self.overlap, self.square)}
        losses: dict[str, Any] = {name: mean for name, (mean, _) in measured.items()}
        errors: dict[str, Any] = {f"{name}_stderr": stderr for name, (_, stderr) in measured.items()}
        settings: dict[str, Any] = {"scale": scale, "scale_stderr": scale_stderr, "heads": heads}
        return MeasuredCurve(n_train=np.array(n_train), datasets=len(self.test), **losses, **errors, **settings)


def overlaps(means: np.ndarray, fresh: LabelledSequences) -> np.ndarray:
    """E[f . g] for functions (S, M, K) on M fresh sequences."""
    return np.einsum("smk,mk->s", means, fresh.y) / len(fresh.y)


def mean_square(values: np.ndarray) -> np.ndarray:
    """Mean over sequences of the square summed over outputs: (..., n, K) -> (...)."""
    return np.square(values).sum(axis=-1).mean(axis=-1)


def average(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over datasets, the first axis, and its standard error."""
    return values.mean(axis=0), standard_error(values)


def ratio(above: np.ndarray, below: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ratio of the means over datasets, with the standard error that both have together (to first order); NaN where nothing is below."""
    total = np.where(below.mean(axis=0) > 0.0, below.mean(axis=0), np.nan)
    quotient = above.mean(axis=0) / total
    return quotient, average(above - quotient * below)[1] / total
