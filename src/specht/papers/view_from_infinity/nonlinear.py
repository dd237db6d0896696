"""Nonlinear activations: their spectra against the length, beside the linear one."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.view_from_infinity import sources
from specht.papers.view_from_infinity.scaling import TOLERANCE
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.nonlinear"
WIDE, NARROW = 0.5, 0.1
"""Variances s_w of the embedding of two tokens, with s_p = 1."""
CASES = (("linear", WIDE), ("erf", WIDE), ("erf", NARROW), ("relu", WIDE), ("relu", NARROW))
"""Activations and variances that are compared."""


def measure_levels(activation: str, s_w: float, length: int) -> xarray.Dataset:
    """Top eigenvalues of levels 0, 1 and 2 of linear attention over E[k], for two uniform tokens: exact, zero below rounding."""
    import specht

    fields: Any = {"activation": activation}
    arch = specht.Architecture(vocab=2, length=length, s_w=s_w, s_p=1.0, **fields)
    spec = specht.spectrum(arch, max_level=2)
    tops = {row.irrep.level: row for row in reversed(spec.rows) if not row.below_rounding}
    values = [tops[m].eigenvalue / spec.trace if m in tops else 0.0 for m in sources.LEVELS]
    return common.record("levels", {"normalised": ("level", values)}, {"level": list(sources.LEVELS)})


def jobs(scale: Scale) -> list[Job]:
    lengths = common.at_scale(scale, smoke=[4, 6], quick=[8, 16, 32, 64], full=[8, 16, 32, 64, 128])
    return [Job.of(f"{_HERE}:measure_levels", activation=a, s_w=s_w, length=length) for a, s_w in CASES for length in lengths]


def _case(results: Results, activation: str, s_w: float) -> tuple[Results, np.ndarray, str]:
    """Results of a case, its eigenvalues (lengths, levels), and where it was measured."""
    found = common.chosen(results, "levels", activation=activation, s_w=s_w)
    lengths = common.span(common.arguments(found, "length"))
    words = f"Linear attention + {activation}, V = 2, s_w = {s_w:g}, s_p = 1, uniform tokens, L = {lengths}, exact."
    return found, common.stacked(found, "normalised"), words


def _judge(activation: str, s_w: float) -> Any:
    def judge(results: Results) -> Verdict:
        found, values, words = _case(results, activation, s_w)
        powers = [common.power_law(common.arguments(found, "length"), values[:, m]) for m in (1, 2)]
        if any(power is None for power in powers):
            return common.unresolved(words)
        slopes = [power.exponent for power in powers if power is not None]
        off = max(abs(slope + m) for m, slope in zip((1, 2), slopes, strict=True))
        words += f" Slopes over E[k] at m = 1, 2: {slopes[0]:.2f}, {slopes[1]:.2f}; the larger distance from −m is shown."
        return holds_if(off <= TOLERANCE, off, regime=words)

    return judge


def judge_second_level(results: Results) -> Verdict:
    """The linear model has no second level at all; the others do."""
    linear = float(_case(results, "linear", WIDE)[1][:, 2].max())
    least = min(float(_case(results, activation, s_w)[1][:, 2].min()) for activation, s_w in CASES if activation != "linear")
    words = (
        f"{_case(results, 'erf', WIDE)[2]} The smallest eigenvalue of [L-2,2] over E[k] of erf and ReLU is shown; the linear one is "
        "below rounding."
    )
    return holds_if(linear == 0.0 and least > 0.0, least, regime=words)


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    for number, (activation, s_w) in enumerate(CASES):
        found, values, _ = _case(results, activation, s_w)
        lengths = common.arguments(found, "length")
        for m in (1, 2):
            if values[:, m].any():
                name = f"{activation}, s_w = {s_w:g}"
                common.add_points(figure, lengths, values[:, m], name, number, joined=True, legend=m == 1)
    lengths = sorted({result.arguments["length"] for result in results})
    common.add_guide(figure, lengths, [0.1 * lengths[0] / length for length in lengths], "1/L")
    common.finished(figure, x="length L", y="eigenvalue / E[k]", ticks=lengths)
    caption = "Top eigenvalues of [L-1,1] (above) and [L-2,2] (below, in the same colour). The linear model has no second level."
    return [Plot(figure, "Activations", caption, wide=True)]


def tables(results: Results) -> list[Table]:
    linear = _case(results, "linear", WIDE)[1][-1, 1]
    rows = []
    for activation, s_w in CASES:
        found, values, _ = _case(results, activation, s_w)
        powers = [common.power_law(common.arguments(found, "length"), values[:, m]) for m in (1, 2)]
        cells = ["none" if power is None else f"{power.exponent:.2f}" for power in powers]
        rows.append([f"{activation}, s_w = {s_w:g}", *cells, f"{values[-1, 1] / linear:.3g}"])
    header = ("activation", "slope at m = 1", "slope at m = 2", "[L-1,1] over the linear one")
    note = f"Eigenvalues over E[k]; the last column is at the longest context and relative to the linear model at s_w = {WIDE:g}."
    return [Table(header, rows, note, "Slopes by activation")]


def _claim(name: str, sentence: str, activation: str, s_w: float) -> Claim:
    criterion = f"log-log slope of the top eigenvalue over E[k] is −m ± 0.3 for m = 1, 2, with s_w = {s_w:g}, s_p = 1, V = 2"
    return Claim(f"infinity.e6-{name}", sentence, f"{sources.SUGGESTED}: nonlinear activations", criterion, _judge(activation, s_w))


EXPERIMENT = Experiment(
    name="infinity.e6",
    title="Nonlinear activations",
    shown="Summary: an experiment that it suggests, the spectrum with nonlinear activations. Abstract: support for them in experiments.",
    claims=(
        Claim(
            "infinity.e6-second-level",
            "A nonlinear activation makes functions of two positions learnable, which the linear model never learns.",
            f"{sources.SUGGESTED}: nonlinear activations",
            "top eigenvalue of [L-2,2] above rounding for erf and ReLU, and not for the linear activation",
            judge_second_level,
        ),
        _claim("erf-narrow", "With an erf activation eigenvalues fall as their bound where tokens have a small variance.", "erf", NARROW),
        _claim("erf-wide", "With an erf activation eigenvalues fall as their bound where tokens have a large variance.", "erf", WIDE),
        _claim("relu-narrow", "With a ReLU activation eigenvalues fall as their bound where tokens have a small variance.", "relu", NARROW),
        _claim("relu-wide", "With a ReLU activation eigenvalues fall as their bound where tokens have a large variance.", "relu", WIDE),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "For two tokens the block of [L-m,m] is made of m-th differences of the kernel in the overlap of two sequences.",
            ("Δ^m k(t) = Σ_j (−1)^{m−j} C(m,j) k(t+j)",),
        ),
    ),
)
