"""Langevin dynamics where the posterior is known, and where it is that of a Gaussian process."""

from __future__ import annotations

import functools
import math
import warnings

import jax
import numpy as np
import pytest
from linear_model import linear, problem
from toy_results import assert_comes_back, assert_shows_itself

from specht.architecture import Architecture
from specht.errors import InputError
from specht.nn.network import Network, Size
from specht.nn.posterior import SampledPosterior
from specht.nn.sampling import Sampling, StepSizeWarning, _decays, langevin

PRIOR, NOISE = 0.5, 2.0


def exact_posterior(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of f(at) for a linear model with Gaussian weights: textbook Bayesian regression."""
    precision = x.T @ x / NOISE + np.eye(x.shape[1]) / PRIOR
    mean = np.linalg.solve(precision, x.T @ y / NOISE)
    return at @ mean, np.einsum("mi,ij,mj->m", at, np.linalg.inv(precision), at)[:, None]


def test_a_linear_gaussian_posterior():
    """Mean and variance within three standard errors, which come from 16 independent chains."""
    x, y = problem(n=10, columns=2)
    at = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])
    sampling = Sampling(chains=16, samples=100, burn_in=5.0, duration=100.0, curvature_step=0.02)
    found = langevin(linear(2), x, y, at, noise=NOISE, prior=PRIOR, sampling=sampling)
    mean, variance = exact_posterior(x.astype(float), y.astype(float), at)
    assert (np.abs(found.mean - mean) <= 3.0 * found.stderr).all()
    assert found.stderr.max() < 0.05 * math.sqrt(variance.max())
    by_chain = np.square(found.samples.astype(float) - mean).mean(axis=1)
    stderr = by_chain.std(axis=0, ddof=1) / 4.0
    assert (np.abs(by_chain.mean(axis=0) - variance) <= 3.0 * stderr + 0.01 * variance).all()  # 1 %: the step of 0.02
    assert (stderr < 0.06 * variance).all()


@pytest.mark.parametrize("momentum", [0.0, 0.7])
def test_large_steps_widen_the_posterior_as_they_should(momentum):
    """A direction of curvature h has the variance T / [h (1 - step h / 2 (1 + beta))]: exact for a quadratic energy, at any step."""
    x, y = np.eye(1, dtype=np.float32) * 2.0, np.zeros((1, 1), np.float32)
    curvature = 4.0 + NOISE / PRIOR
    step = (1.0 + momentum) / curvature
    sampling = Sampling(chains=8, samples=200, burn_in=20.0, duration=3000.0, step=step, momentum=momentum)
    with pytest.warns(StepSizeWarning, match=f"is {1.0 + momentum:g}: above"):
        found = langevin(linear(1), x, y, np.ones((1, 1)), noise=NOISE, prior=PRIOR, sampling=sampling)
    assert found.curvature == pytest.approx(curvature, rel=1e-4)
    by_chain = np.square(found.samples.astype(float)).mean(axis=(1, 2, 3))
    expected = NOISE / (curvature * (1.0 - step * curvature / (2.0 * (1.0 + momentum))))
    assert abs(by_chain.mean() - expected) <= 3.0 * by_chain.std(ddof=1) / math.sqrt(8)
    assert expected > 1.9 * NOISE / curvature  # so that the limit of small steps is excluded


def test_a_step_beyond_stability_gets_a_sentence():
    x, y = problem()
    with pytest.raises(InputError, match="diverged with a step of 1:"):
        langevin(
            linear(3), x, y, x, noise=NOISE, prior=PRIOR, sampling=Sampling(chains=3, samples=100, duration=1000.0, step=1.0, momentum=0.9)
        )


ARCH = Architecture(vocab=2, length=3, activation="erf", s_w=0.7)


def tokens(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(2, size=(n, ARCH.columns))


def test_both_parametrisations_have_one_posterior():
    """Weight decay by layer is what makes the standard one sample the same functions: the energy of every function is the same."""
    x, energies = tokens(4), {}
    for name in ("ntk", "standard"):
        network = Network.init(ARCH, Size(16, 4, 4), key=jax.random.key(0), parametrisation=name)
        decays = _decays(network, network, None, noise=0.3)
        pulled = sum(
            float(decay) * float(np.square(raw).sum()) for decay, raw in zip(*map(jax.tree.leaves, (decays, network)), strict=True)
        )
        energies[name] = np.array([pulled, *np.asarray(network(x))[:, 0]])
    np.testing.assert_allclose(energies["ntk"], energies["standard"], rtol=1e-4)
    assert energies["ntk"][0] == pytest.approx(0.3 * sum(leaf.size for leaf in jax.tree.leaves(network)), rel=0.1)


@pytest.mark.whole  # the ordinary check has networks near their Gaussian process, by the same means
@pytest.mark.runs_long
def test_the_mean_over_the_readout_is_that_of_the_functions_with_less_noise():
    x, at = tokens(6), tokens(5, seed=1)
    sampling = Sampling(chains=8, samples=40, burn_in=10.0, duration=60.0)
    start = functools.partial(_network, Size(8, 4, 4))
    found = langevin(start, x, 1.0 + x[:, 0], at, noise=1.0, sampling=sampling)
    plain = found.sampled_only()
    assert (np.abs(found.mean - plain.mean) <= 4.0 * np.hypot(found.stderr, plain.stderr)).all()
    assert np.median(found.stderr / plain.stderr) < 0.8
    assert np.abs(found.mean).min() > 10.0 * found.stderr.max()  # so that something was compared


def test_what_is_known_of_the_readout_is_left_out_where_it_does_not_hold():
    """Another prior or another way to call the network has another mean over the readout."""
    x, short = tokens(4), Sampling(chains=3, samples=4, burn_in=1.0, duration=1.0)
    start = functools.partial(_network, Size(8, 4, 4))
    assert langevin(start, x, x[:, 0], x, noise=1.0, sampling=short).conditional is not None
    assert langevin(start, x, x[:, 0], x, noise=1.0, sampling=short, prior=0.5).conditional is None
    assert langevin(start, x, x[:, 0], x, noise=1.0, sampling=short, forward=lambda m, x, key: 2.0 * m(x)).conditional is None


def _network(size, key):
    return Network.init(ARCH, size, key=key)


def test_prior_variances_are_those_of_the_weights():
    for name, expected in (("ntk", 1.0), ("standard", 1.0 / 64)):
        network = Network.init(ARCH, Size(64, 8, 8), key=jax.random.key(0), parametrisation=name)
        variances = network.prior_variances()
        assert float(variances.blocks[0].query.raw) == pytest.approx(expected)
        for weight, variance in zip(jax.tree.leaves(network), jax.tree.leaves(variances), strict=True):
            spread = float(np.square(np.asarray(weight)).mean() / np.asarray(variance))
            assert abs(spread - 1.0) <= 5.0 * math.sqrt(2.0 / weight.size)


def fake(samples: np.ndarray) -> SampledPosterior:
    return SampledPosterior(samples.astype(np.float32), None, step=0.1, momentum=0.9, curvature=1.0, burn_in=0, thin=1)


def test_a_sampled_posterior_shows_itself_and_comes_back(tmp_path):
    posterior = fake(np.random.default_rng(0).standard_normal((4, 5, 3, 2)))
    assert_shows_itself(posterior)
    assert_comes_back(posterior, tmp_path)
    table = posterior.to_dataframe()
    assert list(table.columns) == ["input", "output", "mean", "stderr", "deviation"]
    assert table["mean"].tolist() == posterior.mean.ravel().tolist()
    drawn = posterior.plot().to_dict()["data"]
    assert [trace["name"] for trace in drawn] == ["output 0", "output 1"]
    np.testing.assert_array_equal(drawn[1]["error_y"]["array"], 2.0 * np.sqrt(posterior.variance[:, 1]))


def test_diagnostics_tell_good_chains_from_bad_ones():
    rng = np.random.default_rng(0)
    independent = fake(rng.standard_normal((4, 500, 2, 1)))
    assert np.abs(independent.r_hat() - 1.0).max() < 0.02
    assert (np.abs(independent.effective_samples() / 2000 - 1.0) < 0.25).all()
    slow = np.cumsum(rng.standard_normal((4, 500, 2, 1)), axis=1)
    assert fake(slow).r_hat().min() > 1.1
    assert fake(slow).effective_samples().max() < 50


def test_the_loss_of_the_mean_has_no_bias_from_few_chains():
    """Repeated with fresh chains, its average is the loss of the true mean, and its error is the scatter."""
    rng = np.random.default_rng(1)
    truth, target = rng.standard_normal((30, 1)), np.zeros((30, 1))
    found = [
        fake(truth + rng.standard_normal((8, 1, 1, 1)) + rng.standard_normal((8, 5, 30, 1))).mean_square_error(target) for _ in range(400)
    ]
    values, errors = np.array(found).T
    assert abs(values.mean() - np.square(truth).mean()) <= 4.0 * values.std() / 20.0
    assert 0.8 < np.sqrt(np.square(errors).mean()) / values.std() < 1.6  # the jackknife is on the safe side


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"noise": 0.0}, r"noise .* above 0"),
        ({"y": np.full(12, np.nan)}, "holds nan"),
        ({"at": np.zeros((2, 5))}, "at must be inputs with 3 columns"),
        ({"prior": None}, "prior is needed"),
        ({"prior": -1.0}, r"prior .* above 0"),
        ({"x": np.zeros((0, 3))}, "empty"),
        ({"y": np.zeros((12, 2))}, "1 outputs and labels have 2 columns"),
        ({"noise": "1"}, r"noise .* above 0"),
        ({"at": np.full((2, 3), np.nan)}, "at holds NaN"),
    ],
)
def test_bad_input_gets_a_sentence(change, sentence):
    x, y = problem()
    given = {"x": x, "y": y, "at": x, "noise": 1.0, "prior": 1.0} | change
    with pytest.raises(InputError, match=sentence):
        langevin(linear(3), given.pop("x"), given.pop("y"), given.pop("at"), **given)


def test_too_few_chains_get_a_sentence():
    with pytest.raises(InputError, match="chains must be"):
        Sampling(chains=1)
    with pytest.raises(InputError, match="duration must be"):
        Sampling(duration=0.0)


def test_no_warning_at_the_default_step():
    x, y = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = langevin(linear(3), x, y, x[:2], noise=1.0, prior=1.0, sampling=Sampling(chains=3, samples=4, duration=1.0))
    assert found.step * found.curvature == pytest.approx(0.05, rel=0.01)
