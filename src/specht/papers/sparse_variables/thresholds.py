"""Figure 2: samples needed for AND of three bits against the number of bits, for transformers, perceptrons, their kernel limits, and the
theory of finite width."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray
from scipy import stats

from specht.lab import describe_threshold, measure_threshold
from specht.papers import Finding, Grid, at_most, common, every, grid, larger, measure, near, prefers, present
from specht.report import GREY, Plot, Table, add_line, add_thresholds, colour, finished, in_terminal, points_of, style_counts
from specht.studies.sparse import SEPARATED, Growth, fit_growth, name_of
from specht.trees import named

LEARNT = 0.99
"""Share of the validation set that must be right: appendix C asks for more than 99 %, and 507 of 512 samples are the first number above."""
VALIDATION = 512
SHARE = 0.8

DIGITISED = {
    100: 50, 150: 53, 200: 58, 250: 56, 300: 69, 350: 61, 400: 80, 450: 82, 500: 80, 550: 85, 600: 94, 650: 97, 700: 89, 750: 101, 800: 100,
    900: 108, 1000: 111, 1100: 113,
}  # fmt: skip
"""Thresholds m by T in figure 2, read from the vectors of the PDF."""
CENSORED = (100,)
"""Lengths at which the threshold is the smallest m that was tried, so that the true one may lie below."""

TRANSFORMER = "transformer"
OTHERS = ("perceptron", "perceptron-ntk", "perceptron-nngp", "transformer-ntk", "transformer-nngp")
THEORIES = ("transformer-width-16", "transformer-width-64")
"""Shown beside the others; `features.trained` judges them."""
AND_TABLE = "00000001"
LEAST_LENGTHS = 4
"""Lengths without which growth is not judged."""
STEEPNESS_FROM = 200
"""The shortest length at which the slope is compared with that of the paper: below, its points are few."""
APART = 0.3
"""How far success criterion and restarts move a threshold."""


def _searches(
    learners: Sequence[str], lengths: Sequence[int], *, largest: int, width: float, budget: int, seed: int = 1, **training: int
) -> Grid:
    """The longest sequences first: they take longest."""
    search = {"share": SHARE, "smallest": 8, "largest": largest, "width": width, "confidence": 0.9, "batch": 8, "budget": budget}
    rest = {"accuracy": LEARNT, "validation": VALIDATION, "seed": seed}
    return grid(learner=learners, length=sorted(lengths, reverse=True), table=AND_TABLE, search=search, training=training, **rest)


KERNELS = OTHERS[1:]
_LENGTHS, _FEWER, _THEORY = (25, 35, 50, 71, 100, 141, 200), (25, 50, 100, 200), (25, 35, 50, 71, 100, 141, 200)
_SHORT = (25, 35, 50, 100)
_SMALL: Any = {"largest": 64, "width": 3.0, "budget": 24}
_FINE: Any = {"largest": 512, "width": 1.2, "budget": 320}
_WIDE: Any = {"largest": 4096, "width": 1.3, "budget": 320}
_COSTLY: Any = {"largest": 1024, "width": 1.3, "budget": 40}
"""For a regression that takes seconds: shown with its interval, and no verdict rests on it. Up to 1024 samples, as in `features.trained`:
one regression with 4096 takes minutes, and the kernel, which needs more samples, needs 700 at T = 100."""
_COARSE: Any = {"largest": 512, "width": 1.3, "budget": 80}
_MANY: Any = {"largest": 4096, "width": 1.3, "budget": 64}
_COARSEST: Any = {"largest": 4096, "width": 1.5, "budget": 32}
"""The last three at quick scale, where five seeds do what one fine search did."""

thresholds = measure(
    smoke=_searches([TRANSFORMER], [8, 12], **_SMALL, seed=0, restarts=2, steps=125)
    + _searches(["perceptron"], [12], **_SMALL, restarts=1, steps=125)
    + _searches([*KERNELS, *THEORIES], [12], **_SMALL),
    quick=_searches([TRANSFORMER], [*_SHORT, 400], **_COARSE, seed=0, restarts=3, steps=125)
    + _searches(["perceptron"], _SHORT, **_COARSEST, restarts=1, steps=250)
    + _searches(KERNELS, _SHORT, **_MANY),
    full=_searches([TRANSFORMER], [*_LENGTHS, 283, 400, 566, 800, 1100], **_FINE, seed=0, restarts=3, steps=125)
    + _searches(["perceptron"], _FEWER, **_WIDE, restarts=1, steps=250)
    + _searches(KERNELS, [*_FEWER, 400], **_WIDE)
    + _searches(THEORIES, _THEORY, **_COSTLY),
)(measure_threshold)


def points(data: xarray.Dataset, learner: str) -> list[SimpleNamespace]:
    """The thresholds of a learner, by length, as figures and fits take them; none where it is not searched for."""
    if learner not in data["learner"].values:
        return []
    return [_point(part) for part in points_of(present(data.sel(learner=learner)), "length")]


def _point(part: xarray.Dataset) -> SimpleNamespace:
    search, tried = part["search"].item(), part.dropna("batch")
    return named(
        {
            "T": part["length"].item(),
            **{name: float(part[name]) for name in ("m", "low", "high", "log_stderr")},
            "state": part["state"].item(),
            "tried": [{"m": int(m)} for m in tried["size"].values],
            "trials": int(search["batch"] * tried.sizes["batch"]),
            "runs": int(tried["runs"].sum()),
            "words": describe_threshold(part, search["smallest"], search["largest"]),
        }
    )


def growth(data: xarray.Dataset, learner: str, lengths: Collection[int] | None = None) -> Growth | None:
    """The laws of growth of a learner, at some lengths or at all; None where fewer than four thresholds were found."""
    reached = [point for point in points(data, learner) if point.state == "found" and (lengths is None or point.T in lengths)]
    if len(reached) < LEAST_LENGTHS:
        return None
    return fit_growth(*([getattr(point, name) for point in reached] for name in ("T", "m", "log_stderr")))


def _words(data: xarray.Dataset, learner: str) -> str:
    searched = points(data, learner)
    trials = f"{sum(point.trials for point in searched)} trials of {_training(data, learner)}"
    return f"{name_of(learner)}, T = {common.span([point.T for point in searched])}, {trials}"


def _training(data: xarray.Dataset, learner: str) -> str:
    """What a trial is made of: starts and steps of networks, or one regression."""
    training = data["training"].sel(learner=learner).item()
    if not training:
        return "one regression"
    starts = "one start" if training["restarts"] == 1 else f"up to {training['restarts']} starts"
    return f"{starts} of {training['steps']} steps"


def fitted(data: xarray.Dataset, learner: str, lengths: Collection[int] | None = None) -> Growth:
    """The same for a claim, on which fewer thresholds say nothing."""
    fit = growth(data, learner, lengths)
    if fit is None:
        words = f"Growth is judged from {LEAST_LENGTHS} thresholds on. {_words(data, learner)}."
        raise common.nothing(words)
    return fit


@thresholds.claim("f2-log", prefers("the logarithm", "a line in T", by=SEPARATED), null=-10.0)
def advantage_over_a_line(data: xarray.Dataset) -> Finding:
    fit = fitted(data, TRANSFORMER)
    words = f"R² {fit.log_r_squared:.3f} against ln T and {fit.linear_r_squared:.3f} against T. {_words(data, TRANSFORMER)}."
    return Finding(fit.advantage("log", "linear"), regime=words)


@thresholds.claim("f2-exponent", at_most(0.6, "exponent of a power law"), null=1.0)
def exponent(data: xarray.Dataset) -> Finding:
    fit = fitted(data, TRANSFORMER)
    return Finding(fit.exponent, fit.exponent_stderr, f"{_words(data, TRANSFORMER)}.")


@thresholds.claim("f2-law", prefers("the logarithm", "a power law", by=SEPARATED), null=-10.0)
def advantage_of_the_logarithm(data: xarray.Dataset) -> Finding:
    fit = fitted(data, TRANSFORMER)
    return Finding(fit.advantage("log", "power"), regime=f"{_verdict(fit)}. {_words(data, TRANSFORMER)}.")


def _verdict(fit: Growth) -> str:
    return f"{fit.verdict[0].upper()}{fit.verdict[1:]}"


@thresholds.claim(
    "f2-points", every(near(0.0, APART, "ln of m over that of the paper"), "at every T that both have"), null=float(np.log(10))
)
def distances_from_the_paper(data: xarray.Dataset) -> dict[int, Finding]:
    both = {p.T: p for p in points(data, TRANSFORMER) if p.T in DIGITISED and p.state == "found"}
    if not both:
        raise common.nothing(f"The paper has points from T = {min(DIGITISED)} on. {_words(data, TRANSFORMER)}.")
    words = ", ".join(f"T = {T}: {p.m:.0f} here, {DIGITISED[T]} in the paper" for T, p in both.items())
    return {T: Finding(float(np.log(p.m / DIGITISED[T])), p.log_stderr, f"{words}.") for T, p in both.items()}


def digitised_growth(*, censored: bool = False) -> Growth:
    """The laws through the points of the paper, each with the error of its grid of m, ten wide; with those at its edge, or without."""
    kept = {T: m for T, m in DIGITISED.items() if censored or T not in CENSORED}
    return fit_growth(list(kept), list(kept.values()), [10.0 / np.sqrt(12.0) / m for m in kept.values()])


@thresholds.claim("f2-digitised", prefers("the logarithm", "a line in T", by=SEPARATED), null=-10.0)
def advantage_in_the_paper(_: xarray.Dataset) -> Finding:
    fit, whole = digitised_growth(), digitised_growth(censored=True)
    kept = [T for T in DIGITISED if T not in CENSORED]
    words = (
        f"{fit.points} points, T = {common.span(kept)}; exponent {fit.exponent:.2f} ± {fit.exponent_stderr:.2f}; beside a power law the "
        f"number is {fit.advantage('log', 'power'):.1f}. T = {common.listed(CENSORED)} is left out, because its m is the smallest of the "
        f"paper's grid; with it the number is {whole.advantage('log', 'linear'):.1f}."
    )
    return Finding(fit.advantage("log", "linear"), regime=words)


def per_e_fold(points: Mapping[int, float]) -> tuple[float, float]:
    """The samples that every factor e of the length adds, from `STEEPNESS_FROM` on, and their standard error."""
    kept = {T: m for T, m in points.items() if STEEPNESS_FROM <= T <= max(DIGITISED)}
    line: Any = stats.linregress(np.log(list(kept)), list(kept.values()))
    return float(line.slope), float(line.stderr)


@thresholds.claim(
    "f2-slope",
    near(1.0, 0.3, "samples that every factor e of T adds, over those in the paper,", where=f"from T = {STEEPNESS_FROM} on"),
    null=0.0,
)
def slope_beside_the_paper(data: xarray.Dataset) -> Finding:
    """Whether thresholds grow as steeply as those of the paper, and not only as slowly."""
    own = {p.T: p.m for p in points(data, TRANSFORMER) if p.state == "found" and p.T >= STEEPNESS_FROM}
    if len(own) < LEAST_LENGTHS:
        raise common.nothing(
            f"The slope is judged from {LEAST_LENGTHS} lengths of {STEEPNESS_FROM} or more on. {_words(data, TRANSFORMER)}."
        )
    (slope, error), (theirs, their_error) = per_e_fold(own), per_e_fold({T: float(m) for T, m in DIGITISED.items()})
    ratio = slope / theirs
    words = f"{slope:.1f} ± {error:.1f} here and {theirs:.1f} ± {their_error:.1f} in the paper. {_words(data, TRANSFORMER)}."
    return Finding(ratio, float(np.hypot(error / theirs, ratio * their_error / theirs)), words)


def difference_of_exponents(data: xarray.Dataset, learner: str) -> Finding:
    """Whether a learner needs samples that grow faster with T than those of the transformer, at the lengths that both have. Its own
    exponent is shown."""
    reached = [{point.T for point in points(data, name) if point.state == "found"} for name in (TRANSFORMER, learner)]
    both = set.intersection(*reached)
    theirs, own = fitted(data, learner, both), fitted(data, TRANSFORMER, both)
    words = (
        f"{_verdict(theirs)}. {_words(data, learner)}; at the same T = {common.listed(sorted(both))} the transformer's exponent is "
        f"{own.exponent:.2f}, with {_training(data, TRANSFORMER)} a trial."
    )
    error = float(np.hypot(own.exponent_stderr, theirs.exponent_stderr))
    return Finding(theirs.exponent - own.exponent, error, words, shown=(theirs.exponent, theirs.exponent_stderr))


for _learner in OTHERS:
    thresholds.claim(f"f2-{_learner}", larger("exponent", than="that of the transformer"), null=0.0)(
        functools.partial(difference_of_exponents, learner=_learner)
    )


@thresholds.figure()
def against_length(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for number, learner in enumerate((TRANSFORMER, *OTHERS, *THEORIES)):
        searched = points(data, learner)
        if not searched:
            continue
        add_thresholds(figure, searched, name_of(learner)[4:], colour(number))
        fit = growth(data, learner)
        if fit is not None:
            lengths = np.geomspace(searched[0].T, searched[-1].T, 40)
            law = "log" if learner == TRANSFORMER else "power"
            add_line(figure, lengths, fit.laws[law](lengths), f"{learner}: {law} law", number, legend=False)
    figure.add_scatter(
        x=list(DIGITISED),
        y=list(DIGITISED.values()),
        name="the paper's points",
        mode="markers",
        marker={"color": GREY, "size": 6, "symbol": "diamond-open"},
        hovertemplate="paper, T = %{x}: %{y}<extra></extra>",
    )
    found = [point for learner in (TRANSFORMER, *OTHERS, *THEORIES) for point in points(data, learner)]
    ticks = sorted({point.T for point in found} | {400, 1000})
    finished(figure, x="number of bits T", y="threshold m", ticks=_spread(ticks))
    style_counts(figure, [end for point in found for end in (point.low, point.high)] + list(DIGITISED.values()))
    figure.update_layout(height=560)
    caption = (
        "AND of three bits: samples at which 80 % of trials learn it, with 90 % intervals. Line through the transformer: a + b ln T; "
        "through the others: c T^{α}. Diamonds: figure 2 of the paper, digitised."
    )
    return Plot(figure, "Samples needed against the number of bits", caption, wide=True)


def _spread(ticks: Sequence[int]) -> list[int]:
    """Ticks that do not touch."""
    kept: list[int] = []
    for tick in ticks:
        if not kept or tick / kept[-1] > 1.6:
            kept.append(tick)
    return kept


@thresholds.table()
def searched_and_fitted(data: xarray.Dataset) -> list[Table]:
    rows = [
        [learner, str(point.T), point.words, str(point.trials), str(point.runs)]
        for learner in (TRANSFORMER, *OTHERS, *THEORIES)
        for point in points(data, learner)
    ]
    searched = Table(("learner", "T", "threshold m", "trials", "networks trained"), rows, "Intervals of 90 %.", "Thresholds")
    laws = []
    for learner in (TRANSFORMER, *OTHERS, *THEORIES, "the paper's points"):
        fit = digitised_growth() if learner.startswith("the") else growth(data, learner)
        if fit is not None:
            criteria = " · ".join(f"{fit.laws[name].aic:.1f}" for name in ("log", "power", "linear"))
            numbers = [
                common.with_error(fit.exponent, fit.exponent_stderr, 2),
                f"{fit.log_r_squared:.3f} · {fit.linear_r_squared:.3f}",
                criteria,
            ]
            laws.append([learner, in_terminal(fit.verdict), *numbers])
    header = ("learner", "growth", "exponent", "R²: ln T · T", "AIC: log · power · linear")
    note = "Laws are fitted to log m with its errors; one is named only where Akaike's criterion prefers it to all others by more than 4."
    return [searched, Table(header, laws or [["none", "fewer than four thresholds", *[""] * 3]], note, "Growth with T")]
