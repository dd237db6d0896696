r"""Learning curves before training: what is learnt from N samples, by theory.

With eigenvalues $\lambda_j$ of degeneracy $d_j$ and a ridge $\delta$, the functions not yet learnt act as noise on those that are. They
raise the ridge to $N \kappa$, where $\kappa$ solves

$$ N = \sum_j d_j \frac{\lambda_j}{\lambda_j + \kappa} + \frac{\delta}{\kappa} , \qquad
   \mathcal L_i = \frac{\lambda_i}{\lambda_i + \kappa} , \qquad
   E_0 = \frac{N}{N - \sum_j d_j \mathcal L_j^2} . $$

$\mathcal L_i$ is the *learnability*, from 0 to 1, and $E_0$ the factor by which fitting N samples raises the error. Without ridge and with
at least as many samples as there are functions, $\kappa = 0$. The *equivalent kernel* leaves the unlearnt functions out:
$\kappa = \delta / N$ and $E_0 = 1$.

The right-hand side depends on $\log \kappa$ smoothly, on a scale of one, whatever the eigenvalues are. It is tabulated once, inverted by
interpolation, and a step of Newton's method makes the roots exact. So a thousand values of N cost little more than ten.

With mean squares $w_r$ of the target in each row, $w_\perp$ in no
row, label noise $\sigma^2$ and ridge $\delta$ (view from infinity, section on predictor and losses; Lavie, Gur-Ari & Ringel 2024):

$$ E_\text{tot} = E_0 \Big[ \sum_r (1 - \mathcal L_r)^2 w_r + w_\perp + \sigma^2 \Big] , \qquad
   \text{test} = E_\text{tot} - \sigma^2 , \qquad
   \text{train} = \Big( \frac{\delta}{N \kappa} \Big)^2 E_\text{tot} , $$

$$ \text{ood} = \sum_{rs} (1 - \mathcal L_r) Q_{rs} (1 - \mathcal L_s) + \frac{E_\text{tot}}{N} \sum_r \mathcal L_r^2 v_r , $$

The sum over rs includes what lies in no row, with $\mathcal L = 0$; *ood* is out of distribution. Everything is in units of
E[k(x, x)]: a ridge of one is as large as the kernel itself. Functions that the spectrum does not resolve add their share of the trace
to the ridge in the equation for $\kappa$, and are not learnt. The equivalent kernel also leaves
out the variance.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from specht.errors import InputError
from specht.learning.tally import LOSSES, TARGET_SQUARED, axes_of, describe_losses, loss_variables
from specht.learning.target_content import SAMPLES, Content, content
from specht.progress import Progress
from specht.results import Result, Variable, plain
from specht.sequences import Task
from specht.spectra import Spectrum

_SHOWN = 1e-6
"""Share of a target that a level must hold to count."""
_PER_E_FOLD = 16
"""Entries of the table for each factor e of kappa: the interpolated root is good to eight digits, and Newton's step doubles them."""
_BLOCK = 2**16
"""Entries of a (points, modes) array held at a time: what stays in the processor's cache."""


@dataclasses.dataclass(frozen=True)
class Equivalent:
    """What the equivalent kernel predicts."""

    test: np.ndarray
    ood: np.ndarray | None


@dataclasses.dataclass(frozen=True)
class Curve(Result):
    """Predicted losses over the numbers of samples `n_train` and ridges, arrays of one shape."""

    n_train: np.ndarray
    test: np.ndarray
    """Mean squared error on fresh sequences, against the target without noise."""
    train: np.ndarray
    """Mean squared error on the training labels, noise included."""
    ood: np.ndarray | None
    """Mean squared error out of distribution; None without a test source."""
    learned: np.ndarray
    """Share of the target in the mean prediction, from 0 to 1."""
    equivalent: Equivalent
    learnability: Learnability
    content: Content
    ridge: np.ndarray
    noise: float
    """Variance of the labels around the target, summed over outputs, that of the task included."""

    def learned_by_level(self) -> dict[int, np.ndarray]:
        """Share of the target's part at each level that is learnt, for the levels that it has."""
        weights, levels, learnt = self.content.weights, self.content.levels, self.learnability.learnability
        errors = self.content.weights_stderr
        present = [
            int(level)
            for level in np.unique(levels)
            if weights[levels == level].sum() > max(_SHOWN * self.content.total, 3.0 * np.linalg.norm(errors[levels == level]))
        ]
        return {level: learnt[..., levels == level] @ weights[levels == level] / weights[levels == level].sum() for level in present}

    def summary(self) -> dict[str, Any]:
        """Losses as plain values, as files and figures have them."""
        if self.test.ndim != 1:
            raise InputError(f"This curve has {self.test.ndim} axes, and one is wanted here: give n_train as a list, and one ridge.")
        losses = {name: plain(getattr(self, name)) for name in ("n_train", "ridge", *LOSSES)}
        return losses | {
            "equivalent_test": plain(self.equivalent.test),
            "equivalent_ood": plain(self.equivalent.ood),
            "learned_by_level": {str(level): plain(share) for level, share in self.learned_by_level().items()},
        }

    def _summary(self) -> str:
        ridges = np.unique(self.ridge)
        ridge = f"ridge {ridges[0]:.3g}" if len(ridges) == 1 else f"ridges {ridges[0]:.3g} to {ridges[-1]:.3g}"
        return f"theory at {ridge} E[k], label noise {self.noise:.3g}\n{describe_losses(self)}"

    def _variables(self) -> list[Variable]:
        axes = axes_of(self.n_train)
        parts, levels, unit = self.content, self.learned_by_level(), TARGET_SQUARED
        variables = [
            Variable("n_train", axes, self.n_train, "number of training samples N", "samples"),
            Variable("ridge", axes, self.ridge, "assumed variance of the labels", "E[k]"),
            *loss_variables(self, axes),
            Variable("equivalent_test", axes, self.equivalent.test, "test loss of the equivalent kernel", unit),
            Variable("kappa", axes, self.learnability.kappa, "effective ridge over N", "E[k]"),
            Variable("overfitting", axes, self.learnability.overfitting, "factor by which fitting N samples raises the error"),
            Variable("eigenvalue", "row", parts.eigenvalues, "eigenvalue of the kernel operator", "E[k]"),
            Variable("degeneracy", "row", parts.degeneracies, "number of orthogonal eigenfunctions"),
            Variable("weight", "row", parts.weights, "mean square of the target in the row", unit),
            Variable("weight_stderr", "row", parts.weights_stderr, "standard error of the weight; zero where it is exact", unit),
            Variable("rest", (), parts.rest, "mean square of the target in no row, which is never learnt", unit),
            Variable("noise", (), self.noise, "variance of the labels around the target", unit),
        ]
        if parts.rows:
            variables.append(Variable("irrep", "row", np.array([str(row.irrep) for row in parts.rows]), "irreducible representation"))
        if levels:
            variables.append(Variable("level", "level", list(levels), "positions that a part of the target singles out"))
            shares = np.stack(list(levels.values()))
            variables.append(
                Variable("learned_by_level", ("level", *axes), shares, "share of the target's part at each level that is learnt")
            )
        return variables


def theory_curve(
    spectrum: Spectrum | None,
    task: Task | Content,
    n_train: Sequence[int] | np.ndarray,
    ridge: float | np.ndarray = 1.0,
    noise: float = 0.0,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    progress: Progress | None = None,
) -> Curve:
    """Predicted losses of Bayesian inference with the kernel of a spectrum, on a task.

    >>> import specht
    >>> from specht.sequences.targets import level
    >>> source = specht.sources.uniform(2)
    >>> spec = specht.spectrum(specht.Architecture(vocab=2, length=8), source)
    >>> task = Task(source, level(1, length=8, source=source))
    >>> theory_curve(spec, task, n_train=[16, 64, 256], ridge=0.1).test.round(3)
    array([0.315, 0.018, 0.001])

    Arguments:
        spectrum: not needed where `task` is content.
        task: or what `content` made of it, which is worth keeping where several ridges are tried.
        n_train, ridge: they broadcast against each other; the ridge is in units of E[k(x, x)].
        noise: variance of noise on each output of the labels, besides what the task has itself.
        samples: sequences drawn where the content of the target has to be sampled.
    """
    if not isinstance(noise, (int, float)) or not 0 <= noise < np.inf:
        raise InputError(f"noise must be a finite variance of at least 0, got {noise!r}.")
    if isinstance(task, Content):
        parts = task
    else:
        assert spectrum is not None
        parts = content(spectrum, task, samples=samples, seed=seed, progress=progress)
    solved = renormalised(parts.eigenvalues, parts.degeneracies, np.asarray(n_train), np.asarray(ridge) + parts.tail)
    simple = equivalent_kernel(parts.eigenvalues, parts.degeneracies, np.asarray(n_train), ridge)
    bare_ridge, variance = simple.ridge, noise * parts.outputs + parts.label_noise
    rank = parts.degeneracies[parts.eigenvalues > 0].sum()
    total = solved.overfitting * (_not_learnt(parts, solved) + variance)
    with np.errstate(divide="ignore", invalid="ignore"):  # without ridge and with enough samples, the limit of the first
        kept = np.where(solved.kappa > 0, bare_ridge / (solved.n_train * solved.kappa), 1.0 - rank / solved.n_train)
    return Curve(
        n_train=solved.n_train,
        test=total - variance,
        train=np.where(kept > 0, kept**2 * total, 0.0),
        ood=_out_of_distribution(parts, solved, total),
        learned=solved.learnability @ parts.weights / parts.total if parts.total else np.zeros(total.shape),
        equivalent=Equivalent(_not_learnt(parts, simple), _out_of_distribution(parts, simple, np.zeros(total.shape))),
        learnability=solved,
        content=parts,
        ridge=bare_ridge,
        noise=float(variance),
    )


def _not_learnt(parts: Content, solved: Learnability) -> np.ndarray:
    """Mean square of the target that the mean prediction misses."""
    return (1.0 - solved.learnability) ** 2 @ parts.weights + parts.rest


def _out_of_distribution(parts: Content, solved: Learnability, total: np.ndarray) -> np.ndarray | None:
    if parts.shifted is None:
        return None
    missed = np.concatenate([1.0 - solved.learnability, np.ones((*solved.n_train.shape, 1))], axis=-1)
    bias = np.einsum("...r,rs,...s->...", missed, parts.shifted.form, missed, optimize=True)
    return bias + total / solved.n_train * (solved.learnability**2 @ parts.shifted.spread)


@dataclasses.dataclass(frozen=True)
class Learnability:
    """What N samples teach, for every number of samples and ridge: arrays of one shape P."""

    n_train: np.ndarray
    ridge: np.ndarray
    r"""$\delta$."""
    kappa: np.ndarray
    r"""$\kappa$."""
    overfitting: np.ndarray
    r"""$E_0$."""
    eigenvalues: np.ndarray
    """Distinct eigenvalues, shape (M,)."""

    @property
    def learnability(self) -> np.ndarray:
        r"""$\mathcal L_i$, shape (*P, M)."""
        return learnability(self.eigenvalues, self.kappa)


def renormalised(eigenvalues: np.ndarray, degeneracies: np.ndarray, n_train: np.ndarray, ridge: np.ndarray | float) -> Learnability:
    """Solve for kappa at every number of samples; `n_train` and `ridge` broadcast against each other.

    >>> solved = renormalised(np.array([1.0]), np.array([4.0]), np.array([4.0]), 1.0)
    >>> round(float(solved.kappa[0]), 6)  # 4 = 4 / (1 + kappa) + 1 / kappa
    0.640388
    """
    values, numbers = _modes(eigenvalues, degeneracies)
    n, delta = _samples(n_train, ridge)
    rank = numbers[values > 0].sum()
    kappa = np.zeros(n.shape)
    solvable = (delta > 0) | (n < rank)
    if solvable.any():
        kappa[solvable] = _solve(values, numbers, n[solvable], delta[solvable])
    squares = _sums(values, numbers, kappa.ravel())[1].reshape(n.shape)
    with np.errstate(divide="ignore"):
        overfitting = np.where(n > squares, n / np.where(n > squares, n - squares, 1.0), np.inf)
    return Learnability(n, delta, kappa, overfitting, values)


def equivalent_kernel(eigenvalues: np.ndarray, degeneracies: np.ndarray, n_train: np.ndarray, ridge: np.ndarray | float) -> Learnability:
    """Leave unlearnt functions out: kappa = ridge / N, and no overfitting."""
    values, _ = _modes(eigenvalues, degeneracies)
    n, delta = _samples(n_train, ridge)
    return Learnability(n, delta, delta / n, np.ones(n.shape), values)


def samples_at(eigenvalues: np.ndarray, degeneracies: np.ndarray, kappa: np.ndarray, ridge: float) -> np.ndarray:
    """The number of samples that has a given kappa: the right-hand side of the equation."""
    kappa = np.atleast_1d(np.asarray(kappa, dtype=np.float64))
    return _sums(*_modes(eigenvalues, degeneracies), kappa)[0] + ridge / kappa


def learnability(eigenvalues: np.ndarray, kappa: np.ndarray) -> np.ndarray:
    r"""$\lambda / (\lambda + \kappa)$ for every pair, shape (*P, M): zero for a vanishing eigenvalue, even where kappa vanishes too."""
    with np.errstate(invalid="ignore"):
        return np.where(eigenvalues > 0, eigenvalues / (eigenvalues + np.asarray(kappa)[..., None]), 0.0)


def _solve(values: np.ndarray, numbers: np.ndarray, n: np.ndarray, delta: np.ndarray) -> np.ndarray:
    high = np.log((delta + values @ numbers) / n)
    present = values > 0
    if not present.any():
        return np.exp(high)
    spare = np.maximum(numbers[present].sum() - n, 0.0)  # without ridge, kappa >= spare / N times the smallest eigenvalue
    with np.errstate(divide="ignore"):
        low = np.log(np.maximum(delta / n, values[present].min() * spare / n))
    grid = np.linspace(low.min() - 0.1, high.max() + 0.1, 2 + math.ceil(_PER_E_FOLD * (high.max() - low.min() + 0.2)))
    learnt, squares = _sums(values, numbers, np.exp(grid))
    table = CubicHermiteSpline(grid, learnt, squares - learnt)  # d/du sum d L = -sum d L (1 - L), with u = log kappa
    left, right = low, high
    for _ in range(60):  # to rounding, on the cheap table
        middle = (left + right) / 2.0
        below = table(middle) + delta * np.exp(-middle) > n  # more samples than asked for: kappa must grow
        left, right = np.where(below, middle, left), np.where(below, right, middle)
    u = (left + right) / 2.0
    learnt, squares = _sums(values, numbers, np.exp(u))
    pull = delta * np.exp(-u)
    return np.exp(np.clip(u + (learnt + pull - n) / (learnt - squares + pull), low, high))


def _sums(values: np.ndarray, numbers: np.ndarray, kappa: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""$\sum_j d_j \mathcal L_j$ and $\sum_j d_j \mathcal L_j^2$ at every kappa."""
    present = values > 0  # a vanishing eigenvalue is not learnt, even where kappa vanishes too
    values, numbers = values[present], numbers[present]
    learnt, squares = np.empty(len(kappa)), np.empty(len(kappa))
    step = max(1, _BLOCK // max(1, len(values)))
    for start in range(0, len(kappa), step):
        part = slice(start, start + step)
        share = np.add.outer(kappa[part], values)
        np.divide(values, share, out=share)
        learnt[part] = share @ numbers
        squares[part] = np.square(share, out=share) @ numbers
    return learnt, squares


def _modes(eigenvalues: np.ndarray, degeneracies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, numbers = np.asarray(eigenvalues, dtype=np.float64), np.asarray(degeneracies, dtype=np.float64)
    if values.ndim != 1 or values.shape != numbers.shape:
        raise InputError(f"eigenvalues and degeneracies must be two lists of one length, got shapes {values.shape} and {numbers.shape}.")
    if not (np.isfinite(values).all() and np.isfinite(numbers).all()) or (values < 0).any() or (numbers < 0).any():
        raise InputError("eigenvalues and degeneracies must be finite and not negative: leave out rows below rounding.")
    return values, numbers


def _samples(n_train: np.ndarray, ridge: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    n, delta = np.broadcast_arrays(np.atleast_1d(np.asarray(n_train, dtype=np.float64)), np.asarray(ridge, dtype=np.float64))
    if not n.size or not np.isfinite(n).all() or (n <= 0).any():
        raise InputError(f"n_train must hold positive numbers of samples, got {n_train!r}.")
    if not np.isfinite(delta).all() or (delta < 0).any():
        raise InputError(f"ridge must be a finite number of at least 0, got {ridge!r}.")
    return n.copy(), delta.copy()
