"""Exact regression against a second library, dense linear algebra, refits, and itself in feature space."""

from __future__ import annotations

import math
import re

import jax
import numpy as np
import pytest
import tinygp

import specht
from specht.errors import InputError
from specht.learning.gp.regression import regress, regress_features

RNG = np.random.default_rng(0)
FEATURES, NEW = RNG.normal(size=(60, 12)), RNG.normal(size=(9, 12))
GRAM, CROSS, PRIOR = FEATURES @ FEATURES.T, NEW @ FEATURES.T, np.square(NEW).sum(axis=1)
Y = RNG.normal(size=(60, 3))


def sequences(n: int, seed: int = 0) -> np.ndarray:
    return specht.sources.uniform(3).sample(seed, n, 6)


def erf_grams(n: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gram, cross Gram and prior variances of an erf network."""
    kernel = specht.Kernel(specht.Architecture(vocab=3, length=6, activation="erf"))
    x = sequences(n + m)
    gram = kernel(x)
    return gram[:n, :n], gram[n:, :n], gram.diagonal()[n:]


def by_tinygp(gram: np.ndarray, cross: np.ndarray, prior: np.ndarray, y: np.ndarray, ridge: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Log likelihood, posterior mean and variance of one output, from a table of kernel values."""
    n, m = len(gram), len(cross)
    table = np.block([[gram, cross.T], [cross, np.diag(prior)]])  # new sequences with each other do not enter a mean or a variance
    with jax.enable_x64(True), jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        values = jax.numpy.asarray(table)
        process = tinygp.GaussianProcess(
            tinygp.kernels.Custom(lambda i, j: values[i, j]), jax.numpy.arange(n), diag=jax.numpy.full(n, ridge)
        )
        likelihood, conditioned = process.condition(jax.numpy.asarray(y), jax.numpy.arange(n, n + m))
        # it adds a small diagonal of its own to the prediction
        variance = conditioned.variance - conditioned.noise.diagonal()
        return float(likelihood), np.asarray(conditioned.mean), np.asarray(variance)


class TestSecondLibrary:
    @pytest.mark.parametrize("ridge", [1.0, 1e-3])
    @pytest.mark.parametrize("network", ["linear", "erf"])
    def test_mean_variance_and_likelihood(self, ridge, network):
        grams = erf_grams(60, 9) if network == "erf" else (GRAM, CROSS, PRIOR)
        fit = regress(grams[0], Y, ridge)
        found = [by_tinygp(*grams, y, ridge) for y in Y.T]
        np.testing.assert_allclose(fit.mean(grams[1]), np.stack([mean for _, mean, _ in found], axis=1), rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(fit.variance(grams[1], grams[2]), found[0][2], rtol=1e-8, atol=1e-10 * grams[2].max())
        assert fit.log_marginal_likelihood == pytest.approx(sum(likelihood for likelihood, _, _ in found), rel=1e-10)


class TestGram:
    @pytest.mark.parametrize("ridge", [1.0, 0.01])
    def test_against_the_inverse(self, ridge):
        inverse = np.linalg.inv(GRAM + ridge * np.eye(60))
        fit = regress(GRAM, Y, ridge)
        np.testing.assert_allclose(fit.weights, inverse @ Y, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(fit.mean(CROSS), CROSS @ inverse @ Y, atol=1e-10)
        np.testing.assert_allclose(fit.variance(CROSS, PRIOR), PRIOR - np.diag(CROSS @ inverse @ CROSS.T), atol=1e-10)
        np.testing.assert_allclose(fit.train_residual, Y - GRAM @ fit.weights, atol=1e-10)

    def test_one_output_is_a_column(self):
        fit = regress(GRAM, Y[:, 0], 1.0)
        assert fit.weights.shape == (60, 1)
        np.testing.assert_allclose(fit.mean(CROSS)[:, 0], regress(GRAM, Y, 1.0).mean(CROSS)[:, 0], atol=1e-12)

    def test_likelihood_is_that_of_independent_normal_outputs(self):
        covariance = GRAM + 0.5 * np.eye(60)
        _, log_determinant = np.linalg.slogdet(2 * math.pi * covariance)
        each = [-0.5 * (log_determinant + y @ np.linalg.solve(covariance, y)) for y in Y.T]
        assert regress(GRAM, Y, 0.5).log_marginal_likelihood == pytest.approx(sum(each), rel=1e-12)

    @pytest.mark.parametrize("ridge", [1.0, 0.01])
    def test_leaving_one_out_is_fitting_the_others(self, ridge):
        gram, _, _ = erf_grams(25, 1)
        others = [np.delete(np.arange(25), i) for i in range(25)]
        refits = [regress(gram[np.ix_(rest, rest)], Y[rest], ridge).mean(gram[[i]][:, rest])[0] for i, rest in enumerate(others)]
        np.testing.assert_allclose(regress(gram, Y[:25], ridge).leave_one_out(), refits, rtol=1e-9, atol=1e-10)

    def test_the_first_samples_are_a_fit_of_their_own(self):
        whole = regress(GRAM, Y, 0.3)
        for n in (1, 17, 60):
            part, alone = whole.leading(n), regress(GRAM[:n, :n], Y[:n], 0.3)
            np.testing.assert_allclose(part.weights, alone.weights, rtol=1e-12, atol=1e-13)
            np.testing.assert_allclose(part.variance(CROSS[:, :n], PRIOR), alone.variance(CROSS[:, :n], PRIOR), rtol=1e-11)
            np.testing.assert_allclose(part.leave_one_out(), alone.leave_one_out(), rtol=1e-11, atol=1e-12)
            assert part.log_marginal_likelihood == pytest.approx(alone.log_marginal_likelihood, rel=1e-12)

    def test_without_ridge_labels_are_met(self):
        gram = np.unique(sequences(40), axis=0)
        gram = specht.Kernel(specht.Architecture(vocab=3, length=6, activation="erf"))(gram)
        fit = regress(gram, Y[: len(gram)], 0.0)
        np.testing.assert_allclose(fit.mean(gram), Y[: len(gram)], atol=1e-8)
        assert (fit.train_residual == 0).all()
        np.testing.assert_allclose(fit.variance(gram, gram.diagonal()), 0.0, atol=1e-9)

    @pytest.mark.parametrize("ridge", [1e-6, 1e-10])
    def test_variance_is_not_negative_where_everything_is_known(self, ridge):
        fit = regress(GRAM, Y, ridge)  # twelve features: singular but for the ridge
        variance = fit.variance(GRAM, GRAM.diagonal())
        assert (variance >= 0).all()
        assert variance.max() < 1e-5

    def test_many_new_sequences_are_taken_in_blocks(self):
        cross = np.tile(CROSS, (300, 1))
        fit = regress(GRAM, Y, 1.0)
        np.testing.assert_allclose(fit.variance(cross, np.tile(PRIOR, 300)), np.tile(fit.variance(CROSS, PRIOR), 300), rtol=1e-12)

    def test_the_gram_is_kept_unless_it_may_be_overwritten(self):
        gram = GRAM.copy()
        regress(gram, Y, 1.0)
        np.testing.assert_array_equal(gram, GRAM)
        for order in ("C", "F"):
            gram = np.array(GRAM, order=order)
            assert np.shares_memory(regress(gram, Y, 1.0, overwrite=True).factor, gram)
        frozen = GRAM.copy()
        frozen.setflags(write=False)
        np.testing.assert_allclose(regress(frozen, Y, 1.0, overwrite=True).weights, regress(GRAM, Y, 1.0).weights, rtol=1e-12)

    @pytest.mark.parametrize("convert", [np.float32, np.int64, jax.numpy.asarray, np.ndarray.tolist])
    def test_everything_is_float64(self, convert):
        gram = np.round(GRAM) + 60 * np.eye(60)
        gram = convert(gram) if not isinstance(convert, type) else gram.astype(convert)
        fit = regress(gram, np.arange(60), 1)
        assert fit.weights.dtype == fit.mean(np.ones((2, 60), dtype=np.float32)).dtype == fit.leave_one_out().dtype == np.float64
        assert fit.variance(np.zeros((2, 60), dtype=int), [1, 1]).dtype == np.float64
        np.testing.assert_allclose(fit.weights[:, 0], np.linalg.solve(np.round(GRAM) + 61 * np.eye(60), np.arange(60)), rtol=1e-9)


class TestFeatures:
    @pytest.mark.parametrize("ridge", [10.0, 1.0, 0.01])
    @pytest.mark.parametrize("n", [60, 12, 7], ids=["more samples", "as many", "fewer samples"])
    def test_answers_are_those_of_the_gram(self, n, ridge):
        small, large = regress_features(FEATURES[:n], Y[:n], ridge), regress(GRAM[:n, :n], Y[:n], ridge)
        np.testing.assert_allclose(small.mean(NEW), large.mean(CROSS[:, :n]), atol=1e-9)
        np.testing.assert_allclose(small.variance(NEW), large.variance(CROSS[:, :n], PRIOR), atol=1e-9)
        np.testing.assert_allclose(small.train_residual, large.train_residual, atol=1e-9)
        np.testing.assert_allclose(small.leave_one_out(), large.leave_one_out(), atol=1e-9)
        assert small.log_marginal_likelihood == pytest.approx(large.log_marginal_likelihood, rel=1e-9)

    def test_of_a_network(self):
        kernel = specht.Kernel(specht.Architecture(vocab=3, length=6))
        x, new = sequences(200), sequences(50, seed=1)
        y, scale = np.random.default_rng(2).normal(size=200), kernel.diagonal(x).mean()
        small, large = regress_features(kernel.features(x), y, 0.1 * scale), regress(kernel(x), y, 0.1 * scale)
        np.testing.assert_allclose(small.mean(kernel.features(new)), large.mean(kernel(new, x)), atol=1e-9)
        variance = large.variance(kernel(new, x), kernel.diagonal(new))
        np.testing.assert_allclose(small.variance(kernel.features(new)), variance, atol=1e-9 * scale)
        assert small.log_marginal_likelihood == pytest.approx(large.log_marginal_likelihood, rel=1e-9)

    def test_without_ridge_it_is_least_squares(self):
        fit = regress_features(FEATURES, Y, 0.0)
        np.testing.assert_allclose(fit.coefficients, np.linalg.lstsq(FEATURES, Y)[0], rtol=1e-9, atol=1e-11)
        assert (fit.variance(NEW) == 0).all()
        rest = np.arange(1, 60)
        np.testing.assert_allclose(fit.leave_one_out()[0], FEATURES[0] @ np.linalg.lstsq(FEATURES[rest], Y[rest])[0], atol=1e-10)

    def test_everything_is_float64(self):
        fit = regress_features(FEATURES.astype(np.float32), Y.astype(np.float32), 1)
        assert fit.coefficients.dtype == fit.variance(NEW.astype(np.float32)).dtype == fit.leave_one_out().dtype == np.float64


TWINS = np.concatenate([FEATURES[:5], FEATURES[:1]])
BAD = {
    "ridge must be a finite number of at least 0, got -1.": lambda: regress(GRAM, Y, -1),
    "ridge must be a finite number of at least 0, got nan.": lambda: regress(GRAM, Y, math.nan),
    "ridge must be a finite number of at least 0, got 'small'.": lambda: regress_features(FEATURES, Y, "small"),
    "gram holds nan at index (3, 4), 1 such in all: give finite numbers.": lambda: regress(with_entry(GRAM, (3, 4), np.nan), Y, 1.0),
    "gram holds inf at index (0, 0), 1 such in all": lambda: regress(with_entry(GRAM, (0, 0), np.inf), Y, 1.0),
    "y holds nan at index (2, 1)": lambda: regress(GRAM, with_entry(Y, (2, 1), np.nan), 1.0),
    "gram must be square, with one row and one column a sample, got an array of shape (9, 60).": lambda: regress(CROSS, Y, 1.0),
    "gram must be square, with one row and one column a sample, got an array of shape (0, 0).": lambda: regress(np.ones((0, 0)), [], 1.0),
    "gram is not symmetric": lambda: regress(np.triu(GRAM), Y, 1.0),
    "gram has rows of unequal length: give a rectangular array of numbers.": lambda: regress([[1.0], [1.0, 2.0]], [1.0, 2.0], 1.0),
    "gram has dtype complex128: give real numbers.": lambda: regress(GRAM * 1j, Y, 1.0),
    "y must hold one row of labels for each of the 60 samples, got an array of shape (59, 3).": lambda: regress(GRAM, Y[1:], 1.0),
    "y must hold one row of labels for each of the 60 samples, got an array of shape (60, 0).": lambda: regress(GRAM, Y[:, :0], 1.0),
    "leave out samples that repeat.": lambda: regress(TWINS @ TWINS.T, Y[:6], 0.0),
    "The Gram of size 60 is not positive definite at ridge 0, to rounding: row ": lambda: regress(GRAM, Y, 0.0),
    "The Gram of size 2 is not positive definite at ridge 0, to rounding: row 1 has pivot -3.0e+00, and the diagonal goes up to 1.0e+00: "
    "no kernel has such a Gram, so check where it came from.": lambda: regress([[1.0, 2.0], [2.0, 1.0]], [1.0, 2.0], 0.0),
    "for example to 1e-08, or leave out": lambda: regress(np.zeros((2, 2)), [1.0, 2.0], 0.0),
    "cross must be a table of any number of rows and 60 columns, got an array of shape (60, 9)": lambda: regress(GRAM, Y, 1.0).mean(
        CROSS.T
    ),
    "prior must be a vector of 9 numbers, got an array of shape (3,).": lambda: regress(GRAM, Y, 1.0).variance(CROSS, PRIOR[:3]),
    "with a prior variance of 0.0e+00: give cross and prior of the same kernel as the Gram": lambda: regress(GRAM, Y, 1.0).variance(
        CROSS, 0 * PRIOR
    ),
    "features must have a row a sample and a column a feature, got an array of shape (3, 0).": lambda: regress_features(
        np.ones((3, 0)), [1.0, 2.0, 3.0], 1.0
    ),
    "use `regress` with features @ features.T where samples are fewer than features.": lambda: regress_features(FEATURES[:5], Y[:5], 0.0),
    "At ridge 0 labels have no likelihood": lambda: regress_features(FEATURES, Y, 0.0).log_marginal_likelihood,
    "Sample 0 alone determines one of the features": lambda: regress_features(np.eye(3), [1.0, 2.0, 3.0], 0.0).leave_one_out(),
    "features must be a table of any number of rows and 12 columns": lambda: regress_features(FEATURES, Y, 1.0).mean(NEW[:, :3]),
}


def with_entry(array: np.ndarray, at: tuple[int, int], value: float) -> np.ndarray:
    changed = array.copy()
    changed[at] = value
    return changed


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()
