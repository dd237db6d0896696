"""Exact group theory: which irreducible representations there are, how large they are, and how often each one occurs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.groups.characters import (
        character as character,
        character_table as character_table,
        class_size as class_size,
        decompose as decompose,
    )
    from specht.groups.cyclic import functions_on_rings as functions_on_rings, harmonic_projector as harmonic_projector
    from specht.groups.decompositions import (
        Decomposition as Decomposition,
        functions_of_degree as functions_of_degree,
        functions_on_sequences as functions_on_sequences,
        multilinear as multilinear,
        permutation_module as permutation_module,
    )
    from specht.groups.graphs import (
        functions_on_edge_sets as functions_on_edge_sets,
        functions_on_pairs as functions_on_pairs,
        node_pairs as node_pairs,
        pair_relations as pair_relations,
    )
    from specht.groups.irreps import (
        Action as Action,
        isotypic_projector as isotypic_projector,
        isotypic_projectors as isotypic_projectors,
        orthogonal_matrix as orthogonal_matrix,
    )
    from specht.groups.partition import Partition as Partition, about as about, partitions as partitions
    from specht.groups.permutations import (
        Permutation as Permutation,
        check_permutation as check_permutation,
        transposition as transposition,
    )
    from specht.groups.products import ProductIrrep as ProductIrrep, functions_on_segments as functions_on_segments
    from specht.groups.sets import count_vectors as count_vectors
    from specht.groups.tableaux import (
        Tableau as Tableau,
        count_semistandard as count_semistandard,
        inner_shapes as inner_shapes,
        kostka_number as kostka_number,
        standard_tableaux as standard_tableaux,
    )

__all__, __getattr__, __dir__ = lazy_names(__name__)
