"""Sampled spectra: Rayleigh quotients and kernels of sampled heads, compared in standard errors."""

from __future__ import annotations

import numpy as np
import pytest
from small_cases import architecture, mixture

import specht
from specht.groups.partition import Partition
from specht.sequences.sources import default_mixture, exchangeable, graded_mixture, uniform


class TestRayleigh:
    @pytest.mark.parametrize(("vocab", "length", "fields"), [(3, 6, {"activation": "erf"}), (2, 9, {"activation": "relu"})])
    @pytest.mark.parametrize("source", [uniform, default_mixture])
    def test_quotients_are_lower_bounds_and_close(self, vocab, length, fields, source):
        arch, law = architecture(vocab, length, **fields), source(vocab)
        exact, sampled = specht.spectrum(arch, law), specht.spectrum(arch, law, method="rayleigh", max_level=2)
        assert sampled.trace == pytest.approx(exact.trace, abs=5 * sampled.trace_stderr)
        assert len(sampled.rows) == (4 if vocab == 3 else 3)
        for row in sampled.rows:
            top = exact.top(row.irrep).eigenvalue
            assert 0.8 * top - 5 * row.stderr <= row.eigenvalue <= top + 5 * row.stderr
            assert row.stderr < 0.05 * top

    def test_the_quotient_is_that_of_its_function(self):
        arch, law = architecture(3, 5, activation="erf"), mixture(3)
        spec = specht.spectrum(arch, law, method="rayleigh", max_level=2)
        x, p = law.enumerate(arch.columns)
        gram = specht.Kernel(arch)(x)
        for row in spec.rows:
            g = spec.eigenfunction(row)(x)
            assert (p * g**2).sum() == pytest.approx(1, rel=1e-9)
            assert abs((p * g) @ gram @ (p * g) - row.eigenvalue) <= 5 * row.stderr

    def test_a_source_with_an_order_is_sampled(self):
        """Its quotients are those of the operator over the source itself, here by brute force."""
        arch, law = architecture(3, 5, activation="erf"), graded_mixture(0.6, vocab=3)
        spec = specht.spectrum(arch, law, max_level=2)
        assert spec.method == "rayleigh"
        x, p = law.enumerate(arch.columns)
        gram = specht.Kernel(arch)(x)
        for row in spec.rows:
            g = spec.eigenfunction(row)(x)
            quotient = (p * g) @ gram @ (p * g) / (p * g**2).sum()
            assert abs(quotient - row.eigenvalue) <= 5 * row.stderr
            assert (p * g**2).sum() == pytest.approx(1, abs=0.18)  # five errors of a probability from 768 draws
        assert not spec.exchangeable
        assert not any(row.lower_bound for row in spec.rows)
        assert "not exchangeable" in str(spec)

    def test_components_are_chosen_by_what_their_columns_hold(self):
        """One component hardly ever holds a zero and a one: given that a sequence does, it comes from the other."""
        arch, law = architecture(2, 8, activation="relu"), exchangeable([0.7, 0.3], [[0.02, 0.98], [0.6, 0.4]])
        exact = specht.spectrum(arch, law, method="two tokens")
        x, p = law.enumerate(arch.columns)
        gram = specht.Kernel(arch)(x)
        spec = specht.spectrum(arch, law, method="rayleigh", max_level=2)
        for row in spec.rows:
            g = spec.eigenfunction(row)(x)
            assert abs((p * g) @ gram @ (p * g) - row.eigenvalue) <= 5 * row.stderr
            assert row.lower_bound
            assert row.eigenvalue <= exact.top(row.irrep).eigenvalue + 5 * row.stderr

    def test_the_error_of_the_trace_is_its_scatter(self):
        arch, law = architecture(2, 8, activation="relu"), uniform(2)
        found = [specht.spectrum(arch, law, method="rayleigh", max_level=0, sequences=8, seed=seed) for seed in range(30)]
        claimed = np.sqrt(np.mean([spec.trace_stderr**2 for spec in found]))
        assert np.std([spec.trace for spec in found], ddof=1) / claimed == pytest.approx(1, abs=5 / np.sqrt(2 * 29))

    def test_same_seed_same_numbers(self):
        arch = architecture(4, 12, activation="erf")
        first, second, third = (specht.spectrum(arch, method="rayleigh", max_level=1, seed=seed) for seed in (0, 0, 1))
        assert [row.eigenvalue for row in first.rows] == [row.eigenvalue for row in second.rows]
        assert [row.eigenvalue for row in first.rows] != [row.eigenvalue for row in third.rows]


@pytest.mark.runs_long
class TestSampledKernels:
    @pytest.mark.slow
    def test_deep_stacks_have_quotients_too(self):
        arch = architecture(2, 6, attention="softmax", depth=2, norm="pre", activation="erf")
        spec = specht.spectrum(arch, max_level=1, heads=256, sequences=8, method="rayleigh")
        trivial, standard = spec.top(Partition((6,))), spec.top(Partition((5, 1)))
        assert 0 < standard.eigenvalue <= standard.bound
        assert standard.eigenvalue < trivial.eigenvalue <= spec.trace * (1 + 1e-9)

    def test_heads_give_an_error_and_exact_multiplets(self):
        """Two tokens by representatives, and by all sequences, agree within their errors; so do Rayleigh quotients."""
        arch = architecture(2, 5, attention="softmax", s_w=1.0, s_p=2.0)
        source = mixture(2)
        windows = specht.spectrum(arch, source, method="two tokens", heads=1024)
        listed = specht.spectrum(arch, source, method="young", heads=1024, seed=1)
        for m in range(3):
            shape = Partition((5 - m, m) if m else (5,))
            first, second = windows.top(shape), listed.top(shape)
            assert first.stderr > 0
            assert abs(first.eigenvalue - second.eigenvalue) <= 5 * np.hypot(first.stderr, second.stderr)
            assert first.stderr < 0.1 * first.eigenvalue
        assert windows.resolved_trace == pytest.approx(windows.trace, rel=1e-9)
        assert 0 < windows.trace_stderr < 0.1 * windows.trace
        assert abs(windows.trace - listed.trace) <= 5 * np.hypot(windows.trace_stderr, listed.trace_stderr)

    def test_noise_pushes_equal_copies_apart_and_leaves_their_mean(self):
        """Renaming uniform tokens makes the two top copies of [2,1] equal in the limit; sampled, they differ by their errors."""
        arch, shape = architecture(3, 3, attention="softmax", s_w=1.0, s_p=2.0), Partition((2, 1))

        def pair(heads, seed):
            rows = [row for row in specht.spectrum(arch, method="young", heads=heads, seed=seed).rows if row.irrep == shape][:2]
            return np.array([row.eigenvalue for row in rows]), np.hypot(*(row.stderr for row in rows)) / 2

        few, error = zip(*(pair(256, seed) for seed in range(8)), strict=True)
        many, least = pair(4096, 99)
        assert abs(np.mean(few) - many.mean()) <= 5 * np.hypot(np.mean(error) / np.sqrt(8), least)
        splits = np.array([first - second for first, second in few])
        assert 0.3 * np.mean(error) < splits.mean() < 10 * np.mean(error)
        assert many[0] - many[1] < splits.mean() / 2
