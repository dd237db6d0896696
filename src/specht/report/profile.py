"""The report of `specht profile`: which level dominates a function, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specht.report.html import Report, Step, Table
from specht.report.profile_figures import correlation_plot, share_plot
from specht.report.profile_tables import LEVEL_HEADER, SHAPE_HEADER, level_rows, percent, remarks, shape_rows

NOTABLE = 0.05
"""Share of the variance from which on the answer speaks of a level."""


_INTERVALS = {
    "likelihood": Step(
        "The interval of a level holds every value that some weights have which fit almost as well, q being the quantile of a squared "
        "normal variable:",
        ["interval of W_m: all values with χ² ≤ χ²_{min} + q"],
    ),
    "bootstrap": Step("Intervals are percentiles of the weights fitted to 1000 samples of the same size, drawn again from the sequences."),
}


def profile_report(result: Mapping[str, Any], *, reproduce: str, made_with: Mapping[str, str]) -> Report:
    """The report on the result of one run."""
    confidence = f"{100 * result['confidence']:g} %"
    shares = share_plot(
        result,
        title="How much of the function lies at each level",
        caption=f"Shares of E[f²], with intervals of {confidence}. Level m singles out m positions; constant functions are of level 0.",
    )
    curve = correlation_plot(
        result,
        title="What is left after shuffling",
        caption="The correlation of the function with itself when j random positions are shuffled, with standard errors. At j = 0 it is "
        f"E[f²]; at j = {result['length']} what ignores order is left.",
    )
    levels = Table(LEVEL_HEADER, level_rows(result), note=" ".join(remarks(result)), title="Weights by level")
    shapes = Table(SHAPE_HEADER, shape_rows(result), note=_SHAPE_NOTE, title="Weights by irrep")
    return Report(
        title="The symmetry profile of a function",
        subtitle=f"{result['target']} · V={result['vocab']} L={result['length']} · {result['source']['name']} source",
        question="How many positions does this function single out, hence how many samples does it need at least?",
        answer=_answer(result),
        plots=[shares, curve],
        tables=[levels, shapes],
        method=_method(result),
        reproduce=reproduce,
        made_with=made_with,
    )


_SHAPE_NOTE = (
    "Irreps of one level differ in the rows below the first: [L−2, 2] is symmetric in two positions and [L−2, 1, 1] antisymmetric. "
    "The longer the sequence, the less shuffles tell them apart; their sum by level stays known."
)


def _answer(result: Mapping[str, Any]) -> str:
    if result["total"] == 0.0:
        return "The function is zero for every sequence that was drawn, so it has no profile."
    if result["variance"] <= 0.0 or not any((*result["variance_shares"], result["above"]["value"])):
        return "The function is constant: it ignores order, and there is nothing to learn but one number."
    length, levels = result["length"], result["levels"]
    above = result["above"]["value"] / result["variance"]
    shares = [*result["variance_shares"], above]
    best = max(range(len(shares)), key=lambda place: shares[place])
    first = "Most" if shares[best] > 0.5 else "The largest part"
    lies = f"{first} of the variance of this function, {percent(shares[best])}, lies {_where(best, levels)}"
    # The highest level that is not negligible decides what all of the function costs.
    hardest = max(place for place, share in enumerate(shares) if share >= NOTABLE)
    rest = f"the {percent(shares[hardest])} {_where(hardest, levels)}"
    if best == 0:
        grows = f"; {rest} need at least of the order of {_samples(hardest, length, levels)}" if hardest else ""
        return (
            f"{lies}: it ignores the order of the tokens. The irrep of level 0 has dimension one, so for this part the number of samples "
            f"that a transformer in the kernel limit needs has no factor that grows with the length{grows}."
        )
    positions = f"more than {levels[-1]} positions" if best == len(levels) else "one position" if best == 1 else f"{best} positions"
    further = f", and {_samples(hardest, length, levels)} for {rest}" if hardest > best else ""
    return (
        f"{lies}: it singles out {positions}. A transformer in the kernel limit needs at least of the order of "
        f"{_samples(best, length, levels)} to learn this part{further}."
    )


def _where(place: int, levels: Sequence[int]) -> str:
    return f"above level {levels[-1]}" if place == len(levels) else f"at level {place}"


def _samples(level: int, length: int, levels: Sequence[int]) -> str:
    power = f"L = {length}" if level == 1 else f"L^{{{level}}} = {_count(length**level)}"
    return f"{power} samples" + " or more" * (level == len(levels))


def _count(number: int) -> str:
    if number < 10**6:
        return str(number)
    mantissa, power = f"{number:.1e}".split("e")
    return f"{mantissa} · 10^{{{int(power)}}}"


def _method(result: Mapping[str, Any]) -> list[Step]:
    steps = [
        Step(
            "Under permutations of the L context positions the function splits into parts, one an irrep λ of the symmetric group. Its "
            "weight at level m is the mean square of all parts whose first row has L − m boxes; they live in irreps of dimension about "
            "L^m, and an eigenvalue of the kernel is at most E[k] over that dimension:",
            ["f = Σ_λ f_λ,   W_m = Σ ‖f_λ‖² over λ_1 = L − m,   Σ_m W_m = E[f²]", "dim [L−m, μ] ≈ L^m · dim μ / m!"],
        ),
        Step(
            "Shuffling j random positions and leaving the others multiplies each part by an exact number, a ratio of counts of standard "
            "tableaux, so the correlation is linear in the weights:",
            ["C(j) = E[ f(x) f(shuffle_j x) ] = Σ_λ (f^{λ/(j)} / f^λ) ‖f_λ‖²"],
        ),
        Step(
            "Several disjoint blocks are shuffled each within itself, by permutations σ_i. Doing those in a set S of blocks gives a "
            "function on a cube. Its Fourier coefficients vanish for more blocks than positions are singled out, for every sequence and "
            "not only on average, which is why levels that a function lacks cost no noise. With Kostka numbers K:",
            [
                "F(S) = f(σ_S x),   F̂(T) = 2^{−B} Σ_S (−1)^{|S∩T|} F(S)",
                "E[ F̂(T)² ] = Σ_λ ‖f_λ‖² 2^{−B} Σ_S (−1)^{|S∩T|} K_{λμ(S)} / f^λ",
            ],
        ),
        Step(
            "Weights are non-negative and fit these mean squares y by least squares, with their covariance Σ over sequences:",
            ["χ²(w) = (y − A w)^T Σ^{−1} (y − A w),   w ≥ 0"],
        ),
        _INTERVALS[result["interval"]],
    ]
    if result["shuffled"]:
        steps.append(Step("Order matters in the source, so sequences were shuffled first: weights are those under the shuffled law."))
    return steps
