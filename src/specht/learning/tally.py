"""Errors of learnt functions, dataset by dataset, and the learning curve that they make."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from specht.learning.datasets import LabelledSequences
from specht.learning.losses import LOSSES, describe_losses, loss_variables
from specht.results import Result, Variable, plain
from specht.stats import standard_error


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
