"""Estimates with their errors, against formulas, least squares of NumPy and samples."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specht.errors import InputError
from specht.stats import fit_exponent, jackknife_error, standard_error

LENGTHS = [4, 8, 16, 32, 64]


def test_the_error_of_a_mean_is_its_scatter_over_samples():
    samples = np.random.default_rng(0).normal(size=(4000, 8))
    errors = standard_error(samples, axis=1)
    assert errors.shape == (4000,)
    # The mean of squared errors is the variance of a mean, 1/8, within the scatter of 4000 estimates with seven degrees of freedom each.
    assert abs((errors**2).mean() - 1 / 8) < 4 * math.sqrt(2 / 7 / 4000) / 8
    np.testing.assert_array_equal(standard_error(samples.T), errors)


def test_the_jackknife_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(0).normal(size=(9, 2))
    left_out = [np.delete(values, out, axis=0).mean(axis=0) for out in range(9)]
    np.testing.assert_allclose(jackknife_error(left_out), standard_error(values), rtol=1e-12)


class TestExponent:
    def test_a_power_law_has_no_error(self):
        fit = fit_exponent(LENGTHS, [7.0 * length**-1.5 for length in LENGTHS])
        assert fit.value == pytest.approx(-1.5, abs=1e-13)
        assert fit.stderr is not None
        assert fit.stderr < 1e-13
        assert fit.scatter < 1e-13

    def test_exact_values_are_fitted_by_ordinary_least_squares(self):
        values = np.exp(np.random.default_rng(0).normal(size=len(LENGTHS)))
        (slope, _), covariance = np.polyfit(np.log(LENGTHS), np.log(values), 1, cov=True)
        fit = fit_exponent(LENGTHS, values.tolist())
        assert fit.value == pytest.approx(slope, rel=1e-9)
        assert fit.stderr == pytest.approx(math.sqrt(covariance[0, 0]), rel=1e-6)

    def test_sampled_values_on_a_line_are_weighted_by_their_errors(self):
        errors = np.array([0.01, 0.4, 0.02, 0.3, 0.01])
        values = np.array(LENGTHS) ** -1.0 * np.exp(0.3 * errors * [1, -1, 1, -1, 1])  # closer to a line than the errors expect
        (slope, _), covariance = np.polyfit(np.log(LENGTHS), np.log(values), 1, w=1 / errors, cov="unscaled")
        fit = fit_exponent(LENGTHS, values.tolist(), errors.tolist())
        assert fit.value == pytest.approx(slope, rel=1e-9)
        assert fit.stderr == pytest.approx(math.sqrt(covariance[0, 0]), rel=1e-9)
        assert fit.scatter == 0.0

    @pytest.mark.parametrize("scatter", [0.0, 0.1])
    def test_errors_cover_the_truth(self, scatter):
        rng, errors, repeats = np.random.default_rng(1), np.array([0.02, 0.05, 0.1, 0.02, 0.05, 0.1, 0.02, 0.05]), 300
        lengths = [2**power for power in range(2, 10)]
        noise = rng.normal(size=(repeats, len(lengths))) * np.sqrt(errors**2 + scatter**2)
        fits = [fit_exponent(lengths, (np.array(lengths) ** -2.0 * np.exp(row)).tolist(), errors.tolist()) for row in noise]
        pulls = np.array([(fit.value + 2) / (fit.stderr or 0.0) for fit in fits])
        assert abs(pulls.mean()) < 4 / math.sqrt(repeats)
        # A normal variable is within one standard error in 68 % of cases, within two in 95 %; tails are heavier where scatter is estimated.
        assert 0.58 < np.mean(np.abs(pulls) < 1) < 0.8
        assert np.mean(np.abs(pulls) < 2) > 0.85
        assert np.median([fit.scatter for fit in fits]) == pytest.approx(scatter, abs=0.02)

    def test_two_exact_points_have_a_slope_and_no_error(self):
        fit = fit_exponent([4, 16], [1.0, 0.25])
        assert fit.value == pytest.approx(-1.0)
        assert fit.stderr is None

    @pytest.mark.parametrize(("lengths", "values"), [([4], [1.0]), ([4, 4], [1.0, 2.0]), ([4, 8, 16], [1.0, 2.0])])
    def test_too_few_points_are_refused(self, lengths, values):
        with pytest.raises(InputError, match="two lengths or more"):
            fit_exponent(lengths, values)

    def test_equal_values_have_exponent_zero(self):
        for length in range(3, 12):  # whichever way rounding goes
            values = [4.000000000000001, *[4.0] * (length - 1)]
            assert fit_exponent([2**n for n in range(5, 5 + length)], values).value == pytest.approx(0.0, abs=1e-14)
