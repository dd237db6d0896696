"""The figure on WikiText-2: its correlations by frequency of the position, beside shuffled text and beside other corpora."""

from __future__ import annotations

import itertools

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.corpus import KINDS
from specht.corpus.stats import NULLS, Kind, Likeness
from specht.papers import Finding, Grid, NothingToJudge, above, at_least, below, both, common, grid, lacking, larger, measure, positive
from specht.papers.view_from_infinity.text_blocks import HALF_TYPES, measure_blocks
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
    null_of,
    plotted_by_name,
    reasons,
    require,
    stderr_of,
    where,
)
from specht.report import Plot, Table, add_line, add_series, image, points_of, table

ALIKE, APART, MARGIN = 0.95, 0.9, 0.08
"""Cosines above the first are alike, cosines below the second are not, and two of them differ by more than the third."""
_NAMES = {None: "WikiText-2", "window": "window shuffle", "article": "article shuffle", "global": "global shuffle"}
_SHUFFLED = {None: "none", "window": "in windows", "article": "in articles", "global": "all"}
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


def measured(data: xarray.Dataset) -> list[xarray.Dataset]:
    """The blocks of every text that this machine has, those with `<unk>` among rare words last."""
    return sorted(points_of(data, "corpus", "null", "unknown", "spectra"), key=lambda text: not text.unknown.item())


def blocks_of(data: xarray.Dataset, corpus: str = TEXT, null: str | None = None, unknown: bool = True) -> xarray.Dataset:
    """The blocks of a corpus, or of a shuffled one."""
    require(corpus, data)
    chosen = (corpus, null, unknown)
    return next(text for text in measured(data) if (text.corpus.item(), null_of(text), text.unknown.item()) == chosen)


def cosines_of(blocks: xarray.Dataset, kind: Kind = "centred") -> Likeness:
    """How alike blocks are by their cosines."""
    return Likeness(blocks["cosine"].sel(kind=kind).values)


def likeness_of(blocks: xarray.Dataset, name: str) -> Likeness:
    """How alike blocks are by their eigenvalues or principal subspaces."""
    return Likeness(blocks[name].values)


def means(cosines: Likeness) -> str:
    """Means within k ≠ 0 and to k = 0, as words."""
    return f"{cosines.within.mean:.3f} and {cosines.across.mean:.3f}".replace("-", "−")


def scored(data: xarray.Dataset, scores: xarray.Dataset) -> list[tuple[str, float, float]]:
    """Corpora with their score and their cosine within k ≠ 0."""
    present = scores["score"].dropna("corpus") if "score" in scores else []
    return [(at.corpus.item(), float(at), cosines_of(blocks_of(data, at.corpus.item())).within.mean) for at in present]


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


@measure_figure.figure()
def similarity_by_frequency(data: xarray.Dataset) -> Plot:
    cosines = blocks_of(data)["cosine"].sel(kind="centred").values
    least, bar = float(np.quantile(cosines, 0.02)), {"xpad": 8, "ypad": 0}
    figure = image(cosines.round(4), hover="k = %{y} and %{x}<br>cosine %{z:.3f}", zmin=least, zmax=1.0, colorbar=bar)
    caption = (
        "Cosines of the centred blocks C(k) of WikiText-2. Blocks at most k ≠ 0 are alike, and k = 0 stands apart from them, as the poster "
        "shows. So does k = 1, though, and in part k = 2."
    )
    plot = common.plotted(figure, "Similarity by frequency", caption, x="frequency k", y="frequency k", linear="xy", wide=False)
    figure.update_layout(showlegend=False)
    figure.update_xaxes(showgrid=False, constrain="domain")
    figure.update_yaxes(autorange="reversed", showgrid=False, scaleanchor="x", constrain="domain")
    return plot


@measure_figure.figure()
def eigenvalues_by_frequency(data: xarray.Dataset) -> Plot:
    figure, values = go.Figure(), np.sort(blocks_of(data)["eigenvalue"].values, axis=1)[:, 1:]  # the smallest is zero
    shares = np.arange(2, values.shape[1] + 2) / (values.shape[1] + 1)
    for k in (1, 2, 4, 8, 16, 32):
        add_line(figure, values[k], shares, "k = 1, 2, 4, 8, 16, 32", 0, legend=k == 1)
    add_line(figure, values[0], shares, "k = 0", 1, dash="dash")
    caption = (
        "Distribution functions of the eigenvalues of the centred blocks. Those at k ≠ 0 nearly lie on each other. At k = 0 a few large "
        "eigenvalues take more of the trace, so that the others are smaller."
    )
    x, y = "eigenvalue of C(k) / trace", "share of the eigenvalues below"
    plot = common.plotted(figure, "Eigenvalues by frequency", caption, x=x, y=y, linear="y", wide=False)
    figure.update_xaxes(exponentformat="power")
    return plot


@measure_figure.figure()
def text_and_shuffled_text(data: xarray.Dataset) -> Plot:
    figure, hover = go.Figure(), "%{x}<br>%{y:.3f}"
    texts = {name: blocks_of(data, null=null) for null, name in _SHUFFLED.items()}
    for number, kind in enumerate(KINDS):
        for part, symbol in (("within", "circle"), ("across", "diamond-open")):
            name = f"{kind}, {'within k ≠ 0' if part == 'within' else 'to k = 0'}"
            cosines = [getattr(cosines_of(text, kind), part).mean for text in texts.values()]
            add_series(figure, texts, cosines, name, number, mode="markers", hover=hover, marker_size=9, marker_symbol=symbol)
    halves = {name: float(text["ratio"]) for name, text in texts.items() if text["ratio"].notnull()}
    bars = {"marker_size": 14, "marker_symbol": "line-ew-open", "marker_line_width": 3}
    add_series(figure, halves, halves.values(), "off-site, from two halves", len(KINDS), mode="markers", hover=hover, **bars)
    caption = (
        "What the likeness is made of. Tokens in random order give the picture of the poster where they are not centred (raw). Without "
        "the single-site term (off-site), which all blocks share, those of the text are not alike. Within k ≠ 0 raw and "
        "centred coincide. Off-site blocks of shuffled text are mostly noise; from two halves, which share none, those of windows shuffled "
        "inside are alike, as they must be."
    )
    x = "shuffled tokens of WikiText-2"
    return plotted_by_name(figure, "Text and shuffled text", caption, x=x, y="mean cosine", ends=[-0.6, 1.2])


@measure_figure.table(measure_order)
def tables(data: xarray.Dataset, scores: xarray.Dataset) -> list[Table]:
    header = ("text", "raw", "centred", "off-site", "eigenvalues", "subspaces", "|Im C|")
    rows = []
    for text in measured(data):
        name = _NAMES[null_of(text)] if text.corpus.item() == TEXT else text.corpus.item()
        cells = [means(cosines_of(text, kind)) for kind in KINDS]
        cells += [means(likeness_of(text, spectrum)) if text.spectra else "" for spectrum in ("kolmogorov", "overlap")]
        label = name if text.unknown else "<unk> in the rest"
        cells = [cell.replace(" and ", " / ") for cell in cells]
        rows.append([label, *cells, f"{float(text['imaginary'].sel(kind='centred')):.2f}"])
    note = (
        "Means within k ≠ 0 / between k = 0 and the others: of cosines (three columns), of Kolmogorov's distance of the centred "
        "eigenvalues, and of the overlap of their ten principal directions. The last column is the largest |Im C(k)| over |Re C(k)|, "
        "centred; under permutation symmetry blocks are real."
    )
    cells = [[name, f"{score:.3f}", f"{cosine:.3f}"] for name, score, cosine in scored(data, scores)]
    return [
        *([Table(header, rows, note, "Blocks C(k)")] if rows else []),
        Table(("corpus", "exchangeable share S", "cosine within k ≠ 0"), cells, title="Cosine and score of corpora"),
        *missing_table(data, scores),
    ]


@measure_body.claim(
    "q8-wikitext",
    both(positive("exchangeable share S of the correlations"), SIMILAR, COLLAPSED),
    null=(0.0, (0.0, 0.9), 0.0),
    beside=[measure_text],
)
def degree_of_symmetry(score: xarray.Dataset, text: xarray.Dataset) -> tuple[Finding, tuple[Finding, float], Finding]:
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
        raise common.unresolved(words)
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
