"""Sample complexity: how the number of samples grows with the length, level by level."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.view_from_infinity import sources
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.complexity"
WIDE, NARROW = 0.5, 0.1
"""Variances s_w of the embedding of two tokens, with s_p = 1."""
MARGIN = 0.1
"""By which an exponent may fall short of m: section 7 of the notes."""


def measure_needs(length: int, s_w: float, ridge: float) -> xarray.Dataset:
    """Samples from which half of g_m is learnt, m = 0, 1, 2: two uniform tokens, linear attention with an erf activation.

    `dimension` is that of [L-m,m]; half of it is the least number of samples at any ridge.
    """
    import specht
    from specht.learning.complexity import samples_to_learn
    from specht.learning.content import content

    source = specht.sources.uniform(2)
    arch: Any = specht.Architecture(vocab=2, length=length, activation="erf", s_w=s_w, s_p=1.0)
    spec = specht.spectrum(arch, source, max_level=2)
    tasks = [specht.Task(source, specht.targets.level(m, length, source=source)) for m in sources.LEVELS]
    tops = {row.irrep.level: row for row in reversed(spec.rows)}
    return common.record(
        "needs",
        {
            "samples": ("level", [samples_to_learn(content(spec, task), ridge) for task in tasks]),
            "dimension": ("level", [float(tops[m].degeneracy) for m in sources.LEVELS]),
        },
        {"level": list(sources.LEVELS)},
    )


def measure_bare(length: int, ridge: float) -> xarray.Dataset:
    """Samples that the leading function of [L-1,1] needs of linear attention that is not divided by the length, at a fixed ridge.

    `bare` is the ridge over the eigenvalue, `samples` the number with unlearnt functions counted. The ridge is an absolute number.
    """
    import specht

    arch: Any = specht.Architecture(vocab=2, length=length, s_w=0.5, s_p=1.0)
    spec = specht.spectrum(arch)
    (need,) = (need for need in specht.sample_complexity(spec, ridge / spec.trace) if need.irrep.level == 1)
    return common.record("bare", {"bare": ridge / (need.eigenvalue * spec.trace), "samples": need.samples})


def jobs(scale: Scale) -> list[Job]:
    lengths = common.at_scale(scale, smoke=[4, 6, 8], quick=[8, 16, 32], full=[8, 16, 32, 64])
    long = common.at_scale(scale, smoke=[32, 128], quick=[32, 128, 512, 2048], full=[32, 128, 512, 2048, 8192])
    return [
        *(Job.of(f"{_HERE}:measure_needs", length=length, s_w=s_w, ridge=1.0) for s_w in (WIDE, NARROW) for length in lengths),
        *(Job.of(f"{_HERE}:measure_bare", length=length, ridge=1.0) for length in long),
    ]


def _regime(results: Results) -> str:
    given = results[0].arguments
    return (
        f"Linear attention + erf, V = 2, uniform tokens, s_w = {common.listed(common.arguments(results, 's_w'))}, s_p = 1, L = "
        f"{common.listed(common.arguments(results, 'length'))}, ridge {given['ridge']:g} E[k], from the exact spectrum."
    )


def _judge_growth(results: Results) -> Verdict:
    lengths, samples = common.arguments(results, "length"), common.stacked(results, "samples")
    powers = [common.power_law(lengths, samples[:, m]) for m in sources.LEVELS]
    slopes = [power.exponent for power in powers if power is not None]
    short = min(slope - m for m, slope in enumerate(slopes))
    words = (
        f"{_regime(results)} Exponents at m = 0, 1, 2: {', '.join(f'{slope:.2f}' for slope in slopes)}; the smallest exponent − m is shown."
    )
    return holds_if(short >= -MARGIN, short, regime=words)


def judge_wide(results: Results) -> Verdict:
    return _judge_growth(common.chosen(results, "needs", s_w=WIDE))


def judge_narrow(results: Results) -> Verdict:
    return _judge_growth(common.chosen(results, "needs", s_w=NARROW))


def judge_dimension(results: Results) -> Verdict:
    """What the theorem needs: at least half the dimension, whatever the ridge and the variances."""
    found = common.chosen(results, "needs")
    ratio = float((common.stacked(found, "samples") / common.stacked(found, "dimension")).min())
    return holds_if(ratio >= 0.5, ratio, regime=_regime(found))


def judge_bare(results: Results) -> Verdict:
    """The bare number of samples stays as it is while the true one grows."""
    found = common.chosen(results, "bare")
    lengths = common.arguments(found, "length")
    bare, true = (common.power_law(lengths, common.column(found, name)) for name in ("bare", "samples"))
    assert bare is not None
    assert true is not None
    words = (
        f"Linear attention without 1/L + linear activation, V = 2, s_w = 0.5, s_p = 1, L = {common.span(lengths)}, absolute ridge "
        f"{found[0].arguments['ridge']:g}: ridge/eigenvalue has exponent {bare.exponent:.2f}, N* with unlearnt functions "
        f"{true.exponent:.2f}."
    )
    return holds_if(abs(bare.exponent) <= 0.1 and true.exponent >= 1.0 - MARGIN, bare.exponent, regime=words)


def judge_order(results: Results) -> Verdict:
    """The smallest factor from one level to the next."""
    found = common.chosen(results, "needs")
    samples = common.stacked(found, "samples")
    least = float((samples[:, 1:] / samples[:, :-1]).min())
    return holds_if(least > 1.0, least, regime=f"{_regime(found)} The smallest factor from one level to the next is shown.")


def plots(results: Results) -> list[Plot]:
    return [_plot(common.chosen(results, "needs", s_w=s_w)) for s_w in (WIDE, NARROW)]


def _plot(results: Results) -> Plot:
    figure = go.Figure()
    lengths = np.array(common.arguments(results, "length"), dtype=float)
    samples, dimensions = common.stacked(results, "samples"), common.stacked(results, "dimension")
    for m in sources.LEVELS:
        common.add_points(figure, lengths, samples[:, m], f"level {m}", m, joined=True)
        common.add_line(figure, lengths, dimensions[:, m] / 2, f"half of dim [L-{m},{m}]", m, dash="dash", legend=False)
    common.finished(figure, x="length L", y="samples N*", ticks=lengths.tolist())
    s_w = results[0].arguments["s_w"]
    caption = (
        "Samples from which half of a function of level m is learnt; dashed is half the dimension of its irrep, the least at any ridge."
    )
    return Plot(figure, f"Sample complexity at s_w = {s_w:g}", caption, wide=True)


def tables(results: Results) -> list[Table]:
    rows = [
        [f"s_w = {r.arguments['s_w']:g}, L = {r.arguments['length']}", *(f"{value:.4g}" for value in r.data["samples"].values)]
        for r in common.chosen(results, "needs")
    ]
    return [
        Table(("setting", "m = 0", "m = 1", "m = 2"), rows, "Samples N* from which half of the function is learnt.", "Sample complexity")
    ]


EXPERIMENT = Experiment(
    name="infinity.q6",
    title="Sample complexity grows with the dimension of the irrep",
    shown=(
        "Poster: a function of the irrep (L-m,m) is learnt from about the ridge over its eigenvalue samples, at least of order L^m. "
        "Summary and abstract: functions that are more symmetric are learnt from fewer samples."
    ),
    claims=(
        Claim(
            "infinity.q6-erf",
            "The number of samples for g_m grows at least as the m-th power of the length.",
            f"{sources.POSTER}, theorem",
            f"log-log slope of N* at least m − 0.1 for m = 0, 1, 2, with s_w = {WIDE:g}, L = 8 to 32",
            judge_wide,
        ),
        Claim(
            "infinity.q6-erf-narrow",
            "The number of samples for g_m grows at least as the m-th power of the length where tokens have a small variance, too.",
            f"{sources.POSTER}, theorem",
            f"log-log slope of N* at least m − 0.1 for m = 0, 1, 2, with s_w = {NARROW:g}, L = 8 to 32",
            judge_narrow,
        ),
        Claim(
            "infinity.q6-dimension",
            "Half of a function of an irrep needs at least half as many samples as the irrep has dimensions.",
            f"{sources.POSTER}, theorem, with the degeneracy counted",
            "N* / dim at least 1/2 at every length and level",
            judge_dimension,
        ),
        Claim(
            "infinity.q6-bare-ridge",
            "Ridge over eigenvalue alone shows no growth for linear attention that is not normalised: the degeneracy makes N* grow.",
            f"{sources.OURS}: the poster's estimate, ridge over eigenvalue, in a case where it is no estimate",
            "log-log slope of ridge/eigenvalue 0 ± 0.1 and of N* at least 0.9 for [L-1,1], L = 32 to 2048",
            judge_bare,
        ),
        Claim(
            "infinity.q7-order",
            "A more symmetric target needs fewer samples.",
            f"{sources.SUMMARY}, and abstract",
            "N*(m=0) < N*(m=1) < N*(m=2) at every length",
            judge_order,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Half of an eigenfunction is learnt where κ equals its eigenvalue; a target spread over several copies of an irrep where "
            "half of its mean square is.",
            ("N*_i = δ/λ_i + Σ_j d_j λ_j/(λ_j + λ_i) ≥ δ/λ_i + d_i/2",),
        ),
        Step(
            "The target g_m is antisymmetric in m pairs of positions, a pure function of [L-m,m].",
            ("g_m ∝ Π_{j≤m} ([x_{2j−1} = v] − [x_{2j} = v])",),
        ),
    ),
)
