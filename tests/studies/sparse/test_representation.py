"""Heads that represent sparse functions, and heads that shatter: on all inputs where they can be listed."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from specht.sequences.codes import random_codes
from specht.studies.sparse.bounds import representation

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("length", [2, 7, 8, 100])
def test_proposition_44_shatters_exactly(length):
    x = representation.shattered_inputs(length)
    assert len(x) == math.floor(math.log2(length))
    outputs = np.array([representation.head_output(x, *representation.shattering_head(s, length)) for s in range(length)])
    bits = np.array([[s >> i & 1 for i in range(len(x))] for s in range(length)])
    np.testing.assert_array_equal(outputs > 0.5, bits == 1)
    assert len({tuple(row) for row in outputs > 0.5}) == 2 ** len(x)
    mass = 1 / (1 + math.sqrt(math.pi / 8))
    assert (np.abs(outputs - bits) <= 1 - mass).all()


def test_heads_of_lemmas_b2_and_b3_on_all_inputs():
    """T = 12, all 4096 inputs: errors below gamma/4 and norms as stated."""
    x = np.array(list(itertools.product([0, 1], repeat=12)))
    chosen, gamma = [1, 5, 10], 1 / 3
    wanted = (2.0 * x[:, chosen] - 1).mean(axis=1)
    for lemma, head in (
        ("B.2", representation.fixed_positions_head(np.eye(12), chosen, gamma)),
        ("B.2", representation.fixed_positions_head(np.eye(12), chosen, gamma, dual=False)),
        ("B.3", representation.trained_positions_head(12, chosen, gamma)),
    ):
        assert np.abs(head(x) - wanted).max() < gamma / 4
        bounds = representation.norm_bounds(lemma, 3, 12, gamma)
        assert all(value <= bounds[name] + 1e-9 for name, value in head.norms.items())
    assert head.norms["query"] == pytest.approx(math.log(8 * 12 / gamma))
    assert np.linalg.norm(representation.trained_positions_head(12, chosen, gamma).positions, axis=1).sum() == 3


def test_attention_leaks_no_more_than_lemma_b7():
    head = representation.trained_positions_head(40, [0, 1, 2], 0.2)
    weights = head.attention(RNG.integers(2, size=40))
    uniform = np.zeros(40)
    uniform[:3] = 1 / 3
    assert np.abs(weights - uniform).sum() <= 2 * (40 - 3) / (3 * (8 * 40 / 0.2)) + 1e-12


def test_the_sum_of_overlapping_codes_misses_and_the_dual_does_not():
    rng = np.random.default_rng(3)
    codes, chosen, gamma = random_codes(rng, 1000, 200), [4, 90, 171], 1 / 3
    x = rng.integers(2, size=(300, 200))
    wanted = (2.0 * x[:, chosen] - 1).mean(axis=1)
    literal, dual = (representation.fixed_positions_head(codes, chosen, gamma, dual=kind) for kind in (False, True))
    assert np.abs(literal(x) - wanted).max() > gamma / 4
    assert np.abs(dual(x) - wanted).max() < gamma / 4
    assert dual.norms["key"] < 3
