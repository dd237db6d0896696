"""How many heads are as good as infinitely many: the collapsed posterior with infinitely many against networks with more and more."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Experiment, Results, Scale, Verdict
from specht.papers.kernels_to_features import tasks
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{tasks.PACKAGE}.heads"
LENGTH, N, WIDTH, HEAD_SIZE = 16, 48, 16, 4
NEAR = 0.12
"""Relative difference of the test loss that is allowed: that of `features.cells-layers`."""


def measure_networks(heads: int, chains: int, burn_in: int, samples: int, seed: int) -> xarray.Dataset:
    """Test loss of whole networks with so many heads, copying the first flip."""
    import specht

    data = tasks.flips("copy", LENGTH, N, seed)
    loss, stderr = tasks.sampled_networks(data, specht.nn.Size(WIDTH, heads, HEAD_SIZE), chains, burn_in, samples)
    return common.record("networks", {"loss": loss, "stderr": stderr})


def measure_theory(chains: int, burn_in: int, samples: int, seed: int) -> xarray.Dataset:
    """Test loss of the collapsed posterior with infinitely many heads, on the same samples."""
    import specht
    from specht.learning.adaptive import Chains

    data = tasks.flips("copy", LENGTH, N, seed)
    length = Chains(chains=chains, burn_in=burn_in, samples=samples, kept=min(100, samples), level="layers")
    posterior = specht.adapt(data.arch, data.x, data.y, width=WIDTH, ridge=tasks.RIDGE, scale=data.scale, chains=length)
    loss, stderr = posterior.mean_square_error(data.new, data.new_y)
    return common.record("theory", {"loss": loss, "stderr": stderr})


def jobs(scale: Scale) -> list[Job]:
    heads, seeds, length = common.at_scale(
        scale,
        smoke=((2, 4), 2, {"chains": 3, "burn_in": 4, "samples": 4}),
        quick=((8, 64), 2, {"chains": 8, "burn_in": 100, "samples": 120}),
        full=((4, 8, 16, 64, 256), 4, {"chains": 8, "burn_in": 100, "samples": 120}),
    )
    theory = [Job.of(f"{_HERE}:measure_theory", seed=seed, **length) for seed in range(seeds)]
    return theory + [Job.of(f"{_HERE}:measure_networks", heads=number, seed=seed, **length) for number in heads for seed in range(seeds)]


class Difference(NamedTuple):
    """How far the theory of infinitely many heads is from networks with a number of heads, relative to their loss."""

    heads: int
    value: float
    stderr: float


def differences(results: Results) -> list[Difference]:
    """The mean relative difference over data sets, by the number of heads, with its error from sampling."""
    theory = {result.arguments["seed"]: result.data for result in common.chosen(results, "theory")}
    networks = common.chosen(results, "networks")
    rows = []
    for heads in sorted(set(common.arguments(networks, "heads"))):
        values, variances = [], []
        for result in common.chosen(networks, "networks", heads=heads):
            loss, other = float(theory[result.arguments["seed"]]["loss"]), float(result.data["loss"])
            relative = math.hypot(float(theory[result.arguments["seed"]]["stderr"]) / loss, float(result.data["stderr"]) / other)
            values.append(abs(loss / other - 1.0))
            variances.append((loss / other * relative) ** 2)
        rows.append(Difference(heads, float(np.mean(values)), math.sqrt(sum(variances)) / len(values)))
    return rows


def judge(results: Results) -> Verdict:
    """At the largest number of heads the relative difference is at most the bound."""
    rows = differences(results)
    words = ", ".join(f"{row.heads} heads: {row.value:.0%} ± {row.stderr:.0%}" for row in rows)
    regime = f"Copying the first of {LENGTH} flips from {N} samples at width {WIDTH}, heads of size {HEAD_SIZE}; {words}."
    return common.holds_if_at_most(NEAR, rows[-1].value, rows[-1].stderr, regime)


def plots(results: Results) -> list[Plot]:
    rows, figure = differences(results), go.Figure()
    heads = [row.heads for row in rows]
    common.add_points(figure, heads, [row.value for row in rows], "difference", 0, errors=[row.stderr for row in rows], joined=True)
    common.add_guide(figure, heads, [NEAR] * len(heads), f"{NEAR:.0%}")
    common.finished(figure, x="heads of the networks", y="relative difference of the test loss", ticks=heads, linear_y=True)
    return [
        Plot(
            figure, "Infinitely many heads", "Theory with infinitely many heads against networks; bars are one standard error of sampling."
        )
    ]


def tables(results: Results) -> list[Table]:
    def losses(what: str, **arguments: int) -> str:
        chosen = common.chosen(results, what, **arguments)
        return ", ".join(common.with_error(float(result.data["loss"]), float(result.data["stderr"])) for result in chosen)

    rows = [[str(row.heads), losses("networks", heads=row.heads), f"{row.value:.0%} ± {row.stderr:.0%}"] for row in differences(results)]
    rows.append(["infinitely many (theory)", losses("theory"), ""])
    return [Table(("heads", "test loss, by data set", "theory differs by"), rows, "Over the mean square of the target.", "Heads")]


EXPERIMENT = Experiment(
    name="features.heads",
    title="How many heads are infinitely many",
    shown="The theory that takes heads as infinitely many, beside networks of width 16 with more and more heads.",
    claims=(
        tasks.claim(
            "heads",
            "With many times more heads than the network is wide, infinitely many heads are a good approximation.",
            f"mean relative difference of the test loss at most {100 * NEAR:g} % at the largest number of heads",
            judge,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "This was added after infinitely many heads had failed in the cells above, where networks have half as many heads as they are "
            "wide: it asks from how many heads on the approximation is good. Its bound is the same."
        ),
    ),
)
