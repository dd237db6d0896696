r"""The learning curve of a transformer whose embedding has finite width d, before any data is seen.

At infinite width the kernel is fixed. At finite width the variances of tokens and positions move towards what the target needs, and d says
how stiff they are. Without data, both sides of that bargain are known on average: the variances are those that minimise

$$ F = \frac d2 \sum_i n_i (r_i - \ln r_i - 1) + \tfrac12 E\big[ K \log\det(k_r + \delta) + y^T (k_r + \delta)^{-1} y \big] $$

over the ratios $r_i$ to their values at infinite width (`minima`, `equivalent`), and the losses are those of kernel regression with the
kernel $k_r$ at the minimum. The target tells positions apart, so the symmetry of the kernel under permutations breaks to the target's
stabiliser (`orbits`): positions that it reads gain variance. It may happen gradually, a *crossover*, or at once, where a second
minimum becomes the lower one (*first order*), or where the symmetric point stops being a minimum (*second order*).

Everything is in units in which the kernel at infinite width has E[k] = 1; labels and ridge keep these units whatever the variances do.
This is the saddle point of Bayesian inference with independent variances; the later layers count as infinitely wide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from specht.architecture import Architecture
from specht.errors import InputError, explains_calls, finite_number, unknown_choice, whole_number
from specht.learning.adaptive.curve import AdaptiveCurve
from specht.learning.adaptive.equivalent import Labels
from specht.learning.adaptive.linear_block import LinearBlock, why_not_linear
from specht.learning.adaptive.minima import Energy, Landscape, Minimum, follow
from specht.learning.adaptive.orbits import Orbits, find_orbits
from specht.learning.adaptive.projection import project
from specht.learning.adaptive.sampled_spectrum import MOST_SHARE, SampledKernel
from specht.sequences.tasks import Task
from specht.symmetry.progress import Progress, stages

Method = Literal["auto", "exact", "sampled"]
SEQUENCES = 512
"""Sequences that a kernel without a closed operator is followed on."""


@explains_calls
def adaptive_curve(
    arch: Architecture,
    task: Task,
    n_train: Sequence[float] | np.ndarray | float,
    *,
    width: Sequence[float] | np.ndarray | float,
    ridge: float = 0.1,
    noise: float = 0.0,
    method: Method = "auto",
    sequences: int = SEQUENCES,
    seed: int = 0,
    progress: Progress | None = None,
) -> AdaptiveCurve:
    """Predicted losses of a transformer with an embedding of finite width, against the number of samples.

    >>> import specht
    >>> source = specht.sources.uniform(2)
    >>> copy = specht.targets.Target("copy", lambda x: 2.0 * x[:, 0] - 1.0, reads=(0,))
    >>> curve = adaptive_curve(specht.Architecture(vocab=2, length=16), specht.Task(source, copy), [24, 48], width=16)
    >>> curve.test.round(3), curve.infinite_test.round(3)
    (array([0.119, 0.017]), array([0.413, 0.155]))
    >>> dict(zip(curve.names, curve.ratios[0].round(2).tolist()))["position 0"]
    2.18

    Arguments:
        n_train: numbers of samples, one or several.
        width: d of the embedding, one or several; `math.inf` for the kernel limit.
        ridge: label variance that is assumed, in units of E[k(x, x)] at infinite width.
        noise: variance of noise on each label, besides what the task has itself.
        method: "exact", for one linear block and independent tokens, at any length; "sampled", for any other block with a closed kernel,
            from the Gram of sequences; "auto", the first that applies.
        sequences: how many the sampled method draws; they allow for half as many samples.
        seed: of everything random.
        progress: called as progress(done, total).
    """
    numbers, widths = _numbers("n_train", n_train), _numbers("width", width, infinite=True)
    ridge, noise = finite_number("ridge", ridge, above=0.0), finite_number("noise", noise, at_least=0.0)
    if task.source.vocab != arch.vocab:
        raise InputError(f"The task has {task.source.vocab} tokens and the architecture {arch.vocab}: give both the same vocab.")
    orbits = find_orbits(arch, task, seed)
    chosen = _chosen(method, arch, task)
    sequences = whole_number("sequences", sequences, at_least=4)
    if chosen == "sampled" and numbers.max() > MOST_SHARE * sequences:
        raise InputError(
            f"{sequences} sequences allow for {MOST_SHARE * sequences:g} samples, and n_train goes to {numbers.max():g}: "
            f"give sequences={math.ceil(numbers.max() / MOST_SHARE)}."
        )
    model, labels, total, stderr = prepare(orbits, task, chosen, sequences, seed)
    labels = labels._replace(ridge=ridge, noise=labels.noise + noise * task.target.outputs)
    order = np.argsort(numbers, kind="stable")
    points = _Points(len(widths), len(numbers), len(orbits.prior))
    for (place, each), part in zip(enumerate(widths), stages(progress, [1.0] * len(widths)), strict=True):
        landscapes = [Landscape(model, float(each), labels._replace(n_train=float(n))) for n in numbers[order]]
        _fill(points, place, order, landscapes, stderr, part)
    points.losses["learned"] /= total or 1.0
    still = np.log(orbits.prior)
    kept = [model.losses(still, labels._replace(n_train=float(n))) for n in numbers]
    return AdaptiveCurve(
        arch=arch,
        target=task.target.name,
        method=chosen,
        n_train=numbers,
        width=widths,
        ridge=ridge,
        noise=labels.noise,
        names=orbits.names,
        infinite_test=np.array([each.test for each in kept]),
        infinite_train=np.array([each.train for each in kept]),
        **points.arrays(one_width=np.ndim(width) == 0),
    )


class _Points:
    """What is known at every width and number of samples, filled point by point."""

    def __init__(self, widths: int, numbers: int, variances: int) -> None:
        shape = (widths, numbers)
        self.losses = {
            name: np.zeros(shape) for name in ("test", "train", "learned", "kappa", "stderr", "symmetric_slope", "symmetric_curvature")
        }
        self.minima: dict[tuple[int, int], list[tuple[float, float, float, np.ndarray]]] = {}
        self.shape, self.variances = shape, variances

    def arrays(self, one_width: bool) -> dict[str, np.ndarray]:
        most = max(len(each) for each in self.minima.values())
        table, ratios = np.full((*self.shape, most, 3), np.nan), np.full((*self.shape, most, self.variances), np.nan)
        for at, found in self.minima.items():
            for number, (*numbers, logarithms) in enumerate(found):
                table[at][number], ratios[at][number] = numbers, np.exp(logarithms)
        arrays = self.losses | {"minima": ratios}
        arrays |= {"free_energies": table[..., 0], "strengths": table[..., 1], "minima_test": table[..., 2]}
        return {name: values[0] if one_width else values for name, values in arrays.items()}


def _fill(points: _Points, place: int, order: np.ndarray, landscapes: list[Landscape], stderr: float, progress: Progress | None) -> None:
    """Everything at one width."""
    orbits, model = landscapes[0].model.orbits, landscapes[0].model
    frozen = math.isinf(landscapes[0].width)
    still = np.zeros(len(orbits.prior))
    minima = [[Minimum(math.nan, still)] for _ in landscapes] if frozen else follow(landscapes, progress)
    start = still
    for column, landscape, found in zip(order, landscapes, minima, strict=True):
        at, labels = (place, int(column)), landscape.labels
        losses = [model.losses(np.log(orbits.prior) + each.ratios, labels) for each in found]
        for name in ("test", "train", "learned", "kappa"):
            points.losses[name][at] = getattr(losses[0], name)
        points.minima[at] = [
            (each.free_energy, _strength(orbits, each.ratios), loss.test, each.ratios) for each, loss in zip(found, losses, strict=True)
        ]
        sampled = isinstance(model, SampledKernel)
        points.losses["stderr"][at] = model.stderr(np.log(orbits.prior) + found[0].ratios, labels) if sampled else stderr
        if frozen:
            points.losses["symmetric_curvature"][at] = math.inf
            continue
        symmetric = landscape.symmetric(start)
        start = symmetric.ratios
        points.losses["symmetric_slope"][at], points.losses["symmetric_curvature"][at] = symmetric.slope, symmetric.curvature


def _strength(orbits: Orbits, ratios: np.ndarray) -> float:
    """Largest variance of a position that the target reads, over that of the positions it does not: one without either."""
    reads = orbits.reads
    if not reads:
        return 1.0
    rest = [index for index in orbits.context if index not in reads]
    return float(np.exp(ratios[reads].max() - (ratios[rest[0]] if rest else 0.0)))


def _chosen(method: str, arch: Architecture, task: Task) -> str:
    if method not in get_args(Method):
        raise unknown_choice("method", method, get_args(Method))
    reason = why_not_linear(arch, task.source)
    if method == "exact" and reason is not None:
        raise InputError(f"There is no exact operator, because {reason}: take method='sampled'.")
    return method if method != "auto" else "exact" if reason is None else "sampled"


class Prepared(NamedTuple):
    """What minima are looked for with."""

    model: Energy
    labels: Labels
    """Without number of samples, ridge and added noise."""
    total: float
    """Mean square of the target."""
    stderr: float
    """Standard error of its mean square in the functions of the kernel."""


def prepare(orbits: Orbits, task: Task, method: str, sequences: int, seed: int) -> Prepared:
    """The energy of the labels as a function of variances."""
    outputs = task.target.outputs
    if method == "sampled":
        kernel = SampledKernel(orbits, task, sequences=sequences, seed=seed)
        return Prepared(kernel, Labels(0.0, 0.0, 0.0, kernel.label_noise, outputs), kernel.total, 0.0)
    block = LinearBlock(orbits, task.source)
    found = project(block, task.target, task.source, seed=seed)
    block.target = found.coefficients
    return Prepared(block, Labels(0.0, 0.0, found.unseen, found.label_noise, outputs), found.total, found.stderr)


def _numbers(name: str, given: object, infinite: bool = False) -> np.ndarray:
    try:
        numbers = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a positive number or a list of them, got {given!r}.") from None
    if numbers.ndim != 1 or not numbers.size or not (numbers > 0).all() or not (infinite or np.isfinite(numbers).all()):
        raise InputError(f"{name} must be a positive number or a list of them, got {given!r}.")
    return numbers
