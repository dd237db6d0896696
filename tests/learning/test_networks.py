"""Finite networks beside exact inference: they agree where they must, and tell when they do not."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest
from toy_results import assert_comes_back, assert_shows_itself

import specht
from specht.errors import InputError
from specht.learning import exact as gp
from specht.learning.networks import Networks, label_unit, learning_curve, train_to_the_end
from specht.learning.regime import Regime, _verdict, kernel_regime
from specht.nn.data import Fixed
from specht.nn.empirical import tangent_kernel
from specht.nn.network import Network, Size
from specht.nn.sampling import Sampling

ARCH = specht.Architecture(vocab=2, length=3, activation="erf")
SOURCE = specht.sources.uniform(2)
TASK = specht.Task(SOURCE, specht.targets.level(0, length=3, source=SOURCE), SOURCE)
FEW = Networks(size=Size(16, 8, 4), sampling=Sampling(chains=4, samples=10, burn_in=5.0, duration=10.0), seeds=2, output_scale=4.0)


@pytest.fixture(scope="module")
def sampled():
    return learning_curve(ARCH, TASK, n_train=[6], datasets=2, n_test=100, networks=FEW)


def test_exact_inference_is_that_on_the_same_data(sampled):
    exact = gp.learning_curve(ARCH, TASK, n_train=[6], datasets=2, n_test=100)
    for name in ("test", "train", "ood", "learned"):
        np.testing.assert_allclose(getattr(sampled.exact, name), getattr(exact, name), rtol=1e-10)
    np.testing.assert_allclose(sampled.excess, sampled.curve.test / exact.test - 1.0, rtol=1e-6)


def test_sampled_networks_are_near_the_gaussian_process(sampled):
    """At width 16 within a third; half of the target would be 50 %, the wrong ridge more."""
    assert sampled.method == "langevin"
    assert np.abs(sampled.excess).max() < 0.35
    np.testing.assert_allclose(sampled.curve.learned, sampled.exact.learned, atol=0.15)
    assert (sampled.curve.train < sampled.curve.test).all()
    assert sampled.r_hat is not None
    assert (sampled.r_hat < 1.3).all()
    assert sampled.warnings == ()


def test_a_network_curve_shows_itself_and_comes_back(sampled, tmp_path):
    assert_shows_itself(sampled)
    assert_comes_back(sampled, tmp_path)
    assert [trace["name"] for trace in sampled.plot().to_dict()["data"]][-2:] == ["test, exact", "test, networks"]  # on top
    assert sampled.to_dataframe()["excess"].tolist() == sampled.excess.tolist()


@pytest.mark.whole  # the unit itself is tested below
def test_outputs_do_not_depend_on_the_units_of_labels():
    """Twice the target at twice the scale is the same problem: losses are four times as large."""
    double = specht.Task(SOURCE, specht.Target("double", lambda x: 2.0 * TASK.target(x)), SOURCE)
    losses = [
        learning_curve(ARCH, task, n_train=[6], datasets=2, n_test=100, networks=FEW, diagnose=False).curve.test for task in (TASK, double)
    ]
    np.testing.assert_allclose(losses[1], 4.0 * losses[0], rtol=1e-3)


def test_training_to_the_end_is_regression_with_the_tangent_kernel_of_a_lazy_network():
    """Labels so small that weights hardly move: the network is linear in them, and its own tangent kernel says where it ends."""
    x = np.random.default_rng(0).integers(2, size=(6, 4))
    y, ridge = 1e-3 * (x[:, :1] - 0.5), 2.0
    found = train_to_the_end(lambda key: Network.init(ARCH, Size(16, 8, 4), key=key), Fixed(x, y), ridge, seeds=[3], evaluate={})
    network = Network.init(ARCH, Size(16, 8, 4), key=jax.random.split(jax.random.key(3))[0])
    gram = tangent_kernel(network, x)
    expected = gram @ np.linalg.solve(gram + ridge * np.eye(6), y)
    np.testing.assert_allclose(found.function()(x), expected, rtol=0.01, atol=0.005 * np.abs(expected).max())


@pytest.mark.whole  # the ordinary check has the job that measures the regime
def test_the_kernel_regime_and_beyond():
    """Networks that are large beside the target keep their kernel, small ones change it."""
    source, arch = specht.sources.uniform(2), ARCH.replace(s_w=0.5)
    task = specht.Task(source, specht.targets.level(1, length=3, source=source))
    wide = dataclasses.replace(FEW, size=Size(64, 32, 4), seeds=6)
    lazy, rich = (
        kernel_regime(arch, task, n_train=8, ridge=4.0, n_test=200, networks=dataclasses.replace(wide, output_scale=scale))
        for scale in (8.0, 0.05)
    )
    assert lazy.verdict == "kernel", str(lazy)
    assert rich.verdict == "features", str(rich)
    assert lazy.kernel_change < 0.25 < rich.kernel_change
    assert "learn features" in str(rich)
    assert lazy.kernel_loss == pytest.approx(rich.kernel_loss, rel=1e-9)


def test_verdicts_follow_from_the_numbers():
    plain = Regime(
        "unclear", 8, 1.0, 1.0, 0.01, 1.0, 0.1, 0.01, (0, 1), np.array([0.5, 0.5]), np.array([0.01, 0.01]), np.array([0.5, 0.5]), None
    )
    assert _verdict(plain) == "kernel"
    assert _verdict(dataclasses.replace(plain, kernel_change=0.3)) == "features"
    assert _verdict(dataclasses.replace(plain, loss=1.2)) == "unclear"
    assert _verdict(dataclasses.replace(plain, loss=1.2, loss_stderr=0.1)) == "kernel"  # within three errors
    assert _verdict(dataclasses.replace(plain, shares=np.array([0.8, 0.2]))) == "unclear"
    assert dataclasses.replace(plain, shares=np.array([0.8, 0.2])).moved == pytest.approx(0.3)


def test_the_unit_makes_networks_as_large_as_asked():
    problem = gp.prepare(ARCH, TASK, ridge=1.0, noise=0.0, datasets=2, seed=0, kind="nngp", scale=None, heads=None)
    unit = label_unit(problem, TASK, 3.0)
    x = SOURCE.sample(0, 4000, 3)
    outputs = specht.Kernel(ARCH).diagonal(x).mean()
    assert outputs == pytest.approx(9.0 * np.square(TASK.target(x) / unit).mean(), rel=0.1)


def test_bad_input_gets_a_sentence():
    with pytest.raises(InputError, match=r"ridge .* above 0"):
        learning_curve(ARCH, TASK, n_train=[4], ridge=0.0)
    zero = specht.Task(SOURCE, specht.Target("zero", lambda x: np.zeros(len(x))))
    with pytest.raises(InputError, match="The target is zero"):
        learning_curve(ARCH, zero, n_train=[4], datasets=2)
    with pytest.raises(InputError, match="output_scale must"):
        Networks(output_scale=0.0)
