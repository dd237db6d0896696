"""What tries to learn a sparse function from m samples: a transformer, a multilayer perceptron, and their infinitely wide limits."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import linalg

from specht.errors import unknown_choice, whole_number
from specht.sequences.sparse import Sample, SparseFunction, needed

if TYPE_CHECKING:
    from specht.nn.sparse import Model
    from specht.nn.trials import Schooling, TrialRun

NETWORKS = ("transformer", "perceptron")
KERNELS = ("transformer-nngp", "transformer-ntk", "perceptron-nngp", "perceptron-ntk")
LEARNERS = (*NETWORKS, *KERNELS)
LIMIT = "linear-relu"
"""The preset whose kernel stands for the transformer: one block, closed form, so that thousands of samples take seconds."""
_RIDGE = 1e-6
"""Of the regression, in units of the mean of k(x, x): what gradient flow leaves at the end of training, but for rounding."""
MOST_RESTARTS = 16


class Trial(NamedTuple):
    """What came of one sample set."""

    success: bool
    accuracy: float
    """Best share of the validation set that was right."""
    runs: int
    """Networks that were trained, restarts included."""
    identified: bool
    """Whether one choice of bits alone explains the samples."""


@dataclasses.dataclass(frozen=True)
class Task:
    """A sparse function of T bits, and when it counts as learnt."""

    function: SparseFunction
    length: int
    """Number of bits T."""
    accuracy: float = 1.0
    """Share of the validation set that must be right."""
    validation: int = 512
    """Samples that accuracy is measured on."""
    seed: int = 0

    def __post_init__(self) -> None:
        self.function.check_length(self.length)

    @property
    def needed(self) -> int:
        """Samples of the validation set that must be right."""
        return needed(self.accuracy, self.validation)

    def draw(self, m: int, trial: int) -> tuple[Sample, Sample, bool]:
        """Training samples, validation samples, and whether the former have one explanation; the same numbers give the same."""
        rng = np.random.default_rng([self.seed, self.length, whole_number("m", m, at_least=1), trial])
        train, identified = self.function.draw_identified(rng, m, self.length)
        return train, self.function.draw(rng, self.validation, self.length), identified


@dataclasses.dataclass(frozen=True)
class NetworkLearner:
    """Networks trained by gradient descent; where one fails the next start is tried."""

    task: Task
    model: Model
    schooling: Schooling
    restarts: int = 3
    """Starts that are tried before a trial counts as failed."""

    def try_once(self, m: int, trial: int) -> Trial:
        train, validation, identified = self.task.draw(m, trial)
        right = 0
        for start in range(self.restarts):
            right = max(right, self.run(train, validation, trial, start).most_right)
            if right >= self.task.needed:
                return Trial(True, right / self.task.validation, start + 1, identified)
        return Trial(False, right / self.task.validation, self.restarts, identified)

    def run(self, train: Sample, validation: Sample, trial: int, start: int = 0, enough: float | None = None) -> TrialRun:
        """One training, whose seed is made of those of task, trial and start; `enough` of the validation set ends it."""
        from specht.nn.trials import Samples, run_trial  # loads JAX

        enough = self.task.accuracy if enough is None else enough
        seed = (self.task.seed, trial, start)
        return run_trial(self.model, Samples(*train), Samples(*validation), self.schooling, seed=seed, enough=enough)


@dataclasses.dataclass(frozen=True)
class KernelLearner:
    """Regression on labels -1 and 1 with the kernel of infinitely wide networks; its sign is the prediction."""

    task: Task
    gram: Callable[[np.ndarray, np.ndarray | None], np.ndarray]
    """From bits (n, T) and (m, T) to the kernel between them."""

    def try_once(self, m: int, trial: int) -> Trial:
        train, validation, identified = self.task.draw(m, trial)
        right = int((self.predict(train, validation.x) == validation.y).sum())
        return Trial(right >= self.task.needed, right / self.task.validation, 1, identified)

    def predict(self, train: Sample, x: np.ndarray) -> np.ndarray:
        """Labels 0 and 1; the mean label is learnt apart from the kernel."""
        gram, labels = self.gram(train.x, None), 2.0 * train.y - 1.0
        gram[np.diag_indices_from(gram)] += _RIDGE * np.trace(gram) / len(gram)
        weights = linalg.cho_solve(linalg.cho_factor(gram), labels - labels.mean())
        return (self.gram(x, train.x) @ weights + labels.mean() > 0.0).astype(np.int8)


Learner = NetworkLearner | KernelLearner


def learner(name: str, task: Task, **training: Any) -> Learner:
    """A learner by its name; `training` is what `network_learner` takes."""
    if name not in LEARNERS:
        raise unknown_choice("learner", name, LEARNERS)
    if name in NETWORKS:
        return network_learner(name, task, **training)
    family, _, kind = name.rpartition("-")
    return KernelLearner(task, _transformer_gram(task.length, kind) if family == "transformer" else _perceptron_gram(kind))


def network_learner(
    name: str, task: Task, *, schooling: Schooling | None = None, restarts: int = 3, model: Model | None = None
) -> NetworkLearner:
    """The transformer of the paper, or a perceptron with as many weights, unless a model is given."""
    from specht.nn.sparse import BitTransformer, Perceptron  # loads JAX
    from specht.nn.trials import Schooling

    restarts = whole_number("restarts", restarts, at_least=1, at_most=MOST_RESTARTS)
    chosen = model or (BitTransformer(task.length) if name == "transformer" else Perceptron.like(BitTransformer(task.length)))
    return NetworkLearner(task, chosen, schooling or Schooling(), restarts)


def _perceptron_gram(kind: Any) -> Callable[[np.ndarray, np.ndarray | None], np.ndarray]:
    from specht.kernel.perceptron import perceptron_gram

    return functools.partial(perceptron_gram, kind=kind)


def _transformer_gram(length: int, kind: Any) -> Callable[[np.ndarray, np.ndarray | None], np.ndarray]:
    from specht.kernel.kernel import Kernel
    from specht.nn.trials import filled
    from specht.presets import preset

    kernel = Kernel(preset(LIMIT, vocab=2, length=length, readout="cls", normalised=True))

    def with_symbol(x: np.ndarray) -> np.ndarray:
        """With a column for the class symbol, and filled up to few different sizes: every one is compiled."""
        padded = np.zeros((filled(len(x)), length + 1), np.int64)
        padded[: len(x), :length] = x
        return padded

    def gram(x: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        values = getattr(kernel, kind)(with_symbol(x), None if y is None else with_symbol(y))
        return np.array(values[: len(x), : len(x if y is None else y)])

    return gram
