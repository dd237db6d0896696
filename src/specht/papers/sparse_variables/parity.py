"""Figure 4: sparse parities of fresh samples, learnt in an abrupt transition."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers import Finding, at_least, common, every, grid, larger, measure
from specht.report import Plot, Table, add_guide, colour, finished, points_of, table
from specht.studies import sparse

SUPPORT = 3
LEARNT, PLATEAU = 0.05, 0.9
"""Loss below which a parity is learnt, and share of ln 2 above which the loss is on its plateau."""
_KEPT = 200
"""Losses that are kept of each run, evenly over its steps."""


@measure(
    smoke=grid(length=5, steps=200, seed=0, batch=128, learning_rate=1e-3),
    quick=(grid(length=10, steps=350) + grid(length=15, steps=600)) * grid(seed=range(5), batch=2048, learning_rate=1e-3),
    full=grid(length=[10, 15], steps=1200, seed=range(10), batch=2048, learning_rate=1e-3),  # the paper's last run takes 1050
)
def measure_parity(length: int, steps: int, batch: int, learning_rate: float, seed: int) -> xarray.Dataset:
    """The loss of one run on fresh batches, when it left the plateau, and when it was learnt; -1 where it was not."""
    function = sparse.sparse_function("parity", SUPPORT)
    model = sparse.BitTransformer(length, dropout=0.0, start="uniform")
    schooling = sparse.Schooling(steps=steps, every=steps, learning_rate=learning_rate)
    losses = sparse.run_stream(model, function.table, function.probability, schooling, seed=seed, batch=batch)
    learnt = np.flatnonzero(losses < LEARNT)
    end = int(learnt[0]) if len(learnt) else steps
    flat = np.flatnonzero(losses[:end] > PLATEAU * math.log(2))
    kept = np.unique(np.linspace(0, steps - 1, min(_KEPT, steps)).round().astype(int))
    numbers = {"learnt_at": float(learnt[0]) if len(learnt) else -1.0, "left_at": float(flat[-1]) if len(flat) else 0.0}
    return xarray.Dataset(numbers | {"loss": ("step", losses[kept])}, {"step": kept})


@measure_parity.claim(
    "f4-learnt", every(at_least(1.0, f"share of runs that fall below a loss of {LEARNT:g}"), "with every number of bits"), null=0.0
)
def shares_learnt(data: xarray.Dataset) -> list[Finding]:
    shares = (data["learnt_at"] >= 0).mean("seed").values
    return [Finding(float(share), regime=f"{_words(data)}; the smaller share is shown.") for share in shares]


@measure_parity.claim(
    "f4-abrupt",
    every(
        at_least(0.5, f"share of the steps until it is learnt that the median run spends above {PLATEAU:g} ln 2"),
        "with every number of bits",
    ),
    null=0.0,
)
def shares_on_plateau(data: xarray.Dataset) -> list[Finding]:
    shares = []
    for runs in points_of(data, "length"):
        learnt = _learnt(runs)
        if not learnt.sizes["seed"]:
            raise common.nothing(f"No run learnt T = {runs.length.item()}. {_words(data)}.")
        share = float(np.median(learnt["left_at"] / np.maximum(learnt["learnt_at"], 1)))
        shares.append(Finding(share, regime=f"{_words(data)}."))
    return shares


@measure_parity.claim("f4-longer", larger("median steps until learnt", than="those with fewer bits"), null=0.0)
def excess_of_time(data: xarray.Dataset) -> Finding:
    """The ratio of the times is shown."""
    if data.sizes["length"] < 2:
        raise common.nothing(f"Two lengths are compared. {_words(data)}.")
    medians = {runs.length.item(): _learnt(runs)["learnt_at"].values for runs in points_of(data, "length")}
    if not all(len(times) for times in medians.values()):
        raise common.nothing(f"Not every length was learnt. {_words(data)}.")
    medians = {length: np.median(times) for length, times in medians.items()}
    first, *_, last = medians.values()
    words = ", ".join(f"T = {length}: {median:.0f}" for length, median in medians.items())
    return Finding(last - first, regime=f"{_words(data)}; median steps {words}.", shown=(float(last / first), None))


def _learnt(runs: xarray.Dataset) -> xarray.Dataset:
    """The runs of one length that were learnt."""
    return runs.isel(seed=runs["learnt_at"].values >= 0)


def _words(data: xarray.Dataset) -> str:
    steps, seeds = common.listed(data.steps.values), data.sizes["seed"]
    trained = f"batches of {data.batch}, learning rate {data.learning_rate:g}, {seeds} seeds, up to {steps} steps"
    return f"Parity of {SUPPORT} of T = {common.listed(data.length.values)} bits, {trained}"


@measure_parity.figure()
def losses(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for number, runs in enumerate(points_of(data, "length")):
        for place, run in enumerate(points_of(runs, "seed")):
            curve = run["loss"].dropna("step")  # runs of other lengths kept other steps
            figure.add_scatter(
                x=curve["step"].values,
                y=curve.values,
                mode="lines",
                name=f"T = {runs.length.item()}",
                showlegend=place == 0,
                line={"color": colour(number), "width": 1.3},
                hovertemplate=f"T = {runs.length.item()}, step %{{x}}: %{{y:.3f}}<extra></extra>",
            )
    add_guide(figure, [0, int(data["step"].max())], [math.log(2)] * 2, "ln 2")
    finished(figure, x="step", y="loss on a fresh batch", linear_y=True)
    figure.update_xaxes(type="linear", dtick=None)
    return Plot(figure, "A plateau and a drop", "One line a seed. On the plateau networks guess: the loss is ln 2.", wide=True)


@measure_parity.table()
def transitions(data: xarray.Dataset) -> Table:
    def span(name: str) -> Callable[[xarray.Dataset], str]:
        return lambda runs: common.span(_learnt(runs)[name].values.tolist()) if _learnt(runs).sizes["seed"] else ""

    columns = {
        "T": "length",
        "learnt": lambda runs: f"{_learnt(runs).sizes['seed']} of {data.sizes['seed']}",
        "step at which the loss falls below 0.05": span("learnt_at"),
        "last step on the plateau": span("left_at"),
    }
    note = "The paper's figure shows drops at about 150 to 250 steps for T = 10 and 380 to 1050 for T = 15, in all ten runs."
    return table(data, columns, rows=["length"], note=note, title="Transitions")
