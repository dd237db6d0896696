"""The judges of the paper on broken symmetry, on numbers made up for them: each must be able to say yes and no."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from judging import CLAIMS, assert_says_yes_and_no

from specht.papers.breaking_symmetry import PAPER, initial, invariance, kernels, levels
from specht.probes.similarity import uniform_cosines


def cells(rounding=1e-15, single=1e-15, broken=0.3, rotary=0.005, exchange=0.1, others=1e-15):
    """The invariance table as the theorem has it, with what each kind of cell changes by."""
    found = []
    for positions, causal, depth in itertools.product(("none", "learned", "rotary"), (False, True), (1, 2)):
        same = invariance.is_invariant(positions, causal, depth)
        value = (single if causal else rounding) if same else rotary if positions == "rotary" else broken
        numbers = {"change": value, "scale": 1.0, "share": value, "least": value, "exchange": exchange, "others": others}
        arguments = {"positions": positions, "causal": causal, "depth": depth, "residual": True, "norm": "pre"}
        found.append(invariance.measure_invariance.result(numbers, **arguments, permutations=4, networks=2, seed=depth))
    return found


def starts(off=0.0, with_stream=0.0, falling=1.0, attention=0.95, unmasked=0.5, embedding=0.5, layers=(0.6, 0.7), cosine=0.8, size=0.5):
    """Random networks of two layers, whose states have the closed forms but for what is given."""
    found = []
    for causal, residual in itertools.product((True, False), (True, False)):
        scores = [embedding, *(layers if causal else (unmasked, unmasked))]
        attended = [attention if causal else unmasked] * 2
        noise = np.array([[-1e-3], [1e-3]])
        numbers = {
            "stream": (("network", "layer"), scores + noise),
            "stream_mean": (("network", "layer"), scores + noise),
            "attention": (("network", "block"), attended + noise),
            "attention_mean": (("network", "block"), attended + noise),
            "probe_cosine": (("network", "block"), np.full(2, cosine) + noise),
            "probe_size": (("network", "block"), np.full(2, size) + noise),
            "cosines": (("i", "j"), uniform_cosines(6) + off),
            "residual_cosines": (("i", "j"), uniform_cosines(6, residual=0.2) + with_stream),
            "sizes": ("i", np.arange(1.0, 7.0) ** -falling),
            "ratio": 0.2,
        }
        arguments = {"causal": causal, "residual": residual, "deviation": initial.SMALL, "positions": 6, "depth": 2}
        found.append(initial.measure_similarity.result(numbers, **arguments, sequences=8, networks=2, seed=0))
    return found


def shares(outside=0.0, order=0.1, inside=0.0, mixed=0.01, apart=0.0, learnt=0.5):
    """Kernels by irrep; `outside` of the trivial one where order is ignored, `order` elsewhere, and the off-block mass of either kind."""
    found = []
    for attention, positions, causal, depth in itertools.product(("linear", "softmax"), ("none", "learned"), (False, True), (1, 2)):
        rest = outside if invariance.is_invariant(positions, causal, depth) else order
        values = np.array([1.0 - rest, rest])
        cell = {"attention": attention, "positions": positions, "causal": causal, "depth": depth, "length": 3}
        between = mixed if causal and depth > 1 else inside
        numbers = {"shares": ("level", values), "off_block": between, "joint": between, "one": rest, "noise": 0.0, "invariant": 1.0}
        heads = None if attention == "linear" else 64
        found.append(kernels.measure_kernel.result(numbers | {"eigenvalues": ("level", values)}, **cell, heads=heads, seed=0))
        if attention == "softmax":
            errors = np.full(2, 0.01 if rest else 0.0)  # where order is ignored, no network sees any of it
            sampled = {"shares": ("level", values + np.array([-apart, apart])), "stderr": ("level", errors)}
            found.append(kernels.random_networks.result(sampled, **cell, width=16, networks=8, seed=1))
            gained = np.array([0.9, learnt if rest else 0.0])
            parts = {"shares": values, "shares_stderr": [0.0, 0.0], "learnt": gained, "learnt_stderr": [0.002, 0.002]}
            levelled = {name: ("level", part) for name, part in parts.items()}
            found.append(kernels.trained_networks.result(levelled, **cell, width=16, networks=8, seed=2))
    return found


CASES = {
    "breaking.invariant": (cells, {"rounding": 1e-9}),
    "breaking.single-layer": (cells, {"single": 1e-6}),
    "breaking.broken": (cells, {"broken": 1e-3}),
    "breaking.rotary": (cells, {"rotary": 1e-9}),
    "breaking.first-two": (cells, {"exchange": 1e-9}),
    "breaking.prefixes": (cells, {"others": 1e-3}),
    "breaking.closed-form": (starts, {"off": 0.06}),
    "breaking.sizes": (starts, {"falling": 0.8}),
    "breaking.closed-form-residual": (starts, {"with_stream": 0.06}),
    "breaking.adjacency": (starts, {"attention": 0.85}),
    "breaking.chance": (starts, {"unmasked": 0.53}),
    "breaking.depth": (starts, {"layers": (0.7, 0.6)}),
    "breaking.probe": (starts, {"size": 0.9}),
    "breaking.kernel-trivial": (shares, {"outside": 1e-6}),
    "breaking.kernel-order": (shares, {"order": 0.0}),
    "breaking.kernel-blocks": (shares, {"mixed": 1e-12}),
    "breaking.kernel-networks": (shares, {"apart": 0.06}),
    "breaking.kernel-trained": (shares, {"learnt": 0.005}),
}


@pytest.mark.parametrize(("name", "case"), CASES.items(), ids=CASES)
def test_judges_say_yes_and_no(name, case):
    make, fault = case
    assert_says_yes_and_no(name, make(), make(**fault))


def test_the_embedding_must_be_at_chance_too():
    assert CLAIMS["breaking.chance"].judge(starts(embedding=0.56)).outcome == "fails"


def test_an_invariant_kernel_must_have_no_mass_between_irreps():
    assert CLAIMS["breaking.kernel-blocks"].judge(shares(inside=1e-6)).outcome == "fails"


def test_a_network_that_ignores_order_must_learn_nothing_else():
    assert CLAIMS["breaking.kernel-trained"].judge(shares(outside=1e-4)).outcome == "fails"


@pytest.mark.parametrize("length", [2, 3, 4])
def test_targets_have_an_equal_part_at_every_level(length):
    """By averages over permutations: level 0 is what is left after all of them, and two tokens have floor(L/2) + 1 levels."""
    x, y = levels.all_sequences(length), levels.even_target(length, seed=0)
    rows = {tuple(row): number for number, row in enumerate(x.tolist())}
    orders = list(itertools.permutations(range(length)))
    mean = np.mean([[y[rows[*(row[place] for place in order), row[-1]]] for row in x.tolist()] for order in orders], axis=0)
    assert (y**2).mean() == pytest.approx(1.0)
    assert (mean**2).mean() == pytest.approx(1.0 / (length // 2 + 1))
    parts = levels.split(y, x, length)
    np.testing.assert_allclose(parts[0], mean, atol=1e-12)
    np.testing.assert_allclose((parts**2).mean(axis=1), 1.0 / len(parts), atol=1e-12)


def test_every_judge_of_these_experiments_is_tried():
    names = ("breaking.invariance", "breaking.initial", "breaking.kernels")
    claims = [claim.id for experiment in PAPER.experiments if experiment.name in names for claim in experiment.claims]
    assert sorted(claims) == sorted(CASES)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("positions", ["none", "learned"])
def test_invariance_table(positions, causal, depth):
    """64 permutations of random weights in float64, with residual sums and, in short stacks, without."""
    for residual, norm in ((True, "pre"), (False, "none"))[: 2 if depth < 3 else 1]:
        data = invariance.measure_invariance(positions, causal, depth, residual, norm, permutations=64, networks=1, seed=depth)
        if positions == "none" and (not causal or depth == 1):
            assert data["change"] < 1e-10
        else:
            assert data["least"] > 1e-2
