"""The query as one more key, as figure 1 of the paper may be read: attention sinks into it, and training ends far from the target."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers import Finding, above, below, both, common, grid, measure, near
from specht.papers.token_selection import training
from specht.report import Plot, Table, add_line
from specht.studies import selection

KEYS = {"tokens": "tokens alone", "all": "tokens and the query"}


@measure(
    smoke=grid(keys=list(KEYS), length=8, code=24, steps=300, rate=1.0, draws=100, seed=0),
    quick=grid(keys=list(KEYS), length=20, code=64, steps=3000, rate=1.0, draws=600, seed=0),
    full=grid(keys=list(KEYS), length=50, code=64, steps=6000, rate=1.0, draws=1500, seed=0),
)
def measure_sink(keys: str, length: int, code: int, steps: int, rate: float, draws: int, seed: int) -> xarray.Dataset:
    """One training, its reduced dynamics, and the least loss of any two numbers; losses are shares of that of the predictor zero."""
    sees_query = keys == "all"
    task = selection.Selection(length, training.SUPPORT, training.DIMENSION)
    setting = selection.SelectionTraining(
        task=task, code=code, learning_rate=rate, steps=steps, sees_query=sees_query, n_test=training.N_TEST, records=100
    )
    run = selection.train_selection(setting, seed)
    pool = selection.draw_pool(np.random.default_rng([seed, 8]), length, task.support, code, draws, sees_query=sees_query)
    exact = selection.stochastic_dynamics(pool, task.dimension, learning_rate=rate, steps=steps, records=100)
    place = dict(zip(exact.steps.tolist(), exact.loss.tolist(), strict=True))
    numbers = {
        "loss": ("step", run.losses["validation"] / task.trivial_loss),
        "reduced": ("step", [place[step] / task.trivial_loss for step in run.steps.tolist()]),
        "least": selection.best_share(pool).share,
        "on_query": run.query_share(training.N_TEST, seed),
        "value": float(np.diag(np.asarray(run.model.values, np.float64)).mean()),
    }
    return xarray.Dataset(numbers, {"step": run.steps})


def _words(data: xarray.Dataset) -> str:
    return (
        f"T = {data.length}, q = {training.SUPPORT}, d = {training.DIMENSION}, stochastic codes of dimension {data.code}, SGD of rate "
        f"{data.rate:g} from zero, {data.steps} steps of 256 fresh samples"
    )


@measure_sink.claim(
    "sink-plateau",
    both(
        above(0.3, "loss at the end over that of the predictor zero where the query is a key", percent=True),
        above(0.9, "its loss at the end over that at half of the steps"),
        below(0.05, "loss at the end over that of the predictor zero where it is none", percent=True),
    ),
    null=(0.02, 0.5, 0.02),
)
def plateau(data: xarray.Dataset) -> tuple[Finding, float, float]:
    own, sink = (data.sel(keys=keys) for keys in KEYS)
    alone = training.last(own, "loss")
    words = (
        f"{_words(data)}. Without the query among the keys the loss ends at {alone:.1%} with the first seed; v, which makes up for the "
        f"attention that is lost, is {float(sink['value']):.1f} with it and {float(own['value']):.2f} without."
    )
    return Finding(training.last(sink, "loss"), regime=words), training.kept(sink, "loss"), alone


@measure_sink.claim("sink-attention", above(0.5, "share of attention that the query has at the end", percent=True), null=0.05)
def attention_on_the_query(data: xarray.Dataset) -> Finding:
    return Finding(float(data["on_query"].sel(keys="all")), regime=f"{_words(data)}.")


@measure_sink.claim(
    "sink-least", near(0, 0.2, "relative difference of the loss at the end from the least that any w and v allow", percent=True), null=-0.9
)
def difference_from_the_least(data: xarray.Dataset) -> Finding:
    sink = data.sel(keys="all")
    least = float(sink["least"])
    words = (
        f"{_words(data)}, {data.draws} draws of codes for the least loss, {least:.1%} of that of the predictor zero with the first seed."
    )
    return Finding(training.last(sink, "loss") / least - 1, regime=words)


@measure_sink.figure()
def losses(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for number, (keys, label) in enumerate(KEYS.items()):
        run = data.sel(keys=keys)
        training.add_curve(figure, run, "loss", f"keys: {label}", number, joined=False)
        add_line(figure, run["step"].values[1:], run["reduced"].values[1:], f"{label}, two numbers", number)
    steps, least = data["step"].values[[1, -1]], float(data["least"].sel(keys="all"))
    add_line(figure, steps, [least] * 2, "least with the query", 2, dash="dash")
    caption = "Losses as shares of that of the predictor zero, one seed; lines are the reduced dynamics over a pool of draws of codes."
    return common.plotted(figure, "A query that is a key", caption, x="steps", y="loss over the trivial one")


@measure_sink.table()
def ends(data: xarray.Dataset) -> Table:
    rows = []
    for keys, label in KEYS.items():
        run = data.sel(keys=keys)
        losses = f"{training.last(run, 'loss'):.1%}", f"{float(run['reduced'][-1]):.1%}", f"{float(run['least']):.1%}"
        rows.append([label, *losses, f"{float(run['on_query']):.1%}", f"{float(run['value']):.2f}"])
    header = ("keys", "loss", "of two numbers", "least of two numbers", "attention on the query", "v")
    return Table(header, rows, f"At the end, losses as shares of that of the predictor zero: {_words(data)}.", "With and without the query")
