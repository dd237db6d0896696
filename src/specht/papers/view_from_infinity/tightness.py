"""Tightness map: where eigenvalues fall as fast as their bound allows, by variances, vocabulary and length."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht import spectra
from specht.papers import Finding, Grid, Scale, at_most, common, fixed, grid, measure, near, points, present, rows
from specht.papers.view_from_infinity import scaling
from specht.papers.view_from_infinity.sources import TOLERANCE
from specht.report import Plot, Table, add_guide, add_scatter, points_of

STEEP = -1.5
"""Slope of the raw eigenvalue of [L-1,1] below which softmax attention has left the window."""
FACTOR = 4.0
"""How far from the crossover counts as well below or well beyond it."""
SPREAD_OUT: tuple[dict[str, Any], ...] = ({"vocab": 2, "s_w": 0.5, "s_p": 0.5}, {"vocab": 4, "s_w": 0.25, "s_p": 0.5})
"""Settings of softmax attention that leave the window at short lengths."""
_SETTING = ("vocab", "s_w", "s_p")
_TOPS = ("s_w", "s_p", "vocab", "length", "heads", "sequences", "seed")
"""The variance of the embedding comes first, as the others follow from it."""
_FACTORS = fixed([0.1, 0.25, 1.0, 4.0, 10.0])


@measure(
    smoke=rows(_SETTING, (4, 0.25, 1.0)) * grid(factors=fixed([0.25, 1.0, 4.0])),
    quick=rows(_SETTING, (4, 0.1, 1.0), (8, 0.125, 1.0), (16, 1 / 16, 1.0), (2, 0.05, 1.0), (4, 0.1, 2.0)) * grid(factors=_FACTORS),
    full=(
        rows(_SETTING[:2], *((v, s_w) for v in (8, 16) for s_w in (1 / v, 0.05))) * grid(s_p=[1.0, 2.0])
        + rows(_SETTING, (2, 0.05, 1.0), (4, 0.1, 1.0), (4, 0.1, 2.0))
    )
    * grid(factors=_FACTORS),
)
def measure_linear(vocab: int, s_w: float, s_p: float, factors: list[float]) -> xarray.Dataset:
    """Local exponents of [L-1,1] over E[k] in the linear model at multiples of its crossover length, and those predicted."""
    arch = specht.Architecture(vocab=vocab, length=8, s_w=s_w, s_p=s_p)
    turn = spectra.crossover(arch)
    assert turn is not None
    middles = [round(factor * turn.length) for factor in factors]
    measured = []
    for middle in middles:
        around = [math.floor(middle / 1.1), math.ceil(middle * 1.1)]
        standard = spectra.scaling([specht.spectrum(arch.replace(length=length)) for length in around])[1]
        assert standard.normalised is not None
        measured.append(standard.normalised.value)
    return xarray.Dataset(
        {
            "measured": ("factor", measured),
            "predicted": ("factor", [turn.exponent(middle) for middle in middles]),
            "length": ("factor", np.array(middles, dtype=float)),
            "crossover": turn.length,
        },
        {"factor": factors},
    )


def _softmax_points(scale: Scale) -> Grid:
    """Points of the spectrum figure, whose jobs are done once for both, and settings that leave the window."""
    lengths = common.at_scale(scale, smoke=[4, 5], quick=[16, 64], full=[16, 32, 64])
    heads = common.at_scale(scale, smoke=256, quick=512, full=2048)  # the second level is not needed
    figure = ({name: job.arguments[name] for name in _TOPS} for job in scaling.measure_tops.jobs(scale))
    peaked = points(point for point in figure if point["s_p"] == scaling.PEAKED["s_p"] and point["length"] in lengths)
    return peaked + points(() if scale == "smoke" else SPREAD_OUT) * grid(length=lengths, heads=heads, sequences=64, seed=0)


measure_softmax = measure(_softmax_points)(scaling.measure_tops)


@measure_linear.claim(
    "e10-crossover",
    at_most(
        0.15, "distance of the local slope of [L-1,1] over E[k] from −1 − L/(L + L*)", where="from 0.1 to 10 L*, where L* is 400 or more"
    ),
    null=0.5,
)
def distance_from_prediction(data: xarray.Dataset) -> Finding:
    cases = "; ".join(map(scaling.variances, points_of(data, *_SETTING)))
    words = f"Linear attention + linear activation, uniform tokens, L = {common.span(data.factors)} times the crossover: {cases}."
    return Finding(float(abs(data["measured"] - data["predicted"]).max()), regime=words)


@measure_linear.claim(
    "e10-limits", at_most(TOLERANCE, f"distance of the slope from −1 at L ≤ L*/{FACTOR:g} and from −2 at L ≥ {FACTOR:g} L*"), null=0.5
)
def distance_from_limits(data: xarray.Dataset) -> Finding:
    """Slopes well below and well beyond the crossover."""
    measured, factor = data["measured"], data.factor
    off = max(float(abs(measured + 1.0).where(factor * FACTOR <= 1).max()), float(abs(measured + 2.0).where(factor >= FACTOR).max()))
    words = (
        f"The same {len(list(points_of(data, *_SETTING)))} settings at L ≤ 1/{FACTOR:g} and ≥ {FACTOR:g} times the crossover; the largest "
        "distance from −1 and −2 is shown."
    )
    return Finding(off, regime=words)


def _window(data: xarray.Dataset) -> float:
    """Length up to which few positions dominate softmax attention, exp(s_p (s_w + s_p)), by the variance of scores."""
    return math.exp(float(data.s_p) * (float(data.s_w) + float(data.s_p)))


def _slopes(data: xarray.Dataset) -> list[tuple[xarray.Dataset, common.Power | None]]:
    """The results of each setting, and the slope of the raw eigenvalue of [L-1,1]."""
    slopes = []
    for setting in map(present, points_of(data, "s_w")):
        tops = setting.max("heads")  # each length has one number of heads
        slopes.append((setting, common.power_law(tops.length.values, *scaling.top_eigenvalues(tops, "[L-1,1]", normalised=False))))
    return slopes


_INSIDE = near(-1, TOLERANCE, "raw slope of [L-1,1]", where=f"where L < exp(s_p (s_w + s_p))/{FACTOR:g}")
_OUTSIDE = at_most(STEEP, "raw slope of [L-1,1]", where=f"where L > {FACTOR:g} exp(s_p (s_w + s_p))")


@measure_softmax.claim("e10-softmax-inside", _INSIDE, null=-2.0, below=True)
@measure_softmax.claim("e10-softmax-outside", _OUTSIDE, null=-1.0, below=False)
def slope_of_softmax(data: xarray.Dataset, below: bool) -> Finding:
    """The slope nearest to breaking its rule among settings well below the window, or well beyond it."""
    cases = []
    for setting, power in _slopes(data):
        window, lengths = _window(setting), setting.length.values
        if lengths.max() * FACTOR < window if below else lengths.min() > FACTOR * window:
            if power is None:
                raise common.unresolved(scaling.regime(setting))
            cases.append((power, f"{scaling.variances(setting)}, window {window:.3g}: {power.exponent:.2f}", common.span(lengths)))
    if not cases:
        raise common.nothing("No setting lies in this range of lengths at this scale.")
    power, _, lengths = (min if below else max)(cases, key=lambda case: case[0].exponent)
    words = f"Softmax + linear activation, L = {lengths}, raw eigenvalue of [L-1,1]: {'; '.join(told for _, told, _ in cases)}."
    return Finding(power.exponent, power.stderr, words)


@measure_linear.figure()
def exponents_by_length(data: xarray.Dataset) -> Plot:
    figure, factors = go.Figure(), data.factor.values
    for number, setting in enumerate(points_of(data, *_SETTING)):
        name = f"V = {setting.vocab.item()}, s_w = {setting.s_w.item():.3g}, s_p = {setting.s_p.item():g}"
        add_scatter(figure, factors, setting["measured"].values, name, number)
    line = np.geomspace(factors.min(), factors.max(), 40)
    add_guide(figure, line, -1.0 - line / (1.0 + line), "−1 − L/(L + L*)")
    caption = (
        "Local exponents of [L-1,1] of the linear model at all variances lie on one curve: −1, as the bound, well below the crossover, "
        "−2 beyond."
    )
    plot = common.plotted(
        figure, "Where the bound is tight", caption, x="length over crossover L/L*", y="local exponent over E[k]", linear="y"
    )
    figure.update_traces(marker={"size": 8, "opacity": 1.0}, selector={"mode": "markers"})
    figure.update_xaxes(dtick=1, exponentformat="power")
    return plot


@measure_softmax.table()
def softmax_attention(data: xarray.Dataset) -> Table:
    rows = [
        [scaling.variances(setting), f"{_window(setting):.3g}", common.span(setting.length.values), common.told(power)]
        for setting, power in _slopes(data)
    ]
    note = "The window is a heuristic, the exponential of the variance of scores."
    return Table(("softmax attention", "window up to", "lengths", "raw exponent of [L-1,1]"), rows, note, "Softmax attention")
