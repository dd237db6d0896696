"""Perceptrons behind heads: sparse functions, exactly, on every input there is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from specht.errors import InputError
from specht.studies.sparse.bounds import bump_bounds, bump_network, symmetric_bumps, table_bumps
from specht.studies.sparse.bounds.representation import fixed_positions_head, trained_positions_head

T, CHOSEN, GAMMA = 9, (1, 4, 7), 1 / 3
BITS = np.array(list(itertools.product((0, 1), repeat=T)))


@pytest.mark.parametrize("values", [(0, 0, 0, 1), (0, 1, 1, 1), (0, 0, 1, 1), (0, 1, 0, 1), (3.0, -1.0, 0.5, 2.0)])
def test_symmetric_functions_behind_one_head(values):
    """AND, OR, majority, parity and another one: a head that takes the mean, and its perceptron."""
    head, network = fixed_positions_head(np.eye(T), CHOSEN, GAMMA), symmetric_bumps(values, GAMMA)
    found = network(head(BITS)[:, None])
    np.testing.assert_allclose(found, np.asarray(values)[BITS[:, CHOSEN].sum(axis=1)], atol=1e-9)


def test_any_table_behind_a_head_a_bit():
    table = np.random.default_rng(0).normal(size=8)
    heads = [trained_positions_head(T, [place], GAMMA) for place in CHOSEN]
    network = table_bumps(table.tolist(), GAMMA)
    found = network(np.stack([head(BITS) for head in heads], axis=1))
    np.testing.assert_allclose(found, table[BITS[:, CHOSEN] @ [4, 2, 1]], atol=1e-9)


@pytest.mark.parametrize("symmetric", [True, False])
def test_widths_and_norms_are_those_of_the_lemmas(symmetric):
    network = symmetric_bumps([0, 1, 0, 1], GAMMA) if symmetric else table_bumps([0, 1, 1, 0, 1, 0, 0, 1], GAMMA)
    stated = bump_bounds(3, GAMMA, 1.0, symmetric=symmetric)
    assert network.widths == (stated["width"], stated["second width"])
    found = network.norms
    assert found["second"] <= stated["second"]
    assert found["readout"] <= stated["readout"]
    # The lemmas are taken to bound weights: biases of the first layer reach the outer edge of the last bump, which is further out.
    assert found["first"] == pytest.approx(stated["first"]) == np.abs(network.first).max()
    assert np.abs(network.second_bias).max() <= stated["second"]


def test_values_hold_within_a_quarter_of_gamma_and_nowhere_else():
    points = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    network = bump_network(points, [1.0, 2.0, 3.0], gamma=1.0)
    rng = np.random.default_rng(0)
    near = np.asarray(points)[:, None] + rng.uniform(-0.25, 0.25, size=(3, 50, 2))
    np.testing.assert_allclose(network(near.reshape(-1, 2)), np.repeat([1.0, 2.0, 3.0], 50), atol=1e-12)
    assert network([[0.5, 0.5], [-0.4, 0.0]]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: bump_network([[0.0], [0.1]], [1, 2], 0.5), "lie 0.1 apart, less than gamma = 0.5"),
        (lambda: bump_network([0.0], [1.0], 0.5), "Points must be"),
        (lambda: bump_network([[0.0]], [1.0], 0.0), "gamma must be"),
        (lambda: table_bumps([1, 2, 3], 0.5), "2\\^s values, at least two, got 3"),
        (lambda: symmetric_bumps([1], 0.5), "number of values must be"),
    ],
)
def test_bad_input_is_told(make, words):
    with pytest.raises(InputError, match=words):
        make()
