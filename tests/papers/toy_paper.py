"""A paper small enough to be tested in no time: one claim that holds, one that fails, one that cannot be tested, one whose job fails."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from specht.lab.jobs import Job
from specht.papers.claims import Claim, Experiment, Paper, Results, Scale, Verdict, holds_if
from specht.report import Step, Table
from specht.report.figures import Plot

SIZES = {"smoke": 2, "quick": 4, "full": 8}


def jobs(scale: Scale) -> list[Job]:
    return [Job.of("sample_jobs:numbers", seed=seed, size=20) for seed in range(SIZES[scale])]


def mean(results: Results) -> tuple[float, float]:
    values = np.concatenate([result.data["values"].values for result in results])
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


def is_small(results: Results) -> Verdict:
    value, error = mean(results)
    return holds_if(abs(value) < 4 * error, value, error, f"{len(results)} jobs")


def is_large(results: Results) -> Verdict:
    return holds_if(mean(results)[0] > 1.0, mean(results)[0])


def _figure(values: np.ndarray) -> go.Figure:
    return go.Figure(go.Scatter(x=np.arange(len(values)), y=values))


def plots(results: Results) -> list[Plot]:
    return [Plot(_figure(result.data["values"].values), f"Seed {result.arguments['seed']}", "Noise.") for result in results]


NUMBERS = Experiment(
    name="toy.numbers",
    title="Numbers",
    shown="A cloud of points around zero.",
    claims=[
        Claim("toy.mean", "The mean is zero.", "Toy 2026, figure 1", "|mean| < 4 standard errors", is_small),
        Claim("toy.large", "The mean is large.", "Toy 2026, section 2", "mean > 1", is_large),
        Claim("toy.later", "Networks agree.", "Toy 2026, section 3", "within 1 %", untested="There are no networks yet."),
    ],
    jobs=jobs,
    plots=plots,
    tables=lambda results: [
        Table(("seed", "mean"), [[str(r.arguments["seed"]), f"{r.data['values'].values.mean():.3f}"] for r in results])
    ],
    method=[Step("Numbers are drawn and averaged:", ["m = Σ x_i / n"])],
)
BROKEN = Experiment(
    name="toy.broken",
    title="Broken",
    shown="Nothing.",
    claims=[Claim("toy.broken-job", "It runs.", "Toy 2026", "no error", is_small)],
    jobs=lambda scale: [Job.of("sample_jobs:fails", seed=3)],
)
PAPER = Paper("toy", "A toy paper", "A. Toy, 2026", "It draws numbers. They are small.", [NUMBERS])
WITH_BROKEN = Paper("toy", "A toy paper", "A. Toy, 2026", "It draws numbers.", [NUMBERS, BROKEN])
EXPECTED = {"toy.mean": "holds", "toy.large": "fails"}
