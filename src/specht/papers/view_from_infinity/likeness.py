"""How alike the blocks C(k) of a text are: in the mean, at every k, and beside the bigram surrogate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import xarray

from specht.corpus.stats import Likeness
from specht.papers import Finding, above, below, both, common, larger
from specht.papers.view_from_infinity.texts import BODY, CHAIN, WINDOW, less, points_by, require
from specht.stats import jackknife_error

ALIKE, MARGIN = 0.95, 0.08
"""Cosines above the first are alike, and two of them differ by more than the second."""
_WAVES = 16
HIGH = WINDOW // _WAVES
"""From this frequency on a wave takes at most so many tokens."""
NOISE = 0.5
"""The standard error from which on a ratio near one says nothing."""
CENTRED = f"(centred, L = {WINDOW}, text without headings)"
SIMILAR = both(
    above(MARGIN, "mean cosine within k ≠ 0 less that with k = 0"),
    above(ALIKE, "mean cosine within k ≠ 0", where=CENTRED),
)
COLLAPSED = below(0, "mean Kolmogorov-Smirnov distance within k ≠ 0 less that to k = 0", where="(centred, text without headings)")

By = Literal["cosine", "kolmogorov", "weighed", "overlap"]
"""What blocks are compared by: the second and the third are distances of eigenvalues."""
_DISTANCES = ("kolmogorov", "weighed")


def margin(alike: Likeness) -> float:
    """By how much blocks at k ≠ 0 are more alike in the mean than one of them and that at k = 0."""
    return alike.within.mean - alike.across.mean


def gap(alike: Likeness) -> float:
    """By how much any two blocks at k ≠ 0 are more alike than any of them and that at k = 0; below zero where they are not."""
    return alike.within.least - alike.across.most


def high_gap(alike: Likeness) -> float:
    """The gap without the lowest frequencies other than zero."""
    length = 2 * (len(alike.matrix) - 1)
    kept = [0, *range(length // _WAVES, len(alike.matrix))]
    return gap(Likeness(alike.matrix[np.ix_(kept, kept)]))


def within(alike: Likeness) -> float:
    """How alike blocks at k ≠ 0 are in the mean."""
    return alike.within.mean


def across(alike: Likeness) -> float:
    """How alike blocks at k ≠ 0 are to that at k = 0 in the mean."""
    return alike.across.mean


def texts_of(data: xarray.Dataset) -> dict[tuple[str, str | None, bool], xarray.Dataset]:
    """The blocks of what this machine has, by corpus, null model, and whether `<unk>` is a type."""
    points = points_by(data, "corpus", "null", "unknown", "errors")
    return {(corpus, null, unknown): blocks for (corpus, null, unknown, _), blocks in points.items()}


def blocks_of(data: xarray.Dataset, corpus: str = BODY, null: str | None = None, unknown: bool = True) -> xarray.Dataset:
    """The blocks of a corpus, or of a null model."""
    require(corpus, data)
    return texts_of(data)[corpus, null, unknown]


def spectra_of(data: xarray.Dataset, null: str | None = None, length: int = WINDOW) -> xarray.Dataset:
    """The eigenvalues and subspaces of the text, or of a null model."""
    require(BODY, data)
    return points_by(data, "null", "length")[null, length]


def _alike(matrix: xarray.DataArray, by: By) -> Likeness:
    """A matrix over the k that there are, in which likeness is large: one less a distance."""
    values = matrix.dropna("k", how="all").dropna("other", how="all").values
    return Likeness(1.0 - values if by in _DISTANCES else values)


def likeness_of(blocks: xarray.Dataset, by: By = "cosine", kind: str = "centred") -> Likeness:
    """How alike the blocks of a text are."""
    return _alike(blocks[by].sel(kind=kind) if by == "cosine" else blocks[by], by)


def measured(blocks: xarray.Dataset, of: Callable[[Likeness], float], by: By = "cosine", kind: str = "centred") -> Finding:
    """A number with its error, from what it is without each piece of the text (jackknife)."""
    rest = blocks[f"{by}_without"]
    rest = rest.sel(certain=kind) if by == "cosine" else rest
    left_out = [of(_alike(rest.isel(piece=piece), by)) for piece in range(rest.sizes["piece"])]
    return common.with_interval(Finding(of(likeness_of(blocks, by, kind)), float(jackknife_error(left_out))), len(left_out))


def beyond_surrogate(text: xarray.Dataset, surrogate: xarray.Dataset, by: By, words: str = "") -> Finding:
    """By how much the margin of a text exceeds that of its bigram surrogate."""
    one, other = (measured(blocks, margin, by) for blocks in (text, surrogate))
    return common.with_interval(less(one, other, words), text.sizes["piece"])


def beyond(what: str, where: str = CENTRED):
    """The criterion for `beyond_surrogate`."""
    return larger(what, than=CHAIN, where=where)


def means(alike: Likeness, by: By = "cosine") -> str:
    """Means within k ≠ 0 and to k = 0, as words; of distances as they are."""
    ends = [alike.within.mean, alike.across.mean]
    return " and ".join(f"{1.0 - end if by in _DISTANCES else end:.3f}" for end in ends).replace("-", "−")
