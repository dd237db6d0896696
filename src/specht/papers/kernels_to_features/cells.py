"""Theory of finite width against whole networks, cell by cell: one data set, one width, one target, no number fitted."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import plotly.graph_objects as go
import xarray

from specht import nn
from specht.papers import Finding, Grid, Scale, above, at_most, common, grid, measure, points, present
from specht.papers.kernels_to_features import tasks
from specht.report import Plot, Table, add_guide, add_points, finished, points_of

LENGTHS, NUMBERS, WIDTHS = (8, 16, 32), (16, 32, 64, 128), (16, 32, 64)
ACTIVATIONS = ("linear", "erf")
METHODS = {
    "linear": ("networks", "infinite", "saddle", "fast", "layers", "heads"),
    "erf": ("networks", "infinite", "saddle", "fast", "heads", "readout"),
}
WORDS = {
    "networks": "whole networks",
    "infinite": "infinite width",
    "saddle": "saddle",
    "fast": "short chains from the saddle",
    "layers": "embedding and layers sampled",
    "heads": "and heads sampled",
    "readout": "all but the readout sampled",
}
DEEPEST = {"linear": "heads", "erf": "readout"}
"""The level that leaves nothing out."""


class Cell(NamedTuple):
    """What is learnt, and by which network."""

    activation: str
    target: str
    length: int
    n: int
    width: int
    seed: int

    @property
    def network(self) -> tuple[int, int, int]:
        """Width, heads and their size: half as many heads of size 4 as networks are wide, as `specht predict` has them."""
        return self.width, self.width // 2, 4

    def flips(self) -> tasks.Flips:
        """Its samples."""
        return tasks.flips(self.target, self.length, self.n, self.seed, activation=self.activation)

    @classmethod
    def of(cls, point: xarray.Dataset) -> Cell:
        """The cell at a point of a dataset, whose dimension `cell` holds all but the seed."""
        return cls(*json.loads(point["cell"].item()), seed=int(point["seed"]))

    def __str__(self) -> str:
        return f"{self.activation}, {self.target}, L = {self.length}, N = {self.n}, width {self.width}"


def _square(activation: str) -> list[Cell]:
    """Every target at every length; widths and numbers of samples go round."""
    return [
        Cell(activation, target, length, NUMBERS[(i + j) % 4], WIDTHS[(i + j) % 3], seed=4 * j + i)
        for i, target in enumerate(tasks.TARGETS)
        for j, length in enumerate(LENGTHS)
    ]


CELLS = (
    *_square("linear"),
    *_square("erf"),
    Cell("linear", "copy", 16, 48, 16, 1),
    Cell("linear", "copy", 32, 32, 16, 2),
    Cell("linear", "copy", 16, 64, 64, 12),
    Cell("linear", "copy", 32, 64, 16, 13),
)
"""Chosen before any of them was run. The last four have more of the target in which the symmetry breaks."""
SMOKE = Cell("linear", "copy", 4, 8, 4, 0), Cell("erf", "copy", 4, 8, 4, 0)
SMALL = tuple(cell for cell in CELLS if cell.length <= 16 and cell.width <= 32 and (cell.activation == "linear" or cell.n <= 32))


def runs(cells: Sequence[Cell], scale: Scale, methods: Sequence[str] | None = None) -> Grid:
    """The points at which cells are measured: by some methods, or by all that their activation has."""
    short, long = {"chains": 3, "burn_in": 10, "samples": 10}, {"chains": 8, "burn_in": 100, "samples": 120}
    return points(
        {"cell": list(cell[:5]), "seed": cell.seed, "method": method} for cell in cells for method in methods or METHODS[cell.activation]
    ) * grid(**(short if scale == "smoke" else long))


def _all(scale: Scale) -> Grid:
    cells = common.at_scale(scale, smoke=SMOKE, quick=SMALL, full=CELLS)
    return runs(sorted(cells, key=lambda cell: cell.length * cell.n * cell.width**2), scale)  # what is quick comes first


def measure_cell(cell: Sequence[Any], method: str, chains: int, burn_in: int, samples: int, seed: int) -> xarray.Dataset:
    """The test loss of one cell by one method, with its standard error over chains."""
    chosen = Cell._make((*cell, seed))
    data = chosen.flips()
    if method == "networks":
        loss, stderr = data.network_loss(nn.Size(*chosen.network), chains, burn_in, samples)
    elif method == "infinite":
        loss, stderr = data.infinite_loss(), 0.0
    elif method in ("saddle", "fast"):
        loss, stderr = data.loss(data.adapt(chosen.width, method=method))
    else:
        loss, stderr = data.loss(data.sampled(chosen.width, method, chains, burn_in, samples))
    return xarray.Dataset({"loss": loss, "stderr": stderr})


all_cells = measure(_all)(measure_cell)


def by_method(data: xarray.Dataset, method: str) -> xarray.Dataset:
    """The losses by one method; `sel(method=...)` would mean something else."""
    return data.sel({"method": method}, drop=True)


def agreement(data: xarray.Dataset, method: str, activation: str | None = None) -> xarray.Dataset:
    """The loss of a method over that of whole networks in every cell that has it, the error of this ratio, and how far it is from one."""
    own, networks = by_method(data, method), by_method(data, "networks")
    ratio, stderr = tasks.over_networks(own["loss"], own["stderr"], networks["loss"], networks["stderr"])
    cells = present(xarray.Dataset({"ratio": ratio, "stderr": stderr, "error": abs(ratio - 1.0)}))
    return cells.isel(cell=[activation in (None, Cell.of(cell).activation) for cell in points_of(cells, "cell")])


def mean_error(data: xarray.Dataset, method: str, activation: str | None = None) -> Finding:
    """The mean relative error over cells, and its standard error from sampling."""
    cells = agreement(data, method, activation)
    worst = cells.isel(cell=int(cells["error"].argmax("cell")))
    words = (
        f"{cells.sizes['cell']} cells; the worst is {Cell.of(worst)}: {float(worst['ratio']) - 1.0:+.0%} ± {float(worst['stderr']):.0%}."
    )
    return Finding(float(cells["error"].mean()), math.sqrt(float((cells["stderr"] ** 2).sum())) / cells.sizes["cell"], words)


ERROR = "mean relative error of the test loss"
for _name, _method, _activation, _rule in (
    ("linear", "heads", "linear", at_most(0.05, ERROR, percent=True)),
    ("erf", "readout", "erf", at_most(0.10, ERROR, percent=True)),
    ("erf-heads", "heads", "erf", at_most(0.10, ERROR, percent=True)),
    ("layers", "layers", "linear", at_most(0.12, f"{ERROR}, embedding and layers sampled,", percent=True)),
    ("fast", "fast", None, at_most(0.25, f"{ERROR}, linear and erf,", percent=True)),
    ("saddle", "saddle", None, at_most(0.25, f"{ERROR}, linear and erf,", percent=True)),
    ("infinite", "infinite", None, above(0.25, ERROR, percent=True)),
):
    all_cells.claim(f"cells-{_name}", _rule, null=0.0 if _method == "infinite" else 1.0)(
        partial(mean_error, method=_method, activation=_activation)
    )


@all_cells.claim("cells-worst", at_most(0.1, "relative error", percent=True, where="in every cell"), null=1.0)
def worst_error(data: xarray.Dataset) -> Finding:
    """Of the level that leaves nothing out: the cell that is nearest to its bound."""
    cells = xarray.concat([agreement(data, DEEPEST[activation], activation) for activation in ACTIVATIONS], "cell")
    worst = cells.isel(cell=int((cells["error"] / (0.1 + 3.0 * cells["stderr"])).argmax("cell")))
    words = f"{cells.sizes['cell']} cells; nearest to its bound is {Cell.of(worst)}."
    return Finding(float(worst["error"]), float(worst["stderr"]), words)


@all_cells.claim(
    "cells-counts",
    at_most(0.1, "excess of the loss over that of infinite width", percent=True, where="wherever the target counts"),
    null=1.0,
)
def largest_excess(data: xarray.Dataset) -> Finding:
    """Counting at finite width beside counting at infinite width, in the loss over the target's mean square."""
    excesses = []
    for point in points_of(data, "cell"):
        cell = Cell.of(point)
        if cell.target == "counts":
            deepest, infinite = (by_method(point, method) for method in (DEEPEST[cell.activation], "infinite"))
            unit = float(infinite["loss"])
            excesses.append((float(deepest["loss"]) / unit - 1.0, float(deepest["stderr"]) / unit, cell))
    if not excesses:
        raise common.unresolved("no cell of this scale counts.")
    excess, stderr, cell = max(excesses, key=lambda one: one[0])
    words = f"{len(excesses)} cells; the largest loss over that of infinite width, less one, is shown: {cell}."
    return Finding(excess, stderr, words)


@all_cells.figure()
def predicted_against_networks(data: xarray.Dataset) -> list[Plot]:
    """What leaves nothing out beside infinite width, and what is cheaper and leaves something out."""
    exact = {
        "infinite width": ("infinite", ACTIVATIONS),
        "linear: heads sampled": ("heads", ("linear",)),
        "erf: all but the readout sampled": ("readout", ("erf",)),
    }
    cheaper = {
        **{WORDS[method]: (method, ACTIVATIONS) for method in ("saddle", "fast", "layers")},
        "erf: heads sampled": ("heads", ("erf",)),
    }
    bars = "Bars are one standard error of sampling."
    return [
        Plot(_figure(data, exact), "Predicted against whole networks", f"Each point is a cell: on the line, theory is right. {bars}"),
        Plot(_figure(data, cheaper), "What is cheaper", f"Methods that leave something out, in the same cells. {bars}"),
    ]


def _figure(data: xarray.Dataset, shown: dict[str, tuple[str, tuple[str, ...]]]) -> go.Figure:
    networks = by_method(data, "networks")["loss"]
    figure = go.Figure()
    for number, (words, (method, activations)) in enumerate(shown.items()):
        predicted = present(by_method(data, method))
        predicted = predicted.isel(cell=[Cell.of(point).activation in activations for point in points_of(predicted, "cell")])
        if predicted.sizes["cell"]:
            x = networks.sel(cell=predicted["cell"]).values
            add_points(figure, x, predicted["loss"].values, words, number, errors=predicted["stderr"].values)
    ends = [float(networks.min()), float(networks.max())]
    add_guide(figure, ends, ends, "equal")
    return finished(figure, x="test loss of whole networks", y="predicted test loss")


@all_cells.table()
def how_far_off(data: xarray.Dataset) -> Table:
    rows = []
    for activation in ACTIVATIONS:
        for method in METHODS[activation][1:]:
            cells = agreement(data, method, activation).sizes["cell"]
            if cells:
                mean = mean_error(data, method, activation)
                rows.append([activation, WORDS[method], common.with_error(100.0 * mean.value, 100.0 * (mean.stderr or 0.0)), str(cells)])
    header = ("activation", "method", "mean relative error, %", "cells")
    return Table(header, rows, "Of the test loss, against whole networks.", "How far off")


@all_cells.table()
def losses(data: xarray.Dataset) -> Table:
    by_cell = sorted((Cell.of(point), point) for point in points_of(data, "cell"))
    rows = [
        [cell.activation, cell.target, *map(str, cell[2:5]), *(_shown(by_method(point, method)) for method in WORDS)]
        for cell, point in by_cell
    ]
    header = ("activation", "target", "L", "N", "width", *WORDS.values())
    return Table(header, rows, "Test loss, over the mean square of the target; ± one standard error of sampling.", "All cells")


def _shown(data: xarray.Dataset) -> str:
    return "" if data["loss"].isnull() else common.with_error(float(data["loss"]), float(data["stderr"]))
