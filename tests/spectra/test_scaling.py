"""How eigenvalues scale with length, against closed formulas and the numbers of the notes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from named_sources import posterior_start

from specht.architecture import Architecture
from specht.errors import InputError
from specht.groups.partition import Partition
from specht.sequences.law import Exchangeable
from specht.sequences.sources import generic_mixture
from specht.spectra.block import IrrepBlock
from specht.spectra.families import scaling
from specht.spectra.linear import Crossover, crossover
from specht.spectra.result import Spectrum
from specht.spectra.solve import spectrum

LENGTHS = [4, 8, 16, 32, 64]


def linear(lengths, **fields):
    return scaling([spectrum(Architecture(length=length, **fields)) for length in lengths])


class TestLinearModel:
    """Against the closed form of the note: section 4.3 and 2.2, uniform tokens."""

    @pytest.mark.parametrize(("vocab", "s_w", "s_p"), [(2, 1.0, 1.0), (4, 0.25, 1.0), (16, 0.1, 0.7)])
    def test_points(self, vocab, s_w, s_p):
        trivial, standard = linear(LENGTHS, vocab=vocab, s_w=s_w, s_p=s_p)
        assert (trivial.name, standard.name) == ("[L]", "[L-1,1]")
        top = 2 * s_w * s_p * (s_w + vocab * s_p) / vocab**2
        for point in standard.points:
            columns = point.length + 1
            squares = columns + columns * (columns - 1) / vocab  # E|N|^2
            trace = (s_w + s_p) * (s_w**2 * squares + (2 * s_w * s_p + s_p**2) * columns)
            assert point.eigenvalue == pytest.approx(top, rel=1e-12)
            assert point.trace == pytest.approx(trace, rel=1e-12)
            assert point.normalised == pytest.approx(top / trace, rel=1e-12)
            assert point.ratio == pytest.approx(top * (point.length - 1) / trace, rel=1e-12)
        assert standard.raw is not None
        assert abs(standard.raw.value) < 1e-12

    def test_exponent_one_well_below_the_crossover(self):
        family = linear([16, 32, 64, 128], vocab=16)[1]
        assert crossover(Architecture(vocab=16, length=16)) == Crossover(4096.0)  # V^3
        assert family.normalised is not None
        assert family.normalised.value == pytest.approx(-1, abs=0.05)
        # The note: slopes -0.85 to -1.03 up to length 256.
        slopes = [local.normalised.value for local in linear([8, 16, 32, 64, 128, 256], vocab=16)[1].local]
        assert -1.04 < min(slopes) < max(slopes) < -0.84

    def test_exponent_two_well_beyond_the_crossover(self):
        family = linear([256, 512, 1024, 2048], vocab=2, s_w=1.0, s_p=1.0)[1]
        assert crossover(Architecture(vocab=2, length=256, s_w=1.0)) == Crossover(2.0)
        assert family.normalised is not None
        assert family.normalised.value == pytest.approx(-2, abs=0.03)
        # The note: already -1.5 at length 16.
        assert linear([12, 16, 20], vocab=2, s_w=1.0, s_p=1.0)[1].local[0].normalised.value < -1.5

    def test_nothing_but_two_families(self):
        assert [family.level for family in linear([4, 8], vocab=3)] == [0, 1]

    def test_without_positions_there_is_no_exponent(self):
        trivial, standard = linear([4, 8, 16], vocab=4, s_p=0.0)
        assert trivial.raw is not None
        assert standard.raw is standard.normalised is standard.bound is None
        assert standard.resolved == ()


class TestCrossover:
    @pytest.mark.parametrize("fields", [{}, {"s_w": 0.02}, {"values_see_positions": False, "s_w": 0.002}, {"normalised": True}])
    def test_local_slope_is_the_predicted_one(self, fields):
        arch = Architecture(vocab=8, length=8, **fields)
        found = crossover(arch)
        assert found is not None
        for factor in (0.3, 1.0, 3.0):
            middle = factor * found.length
            lengths = [round(middle / 1.1), round(middle * 1.1)]
            family = scaling([spectrum(arch.replace(length=length)) for length in lengths])[1]
            assert family.normalised is not None
            assert family.normalised.value == pytest.approx(found.exponent(round(middle)), abs=0.07)  # s_w against s_p is left out

    def test_of_a_mixture_counts_equal_tokens(self):
        source = Exchangeable(np.array([0.25, 0.75]), np.array([[0.5, 0.5, 0.0], [0.1, 0.1, 0.8]]))
        found = crossover(Architecture(vocab=3, length=8, s_w=0.1, s_p=2.0), source)
        assert found is not None
        assert found.length == pytest.approx(400 / (0.25 * 0.5 + 0.75 * 0.66))

    @pytest.mark.parametrize("fields", [{"activation": "erf"}, {"attention": "softmax"}, {"s_p": 0}, {"s_w": 0}, {"s_1": 0}, {"vocab": 1}])
    def test_is_for_linear_models_with_tokens_and_positions(self, fields):
        assert crossover(Architecture(**({"vocab": 4, "length": 8} | fields))) is None

    def test_of_many_tokens_and_of_extreme_variances(self):
        assert crossover(Architecture(vocab=5000, length=8, s_w=1.0)).length == pytest.approx(5000.0)
        assert crossover(Architecture(vocab=4, length=8, s_w=1e-200, s_p=1e-200)).length == pytest.approx(4.0)

    def test_of_a_mixture_that_cannot_be_read_off(self):
        weights, theta = np.array([0.3, 0.7]), np.array([[0.2, 0.8], [0.6, 0.4]])
        arch, disguised = Architecture(vocab=2, length=8), posterior_start(weights, theta)
        assert not disguised.is_mixture
        assert crossover(arch, disguised).length == pytest.approx(crossover(arch, Exchangeable(weights, theta)).length)

    def test_is_for_exchangeable_sources(self):
        assert crossover(Architecture(vocab=4, length=8), generic_mixture(4)) is None


def test_erf_has_the_slopes_of_the_note():
    # Section 4.6: V = 2, s_w = 0.5, s_p = 1, lengths 8 to 128: -1.24 to -1.44 at level 1, -2.4 at level 2.
    arch = Architecture(vocab=2, length=8, activation="erf", s_w=0.5)
    families = scaling([spectrum(arch.replace(length=length), max_level=2) for length in (8, 16, 32)])
    assert [family.expected for family in families] == [0, -1, -2]
    assert all(-1.44 < local.normalised.value < -1.24 for local in families[1].local)
    assert all(local.normalised.value == pytest.approx(-2.4, abs=0.05) for local in families[2].local)
    assert all(0 < point.ratio <= 1 for family in families for point in family.points)


def made_up(length, tops, *, trace=10.0, trace_stderr=0.0, stderr=None, is_bound=False):
    """A spectrum with one eigenvalue for each tail."""

    def no_function(_):
        raise AssertionError("not needed")

    blocks = [
        IrrepBlock(
            Partition((length - sum(tail), *tail)),
            np.array([top]),
            no_function,
            stderr=None if stderr is None else np.array([stderr]),
            is_bound=is_bound,
        )
        for tail, top in tops.items()
    ]
    return Spectrum(Architecture(vocab=4, length=length), "nngp", "made up", tuple(blocks), trace, trace_stderr)


class TestFamilies:
    def test_are_named_and_ordered_by_tail(self):
        tails = {(1, 1): 1.0, (): 4.0, (2, 1): 0.5, (2,): 1.0, (1,): 2.0, (3,): 0.1}
        families = scaling([made_up(length, tails) for length in (16, 8)])
        assert [family.name for family in families] == ["[L]", "[L-1,1]", "[L-2,2]", "[L-2,1,1]", "[L-3,3]", "[L-3,2,1]"]
        assert [point.length for point in families[0].points] == [8, 16]

    def test_errors_are_propagated(self):
        first, second = (made_up(length, {(1,): 1.0}, stderr=0.1, trace_stderr=0.5) for length in (8, 16))
        (family,) = scaling([first, second])
        (local,) = family.local
        assert local.raw.stderr == pytest.approx(math.sqrt(2) * 0.1 / math.log(2))
        assert local.normalised.stderr == pytest.approx(math.sqrt(2 * (0.1**2 + 0.05**2)) / math.log(2))
        assert family.raw == local.raw

    def test_exact_neighbours_have_no_error(self):
        (family,) = scaling([made_up(length, {(1,): 1.0 / length}) for length in (8, 16, 32)])
        assert [local.raw.stderr for local in family.local] == [None, None]
        assert family.raw is not None
        assert family.raw.stderr == pytest.approx(0, abs=1e-10)

    def test_what_is_not_resolved_enters_no_fit(self):
        noise = made_up(32, {(1,): 0.02}, stderr=0.01)
        rounding = made_up(64, {(1,): 1e-15})
        (family,) = scaling([made_up(8, {(1,): 1.0}), made_up(16, {(1,): 0.5}), noise, rounding])
        assert [point.resolved for point in family.points] == [True, True, False, False]
        assert [(local.start, local.stop) for local in family.local] == [(8, 16)]
        assert family.raw is not None
        assert family.raw.value == pytest.approx(-1)

    def test_a_mixture_of_methods_is_said(self):
        exact, sampled = made_up(8, {(): 1.0}), made_up(16, {(): 1.0}, stderr=0.01, is_bound=True)
        assert scaling([exact, sampled])[0].is_mixed
        assert not scaling([exact, made_up(16, {(): 1.0})])[0].is_mixed

    def test_the_bound_has_the_slope_of_the_dimension(self):
        tail = (2, 1)
        (family,) = scaling([made_up(length, {tail: 0.01}) for length in (1000, 2000)])
        assert family.bound is not None
        assert family.bound.value == pytest.approx(-3, abs=0.01)
        small = scaling([made_up(length, {tail: 0.01}) for length in (8, 16)])[0]
        assert small.bound is not None
        assert small.bound.value == pytest.approx(-math.log2(896 / 64))  # dimensions of [13,2,1] and [5,2,1]

    @pytest.mark.parametrize("change", [{"vocab": 3}, {"activation": "erf"}])
    def test_only_lengths_may_differ(self, change):
        arch = Architecture(vocab=2, length=4)
        with pytest.raises(InputError, match="differ in their length alone"):
            scaling([spectrum(arch), spectrum(arch.replace(length=8, **change))])

    def test_a_length_twice_is_refused(self):
        with pytest.raises(InputError, match="Two of the spectra have length 4"):
            scaling([made_up(4, {(): 1.0}), made_up(4, {(): 2.0})])


def test_neighbours_and_the_whole_agree():
    family = linear(LENGTHS, vocab=4)[1]
    assert family.normalised is not None
    slopes = [local.normalised.value for local in family.local]
    assert min(slopes) < family.normalised.value < max(slopes)
    for (a, b), local in zip(itertools.pairwise(family.points), family.local, strict=True):
        assert local.normalised.value == pytest.approx(math.log2(b.normalised / a.normalised))
