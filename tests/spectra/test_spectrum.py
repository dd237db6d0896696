"""Exact spectra by irrep: against brute-force diagonalisation, against each other, and against what theory says of them."""

from __future__ import annotations

import numpy as np
import pytest
from small_cases import all_sequences, architecture, assert_same_spectrum, mixture

import specht
from specht.groups.decompositions import functions_on_sequences
from specht.groups.partition import Partition
from specht.sequences.sources import uniform
from specht.spectra.dense import dense_operator, multiplets

KINDS = ("nngp", "ntk")

SMALL = [
    *[(2, length, {"activation": activation}) for length in (1, 3, 6) for activation in ("linear", "erf", "relu")],
    *[(3, length, {}) for length in (2, 4)],
    (3, 3, {"activation": "erf"}),
    (4, 3, {"activation": "relu"}),
    (2, 7, {"readout": "cls", "activation": "erf"}),
    (3, 5, {"readout": "cls"}),
    (2, 8, {"readout": "mean", "activation": "relu"}),
    (3, 5, {"readout": "mean", "activation": "relu"}),
    (3, 4, {"values_see_positions": False}),
    (3, 4, {"normalised": True, "extra_linear": True, "s_1": 1.3, "s_2": 0.7}),
    (2, 6, {"depth": 2, "residual": True, "norm": "pre", "activation": "relu"}),
    (3, 4, {"depth": 2, "norm": "post", "activation": "erf"}),
    (3, 4, {"positions": "none", "activation": "relu"}),
    (2, 6, {"scaling": "tied", "attention": "softmax", "activation": "erf"}),
    (3, 4, {"scaling": "tied", "attention": "softmax"}),
]
LARGE = [
    *[(2, 10, {"activation": activation}) for activation in ("linear", "erf", "relu")],
    (3, 6, {}),
    (3, 5, {"activation": "erf"}),
    (4, 4, {}),
    (4, 4, {"activation": "relu"}),
]
TANGENT = [
    (2, 6, {"activation": "erf"}),
    (3, 4, {}),
    (3, 5, {"readout": "mean", "activation": "relu"}),
    (3, 4, {"positions": "none", "activation": "relu"}),
]
"""The tangent kernels of the ordinary check: methods take either kernel in the same way."""
EVERY_CASE = [
    *[pytest.param(*case, "nngp", marks=[pytest.mark.whole] * (case[1] < 3)) for case in SMALL],
    *[pytest.param(*case, "ntk", marks=[pytest.mark.whole] * (case not in TANGENT)) for case in SMALL],
    *[(*case, "nngp") for case in LARGE],
]


@pytest.mark.parametrize(("vocab", "length", "fields", "kind"), EVERY_CASE, ids=str)
def test_every_exact_method_equals_brute_force(vocab, length, fields, kind):
    arch, source = architecture(vocab, length, **fields), mixture(vocab)
    operator = dense_operator(specht.Kernel(arch), source, kind=kind)
    exact = operator.eigenvalues()
    for method in ["auto", "young"] + ["two tokens"] * (vocab == 2):
        spec = specht.spectrum(arch, source, kind=kind, method=method)
        assert_same_spectrum(spec, exact)
        assert spec.trace == pytest.approx(operator.trace, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("vocab", "longest", "activation"),
    [(2, 10, "linear"), (2, 10, "erf"), (2, 10, "relu"), (3, 6, "linear"), (3, 5, "erf"), (4, 4, "linear")],
)
def test_every_length_equals_brute_force(vocab, longest, activation):
    for length in range(1, longest + 1):
        arch, source = architecture(vocab, length, activation=activation), mixture(vocab, seed=length)
        assert_same_spectrum(specht.spectrum(arch, source), dense_operator(specht.Kernel(arch), source).eigenvalues())


@pytest.mark.parametrize(
    ("vocab", "length", "fields"), [(2, 6, {"activation": "relu"}), (3, 5, {"activation": "erf"}), (4, 4, {"activation": "erf"})]
)
def test_every_eigenvalue_has_the_irrep_that_brute_force_finds(vocab, length, fields):
    arch, source = architecture(vocab, length, **fields), mixture(vocab)
    spec = specht.spectrum(arch, source)
    labelled: dict = {}
    for row in multiplets(dense_operator(specht.Kernel(arch), source).symmetrised()):
        assert row.degeneracy == row.irrep.dimension
        labelled.setdefault(row.irrep, []).append(row.eigenvalue)
    assert set(labelled) == {block.irrep for block in spec.blocks}
    for block in spec.blocks:
        np.testing.assert_allclose(
            block.eigenvalues, sorted(labelled[block.irrep], reverse=True), rtol=0, atol=1e-12 * spec.rows[0].eigenvalue
        )


@pytest.mark.parametrize(("vocab", "length"), [(2, 3), (2, 9), (3, 2), (3, 6), (4, 4)])
def test_the_linear_model_has_two_irreps_and_this_rank(vocab, length):
    spec = specht.spectrum(architecture(vocab, length), mixture(vocab))
    assert spec.multiplicities == {Partition((length,)): vocab**2, Partition((length - 1, 1)): vocab * (vocab - 1)}
    assert sum(row.degeneracy for row in spec.rows) == vocab**2 + (length - 1) * vocab * (vocab - 1)


@pytest.mark.parametrize(("vocab", "length"), [(2, 7), (3, 5), (4, 4)])
def test_multiplicities_are_those_of_schur_and_weyl(vocab, length):
    spec = specht.spectrum(architecture(vocab, length, activation="erf"), mixture(vocab))
    copies = {block.irrep: len(block.eigenvalues) for block in spec.blocks}
    assert copies == {irrep: vocab * count for irrep, count in functions_on_sequences(vocab, length).items()}


@pytest.mark.parametrize(
    ("vocab", "length", "fields"),
    [
        (3, 4, {}),
        (3, 4, {"readout": "cls"}),
        (2, 6, {"activation": "relu"}),
        (3, 4, {"activation": "erf"}),
        (3, 5, {"readout": "mean", "activation": "erf"}),
        (4, 4, {"readout": "cls", "activation": "erf"}),
    ],
    ids=str,
)
def test_eigenfunctions_are_eigenfunctions(vocab, length, fields):
    arch, source = architecture(vocab, length, **fields), mixture(vocab)
    spec = specht.spectrum(arch, source)
    x, p = all_sequences(arch, source)
    gram = specht.Kernel(arch)(x)
    rng = np.random.default_rng(3)
    chosen = spec.truncated(30, smallest=1e-10)
    assert len(chosen) >= 5
    values = np.array([spec.eigenfunction(row)(x) for row in chosen])
    np.testing.assert_allclose((values * p) @ values.T, np.eye(len(chosen)), atol=1e-9)
    for row, value in zip(chosen, values, strict=True):
        moved = spec.eigenfunction(row, rng.permutation(length))(x)
        for function in (value, moved):
            np.testing.assert_allclose(
                np.sqrt(p) * (gram @ (p * function)), np.sqrt(p) * row.eigenvalue * function, atol=1e-12 * spec.trace
            )
        if row.irrep.level == 0:
            np.testing.assert_allclose(moved, value, atol=1e-9)


def test_permuted_eigenfunctions_span_the_multiplet():
    arch, source = architecture(2, 5, activation="erf"), mixture(2)
    spec = specht.spectrum(arch, source)
    x, p = all_sequences(arch, source)
    row = spec.top(Partition((3, 2)))
    rng = np.random.default_rng(0)
    functions = np.array([spec.eigenfunction(row, rng.permutation(5))(x) * np.sqrt(p) for _ in range(20)])
    assert np.linalg.matrix_rank(functions, tol=1e-9) == row.degeneracy == 5


def test_no_eigenvalue_exceeds_its_bound():
    for vocab, length, fields in ((2, 12, {"activation": "relu"}), (3, 6, {"activation": "erf"}), (4, 100, {})):
        spec = specht.spectrum(architecture(vocab, length, **fields), mixture(vocab))
        assert all(row.eigenvalue <= row.bound * (1 + 1e-12) for row in spec.rows)
        assert all(row.bound == pytest.approx(spec.trace / row.degeneracy) for row in spec.rows)


def test_without_positions_only_the_trivial_irrep_is_left():
    spec = specht.spectrum(architecture(3, 5, positions="none", activation="relu"), mixture(3))
    assert {row.irrep for row in spec.rows if not row.below_rounding} == {Partition((5,))}


class TestLongSequences:
    def test_the_linear_model_at_a_million(self):
        source = mixture(3)
        short, long = (specht.spectrum(architecture(3, length), source) for length in (10, 10**6))
        (small,), (large,) = ([block.eigenvalues for block in spec.blocks if block.irrep.level == 1] for spec in (short, long))
        np.testing.assert_allclose(small, large, rtol=1e-9)  # they do not depend on the length
        assert long.top(Partition((10**6 - 1, 1))).degeneracy == 10**6 - 1
        assert long.resolved_trace == pytest.approx(long.trace, rel=1e-12)

    @pytest.mark.parametrize("length", [64, pytest.param(256, marks=pytest.mark.slow)])
    def test_finite_differences_find_the_linear_model_again(self, length):
        """Two methods that share nothing but the law."""
        arch, source = architecture(2, length), mixture(2)
        closed, differences = specht.spectrum(arch, source), specht.spectrum(arch, source, method="two tokens", max_level=3)
        assert differences.trace == pytest.approx(closed.trace, rel=1e-11)
        for block in closed.blocks:
            found = next(other.eigenvalues for other in differences.blocks if other.irrep == block.irrep)
            np.testing.assert_allclose(found[: len(block.eigenvalues)], block.eigenvalues, rtol=1e-9, atol=1e-13 * closed.trace)
            assert np.abs(found[len(block.eigenvalues) :]).max() < 1e-13 * closed.trace
        assert all(row.below_rounding for row in differences.rows if row.irrep.level > 1)

    def test_values_below_rounding_are_said_to_be(self):
        spec = specht.spectrum(architecture(2, 64, activation="erf", s_p=0.02), uniform(2))
        deepest = spec.top(Partition((32, 32)))
        assert deepest.below_rounding
        assert abs(deepest.eigenvalue) <= 1e-14 * spec.trace
        assert deepest.bound < 1e-14 * spec.trace
        assert not spec.top(Partition((62, 2))).below_rounding
        assert sum(block.irrep.dimension * block.eigenvalues.sum() for block in spec.blocks) == pytest.approx(spec.trace, rel=1e-6)

    def test_two_ways_to_three_tokens(self):
        """The top eigenvalue of a level does not care for a third token that never occurs."""
        two, three = architecture(2, 7, activation="relu"), architecture(3, 7, activation="relu")
        p = np.array([0.3, 0.7])
        exact = specht.spectrum(two, specht.sources.iid(p))
        padded = specht.spectrum(three, specht.sources.iid([*p, 0.0]), method="young")
        for m in range(4):
            shape = Partition((7 - m, m) if m else (7,))
            assert padded.top(shape).eigenvalue == pytest.approx(exact.top(shape).eigenvalue, rel=1e-11)


@pytest.mark.parametrize(("vocab", "length"), [(1, 3), (1, 300), (5, 3), (6, 2)])
def test_one_token_and_many(vocab, length):
    arch, source = architecture(vocab, length, activation="erf"), mixture(vocab)
    spec = specht.spectrum(arch, source)
    assert spec.method == "young"
    assert spec.resolved_trace == pytest.approx(spec.trace, rel=1e-12)
    if vocab > 1:
        assert_same_spectrum(spec, dense_operator(specht.Kernel(arch), source).eigenvalues())
    else:
        assert spec.rows[0].eigenvalue == pytest.approx(float(specht.Kernel(arch)(np.zeros((1, length + 1), int))[0, 0]), rel=1e-12)


@pytest.mark.runs_long
def test_eigenfunctions_of_long_sequences_stay_finite():
    arch, source = architecture(2, 350, activation="erf"), specht.sources.iid([0.1, 0.9])
    spec = specht.spectrum(arch, source, max_level=1)
    x = np.vstack([source.sample(seed=0, n=300, length=350), np.zeros((1, 351), int)])  # and one of a probability below the smallest float
    for irrep in (Partition((350,)), Partition((349, 1))):
        values = spec.eigenfunction(spec.top(irrep))(x)
        assert np.isfinite(values).all()
        squares = values[:-1] ** 2
        assert abs(squares.mean() - 1) <= 5 * squares.std(ddof=1) / np.sqrt(len(squares))
