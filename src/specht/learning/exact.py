r"""Learning curves by exact Bayesian inference with the kernel of a network, averaged over datasets: what the theory is held against.

For each dataset the posterior mean $\hat f$ of the infinitely wide network is computed at several numbers N of samples, and

| name | | |
|---|---|---|
| `test` | $E |\hat f(x) - g(x)|^2$ | on fresh sequences, against the target without noise |
| `ood` | the same | on sequences of the task's test source |
| `train` | $\frac1N \sum_n |\hat f(x_n) - y_n|^2$ | against the labels that were given, noise included |
| `learned` | $E[\hat f \cdot g] / E[|g|^2]$ | share of the target that has been learnt, on the fresh sequences |

Squares are summed over outputs. Smaller N take the first samples of the same dataset, so that errors at different N are correlated, and
every dataset has test sequences of its own, so that the standard errors over datasets contain those of testing.

The Cholesky factor of the first n samples is the leading block of the factor of all, so that one Gram and one factorisation serve every
n. Predictions at new sequences are linear in their kernel with the samples, hence one product for all n and outputs together.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, get_args

import numpy as np

from specht.architecture import Architecture, Kind, check_architecture
from specht.checks import not_negative, positive, whole_number
from specht.errors import InputError, explains_calls, unknown_choice
from specht.kernel import MAX_POSITIONS, Form, Kernel, choose_form, why_no_features
from specht.learning.gp.gram_source import OwnGram, own_gram
from specht.learning.gp.regression import regress, regress_features
from specht.learning.tally import Datasets, LabelledSequences, MeasuredCurve, Tally, mean_square, overlaps
from specht.progress import Progress, report
from specht.sequences import Task, check_task, check_tokens
from specht.stats import standard_error

__all__ = ["MeanOutputs", "MeasuredCurve", "learning_curve", "mean_outputs"]

_REFERENCE: dict[Form, int] = {"classes": 4096, "weighted": 4096, "positions": 4096, "tied": 4096, "heads": 1024, "joint": 64}
"""Sequences over which the diagonal of the kernel is averaged, by how expensive it is."""
_OWN_REFERENCE = 1024
"""How many are averaged over for a Gram function of one's own."""
_FEW = 64
"""Sequences whose features are counted."""
_BLOCK = 2**23
"""Entries of a block of kernel values or features between new sequences and samples: 64 megabytes."""


def __dir__() -> list[str]:
    return sorted(__all__)


@dataclasses.dataclass(frozen=True, eq=False)
class MeanOutputs:
    """Posterior means averaged over datasets, at S numbers of samples, M sequences and K outputs."""

    n_train: np.ndarray
    mean: np.ndarray
    """(S, M, K)."""
    stderr: np.ndarray
    """(S, M, K), over datasets."""
    datasets: int
    scale: float
    scale_stderr: float
    heads: int | None


@explains_calls
def learning_curve(
    arch: Architecture | Callable[..., Any],
    task: Task,
    *,
    n_train: Any,
    ridge: float = 1.0,
    noise: float = 0.0,
    datasets: int = 20,
    seed: int = 0,
    kind: str = "nngp",
    n_test: int = 2000,
    scale: float | None = None,
    heads: int | None = None,
    columns: int | None = None,
    progress: Progress | None = None,
) -> MeasuredCurve:
    """Errors of exact inference on a task against the number of samples, averaged over datasets.

    Arguments:
        arch: or any Gram function, `gram(x, y=None)` from tokens (n, columns) and (m, columns) to an array (n, m).
        n_train: numbers of samples, or one.
        ridge: label variance that the inference assumes, in units of `scale`.
        noise: variance of Gaussian noise actually added to each label of each output.
        datasets: how many are averaged over. Dataset i of a seed is the same whatever else is asked for.
        kind: "nngp", the posterior of the network; "ntk", what gradient descent with weight decay converges to.
        n_test: fresh sequences for each dataset.
        scale: E[k(x, x)] over the task's source; estimated from sequences of their own unless given.
        heads: heads of a sampled kernel, the same for all datasets. Standard errors do not contain the error of this sampling.
        columns: tokens of a sequence, where a Gram function is given.
        progress: called as progress(done, total) after every dataset.

    >>> import specht
    >>> from specht.sequences.targets import level
    >>> source = specht.sources.uniform(2)
    >>> task = Task(source, level(1, length=8, source=source))
    >>> curve = learning_curve(specht.Architecture(vocab=2, length=8), task, n_train=[16, 64, 256], ridge=0.1, datasets=5)
    >>> curve.test.round(3), curve.test_stderr.round(3)
    (array([0.27 , 0.021, 0.001]), array([0.039, 0.003, 0.   ]))
    """
    model = _kernel_or_arch(arch, columns, seed)
    problem = prepare(model, task, ridge=ridge, noise=noise, datasets=datasets, seed=seed, kind=kind, scale=scale, heads=heads)
    sizes, n_test = sample_sizes(n_train), whole_number("n_test", n_test, 1)
    tally = Tally.empty(datasets, len(sizes), task.test_source is not None)
    for i in range(datasets):
        problem.infer(i, sizes, problem.fresh(i, n_test), tally)
        report(progress, i + 1, datasets)
    return tally.curve(sizes, problem.scale, problem.scale_stderr, problem.inference.heads)


@explains_calls
def mean_outputs(
    arch: Architecture,
    task: Task,
    x: Any,
    *,
    n_train: Any,
    ridge: float = 1.0,
    noise: float = 0.0,
    datasets: int = 20,
    seed: int = 0,
    kind: str = "nngp",
    scale: float | None = None,
    heads: int | None = None,
    progress: Progress | None = None,
) -> MeanOutputs:
    """The posterior mean at given sequences, averaged over the datasets that `learning_curve` with the same seed uses.

    Arguments:
        x: tokens (M, columns). The others are as for `learning_curve`.
    """
    problem = prepare(arch, task, ridge=ridge, noise=noise, datasets=datasets, seed=seed, kind=kind, scale=scale, heads=heads)
    sizes, x = sample_sizes(n_train), check_tokens(arch, x)
    outputs = task.target.outputs
    mean, scatter = np.zeros((2, len(sizes), len(x), outputs))
    for i in range(datasets):
        outputs_i = problem.inference.posteriors(*problem.data.training(i, max(sizes)), sizes, [x]).means[0]
        before = outputs_i - mean
        mean += before / (i + 1)
        scatter += before * (outputs_i - mean)  # Welford: the sum of squares around the mean, without keeping all of them
        report(progress, i + 1, datasets)
    stderr = np.sqrt(scatter / (datasets - 1) / datasets)
    heads = problem.inference.heads
    return MeanOutputs(np.array(sizes), mean, stderr, datasets, problem.scale, problem.scale_stderr, heads)


@dataclasses.dataclass(frozen=True)
class ExactInference:
    """Datasets and exact inference on them, from arguments that are known to be good."""

    inference: NestedInference
    data: Datasets
    scale: float
    scale_stderr: float

    @property
    def arch(self) -> Architecture:
        """Architecture of the kernel; ask only where it has one."""
        assert isinstance(self.inference.kernel, Kernel)
        return self.inference.kernel.arch

    def fresh(self, i: int, n_test: int) -> list[LabelledSequences]:
        """Test sequences of dataset i, and those out of distribution if there are any."""
        data = self.data
        return [data.test(i, n_test)] + ([data.out_of_distribution(i, n_test)] if data.task.test_source is not None else [])

    def infer(self, i: int, sizes: list[int], fresh: list[LabelledSequences], tally: Tally) -> None:
        """Enter into the tally what the posterior mean makes of dataset i; `fresh` are test and, if there is one, shifted sequences."""
        x, y = self.data.training(i, max(sizes))
        posteriors = self.inference.posteriors(x, y, sizes, [batch.x for batch in fresh])
        tally.test[i] = mean_square(posteriors.means[0] - fresh[0].y)
        tally.train[i] = [mean_square(residual) for residual in posteriors.residuals]
        if tally.ood is not None:
            tally.ood[i] = mean_square(posteriors.means[1] - fresh[1].y)
        tally.overlap[i], tally.square[i] = overlaps(posteriors.means[0], fresh[0]), mean_square(fresh[0].y)


def _kernel_or_arch(arch: Any, columns: int | None, seed: int) -> Architecture | OwnGram:
    """An architecture as it is, a function as a Gram function; what is neither is refused later."""
    if callable(arch):
        return own_gram(arch, columns, seed)
    if columns is not None:
        raise InputError(f"columns={columns!r} goes with a Gram function, and an architecture has its own: leave it out.")
    return arch


def prepare(
    arch: Architecture | OwnGram,
    task: Task,
    *,
    ridge: float,
    noise: float,
    datasets: int,
    seed: int,
    kind: str,
    scale: float | None = None,
    heads: int | None = None,
) -> ExactInference:
    """Check the arguments of `learning_curve`."""
    if not isinstance(arch, OwnGram):
        check_architecture(arch)
    check_task(task)
    if kind != "nngp" and kind != "ntk":
        raise unknown_choice("kernel", kind, get_args(Kind))
    ridge, noise = not_negative("ridge", ridge), not_negative("noise (a variance)", noise)
    whole_number("datasets", datasets, 2)
    if isinstance(arch, Architecture):
        check_task(task, arch.vocab)
        kernel = Kernel(arch, heads=heads, seed=seed)
    else:
        kernel = arch
    data = Datasets(task, arch.columns, noise, kernel.seed)
    mean, stderr = (positive("scale", scale), 0.0) if scale is not None else _mean_diagonal(kernel, kind, data)
    inference = NestedInference(kernel, kind, mean, ridge, count_features(kernel, kind, data.reference(_FEW)))
    return ExactInference(inference, data, mean, stderr)


def _mean_diagonal(kernel: Kernel | OwnGram, kind: Kind, data: Datasets) -> tuple[float, float]:
    """E[k(x, x)] over the source, and its standard error."""
    number, name = _OWN_REFERENCE, "given"
    if isinstance(kernel, Kernel):
        number, name = _REFERENCE[choose_form(kernel.arch, kind)], f"of {kernel.arch}"
    diagonal = kernel.diagonal(data.reference(number), kind=kind)
    if diagonal.max() <= 0.0:
        raise InputError(f"The kernel {name} is zero, so it has no scale and learns nothing: raise its variances.")
    return float(diagonal.mean()), float(standard_error(diagonal))


def sample_sizes(n_train: Any) -> list[int]:
    """Numbers of samples as a list."""
    values = [n_train] if isinstance(n_train, numbers.Number) or not isinstance(n_train, Iterable) else list(n_train)
    if not values:
        raise InputError("n_train is empty: give one number of samples or more.")
    return [whole_number("n_train", value, 1) for value in values]


@dataclasses.dataclass(frozen=True, eq=False)
class Posteriors:
    """What the first n samples say, for each of S numbers n."""

    residuals: list[np.ndarray]
    """Labels minus posterior mean at the samples, each (n, K)."""
    means: list[np.ndarray]
    """Posterior mean at each batch of M new sequences, (S, M, K)."""


@dataclasses.dataclass(frozen=True, eq=False)
class NestedInference:
    """Exact inference with one kernel at one ridge."""

    kernel: Kernel | OwnGram
    kind: Kind
    scale: float
    """What the kernel is divided by."""
    ridge: float
    """In units of the scale."""
    features: int | None
    """Number of explicit features of the kernel, where it has them."""

    @property
    def heads(self) -> int | None:
        """Heads that the kernel was sampled with; None where it is exact."""
        return self.kernel.heads_drawn(self.kind)

    def posteriors(self, x: np.ndarray, y: np.ndarray, sizes: Sequence[int], batches: Sequence[np.ndarray]) -> Posteriors:
        """Posteriors given the first n of the samples, n in `sizes`, at batches of new sequences."""
        x, y = x[: max(sizes)], y[: max(sizes)]
        if isinstance(self.kernel, Kernel) and choose_form(self.kernel.arch, self.kind) == "joint":
            return self._jointly(x, y, sizes, batches)
        if self.solves_by_features(sizes):
            return self._by_features(x, y, sizes, batches)
        residuals, weights = self._solve(self._gram(x), y, sizes)
        means = []
        for batch in batches:
            outputs = np.empty((len(batch), weights.shape[1]))
            for at, block in self.kernel.tiles(batch, x, rows=max(1, _BLOCK // len(x)), kind=self.kind):
                outputs[at] = block @ weights
            means.append(_by_size(outputs, len(sizes)))
        return Posteriors(residuals, means)

    def solves_by_features(self, sizes: Sequence[int]) -> bool:
        """Whether features are fewer than the samples of the largest size, and so the cheaper way."""
        return self.features is not None and self.features < max(sizes)

    def _gram(self, x: np.ndarray) -> np.ndarray:
        if isinstance(self.kernel, Kernel) and self.kind == "ntk":
            return self.kernel.ntk(x)
        return self.kernel.nngp(x)

    def _features(self, x: np.ndarray) -> np.ndarray:
        assert isinstance(self.kernel, Kernel)  # others have no features
        return self.kernel.features(x) / math.sqrt(self.scale)

    def _solve(self, gram: np.ndarray, y: np.ndarray, sizes: Sequence[int]) -> tuple[list[np.ndarray], np.ndarray]:
        """Training residuals, and the weights of all sizes and outputs side by side (N, S K), zero for samples that a size leaves out."""
        gram /= self.scale
        fit = regress(gram, y, self.ridge, overwrite=True)
        parts = [fit.leading(n) for n in sizes]
        weights = np.zeros((len(y), len(sizes), y.shape[1]))
        for place, (n, part) in enumerate(zip(sizes, parts, strict=True)):
            weights[:n, place] = part.weights / self.scale  # they meet the kernel as it is
        return [part.train_residual for part in parts], weights.reshape(len(y), -1)

    def _by_features(self, x: np.ndarray, y: np.ndarray, sizes: Sequence[int], batches: Sequence[np.ndarray]) -> Posteriors:
        phi = self._features(x)
        small = max((n for n in sizes if n <= phi.shape[1]), default=0)
        fit = regress(phi[:small] @ phi[:small].T, y[:small], self.ridge, overwrite=True) if small else None
        residuals, coefficients = [], []
        for n in sizes:
            if fit is not None and n <= small:
                part = fit.leading(n)
                residuals.append(part.train_residual)
                coefficients.append(phi[:n].T @ part.weights)
            else:
                full = regress_features(phi[:n], y[:n], self.ridge)
                residuals.append(full.train_residual)
                coefficients.append(full.coefficients)
        together = np.concatenate(coefficients, axis=1)
        means = []
        for batch in batches:
            outputs = np.concatenate([self._features(block) @ together for block in _blocks(batch, _BLOCK // phi.shape[1])])
            means.append(_by_size(outputs, len(sizes)))
        return Posteriors(residuals, means)

    def _jointly(self, x: np.ndarray, y: np.ndarray, sizes: Sequence[int], batches: Sequence[np.ndarray]) -> Posteriors:
        """All sequences in one call, because their heads are drawn together."""
        everything = np.concatenate([x, *batches])
        if everything.size > MAX_POSITIONS:
            raise InputError(
                f"Heads of this architecture are drawn for training and test sequences together, at most {MAX_POSITIONS} positions and so "
                f"{MAX_POSITIONS // x.shape[1]} sequences, and there are {len(everything)}: ask for fewer with n_train and n_test."
            )
        gram = self._gram(everything)
        residuals, weights = self._solve(gram[: len(x), : len(x)].copy(), y, sizes)
        outputs = np.split(gram[len(x) :, : len(x)] @ weights, np.cumsum([len(batch) for batch in batches])[:-1])
        return Posteriors(residuals, [_by_size(output, len(sizes)) for output in outputs])


def count_features(kernel: Kernel | OwnGram, kind: Kind, reference: np.ndarray) -> int | None:
    """How many explicit features the kernel has; None where they are not known, or not those of this kind."""
    if isinstance(kernel, OwnGram) or kind != "nngp" or why_no_features(kernel.arch) is not None:
        return None
    return kernel.features(reference).shape[1]


def _by_size(outputs: np.ndarray, sizes: int) -> np.ndarray:
    """(M, S K) -> (S, M, K)."""
    return outputs.reshape(len(outputs), sizes, -1).transpose(1, 0, 2)


def _blocks(x: np.ndarray, rows: int) -> Iterator[np.ndarray]:
    step = max(1, rows)
    return (x[start : start + step] for start in range(0, len(x), step))
