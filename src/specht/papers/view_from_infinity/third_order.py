"""Third cumulants of WikiText-2: how much of them ignores order, beside pairs of the same text and beside shuffled windows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.corpus.stats.exchangeability import symmetry
from specht.corpus.stats.metrics import weights
from specht.corpus.stats.moments import Plan, Tables
from specht.corpus.stats.shuffles import Null
from specht.corpus.stats.third import ThirdMoments, third_score
from specht.corpus.survey import Settings, plan_survey, take_census
from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Result, Results, Scale, Verdict, holds_if
from specht.papers.view_from_infinity import sources
from specht.papers.view_from_infinity.texts import (
    BODY,
    CUT,
    content_of,
    finished_names,
    missing,
    missing_table,
    opened,
    with_data,
)
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.third_order"
SETTING = {"length": 16, "vocab": 20}
"""A window and a vocabulary whose triples fit into memory."""
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


def measure_third(
    corpus: str, content: str | None, length: int, vocab: int, size: int | None, seed: int, null: Null | None = None
) -> xarray.Dataset:
    """Exchangeable shares of second and third cumulants of the same windows, in the same metric; with `null`, of shuffled text."""
    if content is None:
        return missing(corpus)
    text = opened(corpus, content, size)
    every = range(len(text.parts))
    survey = plan_survey(text, Settings(length=length, lengths=(), vocab=vocab, blocks=_BLOCKS, seed=seed), take_census(text, every))
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
    return common.record("third", numbers)


def jobs(scale: Scale) -> list[Job]:
    size = common.at_scale(scale, smoke=CUT, quick=None, full=None)
    given: dict[str, Any] = {"corpus": BODY, "content": content_of(BODY), "size": size, "seed": 0, **SETTING}
    return [Job.of(f"{_HERE}:measure_third", null=null, **given) for null in (None, "window")]


def _third(results: Results, null: str | None = None) -> Result:
    return common.chosen(results, "third", null=null)[0]


def _words(results: Results) -> str:
    found, shuffled = _third(results), _third(results, "window")
    cut = "" if found.arguments["size"] is None else f" Of the first {found.arguments['size'] / 1e6:g} MB."
    return (
        f"WikiText-2 without headings, L = {found.arguments['length']}, V = {found.arguments['vocab']}, χ² metric without rare words: "
        f"{_interval(found.data, 'third')} at third order and {_interval(found.data, 'second')} at second; with tokens shuffled inside "
        f"each window {_interval(shuffled.data, 'third')} at third order.{cut}"
    )


def _interval(data: xarray.Dataset, name: str) -> str:
    return f"{float(data[name]):.3f} [{float(data[f'{name}_low']):.3f}, {float(data[f'{name}_high']):.3f}]"


@with_data(BODY)
def judge_third(results: Results) -> Verdict:
    found, shuffled = _third(results), _third(results, "window")
    words = _words(results)
    if not (float(found.data["defined"]) and float(shuffled.data["defined"])):
        return common.unresolved(words)
    control = abs(float(shuffled.data["third"]) - 1.0) <= 3.0 * float(shuffled.data["third_stderr"])
    return holds_if(control and float(found.data["third_low"]) > 0.0, float(found.data["third"]), float(found.data["third_stderr"]), words)


@with_data(BODY)
def judge_less(results: Results) -> Verdict:
    found, words = _third(results), _words(results)
    if not float(found.data["defined"]):
        return common.unresolved(words)
    ratio = float(found.data["third"] / found.data["second"])
    return holds_if(float(found.data["third_high"]) < float(found.data["second_low"]), ratio, regime=f"{words} Their ratio is shown.")


def _add_intervals(
    figure: go.Figure, x: Sequence[str], data: Sequence[xarray.Dataset], fields: tuple[str, str, str], name: str, number: int
) -> None:
    """Values with their intervals, by name."""
    value, low, high = (np.array([float(each[field]) for each in data]) for field in fields)
    figure.add_scatter(
        x=list(x),
        y=value.tolist(),
        name=name,
        mode="markers",
        marker={"color": common.colour(number), "size": 8},
        error_y={"type": "data", "array": (high - value).tolist(), "arrayminus": (value - low).tolist(), "thickness": 1.2, "width": 3},
        hovertemplate=f"{name}<br>%{{x}}: %{{y:.3f}}<extra></extra>",
    )


def plots(results: Results) -> list[Plot]:
    found = common.chosen(results, "third")
    if not found:
        return []
    figure = go.Figure()
    names = [_SHOWN[null] for null in common.arguments(found, "null")]
    for number, (field, name) in enumerate((("second", "pairs S"), ("third", "triples S₃"))):
        _add_intervals(figure, names, [each.data for each in found], (field, f"{field}_low", f"{field}_high"), name, number)
    finished_names(figure, y="exchangeable share of the cumulants").update_yaxes(range=[0.0, 1.2])
    caption = (
        "The share of cumulants of two and of three tokens that permutations of the window leave as they are, with 95 % intervals. "
        "Shuffled windows have all of it, as they must. Of the text's own, triples keep less than pairs."
    )
    return [Plot(figure, "Third order", caption, wide=True)]


def tables(results: Results) -> list[Table]:
    rows = [
        [_SHOWN[each.arguments["null"]], f"{int(each.data['tokens']):,}", _interval(each.data, "second"), _interval(each.data, "third")]
        for each in common.chosen(results, "third")
    ]
    header = ("text", "tokens", "second order S", "third order S₃")
    return ([Table(header, rows, title="Exchangeable shares by order")] if rows else []) + missing_table(results)


EXPERIMENT = Experiment(
    name="infinity.e7",
    title="Higher-order correlations",
    shown="Summary: an open question, correlations of text beyond the first order.",
    claims=(
        Claim(
            "infinity.e7-third-order",
            "Third-order correlations of text are permutation symmetric to a degree.",
            f"{sources.SUMMARY}, open question",
            "95 % interval of the exchangeable share S₃ of third cumulants above 0, and S₃ = 1 within three standard errors for windows "
            "shuffled inside",
            judge_third,
        ),
        Claim(
            "infinity.e7-less",
            "Third-order correlations of text are less permutation symmetric than those of second order.",
            sources.OURS,
            "95 % interval of S₃ below that of S, with the same window, vocabulary and metric",
            judge_less,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Third cumulants of distinct positions are averaged over all triples of positions and over the orders of the tokens; the score "
            "is the share of that average.",
            ("T_{abc} = E[(x_a − p)(x_b − p)(x_c − p)]", "S₃ = |mean Sym T_{abc}|^2 / mean |T_{abc}|^2"),
        ),
        Step("Squares are products of different ones among 12 blocks of the text. Rare words have weight 0, others 1 over the root of p."),
    ),
)
