"""Finite width beside the infinite one: learning curves where the theory knows them, and a sentence where it does not."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from specht.errors import InputError
from specht.kernel.forms import SAMPLED_FORMS, choose_form
from specht.lab.threads import one_thread
from specht.learning.adaptive.population import SEQUENCES, adaptive_curve, most_samples
from specht.progress import Progress
from specht.results import plain

if TYPE_CHECKING:
    from specht.architecture import Architecture
    from specht.lab.predict_config import PredictConfig
    from specht.learning.adaptive.curve import AdaptiveCurve
    from specht.sequences.tasks import Task

QUICK_VOCAB, QUICK_VOCAB_MEAN = 12, 8
"""Tokens at most, where nobody asked for a finite width: with more of them its theory takes longer than about ten seconds. The second is
for a mean readout, which has many more functions."""


@dataclasses.dataclass(frozen=True)
class FiniteWidth:
    """Learning curves at the finite widths of a configuration."""

    curve: AdaptiveCurve
    """Over widths, and those numbers of samples that the theory can follow (D, N)."""
    loss: float
    """The test loss that is asked for."""
    crowded: bool
    """Whether there are not few positions beside the smallest width, so that the theory expects too little loss."""

    @property
    def needed(self) -> list[float]:
        """At each width, samples from which on the test loss stays below the one that is asked for; infinite if not within the curve."""
        return [self.curve.samples_for(self.loss, width) for width in self.curve.width]

    def summary(self) -> dict[str, Any]:
        """As plain values."""
        curve = self.curve
        changes = [curve.transition(width) for width in curve.width]
        return {
            "method": curve.method,
            "crowded": self.crowded,
            "nonlinear": curve.arch.activation != "linear",
            "n_train": [int(n) for n in curve.n_train],
            "width": [int(width) for width in curve.width],
            **{name: plain(getattr(curve, name)) for name in ("test", "train", "learned", "stderr", "ratios")},
            "strength": plain(curve.strengths[..., 0]),
            "names": list(curve.names),
            "reads": any(name.startswith("position") for name in curve.names),
            "samples": [plain(needed) for needed in self.needed],
            "transition": [{"samples": plain(change.samples), "kind": change.kind} for change in changes],
        }

    def columns(self) -> dict[str, np.ndarray]:
        """Values along the numbers of samples, by name."""
        named = {
            "test": self.curve.test,
            "train": self.curve.train,
            "learned": self.curve.learned,
            "strength": self.curve.strengths[..., 0],
        }
        return {f"width_{width:g}_{name}": values[row] for row, width in enumerate(self.curve.width) for name, values in named.items()}

    def variables(self, n_train: np.ndarray) -> dict[str, Any]:
        """The same as variables of a dataset, not a number where the theory does not reach."""
        curve, axes = self.curve, ("width", "n_train")
        missing = len(n_train) - len(curve.n_train)

        def padded(values: np.ndarray) -> np.ndarray:
            return np.pad(values, [(0, 0), (0, missing)] + [(0, 0)] * (values.ndim - 2), constant_values=np.nan)

        losses = {f"finite_{name}": (axes, padded(getattr(curve, name))) for name in ("test", "train", "learned", "stderr")}
        return losses | {
            "finite_strength": (axes, padded(curve.strengths[..., 0])),
            "finite_ratio": ((*axes, "variance"), padded(curve.ratios)),
            "finite_samples": ("width", np.array(self.needed)),
        }

    def coordinates(self) -> dict[str, Any]:
        return {"width": self.curve.width, "variance": list(self.curve.names)}


def at_finite_width(
    config: PredictConfig, arch: Architecture, task: Task, variance: float, progress: Progress | None = None
) -> tuple[FiniteWidth | None, str | None]:
    """Curves at the widths of a configuration, and a sentence on what is missing, if anything is.

    Arguments:
        variance: of the target, which errors are a share of.
    """
    if not config.widths:
        return None, None
    try:
        _refuse(config, arch, task)
        numbers = followed(config, arch, task)
        with one_thread():  # its matrices are small: on a busy machine two threads took 80 CPU seconds, one took 1
            curve = adaptive_curve(
                arch, task, numbers, width=config.widths, ridge=config.ridge, noise=config.noise, seed=config.seed, progress=progress
            )
    except InputError as error:
        if config.needs_finite_width:
            raise
        return None, f"Finite width is left out: {_begun_small(str(error))}"
    found = FiniteWidth(curve, config.error * variance, crowded=is_crowded(arch, config.widths[0]))
    if len(numbers) == len(config.n_train):
        return found, None
    return found, f"At finite width the curve ends at N = {numbers[-1]}, because its kernel is followed on {SEQUENCES} sampled sequences."


def refuse_architecture(arch: Architecture) -> None:
    """Complain about an architecture that the theory does not know, before anything is computed."""
    if arch.positions not in ("learned", "none"):
        raise InputError(
            f"The theory of finite width takes positions that are learned, or none, not {arch.positions}: take --positions learned."
        )
    if arch.depth > 1:
        raise InputError(f"The theory of finite width takes one block, and there are {arch.depth}: take --depth 1.")
    if choose_form(arch, "nngp", of_each=True) in SAMPLED_FORMS:
        raise InputError("The theory of finite width takes a kernel in closed form, as linear attention has it, or --scaling tied.")


def followed(config: PredictConfig, arch: Architecture, task: Task) -> list[int]:
    """Those numbers of samples that the theory can follow."""
    most = most_samples(arch, task)
    numbers = [n for n in config.n_train if n <= most]
    if not numbers:
        raise InputError(
            f"The theory of finite width follows {most:g} samples here, and --n-train begins at {config.n_train[0]}: lower it."
        )
    return numbers


def is_crowded(arch: Architecture, width: float) -> bool:
    """Whether there are more positions than half the width: then the theory, a saddle point, is known to be too optimistic."""
    return arch.positions != "none" and 2 * arch.columns > width


def _refuse(config: PredictConfig, arch: Architecture, task: Task) -> None:
    """Complain where the theory has no answer, or only a slow one that nobody asked for."""
    if config.kind != "nngp":
        raise InputError(f"Its theory is Bayesian and knows no --kind {config.kind}.")
    if config.ridge == 0:
        raise InputError("Its theory takes a ridge, and --ridge is 0.")
    refuse_architecture(arch)
    if config.width is not None or config.phases:
        return
    add = f"add --width {config.widths[0]} to have it."
    if math.isfinite(most_samples(arch, task)):
        raise InputError(f"Its theory is not exact here and takes a minute of sampling; {add}")
    if arch.vocab > (QUICK_VOCAB_MEAN if arch.readout == "mean" else QUICK_VOCAB):
        raise InputError(f"With {arch.vocab} tokens its theory takes a while; {add}")


def _begun_small(sentence: str) -> str:
    """A sentence as it goes on behind a colon."""
    return sentence[:1].lower() + sentence[1:]
