"""Laws of growth on thresholds that follow them, with and without noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specht.errors import InputError
from specht.studies.sparse.growth import fit_growth

LENGTHS = [25, 35, 50, 71, 100, 141, 200]
TRUE = {
    "log": lambda T: -20 + 17 * math.log(T),
    "power": lambda T: 9 * T**0.7,
    "linear": lambda T: 10 + 5 * T,
}


@pytest.mark.parametrize("law", TRUE)
def test_each_law_is_found_without_noise(law):
    values = [TRUE[law](T) for T in LENGTHS]
    found = fit_growth(LENGTHS, values, [0.005] * 7)
    best = min(found.laws.values(), key=lambda each: each.aic)
    assert best.name == law
    np.testing.assert_allclose(best(LENGTHS), values, rtol=1e-4)
    assert best.chi_square == pytest.approx(0.0, abs=1e-6)
    assert best.r_squared == pytest.approx(1.0, abs=1e-6)
    assert found.verdict == {"log": "log T", "power": "T^{0.7}", "linear": "linear in T"}[law]


def test_exponent_has_the_error_that_it_says():
    rng, misses = np.random.default_rng(0), []
    for _ in range(200):
        noisy = [9 * T**0.7 * math.exp(0.06 * rng.standard_normal()) for T in LENGTHS]
        found = fit_growth(LENGTHS, noisy, [0.06] * 7)
        misses.append((found.exponent - 0.7) / found.exponent_stderr)
    assert abs(np.mean(misses)) < 5 / math.sqrt(200)
    assert 0.7 < np.std(misses) < 1.15  # errors are raised where the best law leaves more than its noise


def test_the_exponent_s_error_is_that_of_the_power_law():
    """On thresholds that follow a logarithm: by weighted least squares of ln m against ln T, scaled by what the power law itself misses."""
    x, y = np.log(LENGTHS), np.log([TRUE["log"](T) for T in LENGTHS])
    found = fit_growth(LENGTHS, np.exp(y), [0.01] * 7)
    slope, intercept = np.polyfit(x, y, 1)
    scatter = np.sum((y - slope * x - intercept) ** 2) / 5
    assert found.verdict == "log T"
    assert found.exponent_stderr == pytest.approx(math.sqrt(scatter / np.sum((x - x.mean()) ** 2)), rel=1e-6)
    assert found.exponent_stderr > 2 * 0.01 / math.sqrt(np.sum((x - x.mean()) ** 2))


def test_a_logarithm_and_a_small_power_are_not_told_apart():
    found = fit_growth(LENGTHS, [TRUE["log"](T) for T in LENGTHS], [0.08] * 7)
    assert found.verdict == "sub-linear, log and T^a not separated at this scale"
    assert 0 < found.advantage("log", "power") < 4 < found.advantage("log", "linear")


def test_large_errors_separate_nothing():
    assert fit_growth(LENGTHS, [TRUE["linear"](T) for T in LENGTHS], [1.0] * 7).verdict == "laws not separated at this scale"


def test_faster_than_linear():
    assert fit_growth([10, 20, 40], [100, 405, 1580], [0.05] * 3).verdict in ("T^{2}", "faster than linear in T")


def test_r_squared_is_that_of_least_squares():
    rng = np.random.default_rng(1)
    m = np.array([TRUE["log"](T) for T in LENGTHS]) + rng.standard_normal(7)
    found = fit_growth(LENGTHS, m, [0.05] * 7)
    assert found.log_r_squared == pytest.approx(np.corrcoef(np.log(LENGTHS), m)[0, 1] ** 2)
    assert found.linear_r_squared == pytest.approx(np.corrcoef(LENGTHS, m)[0, 1] ** 2)


def test_laws_that_would_be_negative_are_still_fitted():
    found = fit_growth([2, 3, 50, 100], [1, 1, 200, 600], [0.1] * 4)
    assert all(math.isfinite(law.aic) for law in found.laws.values())
    assert found.laws["power"].aic < found.laws["log"].aic


def test_bad_input_is_a_sentence():
    with pytest.raises(InputError, match="there are 2 lengths: give at least 3"):
        fit_growth([10, 20, 20], [1, 2, 2], [0.1] * 3)
    with pytest.raises(InputError, match="must be positive: leave out those that were not reached"):
        fit_growth([10, 20, 30], [1, 0, 2], [0.1] * 3)
