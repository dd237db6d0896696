"""Text and other corpora: which of them this machine has, and how much of their correlations ignores order.

Nothing is ever downloaded. Jobs name the content of a corpus by its checksum, None where this machine does not have it, so that a result
is used again for the same text only, and one that says that a text is missing only as long as it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator

import plotly.graph_objects as go
import xarray

from specht.corpus.measuring import count_all, scores
from specht.corpus.read.corpora import Corpus
from specht.corpus.read.named import DATA, NAMED, locate, named_parts
from specht.corpus.read.parts import Part, fingerprint
from specht.corpus.read.vocabulary import UNKNOWN, TypeCounts
from specht.corpus.survey import Settings, plan_survey, take_census
from specht.errors import InputError
from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Result, Results, Scale, Verdict, lacking
from specht.papers.view_from_infinity import sources
from specht.report.html import Table

_HERE = f"{sources.PACKAGE}.texts"
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


def _first(parts: Iterable[Part], size: int) -> Iterator[Part]:
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
    """What a job returns that lacks its corpus: what to do about it."""
    try:
        locate(name)
    except InputError as error:
        reason = _what_to_do(name) if "is not on this machine" in str(error) else str(error)
        return common.record("missing", {}, {"reason": reason})
    raise InputError(f"The corpus {name} came to this machine after the run had begun: run it again.")


def _what_to_do(name: str) -> str:
    place = f"put it at {NAMED[name].path} below the folder that the environment variable {DATA} names"
    fetch = f"run `specht symmetry {name} --download` once, or " if NAMED[name].url else ""
    return f"The corpus {name} is not on this machine: {fetch}{place}."


def with_data(*names: str) -> Callable[[Callable[[Results], Verdict]], Callable[[Results], Verdict]]:
    """A judge that is asked only where these corpora are at hand."""

    def decorate(judge: Callable[[Results], Verdict]) -> Callable[[Results], Verdict]:
        def judged(results: Results) -> Verdict:
            found = [result for name in names for result in common.chosen(results, "missing", corpus=name)]
            return lacking(reason_of(found[0])) if found else judge(results)

        return judged

    return decorate


def reason_of(result: Result) -> str:
    """Why a corpus is missing."""
    return str(result.data["reason"].item())


def missing_table(results: Results) -> list[Table]:
    """What this machine lacks."""
    rows = {result.arguments["corpus"]: [result.arguments["corpus"], reason_of(result)] for result in common.chosen(results, "missing")}
    return [Table(("corpus", "what to do"), list(rows.values()), title="Missing data")] if rows else []


def known_types(counts: TypeCounts, vocab: int) -> int:
    """The size of a vocabulary, where there are so many types."""
    return min(vocab, sum(each != UNKNOWN for each in counts.counts))


def measure_score(corpus: str, content: str | None, length: int, vocab: int, size: int | None, seed: int) -> xarray.Dataset:
    """The exchangeability score of a corpus, with its interval and what is not exchangeable."""
    if content is None:
        return missing(corpus)
    text = opened(corpus, content, size)
    census = take_census(text, range(len(text.parts)))
    types = known_types(census.counts, vocab)
    survey = plan_survey(text, Settings(length=length, lengths=(), vocab=types, seed=seed), census)
    found = scores(count_all(survey)).main
    numbers = {name: float(getattr(found, name)) for name in ("score", "low", "high", "distance", "direction", "rms", "defined")}
    return common.record("score", numbers | {"tokens": float(survey.total), "types": float(types)})


def score_job(scale: Scale, name: str) -> Job:
    """The job that scores a corpus, the same for all experiments."""
    given = common.at_scale(
        scale, smoke={"vocab": 100, "size": CUT}, quick={"vocab": TYPES, "size": None}, full={"vocab": TYPES, "size": None}
    )
    return Job.of(f"{_HERE}:measure_score", corpus=name, content=content_of(name), length=WINDOW, seed=0, **given)


def stderr_of(result: Result, low: str = "low", high: str = "high") -> float:
    """A quarter of a 95 % interval."""
    return float(result.data[high] - result.data[low]) / 4.0


def where(result: Result) -> str:
    """The setting of a score."""
    cut = "" if result.arguments["size"] is None else f", the first {result.arguments['size'] / 1e6:g} MB"
    return f"L = {result.arguments['length']}, V = {result.arguments['vocab']} or all there are{cut}, χ² metric with a floor"


def finished_names(figure: go.Figure, *, y: str, x: str = "") -> go.Figure:
    """The figure with names along its horizontal axis."""
    common.finished(figure, x=x, y=y, linear_y=True)
    figure.update_xaxes(type="category", dtick=None, tickangle=0, automargin=True)
    return figure
