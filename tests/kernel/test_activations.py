"""An activation of one's own: one registration serves kernel, finite network, notation and command line."""

from __future__ import annotations

import json
import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import specht
from specht.activations import activation
from specht.commands.app import main
from specht.kernel.dual import activation_mean, dual, quadrature_dual, quadrature_mean
from specht.testing import assert_matches_samples

COVARIANCES = [(0.3, 0.7, 1.1), (-0.8, 0.9, 1.4), (0.0, 1.0, 2.0), (2.4, 2.5, 2.6), (0.5, 0.5, 0.5)]
every_covariance = pytest.mark.parametrize("covariance", COVARIANCES)


def swish(u):
    return u * jax.nn.sigmoid(u)


SWISH = specht.register_activation(specht.Activation(name="swish", phi=swish, steepest=1.1))


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def column(*numbers):
    return [jnp.array([number], dtype=jnp.float64) for number in numbers]


@every_covariance
@pytest.mark.parametrize("name", ["erf", "gelu", "sine"])
def test_quadrature_equals_closed_forms(name, covariance):
    k, q_x, q_y = column(*covariance)
    exact, computed = dual(name, k, q_x, q_y, False), quadrature_dual(activation(name).phi, k, q_x, q_y)
    for left, right in zip(exact, computed, strict=True):
        np.testing.assert_allclose(np.asarray(right), np.asarray(left), rtol=1e-9, atol=1e-12)
    mean = quadrature_mean(activation(name).phi, q_x)
    np.testing.assert_allclose(np.asarray(mean), np.asarray(activation_mean(name, q_x)), atol=1e-12)


@every_covariance
@pytest.mark.parametrize("name", ["tanh", "sine", "softplus", "swish"])
def test_duals_match_samples(name, covariance):
    k, q_x, q_y = covariance
    values, vectors = np.linalg.eigh([[q_x, k], [k, q_y]])
    u, v = (vectors * np.sqrt(np.maximum(values, 0.0))) @ np.random.default_rng(0).standard_normal((2, 200_000))
    phi = activation(name).phi
    slope = jax.vmap(jax.grad(phi))
    computed = dual(name, *column(*covariance), False)
    for exact, samples in ((computed.value, phi(u) * phi(v)), (computed.slope, slope(jnp.asarray(u)) * slope(jnp.asarray(v)))):
        samples = np.asarray(samples)
        assert_matches_samples(np.asarray(exact), np.array([samples.mean()]), np.array([samples.std() / math.sqrt(samples.size) + 1e-15]))
    samples = np.asarray(phi(u))
    stderr = np.array([samples.std() / math.sqrt(samples.size)])
    assert_matches_samples(np.asarray(activation_mean(name, column(q_x)[0])), np.array([samples.mean()]), stderr)


def test_a_silent_unit_has_the_value_at_zero():
    value, slope = dual("softplus", *column(0.0, 0.0, 0.0), False)
    np.testing.assert_allclose(np.asarray(value), math.log(2) ** 2, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(slope), 0.25, rtol=1e-12)


def test_a_registered_activation_is_a_word_of_the_notation():
    arch = specht.Architecture(vocab=3, length=4, activation="swish")
    assert specht.Architecture.parse(str(arch)) == arch
    assert specht.Architecture(vocab=3, length=4, activation=SWISH) == arch


def test_kernel_and_network_of_a_registered_activation_agree():
    """From end to end: the covariance of sampled networks is the kernel that quadrature gives."""
    arch = specht.Architecture(vocab=3, length=3, activation="swish", s_w=0.6, s_p=0.5, normalised=True)
    x = np.random.default_rng(0).integers(0, 3, (4, 4))
    limit = specht.Kernel(arch)(x)
    narrow, wide = (
        specht.nn.empirical_nngp(arch, x, size=specht.nn.Size(width, width // 4, width // 4), networks=200, seed=width)
        for width in (32, 64)
    )
    extrapolated = 2 * wide.mean - narrow.mean  # the bias falls as one over the width
    stderr = np.sqrt(4 * wide.stderr**2 + narrow.stderr**2) + 1e-5 * np.abs(limit).max()
    assert (np.abs(extrapolated - limit) <= 5 * stderr).all()
    assert np.linalg.norm(stderr) < 0.3 * np.linalg.norm(limit)


def test_the_command_line_takes_a_function_of_ones_own(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine_to_bend.py").write_text("import jax.numpy as jnp\n\ndef bend(u):\n    return jnp.tanh(2 * u)\n")
    monkeypatch.chdir(tmp_path)
    assert main(["kernel", "--activation", "mine_to_bend:bend", "--length", "4", "--n", "3", "--kind", "nngp", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "mine_to_bend:bend" in json.dumps(told["config"])


SENTENCES = {
    "An activation's name must be a lower-case word such as 'swish', got 'Swish 2'.": lambda: specht.Activation(name="Swish 2", phi=swish),
    "phi of activation 'bent' must be a function of a JAX array, got 3.": lambda: specht.Activation(name="bent", phi=3),  # pyright: ignore
    "register_activation takes a specht.Activation, got ": lambda: specht.register_activation(swish),  # pyright: ignore
    "Activation 'swish' is registered already with another function: choose another name": lambda: specht.register_activation(
        specht.Activation(name="swish", phi=jnp.tanh)
    ),
    "Unknown activation 'rleu': did you mean 'relu'?": lambda: specht.Architecture(vocab=2, length=2, activation="rleu"),
    "Module 'no_such_module' cannot be imported": lambda: specht.Architecture(vocab=2, length=2, activation="no_such_module:phi"),
}


@pytest.mark.parametrize(("sentence", "call"), SENTENCES.items())
def test_bad_activations_are_refused(sentence, call):
    with pytest.raises(specht.InputError, match=re.escape(sentence)):
        call()
