"""Labels of other groups: a notation that round-trips, dimension and level, and a sentence for every bad input."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from specht.errors import InputError
from specht.groups.cyclic import Harmonic, functions_on_rings, harmonic_projector, harmonics
from specht.groups.decompositions import Irrep
from specht.groups.graphs import functions_on_edge_sets, functions_on_pairs, node_pairs
from specht.groups.partition import Partition, partitions
from specht.groups.products import ProductIrrep, functions_on_segments
from specht.groups.sets import count_vectors

shapes = st.lists(st.integers(1, 9), max_size=5).map(lambda parts: Partition(tuple(sorted(parts, reverse=True))))
products = st.lists(shapes, min_size=1, max_size=4).map(lambda factors: ProductIrrep(tuple(factors)))
frequencies = st.integers(1, 10**6).flatmap(lambda length: st.builds(Harmonic, st.just(length), st.integers(0, length // 2)))


@given(products | frequencies)
def test_notation_round_trips(irrep):
    assert type(irrep).parse(str(irrep)) == irrep


@pytest.mark.parametrize(
    ("irrep", "notation", "dimension", "level"),
    [
        (Partition((3, 1)), "[3,1]", 3, 1),
        (ProductIrrep((Partition((3, 1)), Partition((2,)), Partition((2, 2, 1)))), "[3,1]x[2]x[2,2,1]", 15, 4),
        (Harmonic(8, 0), "C8:0", 1, None),
        (Harmonic(8, 3), "C8:3", 2, None),
        (Harmonic(8, 4), "C8:4", 1, None),
        (Harmonic(9, 4), "C9:4", 2, None),
    ],
)
def test_every_label_has_a_notation_a_dimension_and_a_level(irrep: Irrep, notation, dimension, level):
    assert (str(irrep), irrep.dimension, irrep.level) == (notation, dimension, level)
    assert {irrep: 1}[irrep] == 1


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8])
def test_harmonics_are_an_orthonormal_basis_that_rotations_keep_apart(length):
    irreps = harmonics(length)
    assert sum(irrep.dimension for irrep in irreps) == length
    basis = np.hstack([irrep.basis() for irrep in irreps])
    np.testing.assert_allclose(basis.T @ basis, np.eye(length), atol=1e-12)
    step = np.roll(np.arange(length), -1)
    for irrep in irreps:
        waves = irrep.basis()
        np.testing.assert_allclose(harmonic_projector(irrep, step), waves @ waves.T, atol=1e-12)
        for shift in range(length):
            rotation = waves.T @ np.roll(waves, shift, axis=0)
            np.testing.assert_allclose(rotation @ rotation.T, np.eye(irrep.dimension), atol=1e-12)
            assert abs(np.trace(rotation) - irrep.character(shift)) < 1e-12


def test_segments_stop_at_a_level_of_all_segments_together():
    full = functions_on_segments(3, (3, 4))
    for max_level in range(6):
        cut = functions_on_segments(3, (3, 4), max_level)
        assert cut == {irrep: count for irrep, count in full.items() if irrep.level <= max_level}
    assert len(functions_on_segments(3, (10**6, 10**6), max_level=1)) == 3


def test_one_segment_is_a_sequence():
    found = functions_on_segments(2, [5])
    assert {irrep.factors[0]: count for irrep, count in found.items()} == {shape: shape.parts[0] * 2 - 4 for shape in partitions(5, 2)}


def test_long_rings_and_large_vocabularies_stay_exact():
    assert functions_on_rings(50000, 12).dimension == 50000**12
    assert functions_on_rings(2, np.int64(97))[Harmonic(97, 0)] == (2**97 - 2) // 97 + 2
    assert functions_on_rings(1, 6) == {Harmonic(6, 0): 1}


def test_counts_of_large_vocabularies():
    assert np.array_equal(count_vectors(1500, 1), np.eye(1500)[::-1])


BAD = {
    "Functions on segments of 6 tokens at lengths 30, 30, 30 have about 1.8e+09 irreps": lambda: functions_on_segments(6, (30, 30, 30)),
    "or decompose one segment at a time with functions_on_sequences.": lambda: functions_on_segments(6, (30, 30, 30)),
    "have about 1e+308 irreps": lambda: functions_on_segments(6, (30,) * 100),
    "lengths must be a list of whole numbers, got 5.": lambda: functions_on_segments(2, 5),
    "A product of irreps is written as partitions with x between them, such as [3,1]x[2], got None.": lambda: ProductIrrep.parse(None),
    "A harmonic is written as length and frequency, such as C8:3, got None.": lambda: Harmonic.parse(None),
    "the character table of S_40, 3.7e+04 rows and columns, which stops at 26 nodes": lambda: functions_on_edge_sets(40),
    "use functions_on_pairs(40) for functions of one edge, or fewer nodes.": lambda: functions_on_edge_sets(40, edges=3),
    "50 tokens can be shared out among 50 symbols in 5.0e+28 ways, a list of more than 2 GiB": lambda: count_vectors(50, 50),
    "The factors of a product must be partitions, one a segment, got ().": lambda: ProductIrrep(()),
    "The factors of a product must be partitions, one a segment, got ((3, 1),).": lambda: ProductIrrep(((3, 1),)),
    "one a segment, got Partition(parts=(3, 1)).": lambda: ProductIrrep(Partition((3, 1))),
    "A partition is written as row lengths in brackets, such as [3,1], got ''.": lambda: ProductIrrep.parse("[3,1]x"),
    "lengths must name at least one segment, got none.": lambda: functions_on_segments(2, ()),
    "each number of lengths must be a whole number of at least 1, got 0.": lambda: functions_on_segments(2, (3, 0)),
    "The frequencies of 8 positions run from 0 to 4, got 5.": lambda: Harmonic(8, 5),
    "frequency must be a whole number of at least 0, got -1.": lambda: Harmonic(8, -1),
    "length must be a whole number of at least 1, got 0.": lambda: harmonics(0),
    "A harmonic is written as length and frequency, such as C8:3, got 'C8'.": lambda: Harmonic.parse("C8"),
    "vocab must be a whole number of at least 1, got 0.": lambda: functions_on_rings(0, 4),
    "rotated must say where each state goes, every state once, got [0, 0].": lambda: harmonic_projector(Harmonic(2, 0), [0, 0]),
    "3 rotations must lead back to where they began, and for [1, 0] they do not.": lambda: harmonic_projector(Harmonic(3, 0), [1, 0]),
    "length must be a whole number of at least 0, got 1.5.": lambda: count_vectors(2, 1.5),
    "nodes must be a whole number of at least 2, got 1.": lambda: node_pairs(1),
    "nodes must be a whole number of at least 2, got 0.": lambda: functions_on_pairs(0),
    "A graph on 4 nodes has at most 6 edges, got 7.": lambda: functions_on_edge_sets(4, 7),
    "A graph on 4 nodes has at most 12 edges, got 13.": lambda: functions_on_edge_sets(4, 13, ordered=True),
    "edges must be a whole number of at least 0, got -1.": lambda: functions_on_edge_sets(4, -1),
}


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()
