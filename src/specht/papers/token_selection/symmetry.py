"""The view of the paper on permutations: how many positions the task and trained models single out, the query being fixed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht.papers import Finding, Grid, above, at_least, both, common, every, grid, measure, near, points
from specht.papers.token_selection import training
from specht.report import Plot, Table, colour, finished, points_of
from specht.studies import selection

CODES = ("stochastic", "fixed")
_LEVELS = ("level 0", "level 1", "level 2", "above")


def _cases(*cases: tuple[int, int]) -> Grid:
    return points({"length": T, "support": q} for T, q in cases)


@measure(
    smoke=_cases((8, 2)) * grid(samples=200, seed=0),
    quick=_cases((10, 3), (20, 2), (50, 3)) * grid(samples=1000, seed=0),
    full=_cases((10, 3), (20, 2), (50, 3), (200, 3)) * grid(samples=2000, seed=0),
)
def measure_target(length: int, support: int, samples: int, seed: int) -> xarray.Dataset:
    """The profile of the task itself: positions of the sequence move, the set does not."""
    task = selection.Selection(length, support, training.DIMENSION)
    return _record(_profile(task, task.target, samples, seed), length, support)


@measure(
    smoke=grid(codes=CODES, length=8, code=16, steps=60, samples=200, seed=0),
    quick=grid(codes=CODES, length=20, code=64, steps=2000, samples=1000, seed=0),
    full=grid(codes=CODES, length=50, code=96, steps=3000, samples=2000, seed=0),
)
def measure_model(codes: str, length: int, code: int, steps: int, samples: int, seed: int) -> xarray.Dataset:
    """The profiles of a model before and after training, with one draw of codes."""
    task = selection.Selection(length, training.SUPPORT, training.DIMENSION)
    setting = selection.SelectionTraining(
        task=task, code=code, codes=codes, optimiser="adam", learning_rate=0.02, schedule="cosine", steps=steps, scale=0.1, records=1
    )
    run = selection.train_selection(setting, seed)
    end = _profile(task, run.function(), samples, seed)
    start = _profile(task, run.function(first=True), samples, seed)
    data = _record(end, length, task.support)
    loss = float(run.losses["validation"][-1]) / task.trivial_loss
    return data.assign(start=("level", start[0]), loss=((), loss))


def _profile(task: Any, function: Callable[..., Any], samples: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of the mean square at levels 0, 1 and 2 and above, with their intervals."""
    measured = specht.profile(function, lambda rng, n: task.draw(rng, n), task.length, seed, samples=samples, max_level=2)
    above = [part / measured.total for part in measured.above]
    shares = np.array([*measured.shares, above])
    return shares[:, 0], shares[:, 1], shares[:, 2]


def _record(shares: tuple[np.ndarray, np.ndarray, np.ndarray], length: int, support: int) -> xarray.Dataset:
    expected = np.array([support / length, 1 - support / length, 0.0, 0.0])
    fields = dict(zip(("share", "low", "high", "expected"), (*shares, expected), strict=True))
    return xarray.Dataset({name: ("level", values) for name, values in fields.items()}, {"level": list(_LEVELS)})


def _apart(case: Any, words: str) -> dict[str, Finding]:
    """By how much the share of every level differs from that of the task."""
    differences = (case["share"] - case["expected"]).values
    return {level: Finding(float(apart), regime=words) for level, apart in zip(_LEVELS, differences, strict=True)}


@measure_target.claim(
    "symmetry-task",
    both(
        every(near(0, 0.03, "share of a level less that of the task, which is q/T, 1 − q/T or none,"), "at every level and length"),
        at_least(0.85, "share of all intervals that hold the exact shares", percent=True),
    ),
    null=([0.5], 0.0),
)
def differences_of_the_task(data: xarray.Dataset) -> tuple[dict[Any, Finding], float]:
    inside = (data["low"] <= data["expected"] + 1e-9) & (data["expected"] <= data["high"] + 1e-9)
    cases = ", ".join(f"T = {case.length.item()} and q = {case.support.item()}" for case in points_of(data, "length"))
    words = (
        f"{cases}, d = {training.DIMENSION}, {data.samples} sequences: with the first seed intervals of 95 % hold {int(inside.sum())} of "
        f"{inside.size} exact shares. The largest difference is shown."
    )
    apart = {(case.length.item(), level): value for case in points_of(data, "length") for level, value in _apart(case, words).items()}
    return apart, float(inside.mean())


@measure_model.claim(
    "symmetry-models",
    every(near(0, 0.05, "share of a level less that of the task"), "at every level, with stochastic and with fixed codes"),
    null=0.5,
)
def differences_of_models(data: xarray.Dataset) -> dict[Any, Finding]:
    words = (
        f"T = {data.length}, q = {training.SUPPORT}, d = {training.DIMENSION}, codes of dimension {data.code}, {data.steps} steps of Adam, "
        f"losses up to {float(data['loss'].max()):.1%} of the trivial one with the first seed. The largest difference is shown."
    )
    return {(model.codes.item(), level): apart for model in points_of(data, "codes") for level, apart in _apart(model, words).items()}


@measure_model.claim("symmetry-training", every(above(0.1, "rise of the share of level 1"), "for every model"), null=0.0)
def rises(data: xarray.Dataset) -> dict[str, Finding]:
    """Before training a model attends to all alike, and most of it ignores order."""
    starts, ends = (data[name].sel(level="level 1") for name in ("start", "share"))
    words = (
        f"T = {data.length}, matrices of standard deviation 0.1 at the start: with the first seed level 1 holds "
        f"{common.span(np.round(starts.values, 3))} of the mean square before and {common.span(np.round(ends.values, 3))} after "
        "training. The smallest rise is shown."
    )
    return {str(rise.codes.item()): Finding(float(rise), regime=words) for rise in ends - starts}


@measure_model.figure()
def levels(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    series = {"before training": data["start"].isel(codes=0).values}
    series |= {f"trained, {codes} codes": data["share"].sel(codes=codes).values for codes in CODES}
    for number, (name, values) in enumerate(series.items()):
        figure.add_bar(x=list(_LEVELS), y=values, name=name, marker={"color": colour(number)})
    exact = data["expected"].isel(codes=0).values
    figure.add_bar(x=list(_LEVELS), y=exact, name="the task, exactly", marker={"color": colour(3)})
    finished(figure, x="level: positions that are singled out", y="share of the mean square", linear_y=True)
    figure.update_xaxes(type="category", dtick=None)
    caption = f"T = {data.length}, q = {training.SUPPORT}: the sequence is permuted while the query stays. One seed."
    return Plot(figure, "What training singles out", caption, wide=True)


@measure_model.table(measure_target)
def profiles(data: xarray.Dataset, task: xarray.Dataset) -> Table:
    rows = []
    for case in points_of(task, "length"):
        rows.append([f"the task, T = {case.length.item()}, q = {case.support.item()}", *_cells(case)])
    for model in points_of(data, "codes"):
        rows.append([f"trained, {model.codes.item()} codes", *_cells(model)])
    note = "Shares of the mean square with intervals of 95 %; exactly, the task has q/T at level 0 and all else at level 1, nothing above."
    return Table(("", *_LEVELS[:3]), rows, note, "Symmetry profiles")


def _cells(data: Any) -> list[str]:
    values = zip(*(data[name].values[:3] for name in ("share", "low", "high")), strict=True)
    return [f"{share:.3f} ({low:.3f} to {high:.3f})" for share, low, high in values]
