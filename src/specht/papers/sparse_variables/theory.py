"""Sections 3 and 4: capacity bounds, heads that compute sparse functions, and what heads of any norm can shatter."""

from __future__ import annotations

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
    quick=_heads(200, [200, 1000, 4000]) * grid(samples=500, seed=range(5)),
    full=_heads(200, [200, 1000, 4000]) * grid(samples=500, seed=range(10)),
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
        below(ROUNDING, "relative distance from a line in ln T"),
        at_most(EVEN, "with all constants difference of increments per doubling of T", percent=True),
    ),
    null=(0.5, 1.0),
)
def distance_from_line(data: xarray.Dataset) -> tuple[Finding, float]:
    """The largest of attention's bounds; and by how much increments of the bound with all constants differ."""
    bounds = data["capacity"].drop_sel(kind=[ALL_CONSTANTS, DENSE]).values
    increments = np.diff(data["capacity"].sel(kind=ALL_CONSTANTS).values)
    x = np.log(LENGTHS)
    worst = max(float(np.abs(np.polyval(np.polyfit(x, row, 1), x) / row - 1.0).max()) for row in bounds)
    uneven = float(np.ptp(increments) / np.abs(increments.mean()))
    words = (
        f"Unit norms, T = {common.span(LENGTHS)}, m = {SAMPLES}, d = {WIDTH}; the largest relative residual is shown. With all constants "
        f"increments per doubling of T differ by {100 * uneven:.2g} %."
    )
    return Finding(worst, regime=words), uneven


@measure_capacity.claim("theory-dense", near(1, 1e-6, "exponent of T"), null=0.0)
def dense_exponent(data: xarray.Dataset) -> Finding:
    fit = common.power_law(LENGTHS, data["capacity"].sel(kind=DENSE).values)
    assert fit is not None
    return Finding(fit.exponent, regime=f"Unit norms of all matrices, T = {common.span(LENGTHS)}; the exponent of T is shown.")


SMALL = at_most(GAMMA / 4, "error", called="γ/4")


@measure_head.claim("theory-sum", SMALL, null=1.0)
def error_of_sums(data: xarray.Dataset) -> Finding:
    return largest_error(data, "sum")


@measure_head.claim("theory-dual", SMALL, null=1.0)
def error_of_duals(data: xarray.Dataset) -> Finding:
    return largest_error(data, "dual")


@measure_head.claim(
    "theory-heads",
    both(every(SMALL, "at every T"), at_most(1.0 + ROUNDING, "norms over those of the lemmas", called="one")),
    null=([1.0], 2.0),
)
def orthogonal_heads(data: xarray.Dataset) -> tuple[list[Finding], float]:
    norm = largest_norm(data)
    words = f"The largest norm is {norm:.2f} times what the lemmas state."
    return [largest_error(data, "sum", exact=True, more=words), largest_error(data, "trained", more=words)], norm


def largest_error(data: xarray.Dataset, key: str, *, exact: bool = False, more: str = "") -> Finding:
    """Of all heads with one kind of key, whose codes are orthogonal (`exact`) or not."""
    errors = data["error"].sel(key=key)
    errors = present(errors if key == "trained" else errors.where((data.dimension == data.length) == exact))
    sizes = "" if key == "trained" else f", codes of {common.listed(errors.dimension.values)} dimensions"
    words = (
        f"T = {common.listed(errors.length.values)}, s = {SUPPORT}, γ = 1/3{sizes}, {data.samples} sequences, {int(errors.count())} heads"
    )
    return Finding(float(errors.max()), regime=f"{words}; the largest error is shown, γ/4 = {GAMMA / 4:.3f}. {more}".strip())


def largest_norm(data: xarray.Dataset) -> float:
    """The largest norm of a matrix of heads with orthogonal or trained positions, over that of lemmas B.2 and B.3, which grow as log T."""
    ratios = []
    for key, lemma in (("sum", "B.2"), ("trained", "B.3")):
        heads = present(data.sel(key=key) if key == "trained" else data.sel(key=key).where(data.dimension == data.length))
        for length in heads.length.values:
            stated = bounds.norm_bounds(lemma, SUPPORT, int(length), GAMMA)
            ratios += [float(heads[f"norm_{name}"].sel(length=length).max()) / bound for name, bound in stated.items()]
    return max(ratios)


@measure_shattering.claim(
    "theory-shatter", both(at_least(1.0, "share of sign patterns at the level 1/2"), above(0.0, "their margin")), null=(0.5, 0.0)
)
def shattered(data: xarray.Dataset) -> tuple[Finding, float]:
    margin = float(data["margin"].min())
    words = f"T = {common.listed(data.length.values)}; outputs stay {margin:.2f} from 1/2. The smallest share of patterns is shown."
    return Finding(float(data["share"].min()), regime=words), margin


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
