"""Text and other corpora: which of them this machine has, and how much of their correlations ignores order.

A text is one sample of a language, and its pieces are what is random about it: errors come from leaving pieces out or drawing them anew.
Shuffles and chains are drawn by `draw`, which stays as it is from run to run. With a `seed` in its place, several runs would take the
differences between shuffles of one text for all the error there is.

Nothing is ever downloaded. Jobs name the content of a corpus by its checksum, None where this machine does not have it, so that a result
is used again for the same text only, and one that says that a text is missing only as long as it is.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.corpus import Statistics, SurveySettings, count_all, plan_survey, scores, take_census
from specht.corpus.read import DATA, NAMED, UNKNOWN, Corpus, FilePart, TypeCounts, fingerprint, locate, named_parts
from specht.corpus.stats import Metric, Null
from specht.errors import InputError
from specht.papers import Finding, Measurement, NothingToJudge, common, every, grid, lacking, larger, measure
from specht.report import Plot, Table, add_series, error_bars, points_of

TEXT, BODY, CODE, GENOME = "wikitext-2", "wikitext-2-body", "stdlib", "ecoli-genome"
"""With headings and line ends, without them; what every machine has; and what is no text."""
WINDOW, TYPES = 64, 500
CUT = 2_000_000
"""Bytes of a corpus that are read at smoke scale."""


def content_of(name: str) -> str | None:
    """The checksum of a corpus, None if it is not on this machine."""
    if NAMED[name].path is None:
        return fingerprint(named_parts(name)[0])
    try:
        locate(name)
    except InputError:
        return None
    return NAMED[name].sha256


def opened(name: str, content: str, size: int | None = None) -> Corpus:
    """The corpus, or its lines within the first `size` bytes."""
    parts, reading = named_parts(name)
    if fingerprint(parts) != content:
        raise InputError(f"The corpus {name} has another content here than where the run began: use the same files, and the same Python.")
    return Corpus(name, tuple(parts if size is None else _first(parts, size)), reading)


def _first(parts: Iterable[FilePart], size: int) -> Iterator[FilePart]:
    for part in parts:
        with open(part.path, "rb") as stream:
            stream.seek(part.start)
            content = stream.read(size if part.stop is None else min(size, part.stop - part.start))
        size -= len(content)
        if size > 0:
            yield part
            continue
        yield dataclasses.replace(part, stop=part.start + content.rfind(b"\n") + 1)
        return


def missing(name: str) -> xarray.Dataset:
    """What a job returns that lacks its corpus: what to do about it. The other corpora of an experiment are judged without it."""
    try:
        locate(name)
    except InputError as error:
        return xarray.Dataset(coords={"reason": _what_to_do(name) if "is not on this machine" in str(error) else str(error)})
    raise InputError(f"The corpus {name} came to this machine after the run had begun: run it again.")


def _what_to_do(name: str) -> str:
    place = f"put it at {NAMED[name].path} below the folder that the environment variable {DATA} names"
    fetch = f"run `specht symmetry {name} --download` once, or " if NAMED[name].url else ""
    return f"The corpus {name} is not on this machine: {fetch}{place}."


def reasons(*datasets: xarray.Dataset) -> dict[str, str]:
    """Why corpora are missing, by their names."""
    absent = {}
    for data in datasets:
        if "reason" in data.coords:
            names, texts = xarray.broadcast(xarray.DataArray(data.corpus), data["reason"])
            absent |= {name: reason for name, reason in zip(names.values.flat, texts.values.flat, strict=True) if reason}
    return absent


def require(name: str, *datasets: xarray.Dataset) -> None:
    """Judge nothing where a corpus is missing."""
    absent = reasons(*datasets)
    if name in absent:
        raise NothingToJudge(lacking(absent[name]))


def missing_table(*datasets: xarray.Dataset) -> list[Table]:
    """What this machine lacks."""
    rows = [[name, reason] for name, reason in reasons(*datasets).items()]
    return [Table(("corpus", "what to do"), rows, title="Missing data")] if rows else []


def known_types(counts: TypeCounts, vocab: int) -> int:
    """The size of a vocabulary, where there are so many types."""
    return min(vocab, sum(kind != UNKNOWN for kind in counts.counts))


def measure_score(
    corpus: str,
    content: str | None,
    length: int,
    vocab: int,
    size: int | None,
    null: Null | None = None,
    metric: Metric = "chi2-floor",
    draw: int = 0,
) -> xarray.Dataset:
    """The exchangeability score of a corpus, or of a null model, with its interval and what is not exchangeable.

    Arguments:
        draw: which random numbers the null model, sketches and intervals take.
    """
    if content is None:
        return missing(corpus)
    text = opened(corpus, content, size)
    census = take_census(text, range(len(text.parts)))
    types = known_types(census.counts, vocab)
    survey = plan_survey(text, SurveySettings(length=length, lengths=(), vocab=types, metric=metric, seed=draw), census)
    main = scores(Statistics(survey, null) if survey.how == "exact" else count_all(survey, null)).main
    numbers = {name: float(getattr(main, name)) for name in ("score", "low", "high", "distance", "direction", "rms", "defined")}
    return xarray.Dataset(numbers | {"tokens": float(survey.total), "types": float(types)})


def content(point: Mapping[str, Any]) -> dict[str, str | None]:
    """What a job has to know of its corpus."""
    return {"content": content_of(point["corpus"])}


def measure_scores(
    smoke: Sequence[str],
    quick: Sequence[str],
    full: Sequence[str],
    nulls: Sequence[Null | None] = (None, "bigram"),
    metrics: Sequence[Metric] = ("chi2-floor",),
) -> Measurement:
    """The scores of corpora and of their bigram surrogates, whose jobs are the same for all experiments."""
    shared = grid(length=WINDOW, draw=0, null=nulls, metric=metrics)
    smallest = shared * grid(corpus=list(smoke), vocab=100, size=CUT)
    small, large = (shared * grid(corpus=list(names), vocab=TYPES, size=None) for names in (quick, full))
    return measure(smoke=smallest, quick=small, full=large, look_up=content)(measure_score)


def points_by(data: xarray.Dataset, *names: str) -> dict[tuple[Any, ...], xarray.Dataset]:
    """What was measured, by arguments that may vary or not."""
    points = points_of(data, *(name for name in names if name in data.dims))
    return {tuple(argument(point, name) for name in names): point for point in points}


def argument(point: xarray.Dataset, name: str) -> Any:
    """An argument of one point, whether others have another one or not."""
    value = point[name].item() if name in point.coords else point.attrs[name]
    return None if isinstance(value, float) else value  # a coordinate of text holds NaN in place of None


def scores_of(data: xarray.Dataset) -> dict[tuple[Any, ...], xarray.Dataset]:
    """What was found, by corpus, null model and metric."""
    return points_by(data, "corpus", "null", "metric")


def share(score: xarray.Dataset) -> Finding:
    """S with its standard error, a quarter of its interval of 95 %."""
    return Finding(float(score["score"]), float(score["high"] - score["low"]) / 4.0)


def above_surrogate(data: xarray.Dataset, corpus: str, metric: str = "chi2-floor") -> Finding:
    """By how much the score of a corpus exceeds that of its bigram surrogate."""
    found = scores_of(data)
    text, chain = (found[corpus, null, metric] for null in (None, "bigram"))
    one, other = share(text), share(chain)
    words = f"S = {interval_of(one)} of {corpus} and {interval_of(other)} of its bigram surrogate; {where(data, metric)}."
    if not (float(text["defined"]) and float(chain["defined"])):
        raise common.unresolved(words)
    return less(one, other, f"{words} Their difference is shown.")


def less(one: Finding, other: Finding, regime: str = "") -> Finding:
    """The difference of two independent numbers."""
    return Finding(one.value - other.value, math.hypot(one.stderr or 0.0, other.stderr or 0.0), regime)


def interval_of(finding: Finding) -> str:
    """A number with its interval of 90 %, as words."""
    low, high = finding.ends
    return f"{finding.value:.3f} [{low:.3f}, {high:.3f}]".replace("-", "−")


def cut(data: xarray.Dataset) -> str:
    """Which part of a corpus was read, if not all of it."""
    return "" if data.attrs["size"] is None else f", the first {data.attrs['size'] / 1e6:g} MB"


METRICS = {"chi2-floor": "χ² metric with a floor", "plain": "plain metric"}


def where(data: xarray.Dataset, metric: str = "chi2-floor") -> str:
    """The setting of scores."""
    return f"L = {data.length}, V = {data.vocab} or all there are{cut(data)}, {METRICS[metric]}"


def plotted_by_name(figure: go.Figure, title: str, caption: str, *, y: str, ends: Sequence[float], x: str = "") -> Plot:
    """A figure with names along its horizontal axis, and the ends of the vertical one."""
    plot = common.plotted(figure, title, caption, x=x, y=y, linear="y")
    figure.update_xaxes(type="category", dtick=None, tickangle=0, automargin=True)
    figure.update_yaxes(range=ends)
    return plot


FEW = (CODE, BODY, "moby-dick", "kalevala", "hongloumeng", GENOME, "ecoli-proteins")
"""Corpora of every kind, for the quick scale."""
measure_corpora = measure_scores(smoke=(CODE,), quick=FEW, full=tuple(NAMED))


CHAIN = "that of the bigram surrogate"
MORE = larger("exchangeable share S of the correlations", than=CHAIN)


def _by_score(data: xarray.Dataset) -> list[tuple[xarray.Dataset, xarray.Dataset]]:
    """The corpora that this machine has and their surrogates, those with small scores first."""
    found = points_by(data, "corpus", "null")
    pairs = [(text, found[corpus, "bigram"]) for (corpus, null), text in found.items() if null is None]
    return sorted(pairs, key=lambda pair: float(pair[0]["score"]))


@measure_corpora.claim("e5-corpora", every(MORE, "for each corpus"), null=0.0)
def scores_of_corpora(data: xarray.Dataset) -> dict[str, Finding]:
    absent = reasons(data)
    without = f" Not on this machine: {', '.join(absent)}." if absent else ""
    corpora = [corpus for corpus, null in points_by(data, "corpus", "null") if null is None]
    findings = {corpus: above_surrogate(data, corpus) for corpus in corpora}
    number = f" {len(findings)} corpora, of which the difference is smallest here." if len(findings) > 1 else ""
    return {name: dataclasses.replace(one, regime=f"{one.regime}{number}{without}") for name, one in findings.items()}


@measure_corpora.figure()
def symmetry_of_corpora(data: xarray.Dataset) -> Plot:
    pairs = _by_score(data)
    figure, names, places = go.Figure(), [argument(text, "corpus") for text, _ in pairs], list(range(len(pairs)))
    ends: list[float] = [0.0]
    for number, (label, points) in enumerate(zip(("corpus", "its bigram surrogate"), zip(*pairs, strict=True), strict=False)):
        value, low, high = (np.array([float(point[name]) for point in points]) for name in ("score", "low", "high"))
        bars, symbol = error_bars(high - value, value - low), "circle-open" if number else "circle"
        hover = f"%{{text}}, {label}: %{{x:.3f}}"
        add_series(
            figure, value, places, label, number, mode="markers", hover=hover, text=names, error_x=bars, marker_size=8, marker_symbol=symbol
        )
        ends += [float(low.min()), 1.05 * float(high.max())]
    caption = (
        "The share of the correlations between positions that any permutation of them leaves as they are, with 95 % intervals, of corpora "
        "and of chains that have the same pairs of neighbours and no other order. 1 would be full permutation symmetry."
    )
    plot = common.plotted(figure, "Symmetry of corpora", caption, x="exchangeable share of the correlations S", y="", linear="xy")
    figure.update_layout(height=160 + 26 * len(names))
    figure.update_xaxes(range=[min(ends), max(ends)], tickvals=None, ticktext=None, tickmode="auto")
    figure.update_yaxes(tickvals=places, ticktext=names, automargin=True, range=[-0.7, len(names) - 0.3])
    return plot


def ends_of(at: xarray.Dataset) -> str:
    """The interval of a score in a table."""
    return f"{float(at['low']):.3f} to {float(at['high']):.3f}"


@measure_corpora.table()
def corpora_by_score(data: xarray.Dataset) -> list[Table]:
    header = (
        "corpus",
        "tokens",
        "types",
        "S",
        "95 % interval",
        "S of the surrogate",
        "95 % interval",
        "distance",
        "direction",
        "rms",
        "rms of the surrogate",
    )
    rows = [
        [
            argument(text, "corpus"),
            f"{float(text['tokens']):,.0f}",
            f"{float(text['types']):.0f}",
            f"{float(text['score']):.3f}",
            ends_of(text),
            f"{float(chain['score']):.3f}",
            ends_of(chain),
            *(f"{float(text[name]):.3f}" for name in ("distance", "direction")),
            *(f"{float(point['rms']):.4f}" for point in (text, chain)),
        ]
        for text, chain in reversed(_by_score(data))
    ]
    note = (
        "Distance: the share that depends on how far apart two tokens are. Direction: the share that depends on which comes first. The "
        "three add up to 1. The last columns are the root mean square correlation of two positions over the covariance of one."
    )
    return [*([Table(header, rows, note, "Symmetry of corpora")] if rows else []), *missing_table(data)]
