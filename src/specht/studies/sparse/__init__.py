"""Sparse Boolean functions: how many samples they need, and how that grows with the number of bits (Edelman et al. 2022)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.studies.sparse import bounds as bounds
    from specht.studies.sparse.growth import SEPARATED as SEPARATED, Growth as Growth, fit_growth as fit_growth
    from specht.studies.sparse.learners import SparseTask as SparseTask, learner as learner, network_learner as network_learner
    from specht.studies.sparse.model import BitTransformer as BitTransformer
    from specht.studies.sparse.names import (
        LEARNERS as LEARNERS,
        NETWORKS as NETWORKS,
        check_learner as check_learner,
        name_of as name_of,
    )
    from specht.studies.sparse.task import Samples as Samples, SparseFunction as SparseFunction, sparse_function as sparse_function
    from specht.studies.sparse.threshold import Search as Search, Threshold as Threshold, find_threshold as find_threshold
    from specht.studies.sparse.trials import Schooling as Schooling, TrialRun as TrialRun, run_stream as run_stream

__all__, __getattr__, __dir__ = lazy_names(__name__)
