"""The embedding alone at finite width: everything behind it integrated out, against networks whose later layers are wide."""

from __future__ import annotations

import plotly.graph_objects as go
import xarray

from specht import nn
from specht.learning import adaptive
from specht.papers import Finding, at_most, common, every, grid, measure
from specht.papers.kernels_to_features import tasks
from specht.report import Plot, Table, add_points, finished, points_of, table

LENGTH, N = 16, 24
_WIDE = grid(later=512, seed=0, chains=4, burn_in=50, samples=60)


@measure(
    smoke=grid(embedding=4, later=8, seed=0, chains=3, burn_in=4, samples=4),
    quick=grid(embedding=16) * _WIDE,
    full=grid(embedding=[16, 32, 64]) * _WIDE,
)
def measure_embedding(embedding: int, later: int, chains: int, burn_in: int, samples: int, seed: int) -> xarray.Dataset:
    """Test loss by the collapsed posterior and by networks with the same embedding, copying the first flip."""
    data = tasks.flips("copy", LENGTH, N, seed)
    length = adaptive.Chains(chains=8, burn_in=100, samples=200, kept=100)
    loss, stderr = data.loss(data.adapt(adaptive.Widths(embedding), chains=length))
    size = nn.Size(width=later, heads=later // 4, head_size=8, embedding=embedding)
    networks, networks_stderr = data.network_loss(size, chains, burn_in, samples)
    return xarray.Dataset({"loss": loss, "stderr": stderr, "networks": networks, "networks_stderr": networks_stderr})


@measure_embedding.claim(
    "embedding",
    every(
        at_most(0.05, "difference of the test loss from that of networks", percent=True),
        "with the same embedding and later widths of 512",
    ),
    null=0.5,
)
def differences(data: xarray.Dataset) -> list[Finding]:
    findings = []
    for point in points_of(data, "embedding"):
        off, stderr = tasks.off_networks(point)
        words = (
            f"Copying the first of {LENGTH} flips from {N} samples, embeddings of {common.listed(data['embedding'].values)}, "
            f"later layers of {data.later}; the worst is at {point['embedding'].item()}."
        )
        findings.append(Finding(abs(off), stderr, words))
    return findings


@measure_embedding.figure()
def losses(data: xarray.Dataset) -> Plot:
    figure, widths = go.Figure(), data["embedding"].values
    for number, (name, stderr, words) in enumerate((("loss", "stderr", "embedding sampled"), ("networks", "networks_stderr", "networks"))):
        add_points(figure, widths, data[name].values, words, number, errors=data[stderr].values)
    finished(figure, x="width of the embedding", y="test loss", ticks=widths, linear_y=True)
    return Plot(figure, "The embedding alone", "Networks have later layers of width 512 and 128 heads of size 8.")


@measure_embedding.table()
def losses_by_width(data: xarray.Dataset) -> Table:
    columns = {
        "embedding": "embedding",
        "collapsed posterior": lambda point: common.with_error(float(point["loss"]), float(point["stderr"])),
        "networks": lambda point: common.with_error(float(point["networks"]), float(point["networks_stderr"])),
    }
    return table(data, columns, note="Test loss.", title="The embedding alone")
