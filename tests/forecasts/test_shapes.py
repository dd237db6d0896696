"""Curves continued by a mixture of shapes: oracles by hand and by simulation, and weights that real curves gave."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import integrate, stats

from specht.forecasts.shapes import ErrorCurve, KnownCurve, Shapes, every_shape, learn_weights, learned_shapes

SIZES = np.array([25.0, 50.0, 100.0, 200.0, 400.0])


def one_shape(power=0.5, floor=0.0, delay=0.0, sharpness=1.0, misfit=1e-9):
    return Shapes(*np.array([[power], [floor], [delay], [sharpness], [misfit], [0.0]]))


def curve_of(function, relative=0.01):
    return ErrorCurve(SIZES, function(SIZES), relative * function(SIZES))


@pytest.mark.parametrize(
    ("shape", "law"),
    [
        (one_shape(power=0.5), lambda n: 3.0 * n**-0.5),
        (one_shape(power=0.7, floor=0.25), lambda n: 0.1 + 0.3 * (n / 400) ** -0.7),
        (one_shape(power=1.2, delay=2.0), lambda n: 0.4 * ((n / 400 + 2.0) / 3.0) ** -1.2),  # POW4
        (one_shape(power=3.0, floor=0.5, delay=0.4, sharpness=3.0), lambda n: 0.2 + 0.2 * 1.4 / ((n / 400) ** 3 + 0.4)),  # MMF4
    ],
)
def test_known_laws_are_among_the_shapes(shape, law):
    forecast = shape.forecast(curve_of(law))
    for n in (100.0, 1600.0, 20000.0):
        assert forecast.quantiles(n, np.array([0.5]))[0] == pytest.approx(law(n), rel=1e-3)


def test_quantiles_are_those_of_the_mixture():
    shapes = Shapes(*np.array([[0.2, 0.8], [0.0, 0.3], [0.0, 0.0], [1.0, 1.0], [0.05, 0.1], [0.0, 0.0]]))
    forecast = shapes.forecast(curve_of(lambda n: n**-0.4, relative=0.2), shared=0.1)
    means, deviations = forecast._laws(1600.0)
    rng = np.random.default_rng(0)
    chosen = rng.choice(len(means), 400_000, p=forecast.weights)
    drawn = np.exp(means[chosen] + deviations[chosen] * rng.standard_normal(len(chosen)))
    levels = np.array([0.05, 0.5, 0.95])
    assert forecast.quantiles(1600.0, levels) == pytest.approx(np.quantile(drawn, levels), rel=0.01)
    assert forecast.share_below(1600.0, float(np.median(drawn))) == pytest.approx(0.5, abs=0.005)


def test_the_likelihood_is_the_integral_over_heights():
    """Of a normal law around each height, by quadrature; a constant that shapes share is left out."""
    curve, log_error = curve_of(lambda n: n**-0.3, relative=0.05), np.log(SIZES**-0.3)
    shapes = Shapes(*np.array([[0.1, 0.6], [0.0, 0.2], [0.0, 1.0], [1.0, 1.0], [0.05, 0.2], [0.0, 0.0]]))
    reading, u = shapes.read(curve), SIZES / 400
    exact = []
    for index in range(2):
        deviation = np.sqrt(0.05**2 + 0.004**2 + (shapes.misfit[index] * np.log(u)) ** 2)
        ratio = shapes.log_ratio(u)[index]

        def density(height, deviation=deviation, ratio=ratio):
            return float(np.prod(stats.norm.pdf(log_error, height + ratio, deviation)))

        exact.append(math.log(integrate.quad(density, -5, 3, points=[log_error[-1]], epsabs=0, epsrel=1e-8)[0]))
    assert np.diff(reading.log_likelihood)[0] == pytest.approx(np.diff(exact)[0], rel=1e-6)


def test_a_ratio_has_no_part_of_the_height():
    wide = dataclasses.replace(curve_of(lambda n: n**-0.5), stderr=0.5 * SIZES**-0.5)
    low, middle, high = one_shape().forecast(wide, shared=1.0).ratio_quantiles(400.0, 1600.0, np.array([0.05, 0.5, 0.95]))
    assert middle == pytest.approx(0.5)
    assert high / low < 1.02


def test_the_library_weighs_one_and_so_do_the_learned_shapes():
    for shapes in (every_shape(), learned_shapes()):
        assert np.exp(shapes.log_weight).sum() == pytest.approx(1.0, abs=0.02)
    assert np.all(learned_shapes().log_ratio(np.ones(1)) == 0.0)


def test_weights_are_learned_from_how_curves_go_on():
    """Curves that keep their power give the steep shape its weight, and curves that stop give it to the flat one."""
    shapes = Shapes(*np.array([[0.5, 0.5], [0.0, 0.9], [0.0, 0.0], [1.0, 1.0], [0.2, 0.2], [0.0, 0.0]]))
    rng = np.random.default_rng(1)
    for floor, likely in ((0.0, 0), (0.9, 1)):
        cases = []
        for _ in range(60):
            u = np.array([0.25, 0.5, 1.0, 4.0])
            error = (floor + (1 - floor) * u**-0.5) * np.exp(0.05 * rng.standard_normal(4))
            cases.append(KnownCurve(ErrorCurve(100 * u[:3], error[:3], 0.3 * error[:3]), 400.0, error[3], 0.05 * error[3]))
        learned = learn_weights(shapes, cases, steps=100, batch=60)
        assert np.exp(learned.log_weight[likely]) > 0.8


def test_intervals_hold_on_curves_that_no_shape_is():
    """Sums of two exponentials and noise are none of the shapes: nine in ten intervals hold, within 3 standard errors."""
    rng, held, seeds = np.random.default_rng(2), 0, 60
    for _ in range(seeds):
        rate, share, floor = rng.uniform(0.002, 0.05), rng.uniform(0.2, 0.8), rng.uniform(0.02, 0.3)

        def law(n, rate=rate, share=share, floor=floor):
            return floor + share * np.exp(-rate * n) + (1 - share) * (1 + n / 60) ** -0.7

        noisy = law(SIZES) * np.exp(0.02 * rng.standard_normal(5))
        low, high = learned_shapes().forecast(ErrorCurve(SIZES, noisy, 0.02 * noisy)).quantiles(1600.0, np.array([0.05, 0.95]))
        held += low <= law(1600.0) <= high
    assert held >= 0.9 * seeds - 3 * math.sqrt(0.09 * seeds)


def test_there_is_no_kink_behind_the_last_point():
    """The slope of the logarithm changes by little where measuring ends."""
    forecast = learned_shapes().forecast(curve_of(lambda n: 0.1 + n**-0.5, relative=0.03))
    grid = 400 * 2.0 ** np.array([-0.5, -0.25, 0.0, 0.25, 0.5])
    values = np.log([forecast.quantiles(float(n), np.array([0.5]))[0] for n in grid])
    slopes = np.diff(values) / np.diff(np.log(grid))
    assert np.ptp(slopes) < 0.1
    assert np.all(slopes < 0)
