"""The Gaussian process against plain NumPy, and what it says to bad input; a second library checks `regress`, which it stands on."""

from __future__ import annotations

import re

import numpy as np
import pytest

import specht
from specht import GP
from specht.errors import InputError
from specht.testing import assert_matches_samples

ERF = specht.Architecture(vocab=3, length=6, activation="erf")
LINEAR = specht.Architecture(vocab=3, length=6)
RNG = np.random.default_rng(0)
X, NEW = (RNG.integers(0, 3, (n, 7)) for n in (60, 9))
Y = RNG.normal(size=(60, 3))


def counts_kernel(x, y=None):
    """Somebody's own Gram function: grows with the number of places at which two sequences agree."""
    y = x if y is None else y
    return np.exp((x[:, None, :] == y[None, :, :]).mean(axis=-1))


KERNELS = {
    "erf": ERF,
    "linear": LINEAR,
    "ntk": specht.Kernel(ERF).ntk,
    "function": counts_kernel,
}


def by_inverse(kernel, x, y, new, ridge):
    """Mean, covariance and log likelihood written out with an inverse."""
    covariance = kernel(x) + ridge * np.eye(len(x))
    inverse, cross = np.linalg.inv(covariance), np.asarray(kernel(new, x))
    _, log_determinant = np.linalg.slogdet(2 * np.pi * covariance)
    likelihood = -0.5 * (np.sum(y * (inverse @ y)) + y.shape[1] * log_determinant)
    return cross @ inverse @ y, kernel(new) - cross @ inverse @ cross.T, likelihood


class TestPosterior:
    @pytest.mark.parametrize("method", ["auto", "iterative"])
    @pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
    def test_every_kernel_and_method_against_the_inverse(self, kernel, method):
        gram = specht.Kernel(kernel) if isinstance(kernel, specht.Architecture) else kernel
        mean, covariance, likelihood = by_inverse(gram, X, Y, NEW, ridge=0.3)
        posterior = GP(kernel, ridge=0.3, method=method, tolerance=1e-10).condition(X, Y)
        prediction = posterior.predict(NEW)
        np.testing.assert_allclose(prediction.mean, mean, atol=1e-8)
        np.testing.assert_allclose(prediction.variance, covariance.diagonal(), atol=1e-8)
        if method != "iterative":
            assert posterior.log_marginal_likelihood == pytest.approx(likelihood, rel=1e-9)

    def test_iterative_likelihood_has_an_error(self):
        _, _, likelihood = by_inverse(counts_kernel, X, Y, NEW, ridge=0.3)
        posterior = GP(counts_kernel, ridge=0.3, method="iterative").condition(X, Y)
        assert abs(posterior.log_marginal_likelihood - likelihood) <= 5 * posterior.log_marginal_likelihood_stderr
        assert posterior.log_marginal_likelihood_stderr > 0.0

    def test_features_are_used_where_they_are_fewer(self):
        x = RNG.integers(0, 3, (150, 7))
        few, many = GP(LINEAR, ridge=0.5).condition(x, x[:, 1]), GP(LINEAR, ridge=0.5).condition(x[:20], x[:20, 1])
        assert (few.method, many.method) == ("cholesky of features", "cholesky")
        mean, covariance, likelihood = by_inverse(specht.Kernel(LINEAR), x, x[:, [1]], NEW, ridge=0.5)
        np.testing.assert_allclose(few.predict(NEW).mean, mean[:, 0], atol=1e-8)
        np.testing.assert_allclose(few.predict(NEW).variance, covariance.diagonal(), atol=1e-8)
        assert few.log_marginal_likelihood == pytest.approx(likelihood, rel=1e-9)

    def test_memory_chooses_the_method(self):
        small, large = (GP(ERF, ridge=0.3, memory=memory).condition(X, Y) for memory in (1e3, 1e9))
        assert (small.method, large.method) == ("iterative", "cholesky")
        np.testing.assert_allclose(small.predict(NEW).mean, large.predict(NEW).mean, atol=1e-4)

    def test_padding(self):
        mask = np.arange(7)[None, :] >= RNG.integers(0, 5, 60)[:, None]
        kernel = specht.Kernel(ERF)
        other = np.where(mask, X, 0)
        for method in ("cholesky", "iterative"):
            posterior = GP(ERF, ridge=0.3, method=method, tolerance=1e-8).condition(X, Y, mask)
            inverse = np.linalg.inv(kernel(X, mask=mask) + 0.3 * np.eye(60))
            cross = kernel(NEW, X, mask_y=mask)
            np.testing.assert_allclose(posterior.predict(NEW).mean, cross @ inverse @ Y, atol=1e-5)
            np.testing.assert_allclose(posterior.predict(other, mask).mean, posterior.predict(X, mask).mean, atol=1e-10)

    def test_shape_of_means_follows_labels(self):
        assert GP(ERF, ridge=1.0).condition(X, Y[:, 0]).predict(NEW).mean.shape == (9,)
        assert GP(ERF, ridge=1.0).condition(X, Y[:, :1]).predict(NEW).mean.shape == (9, 1)

    def test_a_new_label_has_the_noise_on_top(self):
        posterior = GP(ERF, ridge=0.7).condition(X, Y)
        np.testing.assert_allclose(posterior.predict(NEW, noise=True).variance, posterior.predict(NEW).variance + 0.7)

    def test_heads_drawn_jointly(self, tmp_path):
        """As many as the samples asked for, whatever the kernel is asked later; so a posterior from a file is the same one."""
        deep = specht.Architecture(vocab=3, length=3, attention="softmax", readout="mean")
        kernel = specht.Kernel(deep, relative_error=0.9)
        x, new, y = X[:20, :3], NEW[:, :3], Y[:20]
        posterior = GP(kernel, ridge=0.3).condition(x, y)
        assert posterior.gp.kernel.heads == kernel.heads_drawn() == 256
        gram = kernel(np.concatenate([x, new]))
        inverse = np.linalg.inv(gram[:20, :20] + 0.3 * np.eye(20))
        kernel._heads_chosen["nngp"] = 512  # as a larger batch would have it
        prediction = posterior.predict(new)
        np.testing.assert_allclose(prediction.mean, gram[20:, :20] @ inverse @ y, atol=1e-9)
        expected = (gram[20:, 20:] - gram[20:, :20] @ inverse @ gram[:20, 20:]).diagonal()
        np.testing.assert_allclose(prediction.variance, expected, atol=1e-9)
        posterior.save(tmp_path / "posterior.nc")
        again = specht.load(tmp_path / "posterior.nc").predict(new)
        np.testing.assert_array_equal(again.mean, prediction.mean)
        np.testing.assert_array_equal(again.variance, prediction.variance)
        rows, mean, _ = posterior.at_samples
        np.testing.assert_allclose(mean, y - 0.3 * posterior.solver.fit.weights, atol=1e-9)
        assert rows.tolist() == list(range(20))

    def test_sampled_heads_come_back_from_a_file(self, tmp_path):
        softmax = specht.Architecture(vocab=3, length=3, attention="softmax")
        posterior = GP(specht.Kernel(softmax, relative_error=0.9, seed=4), ridge=0.3).condition(X[:9, :4], Y[:9])
        posterior.save(tmp_path / "posterior.nc")
        one, two = (answer.predict(NEW[:, :4]) for answer in (posterior, specht.load(tmp_path / "posterior.nc")))
        np.testing.assert_array_equal(one.mean, two.mean)
        np.testing.assert_array_equal(one.variance, two.variance)
        assert posterior.gp.kernel.heads == 256

    def test_repr(self):
        posterior = GP(ERF, ridge=0.25).condition(X, Y)
        assert repr(posterior) == f"Posterior: {ERF}\n60 samples, 3 outputs, ridge 0.25, by cholesky"
        assert repr(GP(counts_kernel)) == "GP(counts_kernel; ridge 1 in units of the kernel)"


class TestUnits:
    def test_doubling_kernel_and_ridge_doubles_variances(self):
        one = GP(counts_kernel, ridge=0.3).condition(X, Y).predict(NEW)
        two = GP(lambda x, y=None: 2 * counts_kernel(x, y), ridge=0.6).condition(X, Y).predict(NEW)
        np.testing.assert_allclose(two.mean, one.mean, atol=1e-12)
        np.testing.assert_allclose(two.variance, 2 * one.variance, atol=1e-12)

    def test_mean_diagonal(self):
        size = float(specht.Kernel(ERF).diagonal(X).mean())
        relative = GP(ERF, ridge=0.3, unit="mean diagonal").condition(X, Y)
        assert relative.ridge == pytest.approx(0.3 * size)
        np.testing.assert_allclose(relative.predict(NEW).mean, GP(ERF, ridge=0.3 * size).condition(X, Y).predict(NEW).mean, atol=1e-12)


def mean_and_error(draws):
    return draws.mean(axis=0), draws.std(axis=0, ddof=1) / np.sqrt(len(draws))


class TestSamples:
    @pytest.mark.parametrize(("kernel", "method"), [(ERF, "cholesky"), (ERF, "iterative"), (LINEAR, "auto")])
    def test_have_the_moments_of_the_posterior(self, kernel, method):
        x = RNG.integers(0, 3, (150, 7))
        y = np.stack([x[:, 0], x[:, 1] - 1.0], axis=1)
        posterior = GP(kernel, ridge=0.3, method=method).condition(x, y)
        mean, covariance, _ = by_inverse(specht.Kernel(kernel), x, y, NEW, ridge=0.3)
        draws = posterior.sample(NEW, 4000, seed=1)
        assert draws.shape == (4000, 9, 2)
        assert_matches_samples(mean, *mean_and_error(draws))
        centred = draws - mean
        products = np.einsum("nik,njk->nij", centred, centred) / 2
        assert_matches_samples(covariance, *mean_and_error(products))

    def test_repeat_with_their_seed(self):
        posterior = GP(ERF, ridge=0.3).condition(X, Y[:, 0])
        one, two, other = (posterior.sample(NEW, 3, seed=seed) for seed in (0, 0, 1))
        assert one.shape == (3, 9)
        np.testing.assert_array_equal(one, two)
        assert not np.allclose(one, other)

    def test_noise(self):
        posterior = GP(ERF, ridge=2.0).condition(X, Y[:, 0])
        draws = posterior.sample(NEW[:1], 4000, noise=True)
        variance = posterior.predict(NEW[:1], noise=True).variance
        assert_matches_samples(variance, *mean_and_error((draws - posterior.predict(NEW[:1]).mean) ** 2))


def first_column(x, y=None):
    return x[:, 0]


TWICE = np.concatenate([X, X[:1]])
DEEP = specht.Architecture(vocab=3, length=6, attention="softmax", depth=2)
BAD = {
    "kernel must be an Architecture, a Kernel or a function gram(x, y=None), got 3": lambda: GP(3),
    "ridge must be a finite number of at least 0, got -1.": lambda: GP(ERF, ridge=-1),
    "Unknown unit of the ridge 'mean'. Choose from: kernel, mean diagonal.": lambda: GP(ERF, unit="mean"),
    "Unknown method 'choleski': did you mean 'cholesky'?": lambda: GP(ERF, method="choleski"),
    "tolerance must be a number between 0 and 1, got 0.": lambda: GP(ERF, tolerance=0),
    "memory (bytes) must be a finite number of at least 0, got -1.": lambda: GP(ERF, memory=-1),
    "seed must be a whole number from 0 to 2147483647, got 0.5.": lambda: GP(ERF, seed=0.5),
    "The Gram of size 61 is not positive definite at ridge 0, to rounding": lambda: GP(ERF, ridge=0).condition(TWICE, np.arange(61)),
    "leave out samples that repeat.": lambda: GP(LINEAR, ridge=0).condition(TWICE, np.arange(61)),
    "y must hold one row of labels for each of the 60 samples, got an array of shape (59, 3).": lambda: GP(ERF).condition(X, Y[1:]),
    "y holds nan at index (0, 0), 1 such in all: give finite numbers.": lambda: GP(ERF).condition(X, [np.nan, *np.zeros(59)]),
    "x has 6 columns, but length=6": lambda: GP(ERF).condition(X[:, 1:], Y),
    "x_new holds token 3, but vocab=3": lambda: GP(ERF).condition(X, Y).predict(NEW + 1),
    "the mask of x has shape (9, 7)": lambda: GP(ERF).condition(X, Y, np.ones((9, 7), bool)),
    "method='iterative' needs a positive ridge, got 0": lambda: GP(ERF, ridge=0, method="iterative").condition(X, Y),
    "so its Gram has no tiles: use method='cholesky' on fewer sequences.": lambda: GP(DEEP, method="iterative").condition(X, Y),
    "counts_kernel is a function of x and y, so it cannot use a mask": lambda: GP(counts_kernel).condition(X, Y, np.ones((60, 7), bool)),
    "x has shape (): give one input a row, and at least one.": lambda: GP(counts_kernel).condition(3, [1.0]),
    "the kernel must be a table of 60 rows and 60 columns, got an array of shape (60,).": lambda: GP(first_column).condition(X, Y),
    "vanishes on these inputs: raise a variance, or choose another kernel.": lambda: GP(
        lambda x, y=None: np.zeros((60, 60)), unit="mean diagonal"
    ).condition(X, Y),
    "n must be a whole number of at least 1, got 0.": lambda: GP(ERF).condition(X, Y).sample(NEW, 0),
}  # fmt: skip


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()
