"""Parameters of a Gram from labels drawn with known ones, for a kernel written out position by position in JAX."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from specht.errors import InputError
from specht.learning.gp.variance_fit import ParametricGram, fit_model, maximise

ORDER = ("readout", "positions", "tokens", "dense")
OWN = {"tokens": 1 / 3, "positions": 1.0, "dense": 1.0, "readout": 1.0}
X = np.random.default_rng(0).integers(0, 3, (80, 6))
SAME = (X[:, None, :, None] == X[None, :, None, :]).astype(float)


def linear(values, same):
    """s_1 s_2 K_cc sum_ab K_ab^2 with K_ab = s_w [x_a = y_b] + s_p [a = b]: linear attention, read at the last column c."""
    k = values["tokens"] * same + values["positions"] * jnp.eye(6)[None, None]
    return values["dense"] * values["readout"] * k[:, :, -1, -1] * jnp.sum(k**2, axis=(2, 3))


def by_token(values, same):
    """The same as `linear` with a variance for each token, and without positions."""
    k = values["tokens"][X][:, None, :, None] * same
    return values["readout"] * k[:, :, -1, -1] * jnp.sum(k**2, axis=(2, 3))


def drawn(gram, values, ridge, seed, outputs=8):
    """Labels from the model."""
    with jax.enable_x64(True):
        covariance = np.asarray(gram(values, SAME)) + ridge * np.eye(80)
    return np.linalg.cholesky(covariance) @ np.random.default_rng(seed).normal(size=(80, outputs))


class TestRecovery:
    @pytest.mark.parametrize("seed", range(3))
    def test_linear_block(self, seed):
        y = drawn(linear, {"tokens": 1 / 3, "positions": 2.0, "dense": 1.0, "readout": 0.05}, 0.2, seed)
        fitted = fit_model(ParametricGram(linear, OWN, "readout", ORDER, SAME), y, starts=2, seed=seed)
        assert fitted.optimum.names == ("positions", "readout", "ridge")
        assert fitted.held == ("tokens", "dense")
        assert (fitted.values["tokens"], fitted.values["dense"]) == (pytest.approx(1 / 3), 1.0)
        z = np.log(fitted.optimum.values / [2.0, 0.05, 0.2]) / fitted.optimum.log_stderr
        assert (np.abs(z) < 4).all()
        assert (fitted.optimum.log_stderr < 0.5).all()

    def test_one_variance_a_token(self):
        truth = np.array([0.1, 1.0, 3.0])
        y = drawn(by_token, {"tokens": truth, "readout": 1.0}, 0.05, 0, outputs=20)
        fitted = fit_model(
            ParametricGram(by_token, {"tokens": np.ones(3), "readout": 1.0}, "readout", ("tokens", "readout"), SAME), y, starts=2
        )
        assert fitted.optimum.names == ("tokens[0]", "tokens[1]", "tokens[2]", "ridge")
        assert fitted.held == ("readout",)
        z = np.log(fitted.values["tokens"] / truth) / fitted.optimum.log_stderr[:3]
        assert (np.abs(z) < 4).all()

    def test_variances_that_are_zero_stay_zero(self):
        y = drawn(linear, {"tokens": 1.0, "positions": 0.0, "dense": 1.0, "readout": 0.1}, 0.2, 1)
        fitted = fit_model(ParametricGram(linear, OWN | {"positions": 0.0}, "readout", ORDER, SAME), y, starts=2)
        assert fitted.values["positions"] == 0.0
        assert fitted.optimum.names == ("readout", "ridge")


class TestOptimum:
    def test_no_step_to_any_side_is_more_likely(self):
        y = drawn(linear, {"tokens": 1 / 3, "positions": 2.0, "dense": 1.0, "readout": 0.05}, 0.2, 4)
        fitted = fit_model(ParametricGram(linear, OWN, "readout", ORDER, SAME), y, starts=2)

        def likelihood(values, ridge):
            with jax.enable_x64(True):
                covariance = np.asarray(linear(values, SAME)) + ridge * np.eye(80)
            _, log_determinant = np.linalg.slogdet(2 * np.pi * covariance)
            return -0.5 * (np.vdot(y, np.linalg.solve(covariance, y)) + 8 * log_determinant)

        best = likelihood(fitted.values, fitted.ridge)
        assert best == pytest.approx(fitted.optimum.log_likelihood, rel=1e-10)
        for name in ("positions", "readout"):
            for factor in (0.9, 1.1):
                assert likelihood(fitted.values | {name: fitted.values[name] * factor}, fitted.ridge) < best
        for factor in (0.9, 1.1):
            assert likelihood(fitted.values, fitted.ridge * factor) < best

    def test_bounds_are_told_in_words(self):
        y = drawn(linear, {"tokens": 1 / 3, "positions": 2.0, "dense": 1.0, "readout": 0.05}, 0.2, 5)
        bounds = {"positions": (4.0, 8.0), "ridge": (0.001, 0.1)}
        optimum = fit_model(ParametricGram(linear, OWN, "readout", ORDER, SAME), y, starts=1, bounds=bounds).optimum
        assert optimum.at_bound == {"positions": "lower", "ridge": "upper"}
        assert optimum.warnings() == (
            "positions stopped at its lower bound 4: the labels ask for a smaller value, so do not trust it.",
            "ridge stopped at its upper bound 0.1: the labels ask for a larger value, so do not trust it.",
        )
        assert np.isnan(optimum.log_stderr[[0, 2]]).all()
        assert np.isfinite(optimum.log_stderr[1])

    def test_progress_counts_starts(self):
        seen = []
        y = drawn(linear, OWN, 0.2, 6)
        fit_model(ParametricGram(linear, OWN, "readout", ORDER, SAME), y, starts=3, progress=lambda done, total: seen.append((done, total)))
        assert seen == [(1, 3), (2, 3), (3, 3)]


class TestMaximise:
    def test_flat_directions_have_no_error(self):
        def valley(logarithms):
            slope = -2.0 * (logarithms[0] + logarithms[1])
            return -float((logarithms[0] + logarithms[1]) ** 2), np.array([slope, slope, -2.0 * logarithms[2]])

        best = maximise(valley, ["a", "b", "c"], np.ones((1, 3)), np.full(3, -3.0), np.full(3, 3.0), labels=1)
        assert np.isnan(best.log_stderr[:2]).all()
        assert best.log_stderr[2] == pytest.approx(np.sqrt(0.5), rel=1e-6)
        assert best.warnings() == ("The likelihood does not fix a, b: it is flat there, so they have no standard error.",)

    def test_points_without_a_likelihood_are_left(self):
        def half_plane(logarithms):
            value = -float((logarithms[0] - 1.0) ** 2) if logarithms[0] > 0 else float("nan")
            return value, np.array([-2.0 * (logarithms[0] - 1.0)])

        best = maximise(half_plane, ["a"], np.array([[-2.0], [2.9]]), np.full(1, -3.0), np.full(1, 3.0), labels=1)
        assert best.values[0] == pytest.approx(np.e, rel=1e-5)

    def test_nowhere_is_an_error(self):
        with pytest.raises(InputError, match="not positive definite at any start: raise the lower bound of the ridge"):
            maximise(lambda t: (float("nan"), t), ["a"], np.zeros((1, 1)), np.full(1, -1.0), np.full(1, 1.0), labels=1)


MODEL = ParametricGram(linear, OWN, "readout", ORDER, SAME)
Y = np.arange(80.0)
BAD = {
    "All 80 labels are equal, so they say nothing about variances: give labels that differ.": lambda: fit_model(MODEL, np.ones(80)),
    "y holds nan at index (0, 0)": lambda: fit_model(MODEL, np.append(np.nan, Y[1:])),
    "starts must be a whole number of at least 1, got 0.": lambda: fit_model(MODEL, Y, starts=0),
    "Unknown parameter with bounds 'token'": lambda: fit_model(MODEL, Y, bounds={"token": (0.1, 1.0)}),
    "A bound of ridge must be a finite number above 0, got 0": lambda: fit_model(MODEL, Y, bounds={"ridge": (0, 1.0)}),
    "The bounds of ridge must be a smallest and a larger largest value, got (2, 1).": lambda: fit_model(MODEL, Y, bounds={"ridge": (2, 1)}),
    "The kernel is zero, because its readout variance is: give it a positive one.": lambda: fit_model(
        ParametricGram(linear, OWN | {"readout": 0.0}, "readout", ORDER, SAME), Y
    ),
}


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()
