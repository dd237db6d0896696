"""The figure on WikiText-2: its correlations by frequency of the position, beside shuffled text and beside other corpora."""

from __future__ import annotations

import itertools

import numpy as np
import xarray

from specht.corpus.stats import NULLS
from specht.papers import common
from specht.papers.claims import Verdict, lacking
from specht.papers.criteria import Finding, above, at_least, below, both, larger, positive
from specht.papers.measure import Grid, NothingToJudge, grid, measure
from specht.papers.view_from_infinity import text_figures
from specht.papers.view_from_infinity.text_blocks import HALF_TYPES, measure_blocks
from specht.papers.view_from_infinity.text_figures import blocks_of, cosines_of, likeness_of, means, scored
from specht.papers.view_from_infinity.texts import (
    BODY,
    CODE,
    CUT,
    GENOME,
    TEXT,
    WINDOW,
    content,
    cut,
    measure_scores,
    missing_table,
    reasons,
    require,
    stderr_of,
    where,
)
from specht.report import Table, table

ALIKE, APART, MARGIN = 0.95, 0.9, 0.08
"""Cosines above the first are alike, cosines below the second are not, and two of them differ by more than the third."""
_TEXT = grid(corpus=TEXT, null=None, unknown=True, spectra=True)
_SHARED = grid(length=WINDOW, seed=0)
_SMOKE, _QUICK, _FULL = _SHARED * grid(vocab=50, size=CUT), _SHARED * grid(vocab=300, size=None), _SHARED * grid(vocab=1000, size=None)


def _texts(*others: str) -> Grid:
    """The text, shuffled text, the text with `<unk>` among rare words, and other corpora."""
    shuffled = grid(corpus=TEXT, null=list(NULLS), unknown=True, spectra=True)
    return (
        _TEXT
        + shuffled
        + grid(corpus=TEXT, null=None, unknown=False, spectra=False)
        + grid(corpus=list(others), null=None, unknown=True, spectra=False)
    )


measure_figure = measure(
    smoke=_texts(CODE) * _SMOKE, quick=_texts(CODE, GENOME) * _QUICK, full=_texts(CODE, GENOME) * _FULL, look_up=content
)(measure_blocks)
measure_order = measure_scores(smoke=(TEXT, CODE), quick=(TEXT, CODE, GENOME), full=(TEXT, CODE, GENOME))
measure_text = measure(smoke=_TEXT * _SMOKE, quick=_TEXT * _QUICK, full=_TEXT * _FULL, look_up=content)(measure_blocks)
measure_body = measure_scores(smoke=(BODY,), quick=(BODY,), full=(BODY,))

CENTRED = f"(centred, L = {WINDOW})"
SIMILAR = both(
    above(MARGIN, "mean cosine within k ≠ 0 less that with k = 0"),
    above(ALIKE, "mean cosine within k ≠ 0", where=CENTRED),
)
COLLAPSED = below(0, "mean Kolmogorov-Smirnov distance within k ≠ 0 less that to k = 0", where=CENTRED)


def _setting(data: xarray.Dataset) -> str:
    return f"L = {data.length}, V = {data.vocab} and the rest{cut(data)}"


def _similarity(blocks: xarray.Dataset, words: str = "") -> tuple[Finding, float]:
    """What the criterion of similarity asks for."""
    cosines = cosines_of(blocks)
    return Finding(cosines.within.mean - cosines.across.mean, regime=words), cosines.within.mean


def _collapse(blocks: xarray.Dataset, words: str = "") -> Finding:
    """What the criterion of eigenvalues asks for; the mean distance within k ≠ 0 is shown."""
    distance = likeness_of(blocks, "kolmogorov")
    return Finding(distance.within.mean - distance.across.mean, regime=words, shown=(distance.within.mean, None))


@measure_figure.claim("f3-similarity", SIMILAR, null=(0.0, 0.9))
def similarity(data: xarray.Dataset) -> tuple[Finding, float]:
    text, shuffled, cosines = blocks_of(data), blocks_of(data, null="window"), cosines_of(blocks_of(data))
    words = (
        f"Words of WikiText-2, {_setting(data)}, centred: {means(cosines)} to k = 0, their difference is shown; the smallest within is "
        f"{cosines.within.least:.2f}. Not centred {means(cosines_of(text, 'raw'))}; with <unk> among rare words "
        f"{means(cosines_of(blocks_of(data, unknown=False)))}; shuffled inside windows {means(cosines_of(shuffled))}."
    )
    return _similarity(text, words)


@measure_figure.claim("f3-eigenvalues", COLLAPSED, null=0.0)
def eigenvalues(data: xarray.Dataset) -> Finding:
    text, shuffled = (likeness_of(blocks_of(data, null=null), "kolmogorov") for null in (None, "window"))
    words = (
        f"Words of WikiText-2, {_setting(data)}, centred, over their sum: mean distance {means(text)} to "
        f"k = 0, the first is shown; shuffled inside windows {means(shuffled)}."
    )
    return _collapse(blocks_of(data), words)


@measure_figure.claim(
    "f3-subspaces",
    larger("mean overlap of the spaces of the ten largest eigenvalues within k ≠ 0", than="that with k = 0", where=CENTRED),
    null=0.0,
)
def subspaces(data: xarray.Dataset) -> Finding:
    text, shuffled = (likeness_of(blocks_of(data, null=null), "overlap") for null in (None, "window"))
    words = (
        f"Words of WikiText-2, {_setting(data)}, centred: {means(text)} to k = 0, their difference is shown; shuffled inside windows "
        f"{means(shuffled)}."
    )
    return Finding(text.within.mean - text.across.mean, regime=words)


@measure_figure.claim(
    "f3-iid",
    both(
        below(APART, "mean cosine with k = 0 of text with all its tokens shuffled"),
        above(ALIKE, "that within k ≠ 0", where="(not centred)"),
    ),
    null=(1.0, 0.0),
)
def independent_tokens(data: xarray.Dataset) -> tuple[Finding, float]:
    shuffled = blocks_of(data, null="global")
    raw = cosines_of(shuffled, "raw")
    words = (
        f"WikiText-2 with all its tokens shuffled, {_setting(data)}: not centred {means(raw)} to k = 0, the second is shown; centred "
        f"{means(cosines_of(shuffled))}."
    )
    return Finding(raw.across.mean, regime=words), raw.within.mean


@measure_figure.claim(
    "f3-off-site",
    above(
        ALIKE,
        "mean cosine within k ≠ 0 of C(k) less the covariance of a single position",
        where=f"with or without sampling noise {CENTRED}",
    ),
    null=0.5,
)
def off_site(data: xarray.Dataset) -> Finding:
    text, shuffled = (blocks_of(data, null=null) for null in (None, "window"))
    rest, ratio = cosines_of(text, "off-site"), float(text["ratio"])
    words = (
        f"Words of WikiText-2, {_setting(data)}, centred, without the single-site term: {means(rest)} to k = 0, the first is shown; "
        f"shuffled inside windows, where they are mostly noise, {means(cosines_of(shuffled, 'off-site'))}. Products of blocks of two "
        f"halves of the text, which share no noise, are {ratio:.2f} times as large at different k ≠ 0 as at the same (V ≤ {HALF_TYPES}); "
        f"shuffled inside windows {float(shuffled['ratio']):.2f} times."
    )
    return Finding(max(rest.within.mean, ratio), regime=words, shown=(rest.within.mean, None))


@measure_figure.claim(
    "f3-order",
    at_least(
        1,
        "Kendall's tau of the cosine within k ≠ 0 and the exchangeable share S",
        where="over any two corpora among text, code and bases of DNA",
    ),
    null=0.0,
    beside=[measure_order],
)
def order_of_corpora(data: xarray.Dataset, scores: xarray.Dataset) -> Finding:
    corpora, absent = scored(data, scores), reasons(data, scores)
    if len(corpora) < 2:
        raise NothingToJudge(lacking(next(iter(absent.values()))))
    pairs = itertools.combinations(corpora, 2)
    tau = float(np.mean([np.sign((one - other) * (cosine - second)) for (_, one, cosine), (_, other, second) in pairs]))
    words = "; ".join(f"{name}: cosine {cosine:.3f}, S = {score:.2f}" for name, score, cosine in corpora)
    without = f" Not on this machine: {', '.join(absent)}." if absent else ""
    return Finding(tau, regime=f"{_setting(data)}, cosines within k ≠ 0, centred. {words}.{without}")


measure_figure.figure()(text_figures.figures)
measure_figure.table(measure_order)(text_figures.tables)


@measure_body.claim(
    "q8-wikitext",
    both(positive("exchangeable share S of the correlations", whole_interval=True), SIMILAR, COLLAPSED),
    null=(0.0, (0.0, 0.9), 0.0),
    beside=[measure_text],
)
def degree_of_symmetry(score: xarray.Dataset, text: xarray.Dataset) -> tuple[Finding, tuple[Finding, float], Finding] | Verdict:
    require(TEXT, text)
    require(BODY, score)
    similarity, collapse, low, high = _similarity(text), _collapse(text), float(score["low"]), float(score["high"])
    similar, collapsed = (
        "meet" if rule.judge(part).outcome == "holds" else "miss" for rule, part in ((SIMILAR, similarity), (COLLAPSED, collapse))
    )
    words = (
        f"The cosines {similar} their criterion and the eigenvalues {collapsed} theirs. The "
        f"exchangeable share of the correlations, shown, is in [{low:.3f}, {high:.3f}] for WikiText-2 without headings, {where(score)}."
    )
    if not float(score["defined"]):
        return common.unresolved(words)
    return Finding(float(score["score"]), stderr_of(score["low"], score["high"]), words, (low, high)), similarity, collapse


@measure_body.table(measure_text)
def share_of_symmetry(score: xarray.Dataset, text: xarray.Dataset) -> list[Table]:
    columns = {
        "text": lambda at: at.corpus,
        "tokens": "tokens:,.0f",
        "exchangeable share S": "score:.3f",
        "from": "low:.3f",
        "to": "high:.3f",
    }
    shares = [] if reasons(score) else [table(score, columns, title="Exchangeable share of the correlations")]
    return shares + missing_table(text, score)
