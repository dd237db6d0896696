"""Learners: what a forecast measures on subsets of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.forecasts.learners.estimators import EstimatorLearner as EstimatorLearner
    from specht.forecasts.learners.learner import (
        Learner as Learner,
        PreparedLearner as PreparedLearner,
        accuracy as accuracy,
        squared_error as squared_error,
    )
    from specht.forecasts.learners.registry import (
        DEFAULT_LEARNERS as DEFAULT_LEARNERS,
        LEARNERS as LEARNERS,
        choose_learners as choose_learners,
        default_learners as default_learners,
    )

__all__, __getattr__, __dir__ = lazy_names(__name__)
