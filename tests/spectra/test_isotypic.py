"""Shares of a kernel by irrep: against sums over all permutations, random functions, and kernels whose irreps are known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from specht.architecture import Architecture
from specht.errors import InputError
from specht.groups.characters import character
from specht.groups.partition import Partition, partitions
from specht.groups.permutations import cycle_type
from specht.kernel.kernel import Kernel
from specht.sequences.actions import permute_context
from specht.sequences.sources import uniform
from specht.spectra.isotypic import isotypic_shares, sampled_shares


def every(vocab: int, columns: int) -> np.ndarray:
    return np.array(list(itertools.product(range(vocab), repeat=columns)))


def averaged(gram: np.ndarray, x: np.ndarray, length: int, shape: Partition) -> float:
    """Tr(P K)/Tr K as a sum over all permutations of k(x, gx)."""
    place = {tuple(row): number for number, row in enumerate(x)}
    total = 0.0
    for permutation in itertools.permutations(range(length)):
        images = [place[tuple(row)] for row in permute_context(x, permutation, length)]
        total += character(shape, cycle_type(permutation)) * gram[np.arange(len(x)), images].sum()
    return shape.dimension / math.factorial(length) * total / np.trace(gram)


@pytest.mark.parametrize(("vocab", "length"), [(2, 4), (3, 3)])
def test_shares_are_sums_over_all_permutations(vocab, length):
    x = every(vocab, length + 1)
    root = np.random.default_rng(0).normal(size=(len(x), 7))
    gram = root @ root.T  # of no symmetry
    found = isotypic_shares(gram, x, length)
    assert sum(found.shares.values()) == pytest.approx(1.0, abs=1e-12)
    for shape in partitions(length, max_rows=vocab):
        assert found.shares[shape] == pytest.approx(averaged(gram, x, length, shape), abs=1e-12)
    assert found.levels[1] == pytest.approx(sum(share for shape, share in found.shares.items() if shape.level == 1))
    assert found.off_block > 0.01


def test_off_block_mass_is_what_lies_between_irreps():
    x = every(2, 3)
    # (1 + s_1) has parts of size 1 and 1/3 at level 0, and 2/3 at level 1: its kernel has entries between them.
    values = 2.0 * x[:, 0]
    found = isotypic_shares(np.outer(values, values), x, 3)
    level_0, level_1 = 1.0 + 1.0 / 3.0, 2.0 / 3.0
    np.testing.assert_allclose(found.levels, [level_0 / 2, level_1 / 2], atol=1e-12)
    assert found.off_block == pytest.approx(2 * level_0 * level_1 / (level_0 + level_1) ** 2, abs=1e-12)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("positions", ["none", "learned"])
@pytest.mark.parametrize("depth", [1, 2])
def test_kernels_of_linear_attention(positions, causal, depth):
    arch = Architecture(
        vocab=2, length=3, positions=positions, causal=causal, depth=depth, activation="erf", residual=True, normalised=True
    )
    x = every(2, 4)
    found = isotypic_shares(Kernel(arch).nngp(x), x, 3)
    symmetric = not causal or depth == 1
    assert (found.off_block < 1e-12) == symmetric
    assert (1.0 - found.shares[Partition((3,))] < 1e-12) == (positions == "none" and symmetric)


def test_sampled_shares_are_those_of_all_sequences():
    arch = Architecture(vocab=2, length=4, causal=True, depth=2, activation="erf", residual=True, normalised=True)
    kernel, x = Kernel(arch), every(2, 5)
    gram = kernel.nngp(x)
    constant = gram.mean() / (np.trace(gram) / len(x))
    levels = isotypic_shares(gram, x, 4).levels
    levels[0] -= constant
    levels /= levels.sum()
    found = sampled_shares(kernel, lambda rng, n: uniform(2).draw(rng, n, 5), 4, 2, sequences=40, batches=12, seed=1)
    assert found.levels.sum() == pytest.approx(1.0)
    assert (np.abs(found.levels - levels) < 4 * found.stderr + 1e-9).all()
    assert found.constant == pytest.approx(constant, abs=0.1)


def test_random_functions_have_the_shares_of_their_kernel():
    x = every(2, 5)
    root = np.random.default_rng(3).normal(size=(len(x), 9)) * np.linspace(0.1, 2.0, len(x))[:, None]
    expected = isotypic_shares(root @ root.T, x, 4).levels
    functions = root @ np.random.default_rng(4).normal(size=(9, 20_000))
    shares = np.array([isotypic_shares(np.outer(f, f), x, 4).levels * (f @ f) for f in functions.T[:400]])
    whole = shares.sum(axis=1)
    mean = shares.mean(axis=0) / whole.mean()
    stderr = ((shares - np.outer(whole, mean)) / whole.mean()).std(axis=0) / math.sqrt(len(shares))
    assert (np.abs(mean - expected) < 4 * stderr).all()


@pytest.mark.parametrize(
    ("attempt", "sentence"),
    [
        (lambda: isotypic_shares(np.eye(3), every(2, 3), 2), "The Gram of 8 sequences"),
        (lambda: isotypic_shares(np.zeros((8, 8)), every(2, 3), 2), "positive trace"),
        (lambda: sampled_shares(lambda x, y: x @ y.T, lambda rng, n: rng.integers(2, size=(n, 20)), 20, 2), "length"),
    ],
)
def test_bad_input_gets_a_sentence(attempt, sentence):
    with pytest.raises(InputError, match=sentence):
        attempt()
