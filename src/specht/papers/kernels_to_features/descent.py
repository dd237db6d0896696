"""Networks trained by gradient descent beside networks sampled from their posterior, on the same samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht import nn
from specht.papers import Finding, Grid, Scale, above, at_most, common, grid, measure, points
from specht.papers.kernels_to_features import cells
from specht.papers.kernels_to_features.cells import SMOKE, Cell
from specht.report import Plot, Table, add_guide, add_points, finished, table

CELLS = (
    Cell("linear", "copy", 16, 32, 32, 4),
    Cell("linear", "copy", 16, 48, 16, 1),
    Cell("linear", "copy", 32, 64, 16, 13),
    Cell("linear", "counts", 16, 16, 32, 7),
    Cell("erf", "copy", 16, 32, 32, 4),
    Cell("erf", "and", 8, 32, 32, 1),
)
"""Of the cells that are compared with theory, chosen before any network was trained."""
STARTS, STEPS, RATE = 8, 2000, 0.003
APART = 2.0
"""How many times the loss of infinite width is that of sampled networks where the two can be told apart."""
NEAR = 0.25


def _cells(scale: Scale) -> Sequence[Cell]:
    return SMOKE[:1] if scale == "smoke" else CELLS


def _trainings(scale: Scale) -> Grid:
    starts, steps = (3, 20) if scale == "smoke" else (STARTS, STEPS)
    return points({"cell": list(cell[:5]), "seed": cell.seed} for cell in _cells(scale)) * grid(starts=starts, steps=steps)


@measure(_trainings)
def measure_descent(cell: Sequence[Any], starts: int, steps: int, seed: int) -> xarray.Dataset:
    """The test loss of every network, and of their mean, after training without noise or weight decay."""
    chosen = Cell._make((*cell, seed))
    data, size = chosen.flips(), nn.Size(*chosen.network)
    unit = math.sqrt(data.scale)  # labels are as large as random networks, as where they are sampled
    trained = nn.train(
        lambda key: nn.Network.init(data.arch, size, key=key),
        nn.Fixed(data.x, unit * data.y),
        nn.Recipe(steps=steps, learning_rate=RATE, optimiser="adam"),
        seeds=range(starts),
        chunk=starts,
    )
    outputs = np.stack([trained.function(seed=start)(data.new)[:, 0] for start in range(starts)]) / unit
    losses = np.square(outputs - data.new_y).mean(axis=1)
    of_mean = float(np.square(outputs.mean(axis=0) - data.new_y).mean())
    left = float(trained.losses["train"][..., -1].mean()) / data.scale
    return xarray.Dataset({"loss": ("start", losses), "of_mean": of_mean, "train": left})


sampled = measure(lambda scale: cells.runs(_cells(scale), scale, ("networks", "infinite")))(cells.measure_cell)
"""What trained networks are compared with, which the cells have computed already."""


def _beside(data: xarray.Dataset, others: xarray.Dataset) -> xarray.Dataset:
    """By cell, the mean loss of trained networks with its error, that of sampled networks and of infinite width, and how far trained ones
    have gone from infinite width (0) to sampled ones (1) on a logarithmic scale, start by start, where the two can be told apart."""
    sampled, infinite = (cells.by_method(others, method)["loss"] for method in ("networks", "infinite"))
    mean, stderr = common.mean_and_error(data["loss"], "start")
    together = data.assign(mean=mean, stderr=stderr, sampled=sampled, infinite=infinite)
    is_apart = (infinite / sampled >= APART) | (sampled / infinite >= APART)
    way = np.log(data["loss"] / infinite) / np.log(sampled / infinite)
    return together.assign(way=xarray.where(is_apart, way, np.nan))


@measure_descent.claim(
    "descent-leaves",
    above(
        0.5,
        "way of trained networks from the loss of infinite width to that of sampled ones, on a logarithmic scale, in every cell "
        f"where these differ {APART:g} times,",
    ),
    null=0.0,
    beside=[sampled],
)
def least_way(data: xarray.Dataset, others: xarray.Dataset) -> Finding:
    """Where sampled networks are far from infinite width, trained ones are nearer to them than to it."""
    apart = _beside(data, others).dropna("cell", subset=["way"])
    if not apart.sizes["cell"]:
        raise common.unresolved("sampled networks and infinite width are not told apart in any cell.")
    means, errors = common.mean_and_error(apart["way"], "start")
    least = int(means.argmin("cell"))
    starts = apart.sizes["start"]
    words = (
        f"{apart.sizes['cell']} cells, {starts} networks each; 0 is infinite width and 1 sampled networks, on a logarithmic scale. "
        f"The least is shown: {Cell.of(apart.isel(cell=least))}."
    )
    return common.with_interval(Finding(float(means[least]), float(errors[least]), words), starts)


@measure_descent.claim("descent-near", at_most(NEAR, "mean relative difference", percent=True), null=1.0, beside=[sampled])
def difference_from_sampled(data: xarray.Dataset, others: xarray.Dataset) -> Finding:
    """The mean relative difference of the losses of trained and sampled networks."""
    beside = _beside(data, others)
    off = (beside["mean"] / beside["sampled"] - 1.0).values
    worst = int(np.abs(off).argmax())
    words = f"{len(off)} cells; the worst is {Cell.of(beside.isel(cell=worst))}: {off[worst]:+.0%}."
    return Finding(float(np.abs(off).mean()), float(np.linalg.norm(beside["stderr"] / beside["sampled"])) / len(off), words)


@measure_descent.figure(sampled)
def trained_and_sampled(data: xarray.Dataset, others: xarray.Dataset) -> Plot:
    beside, figure = _beside(data, others), go.Figure()
    x = beside["sampled"].values
    add_points(figure, x, beside["infinite"].values, "infinite width", 0)
    add_points(figure, x, beside["mean"].values, "trained, mean over networks", 1, errors=beside["stderr"].values)
    add_points(figure, x, beside["of_mean"].values, "mean of the trained functions", 2)
    add_guide(figure, [min(x), max(x)], [min(x), max(x)], "equal")
    finished(figure, x="test loss of sampled networks", y="test loss")
    return Plot(figure, "Trained and sampled networks", "Each column of points is a cell. Bars are one standard error over networks.")


@measure_descent.table(sampled)
def losses(data: xarray.Dataset, others: xarray.Dataset) -> Table:
    columns = {
        "cell": lambda point: str(Cell.of(point)),
        "infinite width": "infinite:.3g",
        "sampled": "sampled:.3g",
        "trained, each": lambda point: common.with_error(float(point["mean"]), float(point["stderr"])),
        "trained, their mean": "of_mean:.3g",
        "left on the samples": "train:.2g",
    }
    note = "Test loss, over the mean square of the target."
    return table(_beside(data, others), columns, rows=["cell"], note=note, title="Trained and sampled")
