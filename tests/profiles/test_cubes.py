"""What partial shuffles leave of an irrep: against averages of matrices, path counts and closed forms."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from specht.errors import InputError
from specht.groups.irreps import orthogonal_matrix
from specht.groups.partition import Partition, partitions
from specht.profiles.cubes import SMALL_LENGTH, Cube, designs, fourier, shuffle_factor


@functools.cache
def paths(inner: tuple[int, ...], outer: tuple[int, ...]) -> int:
    """Ways to build one shape from another, a box at a time."""
    if inner == outer:
        return 1
    ways = 0
    for row in range(len(outer)):
        below = outer[row + 1] if row + 1 < len(outer) else 0
        smaller = tuple(part for part in (*outer[:row], outer[row] - 1, *outer[row + 1 :]) if part)
        padded = (*inner, *[0] * len(outer))
        if outer[row] > below and all(part >= padded[place] for place, part in enumerate((*smaller, *[0] * len(inner)))):
            ways += paths(inner, smaller)
    return ways


def averages(shape: Partition, moved: list[tuple[int, ...]]) -> np.ndarray:
    """The mean matrix over permutations that move the given positions among themselves, averaged over all relabelings."""
    n, dimension = shape.n, shape.dimension
    total, count = np.zeros((dimension, dimension)), 0
    for images in itertools.product(*(list(itertools.permutations(block)) for block in moved)):
        permutation = list(range(n))
        for block, image in zip(moved, images, strict=True):
            for place, goes in zip(block, image, strict=True):
                permutation[place] = goes
        total += orthogonal_matrix(shape, tuple(permutation))
        count += 1
    return total / count


@pytest.mark.parametrize("shape", [shape for n in range(1, 7) for shape in partitions(n)], ids=str)
def test_factor_is_the_average_over_sets_and_permutations(shape):
    n = shape.n
    for j in range(n + 1):
        sets = list(itertools.combinations(range(n), j))
        mean = sum(averages(shape, [chosen]) for chosen in sets) / len(sets)
        np.testing.assert_allclose(mean, float(shuffle_factor(shape, j)) * np.eye(shape.dimension), atol=1e-12)


@pytest.mark.parametrize("shape", [shape for n in (4, 5, 6) for shape in partitions(n)], ids=str)
def test_factor_of_two_blocks_is_a_trace(shape):
    # The average over blocks is a number times the identity; its trace is that of any one choice of them.
    for first, second in [(2, 2), (3, 2), (3, 3), (4, 2)]:
        if first + second <= shape.n:
            mean = averages(shape, [tuple(range(first)), tuple(range(first, first + second))])
            assert np.trace(mean) / shape.dimension == pytest.approx(float(shuffle_factor(shape, (first, second))), abs=1e-12)


@pytest.mark.parametrize("n", range(1, 12))
def test_factor_of_two_rows_has_the_closed_form(n):
    for m in range(n // 2 + 1):
        shape = Partition((n - m, m) if m else (n,))
        for j in range(n + 1):
            comb = lambda a, b: math.comb(a, b) if b >= 0 else 0  # noqa: E731 -- zero where the formula has no term
            skew = comb(n - j, m) - comb(n - j, m - 1 - j) if j <= n - m else 0
            assert shuffle_factor(shape, j) == Fraction(skew, comb(n, m) - comb(n, m - 1))


@pytest.mark.parametrize("shape", [Partition((5, 2, 1)), Partition((4, 2, 2, 1)), Partition((6, 1, 1, 1)), Partition((3, 3, 2))], ids=str)
def test_factor_counts_tableaux_of_the_skew_shape(shape):
    for j in range(shape.parts[0] + 1):
        assert shuffle_factor(shape, j) * shape.dimension == paths((j,) if j else (), shape.parts)
    assert shuffle_factor(shape, shape.parts[0] + 1) == 0


def test_long_sequences_tend_to_a_power():
    length = 10**5
    for tail in [(1,), (2,), (1, 1), (2, 1)]:
        shape = Partition((length - sum(tail), *tail))
        assert float(shuffle_factor(shape, length // 4)) == pytest.approx(0.75 ** sum(tail), rel=1e-4)


def test_more_positions_than_there_are_is_one_sentence():
    with pytest.raises(InputError, match=r"5 positions cannot be shuffled where \[3,1\] has 4"):
        shuffle_factor(Partition((3, 1)), (3, 2))


class TestCubes:
    @pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 9, 16, 40, 101])
    def test_designs_fit(self, length):
        found = designs(length, 5)
        assert len(found) >= 2
        for blocks in found:
            assert sum(blocks) <= length
            assert all(size >= 2 for size in blocks)
            assert list(blocks) == sorted(blocks, reverse=True)
            assert len(blocks) <= 5

    @pytest.mark.parametrize("length", range(3, SMALL_LENGTH + 1))
    def test_small_designs_tell_all_shapes_apart(self, length):
        cubes = [Cube(blocks) for blocks in designs(length, 8)]
        rows = [np.concatenate([*(cube.factors(shape) for cube in cubes), [float(shape.level == 0)]]) for shape in partitions(length)]
        assert np.linalg.matrix_rank(np.array(rows)) == len(rows)

    @pytest.mark.parametrize("blocks", [(2, 2), (3, 2), (4, 2, 2), (2, 2, 2, 2)])
    def test_factors_are_a_law_of_sets(self, blocks):
        cube = Cube(blocks)
        for shape in partitions(8):
            factors = cube.factors(shape)
            assert factors[0] == 1.0
            assert (factors >= 0.0).all()
            assert factors[1:].sum() <= 1.0 + 1e-15
            high = [factor for kind, factor in zip(cube.kinds, factors, strict=True) if len(kind) > shape.level]
            assert set(high[shape.level == 0 :]) <= {0.0} or shape.level == 0

    def test_high_levels_tend_to_what_nothing_survives(self):
        cube = Cube((20, 10))
        np.testing.assert_allclose(cube.factors(Partition((20, 20))), cube.factors(None), atol=1e-3)

    def test_fourier_is_the_sum_with_signs(self):
        values = np.random.default_rng(0).normal(size=8)
        signs = np.array([[(-1) ** bin(s & t).count("1") for s in range(8)] for t in range(8)])
        np.testing.assert_allclose(fourier(values), signs @ values)

    def test_orders_shuffle_the_blocks_of_the_set_alone(self):
        cube = Cube((3, 2))
        orders = cube.orders(np.random.default_rng(0), 500, 7)
        assert (np.sort(orders, axis=2) == np.arange(7)).all()
        changed = (orders != orders[:, :1]).sum(axis=2)  # none, second, first, both
        assert changed[:, 0].max() == 0
        assert changed[:, 1].max() == 2
        assert changed[:, 2].max() == 3
        assert (changed[:, 3] == changed[:, 1] + changed[:, 2]).all()
        # Each position is equally often in the block of two.
        often = (orders[:, 0] != orders[:, 1]).mean(axis=0)
        assert np.abs(often - 1 / 7).max() < 5 * math.sqrt(6 / 49 / 500)
