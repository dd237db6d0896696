"""Statistics of windows of tokens: moments, scores, null models, harmonics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.corpus.stats.exchangeability import DRAWS, symmetry
    from specht.corpus.stats.harmonics import Kind, Likeness, block_moments, kolmogorov_distance, measure_harmonics
    from specht.corpus.stats.moments import Plan, Tables, count_pairs
    from specht.corpus.stats.shuffles import NULLS, Null
    from specht.corpus.stats.squares import Metric, Resampling, weights
    from specht.corpus.stats.third import ThirdMoments, third_score

__all__, __getattr__, __dir__ = lazy_names(__name__)
