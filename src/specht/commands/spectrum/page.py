"""What `specht spectrum` says: eigenvalues and exponents in sentences, figures and tables, how to read them, and the method."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import plotly.graph_objects as go

from specht.architecture import Architecture
from specht.commands.kernel_method import KERNEL_NAMES, kernel_steps
from specht.report import (
    SHOWN_LEVEL,
    Column,
    Page,
    Plot,
    Step,
    Table,
    add_guide,
    add_series,
    decade_ticks,
    error_bars,
    family_colours,
    left_out,
    listed,
    marks,
    shown,
    spectrum_plot,
    style_axes,
    with_error,
)

ANSWER_LEVEL = 2
"""Largest level that the answer speaks of."""
TOP_HEADER = ("irrep", "degeneracy", "eigenvalue", "bound", "eigenvalue / bound")
METHODS = {
    "linear": "by blocks whose size does not depend on the length",
    "two tokens": "by differences in the overlap of two sequences",
    "young": "by Young symmetrisers",
    "rayleigh": "by Rayleigh quotients of highest weight functions",
    "ritz": "by the Rayleigh-Ritz method on functions of second degree",
}
BOUND = "bound E[k]/dim"


def spectrum_page(result: SimpleNamespace) -> Page:
    """The page on the result of one run."""
    architecture = Architecture.parse(f"{result.architecture} L={result.lengths[-1].length}")
    tops = Table(TOP_HEADER, top_rows(result), note="\n".join(remarks(result)), title="Top eigenvalue of each irrep")
    fits = exponent_table(result)
    several = len(result.lengths) > 1
    falls = "How fast do eigenvalues of each irrep fall with length" if several else "How large is the eigenvalue of each irrep"
    return Page(
        title="The spectrum of a transformer",
        subtitle=f"{result.architecture} · {KERNEL_NAMES[result.kind]}, {result.source.name} source",
        question=f"{falls}, hence how many samples does each need?",
        answer=_answer(result),
        plots=_plots(result),
        tables=[fits, tops] if fits.rows else [tops],
        method=_method(architecture, result),
    )


def _answer(result: SimpleNamespace) -> str:
    last = result.lengths[-1]
    if last.trace == 0.0:
        return "The kernel is zero: with these variances the network does not depend on its input."
    fits = [fit for fit in result.exponents if fit.level <= ANSWER_LEVEL]
    # A minus does not break lines, a hyphen would.
    laws = listed([f"L^{{{exponent(fit.normalised.value)}}} for {fit.family.replace('-', '−')}" for fit in fits])
    if not result.source.exchangeable:
        quotients = (
            "The order of the tokens matters in this source, so the kernel mixes irreps, and what is known of each is a Rayleigh quotient"
        )
        return f"{quotients}. Divided by E[k], it goes as {laws}." if fits else f"{quotients}."
    falls = f"Divided by E[k], the top eigenvalue goes as {laws}, and the samples needed go as the inverse. " if fits else ""
    return falls + _samples(last)


def _samples(last: SimpleNamespace) -> str:
    """Samples at a ridge of E[k], where N* lies between E[k]/λ and twice that."""
    tops = [top for top in shown(last) if top.resolved and top.level <= ANSWER_LEVEL]
    if not tops:
        return f"At L = {last.length} no eigenvalue is above rounding and noise."
    needs = listed([f"{_count(last.trace / top.eigenvalue)} for {top.irrep}" for top in tops])
    return (
        f"At L = {last.length} and with a ridge of E[k], half of the leading function of an irrep is learnt from E[k]/λ samples or up "
        f"to twice as many: {needs}."
    )


def _count(number: float) -> str:
    """A number of samples to two digits."""
    if number < 1e6:
        return f"{number:.1f}" if number < 10 else f"{float(f'{number:.2g}'):.0f}"
    mantissa, power = f"{number:.1e}".split("e")
    return f"{mantissa} · 10^{{{int(power)}}}"


def _plots(result: SimpleNamespace) -> list[Plot]:
    entries = result.lengths
    last = entries[-1]
    few = " Method rayleigh knows one value of each low irrep, so others are missing in between." if last.method == "rayleigh" else ""
    whole = spectrum_plot(
        entries,
        title=f"The spectrum at L = {last.length}",
        caption=f"All eigenvalues, largest first: each multiplet is as wide as its degeneracy. Both axes logarithmic.{few}",
    )
    if len(entries) == 1:
        return [whole]
    bound = "what it cannot exceed" if result.source.exchangeable else "the bound that it would have if order did not matter"
    error = " Bars are standard errors." if any(top.stderr is not None for entry in entries for top in shown(entry)) else ""
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


def scaling_plot(entries: Sequence[SimpleNamespace], *, normalised: bool, title: str, caption: str) -> Plot:
    """The top eigenvalue of each family of irreps against length, with its bound; values that are not resolved are left out."""
    figure = go.Figure()
    seen: list[float] = []
    hidden = 0
    for family, colour in family_colours(entries).items():
        points = [(entry, top) for entry in entries for top in shown(entry) if top.family == family]
        drawn = [(entry, top) for entry, top in points if top.resolved]
        hidden += len(points) - len(drawn)
        units = [entry.trace if normalised else 1.0 for entry, _ in drawn]
        values = [top.eigenvalue / unit for (_, top), unit in zip(drawn, units, strict=True)]
        bounds = [top.bound / unit for (_, top), unit in zip(drawn, units, strict=True)]
        errors = [(top.stderr or 0.0) / unit for (_, top), unit in zip(drawn, units, strict=True)]
        x = [entry.length for entry, _ in drawn]
        bars, hover = error_bars(errors, visible=any(errors)), f"{family} at L = %{{x}}<br>%{{y:.4g}}"
        add_series(figure, x, values, family, colour, mode="lines+markers", errors=bars, hover=hover, marker_size=6, legendgroup=family)
        style = {"line_width": 1.2, "line_dash": "dash", "legendgroup": family, "showlegend": False}
        add_series(figure, x, bounds, "", colour, hover=f"bound of {hover}", **style)
        seen += values + bounds
    add_guide(figure, [None], [None], BOUND)
    style_axes(figure, x="length L", y="eigenvalue / E[k]" if normalised else "eigenvalue")
    figure.update_xaxes(marks(entry.length for entry in entries))
    figure.update_yaxes(dtick=decade_ticks(seen))
    return Plot(figure, title, caption + left_out(hidden), wide=True)


def top_rows(result: SimpleNamespace) -> list[list[str]]:
    """The top eigenvalue of each irrep at each length; what belongs to a length as a whole stands in the second column alone."""
    rows = []
    for entry in result.lengths:
        rows.append([f"L = {entry.length}", f"E[k] = {with_error(entry.trace, entry.trace_stderr)}, {entry.method}", "", "", ""])
        for top in shown(entry):
            ratio = f"{top.ratio:.3g}" if top.resolved else ""
            rows.append([top.irrep, str(top.degeneracy), _eigenvalue(top, result.rounding), f"{top.bound:.4g}", ratio])
    return rows


def _eigenvalue(top: SimpleNamespace, rounding: float) -> str:
    if top.stderr is None and not top.resolved:
        return f"below {rounding:.0e} E[k]"
    return ("≥ " if top.lower_bound else "") + with_error(top.eigenvalue, top.stderr)


def exponent_table(result: SimpleNamespace) -> Table:
    """The fitted exponents, one row a family of irreps."""
    columns: dict[str, Column] = {
        "exponent of L": "family",
        "eigenvalue": lambda fit: exponent(fit.raw.value, fit.raw.stderr),
        "eigenvalue / E[k]": lambda fit: exponent(fit.normalised.value, fit.normalised.stderr),
        "bound / E[k]": lambda fit: exponent(fit.bound.value),
        "expected": lambda fit: str(fit.expected).replace("-", "−"),
        "eigenvalue / E[k], local": lambda fit: "  ".join(exponent(local.normalised.value) for local in fit.local),
    }
    return Table.of([fit for fit in result.exponents if fit.level <= SHOWN_LEVEL], columns, title="Exponents of the length")


def exponent(value: float, stderr: float | None = None) -> str:
    """An exponent with its error, if that is seen in two digits."""
    text = f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")
    return text if stderr is None or stderr < 0.005 else f"{text} ± {stderr:.2f}"


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


def _method(architecture: Architecture, result: SimpleNamespace) -> list[Step]:
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
