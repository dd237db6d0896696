"""Spectra by irrep against brute-force diagonalisation over all sequences, against each other, and against what theory says of them."""

from __future__ import annotations

import numpy as np
import pytest

import specht
from specht.errors import InputError
from specht.groups.decompositions import functions_on_sequences
from specht.groups.partitions import Partition
from specht.sequences.sources import Source, default_mixture, exchangeable, graded_mixture, uniform
from specht.symmetry.dense import dense_operator, multiplets

KINDS = ("nngp", "ntk")


def architecture(vocab: int, length: int, **fields) -> specht.Architecture:
    return specht.Architecture(**{"vocab": vocab, "length": length, "s_w": 0.6, "s_p": 0.5, **fields})


def mixture(vocab: int, seed: int = 0) -> Source:
    rng = np.random.default_rng(seed)
    return exchangeable(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(vocab), size=3))


def all_sequences(arch, source):
    """Every sequence that the network tells apart, its probability, and nothing of the class symbol's column."""
    if arch.readout == "cls":
        x, p = source.enumerate(arch.length)
        return np.hstack([x, np.zeros((len(x), 1), x.dtype)]), p
    return source.enumerate(arch.columns)


def repeated(spec: specht.Spectrum) -> np.ndarray:
    """Every eigenvalue as often as its degeneracy says, largest first."""
    return np.sort(np.concatenate([np.repeat(block.eigenvalues, block.irrep.dimension) for block in spec.blocks]))[::-1]


def assert_same_spectrum(spec, exact):
    found = repeated(spec)
    size = max(len(found), len(exact))
    found, exact = (np.sort(np.pad(values, (0, size - len(values))))[::-1] for values in (found, exact))
    assert np.abs(found - exact).max() <= 1e-12 * exact[0]


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
EVERY_CASE = [(*case, kind) for case in SMALL for kind in KINDS] + [(*case, "nngp") for case in LARGE]


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

    @pytest.mark.parametrize("length", [64, 256])
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
        assert sum(block.irrep.dimension * block.eigenvalues.sum() for block in spec.blocks) == pytest.approx(spec.trace, rel=0.1)

    def test_two_ways_to_three_tokens(self):
        """The top eigenvalue of a level does not care for a third token that never occurs."""
        two, three = architecture(2, 7, activation="relu"), architecture(3, 7, activation="relu")
        p = np.array([0.3, 0.7])
        exact = specht.spectrum(two, specht.sources.iid(p))
        padded = specht.spectrum(three, specht.sources.iid([*p, 0.0]), method="young")
        for m in range(4):
            shape = Partition((7 - m, m) if m else (7,))
            assert padded.top(shape).eigenvalue == pytest.approx(exact.top(shape).eigenvalue, rel=1e-11)


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
            assert abs(quotient - row.eigenvalue) <= 5 * row.stderr + 0.01 * abs(quotient)  # the norm of g is itself sampled
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


BAD = {
    "The source has 3 tokens and the architecture 2: give both the same vocab.": lambda: specht.spectrum(architecture(2, 4), uniform(3)),
    "Unknown method 'yuong': did you mean 'young'?": lambda: specht.spectrum(architecture(2, 4), method="yuong"),
    "Unknown kernel 'nttk': did you mean 'ntk'?": lambda: specht.spectrum(architecture(2, 4), kind="nttk"),
    "Method 'linear' is for one block of linear attention": lambda: specht.spectrum(architecture(3, 4, activation="erf"), method="linear"),
    "use method='auto', which takes the one that fits.": lambda: specht.spectrum(architecture(3, 4, activation="erf"), method="linear"),
    "Method 'two tokens' does not apply: it is for vocab=2": lambda: specht.spectrum(architecture(3, 4), method="two tokens"),
    "because of its causal mask": lambda: specht.spectrum(architecture(2, 4, causal=True, depth=2)),
    "because of its fixed positions": lambda: specht.spectrum(architecture(2, 4, positions="sinusoidal")),
    "Method 'young' would take too long: 3 tokens at length 40 have": lambda: specht.spectrum(
        architecture(3, 40, activation="erf"), method="young"
    ),
    "the sums over tables have": lambda: specht.spectrum(architecture(3, 18, activation="erf"), method="young"),
    "its 4^8 contexts would have to be listed, more than 2500: use method='rayleigh'": lambda: specht.spectrum(
        architecture(4, 8, attention="softmax"), method="young"
    ),
    "more than length 2048 does: use method='rayleigh'": lambda: specht.spectrum(
        architecture(2, 3000, activation="erf"), max_level=1, method="two tokens"
    ),
    "heads of 152 sequences would have to be drawn together, at most 136": lambda: specht.spectrum(
        architecture(2, 15, attention="softmax", readout="mean", activation="erf", depth=2, norm="pre"), method="two tokens"
    ),
    "contingency tables of 8 tokens at length 1 do not fit into 64-bit numbers": lambda: specht.spectrum(
        architecture(8, 1, activation="erf"), method="young"
    ),
    "Method 'linear' has blocks of 40000 x 40000 entries for 200 tokens": lambda: specht.spectrum(architecture(200, 5), method="linear"),
    "501 levels at length 1000 need": lambda: specht.spectrum(architecture(2, 1000, activation="erf"), max_level=500, method="two tokens"),
    "give a max_level of at most 6, or a shorter length": lambda: specht.spectrum(
        architecture(2, 100, activation="erf"), max_level=25, method="rayleigh"
    ),
    "are more than 16777216 tokens": lambda: specht.spectrum(architecture(3, 10**6, activation="erf"), max_level=1),
    "arch must be an Architecture, got 'V=2 L=4'": lambda: specht.spectrum("V=2 L=4"),
    "source must be one of specht.sources, got 'uniform'": lambda: specht.spectrum(architecture(2, 4), "uniform"),
    "x holds token 5, but vocab=2 allows 0 to 1": lambda: _values([[0, 1, 5, 0, 0]]),
    "x has 4 columns, but length=4": lambda: _values([[0, 1, 1, 0]]),
    "is no row of this spectrum: take one of its `rows`.": lambda: specht.spectrum(architecture(2, 4)).eigenfunction(
        specht.spectrum(architecture(2, 5)).rows[0]
    ),
    "max_level must be a whole number of at least 0, got -1.": lambda: specht.spectrum(architecture(2, 4), max_level=-1),
    "is not in this spectrum": lambda: specht.spectrum(architecture(2, 4)).top(Partition((2, 2))),
    "0, 1, 1, 2": lambda: _eigenfunction([0, 1, 1, 2]),
}


def _eigenfunction(permutation):
    spec = specht.spectrum(architecture(2, 4))
    return spec.eigenfunction(spec.rows[0], permutation)


def _values(x):
    spec = specht.spectrum(architecture(2, 4))
    return spec.eigenfunction(spec.rows[0])(x)


@pytest.mark.parametrize(("sentence", "call"), BAD.items(), ids=list(BAD))
def test_bad_input(sentence, call):
    with pytest.raises(InputError) as caught:
        call()
    assert sentence in str(caught.value)


def test_exact_methods_refuse_a_source_with_an_order_and_say_how_far_it_is():
    source = graded_mixture(0.5, vocab=2)
    gap = specht.sources.exchangeability_gap(source, 5)
    with pytest.raises(InputError, match=f"changes by a total variation of {gap}"):
        specht.spectrum(architecture(2, 5, activation="erf"), source, method="two tokens")


@pytest.mark.parametrize("length", [6, 64])
def test_merging_keeps_the_trace(length):
    spec = specht.spectrum(architecture(2, length, activation="erf"), uniform(2))
    merged = spec.merged()
    total = sum(row.degeneracy * row.eigenvalue for row in merged if not row.below_rounding)
    assert total == pytest.approx(spec.resolved_trace, rel=1e-9)
    assert sum(row.degeneracy for row in merged) == sum(row.degeneracy for row in spec.rows)


def test_truncation_leaves_out_what_is_not_resolved():
    spec = specht.spectrum(architecture(2, 40, activation="erf"), uniform(2))
    assert any(row.below_rounding for row in spec.rows)
    assert not any(row.below_rounding for row in spec.truncated())
    assert "lie below rounding" in str(spec)


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


def test_eigenfunctions_of_long_sequences_stay_finite():
    arch, source = architecture(2, 700, activation="erf"), specht.sources.iid([0.1, 0.9])
    spec = specht.spectrum(arch, source, max_level=1)
    x = np.vstack([source.sample(seed=0, n=300, length=700), np.zeros((1, 701), int)])  # and one that hardly ever occurs
    for irrep in (Partition((700,)), Partition((699, 1))):
        values = spec.eigenfunction(spec.top(irrep))(x)
        assert np.isfinite(values).all()
        assert np.mean(values[:-1] ** 2) == pytest.approx(1, abs=0.5)


def test_rows_can_be_merged_truncated_and_printed():
    spec = specht.spectrum(architecture(3, 6), uniform(3))
    assert sum(row.degeneracy for row in spec.merged()) == sum(row.degeneracy for row in spec.rows)
    assert len(spec.merged()) < len(spec.rows)  # uniform tokens can be renamed
    assert spec.truncated(2) == spec.rows[:2]
    assert all(row.eigenvalue >= 0.01 * spec.trace for row in spec.truncated(smallest=0.01))
    text = str(spec)
    assert "[5,1]" in text
    assert f"E[k] = {spec.trace:.6g}" in text
