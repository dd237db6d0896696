"""Third cumulants of WikiText-2: how much of them ignores order, beside pairs of the same text and beside shuffled windows."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.corpus import SurveySettings, plan_survey, take_census
from specht.corpus.stats import Null, Plan, Tables, ThirdMoments, symmetry, third_score, weights
from specht.papers import Finding, at_most, below, both, common, grid, measure, positive
from specht.papers.view_from_infinity.texts import (
    BODY,
    CUT,
    content,
    missing,
    missing_table,
    null_of,
    opened,
    plotted_by_name,
    reasons,
    require,
)
from specht.report import Plot, Table, add_series, error_bars, points_of, table

_BLOCKS = 12
_SHOWN = {None: "WikiText-2", "window": "shuffled inside windows"}


class _WithoutRest(Plan):
    """A plan that counts rare types, but gives them no weight: as one coordinate they would outweigh twenty types."""

    @cached_property
    def weights(self) -> np.ndarray:
        return without_rest(self.probabilities)


def without_rest(probabilities: np.ndarray) -> np.ndarray:
    """The χ² metric on the vocabulary alone."""
    return np.append(weights("chi2", probabilities)[:-1], 0.0)


_WINDOWS = grid(corpus=BODY, length=16, vocab=20, null=[None, "window"], seed=0)
"""A window and a vocabulary whose triples fit into memory."""


@measure(smoke=_WINDOWS * grid(size=CUT), quick=_WINDOWS * grid(size=None), look_up=content)
def measure_third(
    corpus: str, content: str | None, length: int, vocab: int, size: int | None, seed: int, null: Null | None = None
) -> xarray.Dataset:
    """Exchangeable shares of second and third cumulants of the same windows, in the same metric; with `null`, of shuffled text."""
    if content is None:
        return missing(corpus)
    text = opened(corpus, content, size)
    every = range(len(text.parts))
    survey = plan_survey(text, SurveySettings(length=length, lengths=(), vocab=vocab, blocks=_BLOCKS, seed=seed), take_census(text, every))
    p = survey.vocabulary.probabilities
    pairs = Tables(_WithoutRest(p, survey.plan.blocks, length, "chi2", "tables"))
    triples = ThirdMoments(length, len(p), _BLOCKS)
    for segment in survey.segments(every, null):
        pairs.update(segment)
        triples.update(segment)
    second, third = symmetry(pairs, seed=seed).main, third_score(triples, without_rest(p), seed=seed)
    numbers = {
        "third": third.score.value,
        "third_low": third.score.low,
        "third_high": third.score.high,
        "third_stderr": third.score.stderr,
        "defined": float(third.defined and second.defined),
        "second": second.score,
        "second_low": second.low,
        "second_high": second.high,
        "tokens": float(survey.total),
    }
    return xarray.Dataset(numbers)


def _parts(data: xarray.Dataset) -> tuple[xarray.Dataset, xarray.Dataset]:
    """The text, and the text with tokens shuffled inside each window."""
    require(BODY, data)
    texts = {null_of(text): text for text in points_of(data, "null")}
    return texts[None], texts["window"]


def _words(data: xarray.Dataset) -> str:
    text, shuffled = _parts(data)
    cut = "" if data.attrs["size"] is None else f" Of the first {data.attrs['size'] / 1e6:g} MB."
    return (
        f"WikiText-2 without headings, L = {data.length}, V = {data.vocab}, χ² metric without rare words: "
        f"{_interval(text, 'third')} at third order and {_interval(text, 'second')} at second; with tokens shuffled inside "
        f"each window {_interval(shuffled, 'third')} at third order.{cut}"
    )


def _interval(data: xarray.Dataset, name: str) -> str:
    return f"{float(data[name]):.3f} [{float(data[f'{name}_low']):.3f}, {float(data[f'{name}_high']):.3f}]"


@measure_third.claim(
    "e7-third-order",
    both(
        positive("exchangeable share S₃ of third cumulants"),
        at_most(0.05, "distance of S₃ from 1", where="for windows shuffled inside"),
    ),
    null=(0.0, 1.0),
)
def third_order(data: xarray.Dataset) -> tuple[Finding, Finding]:
    (text, shuffled), words = _parts(data), _words(data)
    if not data["defined"].all():
        raise common.unresolved(words)
    interval = float(text["third_low"]), float(text["third_high"])
    control = Finding(abs(float(shuffled["third"]) - 1.0), float(shuffled["third_stderr"]))
    return Finding(float(text["third"]), float(text["third_stderr"]), words, interval), control


@measure_third.claim(
    "e7-less",
    below(0, "upper end of the 95 % interval of S₃ less the lower end of that of S", where="with the same window, vocabulary and metric"),
    null=0.1,
)
def third_below_second(data: xarray.Dataset) -> Finding:
    (text, _), words = _parts(data), _words(data)
    if not float(text["defined"]):
        raise common.unresolved(words)
    shown = float(text["third"] / text["second"]), None
    return Finding(float(text["third_high"]) - float(text["second_low"]), regime=f"{words} Their ratio is shown.", shown=shown)


@measure_third.figure()
def shares_by_order(data: xarray.Dataset) -> Plot:
    require(BODY, data)
    figure, names = go.Figure(), [_SHOWN[null_of(text)] for text in points_of(data, "null")]
    for number, (field, label) in enumerate((("second", "pairs S"), ("third", "triples S₃"))):
        value, low, high = (data[name].values for name in (field, f"{field}_low", f"{field}_high"))
        bars, hover = error_bars(high - value, value - low), f"{label}<br>%{{x}}: %{{y:.3f}}"
        add_series(figure, names, value, label, number, mode="markers", errors=bars, hover=hover, marker_size=8)
    caption = (
        "The share of cumulants of two and of three tokens that permutations of the window leave as they are, with 95 % intervals. "
        "Shuffled windows have all of it, as they must. Of the text's own, triples keep less than pairs."
    )
    return plotted_by_name(figure, "Third order", caption, y="exchangeable share of the cumulants", ends=[0.0, 1.2])


@measure_third.table()
def exchangeable_shares(data: xarray.Dataset) -> list[Table]:
    columns = {
        "text": lambda at: _SHOWN[null_of(at)],
        "tokens": "tokens:,.0f",
        "second order S": lambda at: _interval(at, "second"),
        "third order S₃": lambda at: _interval(at, "third"),
    }
    shares = [] if reasons(data) else [table(data, columns, title="Exchangeable shares by order")]
    return shares + missing_table(data)
