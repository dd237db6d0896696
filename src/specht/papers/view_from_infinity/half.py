"""Learnability by symmetry: where half of a target is learnt, by theory and by exact inference."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Result, Results, Scale, Verdict, holds_if
from specht.papers.view_from_infinity import sources
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.half"
MANY = 8
"""Samples from which on the theory, one of many samples, is held to its word."""
WITHIN = 0.15
"""Relative error of N* that is allowed: section 7 of the notes."""


def measure_half(level: int, ridge: float, length: int, datasets: int, seed: int) -> xarray.Dataset:
    """The number of samples from which half of g_m is learnt: predicted, and by exact inference around the predicted number.

    Two uniform tokens, linear attention with an erf activation, s_w = 1/2, s_p = 1. The standard error is that of the share learnt,
    carried over by the slope of the curve.
    """
    import specht
    from specht.learning.complexity import samples_to_learn
    from specht.learning.content import content

    source = specht.sources.uniform(2)
    arch: Any = specht.Architecture(vocab=2, length=length, activation="erf", s_w=0.5, s_p=1.0)
    spec = specht.spectrum(arch, source)
    task = specht.Task(source, specht.targets.level(level, length, source=source))
    parts = content(spec, task)
    predicted = samples_to_learn(parts, ridge)
    n_train = sorted({max(1, round(predicted * factor)) for factor in np.geomspace(0.5, 2.0, 7)})
    exact = specht.gp.learning_curve(arch, task, n_train=n_train, ridge=ridge, datasets=datasets, scale=spec.trace, seed=seed)
    logs = np.log(n_train)
    measured = float(np.exp(np.interp(0.5, exact.learned, logs)))
    slope = (exact.learned[-1] - exact.learned[0]) / (logs[-1] - logs[0])
    nearest = int(np.argmin(np.abs(exact.learned - 0.5)))
    return common.record(
        "half",
        {
            "predicted": predicted,
            "measured": measured,
            "measured_stderr": measured * exact.learned_stderr[nearest] / slope,
            "learned": ("place", exact.learned),
            "learned_stderr": ("place", exact.learned_stderr),
            "theory": ("place", specht.learning_curve(spec, parts, n_train, ridge=ridge).learned),
            "n_train": ("place", np.array(n_train, dtype=float)),
        },
        {"place": np.arange(len(n_train))},
    )


def jobs(scale: Scale) -> list[Job]:
    """Level, ridge, length and number of data sets of each case."""
    small = [(0, 0.2, 8, 1000), (0, 1.0, 8, 1000), (0, 5.0, 8, 500)]
    cases = common.at_scale(
        scale,
        smoke=[(0, 0.2, 4, 6), (1, 0.2, 4, 6)],
        quick=[(0, 0.2, 8, 300), (0, 5.0, 8, 200), (1, 0.2, 8, 160), (1, 1.0, 8, 80), (2, 0.2, 8, 20)],
        full=[*small, (1, 0.2, 8, 400), (1, 1.0, 8, 200), (1, 0.2, 16, 200), (2, 0.2, 8, 60), (2, 1.0, 8, 20)],
    )
    return [Job.of(f"{_HERE}:measure_half", level=m, ridge=r, length=n, datasets=d, seed=0) for m, r, n, d in cases]


def _error(result: Result) -> tuple[float, float]:
    """Relative error of the predicted number of samples, and its standard error."""
    predicted, measured, stderr = (float(result.data[name]) for name in ("predicted", "measured", "measured_stderr"))
    return predicted / measured - 1.0, predicted / measured * stderr / measured


def _judge(results: Results, enough: bool) -> Verdict:
    at = [result for result in results if (float(result.data["predicted"]) >= MANY) == enough]
    if not at:
        return Verdict("not tested", regime=f"No case has {'at least' if enough else 'fewer than'} {MANY} samples at this scale.")
    worst, stderr = max((_error(result) for result in at), key=lambda both: abs(both[0]))
    cases = "; ".join(
        f"m = {r.arguments['level']}, L = {r.arguments['length']}, ridge {r.arguments['ridge']:g} E[k], N* = "
        f"{float(r.data['predicted']):.3g}, {r.arguments['datasets']} data sets: {_error(r)[0]:+.1%}"
        for r in at
    )
    return holds_if(abs(worst) <= WITHIN, worst, stderr, f"Linear attention + erf, V = 2, s_w = 0.5, s_p = 1: {cases}.")


def judge_many(results: Results) -> Verdict:
    return _judge(results, enough=True)


def judge_few(results: Results) -> Verdict:
    return _judge(results, enough=False)


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    for number, result in enumerate(results):
        n, data = result.data["n_train"].values, result.data
        given = result.arguments
        name = f"m = {given['level']}, L = {given['length']}, ridge {given['ridge']:g}"
        common.add_line(figure, n, data["theory"].values, name, number)
        common.add_points(figure, n, data["learned"].values, f"{name}, exact", number, errors=data["learned_stderr"].values, legend=False)
    ends = [min(float(r.data["n_train"].min()) for r in results), max(float(r.data["n_train"].max()) for r in results)]
    common.add_guide(figure, ends, [0.5, 0.5], "half")
    common.finished(figure, x="samples N", y="share of the target that is learnt", linear_y=True)
    caption = "Lines are the prediction, points exact inference. The more positions a target singles out, the later its half is learnt."
    return [Plot(figure, "Half learnt", caption, wide=True)]


def tables(results: Results) -> list[Table]:
    rows = [
        [
            f"m = {r.arguments['level']}, L = {r.arguments['length']}, ridge {r.arguments['ridge']:g}",
            f"{float(r.data['predicted']):.4g}",
            common.with_error(float(r.data["measured"]), float(r.data["measured_stderr"]), 4),
            f"{_error(r)[0]:+.1%}",
        ]
        for r in results
    ]
    return [Table(("target", "predicted N*", "measured N*", "error"), rows, title="Half-learning points")]


EXPERIMENT = Experiment(
    name="infinity.e3",
    title="Learnability by symmetry",
    shown=(
        "Summary: an experiment that it suggests, learning targets of different symmetry and comparing the samples they need with theory."
    ),
    claims=(
        Claim(
            "infinity.e3-half-learning",
            "Half of a target is learnt from as many samples as theory says.",
            f"{sources.SUGGESTED}; formula of N* on the poster",
            f"predicted N* within 15 % of exact inference where it is at least {MANY}",
            judge_many,
        ),
        Claim(
            "infinity.e3-few-samples",
            "Half of a target is learnt from as many samples as theory says where one or two are enough, too.",
            sources.OURS,
            f"predicted N* within 15 % of exact inference where it is below {MANY}",
            judge_few,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step("The share learnt is the overlap of the mean prediction with the target.", ("Σ_i g_i² L_i(N) / |g|² = 1/2", "E⟨f,g⟩ / |g|²")),
    ),
)
