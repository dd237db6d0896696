"""Text and other corpora: which of them this machine has, and how much of their correlations ignores order.

Nothing is ever downloaded. Jobs name the content of a corpus by its checksum, None where this machine does not have it, so that a result
is used again for the same text only, and one that says that a text is missing only as long as it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import xarray

from specht.corpus import SurveySettings, count_all, plan_survey, scores, take_census
from specht.corpus.read import DATA, NAMED, UNKNOWN, Corpus, FilePart, TypeCounts, fingerprint, locate, named_parts
from specht.errors import InputError
from specht.papers import Finding, Measurement, NothingToJudge, common, every, grid, lacking, measure, positive
from specht.report import Plot, Table, add_series, error_bars, points_of, table

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


def measure_score(corpus: str, content: str | None, length: int, vocab: int, size: int | None, seed: int) -> xarray.Dataset:
    """The exchangeability score of a corpus, with its interval and what is not exchangeable."""
    if content is None:
        return missing(corpus)
    text = opened(corpus, content, size)
    census = take_census(text, range(len(text.parts)))
    types = known_types(census.counts, vocab)
    survey = plan_survey(text, SurveySettings(length=length, lengths=(), vocab=types, seed=seed), census)
    main = scores(count_all(survey)).main
    numbers = {name: float(getattr(main, name)) for name in ("score", "low", "high", "distance", "direction", "rms", "defined")}
    return xarray.Dataset(numbers | {"tokens": float(survey.total), "types": float(types)})


def content(point: Mapping[str, Any]) -> dict[str, str | None]:
    """What a job has to know of its corpus."""
    return {"content": content_of(point["corpus"])}


def measure_scores(smoke: Sequence[str], quick: Sequence[str], full: Sequence[str]) -> Measurement:
    """The scores of corpora, whose jobs are the same for all experiments."""
    shared = grid(length=WINDOW, seed=0)
    smallest = shared * grid(corpus=list(smoke), vocab=100, size=CUT)
    small, large = (shared * grid(corpus=list(names), vocab=TYPES, size=None) for names in (quick, full))
    return measure(smoke=smallest, quick=small, full=large, look_up=content)(measure_score)


def stderr_of(low: xarray.DataArray, high: xarray.DataArray) -> float:
    """A quarter of a 95 % interval."""
    return float(high - low) / 4.0


def cut(data: xarray.Dataset) -> str:
    """Which part of a corpus was read, if not all of it."""
    return "" if data.attrs["size"] is None else f", the first {data.attrs['size'] / 1e6:g} MB"


def where(data: xarray.Dataset) -> str:
    """The setting of scores."""
    return f"L = {data.length}, V = {data.vocab} or all there are{cut(data)}, χ² metric with a floor"


def plotted_by_name(figure: go.Figure, title: str, caption: str, *, y: str, ends: Sequence[float], x: str = "") -> Plot:
    """A figure with names along its horizontal axis, and the ends of the vertical one."""
    plot = common.plotted(figure, title, caption, x=x, y=y, linear="y")
    figure.update_xaxes(type="category", dtick=None, tickangle=0, automargin=True)
    figure.update_yaxes(range=ends)
    return plot


def null_of(text: xarray.Dataset) -> str | None:
    """How a text was shuffled, None if it was not."""
    null = text.null.item()  # a coordinate of text holds NaN in place of None
    return null if isinstance(null, str) else None


FEW = (CODE, BODY, "moby-dick", "kalevala", "hongloumeng", GENOME, "ecoli-proteins")
"""Corpora of every kind, for the quick scale."""
measure_corpora = measure_scores(smoke=(CODE,), quick=FEW, full=tuple(NAMED))


def _by_score(data: xarray.Dataset) -> xarray.Dataset:
    """The corpora that this machine has, those with small scores first."""
    return data.dropna("corpus", how="all").sortby("score")


@measure_corpora.claim(
    "e5-corpora",
    every(positive("exchangeable share S of the correlations"), "for each corpus"),
    null=0.0,
)
def scores_of_corpora(data: xarray.Dataset) -> list[Finding]:
    corpora, absent = _by_score(data), reasons(data)
    number = corpora.sizes["corpus"]
    words = f"Windows of {where(data)}; {number} {'corpora' if number > 1 else 'corpus'}."
    if not corpora["defined"].all():
        raise common.unresolved(words)
    least = corpora.isel(corpus=0)
    words += f" The smallest score is shown, that of {least.corpus.item()}."
    words += f" Not on this machine: {', '.join(absent)}." if absent else ""
    shown = float(least["score"]), stderr_of(least["low"], least["high"])
    intervals = [(float(at["low"]), float(at["high"])) for at in points_of(corpora, "corpus")]
    return [Finding(*shown, words, interval) for interval in intervals]


@measure_corpora.figure()
def symmetry_of_corpora(data: xarray.Dataset) -> Plot:
    corpora = _by_score(data)
    value, low, high = (corpora[name].values for name in ("score", "low", "high"))
    figure, names, places = go.Figure(), corpora.corpus.values.tolist(), list(range(len(value)))
    bars = error_bars(high - value, value - low)
    add_series(figure, value, places, "", 0, mode="markers", hover="%{text}: %{x:.3f}", text=names, error_x=bars, marker_size=8)
    caption = (
        "The share of the correlations between positions that any permutation of them leaves as they are, with 95 % intervals. 1 would be "
        "full permutation symmetry. No corpus is near it, and none is at 0."
    )
    plot = common.plotted(figure, "Symmetry of corpora", caption, x="exchangeable share of the correlations S", y="", linear="xy")
    figure.update_layout(height=120 + 24 * len(names), showlegend=False)
    figure.update_xaxes(range=[min(0.0, float(low.min())), 1.05 * float(high.max())])
    figure.update_yaxes(tickvals=places, ticktext=names, automargin=True, range=[-0.7, len(names) - 0.3])
    return plot


@measure_corpora.table()
def corpora_by_score(data: xarray.Dataset) -> list[Table]:
    columns = {
        "corpus": "corpus",
        "tokens": "tokens:,.0f",
        "types": "types:.0f",
        "S": "score:.3f",
        "95 % interval": lambda at: f"{float(at['low']):.3f} to {float(at['high']):.3f}",
        "distance": "distance:.3f",
        "direction": "direction:.3f",
        "rms correlation": "rms:.4f",
    }
    note = (
        "Distance: the share that depends on how far apart two tokens are. Direction: the share that depends on which comes first. The "
        "three add up to 1. The last column is the root mean square correlation of two positions over the covariance of one."
    )
    return [
        table(_by_score(data).isel(corpus=slice(None, None, -1)), columns, note=note, title="Symmetry of corpora"),
        *missing_table(data),
    ]
