r"""A Gaussian process whose covariance is the kernel of a transformer: prior, posterior, samples, likelihood, fitted variances.

    gp = specht.GP(specht.Architecture(vocab=4, length=16), ridge=0.1)
    posterior = gp.condition(x, y)
    mean, variance = posterior.predict(x_new)

The output of the infinitely wide network has mean zero and covariance $k$; labels are outputs plus independent noise:

$$ y = f(x) + \varepsilon, \qquad f \sim GP(0, k), \qquad \varepsilon \sim N(0, \delta) . $$

The ridge $\delta$ is the variance of that noise, in the units of the kernel itself: doubling kernel and ridge doubles all variances and
leaves the mean. With `unit="mean diagonal"` it is a multiple of the mean of k(x, x) over the samples instead, as in `specht.gp` and the
forecast. Several outputs (N, K) are independent processes with one kernel.

A posterior holds the process and the samples, which are plain data where the kernel is that of an architecture, so it goes into a file.
What follows from them is solved once: by `GP.condition`, or after `specht.load` when it is first needed.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from specht.checks import not_negative, whole_number
from specht.errors import InputError, explains_calls, unknown_choice
from specht.learning.checks import labels
from specht.learning.gp.gram_source import GramSource, KernelRecipe, MaskedInputs, recipe_of
from specht.learning.gp.solvers import ByFeatures, ByGram, ByOneCall, ByProducts, Solver
from specht.memory import available_memory
from specht.progress import Progress
from specht.results import Result, Variable

if TYPE_CHECKING:
    from specht.learning.gp.fitted_gp import FittedGP

ITERATIVE = "iterative"
SHOWN = 1000
"""Samples that tables and figures show at most, evenly spaced."""
SHOWN_ITERATIVE = 100
"""How many are shown where the variance at each of them takes many products with the Gram."""
Unit = Literal["kernel", "mean diagonal"]
Method = Literal["auto", "cholesky", "iterative"]
_METHOD_NAMES = {ByGram: "cholesky", ByOneCall: "cholesky", ByFeatures: "cholesky of features", ByProducts: ITERATIVE}
_GRAMS = 3
"""Matrices of the size of the Gram that Cholesky works with at most, the checks of its input included."""
_UNKNOWN_MEMORY = 4 * 2**30
"""Bytes that are taken to be free where the system does not say."""


@explains_calls
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class GP:
    """A Gaussian process with the kernel of an infinitely wide network, or any other.

    Arguments:
        kernel: an Architecture, a Kernel, or any function gram(x, y=None) that returns kernel values.
        ridge: variance of label noise.
        unit: what the ridge is measured in. "kernel": in the units of the kernel itself. "mean diagonal": in multiples of the mean of
            k(x, x) over the samples. The kernel stays as it is in both.
        method: "cholesky" is exact. "iterative" uses conjugate gradients, with memory for half a Gram or less. "auto" takes Cholesky
            where it fits into memory.
        tolerance: what the iterative method stops at: relative residual of the mean, and error of a variance as a share of k(x, x).
        memory: bytes that may be used; half of what is free unless given.
        seed: seed of the random vectors of the iterative method.

    >>> import specht
    >>> x = specht.sources.uniform(2).sample(0, 40, 4)
    >>> posterior = GP(specht.Architecture(vocab=2, length=4), ridge=0.5).condition(x, x[:, 0])
    >>> mean, variance = posterior.predict([[1, 0, 1, 0, 1], [0, 0, 1, 0, 1]])
    >>> mean.round(2), variance.round(2)
    (array([0.99, 0.01]), array([0.08, 0.1 ]))
    """

    kernel: Any
    ridge: float = 1.0
    _: dataclasses.KW_ONLY
    unit: Unit | str = "kernel"
    method: Method | str = "auto"
    tolerance: float = 1e-6
    memory: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        source = GramSource(self.kernel)
        vars(self)["source"] = source  # with the very kernel that was given
        checked = {"kernel": recipe_of(source.kernel) or source.kernel, "ridge": not_negative("ridge", self.ridge)}
        if self.unit not in get_args(Unit):
            raise unknown_choice("unit of the ridge", self.unit, get_args(Unit))
        if self.method not in get_args(Method):
            raise unknown_choice("method", self.method, get_args(Method))
        if not isinstance(self.tolerance, float) or not 0.0 < self.tolerance < 1.0:
            raise InputError(f"tolerance must be a number between 0 and 1, got {self.tolerance!r}.")
        checked["memory"] = self.memory if self.memory is None else not_negative("memory (bytes)", self.memory)
        checked["seed"] = whole_number("seed", self.seed, at_least=0, at_most=2**31 - 1)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @functools.cached_property
    def source(self) -> GramSource:
        """The kernel as a function: the one that was given, or one made again from its recipe where the process comes from a file."""
        return GramSource(self.kernel.build() if isinstance(self.kernel, KernelRecipe) else self.kernel)

    @property
    def name(self) -> str:
        """Name of the kernel."""
        return str(self.kernel) if isinstance(self.kernel, KernelRecipe) else repr(self.source)

    def __repr__(self) -> str:
        return f"GP({self.name}; ridge {self.ridge:.4g} in units of the {self.unit})"

    def condition(self, x: Any, y: Any, mask: Any = None) -> Posterior:
        """The posterior given samples.

        Arguments:
            x: tokens (N, columns).
            y: labels (N,) or (N, K).
            mask: True for the real tokens, to pad sequences of unequal length.
        """
        inputs = self.source.inputs(x, mask).copy()
        outputs = np.array(labels(y, len(inputs)), order="C")
        ridge = self.ridge * (1.0 if self.unit == "kernel" else self._mean_diagonal(inputs))
        solver = self.solve(inputs, outputs, ridge)
        method = _METHOD_NAMES[type(solver)]
        # Heads and method are now decided; with them written down, a posterior from a file is solved in the same way.
        settled = "iterative" if isinstance(solver, ByProducts) else "cholesky"
        gp = self.replace(kernel=self.source.pinned().kernel, ridge=ridge, unit="kernel", method=settled)
        posterior = Posterior(gp, inputs, outputs, np.ndim(y) == 1, method)
        vars(posterior)["solver"] = solver  # solved once
        return posterior

    def fit(
        self,
        x: Any,
        y: Any,
        mask: Any = None,
        *,
        per: str | Sequence[str] | None = None,
        starts: int = 4,
        seed: int = 0,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        progress: Progress | None = None,
    ) -> FittedGP:
        """The variances and the ridge under which the labels are most likely, by L-BFGS on one compiled function with its gradient.

        Only what the labels can distinguish is fitted. A linear block, for example, has the size of its kernel, positions relative to
        tokens, and the ridge; the result names the variances that were held. A kernel that is not an architecture's has its size
        and the ridge. The ridge is fitted in the units of the kernel.

        Arguments:
            x, y, mask: samples, as for `condition`. Labels have mean zero in the model, so subtract theirs if they do not.
            per: "token" or "position" or both: a variance for each of them instead of one for all.
            starts: how many searches to start; the first from the variances of the architecture, the others at random.
            seed: seed of the random starts.
            bounds: smallest and largest value by name ("tokens", "positions", "dense", "readout", "ridge"), instead of the usual
                ones: a factor of 10^4 around the architecture's, and for the ridge 10^-6 to 100 mean squared labels.
            progress: called as progress(done, total) after every start.
        """
        from specht.learning.gp.fitted_gp import fit_gp

        return fit_gp(self, x, y, mask, per=per, starts=starts, seed=seed, bounds=bounds, progress=progress)

    def replace(self, **changes: Any) -> GP:
        """A copy with some arguments changed."""
        return dataclasses.replace(self, **({"kernel": self.source.kernel} | changes))

    def refuse_to_save_functions(self, instead: str) -> None:
        """Raise where the kernel is not that of an architecture, and say what to do instead."""
        if not isinstance(self.kernel, KernelRecipe):
            raise InputError(f"The kernel {self.name} is a function or a sum or product of kernels, which no file can hold: {instead}.")

    def _mean_diagonal(self, inputs: MaskedInputs) -> float:
        mean = float(self.source.diagonal(inputs).mean())
        if not mean > 0.0:
            raise InputError(f"The kernel {self.source!r} vanishes on these inputs: raise a variance, or choose another kernel.")
        return mean

    def solve(self, inputs: MaskedInputs, y: np.ndarray, ridge: float) -> Solver:
        """What the posterior is computed from, by the way that suits kernel, size and memory."""
        if self.method == "iterative":
            return self._by_products(inputs, y, ridge)
        if self.source.jointly:
            return ByOneCall.solve(self.source, inputs, y, ridge)
        features = self.source.count_features(inputs) if ridge > 0.0 else None  # without noise the Gram tells whether labels agree
        if features is not None and features < len(inputs):
            return ByFeatures.solve(self.source, inputs, y, ridge)
        if self.method == "auto" and _GRAMS * 8 * len(inputs) ** 2 > self._budget():
            return self._by_products(inputs, y, ridge)
        return ByGram.solve(self.source, inputs, y, ridge)

    def _by_products(self, inputs: MaskedInputs, y: np.ndarray, ridge: float) -> ByProducts:
        return ByProducts.solve(self.source, inputs, y, ridge, tolerance=self.tolerance, memory=self._budget(), seed=self.seed)

    def _budget(self) -> float:
        if self.memory is not None:
            return self.memory
        free = available_memory()
        return 0.5 * (_UNKNOWN_MEMORY if free is None else free)


class GPPrediction(NamedTuple):
    """The posterior at M new inputs."""

    mean: np.ndarray
    """(M,), or (M, K) where labels had K columns."""
    variance: np.ndarray
    """(M,), the same for every output."""


class AtSamples(NamedTuple):
    """The posterior at M of the samples, evenly spaced."""

    rows: np.ndarray
    """Which samples (M,)."""
    mean: np.ndarray
    """(M, K)"""
    deviation: np.ndarray
    """Standard deviation of the output, without label noise (M,)."""


@dataclasses.dataclass(frozen=True, eq=False)
class Posterior(Result):
    """What the samples say about the output at other inputs; made by `GP.condition`."""

    gp: GP
    """The process before the samples; ridge in the units of the kernel, heads and method as they were chosen."""
    inputs: MaskedInputs
    """The samples."""
    y: np.ndarray
    """Labels (N, K)."""
    single: bool
    """Whether labels came as a vector, so that means are vectors too."""
    method: str
    """How it is computed, in a word or two."""

    @property
    def source(self) -> GramSource:
        return self.gp.source

    @property
    def ridge(self) -> float:
        """Variance of label noise, in the units of the kernel."""
        return self.gp.ridge

    @property
    def rows(self) -> int:
        """Number of samples N."""
        return len(self.y)

    @property
    def outputs(self) -> int:
        """Number of outputs K."""
        return self.y.shape[1]

    @functools.cached_property
    def solver(self) -> Solver:
        """What all answers come from: `GP.condition` puts it here, and a posterior from a file solves again when it is first asked."""
        return self.gp.solve(self.inputs, self.y, self.ridge)

    def predict(self, x_new: Any, mask: Any = None, *, noise: bool = False) -> GPPrediction:
        """Posterior mean and variance at new inputs, as a pair.

        Arguments:
            x_new: tokens (M, columns).
            mask: True for the real tokens, to pad sequences of unequal length.
            noise: False for the variance of the output f(x), True for that of a new label, which has the ridge on top.

        Where `method` is "iterative", a variance is exact up to the `tolerance` of the process times k(x, x).
        """
        mean, variance = self.solver.predict(self.source.inputs(x_new, mask, "x_new"))
        return GPPrediction(mean[:, 0] if self.single else mean, variance + self.ridge if noise else variance)

    def sample(self, x_new: Any, n: int = 1, seed: int = 0, mask: Any = None, *, noise: bool = False) -> np.ndarray:
        """Functions drawn from the posterior, at new inputs: (n, M), or (n, M, K) where labels had K columns.

        Arguments:
            x_new, mask, noise: as for `predict`.
            n: how many to draw.
            seed: the same seed draws the same functions.
        """
        n, rng = whole_number("n", n, at_least=1), np.random.default_rng(whole_number("seed", seed))
        mean, covariance = self.solver.joint(self.source.inputs(x_new, mask, "x_new"))
        if noise:
            covariance = covariance + self.ridge * np.eye(len(covariance))
        # The covariance is often singular, which an eigendecomposition survives and a Cholesky does not.
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        draws = mean + np.einsum("ij,njk->nik", root, rng.standard_normal((n, len(root), self.outputs)))
        return draws[:, :, 0] if self.single else draws

    @property
    def log_marginal_likelihood(self) -> float:
        """log N(y; 0, K + ridge), summed over outputs."""
        return self.solver.likelihood()[0]

    @property
    def log_marginal_likelihood_stderr(self) -> float:
        """Standard error of the log marginal likelihood: 0 where it is exact, that of random vectors where it is iterative."""
        return self.solver.likelihood()[1]

    @functools.cached_property
    def at_samples(self) -> AtSamples:
        """The posterior at the samples, or at some of them where they are many: what tables and figures show."""
        shown = min(self.rows, SHOWN_ITERATIVE if self.method == ITERATIVE else SHOWN)
        rows = np.linspace(0, self.rows - 1, shown).round().astype(np.int64)
        mean, variance = self.solver.at_samples(rows)
        return AtSamples(rows, mean, np.sqrt(variance))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write process and samples to a netCDF file; `specht.load` reads them again and predicts the same to the bit on one machine.

        Only kernels of architectures can be saved.
        """
        self.gp.refuse_to_save_functions("keep x, y and the ridge, and condition on them again")
        super().save(path)

    def summary(self) -> dict[str, Any]:
        """The posterior at the samples as plain values, as files and figures have them."""
        rows, mean, deviation = self.at_samples
        return {
            "kernel": self.gp.name,
            "ridge": self.ridge,
            "method": self.method,
            "samples": self.rows,
            "outputs": self.outputs,
            "sample": rows.tolist(),
            "label": self.y[rows].tolist(),
            "mean": mean.tolist(),
            "deviation": deviation.tolist(),
        }

    def _summary(self) -> str:
        outputs = "1 output" if self.outputs == 1 else f"{self.outputs} outputs"
        return f"{self.gp.name}\n{self.rows} samples, {outputs}, ridge {self.ridge:.4g}, by {self.method}"

    def _variables(self) -> list[Variable]:
        rows, mean, deviation = self.at_samples
        both, of = ("sample", "output"), "of the output at a sample, without label noise"
        variables = [
            Variable("sample", "sample", rows, "number of the sample"),
            Variable("output", "output", np.arange(self.outputs), "number of the output"),
            Variable("label", both, self.y[rows], "label", "label"),
            Variable("mean", both, mean, f"posterior mean {of}", "label"),
            Variable("deviation", "sample", deviation, f"posterior standard deviation {of}", "label"),
            Variable("ridge", (), self.ridge, "variance of label noise", "label squared"),
            Variable("samples", (), self.rows, "number of samples N", "samples"),
        ]
        if self.method != ITERATIVE:  # where it takes minutes
            meaning = "log N(y; 0, K + ridge), summed over outputs"
            variables.append(Variable("log_marginal_likelihood", (), self.log_marginal_likelihood, meaning))
        return variables
