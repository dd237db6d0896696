"""Learnability by symmetry: where half of a target is learnt, by theory and by exact inference."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht import learning
from specht.papers import Finding, common, every, measure, near, present, rows
from specht.report import Plot, Table, add_guide, add_line, add_points, points_of, table

MANY = 8
"""Samples from which on the theory, one of many samples, is held to its word."""
WITHIN = 0.15
"""Relative error of N* that is allowed: section 7 of the notes."""
_NAMES = ("level", "ridge", "length", "datasets", "seed")


@measure(
    smoke=rows(_NAMES, (0, 0.2, 4, 6, 0), (1, 0.2, 4, 6, 0)),
    quick=rows(_NAMES, (0, 0.2, 8, 300, 0), (0, 5.0, 8, 200, 0), (1, 0.2, 8, 160, 0), (1, 1.0, 8, 80, 0), (2, 0.2, 8, 20, 0)),
    full=rows(
        _NAMES,
        *((0, 0.2, 8, 1000, 0), (0, 1.0, 8, 1000, 0), (0, 5.0, 8, 500, 0), (1, 0.2, 8, 400, 0), (1, 1.0, 8, 200, 0)),
        *((1, 0.2, 16, 200, 0), (2, 0.2, 8, 60, 0), (2, 1.0, 8, 20, 0)),
    ),
)
def measure_half(level: int, ridge: float, length: int, datasets: int, seed: int) -> xarray.Dataset:
    """The number of samples from which half of g_m is learnt: predicted, and by exact inference around the predicted number.

    Two uniform tokens, linear attention with an erf activation, s_w = 1/2, s_p = 1. The standard error is that of the share learnt,
    carried over by the slope of the curve.
    """
    source = specht.sources.uniform(2)
    arch: Any = specht.Architecture(vocab=2, length=length, activation="erf", s_w=0.5, s_p=1.0)
    spec = specht.spectrum(arch, source)
    task = specht.Task(source, specht.targets.level(level, length, source=source))
    parts = learning.content(spec, task)
    predicted = learning.samples_to_learn(parts, ridge)
    n_train = sorted({max(1, round(predicted * factor)) for factor in np.geomspace(0.5, 2.0, 7)})
    exact = specht.gp.learning_curve(arch, task, n_train=n_train, ridge=ridge, datasets=datasets, scale=spec.trace, seed=seed)
    logs = np.log(n_train)
    measured = float(np.exp(np.interp(0.5, exact.learned, logs)))
    slope = (exact.learned[-1] - exact.learned[0]) / (logs[-1] - logs[0])
    nearest = int(np.argmin(np.abs(exact.learned - 0.5)))
    return xarray.Dataset(
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


def _axes(data: xarray.Dataset) -> list[str]:
    """The settings that vary."""
    return [name for name in _NAMES if name in data.dims]


def _cases(data: xarray.Dataset) -> list[xarray.Dataset]:
    return [present(case) for case in points_of(data, *_axes(data))]


def _name(case: xarray.Dataset) -> str:
    return f"m = {case.level.item()}, L = {case.length.item()}, ridge {case.ridge.item():g}"


def _error(case: xarray.Dataset) -> float:
    """Relative error of the predicted number of samples."""
    return float(case["predicted"] / case["measured"]) - 1.0


_CLOSE = near(0, WITHIN, "relative error of the predicted N* against exact inference", percent=True)


@measure_half.claim("e3-half-learning", every(_CLOSE, f"where it is at least {MANY}"), null=1.0, enough=True)
@measure_half.claim("e3-few-samples", every(_CLOSE, f"where it is below {MANY}"), null=1.0, enough=False)
def errors(data: xarray.Dataset, enough: bool) -> list[Finding]:
    """Relative errors of the cases with many samples, or of those with few."""
    cases = [case for case in _cases(data) if (float(case["predicted"]) >= MANY) == enough]
    if not cases:
        raise common.nothing(f"No case has {'at least' if enough else 'fewer than'} {MANY} samples at this scale.")
    listed = "; ".join(
        f"{_name(case)} E[k], N* = {float(case['predicted']):.3g}, {int(case.datasets)} data sets: {_error(case):+.1%}" for case in cases
    )
    words = f"Linear attention + erf, V = 2, s_w = 0.5, s_p = 1: {listed}."
    stderrs = [float(case["predicted"] / case["measured"] * case["measured_stderr"] / case["measured"]) for case in cases]
    return [Finding(_error(case), stderr, words) for case, stderr in zip(cases, stderrs, strict=True)]


@measure_half.figure()
def shares_learnt(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for number, case in enumerate(_cases(data)):
        n, name = case["n_train"].values, _name(case)
        add_line(figure, n, case["theory"].values, name, number)
        add_points(figure, n, case["learned"].values, f"{name}, exact", number, errors=case["learned_stderr"].values, legend=False)
    add_guide(figure, [float(data["n_train"].min()), float(data["n_train"].max())], [0.5, 0.5], "half")
    caption = "Lines are the prediction, points exact inference. The more positions a target singles out, the later its half is learnt."
    return common.plotted(figure, "Half learnt", caption, x="samples N", y="share of the target that is learnt", linear="y")


@measure_half.table()
def half_learning_points(data: xarray.Dataset) -> Table:
    columns = {
        "target": _name,
        "predicted N*": "predicted:.4g",
        "measured N*": lambda case: common.with_error(float(case["measured"]), float(case["measured_stderr"]), 4),
        "error": lambda case: f"{_error(case):+.1%}",
    }
    return table(data, columns, rows=_axes(data), title="Half-learning points")
