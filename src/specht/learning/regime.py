"""Is a trained network where its kernel says? Loss, symmetry and tangent kernel of trained networks against the kernel's prediction.

Networks in the *kernel regime* do what regression with their tangent kernel does: the same loss, the same share of the function at every
level of symmetry, and a tangent kernel that training leaves alone. Networks that *learn features* change it, and may do better or worse.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

import numpy as np

from specht.architecture import Architecture
from specht.checks import finite_number, whole_number
from specht.learning.exact import ExactInference, prepare
from specht.learning.networks import Networks, label_unit, train_to_the_end
from specht.learning.tally import average, mean_square
from specht.nn import Fixed, Network, Trained, tangent_kernel
from specht.profiles import Profile, profile
from specht.progress import Progress
from specht.sequences import Task

Verdict = Literal["kernel", "features", "unclear", "diverged"]
LOSS_TOLERANCE = 0.1
"""Relative difference in test loss that the kernel regime allows."""
PROFILE_TOLERANCE = 0.1
"""Share of the variance that may lie at other levels."""
KERNEL_TOLERANCE = 0.25
"""Relative change of the tangent kernel above which features were learnt."""
_PROBES = 32
"""Sequences on which tangent kernels are compared."""
_DEVIATIONS = 1.96
"""Standard errors on each side of an interval at 95 %."""
_PROFILED = 400
"""Sequences drawn for each profile."""


@dataclasses.dataclass(frozen=True, eq=False)
class Regime:
    """What trained networks did, beside what their kernel predicts from the same data."""

    verdict: Verdict
    n_train: int
    output_scale: float
    loss: float
    loss_stderr: float
    """Test loss of the networks: mean over them and its standard error."""
    kernel_loss: float
    """Test loss of regression with the infinite tangent kernel."""
    kernel_change: float
    kernel_change_stderr: float
    """Distance of the tangent kernel after training from that before, over its norm before."""
    levels: tuple[int, ...]
    shares: np.ndarray
    """Share of the variance of the mean trained function at each level; what lies above the last level is missing from the sum."""
    shares_stderr: np.ndarray
    kernel_shares: np.ndarray
    """Share of the variance of the kernel's function at each level."""
    warning: str | None
    """A sentence on networks that diverged; None if none did."""

    @property
    def excess(self) -> float:
        """Test loss over that of the kernel, minus one."""
        return self.loss / self.kernel_loss - 1.0

    @property
    def excess_stderr(self) -> float:
        return self.loss_stderr / self.kernel_loss

    @property
    def moved(self) -> float:
        """Share of the variance that lies at other levels than the kernel says."""
        apart = self.shares - self.kernel_shares
        return float((np.abs(apart).sum() + abs(apart.sum())) / 2.0)  # what is missing lies above the last level

    @property
    def agrees(self) -> bool:
        """Whether loss and profile are those of the kernel: within the tolerance, or within two errors where these are below it."""
        loss = abs(self.excess) <= max(LOSS_TOLERANCE, 2.0 * self.excess_stderr) and self.excess_stderr <= LOSS_TOLERANCE
        shares = self.moved <= max(PROFILE_TOLERANCE, 2.0 * self.moved_stderr) and self.moved_stderr <= PROFILE_TOLERANCE
        return loss and shares

    @property
    def moved_stderr(self) -> float:
        return float(np.sqrt(np.square(self.shares_stderr).sum()) / 2.0)

    def __str__(self) -> str:
        end = {
            "kernel": "They are in the kernel regime.",
            "features": "They learn features"
            + (", and still do what the kernel says." if self.agrees else ": the kernel does not describe them."),
            "unclear": "Whether they are in the kernel regime is unclear: too narrow, or too few of them.",
            "diverged": "They diverged.",
        }[self.verdict]
        return (
            f"Trained on {self.n_train} samples, networks have a test loss {100 * self.excess:+.1f} ± {100 * self.excess_stderr:.1f} % "
            f"from their kernel's, {100 * self.moved:.1f} % of the variance at other levels of symmetry, and a tangent kernel that "
            f"changed by {100 * self.kernel_change:.0f} %. {end}"
        )


def kernel_regime(
    arch: Architecture,
    task: Task,
    *,
    n_train: int,
    ridge: float = 1.0,
    noise: float = 0.0,
    seed: int = 0,
    n_test: int = 1000,
    scale: float | None = None,
    networks: Networks = Networks(),  # noqa: B008 -- frozen
    progress: Progress | None = None,
) -> Regime:
    """Train networks on one dataset of a task and compare them with regression by the infinite tangent kernel.

    Arguments:
        scale: E[k(x, x)] of the tangent kernel, the unit of the ridge; estimated unless given.
        networks: their size, their number, and `output_scale`: large for the kernel regime, small for features.
        progress: called as progress(done, total). The others are as for `gp.learning_curve`.
    """
    ridge, n_train = finite_number("ridge (of networks)", ridge, above=0.0), whole_number("n_train", n_train, 1)
    whole_number("networks.seeds", networks.seeds, at_least=2)  # one network has no standard error
    problem = prepare(arch, task, ridge=ridge, noise=noise, datasets=2, seed=seed, kind="ntk", scale=scale)  # the first is used
    (x, y), test = problem.data.training(0, n_train), problem.data.test(0, n_test)
    unit = label_unit(problem, task, networks.output_scale)
    trained = train_to_the_end(
        lambda key: Network.init(arch, networks.size, key=key, outputs=y.shape[1]),
        Fixed(x, y / unit),
        ridge * problem.scale,
        seeds=range(seed, seed + networks.seeds),
        evaluate={"test": Fixed(test.x, test.y / unit)},
        progress=progress,
    )
    kept = [place for place in range(networks.seeds) if not trained.diverged[0, 0, place]]
    kernel_function = _kernel_function(problem, x, y)
    kernel_loss, kernel_profile = float(mean_square(kernel_function(test.x) - test.y)), _profile(kernel_function, task, arch)
    if not kept:
        nothing, levels = float("nan"), np.full(len(kernel_profile.levels), np.nan)
        numbers = (nothing, nothing, kernel_loss, nothing, nothing, kernel_profile.levels, levels, levels, kernel_profile.variance_shares)
        return Regime("diverged", n_train, networks.output_scale, *numbers, trained.warning)
    losses = unit**2 * trained.losses["test"][0, 0, kept, -1].astype(np.float64)
    changes = np.array([_kernel_change(trained, place, test.x[:_PROBES]) for place in kept])
    functions = [trained.function(0, 0, place) for place in kept]
    profiled = _profile(lambda at: np.mean([function(at) for function in functions], axis=0), task, arch)
    with np.errstate(invalid="ignore", divide="ignore"):  # a single survivor has no standard error
        (loss, loss_stderr), (change, change_stderr) = average(losses), average(changes)
    regime = Regime(
        verdict="unclear",
        n_train=n_train,
        output_scale=networks.output_scale,
        loss=float(loss),
        loss_stderr=float(loss_stderr),
        kernel_loss=kernel_loss,
        kernel_change=float(change),
        kernel_change_stderr=float(change_stderr),
        levels=profiled.levels,
        shares=profiled.variance_shares,
        shares_stderr=(profiled.high - profiled.low) / (2.0 * _DEVIATIONS * profiled.variance),
        kernel_shares=kernel_profile.variance_shares,
        warning=trained.warning,
    )
    return dataclasses.replace(regime, verdict=_verdict(regime))


def _verdict(regime: Regime) -> Verdict:
    """Numbers that are not known well enough decide nothing."""
    if regime.kernel_change - 2.0 * regime.kernel_change_stderr > KERNEL_TOLERANCE:
        return "features"
    return "kernel" if regime.agrees and regime.kernel_change <= KERNEL_TOLERANCE else "unclear"


def _kernel_change(trained: Trained, seed: int, x: np.ndarray) -> float:
    """Relative change of the tangent kernel of one network on given sequences."""
    kernels = [tangent_kernel(network, x) for network in (trained.first_model(seed), trained.model(seed=seed))]
    return float(np.linalg.norm(kernels[1] - kernels[0]) / np.linalg.norm(kernels[0]))


def _kernel_function(problem: ExactInference, x: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The function that regression with the infinite tangent kernel learns."""
    return lambda at: problem.inference.posteriors(x, y, [len(x)], [np.asarray(at)]).means[0][0]


def _profile(function: Callable[[np.ndarray], np.ndarray], task: Task, arch: Architecture) -> Profile:
    return profile(function, task.source, arch.length, samples=_PROFILED, max_level=3, readout=arch.readout)
