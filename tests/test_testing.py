"""The public assertions accept what is right and say what is wrong with the rest."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from specht.testing import assert_invariant, assert_matches_samples, assert_psd

TOKENS = np.random.default_rng(0).integers(3, size=(6, 5))


def overlap(x, y):
    """Number of positions where two sequences agree: permuting them together does not change it."""
    return (x[:, None, :] == y[None, :, :]).sum(axis=-1).astype(float)


def agree_at_the_end(x, y):
    return (x[:, None, -1] == y[None, :, -1]).astype(float)


def agree_at_the_start(x, y):
    return (x[:, None, 0] == y[None, :, 0]).astype(float)


class TestPsd:
    def test_accepts_a_gram_matrix(self):
        features = np.random.default_rng(0).normal(size=(8, 3))
        assert_psd(features @ features.T)

    def test_accepts_the_zero_matrix(self):
        assert_psd(np.zeros((3, 3)))

    @pytest.mark.parametrize(
        ("matrix", "words"),
        [
            ([[1.0, 2.0], [2.0, 1.0]], r"smallest eigenvalue -1\.000e\+00, largest 3\.000e\+00"),
            ([[-1.0, 0.0], [0.0, -2.0]], "not positive semi-definite"),
            ([[1.0, 0.5], [0.0, 1.0]], r"not symmetric.*5\.000e-01"),
            ([[1.0, np.nan], [np.nan, 1.0]], "2 of 4 entries are NaN or infinite"),
            ([[1.0, 2.0]], r"square, got shape \(1, 2\)"),
            (np.zeros((0, 0)), "empty"),
        ],
    )
    def test_refuses(self, matrix, words):
        with pytest.raises(AssertionError, match=words):
            assert_psd(matrix)

    def test_tolerance_is_relative(self):
        matrix = np.diag([1e6, -1e-3])
        assert_psd(matrix, tol=1e-8)
        with pytest.raises(AssertionError, match="smallest"):
            assert_psd(matrix, tol=1e-10)


class TestInvariant:
    @pytest.mark.parametrize("move", ["context", "all"])
    def test_accepts_overlap(self, move):
        assert_invariant(overlap, TOKENS, move=move)

    def test_the_last_column_stays_with_context(self):
        assert_invariant(agree_at_the_end, TOKENS, move="context")
        with pytest.raises(AssertionError, match=r"move='all'.*residual 1\.000e\+00"):
            assert_invariant(agree_at_the_end, TOKENS, move="all")

    def test_refuses_what_looks_at_one_position(self):
        with pytest.raises(AssertionError, match="not invariant"):
            assert_invariant(agree_at_the_start, TOKENS)

    def test_one_permutation_is_never_the_identity(self):
        for seed in range(10):
            with pytest.raises(AssertionError, match="not invariant"):
                assert_invariant(agree_at_the_start, TOKENS[:, :3], permutations=1, seed=seed)

    def test_nan_fails(self):
        with pytest.raises(AssertionError, match="nan"):
            assert_invariant(lambda x, y: overlap(x, y) * np.nan, TOKENS)

    @pytest.mark.parametrize(
        ("tokens", "options", "words"),
        [
            (TOKENS[0], {}, "one sequence a row"),
            (TOKENS[:, :2], {}, "nothing to permute"),
            (TOKENS, {"permutations": 0}, "at least 1"),
        ],
    )
    def test_refuses_what_it_cannot_judge(self, tokens, options, words):
        with pytest.raises(AssertionError, match=words):
            assert_invariant(overlap, tokens, **options)


class TestMatchesSamples:
    def test_accepts_the_mean_of_samples(self):
        samples = np.random.default_rng(0).normal(size=(1000, 4, 3))
        assert_matches_samples(0.0, samples.mean(axis=0), samples.std(axis=0) / np.sqrt(1000))

    def test_says_which_is_worst(self):
        value, mean = np.zeros((2, 3)), np.zeros((2, 3))
        mean[1, 2], mean[0, 1] = 0.8, -0.6
        with pytest.raises(AssertionError, match=r"2 of 6 values .* worst z-score 8\.0 at index \(1, 2\): value 0, mean 0\.8, stderr 0\.1"):
            assert_matches_samples(value, mean, 0.1)

    def test_k_sets_the_limit(self):
        assert_matches_samples(0.0, 0.8, 0.1, k=9)

    def test_without_error_only_equality_passes(self):
        assert_matches_samples([1.0, 2.0], [1.0, 2.0], 0.0)
        with pytest.raises(AssertionError, match="z-score inf"):
            assert_matches_samples([1.0, 2.0], [1.0, 2.0 + 1e-12], 0.0)

    @pytest.mark.parametrize(
        ("value", "stderr", "words"), [(np.nan, 0.1, "z-score inf"), (0.0, np.nan, "negative or NaN"), (0.0, -1.0, "negative or NaN")]
    )
    def test_refuses_nan(self, value, stderr, words):
        with pytest.raises(AssertionError, match=words):
            assert_matches_samples(value, 0.0, stderr)

    def test_refuses_nothing(self):
        with pytest.raises(AssertionError, match="nothing to compare"):
            assert_matches_samples([], [], [])


def test_assertions_hold_under_optimisation():
    code = "from specht.testing import assert_psd\ntry: assert_psd([[-1.0]])\nexcept AssertionError: print('raised')"
    assert subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "raised"
