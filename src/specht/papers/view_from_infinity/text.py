"""The figure on WikiText-2: its correlations by frequency of the position, beside its bigram surrogate, shuffled text and other corpora."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import xarray

from specht.corpus.stats import Likeness
from specht.papers import (
    Finding,
    Grid,
    NothingToJudge,
    above,
    at_least,
    at_most,
    below,
    both,
    common,
    every,
    grid,
    lacking,
    larger,
    measure,
)
from specht.papers.view_from_infinity import text_figures
from specht.papers.view_from_infinity.likeness import (
    ALIKE,
    CENTRED,
    COLLAPSED,
    HIGH,
    NOISE,
    SIMILAR,
    By,
    beyond,
    beyond_surrogate,
    blocks_of,
    gap,
    high_gap,
    likeness_of,
    margin,
    means,
    measured,
    spectra_of,
    texts_of,
    within,
)
from specht.papers.view_from_infinity.text_blocks import HALF_TYPES, PIECES, measure_blocks, measure_spectra
from specht.papers.view_from_infinity.texts import (
    BODY,
    CODE,
    CUT,
    GENOME,
    TEXT,
    WINDOW,
    content,
    cut,
    interval_of,
    measure_scores,
    points_by,
    reasons,
    share,
)

SHORT, LENGTHS = 16, (32, WINDOW)
_SHARED = grid(length=WINDOW, draw=0)
_SMOKE, _QUICK, _FULL = (_SHARED * grid(vocab=vocab, size=size) for vocab, size in ((50, CUT), (300, None), (1000, None)))


def _texts(*others: str) -> Grid:
    """The text and its null models, with `<unk>` among rare words, with headings and line ends, and other corpora."""
    whole = grid(unknown=True, errors=True)
    return (
        grid(corpus=BODY, null=[None, "bigram", "window", "global"]) * whole
        + grid(corpus=BODY, null="article", unknown=True, errors=False)
        + grid(corpus=BODY, null=None, unknown=False, errors=False)
        + grid(corpus=TEXT, null=None, unknown=True, errors=False)
        + grid(corpus=list(others), null=None) * whole
    )


_LENGTHS = grid(corpus=BODY, null=[None, "bigram"], length=[SHORT, *LENGTHS], draw=0) + grid(
    corpus=BODY, null="window", length=WINDOW, draw=0
)

measure_figure = measure(
    smoke=_texts(CODE) * _SMOKE, quick=_texts(CODE, GENOME) * _QUICK, full=_texts(CODE, GENOME) * _FULL, look_up=content
)(measure_blocks)
measure_lengths = measure(
    smoke=_LENGTHS * grid(vocab=50, size=CUT),
    quick=_LENGTHS * grid(vocab=300, size=None),
    full=_LENGTHS * grid(vocab=500, size=None),
    look_up=content,
)(measure_spectra)
measure_order = measure_scores(smoke=(BODY, CODE), quick=(BODY, CODE, GENOME), full=(BODY, CODE, GENOME), nulls=(None,))


def _setting(data: xarray.Dataset) -> str:
    return f"WikiText-2 without headings, V = {data.vocab} and the rest{cut(data)}, centred"


def _beside(text: xarray.Dataset, surrogate: xarray.Dataset, of: Callable[[Likeness], float], by: By = "cosine") -> str:
    return f"{interval_of(measured(text, of, by))}; of the bigram surrogate {interval_of(measured(surrogate, of, by))}"


@measure_figure.claim("f3-similarity", SIMILAR, null=(0.0, 0.9))
def similarity(data: xarray.Dataset) -> tuple[Finding, Finding]:
    text, surrogate, shuffled = (blocks_of(data, null=null) for null in (None, "bigram", "window"))
    headings = texts_of(data).get((TEXT, None, True))
    words = (
        f"{_setting(data)}, L = {data.length}: {means(likeness_of(text))} to k = 0, their difference is shown; of the bigram surrogate "
        f"{means(likeness_of(surrogate))}, shuffled inside windows {means(likeness_of(shuffled))}. Not centred "
        f"{means(likeness_of(text, kind='raw'))}; with <unk> among rare words {means(likeness_of(blocks_of(data, unknown=False)))}"
    )
    words += "." if headings is None else f"; with headings and line ends {means(likeness_of(headings))}."
    return common.regime(measured(text, margin), words), measured(text, within)


@measure_figure.claim(
    "f3-similarity-gap",
    larger("least cosine of two blocks at k ≠ 0", than="the largest of one of them with k = 0", where=CENTRED),
    null=0.0,
)
@measure_figure.claim(
    "f3-similarity-high",
    larger(f"least cosine of two blocks at k ≥ {HIGH}", than="the largest of one of them with k = 0", where=CENTRED),
    null=0.0,
    of=high_gap,
)
def similarity_at_every_k(data: xarray.Dataset, of: Callable[[Likeness], float] = gap) -> Finding:
    text, surrogate = (blocks_of(data, null=null) for null in (None, "bigram"))
    alike = likeness_of(text)
    lowest = ", ".join(f"{alike.matrix[0, k]:.3f}" for k in (1, 2, HIGH))
    words = (
        f"{_setting(data)}, L = {data.length}: {_beside(text, surrogate, of)}. k = 1, 2 and {HIGH} have the cosines {lowest} with "
        f"k = 0; the least of two k ≠ 0 is {alike.within.least:.3f}."
    )
    return common.regime(measured(text, of), words)


@measure_figure.claim("f3-similarity-markov", beyond("mean cosine within k ≠ 0 less that with k = 0"), null=0.0)
def similarity_beyond_neighbours(data: xarray.Dataset) -> Finding:
    text, surrogate = (blocks_of(data, null=null) for null in (None, "bigram"))
    words = f"{_setting(data)}, L = {data.length}: {_beside(text, surrogate, margin)}. Their difference is shown."
    return beyond_surrogate(text, surrogate, "cosine", words)


_APART = both(COLLAPSED, beyond("mean distance to k = 0 less that within k ≠ 0", where=""))
_NULLS = [(0.0, 0.0)]


@measure_lengths.claim(
    "f3-eigenvalues", every(_APART, f"in windows of {LENGTHS[0]} and of {LENGTHS[1]} tokens"), null=_NULLS, lengths=LENGTHS
)
@measure_lengths.claim("f3-eigenvalues-short", every(_APART, f"in windows of {SHORT} tokens"), null=_NULLS, lengths=(SHORT,))
def eigenvalues(data: xarray.Dataset, lengths: Sequence[int]) -> dict[int, tuple[Finding, Finding]]:
    return {length: collapse(data, length, "kolmogorov") for length in lengths}


_WEIGHED = f"(centred, χ² metric, L = {WINDOW}, text without headings)"


@measure_lengths.claim(
    "f3-eigenvalues-chi2",
    both(
        below(0, "mean Kolmogorov-Smirnov distance within k ≠ 0 less that to k = 0", where=_WEIGHED),
        beyond("mean distance to k = 0 less that within k ≠ 0", where=""),
    ),
    null=(0.0, 0.0),
)
def weighed_eigenvalues(data: xarray.Dataset) -> tuple[Finding, Finding]:
    return collapse(data, WINDOW, "weighed")


def collapse(data: xarray.Dataset, length: int, by: By) -> tuple[Finding, Finding]:
    """What the criteria of eigenvalues ask for."""
    text, surrogate = (spectra_of(data, null, length) for null in (None, "bigram"))
    distances = [means(likeness_of(blocks, by), by) for blocks in (text, surrogate)]
    weighed = ", coordinates over the root of their frequency" if by == "weighed" else ""
    more, alike = beyond_surrogate(text, surrogate, by), likeness_of(text, by)
    words = (
        f"{_setting(data)}{weighed}, eigenvalues over their sum, L = {length}: mean distance {distances[0]} to k = 0, their difference is "
        f"shown; at most {1 - alike.within.least:.3f} and at least {1 - alike.across.most:.3f}; of the bigram surrogate {distances[1]}"
    )
    words += f". k = 0 of the text stands apart by {interval_of(more)} more."
    return common.regime(common.negated(measured(text, margin, by)), words), common.regime(more, words)


@measure_lengths.claim(
    "f3-eigenvalues-gap",
    below(0, "largest Kolmogorov-Smirnov distance of two blocks at k ≠ 0 less the least of one of them to k = 0", where=CENTRED),
    null=0.0,
)
def eigenvalues_at_every_k(data: xarray.Dataset) -> Finding:
    text, surrogate = (likeness_of(spectra_of(data, null), "kolmogorov") for null in (None, "bigram"))
    extremes = [f"at most {1 - one.within.least:.3f} within and at least {1 - one.across.most:.3f} to k = 0" for one in (text, surrogate)]
    words = f"{_setting(data)}, L = {WINDOW}: {extremes[0]}; of the bigram surrogate {extremes[1]}."
    return common.regime(common.negated(measured(spectra_of(data), gap, "kolmogorov")), words)


@measure_lengths.claim(
    "f3-subspaces",
    both(
        larger("mean overlap of the spaces of the ten largest eigenvalues within k ≠ 0", than="that with k = 0", where=CENTRED),
        beyond("their difference", where=""),
    ),
    null=(0.0, 0.0),
)
def subspaces(data: xarray.Dataset) -> tuple[Finding, Finding]:
    texts = {null: spectra_of(data, null) for null in (None, "bigram", "window")}
    overlaps = [means(likeness_of(text, "overlap")) for text in texts.values()]
    words = (
        f"{_setting(data)}, L = {WINDOW}: {overlaps[0]} to k = 0, their difference is shown; of the bigram surrogate {overlaps[1]}, "
        f"shuffled inside windows {overlaps[2]}."
    )
    return common.regime(measured(texts[None], margin, "overlap"), words), beyond_surrogate(texts[None], texts["bigram"], "overlap", words)


@measure_lengths.claim(
    "f3-subspaces-gap",
    larger(
        "least overlap of the spaces of the ten largest eigenvalues of two blocks at k ≠ 0",
        than="the largest of one of them with k = 0",
        where=CENTRED,
    ),
    null=0.0,
)
def subspaces_at_every_k(data: xarray.Dataset) -> Finding:
    text, surrogate = (spectra_of(data, null) for null in (None, "bigram"))
    words = f"{_setting(data)}, L = {WINDOW}: {_beside(text, surrogate, gap, 'overlap')}."
    return common.regime(measured(text, gap, "overlap"), words)


@measure_figure.claim(
    "f3-iid",
    both(
        at_least(
            0.5,
            "mean cosine within k ≠ 0 less that with k = 0 of text with all its tokens shuffled, over that of the text",
            where=f"(not centred, L = {WINDOW}, text without headings)",
        ),
        at_most(0.1, "the same where tokens are centred"),
    ),
    null=(0.0, 1.0),
)
def independent_tokens(data: xarray.Dataset) -> tuple[Finding, Finding]:
    texts = [blocks_of(data, null=null) for null in ("global", None)]
    raw, centred = (_over(measured(texts[0], margin, kind=kind), measured(texts[1], margin, kind=kind)) for kind in ("raw", "centred"))
    words = (
        f"{_setting(data).removesuffix(', centred')}, L = {data.length}, not centred: {means(likeness_of(texts[0], kind='raw'))} to k = 0 "
        f"of shuffled tokens and {means(likeness_of(texts[1], kind='raw'))} of the text. The ratio of the differences is shown; centred it "
        f"is {interval_of(centred)}."
    )
    return common.regime(raw, words), common.regime(centred, words)


def _over(one: Finding, other: Finding) -> Finding:
    """The ratio of two independent numbers, to first order in their errors."""
    ratio = one.value / other.value
    error = math.hypot(one.stderr or 0.0, ratio * (other.stderr or 0.0)) / abs(other.value)
    return common.with_interval(Finding(ratio, error), PIECES)


@measure_figure.claim(
    "f3-off-site",
    above(
        ALIKE,
        "products of blocks at different k ≠ 0 over those at the same k, without the covariance of a single position",
        where=f"from different pieces of the text {CENTRED}",
    ),
    null=0.5,
)
def off_site(data: xarray.Dataset) -> Finding:
    texts = {null: blocks_of(data, null=null) for null in (None, "bigram", "window")}
    ratios = {null: Finding(float(text["ratio"]), float(text["ratio_stderr"])) for null, text in texts.items()}
    shuffled = interval_of(ratios["window"]) if float(texts["window"]["ratio_stderr"]) < NOISE else "lost in noise"
    words = (
        f"{_setting(data)}, L = {data.length}, V ≤ {HALF_TYPES}, without the single-site term: products at different k ≠ 0 are "
        f"{interval_of(ratios[None])} times as large as at the same; of the bigram surrogate {interval_of(ratios['bigram'])} times, "
        f"shuffled inside windows {shuffled}. Mean cosines, which noise lowers, are "
        f"{means(likeness_of(texts[None], kind='off-site'))} to k = 0."
    )
    return common.regime(ratios[None], words)


_DRAWS = 2000


@measure_figure.claim(
    "f3-order",
    at_least(
        1,
        "Kendall's tau of the cosine within k ≠ 0 and the exchangeable share S",
        where="over any two corpora among text without headings, code and bases of DNA",
    ),
    null=0.0,
    beside=[measure_order],
)
def order_of_corpora(data: xarray.Dataset, scores: xarray.Dataset) -> Finding:
    corpora, absent = scored(data, scores), reasons(data, scores)
    absent.pop(TEXT, None)
    if len(corpora) < 2:
        raise NothingToJudge(lacking(next(iter(absent.values()))))
    values, errors = (np.array([[getattr(one, name) for one in pair] for pair in corpora.values()]) for name in ("value", "stderr"))
    drawn = values + errors * np.random.default_rng(0).normal(size=(_DRAWS, *values.shape))
    low, high = np.quantile([_tau(draw) for draw in drawn], [0.05, 0.95])
    words = "; ".join(f"{name}: cosine {interval_of(cosine)}, S = {interval_of(score)}" for name, (cosine, score) in corpora.items())
    without = f" Not on this machine: {', '.join(absent)}." if absent else ""
    setting = f"L = {data.length}, V = {data.vocab} and the rest{cut(data)}, cosines within k ≠ 0, centred"
    return Finding(_tau(values), regime=f"{setting}. {words}.{without}", interval=(float(low), float(high)))


def _tau(pairs: np.ndarray) -> float:
    return float(np.mean([np.sign(np.prod(one - other)) for one, other in itertools.combinations(pairs, 2)]))


def scored(data: xarray.Dataset, scores: xarray.Dataset) -> dict[str, tuple[Finding, Finding]]:
    """Corpora with their cosine within k ≠ 0 and their score."""
    shares = {corpus: share(point) for (corpus, null), point in points_by(scores, "corpus", "null").items() if null is None}
    return {corpus: (measured(blocks_of(data, corpus), within), one) for corpus, one in shares.items()}


measure_figure.figure()(text_figures.similarity_by_frequency)
measure_figure.figure()(text_figures.likeness_at_every_k)
measure_lengths.figure()(text_figures.eigenvalues_by_frequency)
measure_figure.figure()(text_figures.null_models)
measure_figure.table(measure_lengths)(text_figures.blocks_table)


@measure_figure.table(measure_order)
def tables(data: xarray.Dataset, scores: xarray.Dataset) -> list:
    cells = [[name, interval_of(score), interval_of(cosine)] for name, (cosine, score) in scored(data, scores).items()]
    return text_figures.order_tables(cells, data, scores)
