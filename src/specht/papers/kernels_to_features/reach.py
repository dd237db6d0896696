"""Where sampling embedding and heads stops being right: head size, activation, attention, depth, outputs; and first order in 1/width."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht import nn
from specht.learning import adaptive
from specht.papers import Finding, at_most, common, every, grid, measure, positive
from specht.papers.kernels_to_features import tasks
from specht.report import Plot, Table, add_points, finished, points_of, table

LENGTH, N, WIDTH = 8, 24, 16
VARIANTS: dict[str, dict[str, Any]] = {
    "one head of size 16": {"heads": 1, "head_size": 16},
    "16 heads of size 1": {"heads": 16, "head_size": 1},
    "softmax": {"attention": "softmax"},
    "two outputs": {"outputs": 2},
    "causal, normalised": {"causal": True, "normalised": True},
    "relu": {"activation": "relu"},
    "gelu, residual": {"activation": "gelu", "residual": True},
    "depth 2": {"depth": 2, "normalised": True},
}
"""Chosen before any of them was run: what differs from a linear block with 8 heads of size 4."""
EXACT = ("one head of size 16", "16 heads of size 1", "softmax", "causal, normalised")
"""One output and linear layers: nothing is left out."""
FIRST_ORDER_WIDTHS = (32, 64, 128, 256)
FIRST_ORDER_LENGTH, FIRST_ORDER_N = 6, 12


_LONG = grid(seed=0, chains=8, burn_in=100, samples=150)


@measure(
    smoke=grid(variant=["softmax", "two outputs"], seed=0, chains=3, burn_in=4, samples=4),
    quick=grid(variant=[*EXACT[:2], "relu", "two outputs"]) * _LONG,
    full=grid(variant=list(VARIANTS)) * _LONG,
)
def measure_variant(variant: str, chains: int, burn_in: int, samples: int, seed: int) -> xarray.Dataset:
    """Test loss of a variant with embedding and heads sampled (layers, of two blocks), by networks, and at infinite width."""
    fields = dict(VARIANTS[variant])
    heads, head_size, outputs = (fields.pop(name, default) for name, default in (("heads", WIDTH // 2), ("head_size", 4), ("outputs", 1)))
    data = tasks.flips("copy", LENGTH, N, seed, **fields)
    if outputs == 2:  # the first flip and the second
        data = data._replace(y=2.0 * data.x[:, :2] - 1.0, new_y=2.0 * data.new[:, :2] - 1.0)
    level = "heads" if data.arch.depth == 1 else "layers"
    theory = data.sampled(adaptive.Widths(WIDTH, WIDTH, heads, head_size), level, chains, burn_in, samples)
    loss, stderr = data.loss(theory)
    networks, networks_stderr = data.network_loss(nn.Size(WIDTH, heads, head_size), chains, burn_in, samples)
    numbers = {"loss": loss, "stderr": stderr, "networks": networks, "networks_stderr": networks_stderr, "infinite": data.infinite_loss()}
    return xarray.Dataset(numbers, {"level": theory.level})


_MANY = grid(seed=0, networks=800, chains=6, burn_in=50, samples=80)


@measure(
    smoke=grid(width=[8, 16], seed=0, networks=4, chains=3, burn_in=4, samples=4),
    quick=grid(width=[32, 128]) * _MANY,
    full=grid(width=FIRST_ORDER_WIDTHS) * _MANY,
)
def measure_first_order(width: int, networks: int, chains: int, burn_in: int, samples: int, seed: int) -> xarray.Dataset:
    """Distance of the corrected mean from that of networks, beside that of infinite width: copying with an erf layer."""
    data = tasks.flips("copy", FIRST_ORDER_LENGTH, FIRST_ORDER_N, seed, activation="erf")
    size = nn.Size(width, width // 2, 4)
    correction = adaptive.first_order(data.arch, data.x, data.y, data.new, size=size, ridge=tasks.RIDGE, networks=networks)
    posterior, unit = data.networks(size, chains, burn_in, samples)
    mean, noise = posterior.mean / unit, np.square(posterior.stderr / unit)
    distances = [
        math.sqrt(max(0.0, float(np.mean(np.square(mean_of - mean) - noise - own))))
        for mean_of, own in ((correction.infinite, 0.0), (correction.mean, np.square(correction.stderr)))
    ]
    return xarray.Dataset({"infinite": distances[0], "corrected": distances[1], "spread": float(correction.spread)})


@measure_variant.claim(
    "reach-exact",
    every(
        at_most(0.1, "difference of the test loss from that of networks", percent=True),
        "for one head, heads of size one, softmax, and a causal mask",
    ),
    null=1.0,
)
def differences_where_nothing_is_left_out(data: xarray.Dataset) -> list[Finding]:
    off_by = {
        point["variant"].item(): tasks.off_networks(point) for point in points_of(data, "variant") if point["variant"].item() in EXACT
    }
    words = f"{', '.join(off_by)}; L = {LENGTH}, N = {N}, width {WIDTH}; the worst is"
    return [Finding(abs(off), stderr, f"{words} {name}.", shown=(off, stderr)) for name, (off, stderr) in off_by.items()]


@measure_variant.claim(
    "reach-approximate",
    positive("how much closer to networks it is than infinite width, for two outputs, relu, gelu with residual sum, and depth 2,"),
    null=-1.0,
)
def least_gain(data: xarray.Dataset) -> Finding:
    """Where hidden layers are taken as infinitely wide, by how much it is closer to networks than infinite width is."""
    gains = {}
    for point in points_of(data, "variant"):
        if point["variant"].item() not in EXACT:
            off, stderr = tasks.off_networks(point)
            gain = abs(float(point["infinite"] / point["networks"]) - 1.0) - abs(off)
            gains[point["variant"].item()] = Finding(gain, stderr, shown=(off, stderr))
    least = min(gains, key=lambda variant: gains[variant].value / gains[variant].stderr)
    words = f"{', '.join(gains)}; the difference from networks is shown for {least}, which gains least."
    return dataclasses.replace(gains[least], regime=words)


@measure_first_order.claim(
    "first-order", at_most(0.5, "share of the distance of infinite width that is left at the largest width"), null=1.0
)
def share_that_is_left(data: xarray.Dataset) -> Finding:
    """What the correction leaves of the distance from the mean of networks."""
    last = data.isel(width=-1)
    if not float(last["infinite"]) > 0.0:
        raise common.unresolved("networks and infinite width are not told apart.")
    lines = [
        f"{point['width'].item()}: {float(point['corrected']):.2g} of {float(point['infinite']):.2g}" for point in points_of(data, "width")
    ]
    words = f"erf, L = {FIRST_ORDER_LENGTH}, N = {FIRST_ORDER_N}. Distance that is left, by width: {', '.join(lines)}."
    return Finding(float(last["corrected"]) / float(last["infinite"]), regime=words)


@measure_variant.table()
def where_it_stops(data: xarray.Dataset) -> Table:
    def difference(point: xarray.Dataset) -> str:
        off, stderr = tasks.off_networks(point)
        return f"{off:+.0%} ± {stderr:.0%}"

    columns = {
        "variant": "variant",
        "level": "level",
        "infinite width": "infinite:.3g",
        "sampled": lambda point: common.with_error(float(point["loss"]), float(point["stderr"])),
        "networks": lambda point: common.with_error(float(point["networks"]), float(point["networks_stderr"])),
        "difference": difference,
    }
    return table(data, columns, note=f"Test loss, L = {LENGTH}, N = {N}, width {WIDTH}.", title="Where it stops")


@measure_first_order.figure()
def distances(data: xarray.Dataset) -> Plot:
    figure, widths = go.Figure(), data["width"].values
    for number, (name, words) in enumerate((("infinite", "infinite width"), ("corrected", "first order in 1/width"))):
        add_points(figure, widths, data[name].values, words, number, joined=True)
    finished(figure, x="width", y="distance from the mean of networks", ticks=widths)
    return Plot(figure, "First order in 1/width", "Root mean square over new inputs; the noise of both is taken out.")
