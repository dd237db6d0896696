"""The figure on WikiText-2: its correlations by frequency of the position, beside shuffled text and beside other corpora."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from specht.corpus.stats.shuffles import NULLS
from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Result, Results, Scale, Verdict, holds_if, lacking
from specht.papers.view_from_infinity import sources
from specht.papers.view_from_infinity.text_blocks import HALF_TYPES
from specht.papers.view_from_infinity.text_figures import blocks_of, cosines_of, likeness_of, means, plots, scored, tables
from specht.papers.view_from_infinity.texts import (
    BODY,
    CODE,
    CUT,
    GENOME,
    TEXT,
    WINDOW,
    content_of,
    missing_table,
    reason_of,
    score_job,
    stderr_of,
    where,
    with_data,
)
from specht.report.html import Step, Table

ALIKE, APART, MARGIN = 0.95, 0.9, 0.08
"""Cosines above the first are alike, cosines below the second are not, and two of them differ by more than the third."""


def _blocks_job(scale: Scale, corpus: str = TEXT, **more: Any) -> Job:
    given = common.at_scale(scale, smoke={"vocab": 50, "size": CUT}, quick={"vocab": 300, "size": None}, full={"vocab": 1000, "size": None})
    return Job.of(
        f"{sources.PACKAGE}.text_blocks:measure_blocks", corpus=corpus, content=content_of(corpus), length=WINDOW, **given, **more
    )


def jobs(scale: Scale) -> list[Job]:
    others = common.at_scale(scale, smoke=(CODE,), quick=(CODE, GENOME), full=(CODE, GENOME))
    return [
        _blocks_job(scale),
        *(_blocks_job(scale, null=null, seed=0) for null in NULLS),
        _blocks_job(scale, unknown=False, spectra=False),
        *(_blocks_job(scale, corpus, spectra=False) for corpus in others),
        *(score_job(scale, corpus) for corpus in (TEXT, *others)),
    ]


def symmetry_jobs(scale: Scale) -> list[Job]:
    return [_blocks_job(scale), score_job(scale, BODY)]


def _setting(result: Result) -> str:
    given = result.arguments
    cut = "" if given["size"] is None else f", the first {given['size'] / 1e6:g} MB"
    return f"L = {given['length']}, V = {given['vocab']} and the rest{cut}"


def _similar(results: Results) -> bool:
    cosines = cosines_of(blocks_of(results))
    return cosines.within.mean > ALIKE and cosines.within.mean - cosines.across.mean > MARGIN


@with_data(TEXT)
def judge_similarity(results: Results) -> Verdict:
    found, shuffled = blocks_of(results), blocks_of(results, null="window")
    cosines = cosines_of(found)
    words = (
        f"Words of WikiText-2, {_setting(found)}, centred: {means(cosines)} to k = 0, their difference is shown; the smallest within is "
        f"{cosines.within.least:.2f}. Not centred {means(cosines_of(found, 'raw'))}; with <unk> among rare words "
        f"{means(cosines_of(blocks_of(results, unknown=False)))}; shuffled inside windows {means(cosines_of(shuffled))}."
    )
    return holds_if(_similar(results), cosines.within.mean - cosines.across.mean, regime=words)


@with_data(TEXT)
def judge_eigenvalues(results: Results) -> Verdict:
    found = blocks_of(results)
    words = (
        f"Words of WikiText-2, {_setting(found)}, centred, over their sum: mean distance {means(likeness_of(found, 'kolmogorov'))} to "
        f"k = 0, the first is shown; shuffled inside windows {means(likeness_of(blocks_of(results, null='window'), 'kolmogorov'))}."
    )
    return holds_if(_collapsed(results), likeness_of(found, "kolmogorov").within.mean, regime=words)


def _collapsed(results: Results) -> bool:
    distance = likeness_of(blocks_of(results), "kolmogorov")
    return distance.within.mean < distance.across.mean


@with_data(TEXT)
def judge_subspaces(results: Results) -> Verdict:
    found = blocks_of(results)
    overlap = likeness_of(found, "overlap")
    words = (
        f"Words of WikiText-2, {_setting(found)}, centred: {means(overlap)} to k = 0, their difference is shown; shuffled inside windows "
        f"{means(likeness_of(blocks_of(results, null='window'), 'overlap'))}."
    )
    return holds_if(overlap.within.mean > overlap.across.mean, overlap.within.mean - overlap.across.mean, regime=words)


@with_data(TEXT)
def judge_iid(results: Results) -> Verdict:
    found = blocks_of(results, null="global")
    raw = cosines_of(found, "raw")
    words = (
        f"WikiText-2 with all its tokens shuffled, {_setting(found)}: not centred {means(raw)} to k = 0, the second is shown; centred "
        f"{means(cosines_of(found))}."
    )
    return holds_if(raw.within.mean > ALIKE and raw.across.mean < APART, raw.across.mean, regime=words)


@with_data(TEXT)
def judge_off_site(results: Results) -> Verdict:
    found = blocks_of(results)
    shuffled, rest, ratio = blocks_of(results, null="window"), cosines_of(found, "off-site"), float(found.data["ratio"])
    words = (
        f"Words of WikiText-2, {_setting(found)}, centred, without the single-site term: {means(rest)} to k = 0, the first is shown; "
        f"shuffled inside windows, where they are mostly noise, {means(cosines_of(shuffled, 'off-site'))}. Products of blocks of two "
        f"halves of the text, which share no noise, are {ratio:.2f} times as large at different k ≠ 0 as at the same (V ≤ {HALF_TYPES}); "
        f"shuffled inside windows {float(shuffled.data['ratio']):.2f} times."
    )
    return holds_if(max(rest.within.mean, ratio) > ALIKE, rest.within.mean, regime=words)


def judge_order(results: Results) -> Verdict:
    """Kendall's tau of cosine and score over all pairs of corpora."""
    found, absent = scored(results), common.chosen(results, "missing")
    if len(found) < 2:
        return lacking(reason_of(absent[0]))
    pairs = list(itertools.combinations(found, 2))
    tau = float(np.mean([np.sign((one - other) * (cosine - second)) for (_, one, cosine), (_, other, second) in pairs]))
    words = "; ".join(f"{name}: cosine {cosine:.3f}, S = {score:.2f}" for name, score, cosine in found)
    without = f" Not on this machine: {', '.join(dict.fromkeys(common.arguments(absent, 'corpus')))}." if absent else ""
    setting = _setting(common.chosen(results, "blocks")[0])
    return holds_if(tau == 1.0, tau, regime=f"{setting}, cosines within k ≠ 0, centred. {words}.{without}")


@with_data(TEXT)
def judge_symmetry(results: Results) -> Verdict:
    score = common.chosen(results, "score", corpus=BODY)[0]
    similar, collapsed, low, high = _similar(results), _collapsed(results), float(score.data["low"]), float(score.data["high"])
    words = (
        f"The cosines {'meet' if similar else 'miss'} their criterion and the eigenvalues {'meet' if collapsed else 'miss'} theirs. The "
        f"exchangeable share of the correlations, shown, is in [{low:.3f}, {high:.3f}] for WikiText-2 without headings, {where(score)}."
    )
    if not float(score.data["defined"]):
        return common.unresolved(words)
    return holds_if(similar and collapsed and low > 0.0, float(score.data["score"]), stderr_of(score), words)


def symmetry_tables(results: Results) -> list[Table]:
    rows = [
        [each.arguments["corpus"], f"{int(each.data['tokens']):,}", *(f"{float(each.data[name]):.3f}" for name in ("score", "low", "high"))]
        for each in common.chosen(results, "score")
    ]
    header = ("text", "tokens", "exchangeable share S", "from", "to")
    return ([Table(header, rows, title="Exchangeable share of the correlations")] if rows else []) + missing_table(results)


_POSTER = f"{sources.POSTER}, figure on WikiText-2"
FIGURE = Experiment(
    name="infinity.f3",
    title="Permutation symmetry of WikiText-2",
    shown=(
        "Poster: first-order correlations of WikiText-2 by frequency k of the position. Those at k ≠ 0 are very similar to each other "
        "and not to k = 0, and so are the distributions of their eigenvalues. Window, vocabulary and measure of similarity are not "
        "known to us."
    ),
    claims=(
        Claim(
            "infinity.f3-similarity",
            "Correlations of WikiText-2 at frequencies k ≠ 0 resemble each other more than that at k = 0.",
            _POSTER,
            "mean cosine within k ≠ 0 above 0.95, and above that with k = 0 by more than 0.08; centred, L = 64",
            judge_similarity,
        ),
        Claim(
            "infinity.f3-eigenvalues",
            "Eigenvalue distributions at k ≠ 0 are nearly the same, and that at k = 0 is another.",
            _POSTER,
            "mean Kolmogorov-Smirnov distance within k ≠ 0 below that to k = 0; centred, L = 64",
            judge_eigenvalues,
        ),
        Claim(
            "infinity.f3-subspaces",
            "Principal components at k ≠ 0 span nearly the same space, and those at k = 0 another.",
            _POSTER,
            "mean overlap of the spaces of the ten largest eigenvalues within k ≠ 0 above that with k = 0; centred, L = 64",
            judge_subspaces,
        ),
        Claim(
            "infinity.f3-iid",
            "Where tokens are not centred, independent tokens give the same picture.",
            sources.OURS,
            "text with all its tokens shuffled: mean cosine within k ≠ 0 above 0.95 and with k = 0 below 0.9; not centred",
            judge_iid,
        ),
        Claim(
            "infinity.f3-off-site",
            "Blocks at k ≠ 0 stay alike without the covariance of a single position, which all of them share.",
            sources.OURS,
            "mean cosine within k ≠ 0 of C(k) less that covariance above 0.95, with or without sampling noise; centred, L = 64",
            judge_off_site,
        ),
        Claim(
            "infinity.f3-order",
            "The cosine within k ≠ 0 orders corpora by their symmetry.",
            sources.OURS,
            "of any two corpora among text, code and bases of DNA that with the larger exchangeable share S has the larger cosine, so that "
            "Kendall's tau is 1",
            judge_order,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Windows slide over the text, and tokens are one-hot vectors over the V most frequent types, <unk> among them, and one more "
            "for all others. Their covariances by distance give the blocks; under permutations of the positions all k ≠ 0 would be equal.",
            (
                "C(k) = A + Σ_t (1 − t/L) (e^{2πikt/L} K(t) + h.c.)",
                "K(t) = E[(x_a − p)(x_{a+t} − p)^T]",
                "A = K(0) = diag(p) − p p^T",
            ),
        ),
        Step(
            "Raw blocks have no p subtracted. Off-site blocks are centred and lack A. Means of cosines run over pairs of different k. "
            "Off-site blocks of text that is nearly symmetric are small and mostly noise, so that those of one half of the text, every "
            "other of 16 pieces, are also multiplied with those of the other half.",
            ("cos(k, k') = Re <C(k), C(k')> / |C(k)| |C(k')|", "mean_{k≠k'} <C_1(k), C_2(k')> / mean_k <C_1(k), C_2(k)>"),
        ),
        Step(
            "Null models permute the tokens inside each window, inside each article, or over the whole text. The first is exactly "
            "symmetric, the last has no correlations."
        ),
    ),
)
SYMMETRY = Experiment(
    name="infinity.q8",
    title="Text has a degree of permutation symmetry",
    shown="Abstract: WikiText has a degree of permutation symmetry.",
    claims=(
        Claim(
            "infinity.q8-wikitext",
            "WikiText has a degree of permutation symmetry in its principal components.",
            sources.ABSTRACT,
            "the figure's criteria for cosines and eigenvalues hold, and the exchangeable share S of the correlations is above 0 with its "
            "95 % interval",
            judge_symmetry,
        ),
    ),
    jobs=symmetry_jobs,
    tables=symmetry_tables,
    method=(
        Step(
            "Cosines and eigenvalues are those of the figure on WikiText-2. The share says how much of the correlations between different "
            "positions is the same for all pairs of positions.",
            ("S = L(L−1) |B|^2 / Σ_{a≠b} |K_{ab}|^2", "B = Σ_{a≠b} K_{ab} / L(L−1)"),
        ),
    ),
)
