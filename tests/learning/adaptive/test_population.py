"""Learning curves at finite width, against the minimum that data have themselves."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

import specht
from specht.architecture import Variances
from specht.errors import InputError
from specht.kernel.functions import kernel_of_batches
from specht.kernel.pairs import sequences as batch_of
from specht.learning.adaptive.curve import AdaptiveCurve
from specht.learning.adaptive.linear_block import LinearBlock
from specht.learning.adaptive.minima import follow
from specht.learning.adaptive.orbits import find_orbits
from specht.learning.adaptive.population import adaptive_curve, expect, most_samples
from specht.learning.curves import theory_curve
from specht.learning.gp.evidence import log_evidence
from specht.sequences import targets
from specht.sequences.sources import default_mixture, generic_mixture, uniform
from specht.sequences.tasks import Task

SOURCE = uniform(2)
RIDGE, LENGTH, DATASETS = 0.1, 16, 20


def first_token():
    return targets.Target("copy", lambda x: 2.0 * (x[:, 0] == 1) - 1.0, reads=(0,))


TARGETS = {
    "copy": first_token(),
    "and": targets.conjunction(2, LENGTH),
    "level 1": targets.level(1, LENGTH, source=SOURCE),
    "counts": targets.counts(LENGTH),
}


class DataSaddle:
    """The variances of all tokens and positions that are best for given data: no orbits, no averages."""

    def __init__(self, arch):
        self.arch = arch
        self.prior = np.concatenate([np.full(arch.symbols, arch.token_variance), np.full(arch.columns, arch.s_p)])
        self.unit = specht.spectrum(arch, SOURCE).trace
        self.slope = jax.jit(jax.value_and_grad(self.energy))
        self.predict = jax.jit(self._predict)

    def kernel(self, ratios, *batches):
        values = self.prior * jnp.exp(ratios)
        split = self.arch.symbols
        return kernel_of_batches(self.arch, *batches, variances=Variances(values[:split], values[split:])) / self.unit

    def energy(self, ratios, batch, y, width):
        return width / 2.0 * jnp.sum(jnp.exp(ratios) - ratios - 1.0) - log_evidence(self.kernel(ratios, batch), y, RIDGE)

    def _predict(self, ratios, batch, y, fresh):
        gram = self.kernel(ratios, batch) + RIDGE * jnp.eye(len(y))
        return self.kernel(ratios, fresh, batch) @ jnp.linalg.solve(gram, y)

    def loss(self, target, n, width, seed):
        rng = np.random.default_rng(100 + seed)
        x, fresh = (SOURCE.draw(rng, size, self.arch.columns) for size in (n, 1000))
        y = target(x)
        small = y / np.sqrt(np.mean(target(SOURCE.draw(np.random.default_rng(1), 20_000, self.arch.columns)) ** 2))  # as large as networks
        batch, other = (batch_of(self.arch, each, None, "x") for each in (x, fresh))
        with jax.enable_x64(True):
            best = minimize(
                lambda point: [np.asarray(part) for part in self.slope(point, batch, small, float(width))],
                np.zeros(len(self.prior)),
                jac=True,
                method="L-BFGS-B",
                options={"ftol": 1e-12, "gtol": 1e-6},
            )
            return float(np.mean((np.asarray(self.predict(best.x, batch, y, other)) - target(fresh)) ** 2))


def errors_against_data(numbers, widths):
    arch = specht.Architecture(vocab=2, length=LENGTH)
    saddle, errors = DataSaddle(arch), {}
    for name, target in TARGETS.items():
        theory = adaptive_curve(arch, Task(SOURCE, target), numbers, width=widths, ridge=RIDGE)
        for row, width in enumerate(widths):
            for column, n in enumerate(numbers):
                data = np.mean([saddle.loss(target, n, width, seed) for seed in range(DATASETS)])
                errors[name, n, width] = theory.test[row, column] / data - 1.0
    return errors


@pytest.mark.runs_long
def test_losses_are_those_of_the_saddle_of_data():
    """Mean relative error of the test loss at most 12 %, over 20 data sets each."""
    errors = errors_against_data([24], [16.0])
    assert np.mean(np.abs(list(errors.values()))) <= 0.12, errors


@pytest.mark.whole
@pytest.mark.runs_long
def test_losses_are_those_of_the_saddle_of_data_on_the_whole_grid():
    errors = errors_against_data([24, 48], [16.0, 64.0])
    assert np.mean(np.abs(list(errors.values()))) <= 0.12, errors
    assert np.max(np.abs(list(errors.values()))) <= 0.25, errors


@pytest.mark.parametrize("name", TARGETS)
def test_a_wide_network_is_the_kernel_limit(name):
    arch, task, n = specht.Architecture(vocab=2, length=LENGTH), Task(SOURCE, TARGETS[name]), np.array([12.0, 48.0, 200.0])
    theory = theory_curve(specht.spectrum(arch, SOURCE), task, n, RIDGE, 0.01)
    curve = adaptive_curve(arch, task, n, width=[1e9, math.inf], ridge=RIDGE, noise=0.01)
    np.testing.assert_allclose(curve.test[1], theory.test, rtol=1e-8)
    np.testing.assert_allclose(curve.train[1], theory.train, rtol=1e-8)
    np.testing.assert_allclose(curve.infinite_test, theory.test, rtol=1e-8)
    np.testing.assert_allclose(curve.test[0], theory.test, rtol=1e-5, atol=1e-8)  # variances move by about N / width
    assert curve.noise == pytest.approx(theory.noise)


def test_a_narrow_network_reads_the_position_and_learns_from_fewer_samples():
    arch = specht.Architecture(vocab=2, length=LENGTH)
    curve = adaptive_curve(arch, Task(SOURCE, first_token()), [12, 24, 48, 96], width=[4, 16, 64, 256])
    place = curve.names.index("position 0")
    assert (np.diff(curve.ratios[:, :, place], axis=0) < 0).all()
    assert (np.diff(curve.test[:, 1:], axis=0) > 0).all()
    assert (curve.test[:, 1:] < curve.infinite_test[1:]).all()
    needs = [curve.samples_for(0.2, width) for width in curve.width]
    assert np.all(np.diff(needs) > 0)
    assert curve.broken[0].all()
    assert not curve.broken[-1].any()
    assert not curve.symmetric_is_minimum.any()  # the target pulls at its position from the first sample


def test_sample_complexity_grows_like_the_root_of_the_length():
    """Twice the length takes about 2^0.5 times the samples at finite width, and more than 2^1.5 times at infinite width."""
    needs = []
    for length in (256, 512, 1024):
        curve = adaptive_curve(
            specht.Architecture(vocab=2, length=length), Task(SOURCE, first_token()), np.geomspace(20, 1e5, 40), width=[16, math.inf]
        )
        needs.append([curve.samples_for(0.2, width) for width in curve.width])
    slopes = np.diff(np.log2(needs), axis=0)
    assert (np.abs(slopes[:, 0] - 0.5) < 0.1).all(), slopes
    assert (slopes[:, 1] > 1.5).all(), slopes


GRID = [6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]
NEEDED = {  # smallest number on the grid with a test loss below 0.2: the saddle of three data sets each, at length 8, 16, 32, 64, 128
    math.inf: [24, 48, 96, 384, 1024],
    64.0: [16, 32, 48, 96, 128],
    16.0: [16, 24, 32, 48, 64],
    4.0: [12, 16, 24, 32, 48],
}


@pytest.mark.whole
def test_samples_needed_are_those_of_data():
    """Within one step of the grid: numbers that were found by minimising over data alone."""
    for place, length in enumerate((8, 16, 32, 64, 128)):
        curve = adaptive_curve(specht.Architecture(vocab=2, length=length), Task(SOURCE, first_token()), GRID, width=list(NEEDED))
        for row, needed in enumerate(NEEDED.values()):
            mine = int(np.argmax(curve.test[row] < 0.2))
            assert abs(mine - GRID.index(needed[place])) <= 1, (length, curve.width[row], GRID[mine], needed[place])


def test_length_leaves_the_operator_as_small_as_it_is():
    """The cost of a step is that of its matrices, which are of one size at any length."""
    sizes = []
    for length in (100, 100_000):
        arch, task = specht.Architecture(vocab=3, length=length), Task(uniform(3), targets.conjunction(2, length))
        sizes.append([matrix.functions.shape for matrix in LinearBlock(find_orbits(arch, task), task.source).matrices])
        assert np.isfinite(adaptive_curve(arch, task, [50.0], width=16).test).all()
    assert sizes[0] == sizes[1]


def test_two_minima_cross_at_great_length():
    """A first-order transition: two minima at once, of which the broken one becomes the lower."""
    arch, n = specht.Architecture(vocab=2, length=100_000), np.geomspace(1000, 16000, 13)
    curve = adaptive_curve(arch, Task(SOURCE, first_token()), n, width=64)
    both = ~np.isnan(curve.free_energies[:, 1])
    assert both.any()
    (jump,) = curve.jumps()
    assert jump.after > 10 * jump.before
    there = curve.transition()
    assert there.kind == "first order"
    assert there.low <= there.samples <= there.high
    assert there.samples == jump.samples
    assert (curve.free_energies[both, 0] <= curve.free_energies[both, 1]).all()


@pytest.mark.whole
@pytest.mark.runs_long
def test_data_have_both_minima_where_theory_has_two():
    """Free energies within 1 % and variances within 10 % at the two minima of one data set: a first-order transition is seen in data."""
    length, width, n = 4096, 256.0, 900
    arch, task = specht.Architecture(vocab=2, length=length), Task(SOURCE, first_token())
    theory = adaptive_curve(arch, task, [850.0, 900.0, 950.0], width=width, ridge=RIDGE)
    assert not np.isnan(theory.free_energies[1, 1])
    assert theory.transition().kind == "first order"
    x = SOURCE.draw(np.random.default_rng(0), n, length + 1)
    y, unit = first_token()(x), specht.spectrum(arch, SOURCE).trace
    hot = [(x == v).astype(np.float32) for v in range(2)]
    counts = np.stack([each.sum(axis=1) for each in hot], axis=1).astype(np.float64)
    groups = [slice(0, 1), slice(1, length), slice(length, length + 1)]
    matches = np.stack([[(each[:, at] @ each[:, at].T).astype(np.float64) for each in hot] for at in groups])  # (orbit, token, n, n)
    prior, sizes = np.array([0.5, 0.5, 1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0, length - 1.0, 1.0])

    def energy(ratios, counts, matches):
        values = prior * jnp.exp(ratios)
        tokens, positions = values[:2], values[2:]
        readout = jnp.einsum("v,vnm->nm", tokens, matches[2]) + positions[2]
        inside = (counts * tokens[None] ** 2) @ counts.T + 2.0 * jnp.einsum("o,v,ovnm->nm", positions, tokens, matches)
        gram = readout * (inside + jnp.sum(sizes[2:] * positions**2)) / unit
        return width / 2.0 * jnp.sum(sizes * (jnp.exp(ratios) - ratios - 1.0)) - log_evidence(gram, y, RIDGE)

    with jax.enable_x64(True):
        slope = jax.jit(jax.value_and_grad(energy))

        def objective(point):
            value, gradient = slope(point / sizes**0.5, counts, matches)
            return float(value), np.asarray(gradient) / sizes**0.5

        for number in range(2):
            start = np.log(theory.minima[1, number]) * 0.8 * sizes**0.5
            found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-13, "gtol": 1e-5})
            assert found.fun - n / 2.0 * math.log(2.0 * math.pi) == pytest.approx(theory.free_energies[1, number], rel=0.01)
            np.testing.assert_allclose(np.exp(found.x / sizes**0.5), theory.minima[1, number], rtol=0.1)


def test_kinds_of_transition():
    """Made-up numbers: what counts is how they are read."""
    curve = adaptive_curve(specht.Architecture(vocab=2, length=8), Task(SOURCE, first_token()), [10.0, 20.0, 40.0], width=8)
    weak, strong = np.full((3, 1), 1.1), np.array([[1.1], [1.1], [4.4]])
    steep, curved = np.ones(3), np.ones(3)
    nothing = dataclasses.replace(curve, strengths=weak, symmetric_slope=steep, symmetric_curvature=curved).transition()
    assert (nothing.kind, nothing.samples) == ("none", math.inf)
    passed = dataclasses.replace(curve, strengths=strong, symmetric_slope=steep, symmetric_curvature=curved).transition()
    assert passed.kind == "crossover"
    assert passed.samples == pytest.approx(20.0 * 2.0 ** (math.log(2.0 / 1.1) / math.log(4.0)))
    lost = dataclasses.replace(
        curve, strengths=weak, symmetric_slope=np.zeros(3), symmetric_curvature=np.array([2.0, 1.0, -1.0])
    ).transition()
    assert lost.kind == "second order"
    assert lost.samples == pytest.approx(20.0 * 2.0**0.5)
    assert (lost.low, lost.high) == (20.0, 40.0)
    two = np.array([[[1.1], [4.0]], [[1.1], [4.0]], [[4.0], [1.1]]])  # variances of two minima, which change places
    place = curve.names.index("position 0")
    minima = np.ones((3, 2, len(curve.names)))
    minima[..., place : place + 1] = two
    energies = np.array([[0.0, 3.0], [0.0, 1.0], [0.0, 1.0]])
    crossed = dataclasses.replace(curve, minima=minima, strengths=two[..., 0], free_energies=energies, symmetric_slope=steep)
    assert crossed.jumps() == ((pytest.approx(20.0 * 2.0**0.5), "position 0", pytest.approx(1.1), pytest.approx(4.0)),)
    assert crossed.transition().kind == "first order"


def test_every_minimum_is_one():
    """At width one the two tokens of a symmetric task do not stay alike: the symmetric point is a saddle, and the search leaves it."""
    arch, task = specht.Architecture(vocab=2, length=1024), Task(SOURCE, first_token())
    curve = adaptive_curve(arch, task, [40.0, 100.0], width=1)
    tokens = curve.ratios[:, :2]
    assert (np.abs(np.log(tokens[:, 0] / tokens[:, 1])) > 0.5).all()


def test_minima_are_found_to_rounding():
    arch, task = specht.Architecture(vocab=3, length=10), Task(uniform(3), targets.conjunction(2, 10))
    expected = expect(arch, task, ridge=RIDGE)
    landscapes = [expected.landscape(8.0, n) for n in (10.0, 40.0, 100.0)]
    for landscape, found in zip(landscapes, follow(landscapes), strict=True):
        for minimum in found:
            assert np.abs(landscape.value(minimum.ratios)[1]).max() < 1e-8


def test_the_lowest_minimum_is_lower_than_the_symmetric_point():
    arch, task = specht.Architecture(vocab=3, length=10), Task(uniform(3), targets.conjunction(2, 10))
    expected = expect(arch, task, ridge=RIDGE)
    orbits, landscape = expected.orbits, expected.landscape(8.0, 40.0)
    lowest = follow([landscape])[0][0]
    symmetric = landscape.symmetric(np.zeros(len(orbits.prior)))
    assert np.ptp(symmetric.ratios[orbits.context]) == 0.0
    assert lowest.free_energy < symmetric.free_energy - 0.1
    np.testing.assert_allclose(landscape.value(lowest.ratios)[1], 0.0, atol=1e-5)
    rng = np.random.default_rng(0)
    around = [landscape.value(lowest.ratios + 1e-2 * rng.normal(size=len(orbits.prior)))[0] for _ in range(20)]
    assert min(around) > lowest.free_energy


def test_other_blocks_and_sources_are_sampled():
    arch = specht.Architecture(vocab=2, length=8, activation="erf")
    curve = adaptive_curve(arch, Task(SOURCE, targets.level(1, 8, source=SOURCE)), [24, 48], width=16, sequences=128)
    assert curve.method == "sampled"
    assert (curve.test < curve.infinite_test).all()
    assert (curve.stderr > 0).all()
    mixed = generic_mixture(2)
    other = adaptive_curve(specht.Architecture(vocab=2, length=6), Task(mixed, targets.next_token(mixed)), 16, width=16, sequences=64)
    assert other.method == "sampled"
    assert other.noise > 0.0


MIXED = default_mixture(2)


@pytest.mark.parametrize("readout", ["last", "cls", "mean"])
def test_mixtures_at_infinite_width_are_the_kernel_limit(readout):
    arch, n = specht.Architecture(vocab=2, length=8, readout=readout), np.array([12.0, 300.0, 1e5])
    for target in (targets.next_token(MIXED), first_token(), targets.conjunction(2, 8), targets.counts(8)):
        theory = theory_curve(specht.spectrum(arch, MIXED), Task(MIXED, target), n, RIDGE, 0.01)
        curve = adaptive_curve(arch, Task(MIXED, target), n, width=math.inf, ridge=RIDGE, noise=0.01)
        assert curve.method == "exact"
        np.testing.assert_allclose(curve.test, theory.test, rtol=1e-8, atol=1e-14)
        np.testing.assert_allclose(curve.train, theory.train, rtol=1e-8, atol=1e-14)
        assert curve.noise == pytest.approx(theory.noise, rel=1e-8)


def test_mixtures_at_finite_width_are_what_sampled_sequences_say():
    """Within three standard errors of the sampled method, which knows nothing of mixtures."""
    arch, task = specht.Architecture(vocab=2, length=8), Task(MIXED, first_token())
    exact = adaptive_curve(arch, task, [16.0, 32.0], width=16, ridge=RIDGE)
    drawn = adaptive_curve(arch, task, [16.0, 32.0], width=16, ridge=RIDGE, method="sampled", sequences=256)
    assert (exact.stderr == 0).all()
    assert (np.abs(exact.test - drawn.test) < 3.0 * drawn.stderr).all()
    assert (exact.test < exact.infinite_test).all()


def test_how_far_the_number_of_samples_may_go():
    arch, task = specht.Architecture(vocab=2, length=8), Task(MIXED, first_token())
    assert most_samples(arch, task) == math.inf
    assert most_samples(arch.replace(activation="erf"), task, sequences=100) == 50.0
    with pytest.raises(InputError, match="sequences"):
        most_samples(arch, task, sequences=1)
    with pytest.raises(InputError, match="no closed form"):
        most_samples(arch.replace(attention="softmax"), task)
    with pytest.raises(InputError, match="same vocab"):
        most_samples(arch.replace(vocab=3), task)
    wide = uniform(40)
    assert most_samples(specht.Architecture(vocab=40, length=8), Task(wide, targets.conjunction(2, 8))) == 256.0


def test_positions_are_found_and_results_are_kept(tmp_path):
    arch = specht.Architecture(vocab=2, length=8)
    curve = adaptive_curve(arch, Task(SOURCE, targets.Target("third", lambda x: x[:, 2])), [16, 32], width=[8, 32])
    assert "position 2" in curve.names
    assert curve.to_dataframe().shape[0] == 4
    assert "width 8" in repr(curve)
    curve.save(tmp_path / "curve.nc")
    again = specht.load(tmp_path / "curve.nc")
    assert isinstance(again, AdaptiveCurve)
    np.testing.assert_array_equal(again.minima, curve.minima)
    assert again.names == curve.names
    assert curve.summary()["n_train"] == [16.0, 32.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"width": 0}, "width must be a positive number"),
        ({"n_train": [10, -1]}, "n_train must be a positive number"),
        ({"ridge": 0.0}, "ridge must be a finite number above 0"),
        ({"method": "magic"}, "Unknown method"),
        ({"method": "sampled", "sequences": 16}, "16 sequences allow for 8 samples"),
        ({"widht": 3}, "did you mean 'width'"),
    ],
)
def test_bad_input_gets_a_sentence(change, words):
    arguments = {"n_train": [16.0], "width": 16} | change
    with pytest.raises(InputError, match=words):
        adaptive_curve(specht.Architecture(vocab=2, length=8), Task(SOURCE, first_token()), **arguments)


def test_what_cannot_be_followed_is_refused():
    task = Task(SOURCE, first_token())
    with pytest.raises(InputError, match="linear activation"):
        adaptive_curve(specht.Architecture(vocab=2, length=8, activation="erf"), task, 16, width=16, method="exact")
    with pytest.raises(InputError, match="no closed form"):
        adaptive_curve(specht.Architecture(vocab=2, length=8, attention="softmax"), task, 16, width=16)
    with pytest.raises(InputError, match="positions='learned'"):
        adaptive_curve(specht.Architecture(vocab=2, length=8, positions="sinusoidal"), task, 16, width=16)
    odd = Task(SOURCE, targets.Target("weights", lambda x: x[:, :8] @ np.arange(8.0)))
    with pytest.raises(InputError, match="singles out more than"):
        adaptive_curve(specht.Architecture(vocab=2, length=8), odd, 16, width=16)
    curve = adaptive_curve(specht.Architecture(vocab=2, length=8), task, [8, 16], width=[8, 16])
    with pytest.raises(InputError, match="say which"):
        curve.transition()
    with pytest.raises(InputError, match="has no width"):
        curve.samples_for(0.1, width=5)
