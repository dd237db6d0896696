"""The collapsed posterior of a finite network: against dense normal laws, finite differences, the prior, and importance sampling."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import specht
from specht.kernel.model import model_of
from specht.learning.adaptive.adapt import adapt
from specht.learning.adaptive.collapsed import Collapsed
from specht.learning.adaptive.problem import AdaptiveProblem, Widths
from specht.learning.adaptive.sampled import Chains, draws_of
from specht.learning.gp.evidence import log_evidence_of

WIDTHS = Widths(4, 5, 3, 2)
LINEAR = specht.Architecture(vocab=2, length=3)


def flips(n, length=3, seed=0):
    x = np.random.default_rng(seed).integers(0, 2, (n, length + 1))
    return x, 2.0 * x[:, 0] - 1.0


def problem(arch=LINEAR, n=6, outputs=1):
    x, y = flips(n, arch.length)
    return AdaptiveProblem.of(arch, x, y if outputs == 1 else np.column_stack([y, *x[:, 1:outputs].T]), None, 0.3, 2.0)


class TestEvidence:
    @pytest.mark.parametrize("outputs", [1, 2, 3])
    def test_is_that_of_the_dense_normal_law(self, outputs):
        rng = np.random.default_rng(outputs)
        half, other = rng.standard_normal((5, 7)), rng.standard_normal((outputs, outputs + 2))
        gram, mixing, y = half @ half.T, other @ other.T, rng.standard_normal((5, outputs))
        with jax.enable_x64(True):
            found = float(log_evidence_of(jnp.asarray(gram), jnp.asarray(mixing), jnp.asarray(y), 0.7))
        covariance = np.kron(mixing, gram) + 0.7 * np.eye(5 * outputs)
        assert found == pytest.approx(scipy.stats.multivariate_normal.logpdf(y.T.ravel(), cov=covariance), rel=1e-11)

    def test_derivatives_are_those_of_finite_differences(self):
        rng = np.random.default_rng(0)
        half, other = rng.standard_normal((4, 4)), rng.standard_normal((2, 3))
        arguments = half @ half.T, other @ other.T, rng.standard_normal((4, 2)), 0.5
        with jax.enable_x64(True):
            slopes = jax.grad(log_evidence_of, argnums=(0, 1, 2, 3))(*map(jnp.asarray, arguments))
            for which, slope in enumerate(slopes):
                shift = np.random.default_rng(which).standard_normal(np.shape(arguments[which]))
                shift = (shift + shift.T) / 2 if which < 2 else shift
                moved = [[a + sign * 1e-5 * shift if i == which else a for i, a in enumerate(arguments)] for sign in (1, -1)]
                values = [float(log_evidence_of(*map(jnp.asarray, each))) for each in moved]
                assert float(np.sum(np.asarray(slope) * shift)) == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-6)

    def test_equal_eigenvalues_have_finite_derivatives(self):
        with jax.enable_x64(True):
            slope = jax.grad(log_evidence_of, argnums=1)(jnp.eye(3), jnp.eye(2), jnp.ones((3, 2)), 0.5)
        assert np.isfinite(np.asarray(slope)).all()


EVERY_LEVEL = [("embedding", {}, 1), ("layers", {}, 1), ("layers", {}, 2), ("heads", {}, 1), ("heads", {"attention": "softmax"}, 2),
               ("heads", {"activation": "erf"}, 1), ("readout", {"activation": "relu"}, 1), ("layers", {"attention": "softmax"}, 1),
               ("embedding", {"depth": 2, "normalised": True, "activation": "erf"}, 1)]  # fmt: skip


@pytest.mark.parametrize(("level", "fields", "outputs"), EVERY_LEVEL, ids=str)
def test_gradients_of_the_log_posterior_are_those_of_finite_differences(level, fields, outputs):
    arch = LINEAR.replace(**fields)
    given, collapsed = problem(arch, outputs=outputs), Collapsed(arch, WIDTHS, level, outputs)
    with jax.enable_x64(True):
        model, data, draws = model_of(arch), given.data(), draws_of(collapsed, 0)
        flat, unravel = jax.flatten_util.ravel_pytree(collapsed.draw(jax.random.key(1)))
        value = jax.jit(lambda point: collapsed.log_posterior(model, unravel(point), data, draws))
        shift = jax.random.normal(jax.random.key(2), flat.shape)
        slope = float(jnp.vdot(jax.grad(value)(flat), shift))
        step = 1e-3
        five = [float(value(flat + k * step * shift)) for k in (-2, -1, 1, 2)]
    difference = (five[0] - 8 * five[1] + 8 * five[2] - five[3]) / (12 * step)
    assert slope == pytest.approx(difference, rel=1e-6, abs=1e-6)


def test_layers_mix_outputs_like_wishart_matrices():
    """Products of triangular factors against products of random matrices: means and variances of U."""
    collapsed = Collapsed(LINEAR, Widths(4, 6), "layers", outputs=2)
    rng, count = np.random.default_rng(0), 40000
    first, second = rng.standard_normal((count, 2, 6)), rng.standard_normal((count, 6, 6))
    rows = first / np.sqrt(6) @ second
    expected = np.einsum("nik,njk->nij", rows, rows) / 6
    factors = np.broadcast_to(np.eye(2), (count, 2, 2))
    for _ in range(2):
        triangle = np.zeros((count, 2, 2))
        triangle[:, 0, 0], triangle[:, 1, 1] = (np.sqrt(rng.chisquare(6 - i, count) / 6) for i in range(2))
        triangle[:, 1, 0] = rng.standard_normal(count) / np.sqrt(6)
        factors = factors @ triangle
    found = factors @ factors.transpose(0, 2, 1)
    for power in (1, 2):
        one, two = expected**power, found**power
        stderr = np.sqrt((one.var(axis=0) + two.var(axis=0)) / count)
        assert (np.abs(one.mean(axis=0) - two.mean(axis=0)) <= 5 * stderr + 1e-12).all()
    with jax.enable_x64(True):  # and the code multiplies such factors
        weights = collapsed.draw(jax.random.key(0))
        lower = [
            np.diag(np.exp(np.asarray(weights.scales[i]) / 2)) + np.tril(np.asarray(weights.mixtures[i]), -1) / np.sqrt(6) for i in (0, 1)
        ]
        product = lower[0] @ lower[1]
        np.testing.assert_allclose(np.asarray(collapsed.mixing(weights)), product @ product.T, rtol=1e-12)


@pytest.mark.parametrize("level", ["embedding", "layers", "heads"])
def test_without_information_chains_sample_the_prior(level):
    """Labels drowned in noise: weights have mean square one, and layers' gains the moments of a chi-squared law."""
    x, y = flips(4)
    found = adapt(LINEAR, x, y, width=WIDTHS, ridge=1e8, chains=Chains(chains=4, burn_in=100, samples=400, kept=200, level=level))
    assert 0.6 < found.acceptance <= 1.0
    order = found.order
    for values, stderr in ((order.tokens, order.tokens_stderr), (order.positions, order.positions_stderr)):
        assert (np.abs(values - 1) <= 5 * np.maximum(stderr, np.sqrt(2 / 4 / 300))).all()
    if level != "embedding":
        from specht.learning.adaptive.sampled import weights_of

        with jax.enable_x64(True):
            rows = jnp.asarray(found.kept.reshape(-1, found.kept.shape[2]))
            gains = np.exp(np.asarray(jax.vmap(lambda row: weights_of(found.collapsed, row).scales)(rows)))
        assert gains.mean() == pytest.approx(1.0, abs=0.1)
        assert gains.var() == pytest.approx(2 / 5, rel=0.25)


@pytest.mark.parametrize(
    ("level", "fields"),
    [
        pytest.param("embedding", {}, marks=pytest.mark.whole),
        ("heads", {}),
        pytest.param("heads", {"attention": "softmax", "activation": "erf"}, marks=pytest.mark.whole),
    ],
    ids=str,
)
def test_means_are_those_of_importance_sampling(level, fields):
    """Few samples, so that weights from the prior, weighed by their evidence, give the posterior mean too."""
    arch = LINEAR.replace(**fields)
    x, y = flips(5)
    new, _ = flips(6, seed=1)
    settings = Chains(chains=6, burn_in=150, samples=300, kept=150, level=level)
    found = adapt(arch, x, y, width=WIDTHS, ridge=0.5, scale=1.0, chains=settings)
    collapsed, given = found.collapsed, found.problem
    with jax.enable_x64(True):
        model, data = model_of(arch), given.data()
        batch = given.batch(new, None)

        def one(key):
            weights = collapsed.draw(key)
            if weights.strength is not None:  # exact draws, where the start of a chain need only be near
                strength = jnp.log(jax.random.chisquare(key, 2.0, weights.strength.shape) / 2.0)
                weights = weights._replace(strength=strength)
            if weights.scales is not None:
                scales = jnp.log(jax.random.chisquare(jax.random.fold_in(key, 1), 5.0, weights.scales.shape) / 5.0)
                weights = weights._replace(scales=scales)
            gain = collapsed.mixing(weights)[0, 0]
            gram = gain * collapsed.gram(model, weights, data.x, None, None)
            cross = gain * collapsed.gram(model, weights, batch, data.x, None)
            solved = jnp.linalg.solve(gram + 0.5 * jnp.eye(5), data.y[:, 0])
            evidence = -0.5 * (data.y[:, 0] @ solved + jnp.linalg.slogdet(gram + 0.5 * jnp.eye(5))[1])
            return cross @ solved, evidence

        keys = jax.random.split(jax.random.key(5), 100_000)
        means, evidence = map(np.asarray, jax.jit(lambda k: jax.lax.map(one, k, batch_size=1000))(keys))
    weight = np.exp(evidence - evidence.max())
    weight /= weight.sum()
    expected = weight @ means
    error = np.sqrt(np.square(weight) @ np.square(means - expected))
    mean, variance, stderr = found.predict(new)
    assert 1 / np.square(weight).sum() > 1000  # else the oracle would be worth nothing
    assert (np.abs(mean - expected) <= 5 * np.hypot(error, stderr)).all()
    assert stderr.max() < 0.05
    assert (variance > 0).all()
