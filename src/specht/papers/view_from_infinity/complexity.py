"""Sample complexity: how the number of samples grows with the length, level by level."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht import learning
from specht.papers import Criterion, Finding, above, at_least, both, common, every, exponent, grid, measure, present
from specht.papers.view_from_infinity import sources
from specht.report import Plot, Table, add_line, add_points, points_of

WIDE, NARROW = 0.5, 0.1
"""Variances s_w of the embedding of two tokens, with s_p = 1."""
MARGIN = 0.1
"""By which an exponent may fall short of m: section 7 of the notes."""


@measure(
    smoke=grid(s_w=[WIDE, NARROW], length=[4, 6, 8], ridge=1.0),
    quick=grid(s_w=[WIDE, NARROW], length=[8, 16, 32, 48, 64], ridge=1.0),
    full=grid(s_w=[WIDE, NARROW], length=[8, 16, 32, 48, 64, 96], ridge=1.0),
)
def measure_needs(length: int, s_w: float, ridge: float) -> xarray.Dataset:
    """Samples from which half of g_m is learnt, m = 0, 1, 2: two uniform tokens, linear attention with an erf activation.

    `dimension` is that of [L-m,m]; half of it is the least number of samples at any ridge.
    """
    source = specht.sources.uniform(2)
    arch: Any = specht.Architecture(vocab=2, length=length, activation="erf", s_w=s_w, s_p=1.0)
    spec = specht.spectrum(arch, source, max_level=2)
    tasks = [specht.Task(source, specht.targets.level(m, length, source=source)) for m in sources.LEVELS]
    tops = {row.irrep.level: row for row in reversed(spec.rows)}
    return xarray.Dataset(
        {
            "samples": ("level", [learning.samples_to_learn(learning.content(spec, task), ridge) for task in tasks]),
            "dimension": ("level", [float(tops[m].degeneracy) for m in sources.LEVELS]),
        },
        {"level": list(sources.LEVELS)},
    )


@measure(
    smoke=grid(length=[32, 128], ridge=1.0),
    quick=grid(length=[32, 128, 512, 2048], ridge=1.0),
    full=grid(length=[32, 128, 512, 2048, 8192], ridge=1.0),
)
def measure_bare(length: int, ridge: float) -> xarray.Dataset:
    """Samples that the leading function of [L-1,1] needs of linear attention that is not divided by the length, at a fixed ridge.

    `bare` is the ridge over the eigenvalue, `samples` the number with unlearnt functions counted. The ridge is an absolute number.
    """
    arch: Any = specht.Architecture(vocab=2, length=length, s_w=0.5, s_p=1.0)
    spec = specht.spectrum(arch)
    (need,) = (need for need in specht.sample_complexity(spec, ridge / spec.trace) if need.irrep.level == 1)
    return xarray.Dataset({"bare": ridge / (need.eigenvalue * spec.trace), "samples": need.samples})


def _regime(data: xarray.Dataset) -> str:
    return (
        f"Linear attention + erf, V = 2, uniform tokens, s_w = {common.listed(data.s_w.values.ravel())}, s_p = 1, L = "
        f"{common.listed(data.length.values)}, ridge {data.ridge:g} E[k], from the exact spectrum."
    )


def _grows(s_w: float) -> Criterion:
    what = "log-log slope of N* between the two longest lengths less m"
    return every(at_least(-MARGIN, what), f"for m = 0, 1, 2, with s_w = {s_w:g}")


@measure_needs.claim("q6-erf", _grows(WIDE), null=-0.5, s_w=WIDE)
@measure_needs.claim("q6-erf-narrow", _grows(NARROW), null=-0.5, s_w=NARROW)
def excesses(data: xarray.Dataset, s_w: float) -> dict[int, Finding]:
    """By how much the exponent at the longest lengths is above m, level by level: the theorem speaks of long contexts."""
    data = present(data.sel(s_w=s_w))
    local = np.diff(np.log(data["samples"].transpose("level", "length").values)) / np.diff(np.log(data.length.values))
    words = f"{_regime(data)} Slopes from each length to the next: " + "; ".join(
        f"m = {m}: {', '.join(f'{slope:.2f}' for slope in row)}" for m, row in zip(sources.LEVELS, local, strict=True)
    )
    return {m: Finding(float(row[-1]) - m, regime=f"{words}.") for m, row in zip(sources.LEVELS, local, strict=True)}


@measure_needs.claim("q6-dimension", at_least(0.5, "N* over the dimension of the irrep", where="at every length and level"), null=0.1)
def least_need(data: xarray.Dataset) -> Finding:
    """What the theorem needs: at least half the dimension, whatever the ridge and the variances."""
    return Finding(float((data["samples"] / data["dimension"]).min()), regime=_regime(data))


@measure_needs.claim("q7-order", above(1, "N* over that of the level below", where="at every length"), null=1.0)
def least_factor(data: xarray.Dataset) -> Finding:
    samples = data["samples"].values
    words = f"{_regime(data)} The smallest factor from one level to the next is shown."
    return Finding(float((samples[..., 1:] / samples[..., :-1]).min()), regime=words)


@measure_bare.claim(
    "q6-bare-ridge",
    both(exponent(0, within=0.1, of="ridge/eigenvalue against the length"), at_least(1 - MARGIN, "that of N*", where="for [L-1,1]")),
    null=(1.0, 1.0),
)
def exponents(data: xarray.Dataset) -> tuple[Finding, float]:
    """The bare number of samples stays as it is while the true one grows."""
    bare, true = (common.exponent_of(data.length.values, data[name].values).value for name in ("bare", "samples"))
    words = (
        f"Linear attention without 1/L + linear activation, V = 2, s_w = 0.5, s_p = 1, L = {common.span(data.length.values)}, absolute "
        f"ridge {data.ridge:g}: ridge/eigenvalue has exponent {bare:.2f}, N* with unlearnt functions {true:.2f}."
    )
    return Finding(bare, regime=words), true


@measure_needs.figure()
def against_length(data: xarray.Dataset) -> list[Plot]:
    return [_plot(data.sel(s_w=s_w)) for s_w in (WIDE, NARROW)]


def _plot(data: xarray.Dataset) -> Plot:
    figure, lengths = go.Figure(), data.length.values
    for m in sources.LEVELS:
        at = data.sel(level=m)
        add_points(figure, lengths, at["samples"].values, f"level {m}", m, joined=True)
        add_line(figure, lengths, at["dimension"].values / 2, f"half of dim [L-{m},{m}]", m, dash="dash", legend=False)
    title = f"Sample complexity at s_w = {data.s_w.item():g}"
    caption = (
        "Samples from which half of a function of level m is learnt; dashed is half the dimension of its irrep, the least at any ridge."
    )
    return common.plotted(figure, title, caption, x="length L", y="samples N*", ticks=lengths)


@measure_needs.table()
def needs(data: xarray.Dataset) -> Table:
    rows = [
        [f"s_w = {at.s_w.item():g}, L = {at.length.item()}", *(f"{value:.4g}" for value in at["samples"].values)]
        for at in points_of(data, "s_w", "length")
    ]
    note = "Samples N* from which half of the function is learnt."
    return Table(("setting", "m = 0", "m = 1", "m = 2"), rows, note, "Sample complexity")
