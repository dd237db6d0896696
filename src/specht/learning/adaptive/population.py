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

A kernel whose operator is not known is followed on M sequences, for fewer samples than M (`SampledKernel`).
Let K be the Gram of M sequences and y the target on them. At a ridge $\rho$ the M sequences have a $\kappa$ of their own, and averages over
sequences obey the same laws as with N labels: $1/\kappa = \operatorname{tr}(K + \rho)^{-1}$. The spectrum behind both is one, so
equal $\kappa$ mean

$$ \sum_i d_i \frac{\lambda_i}{\lambda_i + \kappa} = M - \frac{\rho}{\kappa} = N - \frac{\delta}{\kappa} \quad\Longrightarrow\quad
   \rho = \delta + (M - N)\, \kappa . $$

Both equations together give $\rho$ and $\kappa$, and then with $R = (K + \rho)^{-1}$

$$ \sum_i d_i \ln(1 + \lambda_i/\kappa) = \log\det(K + \rho) - M \ln(M\kappa) - \rho/\kappa + M , \qquad
   \sum_i \frac{w_i}{\lambda_i + \kappa} + \frac{w_\perp}{\kappa} = y^T R\, y . $$

Eigenvalues of K/M in place of the $\lambda_i$ would be off by N/M; this is not, and at N = M it is the data's own evidence. All of it is
stationary in $\rho$ and $\kappa$ but for $y^T R y$, which moves by $d\kappa = \langle R^2, dK \rangle / (\kappa^{-2} - (M - N)
\operatorname{tr} R^2)$.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from scipy.optimize import brentq

from specht.architecture import Architecture, Variances
from specht.checks import finite_number, whole_number
from specht.errors import InputError, explains_calls, unknown_choice
from specht.kernel import SAMPLED_FORMS, choose_form
from specht.learning.adaptive.curve import AdaptiveCurve
from specht.learning.adaptive.equivalent import Labels, PredictedLosses, resolvent
from specht.learning.adaptive.linear_block import LinearBlock, project, why_not_linear, why_too_large
from specht.learning.adaptive.minima import Energy, Landscape, Minimum, follow
from specht.learning.adaptive.orbits import Orbits, find_orbits
from specht.progress import Progress, stages
from specht.sequences import Task

Method = Literal["auto", "exact", "sampled"]
MOST_SHARE = 0.5
"""Largest number of samples, as a share of the sequences that are drawn."""
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


@dataclasses.dataclass(frozen=True, eq=False)
class Expected:
    """A task before any data."""

    orbits: Orbits
    target: str
    """Its name."""
    method: str
    """"exact" or "sampled"."""
    model: Energy
    labels: Labels
    """Without a number of samples."""
    total: float
    """Mean square of the target, summed over outputs."""
    variance: float
    """Variance of the target, summed over outputs."""
    stderr: float
    """Standard error of the mean square in the functions of an exact kernel."""
    most: float
    """Largest number of samples that it holds for."""

    def landscape(self, width: float, n_train: float) -> Landscape:
        """The free energy at a width and number of samples."""
        return Landscape(self.model, width, self.labels._replace(n_train=n_train))

    def curve(self, n_train: np.ndarray, width: np.ndarray, *, one_width: bool = False, progress: Progress | None = None) -> AdaptiveCurve:
        """Losses at all widths and numbers of samples; with `one_width` without the axis of widths."""
        progress_of_widths = stages(progress, [1.0] * len(width))
        points = [self._points(float(one), n_train, part) for one, part in zip(width, progress_of_widths, strict=True)]
        arrays = {name: np.array([[point[name] for point in row] for row in points]) for name in points[0][0] if name != "minima"}
        arrays["learned"] /= self.total or 1.0
        most = max(len(point["minima"]) for row in points for point in row)
        minima = np.full((len(width), len(n_train), most, 3 + len(self.orbits.prior)), np.nan)
        for at in np.ndindex(minima.shape[:2]):
            here = points[at[0]][at[1]]["minima"]
            minima[at][: len(here)] = here
        arrays |= {"free_energies": minima[..., 0], "strengths": minima[..., 1], "minima_test": minima[..., 2], "minima": minima[..., 3:]}
        still = np.log(self.orbits.prior)
        infinite = [self.model.losses(still, self.labels._replace(n_train=float(n))) for n in n_train]
        return AdaptiveCurve(
            arch=self.orbits.arch,
            target=self.target,
            method=self.method,
            n_train=n_train,
            width=width,
            ridge=self.labels.ridge,
            noise=self.labels.noise,
            names=self.orbits.names,
            infinite_test=np.array([losses.test for losses in infinite]),
            infinite_train=np.array([losses.train for losses in infinite]),
            **{name: values[0] if one_width else values for name, values in arrays.items()},
        )

    def _points(self, width: float, n_train: np.ndarray, progress: Progress | None) -> list[dict[str, Any]]:
        """What is known at one width and every number of samples: numbers by name, and a row for each minimum."""
        order = np.argsort(n_train, kind="stable")
        landscapes = [self.landscape(width, float(n)) for n in n_train[order]]
        model, prior, frozen = self.model, np.log(self.orbits.prior), math.isinf(width)
        start = np.zeros(len(prior))
        minima = [[Minimum(math.nan, start)] for _ in landscapes] if frozen else follow(landscapes, progress)
        points: dict[int, dict[str, Any]] = {}
        for place, landscape, here in zip(order, landscapes, minima, strict=True):
            labels = landscape.labels
            losses = [model.losses(prior + minimum.ratios, labels) for minimum in here]
            sampled = isinstance(model, SampledKernel)
            point = losses[0]._asdict() | {"stderr": model.stderr(prior + here[0].ratios, labels) if sampled else self.stderr}
            point |= {"symmetric_slope": 0.0, "symmetric_curvature": math.inf if frozen else math.nan}
            if self.orbits.tells_apart and not frozen:
                symmetric = landscape.symmetric(start)
                start = symmetric.ratios
                point |= {"symmetric_slope": symmetric.slope, "symmetric_curvature": symmetric.curvature}
            point["minima"] = [
                [minimum.free_energy, _strength(self.orbits, minimum.ratios), loss.test, *np.exp(minimum.ratios)]
                for minimum, loss in zip(here, losses, strict=True)
            ]
            points[int(place)] = point
        return [points[place] for place in range(len(n_train))]


def expect(
    arch: Architecture,
    task: Task,
    *,
    ridge: float,
    noise: float = 0.0,
    method: str = "auto",
    sequences: int = SEQUENCES,
    seed: int = 0,
) -> Expected:
    """The theory of a task, for arguments that `adaptive_curve` explains."""
    ridge, noise = finite_number("ridge", ridge, above=0.0), finite_number("noise", noise, at_least=0.0)
    sequences = whole_number("sequences", sequences, at_least=4)
    orbits, outputs = find_orbits(arch, task, seed), task.target.outputs
    chosen = choose_method(method, orbits, task)
    if chosen == "sampled":
        model = SampledKernel(orbits, task, sequences=sequences, seed=seed)
        mean = model.values.mean(axis=0)
        unseen, label_noise, total, stderr, most = 0.0, model.label_noise, model.total, 0.0, MOST_SHARE * sequences
    else:
        model = LinearBlock(orbits, task.source)
        projected = project(model, task.target, task.source, seed=seed)
        model.target, mean = projected.coefficients, projected.mean
        unseen, label_noise, total, stderr, most = projected.unseen, projected.label_noise, projected.total, projected.stderr, math.inf
    # Random networks are as large as the target, as those of `specht.learning.networks` are.
    labels = Labels(0.0, ridge, unseen, label_noise + noise * outputs, outputs, unit=total / outputs or 1.0)
    return Expected(orbits, task.target.name, chosen, model, labels, total, max(total - float(mean @ mean), 0.0), stderr, most)


def choose_method(method: str, orbits: Orbits, task: Task) -> str:
    """ "exact" or "sampled"; an error where a method does not apply."""
    if method not in get_args(Method):
        raise unknown_choice("method", method, get_args(Method))
    reason = why_not_linear(orbits.arch, task.source) or why_too_large(orbits, task.source)
    if method == "exact" and reason is not None:
        raise InputError(f"There is no exact operator, because {reason}: take method='sampled'.")
    return method if method != "auto" else "exact" if reason is None else "sampled"


def _strength(orbits: Orbits, ratios: np.ndarray) -> float:
    """Largest variance of a position that the target reads, over that of the positions it does not: one without either."""
    reads = orbits.reads
    if not reads:
        return 1.0
    rest = [index for index in orbits.context if index not in reads]
    return float(np.exp(ratios[reads].max() - (ratios[rest[0]] if rest else 0.0)))


class SampledKernel:
    """A kernel on M sequences of a source as a function of the variances of orbits, in units of E[k] at infinite width."""

    tolerance = 1e-5  # far below what the draw of sequences leaves open
    searches = 2

    def __init__(self, orbits: Orbits, task: Task, *, sequences: int, seed: int = 0) -> None:
        import jax

        from specht.kernel import kernel_of_batches, sequences as batch_of

        arch = orbits.arch
        require_closed_form(arch)
        x = task.source.draw(np.random.default_rng([seed, 5]), sequences, arch.columns)
        self.orbits, self.values = orbits, task.target(x)
        self.label_noise = float(task.target.label_variance(x).mean())
        self.total = float(np.mean((self.values**2).sum(axis=1)))
        batch = batch_of(arch, x, None, "x")

        def gram(tokens: Any, positions: Any) -> Any:
            return kernel_of_batches(arch, batch, variances=Variances(tokens, positions, arch.s_1, arch.s_2))

        self._gram = jax.jit(gram)
        self._pull = jax.jit(lambda tokens, positions, of_gram: jax.vjp(gram, tokens, positions)[1](of_gram))
        self.unit = 1.0
        self.unit = float(np.mean(np.diagonal(self.gram(np.log(orbits.prior)))))

    def gram(self, logarithms: np.ndarray) -> np.ndarray:
        """K (M, M)."""
        import jax

        numbers = self.orbits.variances(np.exp(logarithms))
        with jax.enable_x64(True):
            return np.asarray(self._gram(numbers.tokens, numbers.positions)) / self.unit

    def energy(self, logarithms: np.ndarray, labels: Labels) -> tuple[float, np.ndarray]:
        """Free energy without the cost of moving variances, and its gradient in their logarithms."""
        import jax

        gram = self.gram(logarithms)
        m, n, outputs = len(gram), labels.n_train, labels.outputs
        eigenvalues = np.maximum(np.linalg.eigvalsh(gram), 0.0)
        kappa, rho = _find_kappa(eigenvalues, labels)
        inverse = resolvent(gram, rho)
        solved = inverse @ self.values
        noise = labels.noise
        bulk = float(np.log(eigenvalues + rho).sum()) - m * math.log(m * kappa) - rho / kappa + m
        bulk += n * math.log(n * kappa) + labels.ridge / kappa - n
        fit = float(np.vdot(self.values, solved)) + noise / kappa
        moved = (m - n) * float(np.vdot(solved, solved)) + noise / kappa**2
        stiffness = 1.0 / kappa**2 - (m - n) * float(np.sum((eigenvalues + rho) ** -2))
        of_gram = 0.5 * (outputs * inverse - (solved @ solved.T + (moved / stiffness) * (inverse @ inverse)) / labels.unit)
        numbers = self.orbits.variances(np.exp(logarithms))
        with jax.enable_x64(True):
            tokens, positions = self._pull(numbers.tokens, numbers.positions, of_gram / self.unit)
        slope = self.orbits.gather(np.asarray(tokens), np.asarray(positions))
        return 0.5 * (outputs * bulk + fit / labels.unit), slope * np.exp(logarithms)

    def losses(self, logarithms: np.ndarray, labels: Labels) -> PredictedLosses:
        """Test and train loss by theory."""
        return losses_of(self.gram(logarithms), self.values, labels)

    def stderr(self, logarithms: np.ndarray, labels: Labels) -> float:
        """Standard error of the test loss: two halves of the sequences against each other, and against the whole."""
        gram, half = self.gram(logarithms), len(self.values) // 2
        parts = [losses_of(gram[at, at], self.values[at], labels).test for at in (slice(0, half), slice(half, 2 * half))]
        whole = losses_of(gram, self.values, labels).test
        return float(np.hypot((parts[0] - parts[1]) / 2.0, np.mean(parts) - whole))


def require_closed_form(arch: Architecture) -> None:
    """Raise where the kernel has no closed form with a variance for each position."""
    if arch.depth > 1 or choose_form(arch, "nngp", of_each=True) in SAMPLED_FORMS:
        raise InputError(
            f"The kernel of {arch} has no closed form with a variance for each position: "
            "take one block with linear attention or scaling='tied'."
        )


def losses_of(gram: np.ndarray, values: np.ndarray, labels: Labels) -> PredictedLosses:
    """Losses by theory from the Gram of sequences and the target on them (M, K)."""
    m, n = len(gram), labels.n_train
    eigenvalues = np.maximum(np.linalg.eigvalsh(gram), 0.0)
    kappa, rho = _find_kappa(eigenvalues, labels)
    inverse = resolvent(gram, rho)
    solved = inverse @ values
    growth = 1.0 / (kappa**2 * float(np.sum((eigenvalues + rho) ** -2)))  # d rho / d kappa
    missed = kappa**2 * growth * float(np.vdot(solved, solved))  # sum of (1 - L)^2 w
    # sum of L^2 = sum of L - kappa sum of lambda / (lambda + kappa)^2, the last being minus the derivative of the first
    squares = m - growth
    total = n / (n - squares) * (missed + labels.noise)
    size = float(np.mean((values**2).sum(axis=1)))
    learned = size - kappa * float(np.vdot(values, solved))
    return PredictedLosses(total - labels.noise, (labels.ridge / (n * kappa)) ** 2 * total, learned, kappa)


def _find_kappa(eigenvalues: np.ndarray, labels: Labels) -> tuple[float, float]:
    """kappa and rho from the eigenvalues of the Gram."""
    m, n, ridge = len(eigenvalues), labels.n_train, labels.ridge

    def surplus(log_rho: float) -> float:
        rho = math.exp(log_rho)
        return math.log(ridge + (m - n) / float(np.sum(1.0 / (eigenvalues + rho)))) - log_rho

    low = math.log(ridge)
    high = math.log(ridge + (m - n) * (ridge + float(eigenvalues.sum())) / n + 1.0)
    while surplus(high) > 0.0:
        high += 1.0
    rho = math.exp(float(brentq(surplus, low, high, xtol=1e-14)))  # type: ignore[arg-type]
    return 1.0 / float(np.sum(1.0 / (eigenvalues + rho))), rho
