"""The dense operator against sums over sequences and over permutations, and its multiplets against the theory of the group."""

from __future__ import annotations

import itertools
import re
from collections import Counter

import numpy as np
import pytest
from architectures import CASES

import specht
from specht.errors import InputError
from specht.groups.decompositions import functions_on_sequences
from specht.groups.irreps import isotypic_projector
from specht.groups.partition import Partition
from specht.sequences import sources
from specht.sequences.actions import action_on
from specht.spectra.dense import DenseOperator, dense_operator, multiplet_splittings, multiplets

READOUTS = ("last", "mean", "cls")
MIXTURE = {vocab: sources.exchangeable([0.5, 0.2, 0.3], np.random.default_rng(1).dirichlet(np.ones(vocab), size=3)) for vocab in (2, 3)}


def erf_kernel(vocab: int, length: int, readout="last", **fields) -> specht.Kernel:
    return specht.Kernel(specht.Architecture(vocab=vocab, length=length, s_w=0.6, s_p=0.5, activation="erf", readout=readout, **fields))


def featureless(x, y):
    """A positive kernel without any symmetry: random features of the sequence as a whole."""
    codes = [batch @ 3 ** np.arange(batch.shape[1]) for batch in (x, y)]
    features = np.random.default_rng(0).normal(size=(3**6, 7))
    return features[codes[0]] @ features[codes[1]].T


def identity(x, y):
    return (x[:, None, :] == y[None, :, :]).all(axis=-1)


def expanded(rows) -> np.ndarray:
    """All eigenvalues of a list of multiplets, largest first."""
    return np.sort(np.concatenate([[row.eigenvalue] * row.degeneracy for row in rows]))[::-1]


class TestOperator:
    @pytest.mark.parametrize("readout", READOUTS)
    def test_it_is_the_kernel_weighted_by_the_law(self, readout):
        kernel, source = erf_kernel(3, 2, readout), sources.generic_mixture(3)
        operator = dense_operator(kernel, source)
        drawn = 3 if readout == "last" else 2
        contexts = np.array(list(itertools.product(range(3), repeat=drawn)))
        states = np.pad(contexts, ((0, 0), (0, readout == "cls")))
        p = np.exp(source.log_probability(contexts))
        np.testing.assert_array_equal(operator.states, states)
        np.testing.assert_allclose(operator.probabilities, p, rtol=1e-12)
        k = kernel.nngp(states, states)
        expected = [[np.sqrt(p[i] * p[j]) * k[i, j] for j in range(len(states))] for i in range(len(states))]
        np.testing.assert_allclose(operator.matrix, expected, rtol=1e-11)
        assert operator.matrix.dtype == operator.eigenvalues().dtype == np.float64

    def test_eigenvalues_are_those_of_the_operator_on_functions(self):
        operator = dense_operator(erf_kernel(2, 3), sources.generic_mixture(2))
        found = np.sort(np.linalg.eigvals(operator.gram * operator.probabilities).real)[::-1]
        np.testing.assert_allclose(operator.eigenvalues(), found, atol=1e-14)

    @pytest.mark.parametrize("kind", ["nngp", "ntk"])
    def test_trace_is_the_mean_of_the_diagonal_and_the_sum_of_eigenvalues(self, kind):
        kernel = erf_kernel(3, 3)
        operator = dense_operator(kernel, MIXTURE[3], kind=kind)
        assert np.isclose(operator.trace, kernel.diagonal(operator.states, kind=kind) @ operator.probabilities, rtol=1e-12)
        assert np.isclose(operator.trace, operator.eigenvalues().sum(), rtol=1e-12)

    def test_the_token_under_the_class_symbol_does_not_matter(self):
        operator = dense_operator(erf_kernel(2, 3, "cls"), MIXTURE[2])
        other = operator.states.copy()
        other[:, -1] = 1
        np.testing.assert_array_equal(erf_kernel(2, 3, "cls").nngp(other), operator.gram)

    def test_length_and_readout_can_be_given_for_a_plain_function(self):
        assert dense_operator(featureless, MIXTURE[3], length=2).states.shape == (27, 3)
        assert dense_operator(featureless, MIXTURE[3], length=2, readout="mean").states.shape == (9, 2)

    @pytest.mark.parametrize(("vocab", "length"), [(2, 3), (2, 6), (3, 2), (3, 4)])
    def test_fully_linear_model_has_few_eigenvalues_all_of_level_one_or_below(self, vocab, length):
        operator = dense_operator(specht.Kernel(specht.Architecture(vocab=vocab, length=length)), MIXTURE[vocab])
        eigenvalues = operator.eigenvalues()
        assert np.count_nonzero(eigenvalues > 1e-12 * eigenvalues[0]) == vocab**2 + (length - 1) * vocab * (vocab - 1)
        copies = Counter(row.irrep for row in multiplets(operator) if row.eigenvalue > 1e-12 * eigenvalues[0])
        assert copies == {Partition((length,)): vocab**2, Partition((length - 1, 1)): vocab * (vocab - 1)}


def average(operator: DenseOperator) -> DenseOperator:
    """Law and kernel averaged over all permutations, one after the other."""
    action, group = action_on(operator.states, operator.length), list(itertools.permutations(range(operator.length)))
    moved = [action(permutation) for permutation in group]
    law = sum(operator.probabilities[images] for images in moved) / len(group)
    gram = sum(operator.gram[np.ix_(images, images)] for images in moved) / len(group)
    return DenseOperator(operator.states, law, gram, operator.length)


class TestSymmetrised:
    @pytest.mark.parametrize("readout", READOUTS)
    @pytest.mark.parametrize(("vocab", "length"), [(3, 3), (2, 4)])
    def test_it_is_the_sum_over_all_permutations(self, vocab, length, readout):
        operator = dense_operator(featureless, sources.generic_mixture(vocab), length=length, readout=readout)
        found, expected = operator.symmetrised(), average(operator)
        np.testing.assert_allclose(found.probabilities, expected.probabilities, rtol=1e-13)
        np.testing.assert_allclose(found.gram, expected.gram, rtol=0, atol=1e-13 * np.abs(expected.gram).max())
        np.testing.assert_array_equal(found.symmetrised().gram, found.gram)
        assert np.abs(found.gram - operator.gram).max() > 0.1

    def test_it_leaves_an_invariant_operator_alone(self):
        operator = dense_operator(erf_kernel(2, 8), MIXTURE[2])
        np.testing.assert_allclose(operator.symmetrised().gram, operator.gram, rtol=1e-14)
        np.testing.assert_allclose(operator.symmetrised().probabilities, operator.probabilities, rtol=1e-14)

    def test_sampled_heads_break_degeneracy_and_averaging_restores_it(self):
        kernel = specht.Kernel(specht.Architecture(vocab=2, length=4, attention="softmax"), heads=256)
        operator = dense_operator(kernel, MIXTURE[2])
        with pytest.raises(InputError, match=r"The operator changes by .* when context positions are permuted"):
            multiplets(operator)
        symmetric = operator.symmetrised()
        np.testing.assert_allclose(expanded(multiplets(symmetric)), symmetric.eigenvalues(), atol=1e-15)
        assert max(row.splitting for row in multiplet_splittings(kernel, MIXTURE[2])) > 1e-6


class TestMultiplets:
    @pytest.mark.parametrize("readout", READOUTS)
    @pytest.mark.parametrize(("vocab", "length"), [(2, 1), (2, 2), (2, 5), (3, 3), (3, 4)])
    def test_copies_are_those_of_functions_on_sequences(self, vocab, length, readout):
        operator = dense_operator(erf_kernel(vocab, length, readout), MIXTURE[vocab])
        rows = multiplets(operator)
        times = vocab if readout == "last" else 1
        copies = {irrep: times * copies for irrep, copies in functions_on_sequences(vocab, length).items()}
        assert Counter(row.irrep for row in rows) == copies
        assert all(row.degeneracy == row.irrep.dimension for row in rows)
        assert [row.eigenvalue for row in rows] == sorted((row.eigenvalue for row in rows), reverse=True)
        np.testing.assert_allclose(expanded(rows), operator.eigenvalues(), atol=1e-14 * operator.trace)

    @pytest.mark.parametrize(("vocab", "length"), [(3, 3), (2, 4)])
    def test_labels_are_those_of_projectors_summed_over_all_permutations(self, vocab, length):
        operator = dense_operator(erf_kernel(vocab, length), sources.default_mixture(vocab))
        action = action_on(operator.states, length)
        for irrep in functions_on_sequences(vocab, length):
            projector = isotypic_projector(irrep, action)
            eigenvalues = np.linalg.eigvalsh(projector @ operator.matrix @ projector)[::-1][: round(np.trace(projector))]
            mine = expanded([row for row in multiplets(operator) if row.irrep == irrep])
            np.testing.assert_allclose(mine, eigenvalues, atol=1e-14 * operator.trace)

    def test_labels_hold_where_all_eigenvalues_are_equal(self):
        rows = multiplets(dense_operator(identity, sources.uniform(3), length=3))
        assert Counter(row.irrep for row in rows) == {irrep: 3 * copies for irrep, copies in functions_on_sequences(3, 3).items()}
        np.testing.assert_allclose([row.eigenvalue for row in rows], 1 / 81, rtol=1e-12)

    def test_a_kernel_that_is_zero_has_zeros_of_every_irrep(self):
        rows = multiplets(dense_operator(lambda x, y: 0.0 * identity(x, y), sources.uniform(2), length=3))
        assert Counter(row.irrep for row in rows) == {Partition((3,)): 8, Partition((2, 1)): 4}
        assert all(row.eigenvalue == 0.0 for row in rows)

    @pytest.mark.parametrize("name", ["causal, two blocks", "sinusoidal"])
    def test_causal_blocks_and_fixed_positions_have_none(self, name):
        kernel = specht.Kernel(CASES[name].arch.replace(vocab=2, length=3))
        with pytest.raises(InputError, match=r"no multiplets: take those of operator\.symmetrised"):
            multiplets(dense_operator(kernel, sources.uniform(2)))

    def test_no_eigenvalue_exceeds_the_trace_over_its_degeneracy(self):
        operator = dense_operator(erf_kernel(3, 4), MIXTURE[3])
        assert all(row.eigenvalue * row.degeneracy <= operator.trace for row in multiplets(operator))


class TestSplittings:
    @pytest.mark.parametrize("readout", READOUTS)
    @pytest.mark.parametrize("kind", ["nngp", "ntk"])
    def test_exchangeable_sources_with_closed_kernels_do_not_split(self, readout, kind):
        for vocab, source in ((2, sources.default_mixture(2)), (3, MIXTURE[3])):
            rows = multiplet_splittings(erf_kernel(vocab, 3, readout), source, kind=kind)
            assert max(row.splitting for row in rows) < 1e-10 * rows[0].eigenvalue

    @pytest.mark.parametrize(("vocab", "length"), [(2, 4), (3, 3), (3, 4)])
    def test_they_grow_with_broken_order(self, vocab, length):
        kernel, relative = erf_kernel(vocab, length), []
        for epsilon in (0.0, 0.1, 0.3, 1.0):
            rows = multiplet_splittings(kernel, sources.graded_mixture(epsilon, vocab))
            top = next(row for row in rows if row.irrep.level == 1)
            relative.append(top.splitting / top.eigenvalue)
        assert relative[0] < 1e-10
        assert relative[1] > 1e-3
        assert all(after > 2 * before for before, after in itertools.pairwise(relative))
        # An irrep of one dimension has nothing to split.
        assert max(row.splitting for row in rows if row.irrep.level == 0 and row.eigenvalue > 1e-6) < 1e-15

    def test_they_are_the_first_order_of_the_actual_eigenvalues(self):
        kernel, relative = erf_kernel(2, 4), []
        for epsilon in (1e-3, 2e-3):
            source = sources.graded_mixture(epsilon, 2)
            actual = dense_operator(kernel, source).eigenvalues()
            top = next(row for row in multiplet_splittings(kernel, source) if row.irrep == Partition((3, 1)))
            cluster = actual[np.argsort(np.abs(actual - top.eigenvalue))[:3]]
            assert np.isclose(np.ptp(cluster), top.splitting, rtol=0.01)
            relative.append(top.splitting / epsilon)
        assert np.isclose(*relative, rtol=0.01)

    def test_rows_are_the_multiplets_of_the_symmetrised_operator(self):
        kernel, source = erf_kernel(3, 3), sources.graded_mixture(0.5, 3)
        rows, expected = multiplet_splittings(kernel, source), multiplets(dense_operator(kernel, source).symmetrised())
        assert Counter(row.irrep for row in rows) == Counter(row.irrep for row in expected)
        np.testing.assert_allclose([row.eigenvalue for row in rows], [row.eigenvalue for row in expected], atol=1e-15)

    def test_copies_with_one_eigenvalue_between_them_share_the_splitting(self):
        source = sources.graded_mixture(0.5, 2)
        rows = multiplet_splittings(lambda x, y: np.ones((len(x), len(y))), source, length=3, readout="mean")
        null = [row.splitting for row in rows if row.irrep == Partition((2, 1))]
        assert len(null) == 2
        assert null[0] == null[1] > 1e-6


BAD = {
    "The dense operator lists every sequence, and a matrix of all 3^9 would take 3.1e9 bytes; it stops at 5000 sequences: "
    "use specht.spectrum, or a smaller vocab or length.": lambda: dense_operator(identity, sources.uniform(3), length=8),
    "a matrix of all 2^1000001 would take 3.1e602061 bytes": lambda: dense_operator(identity, sources.uniform(2), length=10**6),
    "A kernel that is a plain function does not say how long its sequences are: give length.": lambda: dense_operator(
        identity, sources.uniform(2)
    ),
    "length must be a whole number of at least 1, got 0.": lambda: dense_operator(identity, sources.uniform(2), length=0),
    "Unknown readout 'lst': did you mean 'last'? Choose from: last, mean, cls.": lambda: dense_operator(
        identity, sources.uniform(2), length=2, readout="lst"
    ),
    "kernel returned nan for a pair of sequences: give a kernel with finite entries.": lambda: dense_operator(
        lambda x, y: identity(x, y) * np.nan, sources.uniform(2), length=2
    ),
    "kernel is not symmetric: k(x, y) and k(y, x) differ by up to 1.0e+00, so it has no real spectrum.": lambda: dense_operator(
        lambda x, y: np.repeat(x[:, :1], len(y), axis=1), sources.uniform(2), length=2
    ),
    "x holds token 2, but vocab=2 allows 0 to 1": lambda: dense_operator(erf_kernel(2, 2), sources.uniform(3)),
    "Unknown kernel 'nntk': did you mean 'ntk'?": lambda: multiplet_splittings(erf_kernel(2, 2), sources.uniform(2), kind="nntk"),
}


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()
