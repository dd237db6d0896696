"""Sections 3 and 4: capacity bounds, heads that compute sparse functions, and what heads of any norm can shatter."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht import sequences
from specht.papers import Finding, Grid, above, at_least, at_most, below, both, common, every, grid, measure, near, points, present
from specht.report import Plot, Table, add_line, finished, table
from specht.studies.sparse import bounds

SUPPORT, GAMMA = 3, 1 / 3
LENGTHS = (25, 50, 100, 200, 400, 800, 1600)
WIDTH, SAMPLES = 64, 100
ALL_CONSTANTS, DENSE = "theorem 4.2, all constants", "fully connected"
EVEN = 0.005
"""By how much increments of capacity per doubling of T may differ, where resolution is shared out anew at every T."""
ROUNDING = 1e-9
"""Relative."""


@measure()
def measure_capacity() -> xarray.Dataset:
    """Capacities at unit norms against T: one head, four heads, a stack of two layers, and a fully connected network."""
    head, layer, dense = bounds.HeadNorms(1, 1, 1), bounds.LayerNorms(1, 1, 1, 1, 1, 1), bounds.DenseNorms(1, 1)
    size: Any = {"samples": SAMPLES, "width": WIDTH}
    kinds = {
        "corollary 4.5": [bounds.head_capacity(head, 1.0, length=T, **size) for T in LENGTHS],
        ALL_CONSTANTS: [0.01 * bounds.explicit_head_cover(head, 1.0, 0.1, length=T, **size) for T in LENGTHS],
        "lemma A.12, four heads": [bounds.head_capacity([head] * 4, 1.0, length=T, **size) for T in LENGTHS],
        "theorem A.17, two layers": [bounds.stack_capacity([layer] * 2, 1.0, length=T, head_size=WIDTH, **size) for T in LENGTHS],
        DENSE: [bounds.dense_capacity([dense] * 2, math.sqrt(T), **size) for T in LENGTHS],
    }
    return xarray.Dataset({"capacity": (("kind", "length"), list(kinds.values()))}, {"kind": list(kinds), "length": list(LENGTHS)})


def _heads(length: int, dimensions: list[int]) -> Grid:
    """Codes of positions that overlap a little, and at three lengths orthogonal codes and trained positions."""
    lengths = (length // 4, length, 2 * length)
    overlapping = grid(length=length, dimension=[size + 1 for size in dimensions], key=["dual", "sum"])
    orthogonal = points({"length": T, "dimension": T, "key": "sum"} for T in lengths)
    return overlapping + orthogonal + grid(length=lengths, dimension=0, key="trained")


@measure(
    smoke=_heads(50, [50, 200]) * grid(samples=50, seed=0),
    quick=_heads(200, [200, 1000, 4000]) * grid(samples=500, seed=0),
    full=_heads(200, [200, 1000, 4000]) * grid(samples=500, seed=range(4)),
)
def measure_head(length: int, dimension: int, key: str, samples: int, seed: int) -> xarray.Dataset:
    """The largest error of a head that takes the mean over three positions, over random bits, by the kind of its key."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(length, SUPPORT, replace=False)
    x = rng.integers(2, size=(samples, length))
    wanted = (2.0 * x[:, chosen] - 1.0).mean(axis=1)
    if key == "trained":
        head = bounds.trained_positions_head(length, chosen.tolist(), GAMMA)
    else:
        codes = np.eye(length) if dimension == length else sequences.random_codes(rng, dimension, length)
        head = bounds.fixed_positions_head(codes, chosen.tolist(), GAMMA, dual=key == "dual")
    error = float(np.abs(head(x) - wanted).max())
    return xarray.Dataset({"error": error} | {f"norm_{name}": value for name, value in head.norms.items()})


@measure(smoke=grid(length=[2, 5, 16, 64, 300, 1024]))
def measure_shattering(length: int) -> xarray.Dataset:
    """How many of the sign patterns of ⌊log₂ T⌋ sequences heads realise, and the smallest distance of their outputs from 1/2."""
    x = bounds.shattered_inputs(length)
    outputs = np.array([bounds.head_output(x, *bounds.shattering_head(place, length)) for place in range(length)])
    patterns = {tuple(row) for row in outputs > 0.5}
    margin = float(np.abs(outputs - 0.5).min())
    return xarray.Dataset({"sequences": float(len(x)), "share": len(patterns) / 2.0 ** len(x), "margin": margin})


@measure_capacity.claim(
    "theory-log",
    both(
        every(below(ROUNDING, "relative distance from a line in ln T"), "of every bound"),
        at_most(EVEN, "with all constants difference of increments per doubling of T", percent=True),
    ),
    null=([0.5], 1.0),
)
def distance_from_line(data: xarray.Dataset) -> tuple[dict[str, Finding], float]:
    """Of attention's bounds; and by how much increments of the bound with all constants differ."""
    bounds = data["capacity"].drop_sel(kind=[ALL_CONSTANTS, DENSE])
    increments = np.diff(data["capacity"].sel(kind=ALL_CONSTANTS).values)
    x = np.log(LENGTHS)
    uneven = float(np.ptp(increments) / np.abs(increments.mean()))
    words = (
        f"Unit norms, T = {common.span(LENGTHS)}, m = {SAMPLES}, d = {WIDTH}; the largest relative residual is shown. With all constants "
        f"increments per doubling of T differ by {100 * uneven:.2g} %."
    )
    rows = {str(kind): bounds.sel(kind=kind).values for kind in bounds.kind.values}
    residuals = {kind: np.abs(np.polyval(np.polyfit(x, row, 1), x) / row - 1.0) for kind, row in rows.items()}
    return {kind: Finding(float(each.max()), regime=words) for kind, each in residuals.items()}, uneven


@measure_capacity.claim("theory-dense", near(1, 1e-6, "exponent of T"), null=0.0)
def dense_exponent(data: xarray.Dataset) -> Finding:
    fit = common.power_law(LENGTHS, data["capacity"].sel(kind=DENSE).values)
    assert fit is not None
    return Finding(fit.exponent, regime=f"Unit norms of all matrices, T = {common.span(LENGTHS)}; the exponent of T is shown.")


SMALL = at_most(GAMMA / 4, "error", called="γ/4")
_OVERLAPPING = every(SMALL, "with codes of every dimension")


@measure_head.claim("theory-sum", _OVERLAPPING, null=1.0)
def errors_of_sums(data: xarray.Dataset) -> dict[int, Finding]:
    return errors_of_overlapping(data, "sum")


@measure_head.claim("theory-dual", _OVERLAPPING, null=1.0)
def errors_of_duals(data: xarray.Dataset) -> dict[int, Finding]:
    return errors_of_overlapping(data, "dual")


def errors_of_overlapping(data: xarray.Dataset, key: str) -> dict[int, Finding]:
    """Of heads with one kind of key, whose codes overlap: over random bits the largest error, by the dimension of the codes."""
    errors = data["error"].sel(key=key)
    errors = present(errors.where(data.dimension != data.length)).squeeze("length")
    words = f"T = {errors.length.item()}, s = {SUPPORT}, γ = 1/3, codes of {common.listed(errors.dimension.values)} dimensions"
    words = f"{words}, {data.samples} sequences; γ/4 = {GAMMA / 4:.3f}. The mean over heads of the largest error is shown."
    return {size: Finding(float(errors.sel(dimension=size).mean()), regime=words) for size in errors.dimension.values.tolist()}


@measure_head.claim(
    "theory-heads",
    both(
        every(SMALL, "at every T"),
        every(at_most(1.0 + ROUNDING, "norms over those of the lemmas", called="one"), "for every matrix and T"),
    ),
    null=([1.0], [2.0]),
)
def orthogonal_heads(data: xarray.Dataset) -> tuple[dict[Any, Finding], dict[Any, float]]:
    """Errors and norms of heads with orthogonal positions (lemma B.2) and with trained ones (B.3)."""
    errors, norms = {}, {}
    for key, lemma in (("sum", "B.2"), ("trained", "B.3")):
        heads = data.sel(key=key)
        heads = present(heads if key == "trained" else heads.where(data.dimension == data.length))
        lengths = common.listed(heads.length.values)
        words = f"T = {lengths}, s = {SUPPORT}, γ = 1/3, {data.samples} sequences; γ/4 = {GAMMA / 4:.3f}."
        for length in heads.length.values.tolist():
            here = present(heads.sel(length=length)).mean()
            errors[lemma, length] = Finding(float(here["error"]), regime=words)
            stated = bounds.norm_bounds(lemma, SUPPORT, int(length), GAMMA)
            norms |= {(lemma, length, name): float(here[f"norm_{name}"]) / bound for name, bound in stated.items()}
    words = f"The largest norm is {max(norms.values()):.2f} times what the lemmas state."
    return {place: dataclasses.replace(error, regime=f"{error.regime} {words}") for place, error in errors.items()}, norms


@measure_shattering.claim(
    "theory-shatter",
    every(both(at_least(1.0, "share of sign patterns at the level 1/2"), above(0.0, "their margin")), "at every T"),
    null=[(0.5, 0.0)],
)
def shattered(data: xarray.Dataset) -> dict[int, tuple[Finding, float]]:
    words = f"T = {common.listed(data.length.values)}; outputs stay {float(data['margin'].min()):.2f} from 1/2."
    return {
        T: (Finding(float(data["share"].sel(length=T)), regime=words), float(data["margin"].sel(length=T)))
        for T in data.length.values.tolist()
    }


@measure_capacity.figure()
def capacities(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for number, kind in enumerate(data["kind"].values):
        add_line(figure, LENGTHS, data["capacity"].sel(kind=kind).values, str(kind), number)
    finished(figure, x="length T", y="capacity ε² log N", ticks=LENGTHS)
    caption = f"Bounds at unit norms, m = {SAMPLES} samples, d = {WIDTH}. Attention grows with log T, a fully connected network with T."
    return Plot(figure, "Capacity against length", caption, wide=True)


@measure_head.table()
def heads(data: xarray.Dataset) -> Table:
    names = {"sum": "sum of codes (lemma B.2)", "dual": "dual code", "trained": "trained positions (lemma B.3)"}
    columns = {
        "T": "length",
        "key": lambda head: names[head.key.item()],
        "dimensions of codes": lambda head: "orthogonal" if head.dimension == head.length else str(head.dimension.item() or "none"),
        "largest error": "error:.4f",
        "‖W_Q‖": "norm_query:.2f",
        "‖W_K‖": "norm_key:.2f",
        "‖W_V‖": "norm_value:.2f",
    }
    note = f"A head that takes the mean over {SUPPORT} positions; lemmas promise errors of at most γ/4 = {GAMMA / 4:.3f}."
    return table(data.max("seed"), columns, note=note, title="Heads that compute sparse functions")
