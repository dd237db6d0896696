r"""Hamiltonian Monte Carlo over numbers whose prior is standard normal, with several chains. By BlackJAX.

A trajectory of length $\pi / 2$ forgets every number that the data say nothing of. Directions that the data fix are stiffer and set the
step, which dual averaging adapts during burn-in to an acceptance of 0.8, the same for all chains. The length of a trajectory is drawn
anew each time, between a half and all of $\pi / 2$, lest it meet a period of some direction.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from specht.checks import whole_number
from specht.errors import InputError
from specht.progress import Progress, report

_LENGTH = math.pi / 2
_ACCEPTANCE = 0.8
_CHUNK = 10
"""Trajectories between two signs of progress."""
_MOST_STEPS = 512
"""Most steps of a trajectory."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Schedule:
    """How long to sample."""

    chains: int = 4
    """Independent chains, each from weights of the prior."""
    burn_in: int = 300
    """Trajectories before the first that counts."""
    samples: int = 400
    """Trajectories that count, of each chain."""
    kept: int = 100
    """Weights kept of each chain, evenly spaced, for predictions."""
    seed: int = 0
    """Seed of the chains, and of heads that are drawn."""
    fewest_chains: ClassVar[int] = 2

    def __post_init__(self) -> None:
        whole_number("chains", self.chains, at_least=self.fewest_chains)
        for name in ("burn_in", "samples", "kept"):
            whole_number(name, getattr(self, name), at_least=4)
        whole_number("seed", self.seed, at_least=0, at_most=2**31 - 1)
        if self.kept > self.samples:
            raise InputError(f"kept ({self.kept}) must be at most samples ({self.samples}): lower it.")


class ChainState(NamedTuple):
    """Where the chains stand: all that going on needs, in arrays."""

    done: int
    """Trajectories so far."""
    position: np.ndarray
    """Numbers (chains, parameters)."""
    averaging: tuple[np.ndarray, ...]
    """State of the step's adaptation: log step, its average, counters."""
    kept: np.ndarray
    """(chains, kept so far, parameters)"""
    trace: np.ndarray
    """Log posterior after every trajectory (chains, done)."""
    acceptance: np.ndarray
    """Mean acceptance after every trajectory (done,)."""

    @property
    def step(self) -> float:
        """The step that adaptation arrived at."""
        return math.exp(float(self.averaging[1]))


def begin(position: np.ndarray) -> ChainState:
    """Chains that start at given numbers (chains, parameters)."""
    averaging = tuple(np.asarray(number, dtype=np.float64) for number in (math.log(0.05), math.log(0.05), 1.0, 0.0, math.log(0.5)))
    chains, parameters = position.shape
    return ChainState(0, position, averaging, np.empty((chains, 0, parameters)), np.empty((chains, 0)), np.empty(0))


def kept_after(schedule: Schedule) -> np.ndarray:
    """After which trajectories numbers are kept (kept,)."""
    return schedule.burn_in + (np.arange(schedule.kept) + 1) * schedule.samples // schedule.kept


def run(
    density: Callable[[Any], Any],
    state: ChainState,
    schedule: Schedule,
    *,
    save: Callable[[ChainState], None] | None = None,
    progress: Progress | None = None,
) -> ChainState:
    """Run the chains from a state to their end; call it where float64 is enabled.

    Arguments:
        density: log posterior of a row of numbers, an `equinox.Module`: its arrays are traced, everything else is part of the program.
        state: where the chains begin, or were stopped.
        schedule: a `Schedule`.
        save: called with every state that is reached.
    """
    total = schedule.burn_in + schedule.samples
    while state.done < total:
        burning = state.done < schedule.burn_in
        count = min(_CHUNK, (schedule.burn_in if burning else total) - state.done)
        state = _advance(density, state, schedule, count=count, burning=burning)
        if save is not None:
            save(state)
        report(progress, state.done, total)
    return state


def _advance(density: Callable[[Any], Any], state: ChainState, schedule: Schedule, *, count: int, burning: bool) -> ChainState:
    key = jax.random.fold_in(jax.random.key(schedule.seed), state.done + 1)
    position, averaging, path, trace, acceptance = (
        jax.tree.map(np.asarray, part) for part in _trajectories(density, state.position, state.averaging, key, count, burning)
    )
    chosen = np.isin(np.arange(state.done + 1, state.done + count + 1), kept_after(schedule))
    return ChainState(
        state.done + count,
        position,
        averaging,
        np.concatenate([state.kept, path[chosen].transpose(1, 0, 2)], axis=1),
        np.concatenate([state.trace, trace.T], axis=1),
        np.append(state.acceptance, acceptance),
    )


@eqx.filter_jit
def _trajectories(density: Callable[[Any], Any], position: Any, averaging: Any, key: Any, count: int, burning: bool) -> Any:
    import blackjax
    from blackjax.optimizers.dual_averaging import DualAveragingState, dual_averaging

    def log_density(flat: jax.Array) -> jax.Array:
        value = density(flat)
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)

    kernel = blackjax.hmc.build_kernel()
    inverse_mass = jnp.ones(position.shape[1])
    _, update, _ = dual_averaging()
    states = jax.lax.map(lambda flat: blackjax.hmc.init(flat, log_density), position)

    def one(carry, key):
        states, averaging = carry
        step = jnp.exp(averaging.log_x if burning else averaging.log_x_avg)
        of_length, of_chains = jax.random.split(key)
        length = _LENGTH * jax.random.uniform(of_length, minval=0.5, maxval=1.0)
        steps = jnp.clip(jnp.ceil(length / step), 1, _MOST_STEPS).astype(jnp.int32)

        def move(key_and_state):
            return kernel(*key_and_state, log_density, step, inverse_mass, steps)

        # One chain after the other: side by side, their factorisations would be batched calls of LAPACK, which wait for threads of the
        # pool that they run on. Two of them at once never end where the pool has two threads (jaxlib 0.10).
        states, info = jax.lax.map(move, (jax.random.split(of_chains, len(position)), states))
        rate = jnp.mean(jnp.nan_to_num(info.acceptance_rate))
        averaging = update(averaging, _ACCEPTANCE - rate) if burning else averaging
        return (states, averaging), (states.position, states.logdensity, rate)

    numbers: list[Any] = [jnp.asarray(number) for number in averaging]
    (states, end), (path, trace, rates) = jax.lax.scan(one, (states, DualAveragingState(*numbers)), jax.random.split(key, count))
    return states.position, tuple(end), path, trace, rates
