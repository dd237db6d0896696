"""Permuting positions is an action of the group, and residuals measure what it changes."""

from __future__ import annotations

import itertools
import math
import re
import subprocess
import sys

import numpy as np
import pytest
from architectures import CASES, tokens
from hypothesis import given, strategies as st

import specht
from specht.errors import InputError
from specht.groups.permutations import compose
from specht.sequences.actions import (
    action_on,
    equivariance_residual,
    generators,
    gram_matrix,
    gram_residual,
    invariance_residual,
    permute_context,
    random_permutations,
)

X = np.random.default_rng(0).integers(3, size=(8, 5))
L = 4
ALL = list(itertools.permutations(range(L)))


def overlap(x, y):
    """Number of columns where two sequences agree: permuting them together does not change it."""
    return (x[:, None, :] == y[None, :, :]).sum(axis=-1)


def first(x):
    return x[:, 0]


class TestPermuting:
    @given(st.permutations(range(L)), st.permutations(range(L)), st.sampled_from([L, L + 1]))
    def test_products_act_from_the_right_to_the_left(self, p, q, columns):
        p, q, x = tuple(p), tuple(q), X[:, :columns]
        np.testing.assert_array_equal(permute_context(permute_context(x, q, L), p, L), permute_context(x, compose(p, q), L))

    def test_the_convention_is_not_the_opposite_one(self):
        x, p, q = np.arange(4)[None, :], (1, 0, 2), (0, 2, 1)
        twice = permute_context(permute_context(x, q, 3), p, 3)
        assert not np.array_equal(twice, permute_context(x, compose(q, p), 3))

    @pytest.mark.parametrize("permutation", ALL)
    def test_the_token_at_a_goes_to_its_image_and_the_readout_stays(self, permutation):
        before = X.copy()
        moved = permute_context(X, permutation, L)
        for a in range(L):
            np.testing.assert_array_equal(moved[:, permutation[a]], X[:, a])
        np.testing.assert_array_equal(moved[:, L], X[:, L])
        np.testing.assert_array_equal(X, before)

    def test_with_mean_readout_every_column_moves(self):
        np.testing.assert_array_equal(permute_context(X, (4, 3, 2, 1, 0), 5), X[:, ::-1])

    def test_further_axes_go_along(self):
        hidden = np.random.default_rng(1).normal(size=(8, 5, 3))
        moved = permute_context(hidden, (2, 0, 3, 1), L)
        for unit in range(3):
            np.testing.assert_array_equal(moved[..., unit], permute_context(hidden[..., unit], (2, 0, 3, 1), L))

    @pytest.mark.parametrize("length", range(1, 7))
    def test_every_permutation_is_a_product_of_generators(self, length):
        reached = frontier = {tuple(range(length))}
        while frontier:
            frontier = {compose(g, p) for g in generators(length) for p in frontier} - reached
            reached = reached | frontier
        assert len(reached) == math.factorial(length)

    def test_random_permutations_are_uniform_and_the_first_stay_when_more_are_drawn(self):
        drawn = random_permutations(3, 6000, seed=4)
        assert random_permutations(3, 10, seed=4) == drawn[:10]
        assert random_permutations(3, 10, seed=5) != drawn[:10]
        counts = [drawn.count(permutation) for permutation in itertools.permutations(range(3))]
        assert sum(counts) == 6000
        assert all(abs(count - 1000) < 5 * math.sqrt(1000) for count in counts)

    @pytest.mark.parametrize("columns", [3, 4])
    def test_action_on_all_sequences_follows_products(self, columns):
        x = np.array(list(itertools.product(range(2), repeat=columns)))
        action = action_on(x, 3)
        for p, q in itertools.product(itertools.permutations(range(3)), repeat=2):
            np.testing.assert_array_equal(action(p)[action(q)], action(compose(p, q)))
            np.testing.assert_array_equal(x[action(p)], permute_context(x, p, 3))


class TestInvariance:
    def test_counts_and_the_readout_token_are_invariant(self):
        counts = invariance_residual(lambda x: (x[:, :L, None] == np.arange(3)).sum(axis=1), X, L)
        readout = invariance_residual(lambda x: x[:, L], X, L, permutations=ALL)
        assert counts.value == readout.value == 0.0

    def test_the_readout_token_is_not_where_it_moves(self):
        assert invariance_residual(lambda x: x[:, L], X, L + 1).value > 0.4

    def test_value_is_the_largest_change_over_the_spread_of_all_orders(self):
        def f(x):
            return x @ np.array([1.0, 2.0, 3.0, 4.0, 0.0])

        values = np.array([[f(permute_context(X[i : i + 1], p, L))[0] for i in range(len(X))] for p in ALL])
        found = invariance_residual(f, X, L, permutations=ALL)
        assert found.change == np.abs(values - f(X)).max()
        assert found.scale == values.max() - values.min()
        assert found.value == found.change / found.scale
        assert np.abs(f(permute_context(X, found.permutation, L)) - f(X)).max() == found.change

    def test_multiples_and_shifts_leave_the_value_as_it_is(self):
        value = invariance_residual(first, X, L).value
        assert value == 1.0
        assert math.isclose(invariance_residual(lambda x: 1e-3 * first(x) - 7, X, L).value, value)

    def test_an_output_that_is_shifted_does_not_hide_another(self):
        assert invariance_residual(lambda x: np.stack([first(x), np.full(len(x), 1e6)], axis=1), X, L).value == 1.0

    @pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 1e-2), (np.float64, 1e-6)])
    def test_rounding_of_one_sequence_is_no_change(self, dtype, limit):
        weights = np.array([0.1, 0.7, 1.3], dtype=dtype)
        found = invariance_residual(lambda x: np.cumsum(weights[x[:, :L]], axis=1)[:, -1], X[:1], L, permutations=ALL)
        assert found.value < limit
        assert invariance_residual(first, X[:1], L, permutations=ALL).value == 1.0

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_not_a_number_is_not_invariant(self, bad):
        assert math.isnan(invariance_residual(lambda x: np.where(first(x) == 0, bad, 1.0), X, L).value)

    def test_one_position_has_nothing_to_exchange(self):
        assert invariance_residual(first, X[:, :2], 1).value == 0.0


class TestEquivariance:
    def test_pointwise_and_pooled_functions_are_equivariant(self):
        embedding = np.random.default_rng(1).normal(size=(3, 6))
        assert equivariance_residual(lambda x: embedding[x], X, L, permutations=ALL).value == 0.0
        assert equivariance_residual(lambda x: x - x.mean(axis=1, keepdims=True), X, L, permutations=ALL).value < 1e-15

    @pytest.mark.parametrize(
        "f", [lambda x: np.cumsum(x, axis=1), lambda x: x * 0 + np.arange(x.shape[1]), lambda x: np.roll(x, 1, axis=1)]
    )
    def test_causal_and_positional_functions_are_not(self, f):
        assert equivariance_residual(f, X, L).value > 0.3

    def test_outputs_of_the_context_alone_will_do(self):
        assert equivariance_residual(lambda x: x[:, :L] ** 2, X, L).value == 0.0

    def test_value_by_hand(self):
        found = equivariance_residual(lambda x: x * [[1, 1, 3]], [[1, 2, 0]], 2)
        assert (found.change, found.scale, found.permutation) == (0.0, 2.0, (1, 0))
        found = equivariance_residual(lambda x: x * [[1, 3, 1]], [[1, 2, 0]], 2)
        assert (found.change, found.scale) == (4.0, 6.0)  # (1, 6) moved is (6, 1), and (2, 1) becomes (2, 3)


class TestKernels:
    # The laws of tests/laws put every architecture through the same residual.
    @pytest.mark.parametrize("kind", ["nngp", "ntk"])
    def test_the_symmetry_is_that_of_the_context(self, kind):
        kernel, x = specht.Kernel(CASES["linear"].arch), tokens(CASES["linear"].arch)
        assert gram_residual(kernel, x, 4, kind=kind, permutations=ALL).value < 1e-12
        assert gram_residual(kernel, x, 5, kind=kind).value > 0.1

    @pytest.mark.parametrize("kind", ["nngp", "ntk"])
    @pytest.mark.parametrize("name", ["causal, two blocks", "sinusoidal"])
    def test_causal_blocks_and_fixed_positions_break_it(self, name, kind):
        assert gram_residual(specht.Kernel(CASES[name].arch), tokens(CASES[name].arch), 4, kind=kind).value > 1e-3

    def test_only_without_positions_one_sequence_may_be_permuted_alone(self):
        for name, alone in (("bag of words", True), ("linear, mean readout, relu", False), ("linear", False)):
            kernel, x = specht.Kernel(CASES[name].arch), tokens(CASES[name].arch)
            assert (gram_residual(kernel, x, 4, joint=False).value < 1e-12) == alone

    def test_value_is_the_largest_change_over_the_largest_entry(self):
        found = gram_residual(overlap, X, L, joint=False, permutations=ALL)
        changes = [np.abs(overlap(permute_context(X, p, L), X) - overlap(X, X)).max() for p in ALL]
        assert (found.change, found.scale) == (max(changes), 5.0)

    def test_gram_is_float64_whatever_the_kernel_returns(self):
        for kernel in (overlap, lambda x, y: overlap(x, y).astype(np.float32), lambda x, y: overlap(x, y).tolist()):
            assert gram_matrix(kernel, X).dtype == np.float64
        np.testing.assert_array_equal(gram_matrix(overlap, X[:2], X), overlap(X[:2], X))


BAD = {
    "x must have one sequence a row, got an array of shape (5,).": lambda: permute_context(X[0], ALL[0], L),
    "x has 5 columns, but length=3 means 4 with a readout token, or 3 without.": lambda: permute_context(X, (0, 1, 2), 3),
    "x is empty: give at least one sequence.": lambda: invariance_residual(first, X[:0], L),
    "A permutation of 4 points lists each of 0 to 3 once, got (0, 1, 2, 2).": lambda: permute_context(X, (0, 1, 2, 2), L),
    "length must be a whole number of at least 1, got 0.": lambda: generators(0),
    "count must be a whole number of at least 0, got -1.": lambda: random_permutations(3, -1),
    "permutations is empty: give at least one, or leave it out for the generators of the group.": lambda: invariance_residual(
        first, X, L, permutations=[]
    ),
    "function must return one row a sequence, so 8, got an array of shape ().": lambda: invariance_residual(np.sum, X, L),
    "function must return real numbers, got an array of dtype complex128.": lambda: invariance_residual(lambda x: x * 1j, X, L),
    "the output of function must have one sequence a row, got an array of shape (8,).": lambda: equivariance_residual(first, X, L),
    "the output of function has 2 columns, but length=4 means 5 with a readout token, or 4 without.": lambda: equivariance_residual(
        lambda x: x[:, :2], X, L
    ),
    "kernel must return one number a pair, so 8 x 8, got an array of shape (8,).": lambda: gram_residual(lambda x, y: x[:, 0], X, L),
    "kernel must return real numbers, got an array of dtype object.": lambda: gram_residual(lambda x, y: None, X, L),
    "Unknown kernel 'ntq': did you mean 'ntk'? Choose from: nngp, ntk.": lambda: gram_residual(overlap, X, L, kind="ntq"),
    "A kernel of type function has no ntk: give an object with that method, such as specht.Kernel.": lambda: gram_residual(
        overlap, X, L, kind="ntk"
    ),
    "A kernel of type int has no nngp: give an object with that method, such as specht.Kernel.": lambda: gram_residual(3, X, L),
    "x holds 2 sequences, and only 1 are different: give each of them once.": lambda: action_on([[0, 1], [0, 1]], 2),
    "x lacks (1, 0), which is a sequence of x in another order: give every order of each context.": lambda: action_on([[0, 1]], 2)((1, 0)),
}


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()


def test_brute_force_and_the_assertions_load_without_jax():
    code = "import sys, specht.testing, specht.spectra.dense\nprint('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
