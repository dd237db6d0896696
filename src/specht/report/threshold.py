"""The report of `specht threshold`: how many samples a sparse function needs, and how that grows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specht.report.html import Report, Step, Table
from specht.report.threshold_figures import growth_plot, success_plot
from specht.report.threshold_tables import (
    BOUND_HEADER,
    FIT_HEADER,
    POINT_HEADER,
    PROFILE_HEADER,
    TRIED_HEADER,
    answer,
    bound_rows,
    fit_rows,
    name_of,
    point_rows,
    profile_rows,
    remarks,
    subtitle,
    tried_rows,
)


def threshold_report(result: Mapping[str, Any], *, reproduce: str, made_with: Mapping[str, str]) -> Report:
    """The report on the result of one run."""
    confidence = f"{100 * result['config']['confidence']:g} %"
    growth = growth_plot(
        result,
        title="The threshold against the number of bits",
        caption=f"Bars are intervals of {confidence}. Solid lines: a + b ln T; dotted: c T^{{α}}. An open triangle is a search that did "
        "not reach its threshold.",
    )
    successes = [
        success_plot(
            result,
            learner,
            title=f"Success of trials: {name_of(learner)[4:]}",
            caption="Points: share of the trials at one m that succeeded. Lines: the curve at the estimated threshold and width. Dashed: "
            "the share that defines the threshold.",
        )
        for learner in result["config"]["learners"]
    ]
    profile = result["profile"]
    tables = [
        Table(POINT_HEADER, point_rows(result), note=" ".join(remarks(result)), title="Thresholds"),
        Table(FIT_HEADER, fit_rows(result), note=_FIT_NOTE, title="Growth with T"),
        Table(PROFILE_HEADER, profile_rows(result), note=_profile_note(result), title=f"Symmetry profile at {profile['length']} positions"),
        Table(BOUND_HEADER, bound_rows(result), note=_BOUND_NOTE, title="What the capacity bound says"),
        Table(TRIED_HEADER, tried_rows(result), note="Searches choose the next m by what is known so far.", title="Trials"),
    ]
    return Report(
        title="How many samples a sparse function needs",
        subtitle=subtitle(result),
        question=f"How many samples does it take to learn {result['function']} out of T bits, and how does that grow with T?",
        answer=answer(result),
        plots=[growth, *successes],
        tables=tables,
        method=_method(),
        reproduce=reproduce,
        made_with=made_with,
    )


_FIT_NOTE = (
    "A law is named only if Akaike's criterion prefers it to every other by more than 4; over a small range of T a logarithm and a small "
    "power look alike."
)
_BOUND_NOTE = (
    "For a head that averages the s bits (lemma B.3 of Edelman et al. 2022), bounded by corollary 4.5 and lemma A.5. It is vacuous by "
    "orders of magnitude at practical sizes; what it has right is that T enters by powers of log T."
)


def _profile_note(result: Mapping[str, Any]) -> str:
    return (
        "Level m is what singles out m positions, and costs a kernel at least of the order of T^{m} samples if it must be learnt "
        f"exactly. Bits are one with probability {result['probability']:.3g}."
    )


def _method() -> list[Step]:
    return [
        Step(
            "A trial draws m samples, again where more than one choice of bits explains them, and trains on all of them at once. It "
            "succeeds if at some look at the validation set enough of it is right. The transformer has one pre-norm layer, width 64, 16 "
            "heads, an MLP of four times the width and a class symbol that reads; the perceptron has two hidden layers of ReLU and as many "
            "weights."
        ),
        Step(
            "Kernel limits are regressions on labels ±1 with a vanishing ridge: the transformer's kernel is that of one block of linear "
            "attention and ReLU, without norm, residual stream or softmax, the perceptron's that of two hidden layers of ReLU:",
            ["f(x) = k(x, X) (K + δ)^{−1} (y − ȳ) + ȳ"],
        ),
        Step(
            "The theory of finite width is the same regression with the kernel that the block moves to: variances of tokens and positions "
            "go downhill from their prior to a minimum of the free energy of the samples, for an embedding of width d, all that is behind "
            "it infinitely wide. It is Bayesian, and networks are trained:",
            ["S(g) = (d/2) Σ_i [ g_i/Λ_i − ln(g_i/Λ_i) − 1 ] − log N(y − ȳ; 0, k_g + δ)"],
        ),
        Step(
            "Success is logistic in log m, with a share ℓ that fails whatever m is; θ, w and ℓ have a probability on a grid, flat "
            "before the first trial, and the next m is the one that is expected to leave the least variance of θ:",
            ["P(success | m) = (1 − ℓ) σ( (log m − θ)/w + c )", "(1 − ℓ) σ(c) = p"],
        ),
        Step(
            "Laws of growth are fitted to log m with its standard errors, and compared by Akaike's criterion, φ being the dispersion of "
            "the best:",
            ["m = a + b ln T,   m = c T^α,   m = a + b T", "AIC = χ²/φ + 2·2"],
        ),
    ]
