"""Statistics of windows of tokens: moments, scores, null models, harmonics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.corpus.stats.exchangeability import DRAWS as DRAWS, symmetry as symmetry
    from specht.corpus.stats.harmonics import (
        Kind as Kind,
        Likeness as Likeness,
        block_moments as block_moments,
        kolmogorov_distance as kolmogorov_distance,
        measure_harmonics as measure_harmonics,
    )
    from specht.corpus.stats.moments import Plan as Plan, Tables as Tables, count_pairs as count_pairs
    from specht.corpus.stats.shuffles import NULLS as NULLS, Null as Null
    from specht.corpus.stats.squares import weights as weights
    from specht.corpus.stats.third import ThirdMoments as ThirdMoments, third_score as third_score

__all__, __getattr__, __dir__ = lazy_names(__name__)
