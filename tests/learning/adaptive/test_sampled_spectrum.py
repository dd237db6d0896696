"""The free energy from the Gram of sequences, against the exact operator and against data."""

from __future__ import annotations

import numpy as np
import pytest

import specht
from specht.learning.adaptive.equivalent import Labels
from specht.learning.adaptive.linear_block import LinearBlock, project
from specht.learning.adaptive.orbits import find_orbits
from specht.learning.adaptive.population import SampledKernel
from specht.sequences import targets
from specht.sequences.sources import uniform
from specht.sequences.tasks import Task

SOURCE = uniform(2)


def test_with_as_many_samples_as_sequences_it_is_the_evidence():
    arch, task = specht.Architecture(vocab=2, length=7, activation="relu"), Task(SOURCE, targets.conjunction(2, 7))
    kernel = SampledKernel(find_orbits(arch, task), task, sequences=40)
    logarithms = np.log(kernel.orbits.prior) + 0.3
    full = kernel.gram(logarithms) + 0.1 * np.eye(40)
    exact = 0.5 * (np.linalg.slogdet(full)[1] + np.vdot(kernel.values, np.linalg.solve(full, kernel.values)))
    assert kernel.energy(logarithms, Labels(40.0, 0.1, 0.0, 0.0, 1))[0] == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_it_agrees_with_the_exact_operator(share):
    """Test loss within 10 %, energy within 2 % or four standard errors, at up to half as many samples as sequences, mean of four draws."""
    arch, task = specht.Architecture(vocab=2, length=12), Task(SOURCE, targets.conjunction(2, 12))
    orbits = find_orbits(arch, task)
    block = LinearBlock(orbits, SOURCE)
    found = project(block, task.target, SOURCE)
    block.target = found.coefficients
    labels = Labels(share * 256, 0.1, found.unseen, 0.0, 1)
    logarithms = np.log(orbits.prior) + np.linspace(-0.5, 0.8, len(orbits.prior))
    draws = [SampledKernel(orbits, task, sequences=256, seed=seed) for seed in range(4)]
    energies = [draw.energy(logarithms, labels)[0] for draw in draws]
    losses = [draw.losses(logarithms, labels) for draw in draws]
    exact = block.losses(logarithms, labels)
    mean, error = np.mean(energies), np.std(energies, ddof=1) / 2.0
    assert abs(mean - block.energy(logarithms, labels)[0]) < max(0.02 * abs(mean), 4.0 * error)
    assert np.mean([each.test for each in losses]) == pytest.approx(exact.test, rel=0.1)
    assert np.mean([each.train for each in losses]) == pytest.approx(exact.train, rel=0.1)
    assert np.mean([each.learned for each in losses]) == pytest.approx(exact.learned, abs=0.05)
    assert 0.0 < draws[0].stderr(logarithms, labels) < 0.5 * exact.test


@pytest.mark.parametrize(
    "options", [{"activation": "erf"}, {"activation": "relu", "norm": "pre"}, {"attention": "softmax", "scaling": "tied"}]
)
def test_it_agrees_with_data_for_other_blocks(options):
    """Within 2 % of the energy and 10 % of the test loss, or four standard errors of 60 data sets, at broken variances."""
    arch, task = specht.Architecture(vocab=2, length=8, **options), Task(SOURCE, targets.level(1, 8, source=SOURCE))
    kernel = SampledKernel(find_orbits(arch, task), task, sequences=512)
    orbits, rng, n = kernel.orbits, np.random.default_rng(1), 48
    logarithms = np.log(orbits.prior) + np.linspace(0.6, -0.3, len(orbits.prior))
    variances = orbits.variances(np.exp(logarithms))
    energies, losses = [], []
    for _ in range(60):
        x, fresh = SOURCE.draw(rng, n, 9), SOURCE.draw(rng, 300, 9)
        y = task.target(x)
        gram = np.asarray(specht.nngp(arch, x, variances=variances)) / kernel.unit + 0.1 * np.eye(n)
        solved = np.linalg.solve(gram, y)
        energies.append((np.linalg.slogdet(gram)[1] + np.vdot(y, solved)) / 2.0)
        cross = np.asarray(specht.nngp(arch, fresh, x, variances=variances)) / kernel.unit
        losses.append(np.mean((cross @ solved - task.target(fresh)) ** 2))
    labels = Labels(float(n), 0.1, 0.0, 0.0, 1)
    for theory, data, share in (
        (kernel.energy(logarithms, labels)[0], energies, 0.02),
        (kernel.losses(logarithms, labels).test, losses, 0.1),
    ):
        mean, error = np.mean(data), np.std(data) / 60**0.5
        assert abs(theory - mean) < max(share * abs(mean), 4.0 * error), (theory, mean, error)
