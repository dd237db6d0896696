"""What networks sampled from a posterior say: means with standard errors, losses, and whether the chains can be trusted."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import numpy as np
from jaxtyping import Float32, Float64

from specht.arrays import as_numpy
from specht.results import Result, Variable
from specht.stats import standard_error


@dataclasses.dataclass(frozen=True, eq=False)
class SampledPosterior(Result):
    """Functions sampled from the posterior, at M inputs with K outputs."""

    samples: Float32[np.ndarray, "chains samples M K"]
    """The sampled functions."""
    conditional: Float64[np.ndarray, "chains samples M K"] | None
    """Mean over the readout weights given everything else, at each sample; None for a model that is no `Network`."""
    step: float
    momentum: float
    curvature: float
    """Largest curvature met: at the start, half-way through burn-in, or at the end."""
    burn_in: int
    """Steps before the first sample."""
    thin: int
    """Steps from one sample to the next."""

    @property
    def chain_means(self) -> Float64[np.ndarray, "chains M K"]:
        """Mean of each chain; the average over readout weights is exact where that can be done."""
        return (self.samples if self.conditional is None else self.conditional).astype(np.float64).mean(axis=1)

    @property
    def mean(self) -> Float64[np.ndarray, "M K"]:
        return self.chain_means.mean(axis=0)

    @property
    def stderr(self) -> Float64[np.ndarray, "M K"]:
        """Standard error of the mean, from the scatter of independent chains."""
        return standard_error(self.chain_means)

    @property
    def variance(self) -> Float64[np.ndarray, "M K"]:
        """Variance of the sampled functions."""
        return self.samples.astype(np.float64).var(axis=(0, 1), ddof=1)

    def at(self, part: slice) -> SampledPosterior:
        """Keep some of the inputs only."""
        conditional = None if self.conditional is None else self.conditional[:, :, part]
        return dataclasses.replace(self, samples=self.samples[:, :, part], conditional=conditional)

    def sampled_only(self) -> SampledPosterior:
        """Forget what is known of the readout, so that means are those of the sampled functions."""
        return dataclasses.replace(self, conditional=None)

    def mean_square_error(self, y: Any) -> tuple[float, float]:
        """Mean over inputs of the squared error of the posterior mean, summed over outputs, and its standard error over chains.

        The noise of a mean over few chains would add to it, and is taken out.
        """
        errors = self.chain_means - as_numpy(y, "y").astype(np.float64).reshape(self.mean.shape)
        return square_of_mean(errors)

    def r_hat(self) -> Float64[np.ndarray, "M K"]:
        """Rank-normalised split R-hat of every output: close to one where chains agree. By BlackJAX."""
        return diagnosed("rhat", self.samples)

    def effective_samples(self) -> Float64[np.ndarray, "M K"]:
        """Independent samples that all chains together are worth, for every output. By BlackJAX."""
        return diagnosed("ess_bulk", self.samples)

    def summary(self) -> dict[str, Any]:
        """Means and variances as plain values, as files and figures have them."""
        return {
            "chains": len(self.samples),
            "samples": self.samples.shape[1],
            "step": float(self.step),
            "momentum": float(self.momentum),
            "curvature": float(self.curvature),
            "burn_in": int(self.burn_in),
            "thin": int(self.thin),
            "mean": self.mean.tolist(),
            "stderr": self.stderr.tolist(),
            "deviation": np.sqrt(self.variance).tolist(),
        }

    def _summary(self) -> str:
        chains, samples, inputs, outputs = self.samples.shape
        steps = f"step {self.step:.3g}, {self.burn_in} steps before the first sample, {self.thin} from one to the next"
        return f"{chains} chains of {samples} samples at {inputs} inputs, {outputs} output{'s' * (outputs != 1)}\n{steps}"

    def _variables(self) -> list[Variable]:
        (_, _, inputs, outputs), both = self.samples.shape, ("input", "output")
        deviation = np.sqrt(self.variance)
        return [
            Variable("input", "input", np.arange(inputs), "number of the input"),
            Variable("output", "output", np.arange(outputs), "number of the output"),
            Variable("mean", both, self.mean, "posterior mean", "label"),
            Variable("stderr", both, self.stderr, "standard error of the posterior mean, over chains", "label"),
            Variable("deviation", both, deviation, "posterior standard deviation, over all samples", "label"),
            Variable("chains", (), len(self.samples), "independent chains"),
            Variable("samples", (), self.samples.shape[1], "samples of each chain"),
        ]


def square_of_mean(errors: np.ndarray) -> tuple[float, float]:
    """The squared error of the mean over chains (chains, M, K), less what its own noise adds, and its standard error by leaving one out."""
    chains = len(errors)
    left_out = np.array([_unbiased_square(np.delete(errors, chain, axis=0)) for chain in range(chains)])
    return _unbiased_square(errors), math.sqrt((chains - 1) / chains * float(np.square(left_out - left_out.mean()).sum()))


def _unbiased_square(errors: np.ndarray) -> float:
    own = errors.var(axis=0, ddof=1) / len(errors)
    return float((np.square(errors.mean(axis=0)) - own).sum(axis=-1).mean())


def diagnosed(what: str, samples: np.ndarray) -> np.ndarray:
    """A diagnostic of BlackJAX for every quantity of chains (chains, samples, ...)."""
    from blackjax import diagnostics

    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        diagnostic = getattr(diagnostics, what)(samples)
    return np.asarray(diagnostic, dtype=np.float64).reshape(samples.shape[2:])  # axes of length one are squeezed there
