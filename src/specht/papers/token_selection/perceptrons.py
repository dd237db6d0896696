"""The theorem on fully connected networks: no width below T d will do, and trained networks sit on the bound."""

from __future__ import annotations

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

_HERE = f"{sources.PACKAGE}.perceptrons"
LENGTH, SUPPORT, DIMENSION = 10, 2, 1
SECOND = 128
"""Width of the second hidden layer, which no bound speaks of."""
_N_TEST = 20_000


def measure_perceptron(width: int, steps: int, batch: int, seed: int) -> xarray.Dataset:
    """Mean squared error of a trained network whose first layer has so many units; it sees the sequence and the indicator of the set."""
    from specht.learning.selection import width_bound
    from specht.nn.data import Fresh
    from specht.nn.perceptron import Perceptron
    from specht.nn.recipe import Recipe
    from specht.nn.training import train
    from specht.sequences.selection import Selection

    task = Selection(LENGTH, SUPPORT, DIMENSION)

    def draw(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
        tokens, chosen = task.draw(rng, n)
        members = np.zeros((n, LENGTH), np.float32)
        np.put_along_axis(members, chosen, 1.0, axis=1)
        return np.concatenate([tokens.reshape(n, -1), members], axis=1), task.target(tokens, chosen)

    recipe = Recipe(steps=steps, learning_rate=5e-3, optimiser="adam", schedule="cosine", batch=batch, records=1)
    widths = [LENGTH * DIMENSION + LENGTH, width, SECOND, DIMENSION]
    found = train(lambda key: Perceptron.init(widths, key=key), Fresh(draw), recipe, seeds=[seed])
    x, y = draw(np.random.default_rng([seed, 7]), _N_TEST)
    errors = ((found.function()(x) - y) ** 2).sum(axis=1)
    bound = float(width_bound(width, LENGTH, SUPPORT, DIMENSION))
    fields = {"error": errors.mean(), "stderr": errors.std(ddof=1) / np.sqrt(_N_TEST), "bound": bound}
    return common.record("perceptron", {name: float(value) for name, value in fields.items()})


def jobs(scale: Scale) -> list[Job]:
    widths = common.at_scale(scale, smoke=[4, 12], quick=[2, 4, 6, 8, 10, 15], full=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15])
    steps, batch, seeds = common.at_scale(scale, smoke=(150, 128, 2), quick=(4000, 512, 3), full=(12000, 512, 4))
    return [
        Job.of(f"{_HERE}:measure_perceptron", width=width, steps=steps, batch=batch, seed=seed) for width in widths for seed in range(seeds)
    ]


def _by_width(results: Results) -> list[tuple[int, float, float, float]]:
    """Width, mean error over seeds, its standard error, and the bound. Test samples and seeds both make the error scatter."""
    rows = []
    for width in sorted(set(common.arguments(results, "width"))):
        found = common.chosen(results, "perceptron", width=width)
        errors, inside = common.column(found, "error"), common.column(found, "stderr")
        scatter = max(errors.std(ddof=1), float(np.sqrt((inside**2).mean()))) / np.sqrt(len(errors))
        rows.append((width, float(errors.mean()), float(scatter), float(found[0].data["bound"])))
    return rows


def _regime(results: Results) -> str:
    given = results[0].arguments
    seeds = len({result.arguments["seed"] for result in results})
    return (
        f"T = {LENGTH}, q = {SUPPORT}, d = {DIMENSION}, two hidden layers of rectified units, the second {SECOND} wide, the first "
        f"{common.listed(common.arguments(results, 'width'))}, {given['steps']} steps of Adam, {seeds} seeds"
    )


def judge_bound(results: Results) -> Verdict:
    """Every single network, with the standard error of its test."""
    below = [
        (float(r.data["error"] - r.data["bound"]) / float(r.data["stderr"]), r.arguments["width"]) for r in results if r.data["bound"] > 0
    ]
    lowest, width = min(below)
    words = (
        f"{_regime(results)}; the lowest error of any network against its bound is shown, in standard errors of the test, at width "
        f"{width}. Of {len(below)} networks that have a bound."
    )
    return holds_if(lowest >= -2.0, lowest, regime=words)


def judge_mean_bound(results: Results) -> Verdict:
    rows = [row for row in _by_width(results) if row[3] > 0]
    excess, width = max((error / bound - 1, width) for width, error, _, bound in rows)
    words = f"{_regime(results)}; the largest excess over the bound is shown, as a share of it, at width {width}."
    return holds_if(excess < 0.1, excess, regime=words)


def judge_wide(results: Results) -> Verdict:
    wide = [(error, scatter) for width, error, scatter, _ in _by_width(results) if width >= LENGTH * DIMENSION]
    worst, error = max(wide)
    trivial = DIMENSION / SUPPORT
    words = f"{_regime(results)}; the largest error from width {LENGTH * DIMENSION} on, as a share of {trivial:g}."
    return holds_if(worst < 0.02 * trivial, worst / trivial, error / trivial, words)


def plots(results: Results) -> list[Plot]:
    from specht.learning.selection import width_bound

    rows = _by_width(results)
    widths = np.linspace(0, max(row[0] for row in rows), 100)
    figure = go.Figure()
    common.add_points(figure, [r[0] for r in rows], [r[1] for r in rows], "trained networks", 0, errors=[r[2] for r in rows])
    common.add_line(figure, widths, width_bound(widths, LENGTH, SUPPORT, DIMENSION), "bound for any network", 1)
    common.finished(figure, x="width of the first layer", y="mean squared error", linear_y=True)
    figure.update_xaxes(type="linear", dtick=None)
    caption = f"T = {LENGTH}, q = {SUPPORT}, d = {DIMENSION}: means over seeds, with errors. The bound ends at T d = {LENGTH * DIMENSION}."
    return [Plot(figure, "Trained networks sit on the bound", caption, wide=True)]


def tables(results: Results) -> list[Table]:
    rows = [[str(width), common.with_error(error, scatter), f"{bound:.3g}"] for width, error, scatter, bound in _by_width(results)]
    return [Table(("width of the first layer", "mean squared error", "bound"), rows, f"{_regime(results)}.", "Widths")]


EXPERIMENT = Experiment(
    name="selection.theorem-fcn",
    title="Fully connected networks",
    shown="Theorem: a fully connected network needs a first layer of the order of T d units, on average over inputs.",
    claims=(
        Claim(
            "selection.fcn-bound",
            "No fully connected network has less error than its first layer allows.",
            f"{sources.PAPER}, theorem on fully connected networks; the constant is ours",
            "test error of every trained network at least the bound less two standard errors",
            judge_bound,
        ),
        Claim(
            "selection.fcn-tight",
            "Trained networks come down to the bound.",
            sources.OURS,
            "mean over seeds at most 10 % above the bound at every width that has one",
            judge_mean_bound,
        ),
        Claim(
            "selection.fcn-wide",
            "From a width of T d on fully connected networks learn the task.",
            sources.OURS,
            "mean over seeds below 2 % of the error of the predictor zero at every width of at least T d",
            judge_wide,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Given the set, a network knows as many linear functions of the Gaussian sequence as its first layer has units. What they "
            "leave of the target is at least the sum of all but so many of the largest eigenvalues:",
            ("E‖f − STS_q‖² ≥ (Td − m)_+ (T − q) / (qT(T − 1))   for m ≥ d",),
        ),
    ),
)
