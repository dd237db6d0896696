"""What a target holds of every multiplet, against sums over all sequences."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from small_cases import architecture, mixture

import specht
from specht.errors import InputError
from specht.groups.partition import Partition
from specht.learning import multiplets, target_content as content_module
from specht.learning.multiplets import multiplet
from specht.learning.target_content import content, leading_modes, modes
from specht.sequences import targets
from specht.sequences.sources import default_mixture, reweighted, uniform
from specht.sequences.targets import Target
from specht.sequences.tasks import Task
from specht.spectra import combinatorics as points_module
from specht.spectra.combinatorics import count_classes, points

CASES = {"two tokens": (2, 5, "erf"), "three tokens": (3, 4, "erf"), "linear": (3, 5, "linear"), "mean": (2, 5, "relu")}


def _case(name):
    vocab, length, activation = CASES[name]
    arch = architecture(vocab, length, activation=activation, **({"readout": "mean"} if name == "mean" else {}))
    source = mixture(vocab)
    return arch, source, specht.spectrum(arch, source)


@pytest.mark.parametrize("name", CASES)
def test_inner_products_of_a_multiplet_are_those_of_polytabloids(name):
    arch, source, spec = _case(name)
    x, p = source.enumerate(arch.columns)
    for block in spec.blocks:
        functions = multiplet(block.irrep)
        assert len(functions.orders) == block.irrep.dimension
        moved = [np.hstack([x[:, order], x[:, arch.length :]]) for order in functions.orders]
        values = np.stack([block.eigenfunctions(each) for each in moved], axis=1)
        gram = np.linalg.inv(functions.metric)
        for copy in np.flatnonzero(block.eigenvalues > 1e-12 * spec.trace):
            np.testing.assert_allclose((values[:, :, copy] * p[:, None]).T @ values[:, :, copy], gram, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_any_function_is_taken_apart_as_by_the_dense_operator(name, monkeypatch):
    """Weights in each eigenspace of the operator on all sequences, which knows nothing of groups."""
    arch, source, spec = _case(name)
    x, p = source.enumerate(arch.columns)
    values = np.random.default_rng(1).normal(size=len(x))
    task = Task(source, targets.labelled(x, values, arch.vocab))
    found = content(spec, task)
    assert (found.weights_stderr == 0).all()  # classes of sequences are few: exact
    kernel = specht.Kernel(arch).nngp(x)
    eigenvalues, vectors = np.linalg.eigh(np.sqrt(p)[:, None] * kernel * np.sqrt(p))
    mine = (vectors.T @ (np.sqrt(p) * values)) ** 2
    for eigenvalue in np.unique(found.eigenvalues.round(12)):
        rows = np.abs(found.eigenvalues - eigenvalue) < 1e-9
        near = np.abs(eigenvalues / spec.trace - eigenvalue) < 1e-9
        assert found.weights[rows].sum() == pytest.approx(mine[near].sum(), abs=1e-9)
    assert found.total == pytest.approx(p @ values**2)
    shown = found.components(x)[:, :, 0]
    np.testing.assert_allclose(p @ shown**2, found.weights, atol=1e-10)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_pure_target_has_no_other_level(level):
    arch, source, spec = _case("two tokens")
    target = targets.level(level, arch.length, source=source)
    exact = content(spec, Task(source, target))
    x, _p = source.enumerate(arch.columns)
    assert exact.total == pytest.approx(1.0)
    assert {m: part.total for m, part in exact.by_level().items()} == pytest.approx({m: float(m == level) for m in range(3)})
    any_function = content(spec, Task(source, dataclasses.replace(target, pairs=None)))
    np.testing.assert_allclose(any_function.weights, exact.weights, atol=1e-10)
    np.testing.assert_allclose(exact.components(x)[:, :, 0].sum(axis=1), target(x)[:, 0], atol=1e-8)


def test_sampled_contents_agree_with_exact_ones_within_their_errors(monkeypatch):
    _arch, source, spec = _case("linear")
    target = Target("any", lambda x: (x[:, 0] == 1) * 1.0 + (x[:, 1] == x[:, 2]) * (x[:, -1] == 0))
    exact = content(spec, Task(source, target))
    monkeypatch.setattr(points_module, "MOST_CLASSES", 0)
    sampled = content(spec, Task(source, target), samples=2**13)
    assert (sampled.weights_stderr > 0).all()
    deviation = (sampled.weights - exact.weights) / sampled.weights_stderr
    assert np.abs(deviation).max() < 5
    assert np.mean(deviation**2) < 3
    assert sampled.total == pytest.approx(exact.total, rel=0.1)


@pytest.mark.parametrize("name", ["two tokens", "linear"])
@pytest.mark.parametrize("made", ["or", "own", "level"])
def test_the_support_of_a_target_is_enough_in_large_multiplets(name, made, monkeypatch):
    arch, source, spec = _case(name)
    own = Target("own", lambda x: (x[:, 3] == 1) + 0.5 * (x[:, :5] == 0).sum(axis=1) ** 2 * (x[:, -1] == 1))
    level = dataclasses.replace(targets.level(1, arch.length, source=source), pairs=None)
    task = Task(source, {"or": targets.disjunction(2, arch.length), "own": own, "level": level}[made], source)
    exact = content(spec, task)
    monkeypatch.setattr(multiplets, "MOST_TABLEAUX", 3)
    found = content(spec, task)
    np.testing.assert_allclose(found.weights, exact.weights, atol=1e-10)
    # the parts themselves are sampled, in halves whose products have no bias
    assert np.trace(found.shifted.form[:-1, :-1]) == pytest.approx(exact.weights.sum(), rel=0.5)


def test_random_orders_state_their_scatter(monkeypatch):
    arch, source, spec = _case("linear")
    task = Task(source, targets.disjunction(2, arch.length))
    exact = content(spec, task)
    block = next(block for block in spec.blocks if block.irrep.level == 1)
    rows = [index for index, row in enumerate(exact.rows) if row.irrep.level == 1][:2]
    at = points(source, arch.length, arch.columns, arch.length, 1, np.random.default_rng(0))
    monkeypatch.setattr(multiplets, "MOST_TABLEAUX", 3)
    deviations, estimates = [], []
    for seed in range(200):
        functions = multiplet(Partition((4, 1)), None, seed)
        assert functions.is_random
        inner = content_module._inner_products(block, functions.orders, at, task.target(at.x), 2, 1)
        value, stderr = content_module._mean_squares(inner, functions)
        estimates.append(value)
        deviations.append((value - exact.weights[rows]) ** 2 - stderr**2)
    error = np.std(estimates, axis=0) / np.sqrt(len(estimates))
    assert (np.abs(np.mean(estimates, axis=0) - exact.weights[rows]) < 5 * error).all()
    assert (np.abs(np.mean(deviations, axis=0)) < 5 * np.std(deviations, axis=0) / np.sqrt(len(deviations))).all()


def test_long_sequences_hold_what_short_ones_do():
    """Parity of two fair bits lies at level 2 but for shares of the order of one over the length."""
    length, source = 64, uniform(2)
    spec = specht.spectrum(specht.Architecture(vocab=2, length=length, activation="erf", s_w=0.5), source, max_level=2)
    found = content(spec, Task(source, targets.parity(2, length)), samples=2**13)
    level = found.by_level()[2]
    # a product of two positions is a vector of M^(L-2,2), of which (L-2,2) holds dim / C(L,2) = (L-3)/(L-1)
    stderr = np.linalg.norm(found.weights_stderr[found.levels == 2])
    assert abs(level.total - (length - 3) / (length - 1)) < 5 * stderr < 0.2


def test_out_of_distribution_form_is_the_mean_product_under_the_test_law():
    arch, source, spec = _case("two tokens")
    test_source = reweighted(source, [0.1, 0.2, 0.7])
    target = targets.conjunction(2, arch.length)
    found = content(spec, Task(source, target, test_source))
    x, p = test_source.enumerate(arch.columns)
    parts = np.concatenate([found.components(x)[:, :, 0], np.zeros((len(x), 1))], axis=1)
    parts[:, -1] = target(x)[:, 0] - parts.sum(axis=1)
    np.testing.assert_allclose(found.shifted.form, (parts * p[:, None]).T @ parts, atol=1e-9)
    for row, spread in zip(found.rows, found.shifted.spread, strict=True):
        block = next(block for block in spec.blocks if block.irrep == row.irrep)
        functions = multiplet(row.irrep)
        moved = [block.eigenfunctions(np.hstack([x[:, order], x[:, arch.length :]]))[:, row.copy] for order in functions.orders]
        # orthonormal functions of the multiplet are combinations of these by a root of the metric
        total = np.einsum("kn,kl,ln,n->", np.array(moved), functions.metric, np.array(moved), p)
        assert spread == pytest.approx(total, rel=1e-8)


def test_the_test_law_of_training_is_no_shift():
    arch, source, spec = _case("two tokens")
    found = content(spec, Task(source, targets.majority(3, arch.length), source))
    np.testing.assert_allclose(found.shifted.form[:-1, :-1], np.diag(found.weights), atol=1e-9)
    np.testing.assert_allclose(found.shifted.spread, found.degeneracies, rtol=1e-8)


def test_eigenfunctions_hold_what_they_were_given():
    arch, source, spec = _case("two tokens")
    chosen = [(spec.rows[1], 0.5), (spec.top(Partition((4, 1))), -2.0)]
    target = modes(spec, chosen)
    found = content(spec, Task(source, target))
    assert found.total == pytest.approx(4.25)
    assert sorted(found.weights[found.weights > 0]) == pytest.approx([0.25, 4.0])
    x, p = source.enumerate(arch.columns)
    assert p @ target(x)[:, 0] ** 2 == pytest.approx(4.25)
    np.testing.assert_allclose(found.mean_output(x, np.ones(len(found.rows))), target(x), atol=1e-10)
    other = content(specht.spectrum(arch, source), Task(source, target))  # taken apart as any function
    np.testing.assert_allclose(other.weights, found.weights, atol=1e-9)


def test_leading_modes_are_one_a_level_and_not_the_constant():
    spec = specht.spectrum(specht.Architecture(vocab=3, length=6), default_mixture(3))
    target = leading_modes(spec)
    assert {(str(irrep), copy) for irrep, copy in target.coefficients} == {("[6]", 1), ("[5,1]", 0)}
    assert sum(value**2 for value in target.coefficients.values()) == pytest.approx(1.0)


def test_next_token_is_of_level_zero_and_its_noise_is_known():
    source = default_mixture(3)
    arch = specht.Architecture(vocab=3, length=6)
    found = content(specht.spectrum(arch, source), Task(source, targets.next_token(source)))
    x, p = source.enumerate(arch.columns)
    y, q = source.enumerate(arch.columns + 1)
    best = targets.next_token(source)(x)
    assert found.total == pytest.approx(float(p @ (best**2).sum(axis=1)))
    one_hot = np.eye(3)[y[:, -1]]
    assert found.label_noise == pytest.approx(float(q @ ((one_hot - np.repeat(best, 3, axis=0)) ** 2).sum(axis=1)))
    assert {level for level, part in found.by_level().items() if part.total > 1e-12} == {0}


def test_classes_of_sequences_add_up_to_all_of_them():
    source = default_mixture(3)
    at = points(source, 5, 6, 2, 10, np.random.default_rng(0))
    assert at.exact
    assert len(at.x) == count_classes(3, 5, 6, 2) == 3**3 * 10
    x, p = source.enumerate(6)

    def function(z):
        counts = [(z[:, 2:5] == token).sum(axis=1) for token in range(3)]
        return z[:, 0] + 2 * z[:, 1] * z[:, 5] + counts[0] ** 2 - counts[1] * z[:, 0]

    assert at.weights @ function(at.x) == pytest.approx(p @ function(x), rel=1e-12)


def test_a_spectrum_of_another_vocabulary_is_refused():
    spec = specht.spectrum(specht.Architecture(vocab=2, length=4))
    with pytest.raises(InputError, match="give both the same vocab"):
        content(spec, Task(uniform(3), targets.counts(4)))


@pytest.mark.parametrize("name", ["or", "modes", "constant"])
def test_variance_is_what_the_best_constant_leaves(name):
    arch, source, spec = _case("two tokens")
    made = {"or": targets.disjunction(2, arch.length), "modes": leading_modes(spec), "constant": targets.level(0, arch.length)}[name]
    found = content(spec, Task(source, made))
    x, p = source.enumerate(arch.columns)
    values = made(x)[:, 0]
    variance = p @ values**2 - (p @ values) ** 2
    assert found.variance == pytest.approx(1.0 if name == "constant" else variance)
