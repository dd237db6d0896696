"""Permutation symmetry of real text: how much of the correlations of a corpus ignores order.

>>> import specht
>>> str(specht.corpus.score([0, 1, 2, 3] * 500, length=4, vocab=4)).startswith("0.")
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.corpus.measuring import MeasuredCorpus as MeasuredCorpus, measure as measure, score as score
    from specht.corpus.read.corpora import Corpus as Corpus, open_corpus as open_corpus
    from specht.corpus.stats.exchangeability import Score as Score
    from specht.corpus.survey import SurveySettings as SurveySettings

__all__, __getattr__, __dir__ = lazy_names(__name__)
