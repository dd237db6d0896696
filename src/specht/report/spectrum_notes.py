"""What has to be known to read a spectrum: remarks on its numbers, and the method behind them."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from specht.architecture import Architecture
from specht.report.architecture import kernel_steps
from specht.report.page import Step, listed, with_error

SHOWN_LEVEL = 3
"""Largest level in tables and curves; the files have all."""
METHODS = {
    "linear": "by blocks whose size does not depend on the length",
    "two tokens": "by differences in the overlap of two sequences",
    "young": "by Young symmetrisers",
    "rayleigh": "by Rayleigh quotients of highest weight functions",
    "ritz": "by the Rayleigh-Ritz method on functions of second degree",
}


def shown(entry: SimpleNamespace) -> list[SimpleNamespace]:
    """The top eigenvalues of one length that tables and curves show."""
    return [top for top in entry.top if top.level <= SHOWN_LEVEL]


def remarks(result: SimpleNamespace) -> list[str]:
    """What has to be known to read the numbers, one sentence or two each."""
    said = _method_remarks(result) + _source_remarks(result) + _fit_remarks(result)
    return said + _crossover_remarks(result) + _missing_remarks(result.lengths)


def _method_remarks(result: SimpleNamespace) -> list[str]:
    methods: dict[str, list[SimpleNamespace]] = {}
    for entry in result.lengths:
        methods.setdefault(entry.method, []).append(entry)
    said = []
    for name, entries in methods.items():
        where = f" at L = {listed([entry.length for entry in entries])}" if len(methods) > 1 else ""
        sampled = any(row.stderr is not None for entry in entries for row in entry.rows)
        said.append(f"Method {name}{where}: {'sampled' if sampled else 'exact'}, {METHODS[name]}.")
    rows = [row for entry in result.lengths for row in entry.rows]
    if any(row.lower_bound for row in rows):
        said.append("Values with ≥ are sampled lower bounds on the top eigenvalue of their irrep, with a standard error.")
    if result.source.exchangeable and any(row.stderr is not None and not row.lower_bound for row in rows):
        said.append(
            "Those with ± alone are eigenvalues of a kernel of sampled heads, with a standard error; where copies of an irrep are nearly "
            "equal, noise pushes them apart by one or two such errors, the top one upwards."
        )
    return said


def _fit_remarks(result: SimpleNamespace) -> list[str]:
    fits = result.exponents
    if not fits:
        return []
    said = ["Exponents are slopes of log eigenvalue against log length; local ones lie between neighbouring lengths."]
    if any(fit.raw.stderr is not None for fit in fits):
        said.append(
            "Their errors hold those of sampled values and the scatter around a straight line; for exact values, the scatter alone."
        )
    mixed = [fit.family for fit in fits if fit.mixed and fit.level <= SHOWN_LEVEL]
    if mixed:
        said.append(f"The fits of {listed(mixed)} run through eigenvalues at some lengths and lower bounds at others.")
    return said


def _crossover_remarks(result: SimpleNamespace) -> list[str]:
    crossover = result.crossover
    if crossover is None:
        return []
    places: dict[str, list[int]] = {}
    for entry in result.lengths:
        places.setdefault(entry.place, []).append(entry.length)
    where = "; ".join(f"L = {listed(lengths)} lie{'s' * (len(lengths) == 1)} {place} it" for place, lengths in places.items())
    law = "eigenvalue / E[k] of [L-1,1] falls as 1/L well below and as 1/L² well beyond"
    return [f"Crossover of the linear model at L* = {crossover:.4g}: {law}. {where}."]


def _source_remarks(result: SimpleNamespace) -> list[str]:
    if result.source.exchangeable:
        return []
    entry = result.lengths[-1]
    gap = with_error(entry.gap.value, None if entry.gap.exact else entry.gap.stderr)
    return [
        f"The source is not exchangeable: permuting {entry.length} positions changes its law by a total variation of {gap}. Values are "
        "then Rayleigh quotients of functions with the symmetry of an irrep, sampled, with a standard error; they are no eigenvalues of "
        "the irrep, and E[k]/dim is a comparison, not a bound."
    ]


def _missing_remarks(entries: Sequence[SimpleNamespace]) -> list[str]:
    rows = [row for entry in entries for row in entry.rows]
    said = []
    unresolved = sum(not row.resolved for row in rows)
    if unresolved:
        why = "below rounding" if all(row.stderr is None for row in rows) else "below rounding or within three standard errors of zero"
        said.append(f"Of {len(rows)} rows {unresolved} are {why}: they are neither drawn nor fitted.")
    if any(top.level > SHOWN_LEVEL for entry in entries for top in entry.top):
        said.append(f"Levels above {SHOWN_LEVEL} are in the files.")
    return said


def method(architecture: Architecture, result: SimpleNamespace) -> list[Step]:
    """How eigenvalues bound what is learnt, and how exponents are fitted."""
    steps = [
        Step(
            "The kernel acts on functions of sequences as an operator. Permuting the L context positions changes neither the kernel nor "
            "the law of an exchangeable source, so its eigenfunctions come in multiplets, one irrep of the symmetric group each. The irrep "
            "[L−m, μ] holds functions that single out m positions, and [L] those that ignore order:",
            ["(T f)(x) = E_y[ k(x, y) f(y) ]", "dim [L−m, μ] ≈ L^m · dim μ / m!"],
        ),
        Step(
            "The trace of the operator is shared by all its eigenvalues, which bounds each of them:",
            ["Σ dim R · λ_R = E[ k(x, x) ]", "λ_R ≤ E[k] / dim R"],
        ),
        Step(
            "Half of an eigenfunction with eigenvalue λ is learnt at a ridge δ from N* samples, where j runs over all eigenfunctions. At "
            "δ = E[k] this lies between E[k]/λ and twice that, and at any ridge it is at least half the degeneracy:",
            ["N* = δ / λ + Σ_j λ_j / (λ_j + λ)"],
        ),
    ]
    if result.exponents:
        steps.append(
            Step(
                "Exponents are slopes b of straight lines, by weighted least squares. A point has the variance s² of its sampling and τ² "
                "of the scatter around the line, where τ is such that the residuals r of n points agree with it:",
                ["log λ = a + b log L", "Σ r² / (s² + τ²) = n − 2"],
            )
        )
    if result.crossover is not None:
        values = "s_p²" if architecture.values_see_positions else "s_w s_p"
        steps.append(
            Step(
                "In the linear model the eigenvalue of [L−1, 1] does not depend on the length, up to the factor of normalised attention, "
                "while E[k] grows as L and then as L². With c the probability that two tokens are equal, 1/V for uniform ones:",
                [f"λ / E[k] ∝ 1 / (L + L² / L*),   L* = {values} / (s_w² c)"],
            )
        )
    return [*steps, *kernel_steps(architecture, [result.kind])]
