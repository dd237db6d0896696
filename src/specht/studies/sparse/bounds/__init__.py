"""Capacity and generalisation bounds of attention that can be evaluated on a network (Edelman, Goel, Kakade & Zhang 2022).

- `covering`: how many functions heads, layers and stacks can tell apart at a resolution: lemmas A.10, 4.6, theorems 4.2, A.17, ...
- `generalisation`: from there to the gap between training and test risk, and the samples from which that says anything
- `representation`: heads that compute sparse functions, with their norms, and what unbounded norms can shatter
- `bumps`: perceptrons behind such heads, which make any function of what they read
- `networks`: the norms of a given network
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.studies.sparse.bounds import representation as representation
    from specht.studies.sparse.bounds.bumps import (
        bump_bounds as bump_bounds,
        bump_network as bump_network,
        symmetric_bumps as symmetric_bumps,
        table_bumps as table_bumps,
    )
    from specht.studies.sparse.bounds.covering import (
        dense_capacity as dense_capacity,
        explicit_head_cover as explicit_head_cover,
        head_capacity as head_capacity,
        stack_capacity as stack_capacity,
    )
    from specht.studies.sparse.bounds.generalisation import generalisation_gap as generalisation_gap, samples_until as samples_until
    from specht.studies.sparse.bounds.networks import (
        network_bound as network_bound,
        perceptron_bound as perceptron_bound,
        transformer_bound as transformer_bound,
    )
    from specht.studies.sparse.bounds.norms import DenseNorms as DenseNorms, HeadNorms as HeadNorms, LayerNorms as LayerNorms
    from specht.studies.sparse.bounds.representation import norm_bounds as norm_bounds, trained_positions_head as trained_positions_head

__all__, __getattr__, __dir__ = lazy_names(__name__)
