"""How long to sample a collapsed posterior, and the chains that do it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from specht.errors import explains_calls
from specht.kernel import KernelModel
from specht.learning.adaptive.collapsed import Collapsed, Data, Weights
from specht.learning.adaptive.saddle import LocalMinimum
from specht.nn import ChainState, Schedule, begin, run
from specht.progress import Progress


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


def sample(
    posterior: LogPosterior,
    chains: Chains,
    *,
    near: LocalMinimum | None = None,
    state: ChainState | None = None,
    save: Callable[[ChainState], None] | None = None,
    progress: Progress | None = None,
) -> ChainState:
    """Run the chains to their end, from their start or from a saved state; call it where float64 is enabled.

    Arguments:
        near: a minimum of the free energy whose variances the weights begin with, instead of those of the prior.
    """
    state = begin(_start(posterior.collapsed, chains, near)) if state is None else state
    return run(posterior, state, chains, save=save, progress=progress)


def weights_of(collapsed: Collapsed, flat: Any) -> Weights:
    """Weights from a row of parameters."""
    return ravel_pytree(collapsed.draw(jax.random.key(0)))[1](flat)


def _start(collapsed: Collapsed, chains: Chains, near: LocalMinimum | None) -> np.ndarray:
    """Weights of the prior, or near a minimum (chains, parameters)."""
    keys = jax.random.split(jax.random.fold_in(jax.random.key(chains.seed), 0), chains.chains)
    drawn = [collapsed.draw(key) for key in keys]
    if near is not None:
        drawn = [_moved(weights, near) for weights in drawn]
    return np.stack([np.asarray(ravel_pytree(weights)[0]) for weights in drawn])


def _moved(weights: Weights, near: LocalMinimum) -> Weights:
    """Weights of the prior with the variances of a minimum."""
    moved = {"tokens": np.sqrt(near.tokens)[:, None] * weights.tokens}
    if weights.positions is not None:
        moved["positions"] = np.sqrt(near.positions)[:, None] * weights.positions
    if weights.scales is not None and len(near.layers):
        moved["scales"] = weights.scales + np.log(near.layers)[:, None]
    return weights._replace(**moved)
