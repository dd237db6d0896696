r"""The learning curve of a transformer whose embedding has finite width d, before any data is seen.

At infinite width the kernel is fixed. At finite width the variances of tokens and positions move towards what the target needs, and d says
how stiff they are. Without data, both sides of that bargain are known on average: the variances are those that minimise

$$ F = \frac d2 \sum_i n_i (r_i - \ln r_i - 1) + \tfrac12 E\big[ K \log\det(k_r + \delta) + y^T (k_r + \delta)^{-1} y \big] $$

over the ratios $r_i$ to their values at infinite width (`minima`, `equivalent`), and the losses are those of kernel regression with the
kernel $k_r$ at the minimum. The target distinguishes positions, so the symmetry of the kernel under permutations breaks to the target's
stabiliser (`orbits`): positions that it reads gain variance. It may happen gradually, a *crossover*, or at once, where a second
minimum becomes the lower one (*first order*), or where the symmetric point stops being a minimum (*second order*).

Everything is in units in which the kernel at infinite width has E[k] = 1; labels and ridge keep these units whatever the variances do.
This is the saddle point of Bayesian inference with independent variances; the later layers count as infinitely wide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from specht.architecture import Architecture
from specht.checks import whole_number
from specht.errors import InputError, explains_calls
from specht.learning.adaptive.curve import AdaptiveCurve
from specht.learning.adaptive.expected import SEQUENCES, Method, choose_method, expect
from specht.learning.adaptive.orbits import find_orbits
from specht.learning.adaptive.sampled_spectrum import MOST_SHARE, require_closed_form
from specht.progress import Progress
from specht.sequences import Task


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
        ridge: label variance that is assumed, in units of E[k(x, x)] at infinite width. Labels are taken in units in which random networks
            are as large as the target.
        noise: variance of noise on each label, besides what the task has itself.
        method: "exact", for one linear block and tokens that are independent given a component of a mixture, at any length; "sampled", for
            any other block with a closed kernel, from the Gram of sequences; "auto", the first that applies.
        sequences: how many the sampled method draws; they allow for half as many samples (`most_samples`).
        seed: seed of everything random.
        progress: called as progress(done, total).
    """
    numbers, widths = positive_numbers("n_train", n_train), positive_numbers("width", width, infinite=True)
    expected = expect(arch, task, ridge=ridge, noise=noise, method=method, sequences=sequences, seed=seed)
    if numbers.max() > expected.most:
        raise InputError(
            f"{sequences} sequences allow for {expected.most:g} samples, and n_train goes to {numbers.max():g}: "
            f"give sequences={math.ceil(numbers.max() / MOST_SHARE)}."
        )
    return expected.curve(numbers, widths, one_width=np.ndim(width) == 0, progress=progress)


@explains_calls
def most_samples(arch: Architecture, task: Task, *, sequences: int = SEQUENCES, seed: int = 0) -> float:
    """How far `n_train` of `adaptive_curve` may go: infinite where the operator is exact, half of the sequences where it is sampled.

    >>> import specht
    >>> source = specht.sources.default_mixture(2)
    >>> task = specht.Task(source, specht.targets.next_token(source))
    >>> arch = specht.Architecture(vocab=2, length=8)
    >>> most_samples(arch, task), most_samples(arch.replace(activation="erf"), task, sequences=200)
    (inf, 100.0)
    """
    sequences = whole_number("sequences", sequences, at_least=4)
    if choose_method("auto", find_orbits(arch, task, seed), task) == "exact":
        return math.inf
    require_closed_form(arch)
    return MOST_SHARE * sequences


def positive_numbers(name: str, values: object, infinite: bool = False) -> np.ndarray:
    """One or several numbers as an array, or the error for what is none."""
    try:
        numbers = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a positive number or a list of them, got {values!r}.") from None
    if numbers.ndim != 1 or not numbers.size or not (numbers > 0).all() or not (infinite or np.isfinite(numbers).all()):
        raise InputError(f"{name} must be a positive number or a list of them, got {values!r}.")
    return numbers
