"""Several eigenvalues of each irrep by sampling, against exact blocks."""

from __future__ import annotations

import numpy as np
import pytest
from small_cases import architecture, mixture

import specht
from specht.errors import InputError
from specht.groups.partition import Partition
from specht.sequences.sources import graded_mixture
from specht.spectra.ritz import _fit, _trial


@pytest.mark.parametrize(("vocab", "length"), [(2, 8), (3, 6)])
def test_leading_eigenvalues_are_found(vocab, length):
    arch, source = architecture(vocab, length, activation="erf"), mixture(vocab)
    exact = specht.spectrum(arch, source)
    found = specht.spectrum(arch, source, method="ritz", sequences=384)
    assert {block.irrep.level for block in found.blocks} == {0, 1, 2}
    for block in found.blocks:
        known = next(each for each in exact.blocks if each.irrep == block.irrep).eigenvalues
        assert len(block.eigenvalues) >= 1
        # lower bounds up to noise, which also pushes neighbours apart
        assert (block.eigenvalues <= known[: len(block.eigenvalues)] + 5 * block.stderr).all()
        assert abs(block.eigenvalues[0] - known[0]) <= 0.1 * known[0] + 5 * block.stderr[0]
        assert all(row.lower_bound for row in found.rows)
    assert found.trace == pytest.approx(exact.trace, rel=0.02)
    assert found.resolved_trace == pytest.approx(exact.trace, rel=0.1)


def test_eigenfunctions_are_orthonormal_and_of_their_irrep():
    arch, source = architecture(3, 6, activation="erf"), mixture(3)
    found = specht.spectrum(arch, source, method="ritz", sequences=256)
    x = source.sample(9, 100_000, arch.length)
    for block in found.blocks:
        values = block.eigenfunctions(x)
        products = values[:, :, None] * values[:, None, :]
        error = products.std(axis=0) / np.sqrt(len(x)) + 0.01  # the basis itself is from a sample of 2^16
        assert (np.abs(products.mean(axis=0) - np.eye(values.shape[1])) < 6 * error).all()
        if block.irrep.level:
            swapped = x.copy()
            swapped[:, [0, 1]] = x[:, [1, 0]]
            np.testing.assert_allclose(block.eigenfunctions(swapped), -values, atol=1e-9)


@pytest.mark.parametrize("shape", [(5,), (4, 1), (3, 2), (3, 1, 1)])
def test_trial_functions_lie_in_their_irrep(shape):
    """A class sum commutes with everything and is a number on each irrep: that of the transpositions is the sum of contents."""
    arch, source, partition = architecture(3, 5), mixture(3), Partition(shape)
    trial = _trial(arch, partition)
    x, _ = source.enumerate(arch.columns)
    total = np.zeros((len(x), trial(x[:1]).shape[1]))
    for first in range(5):
        for second in range(first):
            moved = x.copy()
            moved[:, [first, second]] = x[:, [second, first]]
            total += trial(moved)
    contents = sum(column - row for row, part in enumerate(shape) for column in range(part))
    np.testing.assert_allclose(total, contents * trial(x), atol=1e-9)
    assert np.linalg.matrix_rank(trial(x)) == trial(x).shape[1]


def test_a_source_whose_order_matters_is_refused():
    with pytest.raises(InputError, match="total variation"):
        specht.spectrum(specht.Architecture(vocab=3, length=6), graded_mixture(0.5, vocab=3), method="ritz")


def test_the_fit_finds_a_kernel_of_its_functions_and_leaves_noise_alone():
    rng = np.random.default_rng(0)
    exact = np.diag([1.0, 0.1, 0.001])
    sampled = [rng.normal(size=(40, 3)) for _ in range(16)]

    def products(values: np.ndarray, kernel: np.ndarray) -> np.ndarray:
        np.fill_diagonal(kernel, 0.0)
        return values.T @ kernel @ values / (len(values) * (len(values) - 1))

    plain = np.array([products(values, values @ exact @ values.T) for values in sampled])
    assert np.abs(plain.mean(axis=0) - exact).max() > 0.01
    np.testing.assert_allclose(_fit(plain, sampled).mean(axis=0), exact, atol=1e-5)
    # Four sequences a batch say nothing about twenty functions.
    few = [rng.normal(size=(4, 20)) for _ in range(16)]
    noise = [rng.normal(size=(4, 4)) for _ in few]
    plain = np.array([products(values, (each + each.T) / 2) for values, each in zip(few, noise, strict=True)])
    np.testing.assert_array_equal(_fit(plain, few), plain)
