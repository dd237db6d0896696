"""The theory without data: against averages over data sets, and how the number of samples grows with the context."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht.learning import adaptive
from specht.papers import Finding, at_least, at_most, common, grid, measure, rows
from specht.papers.kernels_to_features import tasks
from specht.report import Plot, Table, add_line, finished, points_of, table

LENGTH = 16
AVERAGED = ("copy", "and", "level 1", "counts")
WIDTHS = (4, 16, 64, 256)
LOSS = 0.2
"""Test loss at which a target counts as learnt."""
CURVES = ("infinite", *WIDTHS)


def task(target: str, length: int) -> Any:
    """A task of the theory without data."""
    return specht.Task(
        specht.sources.uniform(2), specht.Target(target, lambda x: tasks.labels(target, x, length), reads=tasks.READS[target])
    )


_AVERAGES = grid(target=AVERAGED, datasets=200, seed=1)


@measure(
    smoke=grid(target=AVERAGED, datasets=2, seed=1) * grid(width=16, n=24),
    quick=_AVERAGES * rows(("width", "n"), (16, 24), (64, 48)),
    full=_AVERAGES * grid(width=[16, 64], n=[24, 48]),
)
def measure_average(target: str, width: int, n: int, datasets: int, seed: int) -> xarray.Dataset:
    """Test loss by theory without data, and at the saddle averaged over data sets."""
    arch, to_learn = specht.Architecture(vocab=2, length=LENGTH), task(target, LENGTH)
    theory = specht.learning_curve(arch, to_learn, [n], width=width, ridge=tasks.RIDGE)
    losses = []
    for number in range(datasets):
        data = tasks.flips("copy", LENGTH, n, 1000 * seed + number)
        data = data._replace(arch=arch, y=to_learn.target(data.x)[:, 0], new_y=to_learn.target(data.new)[:, 0])
        losses.append(data.loss(data.adapt(adaptive.Widths(width), method="saddle"))[0])
    stderr = np.std(losses, ddof=1) / math.sqrt(datasets)
    numbers = {"theory": theory.test[0], "infinite": theory.infinite_test[0], "average": np.mean(losses), "stderr": stderr}
    return xarray.Dataset({name: float(value) for name, value in numbers.items()})


@measure(
    smoke=grid(length=[8, 16]),
    quick=grid(length=[8, 16, 32, 64, 128, 256, 1024, 4096]),
    full=grid(length=[2**power for power in range(3, 15)]),
)
def measure_growth(length: int) -> xarray.Dataset:
    """Samples for a test loss of 0.2, where symmetry breaks and how, copying the first flip, at every width."""
    arch = specht.Architecture(vocab=2, length=length)
    numbers = np.geomspace(4.0, 200.0 * length, 60)
    curve = specht.learning_curve(arch, task("copy", length), numbers, width=WIDTHS, ridge=tasks.RIDGE)
    below = np.flatnonzero(curve.infinite_test <= LOSS)
    infinite = np.interp(-math.log(LOSS), -np.log(curve.infinite_test), np.log(numbers)) if len(below) else math.inf
    needed = [math.exp(infinite), *(curve.samples_for(LOSS, width=width) for width in WIDTHS)]
    breaks = [curve.transition(width) for width in WIDTHS]
    fields = {
        "needed": ("curve", [_or_zero(samples) for samples in needed]),
        "breaks": ("width", [_or_zero(one.samples) for one in breaks]),
        "first_order": ("width", [float(one.kind == "first order") for one in breaks]),
    }
    return xarray.Dataset(fields, {"curve": [str(one) for one in CURVES], "width": list(WIDTHS)})


def _or_zero(samples: float) -> float:
    """A number of samples, or zero where no number on the curve is enough: records hold finite numbers."""
    return samples if math.isfinite(samples) else 0.0


@measure_average.claim("average", at_most(0.12, "mean relative error of the test loss over four targets", percent=True), null=1.0)
def error_of_the_theory(data: xarray.Dataset) -> Finding:
    """The mean relative difference from the averages."""
    cells = list(points_of(data, "target", "width", "n"))
    theory, average, stderr = (np.array([float(cell[name]) for cell in cells]) for name in ("theory", "average", "stderr"))
    errors = np.abs(theory / average - 1.0)
    worst = cells[int(errors.argmax())]
    words = (
        f"{len(cells)} cells of {', '.join(AVERAGED)}, {data.datasets} data sets each, L = {LENGTH}; the worst, {errors.max():.0%}, is "
        f"{worst['target'].item()} at width {worst['width'].item()}, N = {worst['n'].item()}."
    )
    return Finding(float(errors.mean()), float(np.sqrt(np.square(stderr / average).sum()) / len(cells)), words)


def exponents(data: xarray.Dataset, most: int = 256) -> dict[str, float]:
    """The exponent of the number of samples against the length, up to a length, for each width."""
    short = data.sel(length=data["length"] <= most)
    logarithms = np.log(short["needed"].transpose("length", "curve").values).T
    return {str(name): float(np.polyfit(np.log(short["length"]), row, 1)[0]) for name, row in zip(CURVES, logarithms, strict=True)}


@measure_growth.claim("growth", at_least(0.3, "exponent of infinite width less that at width 16, over L = 8 to 256,"), null=0.0)
def difference_of_exponents(data: xarray.Dataset) -> Finding:
    """Narrow networks need samples that grow more slowly with the length than at infinite width."""
    by_width = exponents(data)
    listed = ", ".join(f"{name}: {value:.2f}" for name, value in by_width.items())
    words = f"Exponents by theory without data: {listed}. That of infinite width less that of width 16 is shown."
    return Finding(by_width["infinite"] - by_width["16"], regime=words)


@measure_growth.claim(
    "gradual", at_most(0, "number of lengths up to 1024 and widths at which another minimum becomes the lowest at the breaking"), null=1
)
def jumps(data: xarray.Dataset) -> Finding:
    """Breaking is gradual at short lengths."""
    short = data.sel(length=data["length"] <= 1024)
    beyond = data["length"][(data["length"] > 1024) & (data["first_order"] > 0.0).any("width")]
    later = f" The shortest length with a jump is {int(beyond.min())}." if beyond.size else ""
    words = f"Widths {common.listed(WIDTHS)}, L = {common.span(short['length'].values)}; the number of jumps is shown.{later}"
    return Finding(float(short["first_order"].sum()), regime=words)


@measure_average.table()
def with_and_without_data(data: xarray.Dataset) -> Table:
    columns = {
        "target": "target",
        "width": "width",
        "N": "n",
        "infinite width": "infinite:.3g",
        "theory without data": "theory:.3g",
        "average over data sets": lambda cell: common.with_error(float(cell["average"]), float(cell["stderr"])),
    }
    return table(data, columns, note="Test loss at the saddle.", title="With and without data")


def _name(curve: str | int) -> str:
    return "infinite width" if curve == "infinite" else f"width {curve}"


@measure_growth.figure()
def samples_and_breaks(data: xarray.Dataset) -> list[Plot]:
    lengths, needed, breaks = data["length"].values, go.Figure(), go.Figure()
    for number, curve in enumerate(CURVES):
        add_line(needed, lengths, data["needed"].sel(curve=str(curve)).values, _name(curve), number)
    for number, width in enumerate(WIDTHS):
        add_line(breaks, lengths, data["breaks"].sel(width=width).values, _name(width), number + 1)
    finished(needed, x="length L of the context", y="samples N* for a test loss of 0.2")
    finished(breaks, x="length L of the context", y="samples N_c")
    return [
        Plot(needed, "Samples to copy the first flip", "By theory without data. Narrow embeddings leave the kernel early."),
        Plot(breaks, "Where the symmetry breaks", "From N_c samples on, the position that is read has twice the variance of the others."),
    ]


@measure_growth.table()
def samples_needed(data: xarray.Dataset) -> Table:
    cells = [
        [str(point["length"].item()), *(f"{value:.3g}" if value else "more" for value in point["needed"].values)]
        for point in points_of(data, "length")
    ]
    return Table(("L", *map(_name, CURVES)), cells, "Samples for a test loss of 0.2, copying the first flip.", "Samples needed")
