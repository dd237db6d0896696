"""The theorem on fully connected networks: no width below T d will do, and trained networks sit on the bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht import nn
from specht.papers import Finding, at_least, below, common, every, grid, measure
from specht.report import Plot, Table, add_line, add_points, finished
from specht.studies import selection

LENGTH, SUPPORT, DIMENSION = 10, 2, 1
SECOND = 128
"""Width of the second hidden layer, which no bound speaks of."""
_N_TEST = 20_000


@measure(
    smoke=grid(width=[4, 12], seed=range(2), steps=150, batch=128),
    quick=grid(width=[2, 4, 6, 8, 10, 15], seed=range(3), steps=4000, batch=512),
    full=grid(width=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15], seed=range(4), steps=12000, batch=512),
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
    """Width, mean error over seeds, its standard error, and the bound. Test samples and seeds both make the error scatter."""
    rows = []
    for width in data.width.values.tolist():
        at = data.sel(width=width)
        errors, inside = at["error"].values, at["stderr"].values
        scatter = max(errors.std(ddof=1), float(np.sqrt((inside**2).mean()))) / np.sqrt(len(errors))
        rows.append((width, float(errors.mean()), float(scatter), float(at["bound"][0])))
    return rows


def _words(data: xarray.Dataset) -> str:
    return (
        f"T = {LENGTH}, q = {SUPPORT}, d = {DIMENSION}, two hidden layers of rectified units, the second {SECOND} wide, the first "
        f"{common.listed(data.width.values)}, {data.steps} steps of Adam, {data.sizes['seed']} seeds"
    )


@measure_perceptron.claim(
    "fcn-bound", at_least(-2, "test error of every trained network less the bound, in standard errors of the test,"), null=-10.0
)
def lowest_error(data: xarray.Dataset) -> Finding:
    bounded = data.sel(width=[width for width, *_, bound in _by_width(data) if bound > 0])
    errors = (bounded["error"] - bounded["bound"]) / bounded["stderr"]
    width = errors.width.values[int(errors.min("seed").argmin("width"))]
    words = (
        f"{_words(data)}; the lowest error of any network against its bound is shown, in standard errors of the test, at width "
        f"{width}. Of {errors.size} networks that have a bound."
    )
    return Finding(float(errors.min()), regime=words)


@measure_perceptron.claim(
    "fcn-tight", every(below(0.1, "mean over seeds above the bound", percent=True), "at every width that has one"), null=1.0
)
def excess_over_bound(data: xarray.Dataset) -> list[Finding]:
    words = f"{_words(data)}; the largest excess over the bound is shown, as a share of it, at width"
    return [Finding(error / bound - 1, regime=f"{words} {width}.") for width, error, _, bound in _by_width(data) if bound > 0]


@measure_perceptron.claim(
    "fcn-wide",
    every(below(0.02, "mean over seeds over the error of the predictor zero", percent=True), "at every width of at least T d"),
    null=1.0,
)
def error_of_wide_networks(data: xarray.Dataset) -> list[Finding]:
    trivial = DIMENSION / SUPPORT
    words = f"{_words(data)}; the largest error from width {LENGTH * DIMENSION} on, as a share of {trivial:g}."
    wide = [(error, scatter) for width, error, scatter, _ in _by_width(data) if width >= LENGTH * DIMENSION]
    return [Finding(error / trivial, scatter / trivial, words) for error, scatter in wide]


@measure_perceptron.figure()
def errors_and_bound(data: xarray.Dataset) -> Plot:
    rows = _by_width(data)
    widths = np.linspace(0, max(row[0] for row in rows), 100)
    figure = go.Figure()
    add_points(figure, [r[0] for r in rows], [r[1] for r in rows], "trained networks", 0, errors=[r[2] for r in rows])
    add_line(figure, widths, selection.width_bound(widths, LENGTH, SUPPORT, DIMENSION), "bound for any network", 1)
    finished(figure, x="width of the first layer", y="mean squared error", linear_y=True)
    figure.update_xaxes(type="linear", dtick=None)
    caption = f"T = {LENGTH}, q = {SUPPORT}, d = {DIMENSION}: means over seeds, with errors. The bound ends at T d = {LENGTH * DIMENSION}."
    return Plot(figure, "Trained networks sit on the bound", caption, wide=True)


@measure_perceptron.table()
def widths(data: xarray.Dataset) -> Table:
    rows = [[str(width), common.with_error(error, scatter), f"{bound:.3g}"] for width, error, scatter, bound in _by_width(data)]
    return Table(("width of the first layer", "mean squared error", "bound"), rows, f"{_words(data)}.", "Widths")
