r"""Learning curves before training: what is learnt from N samples, by theory.

With the learnabilities $\mathcal L_r$, $\kappa$ and $E_0$ of `renormalised`, mean squares $w_r$ of the target in each row, $w_\perp$ in no
row, label noise $\sigma^2$ and ridge $\delta$ (view from infinity, section on predictor and losses; Lavie, Gur-Ari & Ringel 2024):

$$ E_\text{tot} = E_0 \Big[ \sum_r (1 - \mathcal L_r)^2 w_r + w_\perp + \sigma^2 \Big] , \qquad
   \text{test} = E_\text{tot} - \sigma^2 , \qquad
   \text{train} = \Big( \frac{\delta}{N \kappa} \Big)^2 E_\text{tot} , $$

$$ \text{ood} = \sum_{rs} (1 - \mathcal L_r) Q_{rs} (1 - \mathcal L_s) + \frac{E_\text{tot}}{N} \sum_r \mathcal L_r^2 v_r , $$

The sum over rs includes what lies in no row, with $\mathcal L = 0$; *ood* is out of distribution. Everything is in units of
E[k(x, x)]: a ridge of one is as large as the kernel itself. Functions that the spectrum does not resolve add their share of the trace
to the ridge in the equation for $\kappa$, and are not learnt. The *equivalent kernel* takes $\kappa = \delta / N$ and leaves out $E_0$
and the variance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from specht.errors import InputError
from specht.learning.losses import LOSSES, TARGET_SQUARED, axes_of, describe_losses, loss_variables
from specht.learning.renormalised import Learnability, equivalent_kernel, renormalised
from specht.learning.target_content import SAMPLES, Content, content
from specht.progress import Progress
from specht.results import Result, Variable, plain
from specht.sequences import Task
from specht.spectra import Spectrum

_SHOWN = 1e-6
"""Share of a target that a level must hold to count."""


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
