"""The symmetric group acting on sequences: actions, blocks of invariant kernels, spectra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.symmetry.actions import Residual as Residual
    from specht.symmetry.actions import equivariance_residual as equivariance_residual
    from specht.symmetry.actions import gram_residual as gram_residual
    from specht.symmetry.actions import invariance_residual as invariance_residual
    from specht.symmetry.actions import permute_context as permute_context
    from specht.symmetry.dense import DenseOperator as DenseOperator
    from specht.symmetry.dense import dense_operator as dense_operator
    from specht.symmetry.dense import multiplet_splittings as multiplet_splittings
    from specht.symmetry.dense import multiplets as multiplets
    from specht.symmetry.isotypic import isotypic_shares as isotypic_shares
    from specht.symmetry.isotypic import sampled_shares as sampled_shares
    from specht.symmetry.models import open_model as open_model
    from specht.symmetry.similarity import adjacency_score as adjacency_score
    from specht.symmetry.spectrum import Row as Row

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "specht.symmetry.actions": ["Residual", "equivariance_residual", "gram_residual", "invariance_residual", "permute_context"],
        "specht.symmetry.dense": ["DenseOperator", "dense_operator", "multiplet_splittings", "multiplets"],
        "specht.symmetry.isotypic": ["isotypic_shares", "sampled_shares"],
        "specht.symmetry.models": ["open_model"],
        "specht.symmetry.similarity": ["adjacency_score"],
        "specht.symmetry.spectrum": ["Row"],
    },
)
