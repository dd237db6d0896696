"""The operator of a linear block with a variance for each orbit, against the dense operator of all sequences."""

from __future__ import annotations

import numpy as np
import pytest

import specht
from specht.learning.adaptive.linear_block import LinearBlock
from specht.learning.adaptive.orbits import find_orbits
from specht.learning.adaptive.projection import project
from specht.sequences import targets
from specht.sequences.exchangeable import Exchangeable
from specht.sequences.sources import uniform
from specht.sequences.tasks import Task

BIASED = Exchangeable(np.ones(1), np.array([[0.2, 0.5, 0.3]]))
COIN = Exchangeable(np.ones(1), np.array([[0.3, 0.7]]))
SILENT = Exchangeable(np.ones(1), np.array([[0.4, 0.0, 0.6]]))  # a token that never occurs
RNG = np.random.default_rng(0)

CASES = [
    ("last", uniform(2), 6, {}),
    ("last", BIASED, 4, {}),
    ("last", SILENT, 4, {"normalised": True}),
    ("last", COIN, 5, {"values_see_positions": False, "extra_linear": True}),
    ("last", uniform(3), 4, {"positions": "none"}),
    ("cls", COIN, 5, {}),
    ("cls", BIASED, 4, {"values_see_positions": False}),
    ("mean", uniform(2), 6, {}),
    ("mean", COIN, 5, {"normalised": True}),
    ("mean", BIASED, 5, {}),
    ("mean", BIASED, 4, {"values_see_positions": False}),
]


def uneven(x, readout):
    """AND of two positions and a little of the readout token and the counts: nothing about it is symmetric or linear."""
    last = x[:, 1 if readout == "mean" else -1]
    return 1.0 * (x[:, 0] == 1) * (x[:, 1] != 0) + 0.3 * (last == 0) * (x[:, 0] == 0) + 0.1 * (x == 1).sum(axis=1) ** 2


def several(length, readout):
    return [
        targets.Target("copy", lambda x: 2.0 * (x[:, 0] == 1) - 1.0, reads=(0,)),
        targets.conjunction(2, length),
        targets.counts(length),
        targets.Target("uneven", lambda x: uneven(x, readout), reads=(0, 1)),
        targets.parity(length, length),
    ]


def dense(arch, source, variances):
    """Eigenvalues and eigenfunctions of the operator on all sequences with positive probability, and these sequences."""
    x, p = source.enumerate(arch.columns)
    x, p = x[p > 0], p[p > 0]
    gram = np.asarray(specht.nngp(arch, x, variances=variances))
    root = np.sqrt(p)
    return root[:, None] * gram * root, x, p


@pytest.mark.parametrize(("readout", "source", "length", "options"), CASES)
def test_eigenvalues_and_weights_are_those_of_the_dense_operator(readout, source, length, options):
    arch = specht.Architecture(vocab=source.vocab, length=length, readout=readout, **options)
    for target in several(length, readout):
        task = Task(source, target)
        block = LinearBlock(orbits := find_orbits(arch, task), source)
        found = project(block, target, source)
        assert found.stderr == 0.0
        logarithms = np.log(orbits.prior) + RNG.normal(size=len(orbits.prior))
        unit = np.trace(dense(arch, source, orbits.variances(orbits.prior))[0])
        operator, x, p = dense(arch, source, orbits.variances(np.exp(logarithms)))
        operator = operator / unit
        block.target = found.coefficients
        sectors, _ = block.sectors(logarithms)
        mine = np.concatenate([np.repeat(np.linalg.eigvalsh(each.matrix), round(each.degeneracy)) for each in sectors])
        theirs = np.sort(np.linalg.eigvalsh(operator))[::-1]
        mine = np.sort(mine)[::-1]
        size = min(len(mine), len(theirs))
        np.testing.assert_allclose(mine[:size], theirs[:size], rtol=0, atol=1e-10)
        assert np.abs(mine[size:]).max(initial=0.0) < 1e-10
        assert np.abs(theirs[size:]).max(initial=0.0) < 1e-10
        values = np.sqrt(p)[:, None] * target(x)
        assert found.total == pytest.approx((values**2).sum(), rel=1e-10)
        for kappa in (1e-3, 0.1, 3.0):  # all weights at once, whatever basis a degenerate eigenspace has
            exact = np.vdot(values, np.linalg.solve(operator + kappa * np.eye(len(p)), values))
            inside = np.vdot(
                found.coefficients, np.linalg.solve(sectors[0].matrix + kappa * np.eye(len(sectors[0].matrix)), found.coefficients)
            )
            assert inside + found.unseen / kappa == pytest.approx(exact, rel=1e-9)
