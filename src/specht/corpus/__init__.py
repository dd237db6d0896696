"""Permutation symmetry of real text: how much of the correlations of a corpus ignores order.

>>> import specht
>>> str(specht.corpus.score([0, 1, 2, 3] * 500, length=4, vocab=4)).startswith("0.")
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.corpus.measuring import (
        COMPONENTS as COMPONENTS,
        KINDS as KINDS,
        MeasuredCorpus as MeasuredCorpus,
        Meter as Meter,
        count_all as count_all,
        describe as describe,
        findings as findings,
        measure as measure,
        null_score as null_score,
        nulls_of as nulls_of,
        score as score,
        scores as scores,
    )
    from specht.corpus.read.corpora import Corpus as Corpus, open_corpus as open_corpus
    from specht.corpus.stats.exchangeability import Score as Score
    from specht.corpus.survey import (
        EXTRAS as EXTRAS,
        Census as Census,
        Statistics as Statistics,
        Survey as Survey,
        SurveySettings as SurveySettings,
        merge_censuses as merge_censuses,
        merge_statistics as merge_statistics,
        plan_survey as plan_survey,
        take_census as take_census,
    )

__all__, __getattr__, __dir__ = lazy_names(__name__)
