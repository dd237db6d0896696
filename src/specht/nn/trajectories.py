r"""Hamiltonian Monte Carlo over numbers whose prior is standard normal, with several chains. By BlackJAX.

A trajectory of length $\pi / 2$ forgets every number that the data say nothing of. Directions that the data fix are stiffer and set the
step, which dual averaging adapts during burn-in to an acceptance of 0.8, the same for all chains. The length of a trajectory is drawn
anew each time, between a half and all of $\pi / 2$, lest it meet a period of some direction.

Whole networks are sampled from their posterior like this, with the readout integrated out. Given all weights but the readout's, a
network is linear in what it has left, so labels are normal: with features $\phi$ scaled so that $k_\theta = \phi \phi^T$ is the
covariance of the output over the prior of the readout,

$$ p(\theta \mid y) \propto p(\theta)\, N(y;\, 0,\, k_\theta(X, X) + \sigma^2) . $$

Trajectories are accepted or refused, so that there is no error of the step, and they forget their start sooner than Langevin dynamics
(`specht.nn.sampling`), which samples the same law for any model. The network runs in float32, the likelihood in float64.
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
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from specht.checks import whole_number
from specht.errors import InputError, explains_calls
from specht.nn.data import check_posterior, check_posterior_model
from specht.nn.network import Network
from specht.nn.posterior import SampledPosterior
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trajectories(Schedule):
    """How long to sample."""

    chains: int = 8
    """Independent chains, each from its own random network; at least 3, for standard errors come from leaving one out."""
    burn_in: int = 150
    """Trajectories before the first that counts."""
    samples: int = 200
    """Trajectories that count, of each chain."""
    kept: int = 50
    """Networks kept of each chain, evenly spaced."""
    fewest_chains: ClassVar[int] = 3


# Here, and not above the class: the checks of types that tests switch on go on top of its decorators.
explains_calls(Trajectories)


class _Posterior(eqx.Module):
    """The log posterior of the weights of a network, its readout integrated out: a function of standard normal numbers."""

    rest: Any
    """The network without its weights."""
    variances: Any
    """Prior variance of every weight, in a tree like the weights."""
    x: Any
    y: Any
    noise: Any
    unravel: Callable[[Any], Any] = eqx.field(static=True)

    def features(self, flat: Any, x: Any) -> Float[Array, "n width"]:
        """What the readout sees, scaled so that inner products are covariances of the output."""
        weights = jax.tree.map(lambda number, variance: jnp.sqrt(variance) * number, self.unravel(flat.astype(jnp.float32)), self.variances)
        network: Network = eqx.combine(weights, self.rest)
        return network.readout.scale * math.sqrt(network.readout.variance) * network.hidden(x).astype(jnp.float64)

    def __call__(self, flat: Any) -> Array:
        features = self.features(flat, self.x)
        factor = jnp.linalg.cholesky(features @ features.T + self.noise * jnp.eye(len(features)))
        white = jax.scipy.linalg.solve_triangular(factor, self.y, lower=True)
        likelihood = -0.5 * jnp.sum(white**2) - self.y.shape[1] * jnp.sum(jnp.log(jnp.diagonal(factor)))
        return likelihood - 0.5 * jnp.sum(flat**2)


@explains_calls
def hamiltonian(
    start: Callable[[Any], Network],
    x: Any,
    y: Any,
    at: Any,
    *,
    noise: Any,
    trajectories: Trajectories | Any = Trajectories(),  # noqa: B008 -- frozen
    progress: Progress | None = None,
) -> SampledPosterior:
    """Functions of networks sampled from their posterior; arguments that are not named here are those of `langevin`.

    >>> from specht.architecture import Architecture
    >>> from specht.nn.network import Size
    >>> arch = Architecture(vocab=2, length=3)
    >>> x = np.random.default_rng(0).integers(2, size=(16, 4))
    >>> short = Trajectories(chains=3, burn_in=4, samples=4, kept=4)
    >>> hamiltonian(lambda key: Network.init(arch, Size(8, 2, 4), key=key), x, x[:, 0], x[:5], noise=1.0, trajectories=short).mean.shape
    (5, 1)

    Args:
        start: makes a random network from a key.
        trajectories: how long to sample, and the seed.
        progress: called as `progress(done, total)`, in trajectories of all chains together.
    """
    if not isinstance(trajectories, Trajectories):
        raise InputError(f"trajectories must be a Trajectories, got {type(trajectories).__name__}.")
    data, inputs, noise = check_posterior(x, y, at, noise)
    keys = jax.random.split(jax.random.key(trajectories.seed), trajectories.chains)
    models = [start(key) for key in keys]
    if not isinstance(models[0], Network):
        raise InputError(f"start must make a Network, got {type(models[0]).__name__}: sample other models with langevin.")
    check_posterior_model(models[0], data, inputs)
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        posterior, first = _posterior(models, data, noise)
        state = run(posterior, begin(first), trajectories, progress=progress)
        inside, outside = (np.asarray(part) for part in _kept_features(posterior, state.kept, jnp.asarray(inputs)))
    samples, conditional = _functions(inside, outside, np.asarray(data.y[0], dtype=np.float64), noise, trajectories.seed)
    thin = trajectories.samples // trajectories.kept
    return SampledPosterior(samples, conditional, state.step, math.nan, math.nan, trajectories.burn_in, thin)


def _posterior(models: list[Network], data: Any, noise: float) -> tuple[_Posterior, np.ndarray]:
    """The posterior, and where chains begin: the given networks as standard normal numbers (chains, parameters)."""
    # Nothing depends on the weights of the readout: without them, chains do not carry them along.
    hidden = [eqx.tree_at(lambda model: model.readout.raw, model, jnp.zeros((0, 0), jnp.float32)) for model in models]
    rest = eqx.partition(hidden[0], eqx.is_inexact_array)[1]
    variances = eqx.partition(hidden[0].prior_variances(), eqx.is_inexact_array)[0]
    flats = []
    for model in hidden:
        numbers = jax.tree.map(lambda weight, variance: weight / jnp.sqrt(variance), eqx.filter(model, eqx.is_inexact_array), variances)
        flat, unravel = ravel_pytree(numbers)
        flats.append(np.asarray(flat, dtype=np.float64))
    y = jnp.asarray(data.y[0], dtype=jnp.float64)
    return _Posterior(rest, variances, jnp.asarray(data.x[0]), y, jnp.asarray(noise), unravel), np.stack(flats)


@eqx.filter_jit
def _kept_features(posterior: _Posterior, kept: Any, at: Any) -> tuple[Array, Array]:
    """Features of every kept network at the samples and at new inputs: (chains, kept, n, width)."""
    both = jax.lax.map(lambda flat: (posterior.features(flat, posterior.x), posterior.features(flat, at)), kept.reshape(-1, kept.shape[-1]))
    return jax.tree.map(lambda part: part.reshape(*kept.shape[:2], *part.shape[1:]), both)


def _functions(inside: np.ndarray, outside: np.ndarray, y: np.ndarray, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A function drawn from each kept network with a readout of its posterior, and the mean over such readouts: (chains, kept, M, K)."""
    gram = np.einsum("csni,csmi->csnm", inside, inside) + noise * np.eye(len(y))
    cross = np.einsum("csmi,csni->csmn", outside, inside)
    rng = np.random.default_rng([seed, 1])
    # A draw of the prior, corrected by how much it and its noise miss the labels, is a draw of the posterior.
    readout = rng.standard_normal((*inside.shape[:2], inside.shape[-1], y.shape[1]))
    missed = y - inside @ readout - math.sqrt(noise) * rng.standard_normal((*inside.shape[:2], *y.shape))
    samples = outside @ readout + cross @ np.linalg.solve(gram, missed)
    conditional = cross @ np.linalg.solve(gram, np.broadcast_to(y, missed.shape))
    return samples.astype(np.float32), conditional
