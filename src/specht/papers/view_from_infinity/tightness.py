"""Tightness map: where eigenvalues fall as fast as their bound allows, by variances, vocabulary and length."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.view_from_infinity import scaling, sources
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.tightness"
STEEP = -1.5
"""Slope of the raw eigenvalue of [L-1,1] below which softmax attention has left the window."""
FACTOR = 4.0
"""How far from the crossover counts as well below or well beyond it."""
SPREAD_OUT: tuple[dict[str, Any], ...] = ({"vocab": 2, "s_w": 0.5, "s_p": 0.5}, {"vocab": 4, "s_w": 0.25, "s_p": 0.5})
"""Settings of softmax attention that leave the window at short lengths."""


def measure_linear(vocab: int, s_w: float, s_p: float, factors: list[float]) -> xarray.Dataset:
    """Local exponents of [L-1,1] over E[k] in the linear model at multiples of its crossover length, and those predicted."""
    import specht
    from specht.spectra.crossover import crossover
    from specht.spectra.scaling import scaling as families

    arch = specht.Architecture(vocab=vocab, length=8, s_w=s_w, s_p=s_p)
    turn = crossover(arch)
    assert turn is not None
    middles = [round(factor * turn.length) for factor in factors]
    measured = []
    for middle in middles:
        around = [math.floor(middle / 1.1), math.ceil(middle * 1.1)]
        standard = families([specht.spectrum(arch.replace(length=length)) for length in around])[1]
        assert standard.normalised is not None
        measured.append(standard.normalised.value)
    return common.record(
        "linear",
        {
            "measured": ("factor", measured),
            "predicted": ("factor", [turn.exponent(middle) for middle in middles]),
            "length": ("factor", np.array(middles, dtype=float)),
            "crossover": turn.length,
        },
        {"factor": factors},
    )


def linear_jobs(scale: Scale) -> list[Job]:
    settings = common.at_scale(
        scale,
        smoke=[(4, 0.25, 1.0)],
        quick=[(4, 0.1, 1.0), (8, 0.125, 1.0), (16, 1 / 16, 1.0), (2, 0.05, 1.0), (4, 0.1, 2.0)],
        full=[
            *((v, s_w, s_p) for v in (8, 16) for s_w in (1 / v, 0.05) for s_p in (1.0, 2.0)),
            (2, 0.05, 1.0),
            (4, 0.1, 1.0),
            (4, 0.1, 2.0),
        ],
    )
    factors = [0.25, 1.0, 4.0] if scale == "smoke" else [0.1, 0.25, 1.0, 4.0, 10.0]
    return [Job.of(f"{_HERE}:measure_linear", vocab=v, s_w=s_w, s_p=s_p, factors=factors) for v, s_w, s_p in settings]


def softmax_jobs(scale: Scale) -> list[Job]:
    """Those of the spectrum figure and settings that leave the window; equal jobs are done once."""
    lengths = common.at_scale(scale, smoke=[4, 5], quick=[16, 64], full=[16, 32, 64])
    settings = common.at_scale(scale, smoke=(), quick=SPREAD_OUT, full=SPREAD_OUT)
    sampling = common.at_scale(scale, smoke=(256, 16), quick=(512, 64), full=(2048, 64))  # the second level is not needed
    chosen = [scaling.top_job(setting, length, *sampling) for setting in settings for length in lengths]
    return chosen + [
        job for job in scaling.jobs(scale) if job.arguments.get("s_p") == scaling.PEAKED["s_p"] and job.arguments["length"] in lengths
    ]


def jobs(scale: Scale) -> list[Job]:
    return linear_jobs(scale) + softmax_jobs(scale)


def judge_crossover(results: Results) -> Verdict:
    found = common.chosen(results, "linear")
    off = float(np.abs(common.stacked(found, "measured") - common.stacked(found, "predicted")).max())
    cases = "; ".join(f"V = {r.arguments['vocab']}, s_w = {r.arguments['s_w']:g}, s_p = {r.arguments['s_p']:g}" for r in found)
    factors = common.span(found[0].arguments["factors"])
    return holds_if(
        off <= 0.15, off, regime=f"Linear attention + linear activation, uniform tokens, L = {factors} times the crossover: {cases}."
    )


def judge_limits(results: Results) -> Verdict:
    """Slopes well below and well beyond the crossover."""
    found = common.chosen(results, "linear")
    factors = np.array(found[0].arguments["factors"])
    measured = common.stacked(found, "measured")
    off = float(np.abs(np.concatenate([measured[:, factors * FACTOR <= 1] + 1.0, measured[:, factors >= FACTOR] + 2.0], axis=1)).max())
    words = (
        f"The same {len(found)} settings at L ≤ 1/{FACTOR:g} and ≥ {FACTOR:g} times the crossover; the largest distance from −1 and −2 "
        "is shown."
    )
    return holds_if(off <= 0.3, off, regime=words)


def heuristic(result_arguments: Any) -> float:
    """Length up to which few positions dominate softmax attention, exp(s_p (s_w + s_p)), by the variance of scores."""
    return math.exp(result_arguments["s_p"] * (result_arguments["s_w"] + result_arguments["s_p"]))


def _softmax_slopes(results: Results) -> list[tuple[Any, Results, common.Power | None]]:
    """For each setting its arguments, results, and the slope of the raw eigenvalue of [L-1,1]."""
    settings: dict[tuple[Any, ...], list[Any]] = {}
    for result in common.chosen(results, "tops"):
        settings.setdefault(tuple(result.arguments[name] for name in ("vocab", "s_w", "s_p")), []).append(result)
    return [(found[0].arguments, found, scaling.exponent(found, "[L-1,1]", normalised=False)) for found in settings.values()]


def _softmax_verdict(results: Results, below: bool) -> Verdict:
    chosen = []
    for given, found, power in _softmax_slopes(results):
        lengths = common.arguments(found, "length")
        inside = max(lengths) * FACTOR < heuristic(given) if below else min(lengths) > FACTOR * heuristic(given)
        if inside:
            if power is None:
                return common.unresolved(scaling.regime(found))
            chosen.append((power, given, lengths))
    if not chosen:
        return Verdict("not tested", regime="No setting lies in this range of lengths at this scale.")
    power, _, lengths = (min if below else max)(chosen, key=lambda case: case[0].exponent)
    words = "; ".join(
        f"V = {g['vocab']}, s_w = {g['s_w']:g}, s_p = {g['s_p']:g}, window {heuristic(g):.3g}: {p.exponent:.2f}" for p, g, _ in chosen
    )
    held = abs(power.exponent + 1.0) <= scaling.TOLERANCE if below else power.exponent <= STEEP
    return holds_if(
        held, power.exponent, power.stderr, f"Softmax + linear activation, L = {common.span(lengths)}, raw eigenvalue of [L-1,1]: {words}."
    )


def judge_softmax_inside(results: Results) -> Verdict:
    return _softmax_verdict(results, below=True)


def judge_softmax_outside(results: Results) -> Verdict:
    return _softmax_verdict(results, below=False)


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    found = common.chosen(results, "linear")
    for number, result in enumerate(found):
        given, factors = result.arguments, result.data["factor"].values
        name = f"V = {given['vocab']}, s_w = {given['s_w']:.3g}, s_p = {given['s_p']:g}"
        common.add_scatter(figure, factors, result.data["measured"].values, name, number)
    factors = np.geomspace(min(found[0].arguments["factors"]), max(found[0].arguments["factors"]), 40)
    common.add_guide(figure, factors, -1.0 - factors / (1.0 + factors), "−1 − L/(L + L*)")
    common.finished(figure, x="length over crossover L/L*", y="local exponent over E[k]", linear_y=True)
    figure.update_traces(marker={"size": 8, "opacity": 1.0}, selector={"mode": "markers"})
    figure.update_xaxes(dtick=1, exponentformat="power")
    caption = (
        "Local exponents of [L-1,1] of the linear model at all variances lie on one curve: −1, as the bound, well below the crossover, "
        "−2 beyond."
    )
    return [Plot(figure, "Where the bound is tight", caption, wide=True)]


def tables(results: Results) -> list[Table]:
    rows = [
        [
            f"V = {given['vocab']}, s_w = {given['s_w']:g}, s_p = {given['s_p']:g}",
            f"{heuristic(given):.3g}",
            common.span(common.arguments(found, "length")),
            "not resolved" if power is None else common.with_error(power.exponent, power.stderr),
        ]
        for given, found, power in _softmax_slopes(results)
    ]
    note = "The window is a heuristic, the exponential of the variance of scores."
    return [Table(("softmax attention", "window up to", "lengths", "raw exponent of [L-1,1]"), rows, note, "Softmax attention")]


EXPERIMENT = Experiment(
    name="infinity.e10",
    title="Where the bound is tight",
    shown="Poster: the statement that eigenvalues take the largest scaling possible. The map of where they do was made here.",
    claims=(
        Claim(
            "infinity.e10-crossover",
            "The exponent of the linear model at any variances depends on the length over a crossover length alone.",
            f"{sources.OURS}: L* = V (s_p/s_w)² for uniform tokens",
            "local slope of [L-1,1] over E[k] within 0.15 of −1 − L/(L + L*), from 0.1 to 10 L*, where L* is 400 or more",
            judge_crossover,
        ),
        Claim(
            "infinity.e10-limits",
            "The bound is tight well below the crossover, and the exponent is doubled well beyond.",
            sources.OURS,
            "slope −1 ± 0.3 at L ≤ L*/4 and −2 ± 0.3 at L ≥ 4 L*",
            judge_limits,
        ),
        Claim(
            "infinity.e10-softmax-inside",
            "Raw eigenvalues of softmax attention fall as their bound where few positions dominate.",
            sources.OURS,
            "raw slope of [L-1,1] is −1 ± 0.3 where L < exp(s_p (s_w + s_p))/4",
            judge_softmax_inside,
        ),
        Claim(
            "infinity.e10-softmax-outside",
            "They fall faster where attention is spread over many positions.",
            sources.OURS,
            "raw slope of [L-1,1] at most −1.5 where L > 4 exp(s_p (s_w + s_p))",
            judge_softmax_outside,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "The eigenvalue of [L-1,1] of the linear model does not depend on the length, and E[k] grows as L and then as L².",
            ("λ/E[k] ∝ 1/(L + L²/L*)", "L* = V (s_p/s_w)²"),
        ),
        Step(
            "Scores of softmax attention have the variance s_p (s_w + s_p) between positions; few positions dominate while the "
            "exponential of it exceeds the length."
        ),
    ),
)
