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
    from specht.learning import learners
    from specht.learning.bounds.networks import perceptron_bound, transformer_bound
    from specht.nn.sparse import BitTransformer
    from specht.nn.trials import Schooling
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
    """Spearman's correlation of norm factor and gap among networks with the same m, on the mean over m, with its standard error over m;
    and that of all networks together, which m alone may bring about."""
    pooled = _pooled(results, learner)
    groups = [pooled["m"] == m for m in np.unique(pooled["m"])]
    inside = [_spearman(pooled["factor"][at], pooled["gap"][at]) for at in groups if at.sum() > 2]
    error = float(np.std(inside, ddof=1)) / math.sqrt(len(inside)) if len(inside) > 1 else math.nan
    return float(np.mean(inside)) if inside else math.nan, error, _spearman(pooled["factor"], pooled["gap"])


def _spearman(x: np.ndarray, y: np.ndarray) -> float:
    found: Any = stats.spearmanr(x, y)
    return float(found.statistic)


def judge_rank(results: Results) -> Verdict:
    pooled = _pooled(results, "transformer")
    if len(pooled["gap"]) < 10 or len(np.unique(pooled["m"])) < 2:
        return Verdict("not tested", regime=f"Ranks are judged from ten networks and two m on. {_regime(results, 'transformer')}.")
    value, error, together = rank_correlation(results, "transformer")
    words = f"{_regime(results, 'transformer')}; the mean over m is shown. Among all networks together it is {together:.2f}."
    return holds_if(value > 2 * error, value, error, words)


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
            value, error, together = rank_correlation(results, learner)
            notes.append(
                f"Rank correlation of factor and gap at equal m, {learner}: {value:.2f} ± {error:.2f}; all together {together:.2f}."
            )
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
            "The factor of norms ranks networks that were trained on equally many samples by their measured gap.",
            sources.OURS,
            "mean over m of Spearman's correlations within equal m positive by more than two standard errors over m",
            judge_rank,
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
            "Telgarsky 2017. Leaving parts out makes bounds smaller than a full proof would: the two are not compared with each "
            "other."
        ),
    ),
)
