"""What the bounds say about trained networks: from how many samples on they say anything, and whether they rank networks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray
from scipy import stats

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.sparse_variables import sources
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.trained_bounds"
SUPPORT = 3
VACUOUS = 1e3
"""Times the training samples that a bound must need to be called vacuous by orders of magnitude."""
LEARNERS = ("transformer", "perceptron")


def measure_gap(learner: str, length: int, m: int, runs: int, steps: int, seed: int) -> xarray.Dataset:
    """Networks trained to the end on m samples: the factor of norms in their bound, the samples it needs, and the gap that is measured."""
    from specht.finite.sparse import BitTransformer
    from specht.finite.trials import Schooling
    from specht.learning import learners
    from specht.learning.bounds.networks import perceptron_bound, transformer_bound
    from specht.sequences.sparse import sparse_function

    task = learners.Task(sparse_function("and", SUPPORT), length, seed=seed)
    who = learners.network_learner(learner, task, schooling=Schooling(steps=steps, every=steps // 5))
    rows = []
    for trial in range(runs):
        train, validation, _ = task.draw(m, trial)
        run = who.run(train, validation, trial, enough=2.0)
        bound = transformer_bound(who.model, run.params) if isinstance(who.model, BitTransformer) else perceptron_bound(run.params, length)
        rows.append((bound.factor, bound.samples(), run.validation_loss[-1] - run.train_loss[-1], run.accuracy[-1]))
    names = ("factor", "samples", "gap", "accuracy")
    return common.record("gap", {name: (("run",), values) for name, values in zip(names, np.array(rows).T, strict=True)})


def jobs(scale: Scale) -> list[Job]:
    length, runs = common.at_scale(scale, smoke=12, quick=50, full=50), common.at_scale(scale, smoke=2, quick=8, full=8)
    sizes = common.at_scale(scale, smoke=(16, 60), quick=(20, 40, 60, 100, 180), full=(20, 40, 60, 100, 180, 250))
    steps = common.at_scale(scale, smoke=100, quick=250, full=250)
    return [
        Job.of(f"{_HERE}:measure_gap", learner=learner, length=length, m=m, runs=runs, steps=steps, seed=4)
        for learner in LEARNERS
        for m in sizes
    ]


def _pooled(results: Results, learner: str) -> dict[str, np.ndarray]:
    found = common.chosen(results, "gap", learner=learner)
    pooled = {name: np.concatenate([result.data[name].values for result in found]) for name in ("factor", "samples", "gap", "accuracy")}
    return pooled | {"m": np.concatenate([np.full(result.data.sizes["run"], result.arguments["m"]) for result in found])}


def _regime(results: Results, learner: str) -> str:
    found = common.chosen(results, "gap", learner=learner)
    sizes, given = common.listed(common.arguments(found, "m")), found[0].arguments
    return f"{given['runs']} networks each at T = {given['length']}, m = {sizes}"


def judge_vacuous(results: Results) -> Verdict:
    """The samples that the bound needs over those that the network had, in powers of ten: the smallest over networks."""
    pooled = _pooled(results, "transformer")
    least = float(np.min(np.log10(pooled["samples"] / pooled["m"])))
    return holds_if(least > math.log10(VACUOUS), least, regime=f"{_regime(results, 'transformer')}; log₁₀ of the smallest ratio is shown.")


def rank_correlation(results: Results, learner: str) -> tuple[float, float, float]:
    """Spearman's correlation of norm factor and gap, its standard error by Fisher's transformation, and the mean correlation at fixed m."""
    pooled = _pooled(results, learner)
    value = _spearman(pooled["factor"], pooled["gap"])
    groups = [pooled["m"] == m for m in np.unique(pooled["m"])]
    inside = [_spearman(pooled["factor"][at], pooled["gap"][at]) for at in groups if at.sum() > 2]
    return value, (1.0 - value**2) / math.sqrt(max(1, len(pooled["gap"]) - 3)), float(np.mean(inside)) if inside else math.nan


def _spearman(x: np.ndarray, y: np.ndarray) -> float:
    found: Any = stats.spearmanr(x, y)
    return float(found.statistic)


def judge_rank(results: Results) -> Verdict:
    if len(_pooled(results, "transformer")["gap"]) < 10:
        return Verdict("not tested", regime=f"Ranks are judged from ten networks on. {_regime(results, 'transformer')}.")
    value, error, inside = rank_correlation(results, "transformer")
    return holds_if(
        value > 2 * error, value, error, f"{_regime(results, 'transformer')}; among networks with the same m it is {inside:.2f}."
    )


def judge_smaller(results: Results) -> Verdict:
    """log₁₀ of the ratio of the samples that the two bounds need."""
    both = [float(np.median(_pooled(results, learner)["samples"])) for learner in LEARNERS]
    ratio = math.log10(both[0] / both[1])
    return holds_if(
        ratio < 0.0,
        ratio,
        regime=f"{_regime(results, 'transformer')}; log₁₀ of the ratio of medians is shown: {both[0]:.1e} against {both[1]:.1e}.",
    )


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    for number, learner in enumerate(LEARNERS):
        pooled = _pooled(results, learner)
        common.add_scatter(figure, pooled["factor"], pooled["gap"], learner, number)
    common.finished(figure, x="factor of norms in the bound", y="validation loss − training loss", linear_y=True)
    return [Plot(figure, "Norms and the measured gap", "One point a trained network.", wide=True)]


def tables(results: Results) -> list[Table]:
    rows = []
    for learner in LEARNERS:
        for found in common.chosen(results, "gap", learner=learner):
            data = found.data
            cells = [f"{float(data[name].median()):.2g}" for name in ("gap", "accuracy", "factor", "samples")]
            rows.append([learner, str(found.arguments["m"]), *cells])
    header = ("network", "m", "gap", "accuracy", "factor of norms", "samples from which the bound is below 1/2")
    notes = []
    for learner in LEARNERS:
        if len(_pooled(results, learner)["gap"]) > 4:
            value, error, inside = rank_correlation(results, learner)
            notes.append(f"Rank correlation of factor and gap, {learner}: {value:.2f} ± {error:.2f}; at fixed m {inside:.2f}.")
    return [Table(header, rows, f"Medians over networks. {' '.join(notes)}".strip(), "Bounds of trained networks")]


EXPERIMENT = Experiment(
    name="sparse.trained-bounds",
    title="Bounds of trained networks",
    shown="Section 4: generalisation bounds from covering numbers; the paper evaluates none of them on a trained network.",
    claims=(
        Claim(
            "sparse.bounds-vacuous",
            "Bounds of trained transformers say nothing at the sizes at which they learn.",
            sources.OURS,
            f"samples needed for a gap below 1/2 more than {VACUOUS:g} times those trained on",
            judge_vacuous,
        ),
        Claim(
            "sparse.bounds-rank",
            "The factor of norms ranks trained networks by their measured gap.",
            sources.OURS,
            "Spearman's correlation positive by more than two standard errors",
            judge_rank,
        ),
        Claim(
            "sparse.bounds-smaller",
            "The bound of a trained transformer needs fewer samples than that of a perceptron of as many weights.",
            sources.OURS,
            "ratio of medians below one",
            judge_smaller,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Networks are trained to the end. The factor is that of lemma A.12, all heads with their norms, layer norms counted as "
            "projections on "
            "a ball of radius √d, the MLP and readout with their Lipschitz constant, biases not at all; of a perceptron, that of "
            "Bartlett, Foster & "
            "Telgarsky 2017. Leaving parts out makes bounds smaller than a full proof would."
        ),
    ),
)
