r"""Hamiltonian Monte Carlo over the weights that a collapsed posterior keeps, several chains side by side. By BlackJAX.

The prior is standard normal, so a trajectory of length $\pi / 2$ forgets every weight that the data say nothing of. Directions that the
data fix are stiffer and set the step, which dual averaging adapts during burn-in to an acceptance of 0.8, the same for all chains. The
length of a trajectory is drawn anew each time, between a half and all of $\pi / 2$, lest it meet a period of some direction.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from specht.errors import InputError, explains_calls, whole_number
from specht.kernel.model import Model
from specht.learning.adaptive.collapsed import Collapsed, Data, Weights
from specht.symmetry.progress import Progress

_LENGTH = math.pi / 2
_ACCEPTANCE = 0.8
_CHUNK = 10
"""Trajectories between two signs of progress."""
_MOST_STEPS = 512
"""Of a trajectory."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chains:
    """How long to sample."""

    chains: int = 4
    """Independent chains, each from weights of the prior."""
    burn_in: int = 300
    """Trajectories before the first that counts."""
    samples: int = 400
    """Trajectories that count, of each chain."""
    kept: int = 100
    """Weights kept of each chain, evenly spaced, for predictions."""
    level: str | None = None
    """What is sampled: "embedding", "layers", "heads" or "readout" (`specht.learning.adaptive.collapsed`); what widths say unless given."""
    seed: int = 0
    """Of the chains, and of heads that are drawn."""
    checkpoint: Any = None
    """A file that chains are saved to as they run, and go on from where they were stopped."""

    def __post_init__(self) -> None:
        whole_number("chains", self.chains, at_least=2)
        for name in ("burn_in", "samples", "kept"):
            whole_number(name, getattr(self, name), at_least=4)
        whole_number("seed", self.seed, at_least=0, at_most=2**31 - 1)
        if self.kept > self.samples:
            raise InputError(f"kept ({self.kept}) must be at most samples ({self.samples}): lower it.")

    @property
    def kept_after(self) -> np.ndarray:
        """After which trajectories weights are kept (kept,)."""
        return self.burn_in + (np.arange(self.kept) + 1) * self.samples // self.kept


# Here, and not above the class: the checks of types that tests switch on go on top of its decorators.
explains_calls(Chains)


class State(NamedTuple):
    """Where the chains stand: all that going on needs, in arrays."""

    done: int
    """Trajectories so far."""
    position: np.ndarray
    """Weights (chains, parameters)."""
    averaging: tuple[np.ndarray, ...]
    """Of the step: log step, its average, counters."""
    kept: np.ndarray
    """(chains, kept so far, parameters)"""
    trace: np.ndarray
    """Log posterior after every trajectory (chains, done)."""
    acceptance: np.ndarray
    """Mean acceptance after every trajectory (done,)."""


def sample(
    collapsed: Collapsed,
    model: Model,
    data: Data,
    draws: Any,
    chains: Chains,
    *,
    state: State | None = None,
    save: Callable[[State], None] | None = None,
    progress: Progress | None = None,
) -> State:
    """Run the chains to their end, from their start or from a saved state; call it where float64 is enabled."""
    total = chains.burn_in + chains.samples
    state = _begin(collapsed, chains) if state is None else state
    while state.done < total:
        burning = state.done < chains.burn_in
        count = min(_CHUNK, (chains.burn_in if burning else total) - state.done)
        state = _advance(collapsed, model, data, draws, state, chains, count=count, burning=burning)
        if save is not None:
            save(state)
        if progress is not None:
            progress(state.done, total)
    return state


def weights_of(collapsed: Collapsed, flat: Any) -> Weights:
    """Weights from a row of parameters."""
    return _unravel(collapsed)(flat)


def _unravel(collapsed: Collapsed) -> Callable[[Any], Weights]:
    return ravel_pytree(collapsed.draw(jax.random.key(0)))[1]


def _begin(collapsed: Collapsed, chains: Chains) -> State:
    keys = jax.random.split(jax.random.fold_in(jax.random.key(chains.seed), 0), chains.chains)
    position = np.stack([np.asarray(ravel_pytree(collapsed.draw(key))[0]) for key in keys])
    averaging = tuple(np.asarray(number, dtype=np.float64) for number in (math.log(0.05), math.log(0.05), 1.0, 0.0, math.log(0.5)))
    empty = np.empty((chains.chains, 0))
    return State(0, position, averaging, np.empty((chains.chains, 0, position.shape[1])), empty, np.empty(0))


def _advance(
    collapsed: Collapsed,
    model: Model,
    data: Data,
    draws: Any,
    state: State,
    chains: Chains,
    *,
    count: int,
    burning: bool,
) -> State:
    key = jax.random.fold_in(jax.random.key(chains.seed), state.done + 1)
    position, averaging, path, trace, acceptance = (
        jax.tree.map(np.asarray, part)
        for part in _trajectories(collapsed, model, data, draws, state.position, state.averaging, key, count=count, burning=burning)
    )
    chosen = np.isin(np.arange(state.done + 1, state.done + count + 1), chains.kept_after)
    return State(
        state.done + count,
        position,
        averaging,
        np.concatenate([state.kept, path[chosen].transpose(1, 0, 2)], axis=1),
        np.concatenate([state.trace, trace.T], axis=1),
        np.append(state.acceptance, acceptance),
    )


@partial(jax.jit, static_argnames=("collapsed", "count", "burning"))
def _trajectories(
    collapsed: Collapsed, model: Model, data: Data, draws: Any, position, averaging, key, *, count: int, burning: bool
) -> Any:
    import blackjax
    from blackjax.optimizers.dual_averaging import DualAveragingState, dual_averaging

    unravel = _unravel(collapsed)

    def log_density(flat: jax.Array) -> jax.Array:
        value = collapsed.log_posterior(model, unravel(flat), data, draws)
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)

    kernel = blackjax.hmc.build_kernel()
    inverse_mass = jnp.ones(position.shape[1])
    _, update, _ = dual_averaging()
    states = jax.vmap(lambda flat: blackjax.hmc.init(flat, log_density))(position)

    def one(carry, key):
        states, averaging = carry
        step = jnp.exp(averaging.log_x if burning else averaging.log_x_avg)
        of_length, of_chains = jax.random.split(key)
        length = _LENGTH * jax.random.uniform(of_length, minval=0.5, maxval=1.0)
        steps = jnp.clip(jnp.ceil(length / step), 1, _MOST_STEPS).astype(jnp.int32)

        def move(key, state):
            return kernel(key, state, log_density, step, inverse_mass, steps)

        states, info = jax.vmap(move)(jax.random.split(of_chains, len(position)), states)
        rate = jnp.mean(jnp.nan_to_num(info.acceptance_rate))
        averaging = update(averaging, _ACCEPTANCE - rate) if burning else averaging
        return (states, averaging), (states.position, states.logdensity, rate)

    numbers: list[Any] = [jnp.asarray(number) for number in averaging]
    begin = DualAveragingState(*numbers)
    (states, end), (path, trace, rates) = jax.lax.scan(one, (states, begin), jax.random.split(key, count))
    return states.position, tuple(end), path, trace, rates
