"""The spectra of random invariant kernels, diagonalised by brute force, fall into the multiplets that group theory predicts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from specht.groups.cyclic import functions_on_rings, harmonic_projector
from specht.groups.decompositions import functions_on_sequences
from specht.groups.graphs import (
    ARC_RELATIONS,
    EDGE_RELATIONS,
    functions_on_edge_sets,
    functions_on_pairs,
    node_pairs,
    pair_relations,
)
from specht.groups.irreps import isotypic_projectors
from specht.groups.products import functions_on_segments
from specht.groups.sets import count_vectors


def multiplets(kernel: np.ndarray) -> dict[int, int]:
    """Degeneracy -> number of distinct eigenvalues that have it."""
    eigenvalues = np.linalg.eigvalsh(kernel)
    jumps = np.flatnonzero(np.diff(eigenvalues) > 1e-9 * np.abs(eigenvalues).max())
    sizes = np.diff([-1, *jumps, len(eigenvalues) - 1])
    return dict(zip(*(array.tolist() for array in np.unique(sizes, return_counts=True)), strict=True))


def symmetrised(images: list[np.ndarray], seed: int) -> np.ndarray:
    """A random symmetric kernel, averaged over a group that is given by where its elements move the states."""
    noise = np.random.default_rng(seed).normal(size=(len(images[0]), len(images[0])))
    return np.mean([(noise + noise.T)[np.ix_(moved, moved)] for moved in images], axis=0)


def moved_words(vocab: int, length: int, orders) -> list[np.ndarray]:
    """Where reordering the positions of all sequences moves them, for each order."""
    words = np.array(list(itertools.product(range(vocab), repeat=length)))
    place_values = vocab ** np.arange(length - 1, -1, -1)
    return [words[:, list(order)] @ place_values for order in orders]


@pytest.mark.parametrize(("vocab", "length"), [(2, 4), (2, 6), (3, 4), (4, 3)])
def test_permutations_of_positions(vocab, length):
    kernel = symmetrised(moved_words(vocab, length, itertools.permutations(range(length))), seed=0)
    assert multiplets(kernel) == functions_on_sequences(vocab, length).degeneracies()


@pytest.mark.parametrize(("vocab", "length"), [(2, 1), (2, 5), (2, 6), (3, 4), (2, 8)])
def test_rotations(vocab, length):
    rotations = [[(position + shift) % length for position in range(length)] for shift in range(length)]
    images = moved_words(vocab, length, rotations)
    kernel, predicted = symmetrised(images, seed=1), functions_on_rings(vocab, length)
    assert predicted.dimension == vocab**length
    assert multiplets(kernel) == predicted.degeneracies()
    step = images[1 % length]
    for irrep, multiplicity in predicted.items():
        projector = harmonic_projector(irrep, step)
        assert round(np.trace(projector)) == multiplicity * irrep.dimension
        np.testing.assert_allclose(projector @ projector, projector, atol=1e-12)
        np.testing.assert_allclose(projector @ kernel, kernel @ projector, atol=1e-12)


@pytest.mark.parametrize(("vocab", "lengths"), [(2, (3, 2)), (2, (3, 4)), (3, (2, 2)), (2, (1, 2, 3))])
def test_permutations_within_segments(vocab, lengths):
    within = [
        [[start + a for a in order] for order in itertools.permutations(range(n))]
        for start, n in zip(itertools.accumulate(lengths, initial=0), lengths, strict=False)
    ]
    orders = [list(itertools.chain(*choice)) for choice in itertools.product(*within)]
    predicted = functions_on_segments(vocab, lengths)
    assert predicted.dimension == vocab ** sum(lengths)
    assert multiplets(symmetrised(moved_words(vocab, sum(lengths), orders), seed=2)) == predicted.degeneracies()


@pytest.mark.parametrize(("vocab", "length"), [(2, 5), (3, 4), (4, 3)])
def test_sets_keep_the_trivial_irrep_alone(vocab, length):
    images = moved_words(vocab, length, itertools.permutations(range(length)))
    average = np.zeros((vocab**length, vocab**length))
    for moved in images:
        average[moved, np.arange(vocab**length)] += 1.0 / len(images)
    noise = np.random.default_rng(3).normal(size=average.shape)
    kernel = average @ (noise @ noise.T) @ average  # both arguments permuted independently
    eigenvalues = np.linalg.eigvalsh(kernel)
    survivors = eigenvalues[eigenvalues > 1e-9 * eigenvalues.max()]
    assert len(survivors) == math.comb(length + vocab - 1, vocab - 1)
    assert np.diff(survivors).min() > 1e-9 * survivors.max()

    points = [tuple(counts) for counts in count_vectors(vocab, length)]
    assert len(points) == len(set(points)) == len(survivors)
    words = [tuple(v for v, count in enumerate(counts) for _ in range(count)) for counts in points]
    rows = [int(np.dot(word, vocab ** np.arange(length - 1, -1, -1))) for word in words]
    weights = np.sqrt([math.factorial(length) / math.prod(map(math.factorial, counts)) for counts in points])
    reduced = weights[:, None] * kernel[np.ix_(rows, rows)] * weights
    np.testing.assert_allclose(np.linalg.eigvalsh(reduced), survivors, rtol=1e-9)


def moved_pairs(nodes: int, ordered: bool, permutation) -> np.ndarray:
    pairs = [tuple(pair) for pair in node_pairs(nodes, ordered).tolist()]
    index = {pair: number for number, pair in enumerate(pairs)}
    renamed = [tuple(permutation[node] for node in pair) for pair in pairs]
    return np.array([index[pair if ordered else tuple(sorted(pair))] for pair in renamed])


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6])
def test_renaming_nodes_of_pairs(nodes, ordered):
    images = [moved_pairs(nodes, ordered, permutation) for permutation in itertools.permutations(range(nodes))]
    predicted = functions_on_pairs(nodes, ordered)
    assert predicted.dimension == len(images[0])
    assert multiplets(symmetrised(images, seed=4)) == predicted.degeneracies()
    projectors = isotypic_projectors(nodes, lambda permutation: moved_pairs(nodes, ordered, permutation))
    ranks = {irrep: round(np.trace(projector)) for irrep, projector in projectors.items()}
    assert ranks == {irrep: multiplicity * irrep.dimension for irrep, multiplicity in predicted.items()}


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 6])
def test_relations_of_pairs_are_the_orbits_of_pairs_of_pairs(nodes, ordered):
    relations = pair_relations(nodes, ordered)
    states = np.arange(len(relations))
    lowest = states[:, None] * len(states) + states
    for permutation in itertools.permutations(range(nodes)):
        moved = moved_pairs(nodes, ordered, permutation)
        assert np.array_equal(relations[np.ix_(moved, moved)], relations)
        lowest = np.minimum(lowest, moved[:, None] * len(states) + moved)
    classes = set(zip(relations.ravel().tolist(), lowest.ravel().tolist(), strict=True))
    assert len(classes) == len(np.unique(relations)) == len(np.unique(lowest))
    # The number of orbits is the sum of squared multiplicities, a count that knows nothing of pairs.
    assert len(classes) == sum(multiplicity**2 for multiplicity in functions_on_pairs(nodes, ordered).values())
    if nodes >= 4:
        assert len(classes) == len(ARC_RELATIONS if ordered else EDGE_RELATIONS)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("nodes", [4, 7, 12])
def test_kernels_that_depend_on_the_relation_have_the_multiplets_of_pairs(nodes, ordered):
    values = np.random.default_rng(5).normal(size=7 if ordered else 3)
    kernel = values[pair_relations(nodes, ordered)]
    kernel = kernel + kernel.T
    assert multiplets(kernel) == functions_on_pairs(nodes, ordered).degeneracies()


def test_relations_of_arcs_mean_what_they_are_called():
    pairs, relations = node_pairs(4, ordered=True).tolist(), pair_relations(4, ordered=True)
    first = pairs.index([0, 1])
    meets = {
        "equal": [0, 1],
        "reversed": [1, 0],
        "same tail": [0, 2],
        "same head": [2, 1],
        "head on tail": [1, 2],
        "tail on head": [2, 0],
        "disjoint": [2, 3],
    }
    assert {name: ARC_RELATIONS[relations[first, pairs.index(pair)]] for name, pair in meets.items()} == {name: name for name in meets}


def moved_edge_sets(pairs: np.ndarray, edges: int | None) -> np.ndarray:
    """Where a permutation of pairs moves the sets of pairs, as bits of a number; of one size or of all."""
    sets = np.arange(2 ** len(pairs))
    bits = (sets[:, None] >> np.arange(len(pairs))) & 1
    moved = (bits << pairs).sum(axis=1)
    chosen = sets if edges is None else sets[bits.sum(axis=1) == edges]
    return np.searchsorted(chosen, moved[chosen])


@pytest.mark.parametrize(
    ("nodes", "edges", "ordered"), [(2, None, True), (3, None, False), (3, None, True), (4, None, False), (4, 2, True), (5, 3, False)]
)
def test_renaming_nodes_of_graphs(nodes, edges, ordered):
    images = [moved_edge_sets(moved_pairs(nodes, ordered, p), edges) for p in itertools.permutations(range(nodes))]
    predicted = functions_on_edge_sets(nodes, edges, ordered)
    assert predicted.dimension == len(images[0])
    assert multiplets(symmetrised(images, seed=6)) == predicted.degeneracies()


def test_graphs_up_to_renaming_are_as_many_as_published():
    trivial = [next(iter(functions_on_edge_sets(nodes).values())) for nodes in range(2, 11)]
    assert trivial == [2, 4, 11, 34, 156, 1044, 12346, 274668, 12005168]
    directed = [next(iter(functions_on_edge_sets(nodes, ordered=True).values())) for nodes in range(2, 7)]
    assert directed == [3, 16, 218, 9608, 1540944]


def test_one_edge_is_a_pair_and_sizes_add_up():
    for nodes, ordered in itertools.product((3, 4, 6), (False, True)):
        assert functions_on_edge_sets(nodes, 1, ordered) == functions_on_pairs(nodes, ordered)
    sizes = [functions_on_edge_sets(5, edges) for edges in range(11)]
    assert functions_on_edge_sets(5) == {irrep: sum(size.get(irrep, 0) for size in sizes) for irrep in functions_on_edge_sets(5)}
