"""Which symmetry is left: the positions that an embedding singles out are those that the target reads, and none without a reason."""

from __future__ import annotations

import numpy as np
import xarray

from specht.papers import Finding, at_least, every, grid, measure
from specht.papers.kernels_to_features import tasks
from specht.report import Table

LENGTH, WIDTH = 16, 16
SHUFFLED = "shuffled labels"
"""The labels of copying in another order: nothing is left to read."""
CASES = ("copy", "and", "counts", SHUFFLED)
MOST = 0.9


@measure(
    smoke=grid(target=CASES, n=48, seed=range(1)),
    quick=grid(target=CASES, n=96, seed=range(5)),
    full=grid(target=CASES, n=96, seed=range(20)),
)
def measure_positions(target: str, n: int, seed: int) -> xarray.Dataset:
    """The positions that the saddle singles out, and the largest variance of a position over the median."""
    data = tasks.flips("copy" if target == SHUFFLED else target, LENGTH, n, seed)
    if target == SHUFFLED:
        data = data._replace(y=np.random.default_rng([seed, 9]).permutation(data.y))
    saddle = data.adapt(WIDTH, method="saddle")
    positions = saddle.order.positions[:LENGTH]
    ratio = positions / np.median(positions)
    return xarray.Dataset({"singled_out": ("position", saddle.singled_out.astype(np.float64)), "ratio": ("position", ratio)})


def _right(data: xarray.Dataset, target: str) -> tuple[float, int]:
    """The share of data sets in which just the right positions are singled out, and how many data sets there are."""
    wanted = np.isin(np.arange(LENGTH), tasks.READS.get(target, ()))
    right = ((data["singled_out"].sel(target=target).transpose("seed", "position").values > 0.0) == wanted).all(axis=1)
    return float(right.mean()), len(right)


def shares(data: xarray.Dataset, *targets: str) -> list[Finding]:
    """How often just the right positions are singled out, for each of some targets."""
    findings = []
    for share, count in (_right(data, target) for target in targets):
        words = f"L = {LENGTH}, width {WIDTH}, N = {data.n}, {count} data sets each of {' and '.join(targets)}; the least share is shown."
        findings.append(Finding(share, (share * (1.0 - share) / count) ** 0.5, words))
    return findings


@measure_positions.claim(
    "symmetry-broken",
    every(
        at_least(MOST, "share of data sets in which just the positions that the target reads are singled out", percent=True),
        "for copy and AND",
    ),
    null=0.0,
)
def shares_where_positions_matter(data: xarray.Dataset) -> list[Finding]:
    return shares(data, "copy", "and")


@measure_positions.claim(
    "symmetry-kept",
    every(at_least(MOST, "share of data sets in which no position is singled out", percent=True), "for counts and for shuffled labels"),
    null=0.0,
)
def shares_where_none_does(data: xarray.Dataset) -> list[Finding]:
    return shares(data, "counts", SHUFFLED)


@measure_positions.table()
def singled_out(data: xarray.Dataset) -> Table:
    rows = []
    for target in CASES:
        ratios = data["ratio"].sel(target=target).transpose("seed", "position").values
        reads = list(tasks.READS.get(target, ()))
        rest = np.delete(ratios, reads, axis=1)
        read = f"{ratios[:, reads].mean():.2f}" if reads else ""
        rows.append([target, str(reads or "none"), read, f"{rest.mean():.2f}", f"{_right(data, target)[0]:.0%}"])
    header = ("target", "reads", "their variance", "that of the others", "just these singled out")
    return Table(header, rows, "Variances of positions over their median, at the saddle, averaged over data sets.", "What is singled out")
