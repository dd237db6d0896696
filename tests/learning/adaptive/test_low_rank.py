"""A diagonal plus a matrix of low rank, against the same operators as dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

import specht
from specht.learning.adaptive.equivalent import is_low_rank
from specht.learning.adaptive.linear_block import LARGE, LinearBlock
from specht.learning.adaptive.population import expect
from specht.sequences import targets
from specht.sequences.law import Exchangeable
from specht.sequences.sources import default_mixture, uniform

APART = Exchangeable(np.array([0.4, 0.6]), np.array([[1.0, 0.0, 0.0], [0.0, 0.7, 0.3]]))
COPY = specht.Target("copy", lambda x: 2.0 * (x[:, 0] == 1) - 1.0, reads=(0,))


def block(source, target=COPY, length=40, **options):
    expected = expect(specht.Architecture(vocab=source.vocab, length=length, **options), specht.Task(source, target), ridge=0.1, noise=0.01)
    assert isinstance(expected.model, LinearBlock)
    return expected.model, expected.labels


@pytest.mark.parametrize(
    ("source", "target"),
    [(uniform(3), COPY), (uniform(3), targets.conjunction(2, 40)), (default_mixture(3), COPY), (default_mixture(3), targets.counts(40))],
)
@pytest.mark.parametrize("n_train", [2.0, 60.0, 1e5])
def test_energy_gradient_and_losses_are_those_of_dense_matrices(source, target, n_train):
    model, labels = block(source, target)
    labels = labels._replace(n_train=n_train)
    logarithms = np.log(model.orbits.prior) + np.random.default_rng(0).normal(size=len(model.orbits.prior))
    found = {}
    for low_rank in (True, False):
        model.of_low_rank = low_rank
        found[low_rank] = (*model.energy(logarithms, labels), model.losses(logarithms, labels))
    assert found[True][0] == pytest.approx(found[False][0], rel=1e-11)
    np.testing.assert_allclose(found[True][1], found[False][1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[True][2], found[False][2], rtol=1e-9)


def test_only_large_operators_of_this_form_are_taken_so():
    assert all(is_low_rank(matrix) for matrix in block(uniform(3))[0].matrices)
    for options in ({"readout": "cls"}, {"readout": "mean"}, {"positions": "none"}):
        assert not any(is_low_rank(matrix) for matrix in block(uniform(3), **options)[0].matrices)
    assert not all(is_low_rank(matrix) for matrix in block(APART)[0].matrices)  # settings with different numbers of rows
    silent = Exchangeable(np.ones(1), np.array([[0.4, 0.0, 0.6]]))
    assert all(is_low_rank(matrix) for matrix in block(silent)[0].matrices)  # a token that never occurs is no setting
    small, large = block(uniform(3))[0], block(uniform(8))[0]
    assert len(small.target) < LARGE <= len(large.target)
    assert (small.of_low_rank, large.of_low_rank) == (False, True)
