"""What `specht threshold` says: thresholds and their growth in sentences, figures and tables, and how they were found."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go

from specht.report import (
    HEIGHT,
    Column,
    Page,
    Plot,
    Step,
    Table,
    add_guide,
    add_line,
    add_series,
    add_thresholds,
    colour,
    finished,
    percent,
    plain_ticks,
    style_counts,
)
from specht.studies.sparse import name_of

POINT_COLUMNS = {"learner": "learner", "T": "T", "threshold m": "words", "trials": "trials", "networks trained": "runs"}
FIT_HEADER = ("learner", "growth", "exponent", "R²: ln T · T", "AIC: log · power · linear")
BOUND_COLUMNS = {
    "T": "T",
    "samples from which the bound is below 1/2": "samples:.2g",
    "norm of queries and keys in the head": "query_key_21:.3g",
}
PROFILE_HEADER = ("level", "share of E[f²]", "interval", "share of the variance")
TRIED_COLUMNS: dict[str, Column] = {
    "learner": "learner",
    "T": "T",
    "m: successes of trials, in the order they were made": lambda point: ", ".join(
        f"{batch.m}: {batch.successes}/{batch.trials}" for batch in point.tried
    ),
}
_FIT_NOTE = (
    "A law is named only if Akaike's criterion prefers it to every other by more than 4; over a small range of T a logarithm and a small "
    "power look alike."
)
_BOUND_NOTE = (
    "For a head that averages the s bits (lemma B.3 of Edelman et al. 2022), bounded by corollary 4.5 and lemma A.5. It is vacuous by "
    "orders of magnitude at practical sizes; what it has right is that T enters by powers of log T."
)


def threshold_page(result: SimpleNamespace) -> Page:
    """The page on the result of one run."""
    growth = growth_plot(
        result,
        title="The threshold against the number of bits",
        caption=f"Bars are intervals of {100 * result.search.confidence:g} %. Solid lines: a + b ln T; dotted: c T^{{α}}. An open triangle "
        "is a search that did not reach its threshold.",
    )
    successes = [
        success_plot(
            result,
            learner,
            title=f"Success of trials: {name_of(learner)[4:]}",
            caption="Points: share of the trials at one m that succeeded. Lines: the curve at the estimated threshold and width. Dashed: "
            "the share that defines the threshold.",
        )
        for learner in result.learners
    ]
    levels = [
        [str(level), percent(share.value), f"{100 * share.low:.1f} to {percent(share.high)}", percent(variance_share)]
        for level, share, variance_share in zip(result.profile.levels, result.profile.shares, result.profile.variance_shares, strict=True)
    ]
    profiled = f"Symmetry profile at {result.profile.length} positions"
    costs = (
        "Level m is what singles out m positions, and costs a kernel at least of the order of T^{m} samples if it must be learnt "
        f"exactly. Bits are one with probability {result.probability:.3g}."
    )
    tried_note = "Searches choose the next m by what is known so far."
    return Page(
        title="How many samples a sparse function needs",
        subtitle=subtitle(result),
        question=f"How many samples does it take to learn {result.function} out of T bits, and how does that grow with T?",
        answer=answer(result),
        plots=[growth, *successes],
        tables=[
            Table.of(result.points, POINT_COLUMNS, note="\n".join(remarks(result)), title="Thresholds"),
            Table(FIT_HEADER, fit_rows(result), note=_FIT_NOTE, title="Growth with T"),
            Table(PROFILE_HEADER, levels, note=costs, title=profiled, brief=False),
            Table.of(result.bounds, BOUND_COLUMNS, note=_BOUND_NOTE, title="What the capacity bound says", brief=False),
            Table.of(result.points, TRIED_COLUMNS, note=tried_note, title="Trials", brief=False),
        ],
        method=_method(),
    )


def subtitle(result: SimpleNamespace) -> str:
    """What was asked, in one line."""
    return (
        f"{result.function}, P(bit = 1) = {result.probability:.3g} · learnt: {100 * result.accuracy:g} % of {result.validation} "
        f"validation samples right, in {100 * result.search.share:g} % of trials"
    )


def answer(result: SimpleNamespace) -> str:
    """One sentence a learner."""
    return " ".join(_sentence(result, learner) for learner in result.learners)


def _sentence(result: SimpleNamespace, learner: str) -> str:
    points = [point for point in result.points if point.learner == learner]
    first, last, smallest = points[0], points[-1], result.search.smallest
    name = name_of(learner)
    missed = [point for point in points if not point.reached]
    if len(missed) == len(points):
        return f"{name} does not learn it at any T: {missed[0].words}."
    if first.reached:
        words = f"{name} learns it from m = {_short(first, smallest)} samples at T = {first.T}"
    else:
        words = f"{name}: {first.words} at T = {first.T}"
    if len(points) > 1:
        words += f" and {_short(last, smallest)} at T = {last.T}" if last.reached else f"; {last.words} at T = {last.T}"
    fit = getattr(result.fits, learner)
    if not fit.verdict:
        return words + "."
    words += f"; growth: {fit.verdict}."
    if missed:
        was = "was not reached and is" if len(missed) == 1 else "were not reached and are"
        words += f" T = {', '.join(str(point.T) for point in missed)} {was} left out: growth is at least this."
    return words


def _short(point: SimpleNamespace, smallest: int) -> str:
    return f"at most {smallest}" if point.state == "below" else point.words


def fit_rows(result: SimpleNamespace) -> list[list[str]]:
    """One row a learner."""
    rows = []
    for learner in result.learners:
        fit = getattr(result.fits, learner)
        if fit.verdict is None:
            rows.append([learner, "not fitted: fewer than three thresholds", "", "", ""])
            continue
        exponent = f"{fit.exponent:.2f} ± {fit.exponent_stderr:.2f}"
        criteria = " · ".join(f"{law.aic:.1f}" for law in (fit.laws.log, fit.laws.power, fit.laws.linear))
        rows.append([learner, fit.verdict, exponent, f"{fit.log_r_squared:.3f} · {fit.linear_r_squared:.3f}", criteria])
    return rows


def remarks(result: SimpleNamespace) -> list[str]:
    """What has to be known to read the numbers."""
    sentences = [f"Intervals hold with {100 * result.search.confidence:g} % confidence. A trial is one set of samples."]
    if result.training:
        sentences[0] += f" Networks have {result.training.restarts} start(s) of at most {result.training.steps} steps in a trial."
    doubtful = sorted({point.T for point in result.points if point.identified < 1.0})
    if doubtful:
        sentences.append(
            f"At T = {', '.join(map(str, doubtful))} some sets of samples have more than one explanation, or could not be checked for it: "
            "those are counted as they came."
        )
    bound = result.bounds[-1]
    sentences.append(
        f"The bound of corollary 4.5, for a head that averages the s bits at T = {bound.T}, says something from {bound.samples:.1g} "
        "samples on: far more than are needed, but with powers of log T."
    )
    return sentences


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


def growth_plot(result: SimpleNamespace, *, title: str, caption: str) -> Plot:
    """Thresholds with intervals, and the fitted logarithms and powers; searches that ended at the largest m as open triangles."""
    figure = go.Figure()
    for number, learner in enumerate(result.learners):
        add_thresholds(figure, [point for point in result.points if point.learner == learner], name_of(learner), colour(number))
        fit = getattr(result.fits, learner)
        if fit.verdict:
            for name, law, dash in (("log", fit.laws.log, "solid"), ("power", fit.laws.power, "dot")):
                add_line(figure, law.T, law.m, f"{learner}, {name} law", number, dash=dash, legend=False)
    finished(figure, x="number of bits T", y="threshold m", ticks=[point.T for point in result.points])
    figure.update_layout(height=HEIGHT + 20 * max(0, len(result.learners) - 3))
    style_counts(figure, [end for point in result.points for end in (point.low, point.high)])
    return Plot(figure, title, caption, wide=True)


def success_plot(result: SimpleNamespace, learner: str, *, title: str, caption: str) -> Plot:
    """The share of trials that succeeded at each m, and the curve that was fitted, one colour a T."""
    figure = go.Figure()
    points = [point for point in result.points if point.learner == learner]
    sizes = [batch.m for point in points for batch in point.tried]
    grid, share = np.geomspace(min(sizes), max(sizes), 120), result.search.share
    for number, point in enumerate(points):
        _add_shares(figure, point, number)
        if point.state == "found":
            top = 1.0 - point.lapse
            curve = top / (1.0 + np.exp(-(np.log(grid / point.m) / point.curve_width + np.log(share / (top - share)))))
            add_series(figure, grid, curve, "", number, line_width=1.5)
    ends = [float(grid[0]), float(grid[-1])]
    add_guide(figure, ends, [share, share], "")
    finished(figure, x="samples m", y="share of trials that succeeded", linear_y=True)
    figure.update_layout(height=HEIGHT - 40)
    figure.update_traces(showlegend=False, selector={"name": ""})
    figure.update_xaxes(**plain_ticks(ends[0] / 1.5, 1.5 * ends[1]))
    figure.update_yaxes(dtick=0.2, range=[-0.04, 1.04])
    return Plot(figure, title, caption, wide=True)


def _add_shares(figure: go.Figure, point: SimpleNamespace, number: int) -> None:
    """The share of successes at each m that was tried, once or more often."""
    successes, trials = Counter[int](), Counter[int]()
    for batch in point.tried:
        successes[batch.m] += batch.successes
        trials[batch.m] += batch.trials
    sizes = sorted(trials)
    counts = [f"{successes[m]} of {trials[m]}" for m in sizes]
    shares, hover = [successes[m] / trials[m] for m in sizes], f"T = {point.T}, m = %{{x}}: %{{customdata}}"
    add_series(figure, sizes, shares, f"T = {point.T}", number, mode="markers", hover=hover, customdata=counts)
