"""The theorem on fully connected networks: no width below T d will do, and trained networks sit on the bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht import nn
from specht.papers import Finding, at_least, below, common, every, grid, measure
from specht.report import Plot, Table, add_line, add_points, finished, points_of
from specht.studies import selection

LENGTH, SUPPORT, DIMENSION = 10, 2, 1
SECOND = 128
"""Width of the second hidden layer, which no bound speaks of."""
_N_TEST = 200_000


@measure(
    smoke=grid(width=[4, 12], seed=0, steps=150, batch=128),
    quick=grid(width=[2, 4, 6, 8, 10, 15], seed=0, steps=4000, batch=512),
    full=grid(width=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15], seed=0, steps=12000, batch=512),
)
def measure_perceptron(width: int, steps: int, batch: int, seed: int) -> xarray.Dataset:
    """Mean squared error of a trained network whose first layer has so many units; it sees the sequence and the indicator of the set."""
    task = selection.Selection(LENGTH, SUPPORT, DIMENSION)

    def draw(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
        tokens, chosen = task.draw(rng, n)
        members = np.zeros((n, LENGTH), np.float32)
        np.put_along_axis(members, chosen, 1.0, axis=1)
        return np.concatenate([tokens.reshape(n, -1), members], axis=1), task.target(tokens, chosen)

    recipe = nn.Recipe(steps=steps, learning_rate=5e-3, optimiser="adam", schedule="cosine", batch=batch, records=1)
    widths = [LENGTH * DIMENSION + LENGTH, width, SECOND, DIMENSION]
    network = nn.train(lambda key: nn.FullyConnected.init(widths, key=key), nn.Fresh(draw), recipe, seeds=[seed])
    x, y = draw(np.random.default_rng([seed, 7]), _N_TEST)
    errors = ((network.function()(x) - y) ** 2).sum(axis=1)
    bound = float(selection.width_bound(width, LENGTH, SUPPORT, DIMENSION))
    fields = {"error": errors.mean(), "stderr": errors.std(ddof=1) / np.sqrt(_N_TEST), "bound": bound}
    return xarray.Dataset({name: float(value) for name, value in fields.items()})


def _by_width(data: xarray.Dataset) -> list[tuple[int, float, float, float]]:
    """Width, error, its standard error over test samples, and the bound."""
    return [(at.width.item(), float(at["error"]), float(at["stderr"]), float(at["bound"])) for at in points_of(data, "width")]


def _words(data: xarray.Dataset) -> str:
    return (
        f"T = {LENGTH}, q = {SUPPORT}, d = {DIMENSION}, two hidden layers of rectified units, the second {SECOND} wide, the first "
        f"{common.listed(data.width.values)}, {data.steps} steps of Adam, {_N_TEST} test samples"
    )


def _excess(data: xarray.Dataset, words: str) -> dict[int, Finding]:
    """The error over the bound less one, at every width that has one."""
    return {width: Finding(error / bound - 1, regime=words) for width, error, _, bound in _by_width(data) if bound > 0}


@measure_perceptron.claim(
    "fcn-bound",
    every(at_least(0, "test error above the bound, mean over seeds, as a share of it,"), "at every width that has one"),
    null=-0.5,
)
def lowest_errors(data: xarray.Dataset) -> dict[int, Finding]:
    return _excess(data, f"{_words(data)}; the lowest is shown.")


@measure_perceptron.claim(
    "fcn-tight", every(below(0.1, "mean over seeds above the bound", percent=True), "at every width that has one"), null=1.0
)
def largest_errors(data: xarray.Dataset) -> dict[int, Finding]:
    return _excess(data, f"{_words(data)}; the largest excess over the bound is shown, as a share of it.")


@measure_perceptron.claim(
    "fcn-wide",
    every(below(0.02, "mean over seeds over the error of the predictor zero", percent=True), "at every width of at least T d"),
    null=1.0,
)
def errors_of_wide_networks(data: xarray.Dataset) -> dict[int, Finding]:
    trivial = DIMENSION / SUPPORT
    words = f"{_words(data)}; the largest error from width {LENGTH * DIMENSION} on, as a share of {trivial:g}."
    return {width: Finding(error / trivial, regime=words) for width, error, *_ in _by_width(data) if width >= LENGTH * DIMENSION}


@measure_perceptron.figure()
def errors_and_bound(data: xarray.Dataset) -> Plot:
    rows = _by_width(data)
    widths = np.linspace(0, max(row[0] for row in rows), 100)
    figure = go.Figure()
    add_points(figure, [r[0] for r in rows], [r[1] for r in rows], "trained networks", 0, errors=[r[2] for r in rows])
    add_line(figure, widths, selection.width_bound(widths, LENGTH, SUPPORT, DIMENSION), "bound for any network", 1)
    finished(figure, x="width of the first layer", y="mean squared error", linear_y=True)
    figure.update_xaxes(type="linear", dtick=None)
    caption = f"T = {LENGTH}, q = {SUPPORT}, d = {DIMENSION}: one seed. The bound ends at T d = {LENGTH * DIMENSION}."
    return Plot(figure, "Trained networks sit on the bound", caption, wide=True)


@measure_perceptron.table()
def widths(data: xarray.Dataset) -> Table:
    rows = [[str(width), common.with_error(error, scatter), f"{bound:.3g}"] for width, error, scatter, bound in _by_width(data)]
    return Table(("width of the first layer", "mean squared error", "bound"), rows, f"{_words(data)}.", "Widths")
