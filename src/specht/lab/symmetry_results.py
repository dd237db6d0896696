"""What `specht symmetry` found of corpora, as plain values and as files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray

from specht.corpus.exchangeability import Score
from specht.corpus.harmonics import Harmonics
from specht.corpus.influence import Influence
from specht.corpus.isotypic import IsotypicEnergies
from specht.corpus.measuring import Measured, explain
from specht.corpus.survey import Survey
from specht.corpus.third import ThirdScore
from specht.corpus.tokenise import choose
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
        **describe_score(found.main),
        "lengths": [describe_score(score) for score in found.symmetry.lengths],
        "cuts": [describe_score(score) for score in found.symmetry.cuts],
        "lags": [energy._asdict() for energy in found.symmetry.lags],
        "isotypic": None if found.isotypic is None else _shares(found.isotypic),
        "third": None if found.third is None else _third(found.third),
        "harmonics": {each.kind: _describe_harmonics(each) for each in found.harmonics},
        "influence": None if found.influence is None else _influence(survey, found.influence, found.main),
    }


def describe_score(score: Score) -> dict[str, Any]:
    """A score as plain values; numbers that say nothing are left out."""
    seen = ("score", "low", "high", "distance", "direction", "plug_in")
    values = {name: getattr(score, name) if score.defined else None for name in seen}
    return values | {"rms": score.rms, "defined": score.defined, "length": score.length, "from_lag": score.from_lag}


def _influence(survey: Survey, influence: Influence, main: Score) -> dict[str, Any]:
    return {
        "windows": influence.windows,
        "carrying_half": influence.carrying_half,
        "top_share": influence.top_share,
        "tokens": explain(survey, influence.tokens),
        "uneven": influence.is_uneven,
        "blocks": list(main.influence),
    }


def _shares(energies: IsotypicEnergies) -> dict[str, Any]:
    shares = {part: _plain(share) for part, share in energies.shares.items()}
    return {"shares": shares, "diagonal": _plain(energies.diagonal), "defined": energies.defined}


def _third(third: ThirdScore) -> dict[str, Any]:
    return _plain(third.score) | {"z": third.z, "defined": third.defined}


def _plain(estimate: Any) -> dict[str, float]:
    return {name: getattr(estimate, name) for name in ("value", "low", "high")}


def _describe_harmonics(found: Harmonics) -> dict[str, Any]:
    """Similarities of the blocks C(k), and their eigenvalues where they are known."""
    described: dict[str, Any] = {
        "cosines": found.cosines.matrix.tolist(),
        "within": dataclasses.asdict(found.cosines.within),
        "across": dataclasses.asdict(found.cosines.across),
        "imaginary": found.imaginary,
    }
    if found.eigenvalues is not None:
        distances = found.kolmogorov()
        described["spectra"] = {str(k): found.spectra()[k].tolist() for k in _waves(len(found.spectra()) - 1)}
        described["kolmogorov"] = {"within": dataclasses.asdict(distances.within), "across": dataclasses.asdict(distances.across)}
    if found.overlaps is not None:
        described["overlaps"] = {"within": dataclasses.asdict(found.overlaps.within), "across": dataclasses.asdict(found.overlaps.across)}
    return described


def _waves(largest: int) -> list[int]:
    """Wave numbers whose eigenvalues are shown: 0, 1, 2, 4, ..., and the largest.

    >>> _waves(12)
    [0, 1, 2, 4, 8, 12]
    """
    powers = [2**power for power in range(largest.bit_length()) if 2**power < largest]
    return [0, *powers, largest]


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
