r"""How many samples a function needs, irrep by irrep and for a given error, at infinite width and at finite width.

Half of an eigenfunction is learnt, $\mathcal L_i = 1/2$, where $\kappa = \lambda_i$, so from

$$ N^*_i = \frac{\delta}{\lambda_i} + \sum_j d_j \frac{\lambda_j}{\lambda_j + \lambda_i} \;\ge\; \frac{\delta}{\lambda_i} + \frac{d_i}{2} $$

samples: at any ridge, at least half the degeneracy. A target spread over several rows with mean squares $w_i$ is half learnt where
$\sum_i w_i \mathcal L_i = \tfrac12 \sum_i w_i$.

A symmetry profile tells the mean square of a target at each level, but not on which copies of the irreps it lies.
The answer is then an interval: from all of it on the leading row of the level, to even shares on all rows that are resolved.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np
from scipy.optimize import brentq

from specht.architecture import Architecture, Kind
from specht.errors import InputError, explains_calls
from specht.groups import Partition
from specht.learning.adaptive.needs import ComplexityByWidth, Needs, complexity_by_width
from specht.learning.curves import learnability, samples_at, theory_curve
from specht.learning.target_content import Content, resolve
from specht.results import Variable
from specht.sequences import Task
from specht.spectra import Spectrum

Placement = Literal["leading", "kernel", "even"]
_MOST = 1e15
"""Largest number of samples that is looked at."""


@dataclasses.dataclass(frozen=True)
class Need:
    """What the leading function of an irrep costs."""

    irrep: Partition
    degeneracy: int
    eigenvalue: float
    """Largest eigenvalue, in units of E[k]."""
    samples: float
    """N*, from which half of it is learnt."""
    bound: float
    """What N* cannot be less than: ridge / eigenvalue + degeneracy / 2, with 1 / degeneracy for an eigenvalue that is not known."""
    lower_bound: bool
    """True where the eigenvalue is only known to be at least as large, so that the samples are at most as many."""


@dataclasses.dataclass(frozen=True)
class SampleComplexity(Needs[Need]):
    """What the leading function of every irrep of a spectrum costs, level by level: a sequence of `Need`s."""

    arch: Architecture
    kind: Kind
    ridge: float
    """In units of E[k(x, x)]."""
    needs: tuple[Need, ...]

    def summary(self) -> list[dict[str, Any]]:
        """The needs as plain values, as files and figures have them."""
        return [dataclasses.asdict(need) | {"irrep": str(need.irrep), "level": need.irrep.level} for need in self.needs]

    def _summary(self) -> str:
        words = [f"{need.samples:.3g} for {need.irrep}" for need in self.needs[:4]] + ["..."] * (len(self.needs) > 4)
        return (
            f"{self.arch} ({self.kind}) at ridge {self.ridge:.3g} E[k]\nsamples to learn half of the leading function: {', '.join(words)}"
        )

    def _variables(self) -> list[Variable]:
        return [
            Variable("irrep", "irrep", np.array([str(need.irrep) for need in self.needs], dtype=str), "irreducible representation"),
            Variable("level", "irrep", [need.irrep.level for need in self.needs], "positions that its functions single out"),
            Variable("degeneracy", "irrep", [float(need.degeneracy) for need in self.needs], "number of orthogonal eigenfunctions"),
            Variable("eigenvalue", "irrep", self._column("eigenvalue"), "largest eigenvalue of the irrep", "E[k]"),
            Variable("samples", "irrep", self._column("samples"), "samples from which half of the leading function is learnt", "samples"),
            Variable("bound", "irrep", self._column("bound"), "what the samples cannot be fewer than", "samples"),
            Variable("lower_bound", "irrep", self._column("lower_bound"), "whether eigenvalues are lower bounds, and samples upper ones"),
        ]


@dataclasses.dataclass(frozen=True)
class SampleRange:
    """How many samples an error needs, with an interval; infinite where no number of samples reaches it."""

    value: float
    low: float
    high: float
    error: float
    """The error, as a share of the target's variance."""


@overload
def sample_complexity(model: Spectrum, ridge: float = 1.0) -> SampleComplexity: ...
@overload
def sample_complexity(
    model: Architecture,
    ridge: float = 1.0,
    *,
    task: Task,
    width: Any,
    error: float | None = None,
    share: float | None = None,
    noise: float | None = None,
    sequences: int | None = None,
    seed: int | None = None,
) -> ComplexityByWidth: ...
@explains_calls
def sample_complexity(
    model: Spectrum | Architecture,
    ridge: float = 1.0,
    *,
    task: Task | None = None,
    width: Any = None,
    error: float | None = None,
    share: float | None = None,
    noise: float | None = None,
    sequences: int | None = None,
    seed: int | None = None,
) -> SampleComplexity | ComplexityByWidth:
    """How many samples learning takes, for every irrep of a spectrum or for a task at finite width.

    With a spectrum, the answer is what the leading function of every irrep needs, level by level:

    >>> import specht
    >>> arch = specht.Architecture(vocab=2, length=8)
    >>> needs = sample_complexity(specht.spectrum(arch))
    >>> [(str(need.irrep), round(need.samples, 1)) for need in needs]
    [('[8]', 2.4), ('[7,1]', 77.9)]

    With an architecture, a task and a width, it is what the task needs when the embedding adapts to it, and last at infinite width:

    >>> copy = specht.Target("copy", lambda x: 2.0 * x[:, 0] - 1.0, reads=(0,))
    >>> needs = sample_complexity(arch, task=specht.Task(specht.sources.uniform(2), copy), width=16, ridge=0.1)
    >>> [(need.width, round(need.samples), round(need.to_learn)) for need in needs]
    [(16.0, 17, 9), (inf, 28, 13)]

    Arguments:
        model: a `Spectrum`; or an `Architecture`, with task and width.
        ridge: in units of E[k(x, x)].
        task: what is learnt, from which sequences.
        width: one or several widths of the embedding.
        error: test loss that is asked for, as a share of the target's variance; 0.1 unless given.
        share: how much of the target is asked for in the mean prediction; 0.5 unless given.
        noise: variance of noise on each label, besides what the task has itself; 0 unless given.
        sequences: drawn where the kernel has to be sampled, which allows for half as many samples; 512 unless given.
        seed: seed of everything random.
    """
    settings = {"error": error, "share": share, "noise": noise, "sequences": sequences, "seed": seed}
    chosen = {name: value for name, value in settings.items() if value is not None}
    if isinstance(model, Architecture):
        if task is None:
            raise InputError(
                "task is missing: an Architecture needs task=specht.Task(source, target); without one, give specht.spectrum(arch)."
            )
        if not isinstance(task, Task):
            raise InputError(f"task must be a Task, got {task!r}: write task=specht.Task(source, target).")
        if width is None:
            raise InputError("width is missing: give the width of the embedding, such as width=64, or several.")
        return complexity_by_width(model, task, width=width, ridge=ridge, **chosen)
    if not isinstance(model, Spectrum):
        raise InputError(f"sample_complexity takes a Spectrum or an Architecture, got {model!r}: give one of these.")
    for name, value in {"task": task, "width": width, **chosen}.items():
        if value is not None:
            raise InputError(f"{name}={value!r} does not go with a Spectrum: give the Architecture, with task and width.")
    return _of_spectrum(model, ridge)


def _of_spectrum(spectrum: Spectrum, ridge: float) -> SampleComplexity:
    rows, eigenvalues, degeneracies, tail = resolve(spectrum)
    tops: dict[Partition, int] = {}
    for index, row in enumerate(rows):
        if eigenvalues[index] > 0:
            tops.setdefault(row.irrep, index)
    order = sorted(tops.values(), key=lambda index: (rows[index].irrep.level, -eigenvalues[index]))
    samples = samples_at(eigenvalues, degeneracies, eigenvalues[order], ridge + tail) if order else np.empty(0)
    needs = [
        Need(
            rows[index].irrep,
            rows[index].degeneracy,
            float(eigenvalues[index]),
            float(number),
            # an eigenvalue that is a lower bound itself is replaced by what it cannot exceed, 1 / dim
            float(ridge * (degeneracies[index] if rows[index].lower_bound else 1.0 / eigenvalues[index]) + degeneracies[index] / 2.0),
            rows[index].lower_bound,
        )
        for index, number in zip(order, samples, strict=True)
    ]
    return SampleComplexity(spectrum.arch, spectrum.kind, float(ridge), tuple(needs))


def samples_to_learn(content: Content, ridge: float = 1.0, share: float = 0.5) -> float:
    """Number of samples at which a share of the target is in the mean prediction; infinite where the rows do not hold so much of it.

    The theory is one of many samples: against exact inference it is a few per cent off from ten samples on, and a third for one or two.
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"share must be between 0 and 1, got {share!r}.")
    if content.total <= 0.0 or float(content.weights[content.eigenvalues > 0].sum()) <= share * content.total:
        return math.inf

    def surplus(log_kappa: float) -> float:
        return float(learnability(content.eigenvalues, np.exp([log_kappa]))[0] @ content.weights) / content.total - share

    present = content.eigenvalues[content.eigenvalues > 0]
    low, high = math.log(present.min()), math.log(present.max())
    while surplus(low) < 0.0:
        low -= 5.0
    while surplus(high) > 0.0:
        high += 5.0
    root: Any = brentq(surplus, low, high, xtol=1e-12)
    return float(samples_at(content.eigenvalues, content.degeneracies, np.exp([root]), ridge + content.tail)[0])


def samples_for_error(spectrum: Spectrum, content: Content, error: float, ridge: float = 1.0, noise: float = 0.0) -> float:
    """Fewest samples from which on the test error stays below a share `error` of the target's variance; infinite if it never does."""
    if not 0.0 < error < 1.0:
        raise InputError(f"error must be a share of the target's variance between 0 and 1, got {error!r}.")
    if content.variance <= 0.0:
        raise InputError("The target is zero, so there is nothing to learn: take another target.")
    grid = np.geomspace(1.0, _MOST, 1501)
    test = theory_curve(spectrum, content, grid, ridge, noise).test / content.variance
    above = np.flatnonzero(~(test <= error))
    if len(above) == 0:
        return 1.0
    last = int(above[-1])
    if last == len(grid) - 1:
        return math.inf
    # straight lines on logarithmic axes between the last point above and the next
    left, right = (max(value, 1e-300) for value in test[[last, last + 1]])
    step = (math.log(left) - math.log(error)) / (math.log(left) - math.log(right)) if np.isfinite(left) else 1.0
    return float(grid[last] * (grid[last + 1] / grid[last]) ** step)


def samples_from_profile(spectrum: Spectrum, profile: Any, error: float, ridge: float = 1.0, noise: float = 0.0) -> SampleRange:
    """Samples for an error, from a symmetry profile alone, with an interval for what the profile leaves open.

    Arguments:
        profile: what `specht.profile` returns: mean squares by level, with their intervals.
        error: share of the target's variance.
        noise: variance of the label noise, in the units of the target.
    """
    low, high, total = np.asarray(profile.low, dtype=float), np.asarray(profile.high, dtype=float), float(profile.total)

    def needed(weights: np.ndarray, where: Placement) -> float:
        known = dict(zip(map(int, profile.levels), weights.tolist(), strict=True))
        placed = place(spectrum, known, total, where, mean_square=float(profile.mean_square.value))
        return samples_for_error(spectrum, placed, error, ridge, noise)

    value = needed(np.asarray(profile.weights, dtype=float), "kernel")
    easiest, hardest = _filled(low, high, total), _filled(low[::-1], high[::-1], total)[::-1]
    return SampleRange(value, min(value, needed(easiest, "leading")), max(value, needed(hardest, "even")), error)


def _filled(low: np.ndarray, high: np.ndarray, total: float) -> np.ndarray:
    """Weights between their bounds that add up to the total, the first ones as large as they can be.

    >>> _filled(np.array([0.1, 0.2]), np.array([0.5, 0.9]), 1.0)
    array([0.5, 0.5])
    """
    before = np.cumsum(high - low) - (high - low)
    return low + np.clip(total - low.sum() - before, 0.0, high - low)


def place(spectrum: Spectrum, weights: Mapping[int, float], total: float, where: Placement, mean_square: float = 0.0) -> Content:
    """The content of a target of which only the mean square at each level is known.

    Arguments:
        where: "leading", all on the leading row of its level; "kernel", in proportion to what the kernel holds in each row; "even", in
            equal shares on all rows of the level.
        mean_square: square of the target's mean, which is part of the total.
    """
    known = resolve(spectrum)
    eigenvalues, degeneracies = known.eigenvalues, known.degeneracies
    levels = np.array([row.irrep.level for row in known.rows])
    shares = np.zeros(len(known.rows))
    for level, weight in weights.items():
        of_level = np.flatnonzero((levels == level) & (eigenvalues > 0))
        if not len(of_level):
            continue  # no row: never learnt
        if where == "leading":
            shares[of_level[np.argmax(eigenvalues[of_level])]] = weight
        else:
            part = eigenvalues[of_level] * degeneracies[of_level] if where == "kernel" else np.ones(len(of_level))
            shares[of_level] = weight * part / part.sum()
    whole = max(total, float(sum(weights.values())))
    return Content(
        **known._asdict(),
        weights=shares,
        weights_stderr=np.zeros(len(shares)),
        total=whole,
        mean_square=mean_square,
    )
