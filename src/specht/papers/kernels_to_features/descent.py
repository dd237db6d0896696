"""Networks trained by gradient descent beside networks sampled from their posterior, on the same samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
import scipy.stats
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Experiment, Results, Scale, Verdict, holds_if
from specht.papers.kernels_to_features import tasks
from specht.papers.kernels_to_features.cells import SMOKE, Cell, job
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{tasks.PACKAGE}.descent"
CELLS = (
    Cell("linear", "copy", 16, 32, 32, 4),
    Cell("linear", "copy", 16, 48, 16, 1),
    Cell("linear", "copy", 32, 64, 16, 13),
    Cell("linear", "counts", 16, 16, 32, 7),
    Cell("erf", "copy", 16, 32, 32, 4),
    Cell("erf", "and", 8, 32, 32, 1),
)
"""Of the cells that are compared with theory, chosen before any network was trained."""
STARTS, STEPS, RATE = 8, 2000, 0.003
APART = 2.0
"""How many times the loss of infinite width is that of sampled networks where the two can be told apart."""
NEAR = 0.25


def measure(cell: Sequence[Any], starts: int, steps: int, seed: int) -> xarray.Dataset:
    """The test loss of every network, and of their mean, after training without noise or weight decay."""
    from specht.nn import Fixed, Network, Recipe, Size, train

    given = Cell._make((*cell, seed))
    data, size = tasks.flips(given.target, given.length, given.n, given.seed, activation=given.activation), Size(*given.network)
    unit = math.sqrt(data.scale)  # labels are as large as random networks, as where they are sampled
    trained = train(
        lambda key: Network.init(data.arch, size, key=key),
        Fixed(data.x, unit * data.y),
        Recipe(steps=steps, learning_rate=RATE, optimiser="adam"),
        seeds=range(starts),
        chunk=starts,
    )
    outputs = np.stack([trained.function(seed=start)(data.new)[:, 0] for start in range(starts)]) / unit
    losses = np.square(outputs - data.new_y).mean(axis=1)
    of_mean = float(np.square(outputs.mean(axis=0) - data.new_y).mean())
    left = float(trained.losses["train"][..., -1].mean()) / data.scale
    return common.record("descent", {"loss": ("start", losses), "of_mean": of_mean, "train": left})


def jobs(scale: Scale) -> list[Job]:
    """Training, and what it is compared with, which the cells have computed already."""
    cells = common.at_scale(scale, smoke=SMOKE[:1], quick=CELLS, full=CELLS)
    starts, steps = common.at_scale(scale, smoke=(3, 20), quick=(STARTS, STEPS), full=(STARTS, STEPS))
    training = [Job.of(f"{_HERE}:measure", cell=list(cell[:5]), seed=cell.seed, starts=starts, steps=steps) for cell in cells]
    return [*training, *(job(cell, method, scale) for cell in cells for method in ("networks", "infinite"))]


class Compared(NamedTuple):
    """Losses in one cell, over the mean square of the target."""

    cell: Cell
    trained: np.ndarray
    """Of every network."""
    of_mean: float
    """Of the mean of all networks."""
    train: float
    """What is left on the samples."""
    sampled: float
    infinite: float

    @property
    def is_apart(self) -> bool:
        """Whether sampled networks and infinite width can be told apart."""
        return max(self.infinite / self.sampled, self.sampled / self.infinite) >= APART

    def towards_sampled(self) -> tuple[float, float]:
        """Where trained networks lie between infinite width (0) and sampled ones (1) on a logarithmic scale, and its standard error."""
        way = np.log(self.trained / self.infinite) / math.log(self.sampled / self.infinite)
        return float(way.mean()), float(way.std(ddof=1) / math.sqrt(len(way)))


def compared(results: Results) -> list[Compared]:
    """Every cell with all that was measured in it."""
    others = {
        (*result.arguments["cell"], result.arguments["seed"], result.arguments["method"]): float(result.data["loss"])
        for result in common.chosen(results, "cell")
    }
    found = []
    for result in common.chosen(results, "descent"):
        cell, data = Cell._make((*result.arguments["cell"], result.arguments["seed"])), result.data
        numbers = [float(data[name]) for name in ("of_mean", "train")] + [others[*cell, method] for method in ("networks", "infinite")]
        found.append(Compared(cell, data["loss"].values, *numbers))
    return found


def judge_leaves(results: Results) -> Verdict:
    """Where sampled networks are far from infinite width, trained ones are nearer to them than to it."""
    apart = [each for each in compared(results) if each.is_apart]
    if not apart:
        return common.unresolved("sampled networks and infinite width are not told apart in any cell.")
    least = min(apart, key=lambda each: each.towards_sampled()[0])
    value, stderr = least.towards_sampled()
    margin = float(scipy.stats.t.ppf(0.95, len(least.trained) - 1)) * stderr
    words = (
        f"{len(apart)} cells, {len(least.trained)} networks each; 0 is infinite width and 1 sampled networks, on a logarithmic scale. "
        f"The least is shown: {least.cell}."
    )
    if abs(value - 0.5) <= margin:
        return Verdict("not tested", value, stderr, f"Undecided: one half is within the interval. {words}")
    return holds_if(value > 0.5, value, stderr, words)


def judge_near(results: Results) -> Verdict:
    """The mean relative difference of the losses of trained and sampled networks."""
    found = compared(results)
    ratios = np.array([each.trained.mean() / each.sampled - 1.0 for each in found])
    errors = [each.trained.std(ddof=1) / math.sqrt(len(each.trained)) / each.sampled for each in found]
    worst = found[int(np.abs(ratios).argmax())]
    words = f"{len(found)} cells; the worst is {worst.cell}: {ratios[np.abs(ratios).argmax()]:+.0%}."
    return common.holds_if_at_most(NEAR, float(np.abs(ratios).mean()), math.sqrt(sum(np.square(errors))) / len(found), words)


def plots(results: Results) -> list[Plot]:
    found, figure = compared(results), go.Figure()
    sampled = [each.sampled for each in found]
    means = [float(each.trained.mean()) for each in found]
    errors = [float(each.trained.std(ddof=1) / math.sqrt(len(each.trained))) for each in found]
    common.add_points(figure, sampled, [each.infinite for each in found], "infinite width", 0)
    common.add_points(figure, sampled, means, "trained, mean over networks", 1, errors=errors)
    common.add_points(figure, sampled, [each.of_mean for each in found], "mean of the trained functions", 2)
    common.add_guide(figure, [min(sampled), max(sampled)], [min(sampled), max(sampled)], "equal")
    common.finished(figure, x="test loss of sampled networks", y="test loss")
    return [Plot(figure, "Trained and sampled networks", "Each column of points is a cell. Bars are one standard error over networks.")]


def tables(results: Results) -> list[Table]:
    rows = []
    for each in compared(results):
        stderr = float(each.trained.std(ddof=1) / math.sqrt(len(each.trained)))
        numbers = [f"{value:.3g}" for value in (each.infinite, each.sampled)]
        rows.append([
            str(each.cell), *numbers, common.with_error(float(each.trained.mean()), stderr), f"{each.of_mean:.3g}", f"{each.train:.2g}",
        ])  # fmt: skip
    header = ("cell", "infinite width", "sampled", "trained, each", "trained, their mean", "left on the samples")
    return [Table(header, rows, "Test loss, over the mean square of the target.", "Trained and sampled")]


EXPERIMENT = Experiment(
    name="features.descent",
    title="Trained networks beside sampled ones",
    shown="The same networks on the same samples, trained by Adam without noise instead of sampled from their posterior.",
    claims=(
        tasks.claim(
            "descent-leaves",
            "Networks that are trained leave the kernel as sampled ones do.",
            f"on a logarithmic scale, losses of trained networks are nearer to those of sampled ones than to infinite width, in every cell "
            f"where these two differ {APART:g} times; undecided within the 90 % interval over networks",
            judge_leaves,
        ),
        tasks.claim(
            "descent-near",
            "Their test loss is that of sampled networks.",
            f"mean relative difference at most {NEAR:.0%}",
            judge_near,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            f"{STARTS} networks a cell begin at random weights of the prior and are trained by {STEPS} steps of Adam at a rate of {RATE:g} "
            "on the squared loss of all samples, without weight decay and without stopping early."
        ),
    ),
)
