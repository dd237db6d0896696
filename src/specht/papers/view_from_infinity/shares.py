"""Whether WikiText-2 has a degree of permutation symmetry: its exchangeable share beside that of its bigram surrogate, and its blocks."""

from __future__ import annotations

import xarray

from specht.papers import Finding, both, common, every, grid, measure
from specht.papers.view_from_infinity.likeness import COLLAPSED, SIMILAR, blocks_of, margin, measured, spectra_of, within
from specht.papers.view_from_infinity.text_blocks import measure_blocks, measure_spectra
from specht.papers.view_from_infinity.texts import (
    BODY,
    CUT,
    METRICS,
    MORE,
    WINDOW,
    above_surrogate,
    content,
    ends_of,
    measure_scores,
    missing_table,
    require,
    scores_of,
)
from specht.report import Table

_TEXT = grid(corpus=BODY, null=None, length=WINDOW, draw=0)
_BLOCKS = _TEXT * grid(unknown=True, errors=True)
measure_text = measure(
    smoke=_BLOCKS * grid(vocab=50, size=CUT),
    quick=_BLOCKS * grid(vocab=300, size=None),
    full=_BLOCKS * grid(vocab=1000, size=None),
    look_up=content,
)(measure_blocks)
measure_text_spectra = measure(
    smoke=_TEXT * grid(vocab=50, size=CUT),
    quick=_TEXT * grid(vocab=300, size=None),
    full=_TEXT * grid(vocab=500, size=None),
    look_up=content,
)(measure_spectra)
measure_body = measure_scores(smoke=(BODY,), quick=(BODY,), full=(BODY,), metrics=("chi2-floor", "plain"))


@measure_body.claim("q8-wikitext", both(MORE, SIMILAR, COLLAPSED), null=(0.0, (0.0, 0.9), 0.0), beside=[measure_text, measure_text_spectra])
def degree_of_symmetry(
    score: xarray.Dataset, text: xarray.Dataset, spectra: xarray.Dataset
) -> tuple[Finding, tuple[Finding, Finding], Finding]:
    require(BODY, score, text, spectra)
    blocks = blocks_of(text)
    similarity = measured(blocks, margin), measured(blocks, within)
    collapse = common.negated(measured(spectra_of(spectra), margin, "kolmogorov"))
    more = above_surrogate(score, BODY)
    outcomes = [rule.judge(part).outcome for rule, part in ((MORE, more), (SIMILAR, similarity), (COLLAPSED, collapse))]
    words = f"{more.regime} By parts: the share {outcomes[0]}; cosines: {outcomes[1]}; eigenvalues: {outcomes[2]}."
    return common.regime(more, words), similarity, collapse


@measure_body.claim("q8-markov", every(MORE, "in the χ² metric and in the plain one"), null=0.0)
def share_beyond_neighbours(score: xarray.Dataset) -> dict[str, Finding]:
    require(BODY, score)
    return {metric: above_surrogate(score, BODY, metric) for metric in METRICS}


@measure_body.table(measure_text)
def share_of_symmetry(score: xarray.Dataset, text: xarray.Dataset) -> list[Table]:
    header = ("text", "metric", "exchangeable share S", "95 % interval", "distance", "direction", "rms correlation")
    rows = [
        [
            "bigram surrogate" if null else "WikiText-2 without headings",
            METRICS[metric],
            f"{float(point['score']):.3f}",
            ends_of(point),
            *(f"{float(point[name]):.3f}" for name in ("distance", "direction")),
            f"{float(point['rms']):.4f}",
        ]
        for (_, null, metric), point in scores_of(score).items()
    ]
    return [*([Table(header, rows, title="Exchangeable share of the correlations")] if rows else []), *missing_table(text, score)]
