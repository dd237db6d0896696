"""What `specht symmetry` found of corpora, as plain values and as files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray

from specht.corpus.measuring import Measured, explain
from specht.corpus.read.tokenise import choose
from specht.corpus.stats.exchangeability import Score
from specht.corpus.stats.influence import Influence
from specht.corpus.survey import Survey
from specht.lab.csv_text import csv_text

COLUMNS: tuple[str, ...] = (
    *("corpus", "tokens", "vocab", "length", "score", "low", "high", "distance", "direction", "rms", "defined", "plug_in", "null"),
)


def describe(survey: Survey, found: Measured) -> dict[str, Any]:
    """What was found, as plain values."""
    corpus, words = survey.corpus, survey.vocabulary
    kinds = {choose(part.path) for part in corpus.parts} if corpus.tokens == "auto" else {corpus.tokens}
    return {
        "name": corpus.name,
        "tokens": " and ".join(sorted(kinds)),
        "n_tokens": survey.total,
        "vocab": len(words),
        "coverage": float(words.counts.sum()) / survey.total,
        "method": survey.how,
        **found.summary(),
        "influence": None if found.influence is None else _influence(survey, found.influence, found.main),
    }


def _influence(survey: Survey, influence: Influence, main: Score) -> dict[str, Any]:
    return {
        "windows": influence.windows,
        "carrying_half": influence.carrying_half,
        "top_share": influence.top_share,
        "tokens": explain(survey, influence.tokens),
        "uneven": influence.is_uneven,
        "blocks": list(main.influence),
    }


@dataclasses.dataclass(frozen=True)
class SymmetryRun:
    """What was found of all corpora, as files."""

    corpora: Sequence[Mapping[str, Any]]

    def lines(self) -> list[dict[str, Any]]:
        """One line a corpus, window length and null model."""
        found = []
        for corpus in self.corpora:
            facts = {"corpus": corpus["name"], "tokens": corpus["tokens"], "vocab": corpus["vocab"]}
            found += [facts | {**score, "null": ""} for score in corpus["lengths"]]
            found += [facts | {**score, "null": null} for null, score in corpus["nulls"].items()]
        return [{name: line[name] for name in COLUMNS} for line in found]

    def csv(self) -> str:
        return csv_text(COLUMNS, self.lines())

    def dataset(self, attributes: dict[str, Any]) -> xarray.Dataset:
        """Scores by corpus and window length, and correlations by lag."""
        fields = ("score", "low", "high", "distance", "direction", "rms")
        lengths = [score["length"] for score in self.corpora[0]["lengths"]]
        lags = [energy["lag"] for energy in self.corpora[0]["lags"]]

        def table(name: str, rows: str, keys: str) -> tuple[tuple[str, str], np.ndarray]:
            values = [[np.nan if row[name] is None else row[name] for row in corpus[rows]] for corpus in self.corpora]
            return ("corpus", keys), np.array(values, dtype=np.float64)

        variables = {name: table(name, "lengths", "length") for name in fields}
        variables |= {f"lag_{name}": table(name, "lags", "lag") for name in ("rms", "low", "high", "direction")}
        coords = {"corpus": [corpus["name"] for corpus in self.corpora], "length": lengths, "lag": lags}
        return xarray.Dataset(variables, coords=coords, attrs=attributes)
