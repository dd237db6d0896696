"""The tables behind the scores of `specht symmetry`: lengths, lags, null models, irreps, third cumulants, blocks C(k), influence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specht.report.symmetry_tables import MISSING, UNDEFINED, between, defined, labels, number, percent, quoted, rms, scored

IRREP_HEADER = ("corpus", "[L]", "[L−1,1]", "[L−2,2]", "[L−2,1,1]", "single positions")
THIRD_HEADER = ("corpus", "score of three", "95 % interval", "signal / noise")
HARMONICS_HEADER = (
    *("corpus", "C(k)", "cos, k ≠ 0", "least", "cos(0, k)"),
    *("CDFs, k ≠ 0", "most", "CDFs, 0 and k", "subspaces, k ≠ 0", "0 and k"),
)
INFLUENCE_HEADER = ("corpus", "windows", "carry half", "share of the top 1 %", "their tokens", "one block moves the score by")
NULL_NAMES = {"window": "in windows", "article": "in articles", "global": "as a whole"}


def length_header(result: Mapping[str, Any]) -> tuple[str, ...]:
    return ("corpus", *(f"L = {score['length']}" for score in result["corpora"][0]["lengths"]))


def cut_header(result: Mapping[str, Any]) -> tuple[str, ...]:
    return ("corpus", *("all lags" if (lag := score["from_lag"]) == 1 else f"≥ {lag}" for score in result["corpora"][0]["cuts"]))


def series_rows(result: Mapping[str, Any], series: str) -> list[list[str]]:
    """The scores of each corpus for several window lengths ("lengths"), or without short lags ("cuts")."""
    pairs = zip(labels(result), result["corpora"], strict=True)
    return [[label, *(scored(score) for score in corpus[series])] for label, corpus in pairs]


def null_header(result: Mapping[str, Any]) -> tuple[str, ...]:
    models = null_models(result)
    return ("corpus", "score", "rms", *(cell for null in models for cell in (f"shuffled {NULL_NAMES[null]}", "rms")))


def null_models(result: Mapping[str, Any]) -> list[str]:
    """The null models that some corpus was measured under."""
    return [null for null in NULL_NAMES if any(null in corpus["nulls"] for corpus in result["corpora"])]


def null_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row a corpus: its score beside those of the same tokens in random order."""
    rows, models = [], null_models(result)
    for label, corpus in zip(labels(result), result["corpora"], strict=True):
        scores = [corpus, *(corpus["nulls"].get(null) for null in models)]
        cells = [(MISSING, MISSING) if score is None else (scored(score), rms(score["rms"])) for score in scores]
        rows.append([label, *(cell for pair in cells for cell in pair)])
    return rows


def irrep_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row a corpus: shares of the four irreps, and how far the laws of single positions differ."""
    rows = []
    for label, found in _with(result, "isotypic"):
        cells = [*found["shares"].values(), found["diagonal"]]
        rows.append([label, *(_estimate(cell) if found["defined"] else UNDEFINED for cell in cells)])
    return rows


def third_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row a corpus: the share of its third cumulants that ignores order."""
    return [
        [label, *([number(third["value"]), between(third)] if third["defined"] else [UNDEFINED, MISSING]), f"{third['z']:z.1f}"]
        for label, third in _with(result, "third")
    ]


def harmonics_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """Three rows a corpus: how alike the blocks C(k) are as they come, centred, and without the term of single positions."""
    rows = []
    for label, harmonics in _with(result, "harmonics"):
        for kind, found in harmonics.items():
            row = [label, kind, *map(number, (found["within"]["mean"], found["within"]["least"], found["across"]["mean"]))]
            distances, overlaps = found.get("kolmogorov"), found.get("overlaps")
            row += [MISSING] * 3 if distances is None else map(number, _distances(distances))
            row += [MISSING] * 2 if overlaps is None else [number(overlaps[pairs]["mean"]) for pairs in ("within", "across")]
            rows.append(row)
    return rows


def _distances(found: Mapping[str, Any]) -> tuple[float, float, float]:
    return found["within"]["median"], found["within"]["most"], found["across"]["mean"]


def influence_rows(result: Mapping[str, Any]) -> list[list[str]]:
    """One row a corpus that has a score: which windows carry it."""
    rows = []
    for label, corpus in defined(result):
        found = corpus["influence"]
        tokens = " ".join(map(quoted, found["tokens"]))
        heaviest = max(found["blocks"], key=abs, default=0.0)
        counts = [f"{found['windows']:,}", f"{found['carrying_half']:,}", percent(found["top_share"])]
        rows.append([label, *counts, tokens or MISSING, f"{heaviest:+z.3f}".replace("-", "−")])
    return rows


def _with(result: Mapping[str, Any], field: str) -> list[tuple[str, Any]]:
    """What was found of the corpora that have such a thing."""
    pairs = zip(labels(result), result["corpora"], strict=True)
    return [(label, corpus[field]) for label, corpus in pairs if corpus.get(field)]


def _estimate(found: Mapping[str, float]) -> str:
    return f"{number(found['value'])} {between(found)}"
