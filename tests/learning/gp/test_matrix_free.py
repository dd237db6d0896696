"""Log-determinants and variances from products with vectors, against Cholesky."""

from __future__ import annotations

import numpy as np
import pytest

import specht
from specht.errors import InputError
from specht.learning.gp import matrix_free
from specht.learning.gp.gram_source import GramSource
from specht.learning.gp.matrix_free import Preconditioner, TiledGram, log_determinant, posterior_covariance, posterior_variance
from specht.learning.gp.regression import regress


def agreement(x, y=None):
    """Grows with the number of places at which two sequences agree, so fast that no eigenvalue is small."""
    y = x if y is None else y
    return np.exp(4.0 * (x[:, None, :] == y[None, :, :]).mean(axis=-1) - 4.0)


def problem(kernel, n, m=30, vocab=3, columns=7):
    source, rng = GramSource(kernel), np.random.default_rng(0)
    return source, *(source.inputs(rng.integers(0, vocab, (rows, columns))) for rows in (n, m))


def exact_log_determinant(gram, ridge):
    return 2.0 * float(np.log(regress(gram, np.zeros(len(gram)), ridge).factor.diagonal()).sum())


class TestTiles:
    @pytest.mark.parametrize("kept", [True, False])
    @pytest.mark.parametrize("n", [50, 64, 131])
    def test_product_is_that_of_the_gram(self, monkeypatch, kept, n):
        monkeypatch.setattr(matrix_free, "TILE", 32)
        source, inputs, _ = problem(agreement, n)
        tiles = TiledGram(source, inputs, memory=1e9 if kept else 0.0)
        vectors = np.random.default_rng(1).normal(size=(n, 3))
        assert tiles.kept is kept
        np.testing.assert_allclose(tiles.product(vectors), source.gram(inputs) @ vectors, atol=1e-10)

    def test_memory_is_half_a_gram(self, monkeypatch):
        monkeypatch.setattr(matrix_free, "TILE", 32)
        source, inputs, _ = problem(agreement, 320)
        half = 8 * 32**2 * 10 * 11 // 2
        assert TiledGram(source, inputs, memory=half).kept
        assert not TiledGram(source, inputs, memory=half - 1).kept


class TestPreconditioner:
    def test_root_and_determinant(self):
        source, inputs, _ = problem(agreement, 90)
        preconditioner = Preconditioner.from_landmarks(source, inputs, 0.2, seed=0)
        matrix = preconditioner.features @ preconditioner.features.T + 0.2 * np.eye(90)
        root = preconditioner.root_inverse(np.eye(90))
        np.testing.assert_allclose(root @ matrix @ root, np.eye(90), atol=1e-9)
        assert preconditioner.log_determinant == pytest.approx(np.linalg.slogdet(matrix)[1], rel=1e-10)


class TestLogDeterminant:
    def test_lies_within_its_error(self):
        ridge = 0.01
        source, inputs, _ = problem(agreement, 400)
        gram = source.gram(inputs)
        preconditioner = Preconditioner.from_landmarks(source, inputs, ridge, seed=0)
        estimate = log_determinant(lambda v: gram @ v, preconditioner)
        assert abs(estimate.value - exact_log_determinant(gram, ridge)) < 4 * estimate.stderr
        assert 0.0 < estimate.stderr < 0.03 * 400

    def test_is_exact_where_landmarks_say_everything(self):
        source, inputs, _ = problem(lambda x, y=None: (x[:, None, :] == (x if y is None else y)[None, :, :]).sum(axis=-1), 300)
        gram = source.gram(inputs)
        estimate = log_determinant(lambda v: gram @ v, Preconditioner.from_landmarks(source, inputs, 0.1, seed=0), probes=4, depth=10)
        assert estimate.value == pytest.approx(exact_log_determinant(gram, 0.1), rel=1e-9)
        assert estimate.stderr < 1e-6

    def test_errors_of_the_product_are_told_in_its_own_words(self):
        source, inputs, _ = problem(agreement, 60)
        preconditioner = Preconditioner.from_landmarks(source, inputs, 0.1, seed=0)

        def broken(vectors):
            raise InputError("no kernel today")

        with pytest.raises(InputError, match="no kernel today"):
            log_determinant(broken, preconditioner, probes=2, depth=2)


class TestVariance:
    @pytest.mark.parametrize("tolerance", [1e-3, 1e-8])
    def test_lies_within_its_bound_of_cholesky(self, tolerance):
        source, inputs, new = problem(agreement, 300, m=150)
        gram, cross, prior = source.gram(inputs), source.between(new, inputs), source.diagonal(new)
        exact = regress(gram, np.zeros(300), 0.05).variance(cross, prior)
        preconditioner = Preconditioner.from_landmarks(source, inputs, 0.05, seed=0)
        variance = posterior_variance(lambda v: gram @ v, preconditioner, cross, prior, tolerance=tolerance)
        missed = variance.value - exact
        assert (missed >= -1e-10).all()  # too little is explained, never too much
        assert (missed <= variance.error + 1e-10).all()
        assert (variance.error <= tolerance * prior).all()

    def test_covariance(self):
        source, inputs, new = problem(agreement, 200)
        gram, cross = source.gram(inputs), source.between(new, inputs)
        exact = regress(gram, np.zeros(200), 0.05).covariance(cross, source.gram(new))
        preconditioner = Preconditioner.from_landmarks(source, inputs, 0.05, seed=0)
        covariance = posterior_covariance(lambda v: gram @ v, preconditioner, cross, source.gram(new), tolerance=1e-12)
        np.testing.assert_allclose(covariance, exact, atol=1e-6)
        np.testing.assert_array_equal(covariance, covariance.T)


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["linear", "erf", "relu"])
def test_two_thousand_samples_of_a_network(activation):
    arch = specht.Architecture(vocab=4, length=12, activation=activation)
    source, inputs, new = problem(arch, 2000, m=100, vocab=4, columns=13)
    gram = source.gram(inputs)
    for ridge in (0.1 * gram.diagonal().mean(), 0.001 * gram.diagonal().mean()):
        tiles, preconditioner = TiledGram(source, inputs, 1e9), Preconditioner.from_landmarks(source, inputs, ridge, seed=0)
        estimate = log_determinant(tiles.product, preconditioner)
        assert abs(estimate.value - exact_log_determinant(gram, ridge)) < 4 * estimate.stderr + 1e-6
        cross, prior = source.between(new, inputs), source.diagonal(new)
        variance = posterior_variance(tiles.product, preconditioner, cross, prior, tolerance=1e-6)
        missed = np.abs(variance.value - regress(gram, np.zeros(2000), ridge).variance(cross, prior))
        assert (missed <= variance.error + 1e-9 * prior).all()
        assert (variance.error <= 1e-6 * prior).all()
