"""Figure on the spectrum of softmax attention against the length."""

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

_HERE = f"{sources.PACKAGE}.scaling"
TOLERANCE = 0.3
"""Of an exponent: section 7 of the notes."""
PEAKED: dict[str, Any] = {"vocab": 4, "s_w": 1.0, "s_p": 3.0}
"""Scores so large that attention looks at few positions."""
LECUN: dict[str, Any] = {"vocab": 4, "s_w": 0.25, "s_p": 1.0}
"""Variance 1/V of the embedding and one of the positions."""
WINDOW = 16
"""Length up to which the eigenvalues of `LECUN`, over E[k], fall as their bound."""
FAMILIES = {(): "[L]", (1,): "[L-1,1]", (2,): "[L-2,2]", (1, 1): "[L-2,1,1]"}
"""Irreps by the rows below the first one."""


def measure_tops(vocab: int, s_w: float, s_p: float, length: int, heads: int, sequences: int, seed: int) -> xarray.Dataset:
    """The top eigenvalues of softmax attention with a linear activation, for uniform tokens, by Rayleigh quotients on sampled heads."""
    import specht

    arch: Any = specht.Architecture(vocab=vocab, length=length, attention="softmax", s_w=s_w, s_p=s_p)
    spec = specht.spectrum(arch, method="rayleigh", max_level=2, heads=heads, sequences=sequences, seed=seed)
    rows = {row.irrep.tail.parts: row for row in spec.rows}
    found = [tail for tail in FAMILIES if tail in rows]
    return common.record(
        "tops",
        {
            "eigenvalue": ("irrep", [rows[tail].eigenvalue for tail in found]),
            "stderr": ("irrep", [rows[tail].stderr or 0.0 for tail in found]),
            "dimension": ("irrep", [float(rows[tail].degeneracy) for tail in found]),
            "level": ("irrep", [float(sum(tail)) for tail in found]),
            "trace": spec.trace,
            "trace_stderr": spec.trace_stderr,
        },
        {"irrep": [FAMILIES[tail] for tail in found]},
    )


def measure_clusters(length: int, heads: int, seeds: list[int]) -> xarray.Dataset:
    """How far sampled heads pull the leading multiplet of [L-1,1] apart, for two tokens and every sequence listed.

    `spread` is its largest minus its smallest eigenvalue over their mean, for several draws of the heads.
    """
    import specht
    from specht.spectra.dense import multiplet_splittings

    arch: Any = specht.Architecture(vocab=2, length=length, attention="softmax", s_w=0.5, s_p=0.5)
    spreads = []
    for seed in seeds:
        rows = multiplet_splittings(specht.Kernel(arch, heads=heads, seed=seed), specht.sources.uniform(2))
        leading = next(row for row in rows if row.irrep.level == 1)
        spreads.append(leading.splitting / leading.eigenvalue)
    return common.record("clusters", {"spread": ("seed", spreads)}, {"seed": seeds})


def top_job(setting: dict[str, Any], length: int, heads: int, sequences: int) -> Job:
    """The job of one length of a setting."""
    return Job.of(f"{_HERE}:measure_tops", **setting, length=length, heads=heads, sequences=sequences, seed=0)


def sampling(scale: Scale, length: int) -> tuple[int, int]:
    """Heads and sequences of each of the sixteen batches; long contexts have small eigenvalues and need more heads."""
    return common.at_scale(scale, smoke=(256, 16), quick=(1024, 64) if length < 64 else (1536, 64), full=(4096, 128))


def jobs(scale: Scale) -> list[Job]:
    """Both settings at every length; compiling is what costs, so the smoke scale has two tokens and three points."""
    points = [(setting, length) for setting in (PEAKED, LECUN) for length in (4, 8, 16, 32, 64)]
    if scale == "smoke":
        points = [({**PEAKED, "vocab": 2}, 4), ({**PEAKED, "vocab": 2}, 5), ({**LECUN, "vocab": 2}, 4)]
    clusters = common.at_scale(scale, smoke=[256, 512], quick=[256, 1024, 4096], full=[256, 1024, 4096, 16384])
    size = common.at_scale(scale, smoke=3, quick=6, full=7)
    seeds = list(range(common.at_scale(scale, smoke=2, quick=16, full=16)))
    return [
        *(top_job(setting, length, *sampling(scale, length)) for setting, length in points),
        *(Job.of(f"{_HERE}:measure_clusters", length=size, heads=heads, seeds=seeds) for heads in clusters),
    ]


def _of(results: Results, setting: dict[str, Any], longest: int = 10**9, shortest: int = 0) -> Results:
    """Results of one setting in a window of lengths; its vocabulary may be a smaller one at smoke scale."""
    variances = {name: setting[name] for name in ("s_w", "s_p")}
    return [r for r in common.chosen(results, "tops", **variances) if shortest <= r.arguments["length"] <= longest]


def exponent(results: Results, irrep: str, normalised: bool) -> common.Power | None:
    """The exponent of the top eigenvalue of a family of irreps, raw or over E[k]."""
    found = [result for result in results if irrep in result.data["irrep"].values]
    values, errors = (np.array([float(r.data[name].sel(irrep=irrep)) for r in found]) for name in ("eigenvalue", "stderr"))
    if normalised:
        traces, trace_errors = common.column(found, "trace"), common.column(found, "trace_stderr")
        values, errors = values / traces, np.hypot(errors / traces, values * trace_errors / traces**2)
    return common.power_law(common.arguments(found, "length"), values, errors)


def regime(results: Results) -> str:
    """Where top eigenvalues were measured."""
    given, lengths, heads = results[0].arguments, *(common.span(common.arguments(results, name)) for name in ("length", "heads"))
    return (
        f"Softmax attention + linear activation, V = {given['vocab']}, s_w = {given['s_w']:g}, s_p = {given['s_p']:g}, uniform tokens, "
        f"L = {lengths}, {heads} heads in each of 16 batches."
    )


def judge_slopes(results: Results, *, normalised: bool) -> Verdict:
    """Whether levels 0, 1 and 2 all fall as L^-m."""
    powers = [exponent(results, FAMILIES[(m,) if m else ()], normalised) for m in sources.LEVELS]
    resolved = [power for power in powers if power is not None]
    if len(resolved) < len(powers):
        return common.unresolved(regime(results))
    off = [abs(power.exponent + m) for m, power in enumerate(resolved)]
    worst = int(np.argmax(off))
    slopes = ", ".join(f"{power.exponent:.2f} ± {power.stderr:.2f}" for power in resolved)
    words = f"{regime(results)} Slopes at m = 0, 1, 2: {slopes}; the largest distance from −m is shown."
    return holds_if(max(off) <= TOLERANCE, off[worst], resolved[worst].stderr, words)


def judge_raw_peaked(results: Results) -> Verdict:
    return judge_slopes(_of(results, PEAKED), normalised=False)


def judge_normalised_peaked(results: Results) -> Verdict:
    return judge_slopes(_of(results, PEAKED), normalised=True)


def judge_raw_lecun(results: Results) -> Verdict:
    return judge_slopes(_of(results, LECUN), normalised=False)


def judge_normalised_lecun(results: Results) -> Verdict:
    return judge_slopes(_of(results, LECUN, longest=WINDOW), normalised=True)


def judge_normalised_long(results: Results) -> Verdict:
    return judge_slopes(_of(results, LECUN), normalised=True)


def judge_window(results: Results) -> Verdict:
    """Whether the second level still falls as its bound beyond the window."""
    lengths = sorted(set(common.arguments(_of(results, LECUN), "length")))
    late = _of(results, LECUN, shortest=lengths[max(0, len(lengths) - 3)])
    power = exponent(late, "[L-2,2]", normalised=True)
    if power is None:
        return common.unresolved(regime(late))
    return holds_if(
        abs(power.exponent + 2) <= TOLERANCE, power.exponent, power.stderr, f"{regime(late)} The slope of [L-2,2] over E[k] is shown."
    )


def judge_bound(results: Results) -> Verdict:
    """Every eigenvalue against E[k]/dim."""
    tops = common.chosen(results, "tops")
    ratios = [(r.data["eigenvalue"] * r.data["dimension"] / r.data["trace"]).values for r in tops]
    errors = [(r.data["stderr"] * r.data["dimension"] / r.data["trace"]).values for r in tops]
    best = max(
        ((v, e) for value, error in zip(ratios, errors, strict=True) for v, e in zip(value, error, strict=True)), key=lambda both: both[0]
    )
    held = all((value <= 1.0 + 3.0 * error).all() for value, error in zip(ratios, errors, strict=True))
    words = (
        f"Both settings of the figure, L = {common.span(common.arguments(tops, 'length'))}; the largest eigenvalue × dim / E[k] is shown."
    )
    return holds_if(held, *best, words)


def judge_clusters(results: Results) -> Verdict:
    """Whether the multiplet closes as the noise of heads does, the root of their number."""
    found = common.chosen(results, "clusters")
    spreads = np.array([result.data["spread"].values for result in found])
    heads = common.arguments(found, "heads")
    power = common.power_law(heads, spreads.mean(axis=1), spreads.std(axis=1, ddof=1) / np.sqrt(spreads.shape[1]))
    words = (
        f"Softmax, V = 2, s_w = s_p = 0.5, L = {found[0].arguments['length']}, leading multiplet of [L-1,1], {common.span(heads)} heads, "
        f"{spreads.shape[1]} draws each: it is {spreads.mean(axis=1)[-1]:.1%} wide with the most heads."
    )
    return common.unresolved(words) if power is None else holds_if(abs(power.exponent + 0.5) <= 0.15, power.exponent, power.stderr, words)


def plots(results: Results) -> list[Plot]:
    cases = [(PEAKED, False, "Raw eigenvalues, peaked attention"), (LECUN, True, "Eigenvalues over E[k], LeCun variances")]
    return [_plot(_of(results, setting), normalised, title) for setting, normalised, title in cases]


def _plot(results: Results, normalised: bool, title: str) -> Plot:
    figure = go.Figure()
    lengths = np.array(common.arguments(results, "length"), dtype=float)
    for number, irrep in enumerate(FAMILIES.values()):
        found = [result for result in results if irrep in result.data["irrep"].values]
        if not found:
            continue
        x, units = common.arguments(found, "length"), common.column(found, "trace") if normalised else np.ones(len(found))
        values, errors = (np.array([float(r.data[name].sel(irrep=irrep)) for r in found]) / units for name in ("eigenvalue", "stderr"))
        common.add_points(figure, x, values, irrep, number, errors=errors, joined=True)
        level = float(found[0].data["level"].sel(irrep=irrep))
        if values[0] > 0.0 and irrep != "[L-2,1,1]":
            name = "falling as L^-m"
            common.add_line(figure, lengths, values[0] * (lengths / lengths[0]) ** -level, name, number, dash="dash", legend=False)
    common.finished(figure, x="length L", y="eigenvalue / E[k]" if normalised else "eigenvalue", ticks=lengths.tolist())
    given = results[0].arguments
    caption = (
        f"Top eigenvalues of softmax attention with a linear MLP, V = {given['vocab']}, s_w = {given['s_w']:g}, s_p = {given['s_p']:g}. "
        "Dashed lines from the first point fall as the power −m of the length, the scaling of the bound."
    )
    return Plot(figure, title, caption, wide=True)


def tables(results: Results) -> list[Table]:
    """Exponents of both settings in both units."""
    rows = []
    for setting in (PEAKED, LECUN):
        found = _of(results, setting)
        for irrep in FAMILIES.values():
            if not any(irrep in result.data["irrep"].values for result in found):
                continue
            given = found[0].arguments
            powers = [exponent(found, irrep, normalised) for normalised in (False, True)]
            cells = ["not resolved" if power is None else common.with_error(power.exponent, power.stderr) for power in powers]
            rows.append([f"V = {given['vocab']}, s_w = {given['s_w']:g}, s_p = {given['s_p']:g}: {irrep}", *cells])
    note = f"Fitted over L = {common.span(common.arguments(common.chosen(results, 'tops'), 'length'))}."
    return [Table(("irrep", "eigenvalue", "eigenvalue / E[k]"), rows, note, "Exponents of the length")]


def _claim(name: str, sentence: str, criterion: str, judge: Any, citation: str = f"{sources.POSTER}, figure on the spectrum") -> Claim:
    return Claim(f"infinity.f2-{name}", sentence, citation, criterion, judge)


EXPERIMENT = Experiment(
    name="infinity.f2",
    title="The spectrum of softmax attention against the length",
    shown=(
        "Poster: eigenvalues of the kernel of softmax attention with a linear MLP against the length, with the statement that they take "
        "the largest scaling that the bound allows. Sizes, variances and whether eigenvalues were divided by E[k] are not known to us."
    ),
    claims=(
        _claim(
            "softmax-raw",
            "Eigenvalues of peaked softmax attention fall as fast as their bound, 1/L^m.",
            "log-log slope of the raw top eigenvalue of [L-m,m] is −m ± 0.3, m = 0, 1, 2, L = 4 to 64, V = 4, s_w = 1, s_p = 3",
            judge_raw_peaked,
        ),
        _claim(
            "softmax-normalised",
            "At LeCun variances eigenvalues over E[k] fall as fast as their bound, in a window of lengths.",
            f"slope of the top eigenvalue over E[k] is −m ± 0.3, m = 0, 1, 2, L = 4 to {WINDOW}, V = 4, s_w = 1/4, s_p = 1",
            judge_normalised_lecun,
        ),
        _claim(
            "softmax-normalised-long",
            "At LeCun variances eigenvalues over E[k] fall as fast as their bound at all lengths up to 64.",
            "slope of the top eigenvalue over E[k] is −m ± 0.3, m = 0, 1, 2, L = 4 to 64, V = 4, s_w = 1/4, s_p = 1",
            judge_normalised_long,
        ),
        _claim(
            "window",
            "At LeCun variances the second level falls as its bound beyond that window too.",
            "slope of the top eigenvalue of [L-2,2] over E[k] is −2 ± 0.3 at the three longest lengths up to 64",
            judge_window,
        ),
        _claim(
            "raw-lecun",
            "At LeCun variances raw eigenvalues fall as their bound, too: the unit does not matter.",
            "slope of the raw top eigenvalue is −m ± 0.3, m = 0, 1, 2, V = 4, s_w = 1/4, s_p = 1",
            judge_raw_lecun,
            sources.OURS,
        ),
        _claim(
            "normalised-peaked",
            "For peaked attention eigenvalues over E[k] fall as their bound, too.",
            "slope of the top eigenvalue over E[k] is −m ± 0.3, m = 0, 1, 2, V = 4, s_w = 1, s_p = 3",
            judge_normalised_peaked,
            sources.OURS,
        ),
        _claim(
            "bound",
            "No eigenvalue of softmax attention exceeds E[k] over the dimension of its irrep.",
            "eigenvalue × dim / E[k] at most 1 within three standard errors",
            judge_bound,
        ),
        _claim(
            "clusters",
            "Eigenvalues of softmax attention come in clusters of the size of their irrep, up to the noise of sampled heads.",
            "relative width of the leading [L-1,1] cluster falls as the number of heads to the power −0.5 ± 0.15",
            judge_clusters,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "A Rayleigh quotient on a function of the irrep, with sampled heads and sequences, bounds its top eigenvalue from below.",
            ("λ ≥ E[g(x) k(x,y) g(y)] / E[g²]",),
        ),
        Step("E[k] itself falls with the length for softmax attention, so an exponent means nothing without its unit."),
    ),
)
