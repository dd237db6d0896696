"""Capacity and generalisation bounds of attention that can be evaluated on a network (Edelman, Goel, Kakade & Zhang 2022).

- `covering`: from norms to how many functions heads, layers and stacks can tell apart at a resolution (lemma 4.6, theorems 4.2, A.17, ...),
  from there to the gap between training and test risk, and the samples from which that says anything
- `representation`: heads that compute sparse functions, perceptrons behind them, and what unbounded norms can shatter
- `measured`: how far heads move and how many can be told apart, beside what bounds say of it
- `networks`: the norms of a given network
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.studies.sparse.bounds.covering import (
        SOFTMAX as SOFTMAX,
        DenseNorms as DenseNorms,
        HeadNorms as HeadNorms,
        LayerNorms as LayerNorms,
        dense_capacity as dense_capacity,
        explicit_head_cover as explicit_head_cover,
        generalisation_gap as generalisation_gap,
        head_capacity as head_capacity,
        head_change as head_change,
        head_cover as head_cover,
        linear_cover as linear_cover,
        norm_21 as norm_21,
        samples_until as samples_until,
        stack_capacity as stack_capacity,
    )
    from specht.studies.sparse.bounds.measured import (
        attend as attend,
        packing_number as packing_number,
        packing_radii as packing_radii,
        steepest_change as steepest_change,
    )
    from specht.studies.sparse.bounds.networks import (
        network_bound as network_bound,
        perceptron_bound as perceptron_bound,
        transformer_bound as transformer_bound,
    )
    from specht.studies.sparse.bounds.representation import (
        bump_bounds as bump_bounds,
        bump_network as bump_network,
        fixed_positions_head as fixed_positions_head,
        head_output as head_output,
        norm_bounds as norm_bounds,
        shattered_inputs as shattered_inputs,
        shattering_head as shattering_head,
        symmetric_bumps as symmetric_bumps,
        table_bumps as table_bumps,
        trained_positions_head as trained_positions_head,
    )

__all__, __getattr__, __dir__ = lazy_names(__name__)
