"""The view of the paper on permutations: how many positions the task and trained models single out, the query being fixed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.token_selection import sources
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.symmetry"
_LEVELS = ("level 0", "level 1", "level 2", "above")


def measure_target(length: int, support: int, samples: int, seed: int) -> xarray.Dataset:
    """The profile of the task itself: positions of the sequence move, the set does not."""
    from specht.sequences.selection import Selection

    task = Selection(length, support, sources.DIMENSION)
    return _record("target", _profile(task, task.target, samples, seed), length, support)


def measure_model(codes: str, length: int, code: int, steps: int, samples: int, seed: int) -> xarray.Dataset:
    """The profiles of a model before and after training, with one draw of codes."""
    from specht.nn.selection_training import SelectionTraining, train_selection
    from specht.sequences.selection import Selection

    task = Selection(length, sources.SUPPORT, sources.DIMENSION)
    setting = SelectionTraining(
        task=task, code=code, codes=codes, optimiser="adam", learning_rate=0.02, schedule="cosine", steps=steps, scale=0.1, records=1
    )
    found = train_selection(setting, seed)
    end = _profile(task, found.function(), samples, seed)
    start = _profile(task, found.function(first=True), samples, seed)
    data = _record("model", end, length, task.support)
    loss = float(found.losses["validation"][-1]) / task.trivial_loss
    return data.assign(start=("level", start[0]), loss=((), loss))


def _profile(task: Any, function: Callable[..., Any], samples: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares of the mean square at levels 0, 1 and 2 and above, with their intervals."""
    from specht.symmetry.profile import profile

    found = profile(function, lambda rng, n: task.draw(rng, n), task.length, seed, samples=samples, max_level=2)
    above = [part / found.total for part in found.above]
    shares = np.array([*found.shares, above])
    return shares[:, 0], shares[:, 1], shares[:, 2]


def _record(what: str, shares: tuple[np.ndarray, np.ndarray, np.ndarray], length: int, support: int) -> xarray.Dataset:
    expected = np.array([support / length, 1 - support / length, 0.0, 0.0])
    fields = dict(zip(("share", "low", "high", "expected"), (*shares, expected), strict=True))
    return common.record(what, {name: ("level", values) for name, values in fields.items()}, {"level": list(_LEVELS)})


def jobs(scale: Scale) -> list[Job]:
    cases = common.at_scale(scale, smoke=[(8, 2)], quick=[(10, 3), (20, 2), (50, 3)], full=[(10, 3), (20, 2), (50, 3), (200, 3)])
    length, code, steps, samples, seeds = common.at_scale(
        scale, smoke=(8, 16, 60, 200, 1), quick=(20, 64, 2000, 1000, 3), full=(50, 96, 3000, 2000, 3)
    )
    targets = [
        Job.of(f"{_HERE}:measure_target", length=T, support=q, samples=samples, seed=seed) for T, q in cases for seed in range(seeds)
    ]
    return targets + [
        Job.of(f"{_HERE}:measure_model", codes=codes, length=length, code=code, steps=steps, samples=samples, seed=seed)
        for codes in ("stochastic", "fixed")
        for seed in range(seeds)
    ]


def judge_target(results: Results) -> Verdict:
    found = common.chosen(results, "target")
    apart = np.array([np.abs(result.data["share"].values - result.data["expected"].values).max() for result in found])
    inside = np.array(
        [
            ((r.data["low"].values <= r.data["expected"].values + 1e-9) & (r.data["expected"].values <= r.data["high"].values + 1e-9))
            for r in found
        ]
    )
    cases = ", ".join(dict.fromkeys(f"T = {r.arguments['length']} and q = {r.arguments['support']}" for r in found))
    words = (
        f"{cases}, d = {sources.DIMENSION}, {found[0].arguments['samples']} sequences: intervals of 95 % hold {inside.sum()} of "
        f"{inside.size} exact shares. The largest difference is shown."
    )
    return holds_if(bool(apart.max() < 0.03 and inside.mean() >= 0.85), apart.max(), regime=words)


def judge_models(results: Results) -> Verdict:
    found = common.chosen(results, "model")
    apart = np.array([np.abs(result.data["share"].values - result.data["expected"].values).max() for result in found])
    given, losses = found[0].arguments, common.column(found, "loss")
    words = (
        f"T = {given['length']}, q = {sources.SUPPORT}, d = {sources.DIMENSION}, codes of dimension {given['code']}, stochastic and fixed, "
        f"{given['steps']} steps of Adam, losses up to {losses.max():.1%} of the trivial one. The largest difference is shown."
    )
    return holds_if(apart.max() < 0.05, apart.max(), regime=words)


def judge_moves(results: Results) -> Verdict:
    """Before training a model attends to all alike, and most of it ignores order."""
    found = common.chosen(results, "model")
    starts, ends = common.stacked(found, "start")[:, 1], common.stacked(found, "share")[:, 1]
    words = (
        f"T = {found[0].arguments['length']}, matrices of standard deviation 0.1 at the start: level 1 holds "
        f"{common.span(np.round(starts, 3))} of the mean square before and {common.span(np.round(ends, 3))} after "
        "training. The smallest rise is shown."
    )
    rise = (ends - starts).min()
    return holds_if(rise > 0.1, rise, regime=words)


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    found = common.chosen(results, "model")
    series = {"before training": common.stacked(found, "start")}
    series |= {
        f"trained, {codes} codes": common.stacked(common.chosen(found, "model", codes=codes), "share") for codes in ("stochastic", "fixed")
    }
    for number, (name, values) in enumerate(series.items()):
        spread = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.zeros(values.shape[1])
        figure.add_bar(
            x=list(_LEVELS), y=values.mean(axis=0), name=name, marker={"color": common.colour(number)}, error_y={"array": spread}
        )
    figure.add_bar(x=list(_LEVELS), y=found[0].data["expected"].values, name="the task, exactly", marker={"color": common.colour(3)})
    common.finished(figure, x="level: positions that are singled out", y="share of the mean square", linear_y=True)
    figure.update_xaxes(type="category", dtick=None)
    caption = (
        f"T = {found[0].arguments['length']}, q = {sources.SUPPORT}: the sequence is permuted while the query stays. Means over seeds."
    )
    return [Plot(figure, "What training singles out", caption, wide=True)]


def tables(results: Results) -> list[Table]:
    rows = []
    for result in common.chosen(results, "target"):
        if result.arguments["seed"] % 100_000 == 0:
            rows.append([f"the task, T = {result.arguments['length']}, q = {result.arguments['support']}", *_cells(result.data)])
    for result in common.chosen(results, "model"):
        rows.append([f"trained, {result.arguments['codes']} codes, seed {result.arguments['seed']}", *_cells(result.data)])
    note = "Shares of the mean square with intervals of 95 %; exactly, the task has q/T at level 0 and all else at level 1, nothing above."
    return [Table(("", *_LEVELS[:3]), rows, note, "Symmetry profiles")]


def _cells(data: Any) -> list[str]:
    values = zip(*(data[name].values[:3] for name in ("share", "low", "high")), strict=True)
    return [f"{share:.3f} ({low:.3f} to {high:.3f})" for share, low, high in values]


EXPERIMENT = Experiment(
    name="selection.symmetry",
    title="Permutations of the sequence",
    shown="Not in the paper: the symmetry profile of the task and of trained models, permuting tokens while the query stays.",
    claims=(
        Claim(
            "selection.symmetry-task",
            "For a fixed query selection lies at level 1, but for a share of q/T that ignores order.",
            sources.OURS,
            "shares of levels within 0.03 of q/T and 1 − q/T, and 85 % or more of all intervals hold the exact shares",
            judge_target,
        ),
        Claim(
            "selection.symmetry-models",
            "Trained models have the profile of the task.",
            sources.OURS,
            "shares of levels within 0.05 of those of the task, for every model",
            judge_models,
        ),
        Claim(
            "selection.symmetry-training",
            "Training moves a model from level 0 to level 1.",
            sources.OURS,
            "share of level 1 rises by more than 0.1, for every model",
            judge_moves,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "The part of the mean of the chosen tokens that no permutation changes is the mean of all, divided alike:",
            ("W_0 = d/T,   W_1 = d/q − d/T,   W_0 / (W_0 + W_1) = q/T",),
        ),
        Step("A function of attention weights p alone that multiplies contents has the share 1/(T Σ_i p_i²) at level 0."),
    ),
)
