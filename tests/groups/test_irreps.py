"""Young's orthogonal form is an orthogonal representation with the right traces; two routes lead to the same projectors."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from specht.errors import InputError
from specht.groups.characters import character
from specht.groups.irreps import isotypic_projector, isotypic_projectors, orthogonal_matrix
from specht.groups.partition import Partition, partitions
from specht.groups.permutations import compose, cycle_type, transposition

SHAPES = [shape for n in range(7) for shape in partitions(n)]


@st.composite
def two_permutations(draw):
    shape = draw(st.sampled_from(SHAPES))
    images = st.permutations(range(shape.n)).map(tuple)
    return shape, draw(images), draw(images)


@given(two_permutations())
def test_matrices_follow_products_and_are_orthogonal_with_the_right_trace(case):
    shape, p, q = case
    one, other = orthogonal_matrix(shape, p), orthogonal_matrix(shape, q)
    np.testing.assert_allclose(orthogonal_matrix(shape, compose(p, q)), one @ other, atol=1e-12)
    np.testing.assert_allclose(one @ one.T, np.eye(shape.dimension), atol=1e-12)
    assert math.isclose(np.trace(one), character(shape, cycle_type(p)), abs_tol=1e-10)


def test_the_convention_is_not_the_opposite_one():
    shape, p, q = Partition((2, 1)), (1, 0, 2), (0, 2, 1)
    product = orthogonal_matrix(shape, p) @ orthogonal_matrix(shape, q)
    np.testing.assert_allclose(orthogonal_matrix(shape, (1, 2, 0)), product, atol=1e-12)
    assert np.abs(orthogonal_matrix(shape, (2, 0, 1)) - product).max() > 0.5


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_adjacent_transpositions_obey_the_relations_of_coxeter(shape):
    matrices = [orthogonal_matrix(shape, transposition(shape.n, i, i + 1)) for i in range(shape.n - 1)]
    identity = np.eye(shape.dimension)
    for (i, s), (j, t) in itertools.combinations(enumerate(matrices), 2):
        product = np.linalg.matrix_power(s @ t, 3 if j == i + 1 else 2)
        np.testing.assert_allclose(product, identity, atol=1e-12)
    for s in matrices:
        np.testing.assert_allclose(s @ s, identity, atol=1e-12)


def test_trivial_and_sign_are_numbers():
    permutation = (3, 0, 4, 1, 2)
    assert orthogonal_matrix(Partition((5,)), permutation).tolist() == [[1.0]]
    assert orthogonal_matrix(Partition((1,) * 5), permutation).tolist() == [[-1.0]]


def on_sequences(vocab: int, length: int):
    """The action that moves the token of position a to position permutation[a], on all sequences."""
    sequences = list(itertools.product(range(vocab), repeat=length))
    index = {sequence: number for number, sequence in enumerate(sequences)}

    def action(permutation):
        moved = [tuple(sequence[permutation.index(a)] for a in range(length)) for sequence in sequences]
        return np.array([index[sequence] for sequence in moved])

    return action


def on_flags(permutation):
    """The regular representation of five points on themselves, together with the points: every shape of five boxes occurs."""
    elements = list(itertools.permutations(range(5)))
    index = {element: number for number, element in enumerate(elements)}
    return np.array([index[compose(permutation, element)] for element in elements] + [120 + image for image in permutation])


ACTIONS = {
    "points": (6, np.array),
    "bits": (5, on_sequences(2, 5)),
    "three symbols": (4, on_sequences(3, 4)),
    "flags": (5, on_flags),
    "one point": (1, np.array),
}


@pytest.mark.parametrize(("n", "action"), ACTIONS.values(), ids=ACTIONS)
def test_two_routes_to_the_same_projectors(n, action):
    projectors = isotypic_projectors(n, action)
    states = len(action(tuple(range(n))))
    np.testing.assert_allclose(sum(projectors.values()), np.eye(states), atol=1e-10)
    for shape in partitions(n):
        projector = isotypic_projector(shape, action)
        np.testing.assert_allclose(projectors.get(shape, np.zeros((states, states))), projector, atol=1e-9)
        np.testing.assert_allclose(projector @ projector, projector, atol=1e-10)
        images = action((*range(1, n), 0))
        np.testing.assert_allclose(projector[np.ix_(images, images)], projector, atol=1e-10)


def test_projector_traces_are_multiplicities_times_dimensions():
    traces = {shape: np.trace(projector) for shape, projector in isotypic_projectors(5, on_flags).items()}
    points = {Partition((5,)): 1, Partition((4, 1)): 4}
    assert {shape: round(trace) for shape, trace in traces.items()} == {
        shape: shape.dimension**2 + points.get(shape, 0) for shape in partitions(5)
    }


def test_two_sums_over_contents_tell_all_shapes_apart():
    for n in range(1, 15):
        sums = set()
        for shape in partitions(n):
            contents = [column - row for row, part in enumerate(shape.parts) for column in range(part)]
            sums.add(sum(content + n**2 * content**2 for content in contents))
        assert len(sums) == sum(1 for _ in partitions(n))


def only_half_an_action(permutation):
    return np.array(permutation) if permutation[0] == 0 else np.arange(len(permutation))


def rolled_unless_identity(permutation):
    return np.roll(permutation, permutation != tuple(range(len(permutation))))


def reversal(n: int) -> tuple[int, ...]:
    return tuple(reversed(range(n)))


BAD = {
    "The standard tableaux of [4999,1], 4999 with 5000 entries each, take 1.2e+11 steps": lambda: orthogonal_matrix(
        Partition((4999, 1)), reversal(5000)
    ),
    "use character() for traces, or choose a smaller shape.": lambda: orthogonal_matrix(Partition((10**6,)), reversal(10**6)),
    "take 1e+400 steps": lambda: orthogonal_matrix(Partition((10**200,)), ()),
    "is a product of 319600 adjacent transpositions, and with matrices of 799 rows that takes 2.0e+11 steps": lambda: orthogonal_matrix(
        Partition((799, 1)), reversal(800)
    ),
    "use character(shape, cycle_type(permutation)) for its trace": lambda: orthogonal_matrix(Partition((799, 1)), reversal(800)),
    "must be a Partition, got (2, 1): write": lambda: orthogonal_matrix((2, 1), (0, 1, 2)),
    "must be a Partition, got '[2,1]': write": lambda: isotypic_projector("[2,1]", np.array),
    "A permutation of 3 points lists each of 0 to 2 once, got 7.": lambda: orthogonal_matrix(Partition((2, 1)), 7),
    "A permutation of 3 points lists each of 0 to 2 once, got (1, 2, 3).": lambda: orthogonal_matrix(Partition((2, 1)), (1, 2, 3)),
    "The matrices of [999999,1] have 999999 rows, more than 5000: choose a smaller shape.": lambda: orthogonal_matrix(
        Partition((999999, 1)), ()
    ),
    "The sum over the permutations of 9 points has 9! terms, more than 8!: use isotypic_projectors.": lambda: isotypic_projector(
        Partition((8, 1)), np.array
    ),
    "Two sums over contents tell shapes apart up to n = 14, got n = 15: choose a smaller group.": lambda: isotypic_projectors(15, np.array),
    "n must be a whole number of at least 1, got 0.": lambda: isotypic_projectors(0, np.array),
    "action must return where each state goes, every state once, got array([0, 0, 0]) for (0, 1, 2).": lambda: isotypic_projectors(
        3, lambda permutation: np.zeros(3, dtype=int)
    ),
    "action must leave every state in place for the identity, got array([2, 0, 1]): check its images.": lambda: isotypic_projectors(
        3, lambda permutation: np.roll(permutation, 1)
    ),
    "action must leave every state in place for the identity, got array([1, 0]): check its images.": lambda: isotypic_projector(
        Partition((2,)), lambda permutation: np.array([1, 0])
    ),
    "action must follow products, but exchanging 0 and 1 twice does not lead back: check its images.": lambda: isotypic_projectors(
        4, rolled_unless_identity
    ),
    "action must follow products, but the sum of its transpositions has an eigenvalue of no irrep": lambda: isotypic_projectors(
        3, only_half_an_action
    ),
}


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()
