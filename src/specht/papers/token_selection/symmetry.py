"""The view of the paper on permutations: how many positions the task and trained models single out, the query being fixed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht.papers import Finding, Grid, above, at_least, below, both, common, every, grid, measure, points
from specht.papers.token_selection import training
from specht.report import Plot, Table, colour, finished, points_of
from specht.studies import selection

CODES = ("stochastic", "fixed")
_LEVELS = ("level 0", "level 1", "level 2", "above")


def _cases(*cases: tuple[int, int]) -> Grid:
    return points({"length": T, "support": q} for T, q in cases)


@measure(
    smoke=_cases((8, 2)) * grid(samples=200, seed=0),
    quick=_cases((10, 3), (20, 2), (50, 3)) * grid(samples=1000, seed=range(3)),
    full=_cases((10, 3), (20, 2), (50, 3), (200, 3)) * grid(samples=2000, seed=range(3)),
)
def measure_target(length: int, support: int, samples: int, seed: int) -> xarray.Dataset:
    """The profile of the task itself: positions of the sequence move, the set does not."""
    task = selection.Selection(length, support, training.DIMENSION)
    return _record(_profile(task, task.target, samples, seed), length, support)


@measure(
    smoke=grid(codes=CODES, length=8, code=16, steps=60, samples=200, seed=0),
    quick=grid(codes=CODES, length=20, code=64, steps=2000, samples=1000, seed=range(3)),
    full=grid(codes=CODES, length=50, code=96, steps=3000, samples=2000, seed=range(3)),
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


def _apart(data: xarray.Dataset) -> float:
    """The largest difference of any share from that of the task."""
    return float(np.abs(data["share"] - data["expected"]).max())


@measure_target.claim(
    "symmetry-task",
    both(
        below(0.03, "difference of the shares of levels from q/T and 1 − q/T"),
        at_least(0.85, "share of all intervals that hold the exact shares", percent=True),
    ),
    null=(0.5, 0.0),
)
def difference_of_the_task(data: xarray.Dataset) -> tuple[Finding, float]:
    inside = (data["low"] <= data["expected"] + 1e-9) & (data["expected"] <= data["high"] + 1e-9)
    cases = ", ".join(f"T = {case.length.item()} and q = {case.support.item()}" for case in points_of(data, "length"))
    words = (
        f"{cases}, d = {training.DIMENSION}, {data.samples} sequences: intervals of 95 % hold {int(inside.sum())} of "
        f"{inside.size} exact shares. The largest difference is shown."
    )
    return Finding(_apart(data), regime=words), float(inside.mean())


@measure_model.claim(
    "symmetry-models", below(0.05, "difference of the shares of levels from those of the task", where="for every model"), null=0.5
)
def difference_of_models(data: xarray.Dataset) -> Finding:
    words = (
        f"T = {data.length}, q = {training.SUPPORT}, d = {training.DIMENSION}, codes of dimension {data.code}, stochastic and fixed, "
        f"{data.steps} steps of Adam, losses up to {float(data['loss'].max()):.1%} of the trivial one. The largest difference is shown."
    )
    return Finding(_apart(data), regime=words)


@measure_model.claim("symmetry-training", every(above(0.1, "rise of the share of level 1"), "for every model"), null=0.0)
def rises(data: xarray.Dataset) -> list[Finding]:
    """Before training a model attends to all alike, and most of it ignores order."""
    starts, ends = (data[name].sel(level="level 1").values.ravel() for name in ("start", "share"))
    words = (
        f"T = {data.length}, matrices of standard deviation 0.1 at the start: level 1 holds "
        f"{common.span(np.round(starts, 3))} of the mean square before and {common.span(np.round(ends, 3))} after "
        "training. The smallest rise is shown."
    )
    return [Finding(float(rise), regime=words) for rise in ends - starts]


@measure_model.figure()
def levels(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    series = {"before training": data["start"].values.reshape(-1, len(_LEVELS))}
    series |= {f"trained, {codes} codes": data["share"].sel(codes=codes).values for codes in CODES}
    for number, (name, values) in enumerate(series.items()):
        spread = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.zeros(values.shape[1])
        figure.add_bar(x=list(_LEVELS), y=values.mean(axis=0), name=name, marker={"color": colour(number)}, error_y={"array": spread})
    exact = data["expected"].isel(codes=0, seed=0).values
    figure.add_bar(x=list(_LEVELS), y=exact, name="the task, exactly", marker={"color": colour(3)})
    finished(figure, x="level: positions that are singled out", y="share of the mean square", linear_y=True)
    figure.update_xaxes(type="category", dtick=None)
    caption = f"T = {data.length}, q = {training.SUPPORT}: the sequence is permuted while the query stays. Means over seeds."
    return Plot(figure, "What training singles out", caption, wide=True)


@measure_model.table(measure_target)
def profiles(data: xarray.Dataset, task: xarray.Dataset) -> Table:
    rows = []
    for case in points_of(task.isel(seed=0), "length"):
        rows.append([f"the task, T = {case.length.item()}, q = {case.support.item()}", *_cells(case)])
    for model in points_of(data, "codes", "seed"):
        rows.append([f"trained, {model.codes.item()} codes, seed {model.seed.item()}", *_cells(model)])
    note = "Shares of the mean square with intervals of 95 %; exactly, the task has q/T at level 0 and all else at level 1, nothing above."
    return Table(("", *_LEVELS[:3]), rows, note, "Symmetry profiles")


def _cells(data: Any) -> list[str]:
    values = zip(*(data[name].values[:3] for name in ("share", "low", "high")), strict=True)
    return [f"{share:.3f} ({low:.3f} to {high:.3f})" for share, low, high in values]
