"""Figure on the spectrum of softmax attention against the length."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht import spectra
from specht.papers import Finding, at_most, common, every, exponent, fixed, grid, measure, near, present
from specht.papers.view_from_infinity.blocks import findings
from specht.papers.view_from_infinity.sources import LEVELS, TOLERANCE
from specht.report import Plot, Table, add_line, add_points

PEAKED: dict[str, Any] = {"vocab": 4, "s_w": 1.0, "s_p": 3.0}
"""Scores so large that attention looks at few positions."""
LECUN: dict[str, Any] = {"vocab": 4, "s_w": 0.25, "s_p": 1.0}
"""Variance 1/V of the embedding and one of the positions."""
WINDOW = 16
"""Length up to which the eigenvalues of `LECUN`, over E[k], fall as their bound."""
FAMILIES = {(): "[L]", (1,): "[L-1,1]", (2,): "[L-2,2]", (1, 1): "[L-2,1,1]"}
"""Irreps by the rows below the first one."""
SETTINGS = grid(**PEAKED) + grid(**LECUN)
_TWO_TOKENS = grid(**PEAKED | {"vocab": 2}, length=[4, 5]) + grid(**LECUN | {"vocab": 2}, length=4)
"""Compiling is what costs, so the smoke scale has two tokens and three points."""


@measure(
    smoke=_TWO_TOKENS * grid(heads=256, sequences=16, seed=0),
    # long contexts have small eigenvalues and need more heads
    quick=SETTINGS * (grid(length=[4, 8, 16, 32], heads=1024) + grid(length=64, heads=1536)) * grid(sequences=64, seed=0),
    full=SETTINGS * grid(length=[4, 8, 16, 32, 64], heads=4096, sequences=128, seed=0),
)
def measure_tops(vocab: int, s_w: float, s_p: float, length: int, heads: int, sequences: int, seed: int) -> xarray.Dataset:
    """The top eigenvalues of softmax attention with a linear activation, for uniform tokens, by Rayleigh quotients on sampled heads.

    Heads and sequences are those of each of the sixteen batches.
    """
    arch: Any = specht.Architecture(vocab=vocab, length=length, attention="softmax", s_w=s_w, s_p=s_p)
    spec = specht.spectrum(arch, method="rayleigh", max_level=2, heads=heads, sequences=sequences, seed=seed)
    rows = {row.irrep.tail.parts: row for row in spec.rows}
    tails = [tail for tail in FAMILIES if tail in rows]
    return xarray.Dataset(
        {
            "eigenvalue": ("irrep", [rows[tail].eigenvalue for tail in tails]),
            "stderr": ("irrep", [rows[tail].stderr or 0.0 for tail in tails]),
            "dimension": ("irrep", [float(rows[tail].degeneracy) for tail in tails]),
            "level": ("irrep", [float(sum(tail)) for tail in tails]),
            "trace": spec.trace,
            "trace_stderr": spec.trace_stderr,
        },
        {"irrep": [FAMILIES[tail] for tail in tails]},
    )


@measure(
    smoke=grid(length=3, heads=[256, 512], seeds=fixed(range(2))),
    quick=grid(length=6, heads=[256, 1024, 4096], seeds=fixed(range(16))),
    full=grid(length=7, heads=[256, 1024, 4096, 16384], seeds=fixed(range(16))),
)
def measure_clusters(length: int, heads: int, seeds: list[int]) -> xarray.Dataset:
    """How far sampled heads pull the leading multiplet of [L-1,1] apart, for two tokens and every sequence listed.

    `spread` is its largest minus its smallest eigenvalue over their mean, for several draws of the heads.
    """
    arch: Any = specht.Architecture(vocab=2, length=length, attention="softmax", s_w=0.5, s_p=0.5)
    spreads = []
    for seed in seeds:
        rows = spectra.multiplet_splittings(specht.Kernel(arch, heads=heads, seed=seed), specht.sources.uniform(2))
        leading = next(row for row in rows if row.irrep.level == 1)
        spreads.append(leading.splitting / leading.eigenvalue)
    return xarray.Dataset({"spread": ("seed", spreads)}, {"seed": seeds})


def of_setting(data: xarray.Dataset, setting: dict[str, Any]) -> xarray.Dataset:
    """Results of one setting at the lengths that it was measured at."""
    return present(data.sel(s_w=setting["s_w"]))


def top_eigenvalues(data: xarray.Dataset, irrep: str, normalised: bool) -> tuple[np.ndarray, np.ndarray]:
    """The top eigenvalues of a family of irreps against the length, raw or over E[k], and their standard errors."""
    values, errors = (data[name].sel(irrep=irrep).values for name in ("eigenvalue", "stderr"))
    if normalised:
        traces, trace_errors = data["trace"].values, data["trace_stderr"].values
        values, errors = values / traces, np.hypot(errors / traces, values * trace_errors / traces**2)
    return values, errors


def variances(data: xarray.Dataset) -> str:
    """The vocabulary and the variances of one setting."""
    return f"V = {int(data.vocab)}, s_w = {float(data.s_w):g}, s_p = {float(data.s_p):g}"


def regime(data: xarray.Dataset) -> str:
    """Where the top eigenvalues of one setting were measured."""
    return (
        f"Softmax attention + linear activation, {variances(data)}, uniform tokens, L = {common.span(data.length.values)}, "
        f"{common.span(np.ravel(data.heads))} heads in each of 16 batches."
    )


def distance_from_level(data: xarray.Dataset, setting: dict[str, Any], normalised: bool, longest: int | None = None) -> Finding:
    """The largest distance of the exponents of levels 0, 1 and 2 from those of the bound."""
    data = of_setting(data, setting).sel(length=slice(None, longest))
    tops = [top_eigenvalues(data, FAMILIES[(m,) if m else ()], normalised) for m in LEVELS]
    powers = [common.exponent_of(data.length.values, values, errors, regime(data)) for values, errors in tops]
    off = [abs(power.value + m) for m, power in enumerate(powers)]
    worst = int(np.argmax(off))
    slopes = ", ".join(f"{power.value:.2f} ± {power.stderr:.2f}" for power in powers)
    words = f"{regime(data)} Slopes at m = 0, 1, 2: {slopes}; the largest distance from −m is shown."
    return Finding(off[worst], powers[worst].stderr, words)


for _claim, _setting, _normalised, _longest in (
    ("softmax-raw", PEAKED, False, None),
    ("softmax-normalised", LECUN, True, WINDOW),
    ("softmax-normalised-long", LECUN, True, None),
    ("raw-lecun", LECUN, False, None),
    ("normalised-peaked", PEAKED, True, None),
):
    _top = "top eigenvalue of [L-m,m] over E[k]" if _normalised else "raw top eigenvalue of [L-m,m]"
    _lengths = f"L = 4 to {_longest}" if _longest else "at all lengths"
    _where = f"for m = 0, 1, 2, {_lengths}, {variances(xarray.Dataset(_setting))}"
    _rule = at_most(TOLERANCE, f"distance from −m of the log-log slope of the {_top}", where=_where)
    _claimed = measure_tops.claim(f"f2-{_claim}", _rule, null=1.0, setting=_setting, normalised=_normalised, longest=_longest)
    _claimed(distance_from_level)


@measure_tops.claim(
    "f2-window",
    near(-2, TOLERANCE, "slope of the top eigenvalue of [L-2,2] over E[k]", where="at the three longest lengths up to 64"),
    null=-1.0,
)
def slope_at_long_contexts(data: xarray.Dataset) -> Finding:
    """Whether the second level still falls as its bound beyond the window."""
    late = of_setting(data, LECUN).isel(length=slice(-3, None))
    words = f"{regime(late)} The slope of [L-2,2] over E[k] is shown."
    return common.exponent_of(late.length.values, *top_eigenvalues(late, "[L-2,2]", normalised=True), words)


@measure_tops.claim("f2-bound", every(at_most(1, "eigenvalue × dim / E[k]"), "for every irrep and length"), null=2.0)
def ratios_to_the_bound(data: xarray.Dataset) -> list[Finding]:
    words = f"Both settings of the figure, L = {common.span(data.length.values)}; the largest eigenvalue × dim / E[k] is shown."
    scale = data["dimension"] / data["trace"]
    return findings(data["eigenvalue"] * scale, data["stderr"] * scale, words)


@measure_clusters.claim(
    "f2-clusters",
    exponent(-0.5, within=0.15, of="the relative width of the leading [L-1,1] cluster against the number of heads"),
    null=0.0,
)
def exponent_of_clusters(data: xarray.Dataset) -> Finding:
    """Whether the multiplet closes as the noise of heads does, the root of their number."""
    mean, stderr = common.mean_and_error(data["spread"])
    words = (
        f"Softmax, V = 2, s_w = s_p = 0.5, L = {data.length}, leading multiplet of [L-1,1], {common.span(data.heads.values)} heads, "
        f"{data.sizes['seed']} draws each: it is {float(mean[-1]):.1%} wide with the most heads."
    )
    return common.exponent_of(data.heads.values, mean.values, stderr.values, words)


@measure_tops.figure()
def against_length(data: xarray.Dataset) -> list[Plot]:
    cases = [(PEAKED, False, "Raw eigenvalues, peaked attention"), (LECUN, True, "Eigenvalues over E[k], LeCun variances")]
    return [_plot(of_setting(data, setting), normalised, title) for setting, normalised, title in cases]


def _plot(data: xarray.Dataset, normalised: bool, title: str) -> Plot:
    figure, lengths = go.Figure(), data.length.values
    for number, irrep in enumerate(data.irrep.values):
        family = data.sel(irrep=irrep)
        units = data["trace"] if normalised else 1.0
        values = (family["eigenvalue"] / units).values
        add_points(figure, lengths, values, irrep, number, errors=(family["stderr"] / units).values, joined=True)
        if values[0] > 0.0 and irrep != "[L-2,1,1]":
            falling = values[0] * (lengths / lengths[0]) ** -float(family["level"].max())
            add_line(figure, lengths, falling, "falling as L^-m", number, dash="dash", legend=False)
    caption = (
        f"Top eigenvalues of softmax attention with a linear MLP, {variances(data)}. Dashed lines from the first point fall as the power "
        "−m of the length, the scaling of the bound."
    )
    return common.plotted(figure, title, caption, x="length L", y="eigenvalue / E[k]" if normalised else "eigenvalue", ticks=lengths)


@measure_tops.table()
def exponents_of_length(data: xarray.Dataset) -> Table:
    rows = []
    for at in (of_setting(data, setting) for setting in (PEAKED, LECUN)):
        for irrep in at.irrep.values:
            powers = [common.power_law(at.length.values, *top_eigenvalues(at, irrep, normalised)) for normalised in (False, True)]
            rows.append([f"{variances(at)}: {irrep}", *map(common.told, powers)])
    note = f"Fitted over L = {common.span(data.length.values)}."
    return Table(("irrep", "eigenvalue", "eigenvalue / E[k]"), rows, note, "Exponents of the length")
