"""A paper small enough to be tested in no time: one claim that holds, one that fails, one that cannot be tested, one whose job fails."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from specht.lab.jobs import Job
from specht.papers.claims import SCALES, Claim, Experiment, Outcome, Paper, Recorded, Results, Scale, Verdict, holds_if
from specht.report import Step, Table
from specht.report.figures import Plot

SIZES = {"smoke": 2, "quick": 4, "full": 8}


def jobs(scale: Scale) -> list[Job]:
    return [Job.of("sample_jobs:numbers", seed=seed, size=20) for seed in range(SIZES[scale])]


def mean(*runs: Results) -> tuple[float, float]:
    values = np.concatenate([result.data["values"].values for results in runs for result in results])
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


def is_small(*runs: Results) -> Verdict:
    value, error = mean(*runs)
    return holds_if(abs(value) < 4 * error, value, error, f"{len(runs)} runs of {len(runs[0])} jobs")


def is_large(*runs: Results) -> Verdict:
    return holds_if(mean(*runs)[0] > 1.0, mean(*runs)[0])


def _figure(values: np.ndarray) -> go.Figure:
    return go.Figure(go.Scatter(x=np.arange(len(values)), y=values))


def plots(results: Results) -> list[Plot]:
    return [Plot(_figure(result.data["values"].values), f"Seed {result.arguments['seed']}", "Noise.") for result in results]


NUMBERS = Experiment(
    name="toy.numbers",
    title="Numbers",
    shown="A cloud of points around zero.",
    claims=[
        Claim("toy.mean", "The mean is zero.", "Toy 2026, figure 1", "|mean| < 4 standard errors", is_small, kind="paper"),
        Claim("toy.large", "The mean is large.", "Toy 2026, section 2", "mean > 1", is_large, kind="paper"),
        Claim("toy.later", "Networks agree.", "Toy 2026, section 3", "within 1 %", untested="There are no networks yet.", kind="paper"),
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
    claims=[Claim("toy.broken-job", "It runs.", "Toy 2026", "no error", is_small, kind="ours")],
    jobs=lambda scale: [Job.of("sample_jobs:fails", seed=3)],
)
EXPECTED: dict[str, Outcome] = {"toy.mean": "holds", "toy.large": "fails"}


def paper(*more: Experiment, record: Mapping[str, Outcome] = EXPECTED) -> Paper:
    """The paper, with further experiments, and with some verdicts on record at every scale."""

    def recorded(claim: Claim) -> Claim:
        return dataclasses.replace(claim, record={scale: Recorded(record[claim.id]) for scale in SCALES if claim.id in record})

    experiments = [dataclasses.replace(each, claims=[recorded(claim) for claim in each.claims]) for each in (NUMBERS, *more)]
    return Paper("toy", "A toy paper", "A. Toy, 2026", "It draws numbers. They are small.", experiments)
