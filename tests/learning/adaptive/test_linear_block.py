"""The operator of a linear block with a variance for each orbit, against the dense operator of all sequences."""

from __future__ import annotations

import numpy as np
import pytest

import specht
from specht.errors import InputError
from specht.learning.adaptive.linear_block import LinearBlock, components, join, project, why_not_linear, why_too_large
from specht.learning.adaptive.linear_kernel import LinearKernel, token_functions
from specht.learning.adaptive.orbits import find_orbits
from specht.sequences import targets
from specht.sequences.law import Exchangeable
from specht.sequences.sources import default_mixture, generic_mixture, uniform
from specht.sequences.tasks import Task

BIASED = Exchangeable(np.ones(1), np.array([[0.2, 0.5, 0.3]]))
COIN = Exchangeable(np.ones(1), np.array([[0.3, 0.7]]))
SILENT = Exchangeable(np.ones(1), np.array([[0.4, 0.0, 0.6]]))  # a token that never occurs
COINS = Exchangeable(np.array([0.5, 0.3, 0.2]), np.array([[0.3, 0.7], [0.9, 0.1], [0.5, 0.5]]))
DICE = Exchangeable(np.array([0.4, 0.6]), np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]))
APART = Exchangeable(np.array([0.4, 0.6]), np.array([[1.0, 0.0, 0.0], [0.0, 0.7, 0.3]]))  # no token occurs in both
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
    ("last", COINS, 5, {}),
    ("last", COINS, 4, {"values_see_positions": False}),
    ("last", DICE, 4, {"positions": "none"}),
    ("last", APART, 4, {}),
    ("cls", COINS, 5, {}),
    ("cls", APART, 4, {"normalised": True}),
    ("mean", COINS, 5, {}),
    ("mean", DICE, 4, {}),
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


@pytest.mark.parametrize("readout", ["last", "mean"])
def test_targets_are_sampled_where_classes_are_too_many(readout):
    """A target that is no linear function of counts, and reads a position in the middle, against the same one moved to the front."""

    def majority_or(x, place):
        return 1.0 * (2 * (x == 1).sum(axis=1) > x.shape[1]) + 0.7 * (x[:, place] == 1)

    arch = specht.Architecture(vocab=2, length=9, readout=readout)
    moved, front = (targets.Target("m", lambda x, place=place: majority_or(x, place), reads=(place,)) for place in (4, 0))
    squares = []
    for target in (moved, front):
        block = LinearBlock(find_orbits(arch, Task(COIN, target)), COIN)
        found = project(block, target, COIN)
        squares.append((found.coefficients**2).sum(axis=1))
        if target is moved:
            assert 0.0 < found.stderr < 0.02
        else:
            assert found.stderr == 0.0
            assert found.unseen > 0.0
    assert abs(squares[0].sum() - squares[1].sum()) < 4 * 0.02
    np.testing.assert_allclose(squares[0], squares[1], atol=0.02)


def test_what_is_too_large_is_refused():
    source = uniform(40)
    task = Task(source, targets.conjunction(2, 8))
    for readout, size in (("last", 4720), ("mean", 5461), ("cls", None)):
        arch = specht.Architecture(vocab=40, length=8, readout=readout)
        reason = why_too_large(find_orbits(arch, task), source)
        assert reason is None if size is None else f"{size} functions" in str(reason)
    with pytest.raises(InputError, match=r"4720 functions .* method='sampled'"):
        specht.learning.adaptive.adaptive_curve(specht.Architecture(vocab=40, length=8), task, 8, width=8, method="exact")
    anything = targets.Target("third", lambda x: x[:, 2])
    with pytest.raises(InputError, match="reads="):
        find_orbits(specht.Architecture(vocab=2, length=5000), Task(uniform(2), anything))


@pytest.mark.parametrize("readout", ["last", "cls", "mean"])
def test_equal_components_are_one(readout):
    """Joined or not, the same law twice gives the same products of functions."""
    arch = specht.Architecture(vocab=3, length=1000, readout=readout)
    orbits = find_orbits(arch, Task(BIASED, targets.conjunction(2, 1000)))
    for moved in (None, 2):
        one = LinearKernel(orbits, token_functions(BIASED.probabilities[0])).expand(moved)
        joined = join([one, one], [0.3, 0.7])
        functions = joined.turn @ np.concatenate([expansion.functions for expansion in joined.expansions])
        assert len(functions) <= len(one.rows)
        scale = np.linalg.norm(one.functions, axis=0)
        products, wanted = (each.T @ each / np.outer(scale, scale) for each in (functions, one.functions))
        np.testing.assert_allclose(products, wanted, atol=1e-10)
    twice = Exchangeable(np.array([0.3, 0.7]), np.array([[0.2, 0.5, 0.3]] * 2))
    assert [each.weight for each in components(twice) or ()] == [1.0]


def test_only_linear_blocks_on_mixtures_of_independent_tokens_have_an_operator():
    arch = specht.Architecture(vocab=2, length=4)
    assert why_not_linear(arch, COIN) is None
    assert why_not_linear(arch, default_mixture(2)) is None
    assert why_not_linear(arch, generic_mixture(2)) is not None
    shares = np.linspace(0.1, 0.9, 65)
    assert "at most 64" in str(why_not_linear(arch, Exchangeable(np.full(65, 1 / 65), np.column_stack([shares, 1.0 - shares]))))
    for options in ({"activation": "erf"}, {"depth": 2}, {"norm": "pre"}, {"residual": True}, {"causal": True, "readout": "mean"}):
        assert why_not_linear(arch.replace(**options), COIN) is not None


def test_functions_of_a_token_are_orthonormal():
    law = np.array([0.1, 0.0, 0.6, 0.3])
    functions = token_functions(law)
    np.testing.assert_allclose(functions.values.T @ (law[:, None] * functions.values), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(functions.expansion @ functions.values[[0, 2, 3]].T, np.eye(4)[:, [0, 2, 3]], atol=1e-12)
