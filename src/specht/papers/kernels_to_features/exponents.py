"""Samples that whole networks need against the length of the context, beside theory without data and infinite width."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht import nn
from specht.papers import Finding, above, at_most, common, grid, measure
from specht.papers.kernels_to_features import tasks
from specht.papers.kernels_to_features.phases import LOSS, task
from specht.report import Plot, Table, add_line, add_points, finished, points_of

GRID = (6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Numbers of samples that networks are sampled with."""
WIDTHS = (16, 64)
NEAR = 0.15
"""Difference of exponents that is allowed."""
NAMES = {"fast": "short chains", "theory": "theory without data", "infinite": "infinite width"}


_LONG = grid(seed=range(3), chains=4, burn_in=40, samples=40)


@measure(
    smoke=grid(width=4, length=[4, 8], seed=range(2), chains=3, burn_in=4, samples=4),
    quick=grid(width=16, length=[8, 16, 32]) * _LONG,
    full=grid(width=WIDTHS, length=[8, 16, 32, 64]) * _LONG,
)
def measure_exponent(length: int, width: int, chains: int, burn_in: int, samples: int, seed: int) -> xarray.Dataset:
    """Samples from which networks copy the first flip with a test loss of 0.2, on one data set that grows; theory beside it."""

    def loss(n: int) -> float:
        return tasks.flips("copy", length, n, seed).network_loss(nn.Size(width, width // 2, 4), chains, burn_in, samples)[0]

    def fast(n: int) -> float:
        data = tasks.flips("copy", length, n, seed)
        return data.loss(data.adapt(width, method="fast"))[0]

    needed, tried = crossing(loss)
    arch = specht.Architecture(vocab=2, length=length)
    curve = specht.learning_curve(arch, task("copy", length), np.geomspace(4.0, 100.0 * length, 80), width=width, ridge=tasks.RIDGE)
    infinite = math.exp(np.interp(-math.log(LOSS), -np.log(curve.infinite_test), np.log(curve.n_train)))
    theory = curve.samples_for(LOSS)
    fields = {
        "networks": needed,
        "fast": crossing(fast)[0],
        "theory": theory,
        "infinite": infinite,
        "n": ("tried", [float(n) for n in tried]),
        "loss": ("tried", list(tried.values())),
    }
    return xarray.Dataset(fields)


def crossing(loss: Callable[[int], float]) -> tuple[float, dict[int, float]]:
    """Where a falling loss crosses 0.2, by halving the grid and a straight line on logarithmic axes; all losses that it took."""
    tried: dict[int, float] = {}

    def at(place: int) -> float:
        return tried.setdefault(GRID[place], max(loss(GRID[place]), 1e-6))

    low, high = 0, len(GRID) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(middle) > LOSS else (low, middle)
    left, right = math.log(at(low) / LOSS), math.log(at(high) / LOSS)
    share = left / (left - right) if left > 0.0 > right else (0.0 if left <= 0.0 else 1.0)
    return GRID[low] * (GRID[high] / GRID[low]) ** share, tried


def exponents(data: xarray.Dataset, name: str, width: int) -> np.ndarray:
    """The exponent of a curve at a width, for each of the independent data sets."""
    curves = data[name].sel(width=width).transpose("length", "seed").values
    return np.polyfit(np.log(data["length"].values), np.log(curves), 1)[0]


def gaps(data: xarray.Dataset, curve: str) -> list[Finding]:
    """By how much a curve's exponent is above that of networks on the same data, at every width."""
    differences, lines = [], []
    for width in data["width"].values.tolist():
        networks, own = exponents(data, "networks", width), exponents(data, curve, width)
        differences.append(common.mean_of(own - networks))
        mean = common.mean_of(networks)
        lines.append(f"width {width}: networks {mean.value:.2f} ± {mean.stderr:.2f}, {NAMES[curve]} {own.mean():.2f}")
    words = (
        f"L = {common.span(data['length'].values)}, {data.sizes['seed']} data sets; {'; '.join(lines)}. The largest difference is shown."
    )
    return [dataclasses.replace(gap, regime=words) for gap in differences]


def largest_gap(data: xarray.Dataset, curve: str) -> Finding:
    """How far the exponent of a theory is from that of networks at the width where it is farthest."""
    worst = max(gaps(data, curve), key=lambda finding: abs(finding.value))
    return Finding(abs(worst.value), worst.stderr, worst.regime)


_RULE = at_most(NEAR, "difference of the exponent from that of networks", where="at every width")
measure_exponent.claim("exponents", _RULE, null=0.5)(partial(largest_gap, curve="theory"))
measure_exponent.claim("exponents-fast", _RULE, null=0.5)(partial(largest_gap, curve="fast"))


@measure_exponent.claim(
    "exponents-infinite",
    above(NEAR, "difference of its exponent from that of networks", where="over data sets"),
    null=0.0,
)
def smallest_gap_of_infinite_width(data: xarray.Dataset) -> Finding:
    best = min(gaps(data, "infinite"), key=lambda finding: abs(finding.value))
    words = best.regime.replace("largest", "smallest")
    gap = Finding(abs(best.value), best.stderr, words, shown=(best.value, best.stderr))
    return common.with_interval(gap, data.sizes["seed"])


@measure_exponent.figure()
def samples_that_networks_need(data: xarray.Dataset) -> Plot:
    figure, widths, lengths = go.Figure(), data["width"].values, data["length"].values
    means = np.exp(np.log(data[["fast", "theory", "infinite"]]).mean("seed"))
    for number, width in enumerate(widths):
        at = data.sel(width=width)
        seeds = at.sizes["seed"]
        networks = at["networks"].transpose("length", "seed").values.ravel()
        add_points(figure, np.repeat(lengths, seeds).tolist(), networks, f"networks of width {width}", number)
        add_line(figure, lengths, means["fast"].sel(width=width).values, f"short chains on the same data, width {width}", number)
        add_line(figure, lengths, means["theory"].sel(width=width).values, f"theory without data, width {width}", number, dash="dash")
    infinite = np.exp(np.log(means["infinite"]).mean("width"))
    add_line(figure, lengths, infinite.values, "infinite width", len(widths))
    finished(figure, x="length L of the context", y="samples N* for a test loss of 0.2", ticks=lengths)
    caption = (
        "Points: networks sampled from their posterior, one for each data set. Lines: the theory; short chains as the mean over data sets."
    )
    return Plot(figure, "Samples that networks need", caption, wide=True)


@measure_exponent.table()
def samples_needed(data: xarray.Dataset) -> Table:
    rows = []
    for point in points_of(data, "width", "length"):
        by_data_set = [", ".join(f"{value:.0f}" for value in point[name].values) for name in ("networks", "fast")]
        theory = [f"{float(point[name].isel(seed=0)):.0f}" for name in ("theory", "infinite")]
        rows.append([str(point["width"].item()), str(point["length"].item()), *by_data_set, *theory])
    header = ("width", "L", "networks, by data set", "short chains, by data set", "theory without data", "infinite width")
    return Table(header, rows, "Samples for a test loss of 0.2, copying the first flip.", "Samples needed")
