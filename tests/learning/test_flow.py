"""Gradient flow against the integrated equations of a model that is linear in its parameters, and its limits."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import specht
from specht.errors import InputError
from specht.learning.flow import gradient_flow
from specht.learning.gp.regression import regress

RNG = np.random.default_rng(0)
SLOPES, NEW = RNG.normal(size=(12, 20)) / 4, RNG.normal(size=(5, 20)) / 4  # gradients of twelve samples and five new sequences
Y = RNG.normal(size=(12, 2))
GRAM, CROSS = SLOPES @ SLOPES.T, NEW @ SLOPES.T
TIMES = np.array([0.0, 0.1, 1.0, 7.0])


def integrated(slopes: np.ndarray, ridge: float, times: np.ndarray, loss_factor: float = 1.0) -> np.ndarray:
    """Parameters (T, P, K) along d theta / dt = - gradient, from zero."""

    def gradient_descent(_, flat):
        theta = flat.reshape(slopes.shape[1], 2)
        return -(loss_factor * slopes.T @ (slopes @ theta - Y[: len(slopes)]) + ridge * theta).ravel()

    start = np.zeros(slopes.shape[1] * 2)
    found = solve_ivp(gradient_descent, (0.0, times[-1]), start, t_eval=times, method="DOP853", rtol=1e-11, atol=1e-12)
    return found.y.T.reshape(len(times), slopes.shape[1], 2)


class TestAgainstTheDifferentialEquation:
    @pytest.mark.parametrize("ridge", [0.0, 0.3])
    @pytest.mark.parametrize("parameters", [20, 8], ids=["over-parametrised", "fewer parameters than samples"])
    def test_outputs_errors_and_loss(self, ridge, parameters):
        slopes, new = SLOPES[:, :parameters], NEW[:, :parameters]
        theta = integrated(slopes, ridge, TIMES)
        flow = gradient_flow(slopes @ slopes.T, Y, ridge)
        residual = Y - slopes @ theta
        np.testing.assert_allclose(flow.mean(new @ slopes.T, TIMES), new @ theta, atol=1e-9)
        np.testing.assert_allclose(flow.train_residual(TIMES), residual, atol=1e-9)
        np.testing.assert_allclose(flow.train_error(TIMES), np.square(residual).sum(axis=(1, 2)) / 12, atol=1e-9)
        loss = (np.square(residual).sum(axis=(1, 2)) + ridge * np.square(theta).sum(axis=(1, 2))) / 2
        np.testing.assert_allclose(flow.loss(TIMES), loss, atol=1e-9)

    def test_the_mean_loss_runs_slower(self):
        theta = integrated(SLOPES, 0.0, TIMES, loss_factor=2 / 12)  # of the mean over samples of |f - y|^2
        np.testing.assert_allclose(gradient_flow(GRAM, Y).mean(CROSS, 2 * TIMES / 12), NEW @ theta, atol=1e-9)

    def test_small_steps_of_gradient_descent(self):
        distances = []
        for steps in (100, 200):
            theta, rate = np.zeros((20, 2)), 1.0 / steps
            for _ in range(steps):
                theta -= rate * SLOPES.T @ (SLOPES @ theta - Y)
            distances.append(np.abs(gradient_flow(GRAM, Y).mean(CROSS, 1.0) - NEW @ theta).max())
        assert distances[1] < 0.02
        assert distances[0] / distances[1] == pytest.approx(2, abs=0.1)  # the error of Euler's method is of first order


class TestLimits:
    @pytest.mark.parametrize("ridge", [0.0, 0.3])
    @pytest.mark.parametrize("time", [np.inf, 1e9])
    def test_after_long_time_it_is_regression(self, ridge, time):
        flow, fit = gradient_flow(GRAM, Y, ridge), regress(GRAM, Y, ridge)
        np.testing.assert_allclose(flow.mean(CROSS, time), fit.mean(CROSS), atol=1e-9)
        np.testing.assert_allclose(flow.weights(time), fit.weights, atol=1e-8)
        np.testing.assert_allclose(flow.train_residual(time), fit.train_residual, atol=1e-9)

    def test_a_singular_kernel_interpolates_with_least_norm(self):
        slopes, new = SLOPES[:, :8], NEW[:, :8]
        flow = gradient_flow(slopes @ slopes.T, Y)
        assert np.count_nonzero(flow.eigenvalues) == 8
        np.testing.assert_allclose(flow.mean(new @ slopes.T, np.inf), new @ np.linalg.pinv(slopes) @ Y, atol=1e-9)
        np.testing.assert_allclose(flow.train_residual(np.inf), Y - slopes @ np.linalg.pinv(slopes) @ Y, atol=1e-9)

    def test_it_starts_at_zero_with_the_slope_of_the_kernel(self):
        flow = gradient_flow(GRAM, Y)
        assert (flow.mean(CROSS, 0.0) == 0).all()
        np.testing.assert_allclose(flow.mean(CROSS, 1e-12) / 1e-12, CROSS @ Y, rtol=1e-9)
        assert flow.loss(0.0) == pytest.approx(np.square(Y).sum() / 2)

    def test_tiny_residuals_are_precise(self):
        flow = gradient_flow(np.eye(3), np.ones(3))
        assert flow.train_error(100.0) == pytest.approx(np.exp(-200.0), rel=1e-12)

    def test_the_loss_never_rises(self):
        for ridge in (0.0, 0.5):
            assert (np.diff(gradient_flow(GRAM, Y, ridge).loss(np.linspace(0, 20, 200))) <= 0).all()

    def test_samples_that_repeat(self):
        kernel = specht.Kernel(specht.Architecture(vocab=2, length=3, activation="erf"))
        x = specht.sources.uniform(2).sample(0, 60, 3)  # sixteen sequences at most
        y = np.random.default_rng(1).normal(size=60)
        unique, which = np.unique(x, axis=0, return_inverse=True)
        means = np.array([y[which == i].mean() for i in range(len(unique))])
        flow = gradient_flow(kernel.ntk(x), y)
        np.testing.assert_allclose(flow.mean(kernel.ntk(unique, x), np.inf)[:, 0], means, atol=1e-8)


def test_shapes_and_types():
    flow = gradient_flow(GRAM.astype(np.float32), Y[:, 0].astype(np.float32))
    assert flow.mean(CROSS.astype(np.float32), 1).shape == (5, 1)
    assert flow.mean(CROSS, [1, 2, 3]).shape == (3, 5, 1)
    assert flow.weights([1.0]).shape == flow.train_residual([1.0]).shape == (1, 12, 1)
    assert flow.mean(CROSS, 1).dtype == flow.weights(1).dtype == flow.train_error([1]).dtype == np.float64
    assert isinstance(flow.loss(1), float)


BAD = {
    "time must be a number of at least 0 or a list of such (infinity is allowed), got -1.0.": lambda: gradient_flow(GRAM, Y).weights(-1.0),
    "time must be a number of at least 0 or a list of such (infinity is allowed), got nan.": lambda: gradient_flow(GRAM, Y).loss(np.nan),
    "time must be a number or a list of numbers, got 'late'.": lambda: gradient_flow(GRAM, Y).mean(CROSS, "late"),
    "got [].": lambda: gradient_flow(GRAM, Y).mean(CROSS, []),
    "gram has the eigenvalue -1.0e+00 and a largest one of 3.0e+00": lambda: gradient_flow([[1.0, 2.0], [2.0, 1.0]], [1.0, 1.0]),
    "ridge must be a finite number of at least 0, got -0.1.": lambda: gradient_flow(GRAM, Y, -0.1),
    "gram must be square": lambda: gradient_flow(CROSS, Y),
    "cross must be a table of any number of rows and 12 columns": lambda: gradient_flow(GRAM, Y).mean(CROSS.T, 1.0),
}


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()
