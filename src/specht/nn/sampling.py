r"""Sampling networks from their Bayesian posterior by uncorrected Langevin dynamics.

With labels $y_n$, the loss $\mathcal L = \frac12 \sum_n |f_\theta(x_n) - y_n|^2$ and a temperature $T$ the parameters move as

$$ \theta \leftarrow \theta - \eta\, ( \gamma_\ell \theta + \nabla \mathcal L ) + \sqrt{2 \eta T}\, \xi , \qquad \xi \sim N(0, 1) . $$

For small steps $\eta$ their stationary law is $\propto \exp[ -(\gamma_\ell |\theta|^2 / 2 + \mathcal L) / T ]$. That is the posterior for
label noise of variance $\sigma^2 = T$ and a prior of variance $T / \gamma_\ell$ in layer $\ell$. So every layer has the weight decay
$\gamma_\ell = T / v_\ell$ with $v_\ell$ the variance of its weights at initialisation: $T$ itself in NTK parametrisation, and $T$ times
fan-in over variance in the standard one (view from infinity, section on training and Bayes). The loss is the *sum* over samples: with the
mean the ridge would grow with their number. As the width grows, the mean of the sampled functions tends to that of the Gaussian process.

With a momentum $\beta$ it is the velocity that is pushed, and the chains forget where they began sooner:

$$ v \leftarrow \beta v - \eta\, ( \gamma_\ell \theta + \nabla \mathcal L ) + \sqrt{2 (1 - \beta) \eta T}\, \xi , \qquad
   \theta \leftarrow \theta + v . $$

Given everything but the readout weights, the posterior mean of a `Network` is known: it is regression with the kernel of its features
$\phi$, $\phi(x) \phi(X)^T (\phi(X) \phi(X)^T + T)^{-1} y$. Averaging that instead of the sampled functions gives the same mean with far
less noise.

A direction of curvature $h$ comes out with the variance $T / h$ times $1 / (1 - \eta h / [2 (1 + \beta)])$: at $\eta h = 0.1$ and without
momentum that is 5 % too much. Weights that the data say nothing of have the least curvature, $\gamma$, and relax last: at a rate
$\eta \gamma$ a step without momentum, and $\sqrt{\eta \gamma}$, which is far more, at the best one, $\beta = (1 - \sqrt{\eta \gamma})^2$.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from specht.checks import finite_number, whole_number
from specht.errors import InputError, explains_calls
from specht.nn.data import check_posterior, check_posterior_model, in_blocks
from specht.nn.loop import Forward, call_model
from specht.nn.network import Network
from specht.nn.posterior import SampledPosterior
from specht.nn.recipe import check_outputs
from specht.progress import Progress, report

LARGEST_STEP = 0.1
"""Step times curvature above which variances are off by more than five per cent."""
_POWER_ITERATIONS = 40
_MOST_STEPS = 2e7
"""Most steps of one chain: they take days even for small networks."""
_CALL_WORK = 4e9
"""Multiplications between two signs of progress."""


class StepSizeWarning(UserWarning):
    """The step is so large that the chains do not sample the posterior."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sampling:
    """How long to sample, and in how small steps. Times are in units of the slowest relaxation, that of a weight without data."""

    chains: int = 8
    """Independent chains, each from its own random network; at least 3, for standard errors come from leaving one out."""
    samples: int = 50
    """Networks kept of each chain, evenly spaced in time."""
    burn_in: Any = 10.0
    """Relaxation times before the first."""
    duration: Any = 40.0
    """Relaxation times over which samples are taken."""
    momentum: Any = None
    """Beta: the best one unless given; zero is Langevin dynamics without inertia, which samples the same law more slowly."""
    curvature_step: Any = 0.05
    """Step times largest curvature, from which the step follows; the curvature is measured at the start and half-way through burn-in."""
    step: Any = None
    """The step itself, instead."""

    def __post_init__(self) -> None:
        whole_number("chains", self.chains, at_least=3)
        whole_number("samples", self.samples, at_least=4)
        finite_number("burn_in", self.burn_in, at_least=0.0)
        for name in ("duration", "curvature_step"):
            finite_number(name, getattr(self, name), above=0.0)
        if self.step is not None:
            finite_number("step", self.step, above=0.0)
        if self.momentum is not None:
            finite_number("momentum", self.momentum, at_least=0.0, below=1.0)


# Here, and not above the class: the checks of types that tests switch on go on top of its decorators.
explains_calls(Sampling)


@explains_calls
def langevin(
    start: Callable[[Any], Any],
    x: Any,
    y: Any,
    at: Any,
    *,
    noise: Any,
    sampling: Sampling | Any = Sampling(),  # noqa: B008 -- frozen
    seed: int = 0,
    prior: Any = None,
    forward: Forward | None = None,
    progress: Progress | None = None,
) -> SampledPosterior:
    """Functions of networks sampled from their posterior.

    >>> from specht.architecture import Architecture
    >>> from specht.nn.network import Size
    >>> arch = Architecture(vocab=2, length=3)
    >>> x = np.random.default_rng(0).integers(2, size=(16, 4))
    >>> short = Sampling(chains=3, samples=4, burn_in=0.1, duration=0.1)
    >>> langevin(lambda key: Network.init(arch, Size(8, 2, 4), key=key), x, x[:, 0], x[:5], noise=1.0, sampling=short).mean.shape
    (5, 1)

    Args:
        start: makes a random model from a key.
        x, y: the samples (n, columns) and their labels (n,) or (n, outputs).
        at: inputs (M, columns) at which the functions are kept.
        noise: variance of the labels that the posterior assumes, the ridge of the Gaussian process in the units of its kernel.
        prior: variance of every weight before any data, a number or a tree like the model; a `Network` knows its own.
        forward: from a model, inputs and a random key to outputs; calls the model unless given.
        progress: called as `progress(done, total)`, in steps of all chains.
    """
    if not isinstance(sampling, Sampling):
        raise InputError(f"sampling must be a Sampling, got {type(sampling).__name__}.")
    data, inputs, noise = check_posterior(x, y, at, noise)
    key = jax.random.key(whole_number("seed", seed, at_least=0, at_most=2**31 - 1))
    keys = [jax.random.split(jax.random.fold_in(key, chain)) for chain in range(sampling.chains)]
    models = [start(first) for first, _ in keys]
    check_posterior_model(models[0], data, inputs)
    called = forward or call_model
    check_outputs("mse", jax.eval_shape(called, models[0], jax.ShapeDtypeStruct(data.x.shape[1:], data.x.dtype), keys[0][1]).shape, data.y)
    params, rest = zip(*(eqx.partition(model, eqx.is_inexact_array) for model in models), strict=True)
    energy = _Energy(
        rest=rest[0],
        decay=_decays(models[0], params[0], prior, noise),
        temperature=jnp.float32(noise),
        x=jnp.asarray(data.x[0]),
        y=jnp.asarray(data.y[0]),
        forward=called,
        known_readout=forward is None and prior is None and isinstance(models[0], Network),
    )
    return _Walk(energy, sampling, in_blocks(inputs.astype(data.x.dtype), np.zeros((len(inputs), 1), np.float32)).x, len(inputs)).run(
        list(params), [noise_key for _, noise_key in keys], progress
    )


class _Energy(eqx.Module):
    """What the parameters feel."""

    rest: PyTree
    decay: PyTree
    temperature: Float[Array, ""]
    x: Any
    y: Any
    forward: Forward = eqx.field(static=True)
    known_readout: bool = eqx.field(static=True)
    """Whether it is a network as it came, whose mean over the readout weights is known."""

    def outputs(self, params: PyTree, x: Any) -> Float[Array, "n outputs"]:
        return self.forward(eqx.combine(params, self.rest), x, jax.random.key(0))

    def loss(self, params: PyTree) -> Float[Array, ""]:
        return 0.5 * jnp.square(self.outputs(params, self.x) - self.y).sum()

    def gradient(self, params: PyTree) -> PyTree:
        slope = jax.grad(self.loss)(params)
        return jax.tree.map(lambda g, value, decay: g + decay * value, slope, params, self.decay)


class _Chain(NamedTuple):
    """Where a chain is, and where it is going."""

    params: PyTree
    velocity: Float[Array, " numbers"]


class _Steps(NamedTuple):
    """How the chains of one posterior move."""

    step: float
    momentum: float
    burn_in: int
    thin: int


@dataclasses.dataclass(frozen=True, eq=False)
class _Walk:
    energy: _Energy
    sampling: Sampling
    blocks: np.ndarray
    """Inputs at which functions are kept, in blocks."""
    kept: int

    def run(self, params: list[PyTree], keys: list[Any], progress: Progress | None) -> SampledPosterior:
        chains = [_Chain(of_chain, jnp.zeros_like(ravel_pytree(of_chain)[0])) for of_chain in params]
        curvature = self._curvature(chains)
        first = self._steps(curvature)
        half = first.burn_in // 2
        count_steps = _step_counter(progress, len(chains) * (first.burn_in + first.thin * self.sampling.samples))
        # Random networks are flatter than fitted ones, or steeper: the step is chosen again once the chains have seen the data.
        chains = [self._go(chain, key, 0, half, first, count_steps) for chain, key in zip(chains, keys, strict=True)]
        curvature = max(curvature, self._curvature(chains))
        if not math.isfinite(curvature):
            raise self._diverged(None, first)
        steps = self._steps(curvature)
        begin = half + steps.burn_in // 2
        samples, conditional = [], []
        for number, key in enumerate(keys):
            chain = self._go(chains[number], key, half, begin, steps, count_steps)
            values, means = [], []
            for sample in range(self.sampling.samples):
                here = begin + sample * steps.thin
                chain = self._go(chain, key, here, here + steps.thin, steps, count_steps)
                function, mean = self._function(chain)
                values.append(function)
                means.append(mean)
            if not np.isfinite(values[-1]).all():
                raise self._diverged(number, steps)
            samples.append(values)
            conditional.append(means)
            chains[number] = chain
        largest = max(curvature, self._curvature(chains))
        if steps.step * largest > LARGEST_STEP * 1.0001:
            warnings.warn(
                f"Step {steps.step:.2g} times the largest curvature {largest:.3g} is {steps.step * largest:.2g}: above "
                f"{LARGEST_STEP:g} the sampled variances are several per cent too large; take a smaller step.",
                StepSizeWarning,
                stacklevel=3,
            )
        known = None if conditional[0][0] is None else np.array(conditional)
        return SampledPosterior(np.array(samples), known, steps.step, steps.momentum, largest, begin, steps.thin)

    def _function(self, chain: _Chain) -> tuple[np.ndarray, np.ndarray | None]:
        """The function of a chain where it is, and its mean over the readout weights where that is known."""
        values = np.concatenate(np.asarray(_at(self.energy, chain.params, self.blocks)))[: self.kept]
        model: Any = eqx.combine(chain.params, self.energy.rest)
        if not self.energy.known_readout or not np.isfinite(values).all():
            return values, None
        inside, outside = (np.asarray(features, dtype=np.float64) for features in _features(model, self.energy.x, self.blocks))
        outside = np.concatenate(outside)[: self.kept]
        # Regression in the space of samples: they are usually fewer than features.
        weights = np.linalg.solve(inside @ inside.T + float(self.energy.temperature) * np.eye(len(inside)), self.energy.y)
        return values, outside @ (inside.T @ weights)

    def _curvature(self, chains: list[_Chain]) -> float:
        """The largest over all chains; infinite where a chain has left all bounds."""
        curvatures = [float(_curvature(self.energy, chain.params)) for chain in chains]
        return max(curvatures) if all(map(math.isfinite, curvatures)) else math.inf

    def _steps(self, curvature: float) -> _Steps:
        if not math.isfinite(curvature):
            raise InputError("The loss of a random network is not finite: check the labels and the variances of the architecture.")
        step = self.sampling.step if self.sampling.step is not None else self.sampling.curvature_step / curvature
        slowest = min(float(rate) for rate in jax.tree.leaves(self.energy.decay))
        rate = min(1.0, step * slowest)
        momentum = (1.0 - math.sqrt(rate)) ** 2 if self.sampling.momentum is None else self.sampling.momentum
        relaxation = relaxation_steps(rate, momentum)
        thin = max(1, math.ceil(self.sampling.duration * relaxation / self.sampling.samples))
        steps = _Steps(step, momentum, math.ceil(self.sampling.burn_in * relaxation), thin)
        if steps.burn_in + steps.thin * self.sampling.samples > _MOST_STEPS:
            raise InputError(
                f"A chain would take {steps.burn_in + steps.thin * self.sampling.samples:.0e} steps, since the curvature is "
                f"{curvature / slowest:.0e} times the weight decay: raise the noise, or shorten the chains."
            )
        return steps

    def _diverged(self, chain: int | None, steps: _Steps) -> InputError:
        which = "A Langevin chain" if chain is None else f"Langevin chain {chain}"
        return InputError(
            f"{which} diverged with a step of {steps.step:.2g}: step times curvature must be well below 2, so take a "
            "smaller step, or more label noise."
        )

    def _go(self, chain: _Chain, key: Any, first: int, last: int, steps: _Steps, count_steps: Callable[[int], None]) -> _Chain:
        """Move from one step to another, with a sign of progress now and then."""
        stride = max(1, int(_CALL_WORK / (6 * chain.velocity.size * (self.energy.x.size + 8))))
        while first < last:
            end = min(last, first + stride)
            chain = _move(self.energy, chain, key, jnp.int32(first), jnp.int32(end), jnp.float32(steps.step), jnp.float32(steps.momentum))
            count_steps(end - first)
            first = end
        return chain


def relaxation_steps(rate: float, momentum: float) -> float:
    r"""Steps in which a direction with $\eta h$ = `rate` forgets a factor e: by the larger root of $z^2 - (1 + \beta - \eta h) z + \beta$.

    >>> round(relaxation_steps(1e-4, 0.0)), round(relaxation_steps(1e-4, 0.9)), round(relaxation_steps(1e-4, 0.99**2))
    (9999, 990, 99)
    """
    half = (1.0 + momentum - rate) / 2.0
    largest = half + math.sqrt(half**2 - momentum) if half**2 > momentum else math.sqrt(momentum)
    return 1.0 / -math.log(largest) if largest > 0.0 else 1.0


@eqx.filter_jit
def _move(energy: _Energy, chain: _Chain, key: Any, first: Any, last: Any, step: Any, momentum: Any) -> _Chain:
    flat, unravel = ravel_pytree(chain.params)
    size = jnp.sqrt(2 * (1 - momentum) * step * energy.temperature)

    def one(t: Any, state: Any) -> Any:
        flat, velocity = state
        slope, _ = ravel_pytree(energy.gradient(unravel(flat)))
        kick = size * jax.random.normal(jax.random.fold_in(key, t), flat.shape, flat.dtype)
        velocity = momentum * velocity - step * slope + kick
        return flat + velocity, velocity

    flat, velocity = jax.lax.fori_loop(first, last, one, (flat, chain.velocity))
    return _Chain(unravel(flat), velocity)


@eqx.filter_jit
def _at(energy: _Energy, params: PyTree, blocks: Any) -> Any:
    return jax.lax.map(lambda block: energy.outputs(params, block), blocks)


@eqx.filter_jit
def _features(network: Network, x: Any, blocks: Any) -> tuple[Any, Any]:
    """Features whose inner products are the covariance of the output over the prior of the readout, at samples and elsewhere."""
    size = network.readout.scale * math.sqrt(network.readout.variance)

    def features(tokens: Any) -> Any:
        return size * network.hidden(tokens)

    return features(x), jax.lax.map(features, blocks)


@eqx.filter_jit
def _curvature(energy: _Energy, params: PyTree) -> Float[Array, ""]:
    """The largest curvature in size, by power iteration with Hessian-vector products."""
    flat, unravel = ravel_pytree(params)

    def times_hessian(vector: Float[Array, " numbers"]) -> Float[Array, " numbers"]:
        return jax.jvp(lambda point: ravel_pytree(energy.gradient(unravel(point)))[0], (flat,), (vector,))[1]

    def iterate(_: Any, vector: Float[Array, " numbers"]) -> Float[Array, " numbers"]:
        image = times_hessian(vector)
        return image / jnp.linalg.norm(image)

    begin = jax.random.normal(jax.random.key(0), flat.shape, flat.dtype)
    vector = jax.lax.fori_loop(0, _POWER_ITERATIONS, iterate, begin / jnp.linalg.norm(begin))
    return jnp.linalg.norm(times_hessian(vector))


def _decays(model: Any, params: PyTree, prior: Any, noise: float) -> PyTree:
    """Weight decay of every array: temperature over prior variance."""
    if prior is None and not isinstance(model, Network):
        raise InputError(f"prior is needed for a model of type {type(model).__name__}: give the variance of its weights before any data.")
    variances = model.prior_variances() if prior is None else prior
    tree = variances if jax.tree.structure(variances) == jax.tree.structure(params) else jax.tree.map(lambda _: variances, params)
    for variance in jax.tree.leaves(tree):
        finite_number("prior (one variance, or a tree of them like the model)", variance, above=0.0)
    return jax.tree.map(lambda variance: jnp.asarray(noise / float(variance), jnp.float32), tree)


def _step_counter(progress: Progress | None, total: int) -> Callable[[int], None]:
    """A function that adds up steps and reports them; the total is an estimate, because the step may change on the way."""
    done = 0

    def count_steps(steps: int) -> None:
        nonlocal done
        done += steps
        report(progress, min(done, total), total)

    return count_steps
