"""Samples that whole networks need against the length of the context, beside theory without data and infinite width."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
import scipy.stats
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Experiment, Results, Scale, Verdict, holds_if
from specht.papers.kernels_to_features import tasks
from specht.papers.kernels_to_features.phases import LOSS, task
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{tasks.PACKAGE}.exponents"
GRID = (6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Numbers of samples that networks are sampled with."""
WIDTHS = (16, 64)
NEAR = 0.15
"""Difference of exponents that is allowed."""
NAMES = {"fast": "short chains", "theory": "theory without data", "infinite": "infinite width"}


def measure(length: int, width: int, chains: int, burn_in: int, samples: int, seed: int) -> xarray.Dataset:
    """Samples from which networks copy the first flip with a test loss of 0.2, on one data set that grows; theory beside it."""
    import specht

    def loss(n: int) -> float:
        data = tasks.flips("copy", length, n, seed)
        return tasks.sampled_networks(data, specht.nn.Size(width, width // 2, 4), chains, burn_in, samples)[0]

    def fast(n: int) -> float:
        data = tasks.flips("copy", length, n, seed)
        posterior = specht.adapt(data.arch, data.x, data.y, width=width, ridge=tasks.RIDGE, scale=data.scale, method="fast")
        return posterior.mean_square_error(data.new, data.new_y)[0]

    needed, tried = crossing(loss)
    arch = specht.Architecture(vocab=2, length=length)
    curve = specht.learning_curve(arch, task("copy", length), np.geomspace(4.0, 100.0 * length, 80), width=width, ridge=tasks.RIDGE)
    infinite = math.exp(np.interp(-math.log(LOSS), -np.log(curve.infinite_test), np.log(curve.n_train)))
    theory = curve.samples_for(LOSS)
    fields = {
        "networks": needed,
        "fast": crossing(fast)[0],
        "theory": theory,
        "infinite": infinite,
        "n": ("tried", [float(n) for n in tried]),
        "loss": ("tried", list(tried.values())),
    }
    return common.record("exponent", fields)


def crossing(loss) -> tuple[float, dict[int, float]]:
    """Where a falling loss crosses 0.2, by halving the grid and a straight line on logarithmic axes; all losses that it took."""
    tried: dict[int, float] = {}

    def at(place: int) -> float:
        return tried.setdefault(GRID[place], max(loss(GRID[place]), 1e-6))

    low, high = 0, len(GRID) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(middle) > LOSS else (low, middle)
    left, right = math.log(at(low) / LOSS), math.log(at(high) / LOSS)
    share = left / (left - right) if left > 0.0 > right else (0.0 if left <= 0.0 else 1.0)
    return GRID[low] * (GRID[high] / GRID[low]) ** share, tried


def jobs(scale: Scale) -> list[Job]:
    lengths, widths, seeds, length = common.at_scale(
        scale,
        smoke=((4, 8), (4,), 2, {"chains": 3, "burn_in": 4, "samples": 4}),
        quick=((8, 16, 32), (16,), 3, {"chains": 4, "burn_in": 40, "samples": 40}),
        full=((8, 16, 32, 64), WIDTHS, 3, {"chains": 4, "burn_in": 40, "samples": 40}),
    )
    return [
        Job.of(f"{_HERE}:measure", length=each, width=width, seed=seed, **length)
        for width in widths
        for each in lengths
        for seed in range(seeds)
    ]


class Exponent(NamedTuple):
    """The exponent of a curve at one width, and how far it is above that of networks on the same data."""

    value: float
    stderr: float
    """From the scatter of data sets."""
    gap: float
    gap_stderr: float


def exponents(results: Results, width: int) -> dict[str, Exponent]:
    """The exponent of every curve at a width, with errors over independent data sets."""
    by_seed: dict[int, list] = {}
    for result in common.chosen(results, "exponent", width=width):
        by_seed.setdefault(result.arguments["seed"], []).append(result)

    def slopes(name: str) -> np.ndarray:
        lines = [
            np.polyfit(np.log(common.arguments(group, "length")), np.log(common.column(group, name)), 1)[0] for group in by_seed.values()
        ]
        return np.array(lines)

    networks = slopes("networks")
    return {
        name: Exponent(*_mean_and_error(slopes(name)), *_mean_and_error(slopes(name) - networks))
        for name in ("networks", "fast", "theory", "infinite")
    }


def _mean_and_error(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf


def gaps(results: Results, curve: str) -> tuple[list[Exponent], str]:
    """A curve's exponent at every width, and what was measured in words."""
    curves, lines = [], []
    for width in sorted(set(common.arguments(common.chosen(results, "exponent"), "width"))):
        at_width = exponents(results, width)
        networks, own = at_width["networks"], at_width[curve]
        curves.append(own)
        lines.append(f"width {width}: networks {networks.value:.2f} ± {networks.stderr:.2f}, {NAMES[curve]} {own.value:.2f}")
    lengths, seeds = common.span(common.arguments(results, "length")), len({result.arguments["seed"] for result in results})
    return curves, f"L = {lengths}, {seeds} data sets; {'; '.join(lines)}. The largest difference is shown."


def judge_near(results: Results, curve: str = "theory") -> Verdict:
    """The exponent of the theory is near that of networks at every width."""
    curves, words = gaps(results, curve)
    worst = max(curves, key=lambda exponent: abs(exponent.gap))
    return common.holds_if_at_most(NEAR, abs(worst.gap), worst.gap_stderr, words)


def judge_infinite(results: Results) -> Verdict:
    """The exponent of infinite width is not near that of networks, beyond the scatter of data sets."""
    curves, words = gaps(results, "infinite")
    best = min(curves, key=lambda exponent: abs(exponent.gap))
    seeds = len({result.arguments["seed"] for result in results})
    margin = float(scipy.stats.t.ppf(0.95, seeds - 1)) * best.gap_stderr
    return holds_if(abs(best.gap) > NEAR + margin, best.gap, best.gap_stderr, words.replace("largest", "smallest"))


def plots(results: Results) -> list[Plot]:
    figure, number = go.Figure(), 0
    for number, width in enumerate(sorted(set(common.arguments(results, "width")))):
        at_width = common.chosen(results, "exponent", width=width)
        lengths = common.arguments(at_width, "length")
        common.add_points(figure, lengths, common.column(at_width, "networks"), f"networks of width {width}", number)
        unique = sorted(set(lengths))
        short = [_geometric_mean(common.chosen(at_width, "exponent", length=length), "fast") for length in unique]
        common.add_line(figure, unique, short, f"short chains on the same data, width {width}", number)
        theory = [_geometric_mean(common.chosen(at_width, "exponent", length=length), "theory") for length in unique]
        common.add_line(figure, unique, theory, f"theory without data, width {width}", number, dash="dash")
    infinite = [_geometric_mean(common.chosen(results, "exponent", length=length), "infinite") for length in unique]
    common.add_line(figure, unique, infinite, "infinite width", number + 1)
    common.finished(figure, x="length L of the context", y="samples N* for a test loss of 0.2", ticks=unique)
    caption = (
        "Points: networks sampled from their posterior, one for each data set. Lines: the theory; short chains as the mean over data sets."
    )
    return [Plot(figure, "Samples that networks need", caption, wide=True)]


def _geometric_mean(results: Results, name: str) -> float:
    return float(np.exp(np.mean(np.log(common.column(results, name)))))


def tables(results: Results) -> list[Table]:
    rows = []
    for width in sorted(set(common.arguments(results, "width"))):
        for length in sorted(set(common.arguments(results, "length"))):
            cell = common.chosen(results, "exponent", width=width, length=length)
            by_data_set = [", ".join(f"{value:.0f}" for value in common.column(cell, name)) for name in ("networks", "fast")]
            rows.append([str(width), str(length), *by_data_set, *(f"{float(cell[0].data[name]):.0f}" for name in ("theory", "infinite"))])
    header = ("width", "L", "networks, by data set", "short chains, by data set", "theory without data", "infinite width")
    return [Table(header, rows, "Samples for a test loss of 0.2, copying the first flip.", "Samples needed")]


EXPERIMENT = Experiment(
    name="features.exponents",
    title="Samples against length",
    shown="Whole networks that copy the first of L flips: how the number of samples that they need grows with L.",
    claims=(
        tasks.claim(
            "exponents",
            "The theory without data gives the growth of the number of samples that networks need.",
            f"exponent within {NEAR:g} of that of networks at every width",
            judge_near,
        ),
        tasks.claim(
            "exponents-fast",
            "The theory on the same data, by short chains, gives the growth of the number of samples that networks need.",
            f"exponent within {NEAR:g} of that of networks at every width",
            functools.partial(judge_near, curve="fast"),
        ),
        tasks.claim(
            "exponents-infinite",
            "Infinite width does not.",
            f"its exponent is further than {NEAR:g} from that of networks, beyond the 90 % interval over data sets",
            judge_infinite,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Networks are sampled from their posterior at numbers of samples that halve a fixed grid, until two neighbours on it enclose a "
            'loss of 0.2. Short chains (`adapt` with method "fast") follow the same search on the same data sets.'
        ),
        Step("The claim on short chains was added after the theory without data had missed its criterion; the criterion is the same."),
    ),
)
