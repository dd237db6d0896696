"""How many heads are as good as infinitely many: the collapsed posterior with infinitely many against networks with more and more."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import xarray

from specht import nn
from specht.papers import Finding, at_most, common, grid, measure
from specht.papers.kernels_to_features import tasks
from specht.report import Plot, Table, add_guide, add_points, finished, points_of

LENGTH, N, WIDTH, HEAD_SIZE = 16, 48, 16, 4
NEAR = 0.12
"""Relative difference of the test loss that is allowed: that of `features.cells-layers`."""
_SHORT, _LONG = grid(chains=3, burn_in=4, samples=4), grid(chains=8, burn_in=100, samples=120)
_SMOKE, _QUICK, _FULL = (points * grid(seed=range(seeds)) for points, seeds in ((_SHORT, 2), (_LONG, 2), (_LONG, 4)))


@measure(
    smoke=grid(heads=[2, 4]) * _SMOKE,
    quick=grid(heads=[8, 64]) * _QUICK,
    full=grid(heads=[4, 8, 16, 64, 256]) * _FULL,
)
def measure_networks(heads: int, chains: int, burn_in: int, samples: int, seed: int) -> xarray.Dataset:
    """Test loss of whole networks with so many heads, copying the first flip."""
    size = nn.Size(WIDTH, heads, HEAD_SIZE)
    loss, stderr = tasks.flips("copy", LENGTH, N, seed).network_loss(size, chains, burn_in, samples)
    return xarray.Dataset({"loss": loss, "stderr": stderr})


@measure(smoke=_SMOKE, quick=_QUICK, full=_FULL)
def measure_theory(chains: int, burn_in: int, samples: int, seed: int) -> xarray.Dataset:
    """Test loss of the collapsed posterior with infinitely many heads, on the same samples."""
    data = tasks.flips("copy", LENGTH, N, seed)
    loss, stderr = data.loss(data.sampled(WIDTH, "layers", chains, burn_in, samples))
    return xarray.Dataset({"loss": loss, "stderr": stderr})


def differences(networks: xarray.Dataset, theory: xarray.Dataset) -> xarray.Dataset:
    """The mean relative difference of theory from networks over data sets, by the number of heads, with its error from sampling."""
    ratio, stderr = tasks.over_networks(theory["loss"], theory["stderr"], networks["loss"], networks["stderr"])
    count = ratio.count("seed")
    return xarray.Dataset({"value": abs(ratio - 1.0).mean("seed"), "stderr": np.sqrt((stderr**2).sum("seed")) / count})


def _told(point: xarray.Dataset) -> str:
    return f"{float(point['value']):.0%} ± {float(point['stderr']):.0%}"


@measure_networks.claim(
    "heads",
    at_most(NEAR, "mean relative difference of the test loss", percent=True, where="at the largest number of heads"),
    null=0.5,
    beside=[measure_theory],
)
def difference_at_many_heads(networks: xarray.Dataset, theory: xarray.Dataset) -> Finding:
    by_heads = differences(networks, theory)
    words = ", ".join(f"{point['heads'].item()} heads: {_told(point)}" for point in points_of(by_heads, "heads"))
    regime = f"Copying the first of {LENGTH} flips from {N} samples at width {WIDTH}, heads of size {HEAD_SIZE}; {words}."
    last = by_heads.isel(heads=-1)
    return Finding(float(last["value"]), float(last["stderr"]), regime)


@measure_networks.figure(measure_theory)
def infinitely_many_heads(networks: xarray.Dataset, theory: xarray.Dataset) -> Plot:
    by_heads, figure = differences(networks, theory), go.Figure()
    heads = by_heads["heads"].values
    add_points(figure, heads, by_heads["value"].values, "difference", 0, errors=by_heads["stderr"].values, joined=True)
    add_guide(figure, heads, [NEAR] * len(heads), f"{NEAR:.0%}")
    finished(figure, x="heads of the networks", y="relative difference of the test loss", ticks=heads, linear_y=True)
    caption = "Theory with infinitely many heads against networks; bars are one standard error of sampling."
    return Plot(figure, "Infinitely many heads", caption)


@measure_networks.table(measure_theory)
def losses(networks: xarray.Dataset, theory: xarray.Dataset) -> Table:
    def by_seed(data: xarray.Dataset) -> str:
        return ", ".join(common.with_error(float(point["loss"]), float(point["stderr"])) for point in points_of(data, "seed"))

    by_heads = points_of(differences(networks, theory), "heads")
    rows = [[str(point["heads"].item()), by_seed(networks.sel(heads=point["heads"])), _told(point)] for point in by_heads]
    rows.append(["infinitely many (theory)", by_seed(theory), ""])
    return Table(("heads", "test loss, by data set", "theory differs by"), rows, "Over the mean square of the target.", "Heads")
