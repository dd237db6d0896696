"""Conjugate gradients over tiles against Cholesky, and what they say when they do not arrive."""

from __future__ import annotations

import re

import numpy as np
import pytest

import specht
from specht.errors import InputError
from specht.learning.gp.iterative import ConvergenceError, nystrom_features, product_of_tiles, regress_iteratively
from specht.learning.gp.regression import regress

X, NEW = (specht.sources.uniform(3).sample(seed, n, 6) for seed, n in ((0, 200), (1, 40)))


def kernel(x, y):
    """Positive definite on different sequences: grows with the number of places at which they agree."""
    return np.exp((x[:, None, :] == y[None, :, :]).mean(axis=-1))


GRAM = kernel(X, X)
Y = np.random.default_rng(0).normal(size=(200, 2))
RIDGE = 0.01


def product(vectors):
    return GRAM @ vectors


class TestWeights:
    @pytest.mark.parametrize("ridge", [1.0, RIDGE])
    def test_are_those_of_cholesky(self, ridge):
        fit = regress_iteratively(product, Y, ridge, tolerance=1e-11)
        exact = regress(GRAM, Y, ridge)
        # an error of the weights is at most the residual over the smallest eigenvalue, which is the ridge at least
        assert np.linalg.norm(fit.weights - exact.weights) <= 1e-11 * np.linalg.norm(Y) / ridge
        np.testing.assert_allclose(fit.mean(kernel(NEW, X)), exact.mean(kernel(NEW, X)), atol=1e-8)
        np.testing.assert_allclose(fit.train_residual, exact.train_residual, atol=1e-8)

    def test_from_tiles_of_the_kernel(self):
        network = specht.Kernel(specht.Architecture(vocab=3, length=6, activation="erf"))
        fit = regress_iteratively(product_of_tiles(lambda: network.tiles(X, rows=50), 200), Y[:, 0], RIDGE, tolerance=1e-10)
        mean = product_of_tiles(lambda: network.tiles(NEW, X, rows=20), 40)(fit.weights)
        np.testing.assert_allclose(mean, regress(network(X), Y[:, 0], RIDGE).mean(network(NEW, X)), atol=1e-7)

    def test_without_ridge_where_the_gram_is_positive_definite(self):
        gram = np.diag(np.linspace(1.0, 3.0, 50))
        fit = regress_iteratively(lambda v: gram @ v, np.ones(50), 0.0, tolerance=1e-12)
        np.testing.assert_allclose(fit.weights[:, 0], 1 / np.linspace(1.0, 3.0, 50), rtol=1e-11)

    def test_small_outputs_are_solved_for_as_well_as_large_ones(self):
        y = Y * [1.0, 1e-9]
        fit = regress_iteratively(product, y, RIDGE, tolerance=1e-9)
        residual = np.linalg.norm(y - GRAM @ fit.weights - RIDGE * fit.weights, axis=0) / np.linalg.norm(y, axis=0)
        assert (residual < 1e-9 * (1 + 1e-3)).all()
        assert fit.convergence.relative_residual == pytest.approx(residual.max(), rel=1e-3)

    def test_labels_that_are_zero_have_zero_weights(self):
        fit = regress_iteratively(product, Y * [0.0, 1.0], RIDGE)
        assert (fit.weights[:, 0] == 0).all()
        none = regress_iteratively(product, 0 * Y, RIDGE)
        assert (none.weights == 0).all()
        assert none.convergence.converged
        assert none.convergence.iterations == 0

    def test_all_outputs_share_one_product_an_iteration(self):
        calls = []

        def counted(vectors):
            calls.append(vectors.shape)
            return GRAM @ vectors

        fit = regress_iteratively(counted, Y, RIDGE)
        assert set(calls) == {(200, 2)}
        assert len(calls) == fit.convergence.iterations + 1  # and one to know the residual in the end

    def test_everything_is_float64(self):
        fit = regress_iteratively(lambda v: (GRAM @ v).astype(np.float32), np.arange(200), 1, tolerance=1e-4)
        assert fit.weights.dtype == fit.mean(np.ones((1, 200), dtype=np.float32)).dtype == np.float64


class TestPreconditioner:
    def test_the_answer_is_the_same_in_fewer_iterations(self):
        landmarks = X[:80]
        features = nystrom_features(kernel(landmarks, landmarks), kernel(X, landmarks))
        plain, quick = (regress_iteratively(product, Y, 1e-3, low_rank=low, tolerance=1e-10) for low in (None, features))
        assert quick.convergence.iterations < plain.convergence.iterations / 2
        exact = regress(GRAM, Y, 1e-3)
        for fit in (plain, quick):
            assert np.linalg.norm(fit.weights - exact.weights) <= 1e-10 * np.linalg.norm(Y) / 1e-3

    def test_exact_features_need_one_iteration(self):
        features = np.eye(3)[X].reshape(200, -1)
        fit = regress_iteratively(lambda v: features @ (features.T @ v), Y, 1.0, low_rank=features)
        assert fit.convergence.iterations <= 2

    def test_landmarks_reproduce_their_own_rows(self):
        features = nystrom_features(GRAM[:30, :30], GRAM[:, :30])
        np.testing.assert_allclose(features @ features[:30].T, GRAM[:, :30], atol=1e-10)
        # what is left of the Gram is positive semidefinite
        assert np.linalg.eigvalsh(GRAM - features @ features.T)[0] > -1e-10

    def test_landmarks_may_repeat(self):
        twice = np.concatenate([X[:10], X[:10]])
        features = nystrom_features(kernel(twice, twice), kernel(X, twice))
        assert features.shape[1] <= 10
        np.testing.assert_allclose(features @ features.T, _projected(X[:10]), atol=1e-9)


def _projected(landmarks):
    once = nystrom_features(kernel(landmarks, landmarks), kernel(X, landmarks))
    return once @ once.T


class TestConvergence:
    def test_report(self):
        seen = []
        report = regress_iteratively(product, Y, RIDGE, progress=lambda done, total: seen.append((done, total))).convergence
        assert report.converged
        assert report.relative_residual <= report.tolerance == 1e-8
        assert report.history.shape == (report.iterations,)
        assert report.history[0] == pytest.approx(1.0)
        assert report.history[-1] < 1e-4
        assert seen == [(i + 1, 1000) for i in range(report.iterations)]
        assert re.fullmatch(r"\d+ iterations reached a relative residual of \d\.\de-\d\d \(asked: 1e-08\)", str(report))

    def test_too_few_iterations_are_an_error(self):
        with pytest.raises(ConvergenceError, match=r"converge: 3 iterations stopped at a relative residual of .*; allow more") as caught:
            regress_iteratively(product, Y, RIDGE, max_iterations=3)
        assert caught.value.convergence.iterations == 3

    def test_or_a_flag(self):
        fit = regress_iteratively(product, Y, RIDGE, max_iterations=3, strict=False)
        assert not fit.convergence.converged
        residual = np.linalg.norm(Y - GRAM @ fit.weights - RIDGE * fit.weights, axis=0) / np.linalg.norm(Y, axis=0)
        assert fit.convergence.relative_residual == pytest.approx(residual.max(), rel=1e-9)


BAD = {
    "tolerance must be a number between 0 and 1, got 0.": lambda: regress_iteratively(product, Y, 1.0, tolerance=0),
    "max_iterations must be a whole number of at least 1, got 0.": lambda: regress_iteratively(product, Y, 1.0, max_iterations=0),
    "ridge must be a finite number of at least 0, got -1.0.": lambda: regress_iteratively(product, Y, -1.0),
    "y must hold one row of labels for every sample, got an array of shape (0,).": lambda: regress_iteratively(product, [], 1.0),
    "product turned vectors of shape (200, 2) into shape (100, 2): the Gram is of 200 samples.": lambda: regress_iteratively(
        lambda v: v[:100], Y, 1.0
    ),
    "give a finite Gram, and tiles that cover all of its rows.": lambda: regress_iteratively(
        product_of_tiles(lambda: [(slice(0, 100), GRAM[:100])], 200), Y, 1.0
    ),
    "low_rank needs a positive ridge, got ridge 0": lambda: regress_iteratively(product, Y, 0.0, low_rank=GRAM[:, :3]),
    "low_rank must be a table of 200 rows and any number of columns": lambda: regress_iteratively(product, Y, 1.0, low_rank=GRAM[:3]),
    "the Gram plus ridge is not positive definite: raise the ridge.": lambda: regress_iteratively(lambda v: 0 * v, Y, 0.0),
}


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()
