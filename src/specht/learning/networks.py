r"""Learning curves of finite networks, beside exact inference on the same data.

For the NNGP kernel networks are sampled from their posterior by Langevin dynamics, and the mean of the sampled functions tends to the mean
of the Gaussian process. For the NTK they are trained by gradient descent to the end of

$$ \tfrac12 \sum_n |f(x_n) - f_0(x_n) - y_n|^2 + \tfrac\delta2 |\theta - \theta_0|^2 , $$

with index 0 for what they were at the start, and each of them tends to regression with the tangent kernel.

Labels are given in units such that random networks are as large as the target, times `output_scale`: exact inference with a ridge in units
of E[k(x, x)] does not depend on it, and finite networks do. Large ones hardly move on their way to the target and stay near the
kernel; small ones have to move far, and learn features.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from specht.architecture import Architecture
from specht.checks import finite_number, whole_number
from specht.errors import InputError
from specht.learning.exact import ExactInference, prepare, sample_sizes
from specht.learning.tally import LabelledSequences, MeasuredCurve, Tally, describe_losses, loss_variables, mean_square, ratio
from specht.nn import Fixed, Network, Recipe, SampledPosterior, Sampling, Size, StepSizeWarning, Trained, langevin, tangent_kernel, train
from specht.progress import Progress, stages
from specht.results import Result, Variable, plain
from specht.sequences import Task

Method = Literal["langevin", "gradient descent"]
REFERENCE = 512
"""Sequences over which random networks and the target are measured."""
DIAGNOSED = 8
"""Test sequences whose outputs are diagnosed: always as many, because every number of them takes seconds to compile."""
_ATTEMPTS, _STEEPER, _PROBED = 5, 1.2, 4
"""How often training begins again with smaller steps, how much steeper networks may be at the end than was assumed, and how many of them
are looked at."""
CONVERGED = 10.0
"""Relaxation times of gradient descent: what is left is e^-10."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Networks:
    """Which networks are compared with theory, and how they are trained."""

    size: Size = Size(width=32, heads=16, head_size=4)  # noqa: RUF009 -- immutable
    output_scale: float = 1.0
    """How large random networks are beside the target."""
    sampling: Sampling = Sampling(chains=4, samples=40, burn_in=8.0, duration=24.0)  # noqa: RUF009 -- immutable
    """How long Langevin dynamics runs, for the NNGP kernel."""
    seeds: int = 4
    """Networks that are trained on each dataset, for the NTK."""

    def __post_init__(self) -> None:
        if not isinstance(self.size, Size):
            raise InputError(f"size must be a Size(width, heads, head_size), got {self.size!r}.")
        finite_number("output_scale", self.output_scale, above=0.0)
        whole_number("seeds", self.seeds, at_least=1)


@dataclasses.dataclass(frozen=True, eq=False)
class NetworkCurve(Result):
    """A learning curve of networks, at S numbers of samples."""

    curve: MeasuredCurve
    exact: MeasuredCurve
    """Exact inference on the same datasets and test sequences."""
    excess: np.ndarray
    """Test loss over that of exact inference, minus one."""
    excess_stderr: np.ndarray
    """Standard error of the excess over datasets, which networks and exact inference share."""
    method: Method
    networks: Networks
    r_hat: np.ndarray | None
    """Median over outputs, the largest over datasets; None for trained networks, or where chains are not diagnosed."""
    effective_samples: np.ndarray | None
    """Median over outputs, the smallest over datasets."""
    warnings: tuple[str, ...]
    """What went wrong on the way, in sentences."""

    def summary(self) -> dict[str, Any]:
        """Losses as plain values, as files and figures have them."""
        return self.curve.summary() | {
            "method": self.method,
            "size": {name: number for name, number in self.networks.size._asdict().items() if number is not None},
            "output_scale": self.networks.output_scale,
            "exact_test": plain(self.exact.test),
            **{name: plain(getattr(self, name)) for name in ("excess", "excess_stderr", "r_hat", "effective_samples")},
            "warnings": list(self.warnings),
        }

    def _summary(self) -> str:
        width, count = self.networks.size.width, self.curve.datasets
        excess = f"{100 * self.excess[-1]:+.0f} ± {100 * self.excess_stderr[-1]:.0f} % from exact inference at the largest N"
        warned = f"\n{len(self.warnings)} warnings: see .warnings" if self.warnings else ""
        return f"networks of width {width} by {self.method}, means over {count} datasets\n{describe_losses(self.curve)}, {excess}{warned}"

    def _variables(self) -> list[Variable]:
        axes = ("n_train",)
        variables = [
            Variable("n_train", axes, self.curve.n_train, "number of training samples N", "samples"),
            *loss_variables(self.curve, axes),
            *loss_variables(self.exact, axes, before="exact_"),
            Variable("excess", axes, self.excess, "test loss over that of exact inference, minus one"),
            Variable("excess_stderr", axes, self.excess_stderr, "standard error of the excess, over datasets"),
        ]
        if self.r_hat is not None:
            variables.append(Variable("r_hat", axes, self.r_hat, "R-hat of the chains: median over outputs, largest over datasets"))
        if self.effective_samples is not None:
            words = "effective samples of the chains: median over outputs, smallest over datasets"
            variables.append(Variable("effective_samples", axes, self.effective_samples, words))
        return variables


def learning_curve(
    arch: Architecture,
    task: Task,
    *,
    n_train: Any,
    ridge: float = 1.0,
    noise: float = 0.0,
    datasets: int = 4,
    seed: int = 0,
    kind: str = "nngp",
    n_test: int = 500,
    scale: float | None = None,
    networks: Networks = Networks(),  # noqa: B008 -- frozen
    diagnose: bool = True,
    progress: Progress | None = None,
) -> NetworkCurve:
    """Errors of finite networks on a task against the number of samples; datasets are those of `gp.learning_curve` at the same seed.

    >>> import specht
    >>> source = specht.sources.uniform(2)
    >>> task = Task(source, specht.targets.level(0, length=3, source=source))
    >>> few = Networks(size=Size(8, 4, 2), sampling=Sampling(chains=3, samples=4, burn_in=1.0, duration=1.0))
    >>> curve = learning_curve(specht.Architecture(vocab=2, length=3), task, n_train=4, datasets=2, n_test=20, networks=few)
    >>> curve.curve.test.shape, curve.method
    ((1,), 'langevin')

    Arguments:
        networks: their size, and how they are trained or sampled.
        diagnose: whether chains are diagnosed, by BlackJAX.
        progress: called as progress(done, total). The others are as for `gp.learning_curve`.
    """
    ridge = finite_number("ridge (of networks)", ridge, above=0.0)
    problem = prepare(arch, task, ridge=ridge, noise=noise, datasets=datasets, seed=seed, kind=kind, scale=scale)
    sizes, n_test = sample_sizes(n_train), whole_number("n_test", n_test, 1)
    comparison = _Comparison.of(problem, task, sizes, datasets, n_test, networks)
    for i in range(datasets):
        problem.infer(i, sizes, comparison.fresh[i], comparison.exact)
    if problem.inference.kind == "nngp":
        return comparison.sampled(seed, diagnose, progress)
    return comparison.trained(seed, progress)


def label_unit(problem: ExactInference, task: Task, output_scale: float) -> float:
    """What labels are divided by, so that random networks are `output_scale` times as large as the target.

    Changing the readout's variance instead would do the same, and compile every program again.
    """
    kernel, x = problem.inference.kernel, problem.data.reference(REFERENCE)
    target = float(mean_square(task.target(x)) / task.target.outputs)
    if target == 0.0:
        raise InputError("The target is zero on every sequence, so networks have no scale to be compared with: take another.")
    return output_scale * math.sqrt(target / float(kernel.diagonal(x, kind="nngp").mean()))


@dataclasses.dataclass(frozen=True, eq=False)
class _Comparison:
    """Networks and exact inference on the same data."""

    problem: ExactInference
    unit: float
    """What labels are divided by before networks see them, and their outputs multiplied with."""
    sizes: list[int]
    fresh: list[list[LabelledSequences]]
    """Test sequences of every dataset, and those out of distribution if there are any."""
    networks: Networks
    exact: Tally
    measured: Tally

    @classmethod
    def of(cls, problem: ExactInference, task: Task, sizes: list[int], datasets: int, n_test: int, networks: Networks) -> _Comparison:
        unit = label_unit(problem, task, networks.output_scale)
        fresh = [problem.fresh(i, n_test) for i in range(datasets)]
        tallies = [Tally.empty(datasets, len(sizes), task.test_source is not None) for _ in range(2)]
        return cls(problem, unit, sizes, fresh, networks, *tallies)

    @property
    def ridge(self) -> float:
        """In the units of the kernel."""
        return self.problem.inference.ridge * self.problem.scale

    def start(self, outputs: int) -> Callable[[Any], Network]:
        return lambda key: Network.init(self.problem.arch, self.networks.size, key=key, outputs=outputs)

    def sampled(self, seed: int, diagnose: bool, progress: Progress | None) -> NetworkCurve:
        """The mean of networks sampled from the posterior."""
        sentences: list[str] = []
        r_hat, effective = np.full((2, len(self.fresh), len(self.sizes)), np.nan)
        costs = np.array(self.sizes, dtype=float) ** 1.5  # a step costs as the samples, and their number grows as the root of them
        stage_progress = stages(progress, np.tile(costs, len(self.fresh)).tolist())
        for i, fresh in enumerate(self.fresh):
            x, y = self.problem.data.training(i, max(self.sizes))
            for place, n in enumerate(self.sizes):
                at = [batch.x for batch in fresh] + [x[:n]]
                ends = np.cumsum([0, *map(len, at)])
                parts = [slice(int(first), int(last)) for first, last in itertools.pairwise(ends)]
                number = i * len(self.sizes) + place
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", StepSizeWarning)
                    posterior = langevin(
                        self.start(y.shape[1]),
                        x[:n],
                        y[:n] / self.unit,
                        np.concatenate(at),
                        noise=self.ridge,
                        sampling=self.networks.sampling,
                        seed=(seed + 7919 * number) % 2**31,
                        progress=stage_progress[number],
                    )
                sentences += [f"N = {n}: {warning.message}" for warning in caught if issubclass(warning.category, StepSizeWarning)]
                self.measured.test[i, place] = self._error(posterior.at(parts[0]), fresh[0].y)
                self.measured.train[i, place] = self._error(posterior.at(parts[-1]), y[:n])
                if self.measured.ood is not None:
                    self.measured.ood[i, place] = self._error(posterior.at(parts[1]), fresh[1].y)
                self.measured.overlap[i, place] = self.unit * (posterior.at(parts[0]).mean * fresh[0].y).sum() / len(fresh[0].y)
                self.measured.square[i] = mean_square(fresh[0].y)
                if diagnose:
                    few = posterior.at(slice(0, DIAGNOSED))
                    r_hat[i, place], effective[i, place] = np.median(few.r_hat()), np.median(few.effective_samples())
        known = not np.isnan(r_hat).any()
        return self._curve("langevin", sentences, r_hat.max(axis=0) if known else None, effective.min(axis=0) if known else None)

    def _error(self, posterior: SampledPosterior, y: np.ndarray) -> float:
        return self.unit**2 * posterior.mean_square_error(y / self.unit)[0]

    def trained(self, seed: int, progress: Progress | None) -> NetworkCurve:
        """The mean loss of networks trained to the end."""
        sentences: list[str] = []
        datasets = [self.problem.data.training(i, max(self.sizes)) for i in range(len(self.fresh))]
        sets = {
            name: Fixed(*self._stacked(list(samples)))
            for name, samples in zip(("test", "ood"), zip(*self.fresh, strict=True), strict=False)
        }
        stage_progress = stages(progress, [n**1.5 for n in self.sizes])
        for place, n in enumerate(self.sizes):
            x, y = self._stacked([LabelledSequences(data.x[:n], data.y[:n]) for data in datasets])
            trained = train_to_the_end(
                self.start(y.shape[-1]),
                Fixed(x, y),
                self.ridge,
                seeds=range(seed, seed + self.networks.seeds),
                evaluate=sets,
                progress=stage_progress[place],
            )
            sentences += [f"N = {n}: {trained.warning}"] if trained.warning else []
            for name in ("train", *sets):
                getattr(self.measured, name)[:, place] = self.unit**2 * _last(trained, name)
            for i, fresh in enumerate(self.fresh):
                kept = [s for s in range(self.networks.seeds) if not trained.diverged[i, 0, s]]
                values = self.unit * np.mean([trained.function(i, 0, s)(fresh[0].x) for s in kept] or [fresh[0].y * np.nan], axis=0)
                self.measured.overlap[i, place] = (values * fresh[0].y).sum() / len(values)
                self.measured.square[i] = mean_square(fresh[0].y)
        return self._curve("gradient descent", sentences, None, None)

    def _stacked(self, samples: list[LabelledSequences]) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and labels of all datasets, the latter in units of networks."""
        return np.stack([sample.x for sample in samples]), np.stack([sample.y for sample in samples]) / self.unit

    def _curve(self, method: Method, sentences: list[str], r_hat: np.ndarray | None, effective: np.ndarray | None) -> NetworkCurve:
        quotient, stderr = ratio(self.measured.test, self.exact.test)
        return NetworkCurve(
            curve=self.measured.curve(self.sizes, self.problem.scale),
            exact=self.exact.curve(self.sizes, self.problem.scale, self.problem.scale_stderr, self.problem.inference.heads),
            excess=quotient - 1.0,
            excess_stderr=stderr,
            method=method,
            networks=self.networks,
            r_hat=r_hat,
            effective_samples=effective,
            warnings=tuple(sentences),
        )


def train_to_the_end(
    start: Callable[[Any], Network],
    data: Fixed,
    ridge: float,
    *,
    seeds: Any,
    evaluate: dict[str, Fixed],
    progress: Progress | None = None,
) -> Trained:
    """Networks at the minimum of the loss with ridge (see above), by gradient descent with momentum.

    The step follows from the largest curvature, the ridge plus the largest eigenvalue of the tangent kernel of the first network, and
    the momentum is the best one for the smallest, the ridge. Where networks are steeper at the end, they are trained again with a smaller
    step.
    """
    import jax

    x, n = np.asarray(data.x), np.asarray(data.x).shape[-2]
    probes = x.reshape(-1, x.shape[-1])[:n]
    first = start(jax.random.split(jax.random.key(next(iter(seeds))))[0])
    curvature = _curvature([first], probes, ridge)
    for _ in range(_ATTEMPTS):
        rate = ridge / curvature
        recipe = Recipe(
            steps=math.ceil(CONVERGED / math.sqrt(rate)),
            learning_rate=n / (2.0 * curvature),  # the recipe's loss is the mean of the square, 2/n of the sum above
            weight_decay=2.0 * ridge / n,
            decay_to="start",
            centred=True,
            optimiser="momentum",
            momentum=(1.0 - math.sqrt(rate)) ** 2,
            records=4,
        )
        trained = train(start, data, recipe, seeds=seeds, evaluate=evaluate, progress=progress)
        # Networks that learn features change their kernel, and need smaller steps the steeper they become.
        places = itertools.islice(np.ndindex(trained.diverged.shape), _PROBED)
        steepest = _curvature([trained.model(*place) for place in places], probes, ridge)
        if trained.diverged.any() or not math.isfinite(steepest):
            curvature *= 4.0
        elif steepest > _STEEPER * curvature:
            curvature = steepest
        else:
            break
    return trained


def _curvature(networks: list[Network], x: np.ndarray, ridge: float) -> float:
    """The ridge and the largest eigenvalue of the tangent kernels of networks, with something to spare."""
    kernels = [tangent_kernel(network, x) for network in networks]
    if not all(np.isfinite(kernel).all() for kernel in kernels):
        return math.inf
    return ridge + 1.5 * max(float(np.linalg.eigvalsh(kernel)[-1]) for kernel in kernels)


def _last(trained: Trained, name: str) -> np.ndarray:
    """Losses at the end, averaged over the seeds that did not diverge, for every dataset."""
    losses = np.where(trained.diverged, np.nan, trained.losses[name][..., -1])[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all of them diverged
        return np.nanmean(losses, axis=1)
