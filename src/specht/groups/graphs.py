r"""Graphs: the nodes may be renamed, so that $S_n$ acts on pairs of nodes and on sets of edges.

Pairs of nodes are the permutation modules $M^{(n-2,2)}$ (unordered, edges) and $M^{(n-2,1,1)}$ (ordered, arcs; no loops). A kernel on
pairs is invariant when it depends only on how two pairs meet, that is on their class in an association scheme.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError
from specht.groups.characters import LARGEST_TABLE, decompose
from specht.groups.decompositions import Decomposition, permutation_module
from specht.groups.partition import Partition, about, count_partitions, partitions

EDGE_RELATIONS = ("equal", "one node in common", "disjoint")
ARC_RELATIONS = ("equal", "reversed", "same tail", "same head", "head on tail", "tail on head", "disjoint")

# The class of two arcs, by the four equalities tail = tail, head = head, head = tail, tail = head read as binary digits.
_CLASSES = np.full(16, -1)
_CLASSES[[0b1100, 0b0011, 0b1000, 0b0100, 0b0010, 0b0001, 0b0000]] = range(len(ARC_RELATIONS))


def node_pairs(nodes: int, ordered: bool = False) -> np.ndarray:
    """All pairs of different nodes, one a row: edges, or arcs (tail, head) if `ordered`.

    >>> node_pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    nodes = whole_number("nodes", nodes, 2)
    choose = itertools.permutations if ordered else itertools.combinations
    return np.array(list(choose(range(nodes), 2)))


def functions_on_pairs(nodes: int, ordered: bool = False) -> Decomposition[Partition]:
    """Irreps of the functions of one pair of nodes: a token that is an edge, or a linear function of a set of edges.

    >>> print(functions_on_pairs(6))
    [6] + [5,1] + [4,2]
    >>> print(functions_on_pairs(6, ordered=True))
    [6] + 2 [5,1] + [4,2] + [4,1,1]
    """
    nodes = whole_number("nodes", nodes, 2)
    return permutation_module((nodes - 2, 1, 1) if ordered else (nodes - 2, 2))


def pair_relations(nodes: int, ordered: bool = False) -> np.ndarray:
    """How every two pairs of `node_pairs` meet, as a square array of indices into `EDGE_RELATIONS` or `ARC_RELATIONS`.

    The classes are the orbits of pairs of pairs: a kernel is invariant if and only if it is constant on each. A symmetric kernel on arcs
    has the same value for "head on tail" and "tail on head", which are each other's mirror image.

    >>> kernel = np.array([1.0, 0.5, 0.2])[pair_relations(5)]  # one value for each relation
    >>> np.linalg.eigvalsh(kernel).round(6)
    array([0.2, 0.2, 0.2, 0.2, 0.2, 1.1, 1.1, 1.1, 1.1, 4.6])
    >>> [(str(irrep), irrep.dimension) for irrep in functions_on_pairs(5)]
    [('[5]', 1), ('[4,1]', 4), ('[3,2]', 5)]
    """
    tail, head = node_pairs(nodes, ordered).T
    if not ordered:
        return 2 - np.sum([one[:, None] == other for one in (tail, head) for other in (tail, head)], axis=0)
    digits = [tail[:, None] == tail, head[:, None] == head, head[:, None] == tail, tail[:, None] == head]
    return _CLASSES[np.tensordot([8, 4, 2, 1], digits, axes=1)]


def functions_on_edge_sets(nodes: int, edges: int | None = None, ordered: bool = False) -> Decomposition[Partition]:
    """Irreps of all functions of a graph on named nodes, or of a graph with a given number of edges.

    The trivial irrep occurs once for every graph up to renaming its nodes.

    >>> print(functions_on_edge_sets(4))
    11 [4] + 9 [3,1] + 8 [2,2] + 3 [2,1,1] + [1,1,1,1]
    """
    nodes = whole_number("nodes", nodes, 2)
    pairs = math.perm(nodes, 2) // (1 if ordered else 2)
    if nodes > LARGEST_TABLE:
        raise InputError(
            f"Functions of all graphs on {nodes} nodes are decomposed with the character table of S_{nodes}, "
            f"{about(count_partitions(nodes))} rows and columns, which stops at {LARGEST_TABLE} nodes: use functions_on_pairs({nodes}) for "
            "functions of one edge, or fewer nodes."
        )
    edges = None if edges is None else whole_number("edges", edges)
    if edges is not None and edges > pairs:
        raise InputError(f"A graph on {nodes} nodes has at most {pairs} edges, got {edges}.")
    fixed = {cycles: _fixed_edge_sets(_cycles_on_pairs(cycles, ordered), edges) for cycles in partitions(nodes)}
    return Decomposition({irrep: int(multiplicity) for irrep, multiplicity in decompose(fixed).items()})


def _cycles_on_pairs(cycles: Partition, ordered: bool) -> Counter[int]:
    """Lengths of the cycles in which a permutation of nodes moves pairs, each with its number."""
    on_pairs: Counter[int] = Counter()
    for length in cycles.parts:
        on_pairs[length] += length - 1 if ordered else (length - 1) // 2
        if length % 2 == 0 and not ordered:
            on_pairs[length // 2] += 1  # opposite nodes of the cycle are exchanged half way round
    for one, other in itertools.combinations(cycles.parts, 2):
        on_pairs[math.lcm(one, other)] += math.gcd(one, other) * (2 if ordered else 1)
    return on_pairs


def _fixed_edge_sets(cycles: Counter[int], edges: int | None) -> int:
    """Number of edge sets that are unions of cycles, of a given size or of any."""
    if edges is None:
        return 2 ** cycles.total()
    ways = [1] + [0] * edges
    for length in cycles.elements():
        for size in range(edges, length - 1, -1):
            ways[size] += ways[size - length]
    return ways[edges]
