"""The judges of the paper on broken symmetry, on numbers made up for them: each must be able to say yes and no."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from judging import CLAIMS, assert_says_yes_and_no
from made_breaking import cells, shares, starts

from specht.papers.breaking_symmetry import PAPER, invariance, levels

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
