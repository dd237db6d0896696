"""What tries to learn a sparse function from m samples: a transformer, a multilayer perceptron, their infinitely wide limits, and the
theory of a transformer of finite width."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import linalg

from specht import kernel, presets
from specht.checks import whole_number
from specht.learning import adaptive
from specht.studies.sparse.names import NETWORKS, check_learner, finite_width
from specht.studies.sparse.task import Samples, SparseFunction, needed

if TYPE_CHECKING:
    from specht.architecture import Architecture
    from specht.studies.sparse.model import BitModel
    from specht.studies.sparse.trials import Schooling, TrialRun

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
class SparseTask:
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

    def draw(self, m: int, trial: int) -> tuple[Samples, Samples, bool]:
        """Training samples, validation samples, and whether the former have one explanation; the same numbers give the same."""
        rng = np.random.default_rng([self.seed, self.length, whole_number("m", m, at_least=1), trial])
        train, identified = self.function.draw_identified(rng, m, self.length)
        return train, self.function.draw(rng, self.validation, self.length), identified


@dataclasses.dataclass(frozen=True)
class NetworkLearner:
    """Networks trained by gradient descent; where one fails the next start is tried."""

    task: SparseTask
    model: BitModel
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

    def run(self, train: Samples, validation: Samples, trial: int, start: int = 0, enough: float | None = None) -> TrialRun:
        """One training, whose seed is made of those of task, trial and start; `enough` of the validation set ends it."""
        from specht.studies.sparse.trials import run_trial  # loads JAX

        enough = self.task.accuracy if enough is None else enough
        seed = (self.task.seed, trial, start)
        return run_trial(self.model, train, validation, self.schooling, seed=seed, enough=enough)


Regression = Callable[[Samples, np.ndarray], np.ndarray]
"""From training samples and other bits to labels 0 and 1 of these."""


@dataclasses.dataclass(frozen=True)
class KernelLearner:
    """Regression on labels -1 and 1 with some kernel; its sign is the prediction."""

    task: SparseTask
    predict: Regression

    def try_once(self, m: int, trial: int) -> Trial:
        train, validation, identified = self.task.draw(m, trial)
        right = int((self.predict(train, validation.x) == validation.y).sum())
        return Trial(right >= self.task.needed, right / self.task.validation, 1, identified)


Learner = NetworkLearner | KernelLearner


def learner(name: str, task: SparseTask, **training: Any) -> Learner:
    """A learner by its name; `training` is what `network_learner` takes."""
    width = finite_width(check_learner(name))
    if width is not None:
        return KernelLearner(task, functools.partial(_predict_at_width, width))
    if name in NETWORKS:
        return network_learner(name, task, **training)
    kind: Any = name.rpartition("-")[2]
    gram = (
        _block_gram(_block(task.length), kind) if name.startswith("transformer") else functools.partial(kernel.perceptron_gram, kind=kind)
    )
    return KernelLearner(task, functools.partial(_predict, gram))


def network_learner(
    name: str, task: SparseTask, *, schooling: Schooling | None = None, restarts: int = 3, model: BitModel | None = None
) -> NetworkLearner:
    """The transformer of the paper, or a perceptron with as many weights, unless a model is given."""
    from specht.studies.sparse.model import BitTransformer, Perceptron  # loads JAX
    from specht.studies.sparse.trials import Schooling

    restarts = whole_number("restarts", restarts, at_least=1, at_most=MOST_RESTARTS)
    chosen = model or (BitTransformer(task.length) if name == "transformer" else Perceptron.like(BitTransformer(task.length)))
    return NetworkLearner(task, chosen, schooling or Schooling(), restarts)


Gram = Callable[[np.ndarray, np.ndarray | None], np.ndarray]
"""From bits (n, T) and (m, T) to the kernel between them."""


def _predict(gram: Gram, train: Samples, x: np.ndarray) -> np.ndarray:
    """By the kernel of infinitely wide networks."""
    between = gram(train.x, None)
    return _signs(between, gram(x, train.x), train.y, _RIDGE * np.trace(between) / len(between))


def _predict_at_width(width: int, train: Samples, x: np.ndarray) -> np.ndarray:
    """By the kernel that a block with an embedding of finite width moves to.

    The variances of tokens and positions are those at the minimum of the free energy of the samples that the prior leads to
    (`specht.learning.adaptive.saddle`). At infinite width they stay, and this is the kernel of infinitely wide networks.
    """
    if (train.y == train.y[0]).all():
        return np.full(len(x), train.y[0], np.int8)
    from specht.studies.sparse.trials import filled  # loads JAX

    arch, labels, rows = _block(train.x.shape[1]), 2.0 * train.y - 1.0, filled(len(train.x))
    scale = float(kernel.Kernel(arch).diagonal(_with_symbol(train.x, rows))[: len(train.x)].mean())
    problem = adaptive.AdaptiveProblem.of(arch, _with_symbol(train.x), labels - labels.mean(), None, _RIDGE, scale)
    minimum = adaptive.nearest_minimum(problem, adaptive.Widths(width), rows=rows)
    gram = _block_gram(problem.arch, "nngp", adaptive.variances_at(problem, minimum))
    return _signs(gram(train.x, None), gram(x, train.x), train.y, _RIDGE * problem.scale)


def _signs(gram: np.ndarray, cross: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    """Where regression on labels -1 and 1 is positive; the mean label is learnt apart from the kernel."""
    labels = 2.0 * y - 1.0
    gram[np.diag_indices_from(gram)] += ridge
    weights = linalg.cho_solve(linalg.cho_factor(gram), labels - labels.mean())
    return (cross @ weights + labels.mean() > 0.0).astype(np.int8)


def _block(length: int) -> Architecture:
    """The block whose kernel stands for the transformer."""
    return presets.preset(LIMIT, vocab=2, length=length, readout="cls", normalised=True)


def _with_symbol(x: np.ndarray, rows: int | None = None) -> np.ndarray:
    """Bits with a column for the class symbol, filled up to so many rows."""
    padded = np.zeros((len(x) if rows is None else rows, x.shape[1] + 1), np.int64)
    padded[: len(x), :-1] = x
    return padded


def _block_gram(arch: Architecture, kind: Any, variances: Any = None) -> Gram:
    """The kernel of a block between bits, which are filled up to few different sizes: every one is compiled."""
    from specht.studies.sparse.trials import filled

    of_block = kernel.Kernel(arch, variances=variances)

    def gram(x: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        full = [None if bits is None else _with_symbol(bits, filled(len(bits))) for bits in (x, y)]
        return np.array(getattr(of_block, kind)(*full)[: len(x), : len(x if y is None else y)])

    return gram
