"""The blocks C(k) of a corpus: how alike they are, their eigenvalues and principal subspaces, and what sampling noise has to do with it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import xarray

from specht.corpus import COMPONENTS, KINDS, Survey, SurveySettings, plan_survey, take_census
from specht.corpus.read import Corpus, TypeCounts, Vocabulary
from specht.corpus.stats import Null, block_moments, count_pairs, kolmogorov_distance, measure_harmonics
from specht.papers.view_from_infinity.texts import known_types, missing, opened

HALF_TYPES = 100
"""Types whose pairs are counted in two halves."""


def measure_blocks(
    corpus: str,
    content: str | None,
    vocab: int,
    length: int,
    size: int | None,
    null: Null | None = None,
    unknown: bool = True,
    spectra: bool = True,
    seed: int = 0,
) -> xarray.Dataset:
    """Cosines of the blocks C(k) of a corpus, eigenvalues and overlaps of principal subspaces of the centred ones, and a ratio.

    Eigenvalues are over their sum. The ratio is that of products of off-site blocks of two halves of the corpus at different k ≠ 0 to those
    at the same k: one for blocks that are equal up to noise.

    Arguments:
        null: shuffle the tokens first.
        unknown: whether `<unk>` is a type like others, as in the file. Otherwise it shares a coordinate with the types outside the
            vocabulary.
        spectra: whether to find eigenvalues, subspaces and the ratio.
        seed: of the shuffle.
    """
    if content is None:
        return missing(corpus)
    survey = _survey(opened(corpus, content, size), vocab, length, unknown, seed)
    tables, p = _counted(survey, null)
    pairs = tables.sum(axis=(1, 2))
    likeness = {kind: measure_harmonics(tables, pairs, p, kind=kind) for kind in KINDS}
    variables: dict[str, Any] = {
        "cosine": (("kind", "k", "other"), np.stack([likeness[kind].cosines.matrix for kind in KINDS])),
        "imaginary": ("kind", [likeness[kind].imaginary for kind in KINDS]),
        "tokens": float(survey.total),
        "types": float(len(survey.vocabulary)),
    }
    if spectra:
        variables |= _spectra(tables, pairs, p)
    if spectra and null in (None, "window"):  # otherwise there is nothing but noise
        variables["ratio"] = _ratio(survey, null)
    frequencies = np.arange(length // 2 + 1)
    return xarray.Dataset(variables, {"kind": list(KINDS), "k": frequencies, "other": frequencies})


def _survey(corpus: Corpus, vocab: int, length: int, unknown: bool, seed: int) -> Survey:
    census = take_census(corpus, range(len(corpus.parts)))
    settings = SurveySettings(length=length, lengths=(), vocab=known_types(census.counts, vocab), seed=seed)
    survey = plan_survey(corpus, settings, census)
    return dataclasses.replace(survey, vocabulary=_all_types(census.counts, settings.vocab)) if unknown else survey


def _all_types(counts: TypeCounts, size: int | None) -> Vocabulary:
    """The most frequent types, `<unk>` being one of them."""
    kept = sorted(counts.counts.items(), key=lambda item: (-item[1], item[0]))[:size]
    numbers = np.array([number for _, number in kept], dtype=np.int64)
    return Vocabulary(tuple(kind for kind, _ in kept), numbers, counts.tokens - int(numbers.sum()))


def _counted(survey: Survey, null: Null | None) -> tuple[np.ndarray, np.ndarray]:
    """Pairs [lag - 1, i, j], and frequencies of the symbols. A thousand types take 250 MB, and would twice as much with longer integers."""
    symbols, length = len(survey.vocabulary) + 1, survey.settings.length
    tables, tokens = np.zeros((length - 1, symbols, symbols), dtype=np.int32), np.zeros(symbols, dtype=np.int64)
    for segment in survey.segments(range(len(survey.sizes)), null):
        rows = segment.ids * symbols
        tokens += np.bincount(segment.ids[: segment.owned], minlength=symbols)
        for lag in range(1, length):
            np.add(tables[lag - 1], count_pairs(segment, rows, lag, symbols), out=tables[lag - 1], casting="unsafe")
    return tables, tokens / tokens.sum()


def _spectra(tables: np.ndarray, pairs: np.ndarray, p: np.ndarray) -> dict[str, Any]:
    """Eigenvalues and principal subspaces, one block at a time: the eigenvectors of all would take 500 MB."""
    values, bases = [], []
    for k in range((len(tables) + 1) // 2 + 1):
        eigenvalues, vectors = np.linalg.eigh(block_moments(tables, pairs, p, k))
        values.append(eigenvalues[::-1] / eigenvalues.sum())
        bases.append(vectors[:, -COMPONENTS:].copy())
    return {
        "eigenvalue": (("k", "index"), np.stack(values)),
        "kolmogorov": (("k", "other"), [[kolmogorov_distance(one, other) for other in values] for one in values]),
        "overlap": (("k", "other"), [[np.linalg.norm(u.conj().T @ w) ** 2 / u.shape[1] for w in bases] for u in bases]),
    }


def _ratio(survey: Survey, null: Null | None) -> float:
    """Off-site products between every other block of the corpus and the rest of it, which share no noise."""
    narrowed, length = survey.narrowed(HALF_TYPES), survey.settings.length
    symbols = int(narrowed[-1]) + 1
    halves, tokens = np.zeros((2, length - 1, symbols, symbols)), np.zeros(symbols)
    for segment in survey.segments(range(len(survey.sizes)), null):
        frequent = dataclasses.replace(segment, ids=narrowed[segment.ids])
        tokens += np.bincount(frequent.ids[: frequent.owned], minlength=symbols)
        for lag in range(1, length):
            halves[frequent.block % 2, lag - 1] += count_pairs(frequent, frequent.ids * symbols, lag, symbols)
    p = tokens / tokens.sum()
    halves /= halves.sum(axis=(2, 3), keepdims=True)
    first, second = halves.sum(axis=3), halves.sum(axis=2)
    halves -= first[..., None] * p + p[:, None] * second[:, :, None] - np.outer(p, p)
    turned = halves.swapaxes(2, 3)
    even, odd = ((half / 2).reshape(2, length - 1, -1) for half in (halves + turned, halves - turned))

    distance = np.arange(1, length)
    angle = 2 * np.pi * np.outer(np.arange(1, length // 2 + 1), distance) / length
    cosine, sine = (1 - distance / length) * np.cos(angle), (1 - distance / length) * np.sin(angle)
    products = cosine @ even[0] @ even[1].T @ cosine.T + sine @ odd[0] @ odd[1].T @ sine.T
    same = np.trace(products)
    return float((products.sum() - same) / (len(products) - 1) / same)
