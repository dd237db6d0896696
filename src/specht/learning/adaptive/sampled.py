"""The collapsed posterior, sampled: the chains, predictions with standard errors, order parameters, and whether to trust them."""

from __future__ import annotations

import dataclasses
import functools
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from specht.arrays import as_numpy
from specht.errors import explains_calls
from specht.kernel import KernelModel, Sequences, model_of
from specht.learning.adaptive.collapsed import Collapsed, Level, Weights, needs_draws
from specht.learning.adaptive.problem import AdaptiveResult, Data, Order
from specht.nn import Schedule, diagnosed, square_of_mean
from specht.results import Variable
from specht.stats import standard_error

HEADS = 256
"""Heads that are drawn once where there are infinitely many and no closed form."""
_LEVELS = {
    "embedding": "embedding sampled, all else infinitely wide",
    "layers": "embedding and linear layers sampled",
    "heads": "embedding, heads and linear layers sampled",
    "readout": "all weights but the readout sampled",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chains(Schedule):
    """How long to sample, and what."""

    level: str | None = None
    """What is sampled: "embedding", "layers", "heads" or "readout" (`specht.learning.adaptive.collapsed`). Unless given, what makes the
    result exact, or comes closest to it."""
    checkpoint: Any = None
    """A file that chains are saved to as they run, and go on from where they were stopped."""


# Here, and not above the class: the checks of types that tests switch on go on top of its decorators.
explains_calls(Chains)


class LogPosterior(eqx.Module):
    """The log posterior of what is kept, as chains take it: a function of a row of numbers."""

    collapsed: Collapsed = eqx.field(static=True)
    model: KernelModel
    data: Data
    draws: Any

    def __call__(self, flat: Any) -> jax.Array:
        return self.collapsed.log_posterior(self.model, weights_of(self.collapsed, flat), self.data, self.draws)


def weights_of(collapsed: Collapsed, flat: Any) -> Weights:
    """Weights from a row of parameters."""
    return ravel_pytree(collapsed.draw(jax.random.key(0)))[1](flat)


class SampledPrediction(NamedTuple):
    """The posterior at M new inputs."""

    mean: np.ndarray
    """(M,), or (M, K) where labels had K columns."""
    variance: np.ndarray
    """Variance of the output, without label noise; of the same shape."""
    stderr: np.ndarray
    """Standard error of the mean, from the scatter of chains; of the same shape."""


@dataclasses.dataclass(frozen=True, eq=False)
class Adapted(AdaptiveResult):
    """What a transformer of finite width learns from samples; made by `specht.adapt`."""

    level: Level
    chains: Chains
    kept: np.ndarray
    """Weights (chains, kept, parameters)."""
    trace: np.ndarray
    """Log posterior after every trajectory that counts (chains, samples)."""
    acceptance: float
    """Mean acceptance of trajectories that count."""

    @property
    def collapsed(self) -> Collapsed:
        return Collapsed(self.problem.arch, self.widths, self.level, self.problem.outputs)

    def predict(self, x_new: Any, mask: Any = None) -> SampledPrediction:
        """Posterior mean, variance and standard error at new inputs.

        Arguments:
            x_new: tokens (M, columns).
            mask: True for the real tokens, to pad sequences of unequal length.
        """
        means, variances = self._by_chain(x_new, mask)
        mean = means.mean(axis=(0, 1))
        variance = variances.mean(axis=(0, 1)) + means.var(axis=(0, 1))  # within each sample, and from sample to sample
        stderr = standard_error(means.mean(axis=1))
        parts = (part[:, 0] if self.problem.single else part for part in (mean, variance, stderr))
        return SampledPrediction(*parts)

    def mean_square_error(self, x_new: Any, y_new: Any, mask: Any = None) -> tuple[float, float]:
        """Mean over inputs of the squared error of the posterior mean, summed over outputs, and its standard error over chains.

        The noise of a mean over few chains would add to it, and is taken out.
        """
        means = self._by_chain(x_new, mask)[0].mean(axis=1)
        errors = means - as_numpy(y_new, "y_new").astype(np.float64).reshape(means.shape[1:])
        return square_of_mean(errors)

    @functools.cached_property
    def order(self) -> Order:
        """Variances of the vectors of tokens and positions, over their priors."""
        with jax.enable_x64(True):
            collapsed, (chains, kept, size) = self.collapsed, self.kept.shape
            tokens, positions = (np.asarray(part) for part in _squares(collapsed, jnp.asarray(self.kept.reshape(-1, size))))
        parts: list[np.ndarray] = []
        for values in (tokens, positions):
            by_chain = values.reshape(chains, kept, -1).mean(axis=1)
            parts += [by_chain.mean(axis=0), standard_error(by_chain)]
        return Order(*parts)

    def r_hat(self) -> float:
        """Rank-normalised split R-hat of the log posterior: close to one where chains agree. By BlackJAX."""
        return float(diagnosed("rhat", self.trace))

    def effective_samples(self) -> float:
        """Independent samples that all chains together are worth, judged by the log posterior. By BlackJAX."""
        return float(diagnosed("ess_bulk", self.trace))

    def _by_chain(self, x_new: Any, mask: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance given every kept sample: (chains, kept, M, K)."""
        collapsed, (chains, kept, size) = self.collapsed, self.kept.shape
        with jax.enable_x64(True):
            model, data, draws = model_of(self.problem.arch), self.problem.data(), draws_of(collapsed, self.chains.seed)
            batch, flat = self.problem.batch(x_new, mask, "x_new"), jnp.asarray(self.kept.reshape(-1, size))
            predictions = _predictions(collapsed, model, data, draws, batch, flat)
            mean, variance = (np.asarray(part).reshape(chains, kept, -1, self.problem.outputs) for part in predictions)
        return mean, variance

    def _summary(self) -> str:
        sizes = self._sizes(hidden_counts=self.level == "readout" or self.collapsed.linear_layers > 0)
        return (
            f"{self.problem.arch}\n{sizes}; {_LEVELS[self.level]}\n{self.problem.describe()}\n"
            f"{len(self.kept)} chains, R-hat {self.r_hat():.3f}, {self.effective_samples():.0f} effective samples\n"
            f"symmetry left: {self.symmetry}"
        )

    def _variables(self) -> list[Variable]:
        return [
            *self._order_variables(),
            Variable("r_hat", (), self.r_hat(), "rank-normalised split R-hat of the log posterior"),
            Variable("effective_samples", (), self.effective_samples(), "effective samples of all chains"),
        ]


def draws_of(collapsed: Collapsed, seed: int) -> Any:
    """Random numbers of infinitely many softmax heads, the same for a seed; None where there is a closed form."""
    if not needs_draws(collapsed.arch, collapsed.level):
        return None
    width = collapsed.widths.embedding
    return jax.random.normal(jax.random.fold_in(jax.random.key(seed), -1 % 2**31), (HEADS, width, width), dtype=jnp.float64)


@partial(jax.jit, static_argnames="collapsed")
def _predictions(collapsed: Collapsed, model: KernelModel, data: Data, draws: Any, x_new: Sequences, flat: jax.Array) -> Any:
    def one(row: jax.Array) -> tuple[jax.Array, jax.Array]:
        weights = weights_of(collapsed, row)
        own = collapsed.gram(model, weights, data.x, None, draws) / data.scale
        cross = collapsed.gram(model, weights, x_new, data.x, draws) / data.scale
        at_new = collapsed.diagonal(model, weights, x_new, draws) / data.scale
        sizes, turn = jnp.linalg.eigh(collapsed.mixing(weights))

        def output(one: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            size, labels = one
            factor = jax.scipy.linalg.cho_factor(size * own + data.ridge * jnp.eye(len(own)), lower=True)
            mean = size * cross @ jax.scipy.linalg.cho_solve(factor, labels)
            explained = jnp.sum(cross * jax.scipy.linalg.cho_solve(factor, cross.T).T, axis=1)
            return mean, size * at_new - size**2 * explained

        # One output after the other, for batched calls of LAPACK can wait for each other without end (`specht.nn.trajectories`).
        means, variances = (part.T for part in jax.lax.map(output, (sizes, (data.y @ turn).T)))
        return means @ turn.T, jnp.maximum(variances @ (turn.T**2), 0.0)

    return jax.lax.map(one, flat)


@partial(jax.jit, static_argnames="collapsed")
def _squares(collapsed: Collapsed, flat: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Mean squares of the embedding vectors of every sample, in units of the prior."""

    def one(row: jax.Array) -> tuple[jax.Array, jax.Array]:
        weights = weights_of(collapsed, row)
        positions = jnp.zeros(0) if weights.positions is None else jnp.mean(weights.positions**2, axis=1)
        return jnp.mean(weights.tokens**2, axis=1), positions

    return jax.lax.map(one, flat)
