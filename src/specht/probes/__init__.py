"""Which permutations of positions a model ignores, layer by layer: models in NumPy, JAX and PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.probes import similarity as similarity
    from specht.probes.models import open_model as open_model
    from specht.probes.search import Probe as Probe, probe as probe
    from specht.probes.similarity import (
        adjacency_score as adjacency_score,
        position_probe as position_probe,
        rows_without_self as rows_without_self,
        self_cosines as self_cosines,
        size_features as size_features,
        slice_score as slice_score,
        uniform_cosines as uniform_cosines,
    )
    from specht.probes.words import fraction as fraction

__all__, __getattr__, __dir__ = lazy_names(__name__)
