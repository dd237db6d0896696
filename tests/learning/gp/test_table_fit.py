"""Variances and ridge of tables by their likelihood: against exact inference, grids and another factorisation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from specht.architecture import Architecture
from specht.forecasts.contenders import CONTENDERS, choose_contenders
from specht.learning.gp.fit import Shape, fit_architecture, fit_ridge, normalised_gram
from specht.learning.gp.regression import regress

RIDGE, NOISE = 0.3, 0.2
LAMBDA = 2.0 * np.arange(1, 81) ** -1.3
TARGET = np.where(np.arange(80) < 20, 1.0, 0.3) * np.arange(1, 81) ** -0.6


def gaussian_rows(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose kernel has the eigenvalues LAMBDA exactly: features, and labels with noise."""
    modes = rng.standard_normal((n, len(LAMBDA)))
    return modes * np.sqrt(LAMBDA), (modes @ TARGET + math.sqrt(NOISE) * rng.standard_normal(n))[:, None]


def test_ridge_and_size_are_those_of_the_likelihood():
    x, y = gaussian_rows(np.random.default_rng(7), 80)
    gram = x @ x.T
    ridge, signal, likelihood = fit_ridge(gram, y)

    def exact(size: float, log_ridge: float) -> float:
        return regress(size * gram, y, size * math.exp(log_ridge)).log_marginal_likelihood / 80

    assert likelihood == pytest.approx(exact(signal, math.log(ridge)), abs=1e-8)
    for size, shift in ((1.1, 0.0), (0.9, 0.0), (1.0, 0.1), (1.0, -0.1)):
        assert exact(signal * size, math.log(ridge) + shift) < likelihood


def small_table(seed: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.integers(3, size=(90, 5))
    y = ((x[:, 1] == 0) * 1.0 + (x[:, 2] == x[:, 3]) + 0.3 * rng.normal(size=90))[:, None]
    return x, np.arange(5)[None, :] >= rng.integers(0, 3, 90)[:, None], y - y.mean()


@pytest.mark.parametrize("name", ["positions", "mean", "erf", "softmax"])
def test_fit_is_at_least_as_likely_as_every_point_of_a_grid(name):
    x, mask, y = small_table()
    arch = choose_contenders([name], 3, 5)[name]
    shape = Shape.of(arch)
    fit = fit_architecture(arch, x, mask, y)
    unit = 0.3  # about the input variance of the activation
    values = itertools.product(*[{"ratio": (0.03, 0.3, 1.0, 3.0, 30.0), "gain": (0.3, 1.0, 3.0, 10.0)}[name] for name in shape.names])
    grid = [fit_ridge(normalised_gram(shape.apply(point, unit), x, mask), y)[2] for point in values]
    assert fit.log_likelihood >= max(grid) - 1e-6
    # What it states is what its architecture has.
    ridge, signal, likelihood = fit_ridge(normalised_gram(fit.arch, x, mask), y)
    assert likelihood == pytest.approx(fit.log_likelihood, abs=1e-6)
    if "ridge" not in fit.at_edge:
        assert (ridge, signal) == (pytest.approx(fit.ridge, rel=0.01), pytest.approx(fit.signal, rel=0.01))
    if fit.ratio is not None:
        assert fit.arch.s_p / fit.arch.token_variance == pytest.approx(fit.ratio, rel=1e-9)
    assert (fit.gain is None) == (name in ("positions", "mean"))


@pytest.mark.parametrize("rows", [2, 60])
def test_best_ridge_is_that_of_the_eigenvalues(rows):
    """By another factorisation of a Gram without full rank, on a fine grid of ridges."""
    x, y = gaussian_rows(np.random.default_rng(17), rows)
    gram = x[:, :20] @ x[:, :20].T
    values, vectors = np.linalg.eigh(gram)
    power, values = ((vectors.T @ y) ** 2)[:, 0], np.maximum(values, 0.0)
    shifted = values[:, None] + np.geomspace(1e-6, 1e4, 5000)
    sizes = (power[:, None] / shifted).mean(axis=0)
    likelihoods = -0.5 * (np.log(2 * math.pi * sizes) + 1.0 + np.log(shifted).mean(axis=0))
    best = int(np.argmax(likelihoods))
    ridge, size, likelihood = fit_ridge(gram, y)
    assert likelihood == pytest.approx(likelihoods[best], abs=2e-6)
    assert math.log(ridge) == pytest.approx(math.log(shifted[0, best] - values[0]), abs=0.01)
    assert size == pytest.approx(sizes[best], rel=0.01)


def test_fit_says_where_it_stopped():
    x = np.random.default_rng(3).integers(3, size=(80, 5))
    noise = np.random.default_rng(4).normal(size=(80, 1))
    fit = fit_architecture(choose_contenders(["bag"], 3, 5)["bag"], x, np.ones(x.shape, bool), noise - noise.mean())
    exact = fit_architecture(
        choose_contenders(["positions"], 3, 5)["positions"], x, np.ones(x.shape, bool), (x[:, :1] - x[:, :1].mean()) * 1.0
    )
    assert fit.at_edge == ("ridge",)
    assert fit.ratio is fit.gain is None
    assert "ridge" in exact.at_edge


def test_normalised_gram_has_unit_trace_and_an_offset():
    x = np.random.default_rng(9).integers(3, size=(20, 5))
    gram = normalised_gram(Architecture(vocab=3, length=4), x, np.ones(x.shape, bool))
    assert np.trace(gram) / 20 == pytest.approx(2.0)


def test_every_contender_has_a_kernel():
    x = np.random.default_rng(15).integers(3, size=(12, 4))
    mask = np.arange(4)[None, :] >= np.arange(12)[:, None] % 4
    for name, arch in choose_contenders(list(CONTENDERS), 3, 4).items():
        gram = normalised_gram(arch, x, mask)
        assert np.linalg.eigvalsh(gram)[0] > -1e-9, name
