"""The exchangeable share of the correlations of one corpus after the other."""

from __future__ import annotations

import plotly.graph_objects as go

from specht.corpus.read.named import NAMED
from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.view_from_infinity import sources
from specht.papers.view_from_infinity.texts import (
    BODY,
    CODE,
    GENOME,
    missing_table,
    score_job,
    stderr_of,
    where,
)
from specht.report.figures import Plot
from specht.report.html import Step, Table

FEW = (CODE, BODY, "moby-dick", "kalevala", "hongloumeng", GENOME, "ecoli-proteins")
"""Corpora of every kind, for the quick scale."""


def jobs(scale: Scale) -> list[Job]:
    return [score_job(scale, name) for name in common.at_scale(scale, smoke=(CODE,), quick=FEW, full=tuple(NAMED))]


def judge_corpora(results: Results) -> Verdict:
    found = common.chosen(results, "score")
    words = f"Windows of {where(found[0])}; {len(found)} {'corpora' if len(found) > 1 else 'corpus'}."
    if not all(float(each.data["defined"]) for each in found):
        return common.unresolved(words)
    least = min(found, key=lambda each: float(each.data["score"]))
    absent = common.arguments(common.chosen(results, "missing"), "corpus")
    words += f" The smallest score is shown, that of {least.arguments['corpus']}."
    words += f" Not on this machine: {', '.join(absent)}." if absent else ""
    return holds_if(bool((common.column(found, "low") > 0.0).all()), float(least.data["score"]), stderr_of(least), words)


def plots(results: Results) -> list[Plot]:
    found = sorted(common.chosen(results, "score"), key=lambda each: float(each.data["score"]))
    value, low, high = (common.column(found, name) for name in ("score", "low", "high"))
    figure, places = go.Figure(), list(range(len(found)))
    figure.add_scatter(
        x=value.tolist(),
        y=places,
        text=common.arguments(found, "corpus"),
        mode="markers",
        marker={"color": common.colour(0), "size": 8},
        error_x={"type": "data", "array": (high - value).tolist(), "arrayminus": (value - low).tolist(), "thickness": 1.2, "width": 3},
        hovertemplate="%{text}: %{x:.3f}<extra></extra>",
    )
    common.finished(figure, x="exchangeable share of the correlations S", y="", linear_y=True)
    figure.update_layout(height=120 + 24 * len(found), showlegend=False)
    figure.update_xaxes(type="linear", dtick=None, range=[min(0.0, float(low.min())), 1.05 * float(high.max())])
    figure.update_yaxes(tickvals=places, ticktext=common.arguments(found, "corpus"), automargin=True, range=[-0.7, len(found) - 0.3])
    caption = (
        "The share of the correlations between positions that any permutation of them leaves as they are, with 95 % intervals. 1 would be "
        "full permutation symmetry. No corpus is near it, and none is at 0."
    )
    return [Plot(figure, "Symmetry of corpora", caption, wide=True)]


def tables(results: Results) -> list[Table]:
    header = ("corpus", "tokens", "types", "S", "95 % interval", "distance", "direction", "rms correlation")
    rows = [
        [
            each.arguments["corpus"],
            f"{int(each.data['tokens']):,}",
            f"{int(each.data['types'])}",
            f"{float(each.data['score']):.3f}",
            f"{float(each.data['low']):.3f} to {float(each.data['high']):.3f}",
            f"{float(each.data['distance']):.3f}",
            f"{float(each.data['direction']):.3f}",
            f"{float(each.data['rms']):.4f}",
        ]
        for each in sorted(common.chosen(results, "score"), key=lambda each: -float(each.data["score"]))
    ]
    note = (
        "Distance: the share that depends on how far apart two tokens are. Direction: the share that depends on which comes first. The "
        "three add up to 1. The last column is the root mean square correlation of two positions over the covariance of one."
    )
    return [Table(header, rows, note, "Symmetry of corpora"), *missing_table(results)]


EXPERIMENT = Experiment(
    name="infinity.e5",
    title="Symmetry across corpora",
    shown="Summary: an experiment that it suggests, the analysis of WikiText on other corpora.",
    claims=(
        Claim(
            "infinity.e5-corpora",
            "Other corpora have a degree of permutation symmetry, too.",
            sources.SUGGESTED,
            "95 % interval of the exchangeable share S of the correlations above 0 for each corpus",
            judge_corpora,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Tokens are one-hot vectors with mean p. The covariance of positions a and b of a window is averaged over all pairs of "
            "positions, and the score is the share of that average in the whole.",
            ("K_{ab} = E[(x_a − p)(x_b − p)^T]", "B = Σ_{a≠b} K_{ab} / L(L−1)", "S = L(L−1) |B|^2 / Σ_{a≠b} |K_{ab}|^2"),
        ),
        Step(
            "Squares are products of different ones among 16 blocks of the corpus, so that sampling noise adds nothing; intervals draw the "
            "blocks anew. Coordinate i weighs 1 over the root of its frequency, of at least 0.001.",
            ("|K|^2 → <K^g, K^h>, g ≠ h",),
        ),
    ),
)
