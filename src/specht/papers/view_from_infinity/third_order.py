"""Third cumulants of WikiText-2: how much of them ignores order, beside pairs of the same text and beside null models."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.corpus import SurveySettings, plan_survey, take_census
from specht.corpus.stats import Null, Plan, Tables, ThirdMoments, symmetry, third_score, weights
from specht.papers import Finding, at_most, below, both, common, grid, larger, measure
from specht.papers.view_from_infinity.texts import (
    BODY,
    CHAIN,
    CUT,
    TYPES,
    content,
    interval_of,
    known_types,
    less,
    missing,
    missing_table,
    opened,
    plotted_by_name,
    points_by,
    reasons,
    require,
)
from specht.report import Plot, Table, add_series, error_bars

_BLOCKS = 12
_SHOWN = {None: "WikiText-2", "window": "shuffled inside windows", "bigram": "bigram surrogate"}


class _WithoutRest(Plan):
    """A plan that counts rare types, but gives them no weight: as one coordinate they would outweigh twenty types."""

    @cached_property
    def weights(self) -> np.ndarray:
        return without_rest(self.probabilities)


def without_rest(probabilities: np.ndarray) -> np.ndarray:
    """The χ² metric on the vocabulary alone."""
    return np.append(weights("chi2", probabilities)[:-1], 0.0)


_WINDOWS = grid(corpus=BODY, length=16, vocab=20) * (grid(null=[None, "bigram"], draw=0) + grid(null="window", draw=range(8)))
"""A window and a vocabulary whose triples fit into memory. One shuffle alone would be too noisy for a control."""


@measure(smoke=_WINDOWS * grid(size=CUT), quick=_WINDOWS * grid(size=None), look_up=content)
def measure_third(
    corpus: str, content: str | None, length: int, vocab: int, size: int | None, null: Null | None = None, draw: int = 0
) -> xarray.Dataset:
    """Exchangeable shares of second and third cumulants of the same windows, in the same metric; with `null`, of a null model.

    The bigram surrogate is a chain of more types than are looked at, so that it is the one of the claims on pairs.
    """
    if content is None:
        return missing(corpus)
    text = opened(corpus, content, size)
    every = range(len(text.parts))
    census = take_census(text, every)
    types = known_types(census.counts, TYPES)
    survey = plan_survey(text, SurveySettings(length=length, lengths=(), vocab=types, blocks=_BLOCKS, seed=draw), census)
    narrowed = survey.narrowed(vocab)
    p = np.bincount(narrowed, survey.vocabulary.probabilities)
    pairs = Tables(_WithoutRest(p, survey.plan.blocks, length, "chi2", "tables"))
    triples = ThirdMoments(length, len(p), _BLOCKS)
    for segment in survey.segments(every, null):
        frequent = dataclasses.replace(segment, ids=narrowed[segment.ids])
        pairs.update(frequent)
        triples.update(frequent)
    second, third = symmetry(pairs, seed=draw).main, third_score(triples, without_rest(p), seed=draw)
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


def _texts(data: xarray.Dataset) -> dict[str | None, xarray.Dataset]:
    """The text and its null models, of shuffles the first."""
    require(BODY, data)
    return {null: text for (null, draw), text in points_by(data, "null", "draw").items() if draw == 0}


def _shuffles(data: xarray.Dataset) -> Finding:
    """The mean share of shuffled windows, with an error from their differences."""
    values = [float(text["third"]) for (null, _), text in points_by(data, "null", "draw").items() if null == "window"]
    return common.with_interval(common.mean_of(np.array(values)), len(values))


def _words(data: xarray.Dataset) -> str:
    texts = _texts(data)
    cut = "" if data.attrs["size"] is None else f" Of the first {data.attrs['size'] / 1e6:g} MB."
    return (
        f"WikiText-2 without headings, L = {data.length}, V = {data.vocab}, χ² metric without rare words: "
        f"{_interval(texts[None], 'third')} at third order and {_interval(texts[None], 'second')} at second; of the bigram surrogate "
        f"{_interval(texts['bigram'], 'third')} and {_interval(texts['bigram'], 'second')}; with tokens shuffled inside each window "
        f"{interval_of(_shuffles(data))} at third order.{cut}"
    )


def _interval(data: xarray.Dataset, name: str) -> str:
    return f"{float(data[name]):.3f} [{float(data[f'{name}_low']):.3f}, {float(data[f'{name}_high']):.3f}]"


@measure_third.claim(
    "e7-third-order",
    both(
        larger("exchangeable share S₃ of third cumulants", than=CHAIN),
        at_most(0.05, "distance of S₃ from 1", where="for windows shuffled inside"),
    ),
    null=(0.0, 1.0),
)
def third_order(data: xarray.Dataset) -> tuple[Finding, Finding]:
    texts, words = _texts(data), _words(data)
    if not all(float(one["defined"]) for one in texts.values()):
        raise common.unresolved(words)
    text, surrogate = (Finding(float(texts[null]["third"]), float(texts[null]["third_stderr"])) for null in (None, "bigram"))
    shuffled = _shuffles(data)
    low, high = shuffled.ends
    distance = abs(shuffled.value - 1.0)
    control = Finding(distance, shuffled.stderr, interval=(distance - (high - low) / 2, distance + (high - low) / 2))
    return less(text, surrogate, f"S₃ = {interval_of(text)}, less that of the surrogate is shown. {words}"), control


@measure_third.claim(
    "e7-less",
    below(0, "upper end of the 95 % interval of S₃ less the lower end of that of S", where="with the same window, vocabulary and metric"),
    null=0.1,
)
def third_below_second(data: xarray.Dataset) -> Finding:
    text, words = _texts(data)[None], _words(data)
    if not float(text["defined"]):
        raise common.unresolved(words)
    shown = float(text["third"] / text["second"]), None
    return Finding(float(text["third_high"]) - float(text["second_low"]), regime=f"{words} Their ratio is shown.", shown=shown)


@measure_third.figure()
def shares_by_order(data: xarray.Dataset) -> Plot:
    texts = _texts(data)
    figure, names = go.Figure(), [_SHOWN[null] for null in texts]
    for number, (field, label) in enumerate((("second", "pairs S"), ("third", "triples S₃"))):
        value, low, high = (np.array([float(text[name]) for text in texts.values()]) for name in (field, f"{field}_low", f"{field}_high"))
        bars, hover = error_bars(high - value, value - low), f"{label}<br>%{{x}}: %{{y:.3f}}"
        add_series(figure, names, value, label, number, mode="markers", errors=bars, hover=hover, marker_size=8)
    caption = (
        "The share of cumulants of two and of three tokens that permutations of the window leave as they are, with 95 % intervals. "
        "Shuffled windows have all of it, as they must. Of the text's own, triples keep less than pairs; what its bigram surrogate has is "
        "there for neighbours alone."
    )
    return plotted_by_name(figure, "Third order", caption, y="exchangeable share of the cumulants", ends=[-0.05, 1.2])


@measure_third.table()
def exchangeable_shares(data: xarray.Dataset) -> list[Table]:
    if reasons(data):
        return missing_table(data)
    rows = [
        [_SHOWN[null], f"{float(text['tokens']):,.0f}", _interval(text, "second"), _interval(text, "third")]
        for null, text in _texts(data).items()
    ]
    note = f"With 95 % intervals. The mean of the shuffles is {interval_of(_shuffles(data))} at third order, with its interval of 90 %."
    return [Table(("text", "tokens", "second order S", "third order S₃"), rows, note, "Exchangeable shares by order")]
