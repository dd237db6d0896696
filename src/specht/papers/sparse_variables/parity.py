"""Figure 4: sparse parities of fresh samples, learnt in an abrupt transition."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.sparse_variables import sources
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.parity"
SUPPORT = 3
LEARNT, PLATEAU = 0.05, 0.9
"""Loss below which a parity is learnt, and share of ln 2 above which the loss is on its plateau."""
_KEPT = 200
"""Losses that are kept of each run, evenly over its steps."""


def measure_parity(length: int, steps: int, batch: int, learning_rate: float, seed: int) -> xarray.Dataset:
    """The loss of one run on fresh batches, when it left the plateau, and when it was learnt; -1 where it was not."""
    from specht.nn.sparse import BitTransformer
    from specht.nn.trials import Schooling, run_stream
    from specht.sequences.sparse import sparse_function

    function = sparse_function("parity", SUPPORT)
    model = BitTransformer(length, dropout=0.0, start="uniform")
    schooling = Schooling(steps=steps, every=steps, learning_rate=learning_rate)
    losses = run_stream(model, function.table, function.probability, schooling, seed=seed, batch=batch)
    learnt = np.flatnonzero(losses < LEARNT)
    end = int(learnt[0]) if len(learnt) else steps
    flat = np.flatnonzero(losses[:end] > PLATEAU * math.log(2))
    kept = np.unique(np.linspace(0, steps - 1, min(_KEPT, steps)).round().astype(int))
    numbers = {"learnt_at": float(learnt[0]) if len(learnt) else -1.0, "left_at": float(flat[-1]) if len(flat) else 0.0}
    return common.record("parity", numbers | {"loss": (("step",), losses[kept])}, {"step": kept})


def jobs(scale: Scale) -> list[Job]:
    lengths = common.at_scale(scale, smoke=(5,), quick=(10, 15), full=(10, 15))
    steps = common.at_scale(scale, smoke=(200,), quick=(350, 600), full=(1200, 1200))  # the paper's last run takes 1050
    batch = common.at_scale(scale, smoke=128, quick=2048, full=2048)
    seeds = common.at_scale(scale, smoke=1, quick=5, full=10)
    return [
        Job.of(f"{_HERE}:measure_parity", length=length, steps=count, batch=batch, learning_rate=1e-3, seed=seed)
        for length, count in zip(lengths, steps, strict=True)
        for seed in range(seeds)
    ]


def _lengths(results: Results) -> list[int]:
    return sorted({result.arguments["length"] for result in results})


def _times(results: Results, length: int) -> tuple[np.ndarray, np.ndarray]:
    """When runs were learnt, and when they left the plateau; those that were learnt alone."""
    found = common.chosen(results, "parity", length=length)
    learnt, left = common.column(found, "learnt_at"), common.column(found, "left_at")
    return learnt[learnt >= 0], left[learnt >= 0]


def _regime(results: Results) -> str:
    given = results[0].arguments
    seeds = len(common.chosen(results, "parity", length=given["length"]))
    steps = common.listed(common.arguments(results, "steps"))
    trained = f"batches of {given['batch']}, learning rate {given['learning_rate']:g}, {seeds} seeds, up to {steps} steps"
    return f"Parity of {SUPPORT} of T = {common.listed(_lengths(results))} bits, {trained}"


def judge_learnt(results: Results) -> Verdict:
    shares = {
        length: len(_times(results, length)[0]) / len(common.chosen(results, "parity", length=length)) for length in _lengths(results)
    }
    return holds_if(min(shares.values()) == 1.0, min(shares.values()), regime=f"{_regime(results)}; the smaller share is shown.")


def judge_abrupt(results: Results) -> Verdict:
    """The share of the time until it is learnt that a run spends on the plateau: the median, at the length where it is smaller."""
    shares = []
    for length in _lengths(results):
        learnt, left = _times(results, length)
        if not len(learnt):
            return Verdict("not tested", regime=f"No run learnt T = {length}. {_regime(results)}.")
        shares.append(float(np.median(left / np.maximum(learnt, 1))))
    return holds_if(min(shares) >= 0.5, min(shares), regime=f"{_regime(results)}.")


def judge_longer(results: Results) -> Verdict:
    if len(_lengths(results)) < 2:
        return Verdict("not tested", regime=f"Two lengths are compared. {_regime(results)}.")
    medians = [np.median(_times(results, length)[0]) if len(_times(results, length)[0]) else math.nan for length in _lengths(results)]
    if not np.isfinite(medians).all():
        return Verdict("not tested", regime=f"Not every length was learnt. {_regime(results)}.")
    ratio = float(medians[-1] / medians[0])
    words = ", ".join(f"T = {length}: {median:.0f}" for length, median in zip(_lengths(results), medians, strict=True))
    return holds_if(ratio > 1.0, ratio, regime=f"{_regime(results)}; median steps {words}.")


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    for number, length in enumerate(_lengths(results)):
        for place, found in enumerate(common.chosen(results, "parity", length=length)):
            figure.add_scatter(
                x=found.data["step"].values,
                y=found.data["loss"].values,
                mode="lines",
                name=f"T = {length}",
                showlegend=place == 0,
                line={"color": common.colour(number), "width": 1.3},
                hovertemplate=f"T = {length}, step %{{x}}: %{{y:.3f}}<extra></extra>",
            )
    last = max(int(found.data["step"].max()) for found in results)
    common.add_guide(figure, [0, last], [math.log(2)] * 2, "ln 2")
    common.finished(figure, x="step", y="loss on a fresh batch", linear_y=True)
    figure.update_xaxes(type="linear", dtick=None)
    return [Plot(figure, "A plateau and a drop", "One line a seed. On the plateau networks guess: the loss is ln 2.", wide=True)]


def tables(results: Results) -> list[Table]:
    rows = []
    for length in _lengths(results):
        learnt, left = _times(results, length)
        seeds = len(common.chosen(results, "parity", length=length))
        rows.append(
            [
                str(length),
                f"{len(learnt)} of {seeds}",
                common.span(learnt.tolist()) if len(learnt) else "",
                common.span(left.tolist()) if len(left) else "",
            ]
        )
    note = "The paper's figure shows drops at about 150 to 250 steps for T = 10 and 380 to 1050 for T = 15, in all ten runs."
    return [Table(("T", "learnt", "step at which the loss falls below 0.05", "last step on the plateau"), rows, note, "Transitions")]


_FIGURE = f"{sources.PAPER}, figure 4"
EXPERIMENT = Experiment(
    name="sparse.f4",
    title="Sparse parity: a phase transition",
    shown="Figure 4: loss curves of ten seeds for parities of three bits, T = 10 and 15: long plateaus, then abrupt drops.",
    claims=(
        Claim(
            "sparse.f4-learnt",
            "Transformers learn parities of three bits from fresh samples.",
            _FIGURE,
            f"every run falls below a loss of {LEARNT:g}",
            judge_learnt,
        ),
        Claim(
            "sparse.f4-abrupt",
            "They do so in an abrupt transition after a plateau at the loss of guessing.",
            _FIGURE,
            f"median run above {PLATEAU:g} ln 2 for at least half of the steps until it is learnt",
            judge_abrupt,
        ),
        Claim(
            "sparse.f4-longer",
            "The plateau is longer with more bits.",
            _FIGURE,
            "median steps until learnt larger for more bits",
            judge_longer,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "The transformer of the thresholds on fresh uniform bits. With all weights drawn from N(0, 0.02²) few runs leave the plateau "
            "within "
            "500 steps; here matrices begin uniform within one over the root of their fan-in, as in PyTorch's linear layers, without "
            "dropout. "
            "What the paper changes for this figure is lost in a sentence that is cut off."
        ),
    ),
)
