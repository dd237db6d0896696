r"""A Gaussian process whose covariance is the kernel of a transformer: prior, posterior, samples, likelihood, fitted variances.

    gp = specht.GP(specht.Architecture(vocab=4, length=16), ridge=0.1)
    posterior = gp.condition(x, y)
    mean, variance = posterior.predict(x_new)

The output of the infinitely wide network has mean zero and covariance $k$; labels are outputs plus independent noise:

$$ y = f(x) + \varepsilon, \qquad f \sim GP(0, k), \qquad \varepsilon \sim N(0, \delta) . $$

The ridge $\delta$ is the variance of that noise, in the units of the kernel itself: doubling kernel and ridge doubles all variances and
leaves the mean. With `unit="mean diagonal"` it is a multiple of the mean of k(x, x) over the samples instead, as in `specht.gp` and the
forecast. Several outputs (N, K) are independent processes with one kernel.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from specht.errors import InputError, explains_calls, unknown_choice, whole_number
from specht.learning.checks import labels, not_negative
from specht.learning.gram_source import GramSource, Inputs
from specht.learning.solvers import ByFeatures, ByGram, ByOneCall, ByProducts, Solver
from specht.memory import available_memory

if TYPE_CHECKING:
    from specht.learning.fitted_gp import FittedGP

Unit = Literal["kernel", "mean diagonal"]
Method = Literal["auto", "cholesky", "iterative"]

_GRAMS = 3
"""Matrices of the size of the Gram that Cholesky works with at most, the checks of its input included."""
_UNKNOWN_MEMORY = 4 * 2**30
"""Bytes that are taken to be free where the system does not say."""


class Prediction(NamedTuple):
    """The posterior at M new inputs."""

    mean: np.ndarray
    """(M,), or (M, K) where labels had K columns."""
    variance: np.ndarray
    """(M,), the same for every output."""


@dataclasses.dataclass(frozen=True, eq=False)
class Posterior:
    """What the samples say about the output at other inputs; made by `GP.condition`."""

    source: GramSource
    solver: Solver
    ridge: float
    """Variance of label noise, in the units of the kernel."""
    rows: int
    """Number of samples N."""
    outputs: int
    """Number of outputs K."""
    single: bool
    """Whether labels came as a vector, so that means are vectors too."""

    def __repr__(self) -> str:
        return f"Posterior({self.source!r}; {self.rows} samples, {self.outputs} outputs, ridge {self.ridge:.4g}, {self.method})"

    @property
    def method(self) -> str:
        """How it is computed, in a word or two."""
        names = {ByGram: "cholesky", ByOneCall: "cholesky", ByFeatures: "cholesky of features", ByProducts: "iterative"}
        return names[type(self.solver)]

    def predict(self, x_new: Any, mask: Any = None, *, noise: bool = False) -> Prediction:
        """Posterior mean and variance at new inputs, as a pair.

        Arguments:
            x_new: tokens (M, columns).
            mask: True for the real tokens, to pad sequences of unequal length.
            noise: False for the variance of the output f(x), True for that of a new label, which has the ridge on top.

        Where `method` is "iterative", a variance is exact up to the `tolerance` of the process times k(x, x).
        """
        mean, variance = self.solver.predict(self.source.inputs(x_new, mask, "x_new"))
        return Prediction(mean[:, 0] if self.single else mean, variance + self.ridge if noise else variance)

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


class GP:
    """A Gaussian process with the kernel of an infinitely wide network, or any other.

    Arguments:
        kernel: an Architecture, a Kernel, or any function gram(x, y=None) that returns kernel values.
        ridge: variance of label noise.
        unit: what the ridge is measured in. "kernel": in the units of the kernel itself. "mean diagonal": in multiples of the mean of
            k(x, x) over the samples. The kernel stays as it is in both.
        method: "cholesky" is exact. "iterative" uses conjugate gradients, with memory for half a Gram or less. "auto" takes Cholesky
            where it fits into memory.
        tolerance: of the iterative method: the relative residual of the mean, and the error of a variance as a share of k(x, x).
        memory: bytes that may be used; half of what is free unless given.
        seed: of the random vectors of the iterative method.

    >>> import specht
    >>> x = specht.sources.uniform(2).sample(0, 40, 4)
    >>> posterior = GP(specht.Architecture(vocab=2, length=4), ridge=0.5).condition(x, x[:, 0])
    >>> mean, variance = posterior.predict([[1, 0, 1, 0, 1], [0, 0, 1, 0, 1]])
    >>> mean.round(2), variance.round(2)
    (array([0.99, 0.01]), array([0.08, 0.1 ]))
    """

    @explains_calls
    def __init__(
        self,
        kernel: Any,
        ridge: float = 1.0,
        *,
        unit: Unit | str = "kernel",
        method: Method | str = "auto",
        tolerance: float = 1e-6,
        memory: float | None = None,
        seed: int = 0,
    ) -> None:
        self.source = GramSource(kernel)
        self.ridge = not_negative("ridge", ridge)
        if unit not in get_args(Unit):
            raise unknown_choice("unit of the ridge", unit, get_args(Unit))
        if method not in get_args(Method):
            raise unknown_choice("method", method, get_args(Method))
        if not isinstance(tolerance, float) or not 0.0 < tolerance < 1.0:
            raise InputError(f"tolerance must be a number between 0 and 1, got {tolerance!r}.")
        self.unit, self.method, self.tolerance = unit, method, tolerance
        self.memory = memory if memory is None else not_negative("memory (bytes)", memory)
        self.seed = whole_number("seed", seed, at_least=0, at_most=2**31 - 1)

    def __repr__(self) -> str:
        return f"GP({self.source!r}; ridge {self.ridge:.4g} in units of the {self.unit})"

    def condition(self, x: Any, y: Any, mask: Any = None) -> Posterior:
        """The posterior given samples.

        Arguments:
            x: tokens (N, columns).
            y: labels (N,) or (N, K).
            mask: True for the real tokens, to pad sequences of unequal length.
        """
        inputs = self.source.inputs(x, mask)
        outputs = labels(y, len(inputs))
        ridge = self.ridge * (1.0 if self.unit == "kernel" else self._mean_diagonal(inputs))
        return Posterior(self.source, self._solve(inputs, outputs, ridge), ridge, len(inputs), outputs.shape[1], np.ndim(y) == 1)

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
        progress: Callable[[int, int], None] | None = None,
    ) -> FittedGP:
        """The variances and the ridge under which the labels are most likely, by L-BFGS on one compiled function with its gradient.

        Only what the labels can tell apart is fitted. A linear block, for example, has the size of its kernel, positions relative to
        tokens, and the ridge; the result names the variances that were held. A kernel that is not an architecture's has its size
        and the ridge. The ridge is fitted in the units of the kernel.

        Arguments:
            x, y, mask: samples, as for `condition`. Labels have mean zero in the model, so subtract theirs if they do not.
            per: "token" or "position" or both: a variance for each of them instead of one for all.
            starts: how many searches to start; the first from the variances of the architecture, the others at random.
            seed: of the random starts.
            bounds: smallest and largest value by name ("tokens", "positions", "dense", "readout", "ridge"), instead of the usual
                ones: a factor of 10^4 around the architecture's, and for the ridge 10^-6 to 100 mean squared labels.
            progress: called as progress(done, total) after every start.
        """
        from specht.learning.fitted_gp import fit_gp

        return fit_gp(self, x, y, mask, per=per, starts=starts, seed=seed, bounds=bounds, progress=progress)

    def replace(self, **changes: Any) -> GP:
        """A copy with some arguments changed."""
        settings = {"kernel": self.source.kernel, "ridge": self.ridge, "unit": self.unit, "method": self.method}
        settings |= {"tolerance": self.tolerance, "memory": self.memory, "seed": self.seed}
        return GP(**(settings | changes))

    def _mean_diagonal(self, inputs: Inputs) -> float:
        mean = float(self.source.diagonal(inputs).mean())
        if not mean > 0.0:
            raise InputError(f"The kernel {self.source!r} vanishes on these inputs: raise a variance, or choose another kernel.")
        return mean

    def _solve(self, inputs: Inputs, y: np.ndarray, ridge: float) -> Solver:
        if self.method == "iterative":
            return self._by_products(inputs, y, ridge)
        if self.source.jointly:
            return ByOneCall(self.source, inputs, y, ridge)
        features = self.source.count_features(inputs) if ridge > 0.0 else None  # without noise the Gram tells whether labels agree
        if features is not None and features < len(inputs):
            return ByFeatures.solve(self.source, inputs, y, ridge)
        if self.method == "auto" and _GRAMS * 8 * len(inputs) ** 2 > self._budget():
            return self._by_products(inputs, y, ridge)
        return ByGram.solve(self.source, inputs, y, ridge)

    def _by_products(self, inputs: Inputs, y: np.ndarray, ridge: float) -> ByProducts:
        return ByProducts.solve(self.source, inputs, y, ridge, tolerance=self.tolerance, memory=self._budget(), seed=self.seed)

    def _budget(self) -> float:
        if self.memory is not None:
            return self.memory
        free = available_memory()
        return 0.5 * (_UNKNOWN_MEMORY if free is None else free)
