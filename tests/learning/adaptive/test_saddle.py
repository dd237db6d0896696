"""The free energy of an adapting embedding: known numbers, limits, derivatives, several minima, and what it says of no signal."""

from __future__ import annotations

import numpy as np
import pytest

import specht
from specht.learning.adaptive.adapt import adapt
from specht.learning.adaptive.collapsed import gain_without_ridge, layer_gain
from specht.learning.adaptive.problem import AdaptiveProblem, Widths
from specht.learning.adaptive.saddle import FreeEnergy, nearest_minimum, variances_at


def copying(length, n, seed):
    """Samples of a coin flipped length + 1 times, labelled by the first flip, and fresh ones."""
    x, new = (np.random.default_rng(s).integers(0, 2, (rows, length + 1)) for s, rows in ((100 + seed, n), (7, 400)))
    return x, 2.0 * x[:, 0] - 1.0, new, 2.0 * new[:, 0] - 1.0


def expected_diagonal(length):
    """E[k] of the linear block with s_w = 1/2, s_p = 1 over fair coins: K_TT (c W^2 c + 2 sum p w + sum p^2)."""
    columns = length + 1
    return 1.5 * (0.25 * (columns**2 / 2 + columns / 2) + columns + columns)


KNOWN = {  # notes on adapting kernels, section 1: widths 256, 128, 64, 32, 16, 8, 4
    (16, 24, 0): (0.4095, 0.3662, 0.3013, 0.2226, 0.1474, 0.0889, 0.0505),
    (16, 48, 1): (0.1592, 0.1233, 0.0857, 0.0546, 0.0331, 0.0197, 0.0116),
    (32, 32, 2): (0.6255, 0.5762, 0.4972, 0.3892, 0.2682, 0.1595, 0.0828),
}


@pytest.mark.parametrize("case", [pytest.param(case, marks=[pytest.mark.whole] * (case[2] > 0)) for case in KNOWN])
def test_losses_are_those_of_an_independent_prototype(case):
    length, n, seed = case
    x, y, new, target = copying(length, n, seed)
    arch = specht.Architecture(vocab=2, length=length)
    for width, loss in zip((256, 128, 64, 32, 16, 8, 4), KNOWN[case], strict=True):
        found = adapt(arch, x, y, width=Widths(width), ridge=0.1, scale=expected_diagonal(length), method="saddle")
        assert found.mean_square_error(new, target)[0] == pytest.approx(loss, rel=0.02)


def test_the_first_position_is_singled_out():
    x, y, _, _ = copying(16, 24, 0)
    arch = specht.Architecture(vocab=2, length=16)
    for width, first in ((256, 1.09), (64, 1.34), (16, 2.11), (4, 4.10)):
        found = adapt(arch, x, y, width=Widths(width), ridge=0.1, scale=expected_diagonal(16), method="saddle")
        assert found.order.positions[0] == pytest.approx(first, abs=0.01)
        if width >= 16:
            assert found.order.positions[1:16].mean() == pytest.approx(1.0, abs=0.03)
    assert found.singled_out.tolist() == [True] + [False] * 15
    assert found.symmetry == "S_15, of S_16"
    assert not found.symmetric_is_a_minimum


@pytest.mark.parametrize("fields", [{}, {"activation": "erf"}, {"readout": "mean"}, {"depth": 2, "normalised": True}], ids=str)
def test_a_very_wide_network_is_the_gaussian_process(fields):
    arch = specht.Architecture(vocab=2, length=6, **fields)
    x = np.random.default_rng(0).integers(0, 2, (20, arch.columns))
    y, new = 2.0 * x[:, 0] - 1.0, np.random.default_rng(1).integers(0, 2, (30, arch.columns))
    found = adapt(arch, x, y, width=10**9, ridge=0.1, method="saddle").predict(new)
    expected = specht.GP(arch, ridge=0.1, unit="mean diagonal").condition(x, y).predict(new)
    scale = float(np.mean(specht.Kernel(arch).diagonal(x)))
    np.testing.assert_allclose(found.mean, expected.mean, atol=1e-8)
    np.testing.assert_allclose(found.variance, expected.variance / scale, atol=1e-8)


@pytest.mark.parametrize(
    "fields",
    [{}, {"activation": "relu"}, {"attention": "softmax", "scaling": "tied"}, {"positions": "none"}, {"extra_linear": True}],
    ids=str,
)
def test_gradients_are_those_of_finite_differences(fields):
    arch = specht.Architecture(vocab=3, length=4, **fields)
    x = np.random.default_rng(0).integers(0, 3, (9, 5))
    energy = FreeEnergy(AdaptiveProblem.of(arch, x, 1.0 * x[:, 0], None, 0.2, None), Widths(8, 8))
    point, shift = (0.3 * np.random.default_rng(seed).standard_normal(len(energy.zeros())) for seed in (1, 2))
    slope, step = energy.value_and_gradient(point)[1] @ shift, 1e-3
    five = [energy.value(point + k * step * shift) for k in (-2, -1, 1, 2)]
    assert slope == pytest.approx((five[0] - 8 * five[1] + 8 * five[2] - five[3]) / (12 * step), rel=1e-6)


def test_minima_have_no_slope_and_the_lowest_is_first():
    x, y, _, _ = copying(8, 40, 3)
    found = adapt(specht.Architecture(vocab=2, length=8), x, y, width=16, ridge=0.1, method="saddle")
    energy = FreeEnergy(found.problem, found.widths)
    for minimum in found.minima:
        point = np.log(np.concatenate([minimum.tokens, minimum.positions, minimum.layers]))
        assert np.abs(energy.value_and_gradient(point)[1]).max() < 1e-3
        assert energy.value(point) == pytest.approx(minimum.free_energy, rel=1e-12)
    assert found.lowest.free_energy == min(each.free_energy for each in found.minima)
    assert found.lowest.free_energy <= found.symmetric.free_energy


def test_noise_singles_out_nothing():
    """Labels that have nothing to do with the tokens."""
    arch, singled = specht.Architecture(vocab=2, length=16), []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, y = rng.integers(0, 2, (48, 17)), rng.standard_normal(48)
        singled.append(adapt(arch, x, y, width=32, ridge=1.0, method="saddle").singled_out)
    assert np.mean(singled) <= 0.01


def test_a_target_of_two_positions_singles_out_both():
    x = np.random.default_rng(0).integers(0, 2, (80, 17))
    found = adapt(specht.Architecture(vocab=2, length=16), x, 1.0 * x[:, 2] + x[:, 9] - 1.0, width=16, method="saddle")
    assert found.singled_out.nonzero()[0].tolist() == [2, 9]


def test_counting_is_left_symmetric():
    x = np.random.default_rng(0).integers(0, 2, (80, 17))
    y = (x[:, :16].mean(axis=1) - 0.5) * 8
    found = adapt(specht.Architecture(vocab=2, length=16), x, y, width=32, method="saddle")
    assert not found.singled_out.any()
    assert found.symmetric_is_a_minimum


class TestLayerGain:
    def gram(self):
        half = np.random.default_rng(0).standard_normal((12, 20))
        return half @ half.T / 20, np.random.default_rng(1).standard_normal((12, 1))

    def test_without_ridge_it_is_the_root_of_a_quadratic(self):
        """Pacelli et al. 2023: u^2 + (a - 1) u - a y K^-1 y / N = 0 with a = N / width."""
        gram, y = self.gram()
        for width in (3, 12, 50):
            a, energy = 12 / width, float((y.T @ np.linalg.solve(gram, y)).item())
            root = ((1 - a) + np.sqrt((1 - a) ** 2 + 4 * a * energy / 12)) / 2
            assert gain_without_ridge(gram, y, width) == pytest.approx(root, rel=1e-12)
            assert layer_gain(gram, y, width, ridge=0.0) == pytest.approx(root, rel=1e-12)

    @pytest.mark.parametrize("ridge", [1e-9, 0.1, 3.0])
    def test_it_minimises_the_free_energy(self, ridge):
        gram, y = self.gram()
        found = layer_gain(gram, y, 8, ridge=ridge)

        def energy(u):
            covariance = u * gram + ridge * np.eye(12)
            return 4 * (u - np.log(u)) + 0.5 * (np.linalg.slogdet(covariance)[1] + (y.T @ np.linalg.solve(covariance, y)).item())

        around = [energy(found * factor) for factor in (0.999, 1.0, 1.001)]
        assert around[1] <= min(around)
        if ridge == 1e-9:
            assert found == pytest.approx(gain_without_ridge(gram, y, 8), rel=1e-6)


def test_layers_gain_what_the_joint_minimum_gains():
    """With the embedding held by an enormous width, the gain of one layer is that of the layer alone."""
    arch = specht.Architecture(vocab=2, length=6)
    x, y, _, _ = copying(6, 12, 0)
    found = adapt(arch, x, y, width=Widths(10**9, 12), ridge=0.1, method="saddle")
    gram = np.asarray(specht.nngp(arch, x)) / found.problem.scale
    # two layers of one width share the gain: each is the other's partner
    gains = found.lowest.layers
    assert gains[0] == pytest.approx(gains[1], rel=1e-5)
    assert gains[0] == pytest.approx(layer_gain(gains[1] * gram, y[:, None], 12, ridge=0.1), rel=1e-5)


@pytest.mark.parametrize("outputs", [1, 2])
def test_rows_that_are_filled_in_do_not_count(outputs):
    """Value and gradient are those of the samples alone, at a ridge above one and below."""
    rng = np.random.default_rng(3)
    arch, x = specht.Architecture(vocab=2, length=5, activation="relu"), rng.integers(0, 2, (9, 6))
    point = 0.3 * rng.standard_normal(8)
    for ridge in (0.2, 1.7):
        problem = AdaptiveProblem.of(arch, x, rng.standard_normal((9, outputs)), None, ridge, None)
        plain, filled = (FreeEnergy(problem, Widths(8), rows).value_and_gradient(point) for rows in (None, 16))
        assert filled[0] == pytest.approx(plain[0], rel=1e-12)
        np.testing.assert_allclose(filled[1], plain[1], rtol=1e-9, atol=1e-9)


def test_the_nearest_minimum_is_the_one_that_all_starts_lead_to():
    x = np.random.default_rng(101).integers(0, 2, (48, 17))
    found = specht.adapt(specht.Architecture(vocab=2, length=16), x, 2.0 * x[:, 0] - 1.0, width=Widths(16), method="saddle")
    rough = nearest_minimum(found.problem, found.widths, rows=64)
    assert rough.free_energy == pytest.approx(found.lowest.free_energy, abs=1e-3)
    np.testing.assert_allclose(rough.positions, found.lowest.positions, rtol=1e-2)
    numbers = variances_at(found.problem, rough)
    np.testing.assert_allclose(numbers.positions, rough.positions)  # the prior of positions is one
    np.testing.assert_allclose(numbers.tokens, rough.tokens * np.asarray(found.problem.arch.variances.tokens))
