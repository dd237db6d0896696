"""The report of `specht spectrum`: how fast the eigenvalues of each irrep fall with length, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specht.architecture import Architecture
from specht.report.architecture import KERNEL_NAMES, kernel_steps
from specht.report.figures import Plot
from specht.report.html import Report, Step, Table
from specht.report.spectrum_figures import scaling_plot, spectrum_plot
from specht.report.spectrum_tables import (
    EXPONENT_HEADER,
    TOP_HEADER,
    exponent,
    exponent_rows,
    listed,
    remarks,
    shown,
    top_rows,
)

ANSWER_LEVEL = 2
"""Largest level that the answer speaks of."""


def spectrum_report(architecture: Architecture, result: Mapping[str, Any], *, reproduce: str, made_with: Mapping[str, str]) -> Report:
    """The report on the result of one run; `architecture` is that of the greatest length."""
    tops = Table(TOP_HEADER, top_rows(result), note=" ".join(remarks(result)), title="Top eigenvalue of each irrep")
    fits = Table(EXPONENT_HEADER, exponent_rows(result), title="Exponents of the length")
    several = len(result["lengths"]) > 1
    falls = "How fast do eigenvalues of each irrep fall with length" if several else "How large is the eigenvalue of each irrep"
    return Report(
        title="The spectrum of a transformer",
        subtitle=f"{result['architecture']} · {KERNEL_NAMES[result['kind']]}, {result['source']['name']} source",
        question=f"{falls}, hence how many samples does each need?",
        answer=_answer(result),
        plots=_plots(result),
        tables=[fits, tops] if fits.rows else [tops],
        method=_method(architecture, result),
        reproduce=reproduce,
        made_with=made_with,
    )


def _answer(result: Mapping[str, Any]) -> str:
    last, exchangeable = result["lengths"][-1], result["source"]["exchangeable"]
    if last["trace"] == 0.0:
        return "The kernel is zero: with these variances the network does not depend on its input."
    fits = [fit for fit in result["exponents"] if fit["level"] <= ANSWER_LEVEL]
    # A minus does not break lines, a hyphen would.
    laws = listed(f"L^{{{exponent(fit['normalised'] | {'stderr': None})}}} for {fit['family'].replace('-', '−')}" for fit in fits)
    if not exchangeable:
        quotients = (
            "The order of the tokens matters in this source, so the kernel mixes irreps, and what is known of each is a Rayleigh quotient"
        )
        return f"{quotients}. Divided by E[k], it goes as {laws}." if fits else f"{quotients}."
    falls = f"Divided by E[k], the top eigenvalue goes as {laws}, and the samples needed go as the inverse. " if fits else ""
    return falls + _samples(last)


def _samples(last: Mapping[str, Any]) -> str:
    """Samples at a ridge of E[k], where N* lies between E[k]/λ and twice that."""
    tops = [top for top in shown(last) if top["resolved"] and top["level"] <= ANSWER_LEVEL]
    if not tops:
        return f"At L = {last['length']} no eigenvalue is above rounding and noise."
    needs = listed(f"{_count(last['trace'] / top['eigenvalue'])} for {top['irrep']}" for top in tops)
    return (
        f"At L = {last['length']} and with a ridge of E[k], half of the leading function of an irrep is learnt from E[k]/λ samples or up "
        f"to twice as many: {needs}."
    )


def _count(number: float) -> str:
    """A number of samples to two digits."""
    if number < 1e6:
        return f"{number:.1f}" if number < 10 else f"{float(f'{number:.2g}'):.0f}"
    mantissa, power = f"{number:.1e}".split("e")
    return f"{mantissa} · 10^{{{int(power)}}}"


def _plots(result: Mapping[str, Any]) -> list[Plot]:
    entries = result["lengths"]
    last = entries[-1]
    few = " Method rayleigh knows one value of each low irrep, so others are missing in between." if last["method"] == "rayleigh" else ""
    whole = spectrum_plot(
        entries,
        title=f"The spectrum at L = {last['length']}",
        caption=f"All eigenvalues, largest first: each multiplet is as wide as its degeneracy. Both axes logarithmic.{few}",
    )
    if len(entries) == 1:
        return [whole]
    bound = "what it cannot exceed" if result["source"]["exchangeable"] else "the bound that it would have if order did not matter"
    error = " Bars are standard errors." if any(top["stderr"] is not None for entry in entries for top in shown(entry)) else ""
    return [
        scaling_plot(
            entries,
            normalised=False,
            title="Eigenvalues against length",
            caption=f"The largest eigenvalue of each irrep, and dashed in the same colour {bound}.{error}",
        ),
        scaling_plot(
            entries,
            normalised=True,
            title="The same in units of E[k]",
            caption=f"Divided by E[k(x, x)] at the same length: the bound is then 1/dim, a power of the length.{error}",
        ),
        whole,
    ]


def _method(architecture: Architecture, result: Mapping[str, Any]) -> list[Step]:
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
    if result["exponents"]:
        steps.append(
            Step(
                "Exponents are slopes b of straight lines, by weighted least squares. A point has the variance s² of its sampling and τ² "
                "of the scatter around the line, where τ is such that the residuals r of n points agree with it:",
                ["log λ = a + b log L", "Σ r² / (s² + τ²) = n − 2"],
            )
        )
    if result["crossover"] is not None:
        values = "s_p²" if architecture.values_see_positions else "s_w s_p"
        steps.append(
            Step(
                "In the linear model the eigenvalue of [L−1, 1] does not depend on the length, up to the factor of normalised attention, "
                "while E[k] grows as L and then as L². With c the probability that two tokens are equal, 1/V for uniform ones:",
                [f"λ / E[k] ∝ 1 / (L + L² / L*),   L* = {values} / (s_w² c)"],
            )
        )
    return [*steps, *kernel_steps(architecture, [result["kind"]])]
