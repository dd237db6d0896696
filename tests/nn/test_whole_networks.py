"""Networks sampled by Hamiltonian Monte Carlo: against importance sampling, Langevin dynamics, and sentences on bad input."""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from jax.flatten_util import ravel_pytree

import specht
from specht.errors import InputError
from specht.nn import Fixed, Network, Sampling, Size, Trajectories, hamiltonian, langevin
from specht.nn.trajectories import _posterior

ARCH = specht.Architecture(vocab=2, length=3, activation="erf")
SIZE, NOISE = Size(6, 2, 3), 0.5
X, NEW = (np.random.default_rng(seed).integers(0, 2, (n, 4)) for seed, n in ((0, 5), (1, 6)))
Y = 2.0 * X[:, 0] - 1.0
SHORT = Trajectories(chains=3, burn_in=6, samples=8, kept=4)


def start(key):
    return Network.init(ARCH, SIZE, key=key)


def test_means_are_those_of_random_networks_weighed_by_their_likelihood():
    """Few samples and much noise, so that enough of the networks drawn from the prior count; readouts are drawn too, not integrated out."""
    tokens = np.concatenate([X, NEW])
    params, rest = eqx.partition(start(jax.random.key(0)), eqx.is_inexact_array)
    flat, unravel = ravel_pytree(params)
    draws = np.random.default_rng(5).standard_normal((40_000, len(flat)), dtype=np.float32)  # every weight is standard normal here
    outputs = np.asarray(jax.jit(jax.vmap(lambda row: eqx.combine(unravel(row), rest)(tokens)[:, 0]))(draws), dtype=np.float64)
    weights = np.exp(-0.5 * np.square(outputs[:, : len(X)] - Y).sum(axis=1) / NOISE)
    weights /= weights.sum()
    assert 1.0 / np.square(weights).sum() > 1000
    mean = weights @ outputs[:, len(X) :]
    own = np.sqrt(np.square(weights) @ np.square(outputs[:, len(X) :] - mean))
    found = hamiltonian(start, X, Y, NEW, noise=NOISE, trajectories=Trajectories(chains=8, burn_in=50, samples=150, kept=150))
    assert (np.abs(found.mean[:, 0] - mean) <= 4.5 * np.hypot(own, found.stderr[:, 0])).all()
    assert found.stderr.max() < 0.05  # so that something was compared
    second = weights @ np.square(outputs[:, len(X) :]) - mean**2
    assert found.variance[:, 0] == pytest.approx(second, rel=0.2)


@pytest.mark.parametrize("parametrisation", ["ntk", "standard"])
def test_the_density_is_that_of_the_labels_given_the_features(parametrisation):
    """Two outputs share features; folding scales into weights changes no law."""
    y = np.column_stack([Y, 1.0 - Y])
    network = Network.init(ARCH, SIZE, key=jax.random.key(3), outputs=2, parametrisation=parametrisation)
    features = np.asarray(network.hidden(X), dtype=np.float64) * math.sqrt(ARCH.s_2 / SIZE.width)
    law = scipy.stats.multivariate_normal(cov=features @ features.T + NOISE * np.eye(len(X)))
    with jax.enable_x64(True):
        posterior, (flat,) = _posterior([network], Fixed(X, y).checked("mse"), NOISE)
        found = float(posterior(jnp.asarray(flat))) - len(X) * math.log(2.0 * math.pi)
    assert found == pytest.approx(law.logpdf(y.T).sum() - 0.5 * np.square(flat).sum(), rel=1e-5)


def test_the_same_seed_gives_the_same_numbers_and_progress_is_told():
    told: list[tuple[int, int]] = []
    first = hamiltonian(start, X, Y, NEW, noise=NOISE, trajectories=SHORT, progress=lambda *done: told.append(done))
    again = hamiltonian(start, X, Y, NEW, noise=NOISE, trajectories=SHORT)
    other = hamiltonian(start, X, Y, NEW, noise=NOISE, trajectories=Trajectories(chains=3, burn_in=6, samples=8, kept=4, seed=1))
    assert (first.samples == again.samples).all()
    assert not (first.samples == other.samples).all()
    assert told[-1] == (14, 14)


@pytest.mark.whole
@pytest.mark.runs_long
def test_langevin_dynamics_sample_the_same_law():
    one = hamiltonian(start, X, Y, NEW, noise=NOISE, trajectories=Trajectories(chains=8, burn_in=50, samples=150, kept=150))
    sampling = Sampling(chains=8, samples=60, burn_in=10.0, duration=60.0, curvature_step=0.02)
    two = langevin(start, X, Y, NEW, noise=NOISE, sampling=sampling)
    stderr = np.hypot(one.stderr, two.stderr)
    assert (np.abs(one.mean - two.mean) <= 4.5 * stderr + 0.01).all()  # steps of finite size shift one of them a little
    assert stderr.max() < 0.06


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: hamiltonian(start, X, Y, NEW, noise=0.0), "noise"),
        (lambda: hamiltonian(start, X, Y, NEW, noise=1.0, trajectories=3), "must be a Trajectories, got int"),
        (lambda: hamiltonian(lambda key: None, X, Y, NEW, noise=1.0), "must make a Network, got NoneType"),
        (lambda: hamiltonian(start, X, Y, NEW + 5, noise=1.0), "at holds token 6"),
        (lambda: Trajectories(chains=2), "chains"),
        (lambda: Trajectories(samples=5, kept=6), r"kept \(6\) must be at most samples \(5\)"),
        (lambda: Trajectories(chans=4), "did you mean 'chains'"),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


def test_stochastic_positions_have_no_posterior():
    arch = specht.Architecture(vocab=2, length=3, positions="stochastic")
    with pytest.raises(InputError, match="no posterior"):
        hamiltonian(lambda key: Network.init(arch, SIZE, key=key), X, Y, NEW, noise=1.0)
