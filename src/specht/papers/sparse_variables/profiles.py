"""Beside the paper: the symmetry profiles of its targets, and what they say about kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht.papers import Finding, above, both, every, grid, measure, near, positive
from specht.report import Plot, Table, colour, finished, table
from specht.studies import sparse

SUPPORT, MOST = 3, 4
NEAR = 0.05
"""How far shares may be from the exact ones: profiles of 8000 sequences have intervals of a few hundredths."""
FUNCTIONS = ("and", "or", "majority", "parity")


@measure(
    smoke=grid(target=FUNCTIONS, length=10, samples=8000, seed=5),
    quick=grid(target=FUNCTIONS, length=50, samples=8000, seed=5),
    full=grid(target=FUNCTIONS, length=200, samples=20000, seed=5),
)
def measure_profile(target: str, length: int, samples: int, seed: int) -> xarray.Dataset:
    """The weights of a sparse function by level, on bits that balance its labels."""
    chosen = sparse.sparse_function(target, SUPPORT)
    p = chosen.probability
    measured = specht.profile(
        chosen.target(length), specht.sources.iid([1.0 - p, p]), length, seed, samples=samples, max_level=MOST, readout="mean"
    )
    shares = np.array([[share.value, share.low, share.high] for share in measured.shares])
    fields: dict[str, Any] = {name: ("level", column) for name, column in zip(("share", "low", "high"), shares.T, strict=True)}
    fields |= {"variance_share": ("level", np.asarray(measured.variance_shares)), "above_high": measured.above.high / measured.total}
    return xarray.Dataset(fields, {"level": list(measured.levels)})


def parity_share(length: int, level: int) -> float:
    """The share of a product of s uniform signs at a level: dim [L-m, m] over the number of s-subsets.

    >>> [round(parity_share(10, level) * 120) for level in range(4)]
    [1, 9, 35, 75]
    """
    before = math.comb(length, level - 1) if level else 0
    return (math.comb(length, level) - before) / math.comb(length, SUPPORT)


@measure_profile.claim(
    "profile-parity",
    both(
        above(0.5, f"share at level {SUPPORT}"),
        every(near(0.0, NEAR, "share less the exact one, dim [L−m, m] / C(L, s)"), "at every level"),
    ),
    null=(0.0, [1.0]),
)
def shares_of_parity(data: xarray.Dataset) -> tuple[Finding, dict[int, float]]:
    parity = data["share"].sel(target="parity", level=slice(0, SUPPORT))
    exact = {level: parity_share(data.length, level) for level in parity.level.values.tolist()}
    words = f"L = {data.length}, {data.samples} sequences; the exact share at level {SUPPORT} is {exact[SUPPORT]:.3f}."
    return Finding(float(parity.sel(level=SUPPORT)), regime=words), {m: float(parity.sel(level=m)) - share for m, share in exact.items()}


@measure_profile.claim("profile-and", every(positive("share"), f"at levels 1 to {SUPPORT}"), null=0.0)
def shares_of_and(data: xarray.Dataset) -> dict[int, Finding]:
    """With the interval of the profile, where there is one seed alone."""
    conjunction = data.sel(target="and", level=slice(0, SUPPORT))
    listed = ", ".join(f"{share:.3f}" for share in conjunction["variance_share"].values)
    words = f"L = {data.length}; shares of the variance at levels 0 to {SUPPORT}: {listed}."
    rows = {level: [float(conjunction[name].sel(level=level)) for name in ("share", "low", "high")] for level in range(1, SUPPORT + 1)}
    return {level: Finding(share, regime=words, interval=(low, high)) for level, (share, low, high) in rows.items()}


@measure_profile.figure()
def bars(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for number, function in enumerate(FUNCTIONS):
        figure.add_bar(
            x=[str(level) for level in data["level"].values],
            y=100 * data["variance_share"].sel(target=function).values,
            name=f"{function} of {SUPPORT}",
            marker={"color": colour(number), "opacity": 0.85},
            hovertemplate=f"{function}, level %{{x}}: %{{y:.1f}} %<extra></extra>",
        )
    finished(figure, x="level: positions that are singled out", y="share of the variance in %", linear_y=True)
    figure.update_layout(barmode="group")
    figure.update_xaxes(type="category")
    caption = f"L = {data.length} positions, each function on bits that balance its labels."
    return Plot(figure, "Symmetry profiles of the targets", caption, wide=True)


@measure_profile.table()
def levels(data: xarray.Dataset) -> Table:
    shares = 100 * data["variance_share"]
    by_level = xarray.Dataset({f"level {level}": shares.sel(level=level, drop=True) for level in data.level.values})
    columns = {"function": lambda row: f"{row.target.item()} of {SUPPORT}"} | {str(name): f"{name}:.1f" for name in by_level}
    note = (
        "Shares of the variance in %. A kernel needs of order L^m samples for what lies at level m, but AND is also the sign of a function "
        "of level 1, so its kernel limits need only of order L: a classifier need not learn what lies above."
    )
    return table(by_level, columns, note=note, title="Levels")
