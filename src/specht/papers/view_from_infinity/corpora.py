"""The exchangeable share of the correlations of one corpus after the other."""

from __future__ import annotations

import plotly.graph_objects as go
import xarray

from specht.corpus.read import NAMED
from specht.papers import common
from specht.papers.claims import Verdict
from specht.papers.criteria import Finding, every, positive
from specht.papers.view_from_infinity.texts import BODY, CODE, GENOME, measure_scores, missing_table, reasons, stderr_of, where
from specht.report import Plot, Table, colour, finished, points_of, table

FEW = (CODE, BODY, "moby-dick", "kalevala", "hongloumeng", GENOME, "ecoli-proteins")
"""Corpora of every kind, for the quick scale."""
measure_corpora = measure_scores(smoke=(CODE,), quick=FEW, full=tuple(NAMED))


def _by_score(data: xarray.Dataset) -> xarray.Dataset:
    """The corpora that this machine has, those with small scores first."""
    return data.dropna("corpus", how="all").sortby("score")


@measure_corpora.claim(
    "e5-corpora",
    every(positive("exchangeable share S of the correlations", whole_interval=True), "of 95 % for each corpus"),
    null=0.0,
)
def scores_of_corpora(data: xarray.Dataset) -> list[Finding] | Verdict:
    corpora, absent = _by_score(data), reasons(data)
    number = corpora.sizes["corpus"]
    words = f"Windows of {where(data)}; {number} {'corpora' if number > 1 else 'corpus'}."
    if not corpora["defined"].all():
        return common.unresolved(words)
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
    figure.add_scatter(
        x=value.tolist(),
        y=places,
        text=names,
        mode="markers",
        marker={"color": colour(0), "size": 8},
        error_x={"type": "data", "array": (high - value).tolist(), "arrayminus": (value - low).tolist(), "thickness": 1.2, "width": 3},
        hovertemplate="%{text}: %{x:.3f}<extra></extra>",
    )
    finished(figure, x="exchangeable share of the correlations S", y="", linear_y=True)
    figure.update_layout(height=120 + 24 * len(names), showlegend=False)
    figure.update_xaxes(type="linear", dtick=None, range=[min(0.0, float(low.min())), 1.05 * float(high.max())])
    figure.update_yaxes(tickvals=places, ticktext=names, automargin=True, range=[-0.7, len(names) - 0.3])
    caption = (
        "The share of the correlations between positions that any permutation of them leaves as they are, with 95 % intervals. 1 would be "
        "full permutation symmetry. No corpus is near it, and none is at 0."
    )
    return Plot(figure, "Symmetry of corpora", caption, wide=True)


@measure_corpora.table()
def scores(data: xarray.Dataset) -> list[Table]:
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
