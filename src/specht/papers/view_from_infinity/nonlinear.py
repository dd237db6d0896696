"""Nonlinear activations: their spectra against the length, beside the linear one."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht.papers import Finding, above, at_most, both, common, grid, measure, rows
from specht.papers.view_from_infinity import sources
from specht.report import Plot, Table, add_guide, add_points

WIDE, NARROW = 0.5, 0.1
"""Variances s_w of the embedding of two tokens, with s_p = 1."""
CASES = (("linear", WIDE), ("erf", WIDE), ("erf", NARROW), ("relu", WIDE), ("relu", NARROW))
"""Activations and variances that are compared."""
_KERNELS = rows(("activation", "s_w"), *CASES)


@measure(
    smoke=_KERNELS * grid(length=[4, 6]), quick=_KERNELS * grid(length=[8, 16, 32, 64]), full=_KERNELS * grid(length=[8, 16, 32, 64, 128])
)
def measure_levels(activation: str, s_w: float, length: int) -> xarray.Dataset:
    """Top eigenvalues of levels 0, 1 and 2 of linear attention over E[k], for two uniform tokens: exact, zero below rounding."""
    spec = specht.spectrum(specht.Architecture(vocab=2, length=length, activation=activation, s_w=s_w, s_p=1.0), max_level=2)
    tops = {row.irrep.level: row for row in reversed(spec.rows) if not row.below_rounding}
    values = [tops[m].eigenvalue / spec.trace if m in tops else 0.0 for m in sources.LEVELS]
    return xarray.Dataset({"normalised": ("level", values)}, {"level": list(sources.LEVELS)})


def _top(data: xarray.Dataset, activation: str, s_w: float) -> np.ndarray:
    """Eigenvalues of a case (lengths, levels)."""
    return data["normalised"].sel(activation=activation, s_w=s_w).values


def _regime(data: xarray.Dataset, activation: str, s_w: float) -> str:
    lengths = common.span(data.length.values)
    return f"Linear attention + {activation}, V = 2, s_w = {s_w:g}, s_p = 1, uniform tokens, L = {lengths}, exact."


@measure_levels.claim(
    "e6-second-level",
    both(above(0, "top eigenvalue of [L-2,2] over E[k] for erf and ReLU"), at_most(0, "that for the linear activation")),
    null=(0.0, 0.0),
)
def second_level(data: xarray.Dataset) -> tuple[Finding, float]:
    """The linear model has no second level at all; the others do."""
    least = min(float(_top(data, activation, s_w)[:, 2].min()) for activation, s_w in CASES if activation != "linear")
    words = (
        f"{_regime(data, 'erf', WIDE)} The smallest eigenvalue of [L-2,2] over E[k] of erf and ReLU is shown; the linear one is "
        "below rounding."
    )
    return Finding(least, regime=words), float(_top(data, "linear", WIDE)[:, 2].max())


def distance_from_level(data: xarray.Dataset, activation: str, s_w: float) -> Finding:
    """The larger distance of the exponents of levels 1 and 2 from those of the bound."""
    words, values = _regime(data, activation, s_w), _top(data, activation, s_w)
    slopes = [common.exponent_of(data.length.values, values[:, m], regime=words).value for m in (1, 2)]
    words += f" Slopes over E[k] at m = 1, 2: {slopes[0]:.2f}, {slopes[1]:.2f}; the larger distance from −m is shown."
    return Finding(max(abs(slope + m) for m, slope in zip((1, 2), slopes, strict=True)), regime=words)


for _activation, _s_w in CASES[1:]:
    _rule = at_most(
        sources.TOLERANCE,
        "distance from −m of the log-log slope of the top eigenvalue over E[k]",
        where=f"for m = 1, 2, with s_w = {_s_w:g}, s_p = 1, V = 2",
    )
    _name = f"e6-{_activation}-{'wide' if _s_w == WIDE else 'narrow'}"
    measure_levels.claim(_name, _rule, null=1.0, activation=_activation, s_w=_s_w)(distance_from_level)


@measure_levels.figure()
def against_length(data: xarray.Dataset) -> Plot:
    figure, lengths = go.Figure(), data.length.values
    for number, (activation, s_w) in enumerate(CASES):
        values = _top(data, activation, s_w)
        for m in (1, 2):
            if values[:, m].any():
                add_points(figure, lengths, values[:, m], f"{activation}, s_w = {s_w:g}", number, joined=True, legend=m == 1)
    add_guide(figure, lengths, 0.1 * lengths[0] / lengths, "1/L")
    caption = "Top eigenvalues of [L-1,1] (above) and [L-2,2] (below, in the same colour). The linear model has no second level."
    return common.plotted(figure, "Activations", caption, x="length L", y="eigenvalue / E[k]", ticks=lengths)


@measure_levels.table()
def slopes_by_activation(data: xarray.Dataset) -> Table:
    linear = _top(data, "linear", WIDE)[-1, 1]
    cells = []
    for activation, s_w in CASES:
        values = _top(data, activation, s_w)
        powers = [common.power_law(data.length.values, values[:, m]) for m in (1, 2)]
        slopes = ["none" if power is None else f"{power.exponent:.2f}" for power in powers]
        cells.append([f"{activation}, s_w = {s_w:g}", *slopes, f"{values[-1, 1] / linear:.3g}"])
    header = ("activation", "slope at m = 1", "slope at m = 2", "[L-1,1] over the linear one")
    note = f"Eigenvalues over E[k]; the last column is at the longest context and relative to the linear model at s_w = {WIDE:g}."
    return Table(header, cells, note, "Slopes by activation")
