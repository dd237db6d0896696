"""The posterior of a Gaussian process: what samples say about the output at other inputs, as a result that shows itself.

It holds the process and the samples, which are plain data where the kernel is that of an architecture, so it goes into a file. What
follows from them is solved once: by `GP.condition`, or after `specht.load` when it is first needed.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from specht.checks import whole_number
from specht.learning.gp.gram_source import GramSource, MaskedInputs
from specht.learning.gp.solvers import Solver
from specht.results import Result, Variable

if TYPE_CHECKING:
    from specht.learning.gp.gaussian_process import GP

ITERATIVE = "iterative"
SHOWN = 1000
"""Samples that tables and figures show at most, evenly spaced."""
SHOWN_ITERATIVE = 100
"""How many are shown where the variance at each of them takes many products with the Gram."""


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
