"""Figure 3: accuracy during training above and below the threshold, and what attention reads in the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers import Finding, Grid, at_least, at_most, below, both, common, every, grid, measure, points
from specht.papers.sparse_variables.thresholds import LEARNT
from specht.report import GREY, Plot, Table, colour, finished, table
from specht.studies import sparse

SUPPORT = 3
FITTED, POOR = 0.01, 0.9
"""Training loss that counts as fitted, and validation accuracy that does not count as learnt."""
SMALL = 0.01
"""Attention that counts as almost none."""
BETWEEN = 20
"""Steps from one look at a curve to the next."""
ABOVE, BELOW = "above", "below"


def trained_networks(
    learner: str, length: int, m: int, runs: int, steps: int, seed: int, model: Any = None, looks: int = 5
) -> Iterator[tuple[sparse.Samples, sparse.TrialRun]]:
    """Networks that are trained on AND to the end, each on m samples of its own, with the samples that they are validated on."""
    task = sparse.SparseTask(sparse.sparse_function("and", SUPPORT), length, seed=seed)
    networks = sparse.network_learner(learner, task, schooling=sparse.Schooling(steps=steps, every=steps // looks), model=model)
    for trial in range(runs):
        train, validation, _ = task.draw(m, trial)
        yield validation, networks.run(train, validation, trial, enough=2.0)


def _sides(few: int, many: int) -> Grid:
    return points([{"side": BELOW, "m": few}, {"side": ABOVE, "m": many}])


@measure(
    smoke=_sides(10, 60) * grid(length=12, runs=2, steps=100, seed=2),
    quick=_sides(25, 120) * grid(length=100, runs=4, steps=400, seed=2),
    full=_sides(50, 200) * grid(length=300, runs=16, steps=1000, seed=2),  # as in the paper
)
def measure_curves(length: int, m: int, runs: int, steps: int, side: str, seed: int) -> xarray.Dataset:
    """Training runs to the end, each on samples of its own: accuracy and losses at every look."""
    looks = steps // BETWEEN
    trained = [run for _, run in trained_networks("transformer", length, m, runs, steps, seed, looks=looks)]
    names = ("accuracy", "train_loss", "validation_loss")
    curves = {name: (("run", "look"), np.array([getattr(run, name) for run in trained])) for name in names}
    return xarray.Dataset(curves, {"look": BETWEEN * np.arange(1, looks + 1)})


@measure(
    smoke=grid(length=12, m=128, runs=1, steps=250, seed=3),
    quick=grid(length=50, m=300, runs=1, steps=500, seed=3),
    full=grid(length=50, m=300, runs=4, steps=500, seed=3),
)
def measure_attention(length: int, m: int, runs: int, steps: int, seed: int) -> xarray.Dataset:
    """One head of full width: how much it takes from every position, on the mean over validation samples, run by run."""
    model = sparse.BitTransformer(length, heads=1)
    weights, single, accuracy = [], [], []
    for validation, run in trained_networks("transformer", length, m, runs, steps, seed, model):
        taken = np.asarray(model.attention(run.params, validation.x.astype(np.float32)), dtype=np.float64)[:, 0]
        weights.append(taken.mean(axis=0))
        single.append(taken[validation.y == 1][:8])
        accuracy.append(run.accuracy[-1])
    return xarray.Dataset(
        {"weights": (("run", "column"), weights), "single": (("run", "example", "column"), single), "accuracy": ("run", accuracy)}
    )


@measure_curves.claim("f3-above", at_least(0.8, f"share of runs above {100 * LEARNT:g} % accuracy", percent=True), null=0.0)
def share_learnt(data: xarray.Dataset) -> Finding:
    many = data.sel(side=ABOVE)
    return Finding(float((many["accuracy"].max("look") >= LEARNT).mean()), regime=f"{_words(many)}.")


@measure_curves.claim(
    "f3-below",
    both(below(POOR, "median best validation accuracy"), below(FITTED, "median training loss at the end")),
    null=(1.0, 0.0),
)
def accuracy_and_loss(data: xarray.Dataset) -> tuple[Finding, float]:
    """Whether training samples are fitted and validation samples are not."""
    few = data.sel(side=BELOW)
    loss = float(few["train_loss"].isel(look=-1).median())
    words = f"{_words(few)}; median training loss at the end {loss:.1e}."
    return Finding(float(few["accuracy"].max("look").median()), regime=words), loss


def _words(data: xarray.Dataset) -> str:
    m = data.m.item() if "m" in data.coords else data.attrs["m"]
    return f"T = {data.length}, m = {m}, {data.runs} run{'s' * (data.runs != 1)} of {data.steps} steps"


@measure_attention.claim("f3-relevant", at_least(0.95, "mean mass on the three bits"), null=0.5)
def mean_mass(data: xarray.Dataset) -> Finding:
    """The share of all attention that relevant bits get, the rest being that of other bits and of the class symbol itself."""
    learnt = _learnt(data)
    mass = learnt["weights"].isel(column=slice(0, SUPPORT)).sum("column")
    return Finding(float(mass.mean()), regime=f"{_words_of_head(learnt)}.")


@measure_attention.claim("f3-irrelevant", every(at_most(SMALL, "mean weight"), "on every other bit"), null=0.5)
def weights_elsewhere(data: xarray.Dataset) -> dict[int, Finding]:
    learnt = _learnt(data)
    weights = learnt["weights"].isel(column=slice(SUPPORT, -1)).mean("run").values
    words = f"{_words_of_head(learnt)}; the bit with the largest weight is shown."
    return {SUPPORT + 1 + place: Finding(float(weight), regime=words) for place, weight in enumerate(weights)}


def _learnt(data: xarray.Dataset) -> xarray.Dataset:
    """The runs that learnt the function."""
    learnt = data.isel(run=data["accuracy"].values >= LEARNT)
    if not learnt.sizes["run"]:
        raise common.nothing(f"No run learnt it. One head, {_words(data)}.")
    return learnt


def _words_of_head(learnt: xarray.Dataset) -> str:
    return f"One head, {_words(learnt)}, {learnt.sizes['run']} of {learnt.runs} learnt it"


@measure_curves.figure()
def accuracy_curves(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for number, side in enumerate((BELOW, ABOVE)):
        runs = data.sel(side=side)
        for place, row in enumerate(runs["accuracy"].values):
            style = {"color": colour(number), "width": 1.1}
            name = f"m = {runs.m.item()}"
            figure.add_scatter(x=data["look"].values, y=row, mode="lines", name=name, showlegend=place == 0, line=style, opacity=0.7)
        style = {"color": colour(number), "width": 2.2, "dash": "dash"}
        loss = runs["train_loss"].median("run").values
        figure.add_scatter(x=data["look"].values, y=loss, mode="lines", name=f"training loss, m = {runs.m.item()}", line=style)
    finished(figure, x="step", y="validation accuracy, training loss", linear_y=True)
    figure.update_xaxes(type="linear", dtick=None, tickmode="auto")
    return Plot(
        figure,
        "Above and below the threshold",
        "Thin lines: validation accuracy of single runs. Dashed: median training loss. With too few samples it vanishes all the same.",
        wide=True,
    )


@measure_attention.figure()
def attention_weights(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for place, row in enumerate(data["single"].values[0]):
        figure.add_scatter(
            x=np.arange(1, len(row)),
            y=np.maximum(row[:-1], 1e-9),
            mode="lines+markers",
            name="one sample each",
            showlegend=place == 0,
            line={"color": colour(0), "width": 0.8},
            marker={"color": colour(0), "size": 4},
            opacity=0.6,
            hovertemplate="bit %{x}: %{y:.2e}<extra></extra>",
        )
    length = data.sizes["column"] - 1
    figure.add_scatter(
        x=[1, length], y=[SMALL, SMALL], mode="lines", name="one hundredth", line={"color": GREY, "width": 1.1, "dash": "dash"}
    )
    finished(figure, x="bit", y="attention weight")
    figure.update_xaxes(type="linear", dtick=5 if length > 20 else 1)
    caption = f"Attention of the class symbol in one run, for samples whose label is one. The label depends on bits 1 to {SUPPORT}."
    return Plot(figure, "What attention reads", caption, wide=True)


@measure_curves.table()
def above_and_below(data: xarray.Dataset) -> Table:
    best = data["accuracy"].max("look")
    rows = xarray.Dataset(
        {
            "median": best.median("run"),
            "learnt": (best >= LEARNT).sum("run"),
            "loss": data["train_loss"].isel(look=-1).median("run"),
        },
        attrs=data.attrs,
    )
    columns = {
        "runs": _words,
        "median best accuracy": "median:.3f",
        "learnt": lambda row: f"{row.learnt.item()} of {data.sizes['run']}",
        "median training loss at the end": "loss:.1e",
    }
    return table(rows, columns, title="Above and below")
