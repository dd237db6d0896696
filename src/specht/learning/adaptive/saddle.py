r"""The free energy of an adapting embedding, and its minima over one variance for each token and position.

With variances $g_i$ of the embedding vectors, priors $\Lambda_i$ and embedding width $d$ (notes on adapting kernels, level a),

$$ S(g) = \frac d2 \sum_i \Big[ \frac{g_i}{\Lambda_i} - \ln \frac{g_i}{\Lambda_i} - 1 \Big]
   + \sum_l \frac{d'}{2} [\, u_l - \ln u_l - 1 \,] - \log N(y;\, 0,\, \textstyle\prod_l u_l\, k_g + \delta) , $$

where $u_l$ is what a linear layer of width $d'$ behind attention multiplies the kernel by, for all outputs alike. Width d is the weight of
the prior: $g = \Lambda$ at infinite width, the Gaussian process. Finite width draws $g$ towards the target.

There may be several minima. The search starts from the prior, where all positions of the context have one variance, and from points with
single positions raised: those that the gradient there asks for most. A way that comes near a minimum that is known ends there.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jax.scipy.linalg import solve_triangular

from specht.architecture import Variances
from specht.errors import InputError
from specht.kernel import Kernel, kernel_of_batches
from specht.learning.adaptive.collapsed import Collapsed
from specht.learning.adaptive.problem import AdaptiveProblem, AdaptiveResult, Data, Order, Widths, singled_out
from specht.learning.gp.evidence import log_evidence
from specht.learning.gp.gaussian_process import GP, GPPrediction, Posterior
from specht.progress import Progress, report
from specht.results import Variable

_RAISED = (3.0, 10.0)
"""Factors by which single positions are raised at the start."""
_TRIED = 3
"""Positions that are raised, one after the other and then together."""
_SAME = 1e-3
"""Relative difference of variances below which two minima are one."""
_NEAR, _NEARLY = 0.2, 1.0
"""Differences of log variances and of free energies below which a way downhill has come to a minimum that is known."""
_RESTARTS = 8
_FISHER_FROM, _FISHER_ROWS = 400, 128
"""Number of samples from which the Fisher information scales the search, and of rows that it is estimated on."""
_TIGHT = {"maxiter": 1000, "ftol": 1e-13, "gtol": 1e-6, "maxcor": 20}
_STILL, _STILL_OF_MANY = 3e-6, 1e-3
"""Change of log variances, by a step of Newton's method, at which a search ends: with few samples, and with many."""
_FIRST = 2.0
"""Largest change of log variances by the first step of a search."""
_FLAT = 1e-4
"""Largest slope of the free energy, for a unit of width or a sample, that a minimum has."""
_ROUGH = {"maxiter": 400, "ftol": 1e-9, "gtol": 1e-2, "maxcor": 20}
"""Where a rough descent ends: the free energy is right to a few parts in a thousand of one, and costs a tenth."""


class LocalMinimum(NamedTuple):
    """A minimum of the free energy."""

    free_energy: float
    tokens: np.ndarray
    """Variance of each token's vector over its prior (symbols,)."""
    positions: np.ndarray
    """Variance of each column's vector over its prior (columns,); empty without positions."""
    layers: np.ndarray
    """What each linear layer of finite width multiplies the kernel by."""


@dataclasses.dataclass(frozen=True, eq=False)
class Saddle(AdaptiveResult):
    """Minima of the free energy, the lowest first; predictions are those of the Gaussian process at the lowest."""

    minima: tuple[LocalMinimum, ...]
    reached: int
    """Which of the minima the prior, where all positions are alike, leads to, downhill."""

    @property
    def lowest(self) -> LocalMinimum:
        return self.minima[0]

    @functools.cached_property
    def symmetric(self) -> LocalMinimum:
        """The best point with one variance for all positions of the context; searched when it is asked for."""
        energy = FreeEnergy(self.problem, self.widths)
        return energy.minimum(energy.minimise(energy.zeros(), together=True))

    @property
    def symmetric_is_a_minimum(self) -> bool:
        """Whether going downhill from the prior singles out no position. Data never are quite symmetric, so it moves a little."""
        return not singled_out(self.minima[self.reached].positions[: self.problem.arch.length], np.zeros(1)).any()

    @functools.cached_property
    def posterior(self) -> Posterior:
        """The Gaussian process at the lowest minimum, given the samples; in the units of its kernel."""
        problem, lowest = self.problem, self.lowest
        scale = problem.scale / float(np.prod(lowest.layers))
        process = GP(Kernel(problem.arch, variances=variances_at(problem, lowest)), ridge=problem.ridge * scale)
        return process.condition(problem.x, problem.y, problem.visible)

    def predict(self, x_new: Any, mask: Any = None) -> GPPrediction:
        """Posterior mean and variance at new inputs.

        Arguments:
            x_new: tokens (M, columns).
            mask: True for the real tokens, to pad sequences of unequal length.
        """
        mean, variance = self.posterior.predict(x_new, mask)
        scale = self.problem.scale / float(np.prod(self.lowest.layers))
        return GPPrediction(mean[:, 0] if self.problem.single else mean, variance / scale)

    def mean_square_error(self, x_new: Any, y_new: Any, mask: Any = None) -> tuple[float, float]:
        """Mean over inputs of the squared error of the mean, summed over outputs; nothing is sampled, so its error is zero."""
        mean = self.predict(x_new, mask).mean
        return float(
            np.square(mean - np.asarray(y_new, dtype=np.float64).reshape(mean.shape)).reshape(len(mean), -1).sum(axis=1).mean()
        ), 0.0

    @property
    def order(self) -> Order:
        """Variances of the vectors of tokens and positions, over their priors."""
        tokens, positions = self.lowest.tokens, self.lowest.positions
        return Order(tokens, np.zeros_like(tokens), positions, np.zeros_like(positions))

    def _summary(self) -> str:
        count = "1 minimum" if len(self.minima) == 1 else f"{len(self.minima)} minima"
        stable = "a minimum" if self.symmetric_is_a_minimum else "no minimum"
        sizes = self._sizes(hidden_counts=len(self.lowest.layers) > 0)
        return (
            f"{self.problem.arch}\n{sizes}; free energy over a variance for each token and position\n"
            f"{self.problem.describe()}\n{count}, the symmetric point is {stable}; symmetry left: {self.symmetry}"
        )

    def _variables(self) -> list[Variable]:
        return [
            *self._order_variables(),
            Variable("free_energy", "minimum", [minimum.free_energy for minimum in self.minima], "free energy of each minimum"),
            Variable("symmetric_free_energy", (), self.symmetric.free_energy, "free energy of the best symmetric point"),
            Variable("symmetric_is_a_minimum", (), self.symmetric_is_a_minimum, "whether the symmetric point leads to no broken minimum"),
        ]


def saddle(problem: AdaptiveProblem, widths: Widths, *, progress: Progress | None = None) -> Saddle:
    """All minima of the free energy that the starts lead to."""
    energy = FreeEnergy(problem, widths)
    ends = [energy.minimise(energy.zeros())]
    starts = energy.broken_starts(ends[0])
    for done, start in enumerate(starts, start=1):
        report(progress, done, len(starts) + 1)
        ends.append(energy.minimise(start, known=ends))
    report(progress, len(starts) + 1, len(starts) + 1)
    distinct = _distinct(sorted(filter(energy.is_flat, ends), key=energy.value))
    reached = int(np.argmin([np.abs(point - ends[0]).max() for point in distinct]))
    return Saddle(problem, widths, tuple(energy.minimum(point) for point in distinct), reached)


def nearest_minimum(problem: AdaptiveProblem, widths: Widths, *, rows: int | None = None) -> LocalMinimum:
    """The minimum that the prior leads to, downhill and roughly: what hundreds of data sets can afford.

    Arguments:
        rows: fill the samples up to so many, none of which counts: every number of rows is compiled once.
    """
    energy = FreeEnergy(problem, widths, rows)
    return energy.minimum(scipy.optimize.minimize(energy.value_and_gradient, energy.zeros(), jac=True, method="L-BFGS-B", options=_ROUGH).x)


class FreeEnergy:
    """S as a function of the logarithms of variances over their priors, tokens first, then columns, then layers."""

    def __init__(self, problem: AdaptiveProblem, widths: Widths, rows: int | None = None) -> None:
        self.problem, self.widths = problem, widths
        arch = problem.arch
        self.symbols, self.columns = arch.symbols, arch.columns if arch.has_positions else 0
        self.layers = Collapsed(arch, widths, "layers", problem.outputs).linear_layers
        self._remembered = functools.lru_cache(maxsize=64)(self._value_and_gradient)
        with jax.enable_x64(True):
            self._data, self._real = (problem.data(), None) if rows is None else _filled(problem.data(), rows)
            self._prior = jax.tree.map(jnp.float64, arch.variances)  # traced: one program for all numbers of a structure

    def zeros(self) -> np.ndarray:
        return np.zeros(self.symbols + self.columns + self.layers)

    @property
    def context(self) -> slice:
        """The logarithms that belong to positions of the context."""
        return slice(self.symbols, self.symbols + min(self.columns, self.problem.arch.length))

    def value_and_gradient(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        return self._remembered(point.tobytes())

    def _value_and_gradient(self, point: bytes) -> tuple[float, np.ndarray]:
        widths = float(self.widths.embedding), float(self.widths.hidden or 1)
        with jax.enable_x64(True):
            value, gradient = _value_and_gradient(
                jnp.asarray(np.frombuffer(point)), *widths, self._data, self._real, self._prior, self.problem.arch.structure, self.layers
            )
            value, gradient = float(value), np.asarray(gradient)
        return (value, gradient) if np.isfinite(value) else (np.inf, np.zeros_like(gradient))

    def value(self, point: np.ndarray) -> float:
        return self.value_and_gradient(point)[0]

    def minimise(self, start: np.ndarray, *, together: bool = False, known: Sequence[np.ndarray] = ()) -> np.ndarray:
        """The minimum that L-BFGS reaches.

        Arguments:
            together: keep one variance for all positions of the context.
            known: minima at which the search may end as soon as it comes near one of them.
        """
        tie = self._tie if together else np.eye(len(start))
        expand = tie @ np.linalg.inv(np.linalg.cholesky(tie.T @ self._stiffness(start) @ tie)).T  # steps of one in units of the curvature
        if self._has_many_rows:  # the first step has length one: it multiplies no variance by more than a few
            direction = expand.T @ self.value_and_gradient(start)[1]
            expand = expand * (_FIRST / max(_FIRST, np.abs(expand @ direction).max() / np.linalg.norm(direction)))
        still = _STILL_OF_MANY if self._has_many_rows else _STILL
        energies = [self.value(point) for point in known]

        def value_and_gradient(steps: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self.value_and_gradient(start + expand @ steps)
            return value, expand.T @ gradient

        def reached(steps: np.ndarray, value: float) -> np.ndarray | None:
            for other, energy in zip(known, energies, strict=True):
                if np.abs(start + expand @ steps - other).max() < _NEAR and abs(value - energy) < _NEARLY:
                    return other
            return None

        def settled(steps: np.ndarray) -> bool:
            """Whether Newton's method would move no variance by more than a small part of it."""
            return bool(np.abs(expand @ value_and_gradient(steps)[1]).max() < still * self.problem.rows)

        def stop(intermediate_result: scipy.optimize.OptimizeResult) -> None:
            steps, value = intermediate_result.x, intermediate_result.fun
            if settled(steps) or reached(steps, value) is not None:
                raise StopIteration

        steps = np.zeros(expand.shape[1])
        for _ in range(_RESTARTS):  # a search may give up far from a minimum, where steps are too long
            search = scipy.optimize.minimize(value_and_gradient, steps, jac=True, method="L-BFGS-B", options=_TIGHT, callback=stop)
            steps, there = search.x, reached(search.x, search.fun)
            if there is not None:
                return there
            if settled(steps):
                break
        return start + expand @ steps

    def _stiffness(self, point: np.ndarray) -> np.ndarray:
        """The curvature of the free energy where a search starts, in units of the number of samples: it scales the steps.

        With few samples only that of the prior's cost, so that a wide layer does not slow others. With many, also the Fisher information
        of the labels, estimated on some of the rows: it costs less than one step, and saves most of them.
        """
        embedding, hidden = (0.5 * float(width or 1) / self.problem.rows for width in self.widths[:2])
        cost = np.diag(np.repeat([embedding, hidden], [self.symbols + self.columns, self.layers]) * np.exp(np.maximum(point, 0.0)))
        if not self._has_many_rows:
            return cost + 0.5 * np.eye(len(cost))
        with jax.enable_x64(True):
            data = jax.tree.map(lambda part: part[:_FISHER_ROWS] if part.ndim else part, self._data)
            fisher = _fisher(jnp.asarray(point), data, self._prior, self.problem.arch.structure, self.layers)
            return cost + np.asarray(fisher) + 1e-6 * np.eye(len(cost))

    def is_flat(self, point: np.ndarray) -> bool:
        """Whether the free energy has no slope there."""
        return bool(np.abs(self.value_and_gradient(point)[1]).max() < _FLAT * max(1.0, float(self.widths.embedding), self.problem.rows))

    @property
    def _has_many_rows(self) -> bool:
        """Whether one evaluation costs so much that the curvature is worth knowing, and the last digits are not."""
        return self.problem.rows >= _FISHER_FROM

    @property
    def _tie(self) -> np.ndarray:
        """From one number for the context, and one for everything else, to all logarithms."""
        size = len(self.zeros())
        inside = np.zeros(size, dtype=bool)
        inside[self.context] = True
        if not inside.any():
            return np.eye(size)
        return np.column_stack([np.eye(size)[:, ~inside], inside.astype(np.float64)])

    def broken_starts(self, reached: np.ndarray) -> list[np.ndarray]:
        """Points with positions raised, of which there may be other minima below.

        Where the prior leads to a symmetric minimum: the position raised that lowers the free energy most, and the first few together.
        Where it leads to a broken one: that minimum with the next positions raised too.

        Arguments:
            reached: the minimum that the prior leads to.
        """
        if self.columns == 0:
            return []
        prior, variances = self.zeros(), np.exp(reached[self.context])
        by_slope = self.context.start + np.argsort(self.value_and_gradient(prior)[1][self.context])
        broken = singled_out(variances, np.zeros(1))
        if broken.any():
            start = reached.copy()
            start[[place for place in by_slope if not broken[place - self.context.start]][: _TRIED - 1]] += np.log(_RAISED[0])
            return [start]
        starts = []
        for factor in _RAISED:
            for places in (by_slope[:1], by_slope[:_TRIED]):
                start = prior.copy()
                start[places] = np.log(factor)
                starts.append(start)
        return starts

    def minimum(self, point: np.ndarray) -> LocalMinimum:
        values = np.exp(point)
        return LocalMinimum(
            self.value(point),
            values[: self.symbols],
            values[self.symbols : self.symbols + self.columns],
            values[self.symbols + self.columns :],
        )


@partial(jax.jit, static_argnames=("arch", "layers"))
def _value_and_gradient(point: Any, width: Any, hidden: Any, data: Data, real: Any, prior: Variances, arch: Any, layers: int) -> Any:
    def evidence(gram: jax.Array) -> jax.Array:
        if real is None:
            return log_evidence(gram, data.y, data.ridge)
        pairs = real[:, None] * real[None, :]
        of_filling = jnp.diag(1.0 - real) * (1.0 - data.ridge)  # so that rows that do not count have variance one
        constant = 0.5 * data.y.shape[1] * jnp.sum(1.0 - real) * math.log(2.0 * math.pi)
        return log_evidence(pairs * gram + of_filling, data.y, data.ridge) + constant

    def energy(point: jax.Array) -> jax.Array:
        embedding, gains = jnp.split(point, [len(point) - layers])
        cost = 0.5 * width * jnp.sum(jnp.exp(embedding) - embedding - 1.0) + 0.5 * hidden * jnp.sum(jnp.exp(gains) - gains - 1.0)
        return cost - evidence(_gram_at(point, data, prior, arch, layers))

    return jax.value_and_grad(energy)(point)


@partial(jax.jit, static_argnames=("arch", "layers"))
def _fisher(point: Any, data: Data, prior: Variances, arch: Any, layers: int) -> jax.Array:
    r"""Fisher information of the labels about the logarithms, for one row: $\frac{K}{2N} tr(A^{-1} \partial_i A\, A^{-1} \partial_j A)$."""
    rows, outputs = data.y.shape
    gram = partial(_gram_at, data=data, prior=prior, arch=arch, layers=layers)
    factor = jnp.linalg.cholesky(gram(point) + data.ridge * jnp.eye(rows))
    whiten = solve_triangular(factor, jnp.eye(rows), lower=True)
    whitened = (whiten @ jnp.moveaxis(jax.jacfwd(gram)(point), -1, 0) @ whiten.T).reshape(len(point), -1)
    return 0.5 * outputs / rows * whitened @ whitened.T


def _gram_at(point: jax.Array, data: Data, prior: Variances, arch: Any, layers: int) -> jax.Array:
    """The kernel of the samples at logarithms of variances over their priors and of gains of layers; `arch` is a structure."""
    embedding, gains = jnp.split(point, [len(point) - layers])
    ratio = jnp.exp(embedding)
    tokens, positions = ratio[: arch.symbols] * prior.tokens, ratio[arch.symbols :] * prior.positions
    numbers = Variances(tokens, positions if arch.has_positions else prior.positions, *prior[2:])
    gram = kernel_of_batches(arch, data.x, variances=numbers, symmetrise=False)  # the evidence reads one half of it only
    return gram * jnp.exp(jnp.sum(gains)) / data.scale


def _filled(data: Data, rows: int) -> tuple[Data, jax.Array]:
    """The samples filled up with copies of the first, without labels; and which of them count."""
    more = rows - len(data.y)
    x = jax.tree.map(lambda part: jnp.concatenate([part, jnp.repeat(part[:1], more, axis=0)]), data.x)
    y = jnp.concatenate([data.y, jnp.zeros((more, data.y.shape[1]))])
    return data._replace(x=x, y=y), jnp.concatenate([jnp.ones(len(data.y)), jnp.zeros(more)])


def variances_at(problem: AdaptiveProblem, minimum: LocalMinimum) -> Variances:
    """The variances of a kernel at a minimum, in place of those of its architecture."""
    prior = problem.arch.variances
    along = minimum.positions * np.asarray(prior.positions) if problem.arch.has_positions else prior.positions
    return Variances(minimum.tokens * np.asarray(prior.tokens), along, prior.dense, prior.readout)


def _distinct(points: list[np.ndarray]) -> list[np.ndarray]:
    kept: list[np.ndarray] = []
    for point in points:
        if not any(np.allclose(point, other, rtol=0, atol=_SAME) for other in kept):
            kept.append(point)
    if not kept:
        raise InputError("No minimum of the free energy was found: raise the ridge.")
    return kept
