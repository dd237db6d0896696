"""Figure 2: samples needed for AND of three bits against the number of bits, for transformers, perceptrons, their kernel limits, and the
theory of finite width."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specht.lab.jobs import Job
from specht.lab.threshold_job import MEASURE, describe_threshold
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.sparse_variables import sources
from specht.report.figures import GREY, Plot
from specht.report.html import Step, Table
from specht.report.threshold_figures import add_thresholds, style_counts
from specht.report.threshold_tables import name_of, plain

TRANSFORMER = "transformer"
OTHERS = ("perceptron", "perceptron-ntk", "perceptron-nngp", "transformer-ntk", "transformer-nngp")
THEORIES = ("transformer-width-16", "transformer-width-64")
"""Shown beside the others; `features.trained` judges them."""
AND_TABLE = "00000001"
LEAST_LENGTHS = 4
"""Lengths without which growth is not judged."""
APART = 0.3
"""How far success criterion and restarts move a threshold."""


def jobs(scale: Scale) -> list[Job]:
    """The longest sequences first: they take longest. Full scale is the quick one and longer ones, so that it goes on from there."""
    quick = (25, 35, 50, 71, 100, 141, 200)
    lengths = common.at_scale(scale, smoke=(8, 12), quick=quick, full=(*quick, 283, 400, 566, 800, 1100))
    largest, width = (64, 3.0) if scale == "smoke" else (512, 1.2)
    training = {"restarts": 2 if scale == "smoke" else 3, "steps": 125}
    found = [_job(TRANSFORMER, T, scale, largest=largest, width=width, training=training, seed=0) for T in reversed(lengths)]
    largest, width = (64, 3.0) if scale == "smoke" else (4096, 1.3)
    for learner in (*OTHERS, *THEORIES):
        is_network = learner == "perceptron"
        fewer = common.at_scale(scale, smoke=(12,), quick=(25, 50, 100, 200), full=(25, 50, 100, 200, *(() if is_network else (400,))))
        if learner in THEORIES:
            fewer = common.at_scale(scale, smoke=(12,), quick=(25, 35, 50, 71, 100), full=(25, 35, 50, 71, 100, 141, 200))
        training = {"restarts": 1, "steps": 125 if scale == "smoke" else 250} if is_network else {}
        found += [_job(learner, T, scale, largest=largest, width=width, training=training, seed=1) for T in reversed(fewer)]
    return found


def _job(learner: str, length: int, scale: Scale, *, largest: int, width: float, training: dict[str, Any], seed: int) -> Job:
    search = {"share": sources.SHARE, "smallest": 8, "largest": largest, "width": width, "confidence": 0.9, "batch": 8}
    search["budget"] = common.at_scale(scale, smoke=24, quick=320, full=320)
    where = {"table": AND_TABLE, "length": length, "learner": learner, "search": search, "training": training}
    return Job.of(MEASURE, **where, accuracy=sources.LEARNT, validation=sources.VALIDATION, seed=seed)


def points(results: Results, learner: str) -> list[dict[str, Any]]:
    """The thresholds of a learner, by length, as figures and fits take them."""
    found = sorted(common.chosen(results, "threshold", learner=learner), key=lambda result: result.arguments["length"])
    return [
        {
            "T": result.arguments["length"],
            **{name: float(result.data[name]) for name in ("m", "low", "high", "log_stderr")},
            "state": result.data["state"].item(),
            "tried": [{"m": int(m)} for m in result.data["size"].values],
            "trials": int(result.arguments["search"]["batch"] * result.data.sizes["batch"]),
            "runs": int(result.data["runs"].sum()),
            "words": describe_threshold(result.data, result.arguments["search"]["smallest"], result.arguments["search"]["largest"]),
        }
        for result in found
    ]


def growth(results: Results, learner: str, lengths: Collection[int] | None = None) -> Any:
    """The laws of growth of a learner, at some lengths or at all; None where fewer than four thresholds were found."""
    from specht.learning.growth import fit_growth

    found = [point for point in points(results, learner) if point["state"] == "found" and (lengths is None or point["T"] in lengths)]
    if len(found) < LEAST_LENGTHS:
        return None
    return fit_growth(*([point[name] for point in found] for name in ("T", "m", "log_stderr")))


def _regime(results: Results, learner: str) -> str:
    found = points(results, learner)
    trials = f"{sum(p['trials'] for p in found)} trials of {_training(results, learner)}"
    return f"{name_of(learner)}, T = {common.span([p['T'] for p in found])}, {trials}"


def _training(results: Results, learner: str) -> str:
    """What a trial is made of: starts and steps of networks, or one regression."""
    given = common.chosen(results, "threshold", learner=learner)[0].arguments["training"]
    if not given:
        return "one regression"
    starts = "one start" if given["restarts"] == 1 else f"up to {given['restarts']} starts"
    return f"{starts} of {given['steps']} steps"


def _few(results: Results, learner: str) -> Verdict:
    return Verdict("not tested", regime=f"Growth is judged from {LEAST_LENGTHS} thresholds on. {_regime(results, learner)}.")


def judge_log_line(results: Results) -> Verdict:
    fit = growth(results, TRANSFORMER)
    if fit is None:
        return _few(results, TRANSFORMER)
    return holds_if(fit.log_r_squared >= 0.9, fit.log_r_squared, regime=f"{_regime(results, TRANSFORMER)}.")


def judge_exponent(results: Results) -> Verdict:
    fit = growth(results, TRANSFORMER)
    if fit is None:
        return _few(results, TRANSFORMER)
    return holds_if(fit.exponent <= 0.6, fit.exponent, fit.exponent_stderr, f"{_regime(results, TRANSFORMER)}.")


def judge_against_line(results: Results) -> Verdict:
    fit = growth(results, TRANSFORMER)
    if fit is None:
        return _few(results, TRANSFORMER)
    ahead = fit.log_r_squared - fit.linear_r_squared
    words = f"R² {fit.log_r_squared:.3f} against ln T and {fit.linear_r_squared:.3f} against T. {_regime(results, TRANSFORMER)}."
    return holds_if(ahead > 0.0, ahead, regime=words)


def judge_law(results: Results) -> Verdict:
    """A logarithm, a power, or neither told from the other."""
    from specht.learning.growth import SEPARATED

    fit = growth(results, TRANSFORMER)
    if fit is None:
        return _few(results, TRANSFORMER)
    ahead = fit.advantage("log", "power")
    words = f"{fit.verdict[0].upper()}{fit.verdict[1:]}. {_regime(results, TRANSFORMER)}."
    if abs(ahead) <= SEPARATED:
        return Verdict("not tested", ahead, regime=words)
    return holds_if(ahead > 0.0, ahead, regime=words)


def judge_agreement(results: Results) -> Verdict:
    """The largest relative distance from the paper's points, at the lengths that both have."""
    both = {p["T"]: p for p in points(results, TRANSFORMER) if p["T"] in sources.DIGITISED and p["state"] == "found"}
    if not both:
        return Verdict("not tested", regime=f"The paper has points from T = {min(sources.DIGITISED)} on. {_regime(results, TRANSFORMER)}.")
    off = max((abs(np.log(p["m"] / sources.DIGITISED[T])), p["log_stderr"]) for T, p in both.items())
    words = ", ".join(f"T = {T}: {p['m']:.0f} here, {sources.DIGITISED[T]} in the paper" for T, p in both.items())
    return holds_if(off[0] <= APART, off[0], off[1], f"{words}.")


def digitised_growth(*, censored: bool = False) -> Any:
    """The laws through the points of the paper, each with the error of its grid of m, ten wide; with those at its edge, or without."""
    from specht.learning.growth import fit_growth

    kept = {T: m for T, m in sources.DIGITISED.items() if censored or T not in sources.CENSORED}
    return fit_growth(list(kept), list(kept.values()), [10.0 / np.sqrt(12.0) / m for m in kept.values()])


def judge_digitised(results: Results) -> Verdict:
    fit, whole = digitised_growth(), digitised_growth(censored=True)
    ahead = fit.log_r_squared - fit.linear_r_squared
    kept = [T for T in sources.DIGITISED if T not in sources.CENSORED]
    edge = common.listed(sources.CENSORED)
    words = (
        f"{fit.points} points, T = {common.span(kept)}: R² {fit.log_r_squared:.3f} against ln T and {fit.linear_r_squared:.3f} against T; "
        f"exponent {fit.exponent:.2f} ± {fit.exponent_stderr:.2f}. T = {edge} is left out, because its m is the smallest of the paper's "
        f"grid. All hangs on that one point: with it R² is {whole.log_r_squared:.3f} against ln T and {whole.linear_r_squared:.3f} "
        "against T."
    )
    return holds_if(ahead > 0.0, ahead, regime=words)


def _judge_other(learner: str) -> Callable[[Results], Verdict]:
    """Whether a learner needs samples that grow faster with T than those of the transformer, at the lengths that both have."""

    def judge(results: Results) -> Verdict:
        reached = [{p["T"] for p in points(results, name) if p["state"] == "found"} for name in (TRANSFORMER, learner)]
        both = set.intersection(*reached)
        mine, theirs = (growth(results, name, both) for name in (TRANSFORMER, learner))
        if mine is None or theirs is None:
            return _few(results, learner)
        error = float(np.hypot(mine.exponent_stderr, theirs.exponent_stderr))
        verdict = f"{theirs.verdict[0].upper()}{theirs.verdict[1:]}"
        words = (
            f"{verdict}. {_regime(results, learner)}; at the same T = {common.listed(sorted(both))} the transformer's exponent is "
            f"{mine.exponent:.2f}, with {_training(results, TRANSFORMER)} a trial."
        )
        return holds_if(theirs.exponent - mine.exponent > 3 * error, theirs.exponent, theirs.exponent_stderr, words)

    return judge


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    for number, learner in enumerate((TRANSFORMER, *OTHERS, *THEORIES)):
        mine = points(results, learner)
        add_thresholds(figure, mine, name_of(learner)[4:], common.colour(number))
        fit = growth(results, learner)
        if fit is not None:
            lengths = np.geomspace(mine[0]["T"], mine[-1]["T"], 40)
            law = "log" if learner == TRANSFORMER else "power"
            common.add_line(figure, lengths, fit.laws[law](lengths), f"{learner}: {law} law", number, legend=False)
    figure.add_scatter(
        x=list(sources.DIGITISED),
        y=list(sources.DIGITISED.values()),
        name="the paper's points",
        mode="markers",
        marker={"color": GREY, "size": 6, "symbol": "diamond-open"},
        hovertemplate="paper, T = %{x}: %{y}<extra></extra>",
    )
    every = [point for learner in (TRANSFORMER, *OTHERS, *THEORIES) for point in points(results, learner)]
    ticks = sorted({point["T"] for point in every} | {400, 1000})
    common.finished(figure, x="number of bits T", y="threshold m", ticks=_spread(ticks))
    style_counts(figure, [point[name] for point in every for name in ("low", "high")] + list(sources.DIGITISED.values()))
    figure.update_layout(height=560)
    caption = (
        "AND of three bits: samples at which 80 % of trials learn it, with 90 % intervals. Line through the transformer: a + b ln T; "
        "through the others: c T^{α}. Diamonds: figure 2 of the paper, digitised."
    )
    return [Plot(figure, "Samples needed against the number of bits", caption, wide=True)]


def _spread(ticks: Sequence[int]) -> list[int]:
    """Ticks that do not touch."""
    kept: list[int] = []
    for tick in ticks:
        if not kept or tick / kept[-1] > 1.6:
            kept.append(tick)
    return kept


def tables(results: Results) -> list[Table]:
    rows = [
        [learner, str(point["T"]), point["words"], str(point["trials"]), str(point["runs"])]
        for learner in (TRANSFORMER, *OTHERS, *THEORIES)
        for point in points(results, learner)
    ]
    found = Table(("learner", "T", "threshold m", "trials", "networks trained"), rows, "Intervals of 90 %.", "Thresholds")
    laws = []
    for learner in (TRANSFORMER, *OTHERS, *THEORIES, "the paper's points"):
        fit = digitised_growth() if learner.startswith("the") else growth(results, learner)
        if fit is not None:
            criteria = " · ".join(f"{fit.laws[name].aic:.1f}" for name in ("log", "power", "linear"))
            numbers = [
                common.with_error(fit.exponent, fit.exponent_stderr, 2),
                f"{fit.log_r_squared:.3f} · {fit.linear_r_squared:.3f}",
                criteria,
            ]
            laws.append([learner, plain(fit.verdict), *numbers])
    header = ("learner", "growth", "exponent", "R²: ln T · T", "AIC: log · power · linear")
    note = "Laws are fitted to log m with its errors; one is named only where Akaike's criterion prefers it to all others by more than 4."
    return [found, Table(header, laws or [["none", "fewer than four thresholds", *[""] * 3]], note, "Growth with T")]


_FIGURE = f"{sources.PAPER}, figure 2"
EXPERIMENT = Experiment(
    name="sparse.f2",
    title="Sparse AND: samples against the number of bits",
    shown="Figure 2: the smallest m with which 80 % of 40 trials reach full validation accuracy, T = 100 to 1100 on a logarithmic axis.",
    claims=(
        Claim(
            "sparse.f2-log",
            "The number of samples that a transformer needs for AND of three bits grows with the logarithm of the number of bits.",
            _FIGURE,
            "R² of a line through the thresholds against ln T at least 0.9",
            judge_log_line,
        ),
        Claim(
            "sparse.f2-exponent", "It grows far slower than in proportion.", _FIGURE, "exponent of a power law at most 0.6", judge_exponent
        ),
        Claim(
            "sparse.f2-line",
            "A line in ln T describes the thresholds better than a line in T.",
            _FIGURE,
            "R² against ln T above R² against T",
            judge_against_line,
        ),
        Claim(
            "sparse.f2-law",
            "The growth is a logarithm and no power of T.",
            f"{sources.PAPER}, abstract and figure 2",
            "Akaike's criterion prefers the logarithm to a power law by more than 4; not decided within 4",
            judge_law,
        ),
        Claim(
            "sparse.f2-points",
            "Thresholds are those of the paper, whose networks train longer.",
            _FIGURE,
            f"within a factor e^{APART:g} at the lengths that both have",
            judge_agreement,
        ),
        Claim(
            "sparse.f2-digitised",
            "The paper's own points, but for the one at the edge of its grid, lie nearer to a line in ln T than to one in T.",
            f"{_FIGURE}, digitised",
            "R² against ln T above R² against T",
            judge_digitised,
        ),
        *(
            Claim(
                f"sparse.f2-{learner}",
                f"{name_of(learner)} needs samples that grow faster with T than those of the transformer.",
                sources.OURS,
                "exponent above that of the transformer by more than three standard errors",
                _judge_other(learner),
            )
            for learner in OTHERS
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "A trial draws m samples with balanced labels that one choice of three bits alone explains. A transformer of one layer (width "
            "64, 16 heads, class symbol) is trained on all of them by Adam from up to three starts, and succeeds if at some look more than "
            "99 % of 512 validation samples are right. Dropout acts on the outputs of attention and MLP alone, and training ends after 125 "
            "steps, by which almost all networks that learn it have done so; the paper trains for 1000, from up to "
            "five starts."
        ),
        Step(
            "Thresholds come from an adaptive search over a logistic curve of success in log m:",
            ["P(success | m) = (1 − ℓ) σ( (log m − θ)/w + c ),   (1 − ℓ) σ(c) = 0.8"],
        ),
        Step(
            "Perceptrons have two hidden layers of ReLU and as many weights as the transformer, and are trained from one start for 250 "
            "steps; kernel limits are one regression on labels ±1 with the NTK or NNGP of two hidden layers of ReLU, and of one block of "
            "linear attention and ReLU with a class symbol, without norm, residual stream or softmax. Exponents are compared at the "
            "lengths that both learners have. The theory of finite width is regression with the NNGP of that block after the variances of "
            "its tokens and positions have moved to a minimum of the free energy of the samples."
        ),
    ),
)
