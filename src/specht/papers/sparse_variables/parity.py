"""Figure 4: sparse parities of fresh samples, learnt in an abrupt transition; from a wide start and from that of the paper."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers import Finding, at_least, common, every, grid, larger, measure
from specht.report import Plot, Table, add_guide, colour, finished, points_of
from specht.studies import sparse

SUPPORT = 3
LEARNT, PLATEAU = 0.05, 0.9
"""Loss below which a parity is learnt, and share of ln 2 above which the loss is on its plateau."""
DONE = 0.01
"""Loss at which training ends."""
OURS, PAPERS = "uniform", "small"
"""The starts of `BitTransformer`: matrices uniform within one over the root of their fan-in; and N(0, 0.02²), that of the paper."""
STARTS = {OURS: "wide start", PAPERS: "start of the paper"}
_KEPT = 200
"""Losses that are kept of each run, evenly over its steps."""


@measure(
    smoke=grid(start=list(STARTS), length=5, steps=200, seed=0, batch=128, learning_rate=1e-3),
    # The paper's last run takes 1050 steps.
    quick=grid(start=list(STARTS), length=[10, 15], steps=1200, seed=0, batch=2048, learning_rate=1e-3),
    full=grid(start=list(STARTS), length=[10, 15], steps=1200, seed=range(4), batch=2048, learning_rate=1e-3),
)
def measure_parity(start: str, length: int, steps: int, batch: int, learning_rate: float, seed: int) -> xarray.Dataset:
    """The loss of one run on fresh batches, when it left the plateau, and when it was learnt; -1 where it was not."""
    function = sparse.sparse_function("parity", SUPPORT)
    model = sparse.BitTransformer(length, dropout=0.0, start=start)
    schooling = sparse.Schooling(steps=steps, every=steps, learning_rate=learning_rate)
    losses = sparse.run_stream(model, function.table, function.probability, schooling, seed=seed, batch=batch, enough=DONE)
    learnt = np.flatnonzero(losses < LEARNT)
    end = int(learnt[0]) if len(learnt) else len(losses)
    flat = np.flatnonzero(losses[:end] > PLATEAU * math.log(2))
    kept = np.unique(np.linspace(0, len(losses) - 1, min(_KEPT, len(losses))).round().astype(int))
    numbers = {"learnt_at": float(learnt[0]) if len(learnt) else -1.0, "left_at": float(flat[-1]) if len(flat) else 0.0}
    return xarray.Dataset(numbers | {"loss": ("step", losses[kept])}, {"step": kept})


def _measured(data: xarray.Dataset, start: str) -> list[xarray.Dataset]:
    """The runs from one start, by length."""
    parts = [runs.isel(seed=runs["learnt_at"].notnull().values) for runs in points_of(data.sel(start=start), "length")]
    return [runs for runs in parts if runs.sizes["seed"]]


def shares_learnt(data: xarray.Dataset, start: str) -> dict[int, Finding]:
    words = f"{_words(data, start)}; the smaller share is shown."
    return {runs.length.item(): Finding(float((runs["learnt_at"] >= 0).mean()), regime=words) for runs in _measured(data, start)}


_ALL_LEARNT = every(at_least(1.0, f"share of runs that fall below a loss of {LEARNT:g}"), "with every number of bits")


@measure_parity.claim("f4-learnt", _ALL_LEARNT, null=0.0)
def shares_from_our_start(data: xarray.Dataset) -> dict[int, Finding]:
    return shares_learnt(data, OURS)


@measure_parity.claim("f4-paper-start", _ALL_LEARNT, null=0.0)
def shares_from_the_paper_s_start(data: xarray.Dataset) -> dict[int, Finding]:
    return shares_learnt(data, PAPERS)


@measure_parity.claim(
    "f4-start",
    every(larger("mean steps until learnt from the start of the paper", than="those from the wide start"), "with every number of bits"),
    null=0.0,
)
def excess_of_the_paper_s_start(data: xarray.Dataset) -> dict[int, Finding]:
    """Runs that do not learn it count with all their steps, which is less than they would take."""
    times = {}
    for start in STARTS:
        for runs in _measured(data, start):
            taken = runs["learnt_at"].where(runs["learnt_at"] >= 0, data.steps)
            times[start, runs.length.item()] = float(taken.mean())
    both = [length for start, length in times if start == PAPERS and (OURS, length) in times]
    words = ", ".join(f"T = {T}: {times[PAPERS, T]:.0f} and {times[OURS, T]:.0f}" for T in both)
    words = f"{_words(data, PAPERS)}; mean steps {words}. Runs that do not learn it count with all their steps."
    return {length: Finding(times[PAPERS, length] - times[OURS, length], regime=words) for length in both}


@measure_parity.claim(
    "f4-abrupt",
    every(
        at_least(0.5, f"share of the steps until it is learnt that the median run spends above {PLATEAU:g} ln 2"),
        "with every number of bits",
    ),
    null=0.0,
)
def shares_on_plateau(data: xarray.Dataset) -> dict[int, Finding]:
    shares = {}
    for runs in _measured(data, OURS):
        learnt = _learnt(runs)
        if not learnt.sizes["seed"]:
            raise common.nothing(f"No run learnt T = {runs.length.item()}. {_words(data, OURS)}.")
        share = float(np.median(learnt["left_at"] / np.maximum(learnt["learnt_at"], 1)))
        shares[runs.length.item()] = Finding(share, regime=f"{_words(data, OURS)}.")
    return shares


@measure_parity.claim("f4-longer", larger("median steps until learnt", than="those with fewer bits"), null=0.0)
def excess_of_time(data: xarray.Dataset) -> Finding:
    """The ratio of the times is shown."""
    medians = {runs.length.item(): _learnt(runs)["learnt_at"].values for runs in _measured(data, OURS)}
    if len(medians) < 2:
        raise common.nothing(f"Two lengths are compared. {_words(data, OURS)}.")
    if not all(len(times) for times in medians.values()):
        raise common.nothing(f"Not every length was learnt. {_words(data, OURS)}.")
    medians = {length: np.median(times) for length, times in medians.items()}
    first, *_, last = medians.values()
    words = ", ".join(f"T = {length}: {median:.0f}" for length, median in medians.items())
    return Finding(last - first, regime=f"{_words(data, OURS)}; median steps {words}.", shown=(float(last / first), None))


def _learnt(runs: xarray.Dataset) -> xarray.Dataset:
    """The runs of one length that were learnt."""
    return runs.isel(seed=runs["learnt_at"].values >= 0)


def _words(data: xarray.Dataset, start: str) -> str:
    parts = _measured(data, start)
    lengths = common.listed([runs.length.item() for runs in parts])
    runs = max((runs.sizes["seed"] for runs in parts), default=0)
    trained = f"batches of {data.batch}, learning rate {data.learning_rate:g}, {runs} run{'s' * (runs != 1)} each, up to {data.steps} steps"
    return f"Parity of {SUPPORT} of T = {lengths} bits from the {STARTS[start]}, {trained}"


@measure_parity.figure()
def losses(data: xarray.Dataset) -> Plot:
    figure, number = go.Figure(), 0
    for start in (name for name in STARTS if name in data.start.values):
        for runs in _measured(data, start):
            for place, run in enumerate(points_of(runs, "seed")):
                curve = run["loss"].dropna("step")  # runs of other lengths kept other steps
                figure.add_scatter(
                    x=curve["step"].values,
                    y=curve.values,
                    mode="lines",
                    name=f"T = {runs.length.item()}, {STARTS[start]}",
                    showlegend=place == 0,
                    line={"color": colour(number), "width": 1.3, "dash": "solid" if start == OURS else "dash"},
                    hovertemplate=f"T = {runs.length.item()}, step %{{x}}: %{{y:.3f}}<extra></extra>",
                )
            number += 1
    add_guide(figure, [0, int(data["step"].max())], [math.log(2)] * 2, "ln 2")
    finished(figure, x="step", y="loss on a fresh batch", linear_y=True)
    figure.update_xaxes(type="linear", dtick=None)
    caption = (
        f"One line a run, to a loss of {DONE:g}. On the plateau networks guess: the loss is ln 2. Dashed: from the start of the paper."
    )
    return Plot(figure, "A plateau and a drop", caption, wide=True)


@measure_parity.table()
def transitions(data: xarray.Dataset) -> Table:
    def span(name: str) -> Callable[[xarray.Dataset], str]:
        return lambda runs: common.span(_learnt(runs)[name].values.tolist()) if _learnt(runs).sizes["seed"] else ""

    columns = {
        "start": lambda runs: STARTS[runs.start.item()],
        "T": "length",
        "learnt": lambda runs: f"{_learnt(runs).sizes['seed']} of {runs.sizes['seed']}",
        f"step at which the loss falls below {LEARNT:g}": span("learnt_at"),
        "last step on the plateau": span("left_at"),
    }
    note = "The paper's figure shows drops at about 150 to 250 steps for T = 10 and 380 to 1050 for T = 15, in all ten runs."
    rows = [runs for start in STARTS if start in data.start.values for runs in _measured(data, start)]
    return Table.of(rows, columns, note=note, title="Transitions")
