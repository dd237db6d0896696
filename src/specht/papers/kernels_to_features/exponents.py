"""Samples that whole networks need against the length of the context, beside theory without data and infinite width."""

from __future__ import annotations

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


def measure(length: int, width: int, chains: int, burn_in: int, samples: int, seed: int) -> xarray.Dataset:
    """Samples from which networks copy the first flip with a test loss of 0.2, on one data set that grows; theory beside it."""
    import specht

    def loss(n: int) -> float:
        data = tasks.flips("copy", length, n, seed)
        return tasks.sampled_networks(data, specht.nn.Size(width, width // 2, 4), chains, burn_in, samples)[0]

    needed, tried = crossing(loss)
    arch = specht.Architecture(vocab=2, length=length)
    curve = specht.learning_curve(arch, task("copy", length), np.geomspace(4.0, 100.0 * length, 80), width=width, ridge=tasks.RIDGE)
    infinite = math.exp(np.interp(-math.log(LOSS), -np.log(curve.infinite_test), np.log(curve.n_train)))
    theory = curve.samples_for(LOSS)
    fields = {
        "networks": needed,
        "theory": theory,
        "infinite": infinite,
        "n": ("tried", list(tried)),
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


def exponents(results: Results, width: int) -> dict[str, tuple[float, float]]:
    """The exponent of each curve at a width, and for networks its standard error from independent data sets."""
    found = common.chosen(results, "exponent", width=width)
    by_seed: dict[int, list] = {}
    for result in found:
        by_seed.setdefault(result.arguments["seed"], []).append(result)

    def slope(group: list, name: str) -> float:
        return float(np.polyfit(np.log(common.arguments(group, "length")), np.log(common.column(group, name)), 1)[0])

    slopes = [slope(group, "networks") for group in by_seed.values()]
    stderr = float(np.std(slopes, ddof=1) / math.sqrt(len(slopes))) if len(slopes) > 1 else math.inf
    return {"networks": (float(np.mean(slopes)), stderr)} | {name: (slope(found, name), 0.0) for name in ("theory", "infinite")}


class Gap(NamedTuple):
    """How far an exponent is above that of networks."""

    value: float
    stderr: float
    """From the scatter of data sets."""


def gaps(results: Results, curve: str) -> tuple[list[Gap], str]:
    """The gap of a curve at every width, and what was measured in words."""
    found, lines = [], []
    for width in sorted(set(common.arguments(common.chosen(results, "exponent"), "width"))):
        at_width = exponents(results, width)
        networks, stderr = at_width["networks"]
        found.append(Gap(at_width[curve][0] - networks, stderr))
        lines.append(f"width {width}: networks {networks:.2f} ± {stderr:.2f}, {curve} {at_width[curve][0]:.2f}")
    lengths, seeds = common.span(common.arguments(results, "length")), len({result.arguments["seed"] for result in results})
    return found, f"L = {lengths}, {seeds} data sets; {'; '.join(lines)}. The largest difference is shown."


def judge_near(results: Results) -> Verdict:
    """The exponent of the theory is near that of networks at every width."""
    found, words = gaps(results, "theory")
    worst = max(found, key=lambda gap: abs(gap.value))
    return common.holds_if_at_most(NEAR, abs(worst.value), worst.stderr, words)


def judge_infinite(results: Results) -> Verdict:
    """The exponent of infinite width is not near that of networks, beyond the scatter of data sets."""
    found, words = gaps(results, "infinite")
    best = min(found, key=lambda gap: abs(gap.value))
    seeds = len({result.arguments["seed"] for result in results})
    margin = float(scipy.stats.t.ppf(0.95, seeds - 1)) * best.stderr
    return holds_if(abs(best.value) > NEAR + margin, best.value, best.stderr, words.replace("largest", "smallest"))


def plots(results: Results) -> list[Plot]:
    figure, number = go.Figure(), 0
    for width in sorted(set(common.arguments(common.chosen(results, "exponent"), "width"))):
        found = common.chosen(results, "exponent", width=width)
        lengths = common.arguments(found, "length")
        common.add_points(figure, lengths, common.column(found, "networks"), f"networks of width {width}", number)
        first = [result for result in found if result.arguments["seed"] == found[0].arguments["seed"]]
        common.add_line(figure, common.arguments(first, "length"), common.column(first, "theory"), f"theory, width {width}", number)
        number += 1
    first = [
        result for result in common.chosen(results, "exponent", width=width) if result.arguments["seed"] == results[0].arguments["seed"]
    ]
    common.add_line(figure, common.arguments(first, "length"), common.column(first, "infinite"), "infinite width", number)
    common.finished(figure, x="length L of the context", y="samples N* for a test loss of 0.2")
    return [
        Plot(
            figure,
            "Samples that networks need",
            "Points: networks sampled from their posterior, a data set each. Lines: theory.",
            wide=True,
        )
    ]


def tables(results: Results) -> list[Table]:
    rows = []
    for width in sorted(set(common.arguments(common.chosen(results, "exponent"), "width"))):
        for length in sorted(set(common.arguments(results, "length"))):
            found = common.chosen(results, "exponent", width=width, length=length)
            networks = ", ".join(f"{value:.0f}" for value in common.column(found, "networks"))
            rows.append(
                [str(width), str(length), networks, f"{float(found[0].data['theory']):.0f}", f"{float(found[0].data['infinite']):.0f}"]
            )
    header = ("width", "L", "networks, by data set", "theory", "infinite width")
    return [Table(header, rows, "Samples for a test loss of 0.2, copying the first flip.", "Samples needed")]


EXPERIMENT = Experiment(
    name="features.exponents",
    title="Samples against length",
    shown="Whole networks that copy the first of L flips: how the number of samples that they need grows with L.",
    claims=(
        tasks.claim(
            "exponents",
            "The theory of finite width gives the growth of the number of samples that networks need.",
            f"exponent within {NEAR:g} of that of networks at every width",
            judge_near,
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
            "loss of 0.2."
        ),
    ),
)
