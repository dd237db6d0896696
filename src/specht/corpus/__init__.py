"""Permutation symmetry of real text: how much of the correlations of a corpus ignores order.

>>> import specht
>>> str(specht.corpus.score([0, 1, 2, 3] * 500, length=4, vocab=4)).startswith("0.")
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specht.corpus.corpora import open_corpus as open_corpus
    from specht.corpus.exchangeability import Score as Score
    from specht.corpus.measure import measure as measure
    from specht.corpus.measure import score as score
    from specht.corpus.survey import Settings as Settings

_HOMES = {
    "Score": "specht.corpus.exchangeability",
    "Settings": "specht.corpus.survey",
    "measure": "specht.corpus.measure",
    "open_corpus": "specht.corpus.corpora",
    "score": "specht.corpus.measure",
}
__all__ = ["Score", "Settings", "measure", "open_corpus", "score"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'specht.corpus' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
