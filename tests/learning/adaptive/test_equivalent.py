"""The deterministic free energy, against averages over data sets, finite differences and the theory at infinite width."""

from __future__ import annotations

import numpy as np
import pytest

import specht
from specht.learning.adaptive.equivalent import Labels, find_kappa
from specht.learning.adaptive.linear_block import LinearBlock, project
from specht.learning.adaptive.minima import Landscape
from specht.learning.adaptive.orbits import find_orbits
from specht.learning.adaptive.population import SampledKernel
from specht.learning.curves import renormalised, theory_curve
from specht.sequences import targets
from specht.sequences.law import Exchangeable
from specht.sequences.sources import uniform
from specht.sequences.tasks import Task

COIN = Exchangeable(np.ones(1), np.array([[0.3, 0.7]]))
RNG = np.random.default_rng(0)


def exact_model(arch, task):
    block = LinearBlock(find_orbits(arch, task), task.source)
    found = project(block, task.target, task.source)
    block.target = found.coefficients
    return block, Labels(1.0, 0.1, found.unseen, found.label_noise, task.target.outputs)


def test_kappa_is_the_root():
    for _ in range(20):
        values, numbers = RNG.exponential(size=6) ** 3, RNG.integers(1, 2000, size=6).astype(float)
        n, ridge = 10.0 ** RNG.uniform(0, 4), 10.0 ** RNG.uniform(-6, 1)
        expected = renormalised(values, numbers, np.array([n]), ridge).kappa[0]
        assert find_kappa(values, numbers, n, ridge) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(
    ("target", "readout"),
    [
        (targets.conjunction(2, 8), "last"),
        (targets.level(1, 8, source=COIN), "last"),
        (targets.conjunction(2, 8), "mean"),
        (targets.counts(8), "cls"),
    ],
)
def test_both_parts_of_the_energy_are_means_over_data_sets(target, readout):
    """At broken variances, each within 2 % or four standard errors of 200 data sets."""
    arch, task, ridge, noise = specht.Architecture(vocab=2, length=8, readout=readout), Task(COIN, target), 0.1, 0.05
    block, labels = exact_model(arch, task)
    orbits, rng = block.orbits, np.random.default_rng(1)
    logarithms = np.log(orbits.prior) + rng.normal(size=len(orbits.prior)) / 2.0
    x, p = COIN.enumerate(arch.columns)
    unit = float(p @ np.diagonal(np.asarray(specht.nngp(arch, x))))
    for n in (24, 64):
        fits, determinants = [], []
        for _ in range(200):
            x = COIN.draw(rng, n, arch.columns)
            y = target(x) + rng.normal(size=(n, 1)) * noise**0.5
            gram = np.asarray(specht.nngp(arch, x, variances=orbits.variances(np.exp(logarithms)))) / unit + ridge * np.eye(n)
            determinants.append(np.linalg.slogdet(gram)[1])
            fits.append(np.vdot(y, np.linalg.solve(gram, y)))
        at = labels._replace(n_train=float(n), ridge=ridge, noise=noise)
        both = 2.0 * block.energy(logarithms, at)[0]
        determinant = 2.0 * block.energy(logarithms, at._replace(outputs=2))[0] - both  # a second output adds one more of it
        for theory, data in ((determinant, determinants), (both - determinant, fits)):
            mean, error = np.mean(data), np.std(data) / 200**0.5
            assert abs(theory - mean) < max(0.02 * abs(mean), 4.0 * error), (theory, mean, error)


@pytest.mark.parametrize("readout", ["last", "mean"])
@pytest.mark.parametrize(
    "target",
    [targets.conjunction(2, 9), targets.Target("which", lambda x: np.eye(2)[x[:, 0]] * (1.0 + x[:, 1:2]), outputs=2, reads=(0, 1))],
    ids=lambda target: target.name,
)
def test_gradients_are_those_of_finite_differences(readout, target):
    arch, task = specht.Architecture(vocab=2, length=9, readout=readout), Task(COIN, target)
    block, labels = exact_model(arch, task)
    landscape = Landscape(block, 16.0, labels._replace(n_train=40.0, noise=0.2))
    assert_gradient(landscape, RNG.normal(size=len(block.orbits.prior)) / 2.0)


def test_gradients_of_a_sampled_kernel():
    arch, task = specht.Architecture(vocab=2, length=7, activation="erf"), Task(COIN, targets.conjunction(2, 7))
    kernel = SampledKernel(find_orbits(arch, task), task, sequences=64)
    landscape = Landscape(kernel, 16.0, Labels(20.0, 0.1, 0.0, 0.2, 1))
    assert_gradient(landscape, RNG.normal(size=len(kernel.orbits.prior)) / 2.0)


def assert_gradient(landscape, point):
    slope = landscape.value(point)[1]
    for place in range(len(point)):
        step = 1e-5 * np.eye(len(point))[place]
        numeric = (landscape.value(point + step)[0] - landscape.value(point - step)[0]) / 2e-5
        assert slope[place] == pytest.approx(numeric, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("source", [uniform(2), COIN])
@pytest.mark.parametrize("readout", ["last", "mean", "cls"])
def test_unmoved_variances_give_the_theory_at_infinite_width(readout, source):
    arch = specht.Architecture(vocab=2, length=8, readout=readout)
    spec = specht.spectrum(arch, source)
    for target in (targets.conjunction(2, 8), targets.level(1, 8, source=source), targets.counts(8)):
        task, n = Task(source, target), np.array([8.0, 50.0, 400.0])
        block, labels = exact_model(arch, task)
        theory = theory_curve(spec, task, n, 0.1, 0.02)
        for place, number in enumerate(n):
            mine = block.losses(np.log(block.orbits.prior), labels._replace(n_train=number, noise=0.02))
            assert mine.test == pytest.approx(theory.test[place], rel=1e-8)
            assert mine.train == pytest.approx(theory.train[place], rel=1e-8)
            assert mine.kappa == pytest.approx(theory.learnability.kappa[place], rel=1e-8)
