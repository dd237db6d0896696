"""The blocks C(k) of a corpus: how alike they are, their eigenvalues and principal subspaces, and what sampling noise has to do with it.

Whatever is measured of a corpus is measured without each of its pieces too, which gives standard errors (jackknife).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import xarray

from specht.corpus import COMPONENTS, KINDS, Survey, SurveySettings, plan_survey, take_census
from specht.corpus.read import Corpus, TypeCounts, Vocabulary
from specht.corpus.stats import Null, Resampling, block_moments, count_pairs, kolmogorov_distance, measure_harmonics
from specht.papers.view_from_infinity.texts import known_types, missing, opened

HALF_TYPES = 100
"""Types whose pairs are counted piece by piece at once."""
PIECES = 16
"""Of a corpus, each of which is left out in turn."""
WITH_ERRORS = KINDS[:2]
"""Kinds of blocks whose cosines are found without each piece too. Off-site blocks are mostly noise."""


def measure_blocks(
    corpus: str,
    content: str | None,
    vocab: int,
    length: int,
    size: int | None,
    null: Null | None = None,
    unknown: bool = True,
    errors: bool = True,
    draw: int = 0,
) -> xarray.Dataset:
    """Cosines of the blocks C(k) of a corpus, also without each of its pieces, and a ratio.

    The ratio is that of products of off-site blocks of different pieces of the corpus at different k ≠ 0 to those at the same k: one for
    blocks that are equal up to noise.

    Arguments:
        null: shuffle the tokens first, or take a chain in their place.
        unknown: whether `<unk>` is a type like others, as in the file. Otherwise it shares a coordinate with the types outside the
            vocabulary.
        errors: whether to leave out pieces, and find the ratio.
        draw: which random numbers the null model takes.
    """
    if content is None:
        return missing(corpus)
    survey = _survey(opened(corpus, content, size), vocab, length, unknown, draw)
    pieces = _Pieces(survey, null)
    variables: dict[str, Any] = {"tokens": float(survey.total), "types": float(len(survey.vocabulary))}
    likeness = {kind: measure_harmonics(*pieces.whole(), kind=kind) for kind in KINDS}
    variables["cosine"] = ("kind", "k", "other"), np.stack([likeness[kind].cosines.matrix for kind in KINDS])
    variables["imaginary"] = "kind", [likeness[kind].imaginary for kind in KINDS]
    if errors:
        left_out = [[measure_harmonics(*rest, kind=kind).cosines.matrix for kind in WITH_ERRORS] for rest in pieces.each_left_out()]
        variables["cosine_without"] = ("piece", "certain", "k", "other"), left_out
        if null != "global":  # otherwise there is nothing but noise
            variables |= _ratio(survey, pieces)
    frequencies = np.arange(length // 2 + 1)
    return xarray.Dataset(variables, {"kind": list(KINDS), "certain": list(WITH_ERRORS), "k": frequencies, "other": frequencies})


def measure_spectra(
    corpus: str, content: str | None, vocab: int, length: int, size: int | None, null: Null | None = None, draw: int = 0
) -> xarray.Dataset:
    """Eigenvalues of the centred blocks over their sum, their distances and overlaps of principal subspaces, also without each piece.

    Weighed eigenvalues are those of blocks whose coordinates are divided by the root of their frequency.

    Arguments are those of `measure_blocks`.
    """
    if content is None:
        return missing(corpus)
    survey = _survey(opened(corpus, content, size), vocab, length, True, draw)
    pieces = _Pieces(survey, null)
    spectra, rests = _spectra(*pieces.whole()), [_spectra(*rest) for rest in pieces.each_left_out()]
    variables: dict[str, Any] = {"tokens": float(survey.total), "eigenvalue": (("k", "index"), spectra.values)}
    variables["weighed_eigenvalue"] = ("k", "index"), spectra.weighed
    for name, matrix in (("kolmogorov", _Spectra.distances), ("weighed", _Spectra.weighed_distances), ("overlap", _Spectra.overlaps)):
        variables[name] = ("k", "other"), matrix(spectra)
        variables[f"{name}_without"] = ("piece", "k", "other"), [matrix(rest) for rest in rests]
    frequencies = np.arange(length // 2 + 1)
    return xarray.Dataset(variables, {"k": frequencies, "other": frequencies})


def _survey(corpus: Corpus, vocab: int, length: int, unknown: bool, draw: int) -> Survey:
    census = take_census(corpus, range(len(corpus.parts)))
    settings = SurveySettings(length=length, lengths=(), vocab=known_types(census.counts, vocab), blocks=PIECES, seed=draw)
    survey = plan_survey(corpus, settings, census)
    return dataclasses.replace(survey, vocabulary=_all_types(census.counts, settings.vocab)) if unknown else survey


def _all_types(counts: TypeCounts, size: int | None) -> Vocabulary:
    """The most frequent types, `<unk>` being one of them."""
    kept = sorted(counts.counts.items(), key=lambda item: (-item[1], item[0]))[:size]
    numbers = np.array([number for _, number in kept], dtype=np.int64)
    return Vocabulary(tuple(kind for kind, _ in kept), numbers, counts.tokens - int(numbers.sum()))


Counted = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Pairs of tokens [lag - 1, i, j], numbers of them by lag, and frequencies of the symbols."""


class _Pieces:
    """A corpus in pieces of the same size, counted as a whole and without each of them."""

    def __init__(self, survey: Survey, null: Null | None) -> None:
        self.symbols, self.length = len(survey.vocabulary) + 1, survey.settings.length
        self.segments = list(survey.segments(range(len(survey.sizes)), null))
        self.number = survey.settings.blocks
        self._tables, self._tokens = self._counted(range(self.number))

    def whole(self) -> Counted:
        """Of the whole corpus."""
        return self._tables, self._tables.sum(axis=(1, 2)), self._tokens / self._tokens.sum()

    def each_left_out(self) -> Iterator[Counted]:
        """Without the first piece, without the second, and so on; each is to be used before the next one."""
        for piece in range(self.number):
            tables, tokens = self._counted([piece])
            self._tables -= tables
            self._tokens -= tokens
            yield self.whole()
            self._tables += tables
            self._tokens += tokens

    def _counted(self, pieces: Any) -> tuple[np.ndarray, np.ndarray]:
        """A thousand types take 250 MB, and would twice as much with longer integers."""
        tables = np.zeros((self.length - 1, self.symbols, self.symbols), dtype=np.int32)
        tokens = np.zeros(self.symbols, dtype=np.int64)
        for segment in self.segments:
            if segment.block in pieces:
                rows = segment.ids * self.symbols
                tokens += np.bincount(segment.ids[: segment.owned], minlength=self.symbols)
                for lag in range(1, self.length):
                    np.add(tables[lag - 1], count_pairs(segment, rows, lag, self.symbols), out=tables[lag - 1], casting="unsafe")
        return tables, tokens


class _Spectra(NamedTuple):
    """Of all blocks, with k along the first axis."""

    values: np.ndarray
    weighed: np.ndarray
    bases: np.ndarray

    def distances(self) -> np.ndarray:
        return _distances(self.values)

    def weighed_distances(self) -> np.ndarray:
        return _distances(self.weighed)

    def overlaps(self) -> np.ndarray:
        products = np.einsum("kir,ois->kors", self.bases.conj(), self.bases, optimize=True)
        return np.sum(np.abs(products) ** 2, axis=(2, 3)) / self.bases.shape[2]


def _spectra(tables: np.ndarray, pairs: np.ndarray, p: np.ndarray) -> _Spectra:
    """Eigenvalues and principal subspaces, one block at a time: the eigenvectors of all would take 500 MB."""
    scale = np.divide(1.0, np.sqrt(p), out=np.zeros_like(p), where=p > 0.0)
    values, weighed, bases = [], [], []
    for k in range((len(tables) + 1) // 2 + 1):
        block = block_moments(tables, pairs, p, k)
        eigenvalues, vectors = np.linalg.eigh(block)
        values.append(eigenvalues[::-1] / eigenvalues.sum())
        bases.append(vectors[:, -COMPONENTS:].copy())
        eigenvalues = np.linalg.eigvalsh(block * scale[:, None] * scale)[::-1]
        weighed.append(eigenvalues / eigenvalues.sum())
    return _Spectra(np.stack(values), np.stack(weighed), np.stack(bases))


def _distances(values: np.ndarray) -> np.ndarray:
    matrix = np.zeros((len(values), len(values)))
    for k, other in zip(*np.triu_indices(len(values), 1), strict=True):
        matrix[k, other] = matrix[other, k] = kolmogorov_distance(values[k], values[other])
    return matrix


def _ratio(survey: Survey, pieces: _Pieces) -> dict[str, float]:
    """Off-site products of different pieces of the corpus, which share no noise: the ratio and its standard error."""
    narrowed, length, number = survey.narrowed(HALF_TYPES), survey.settings.length, pieces.number
    symbols = int(narrowed[-1]) + 1
    counts, tokens = np.zeros((number, length - 1, symbols, symbols)), np.zeros(symbols)
    for segment in pieces.segments:
        frequent = dataclasses.replace(segment, ids=narrowed[segment.ids])
        tokens += np.bincount(frequent.ids[: frequent.owned], minlength=symbols)
        for lag in range(1, length):
            counts[frequent.block, lag - 1] += count_pairs(frequent, frequent.ids * symbols, lag, symbols)
    p = tokens / tokens.sum()
    sizes = counts[:, -1].sum(axis=(1, 2))
    distance = np.arange(1, length)
    angle = 2 * np.pi * np.outer(np.arange(1, length // 2 + 1), distance) / length
    cosine, sine = (1 - distance / length) * np.cos(angle), (1 - distance / length) * np.sin(angle)
    blocks = np.stack([_off_site(piece, p, cosine, sine) for piece in counts])  # [piece, k, (i, j) of the real and the imaginary part]
    sums = blocks.sum(axis=1)
    same = np.einsum("gki,hki->gh", blocks, blocks, optimize=True)
    different = (sums @ sums.T - same) / (blocks.shape[1] - 1)
    resampling = Resampling(sizes, seed=survey.settings.seed)
    ratio = resampling.squared_norm(different).over(resampling.squared_norm(same)).estimate()
    return {"ratio": ratio.value, "ratio_stderr": ratio.stderr}


def _off_site(counts: np.ndarray, p: np.ndarray, cosine: np.ndarray, sine: np.ndarray) -> np.ndarray:
    """The centred blocks of a piece at k ≠ 0 without the covariance of a single position, as rows of numbers."""
    moments = counts / counts.sum(axis=(1, 2), keepdims=True)
    first, second = moments.sum(axis=2), moments.sum(axis=1)
    moments -= first[..., None] * p + p[:, None] * second[:, None, :] - np.outer(p, p)
    turned = moments.swapaxes(1, 2)
    even, odd = (half.reshape(len(counts), -1) / 2 for half in (moments + turned, moments - turned))
    return np.concatenate([cosine @ even, sine @ odd], axis=1)
