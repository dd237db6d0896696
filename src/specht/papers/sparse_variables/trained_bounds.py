"""What the bounds say about trained networks: from how many samples on they say anything, and whether they rank networks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray
from scipy import stats

from specht.papers import Finding, above, common, every, grid, measure, positive
from specht.papers.sparse_variables import curves
from specht.report import Plot, Table, add_scatter, finished, table
from specht.studies import sparse

VACUOUS = 1e3
"""Times the training samples that a bound must need to be called vacuous by orders of magnitude."""
LEARNERS = ("transformer", "perceptron")


@measure(
    smoke=grid(learner=LEARNERS, length=12, m=[16, 60], runs=2, steps=100, seed=4),
    quick=grid(learner=LEARNERS, length=50, m=[20, 40, 60, 100, 180], runs=8, steps=250, seed=4),
    full=grid(learner=LEARNERS, length=50, m=[20, 40, 60, 100, 180, 250], runs=8, steps=250, seed=4),
)
def measure_gap(learner: str, length: int, m: int, runs: int, steps: int, seed: int) -> xarray.Dataset:
    """Networks trained to the end on m samples: the factor of norms in their bound, the samples it needs, and the gap that is measured."""
    model, rows = sparse.BitTransformer(length) if learner == "transformer" else None, []
    for _, run in curves.trained_networks(learner, length, m, runs, steps, seed, model):
        bound = sparse.bounds.transformer_bound(model, run.params) if model else sparse.bounds.perceptron_bound(run.params, length)
        rows.append((bound.factor, bound.samples(), run.validation_loss[-1] - run.train_loss[-1], run.accuracy[-1]))
    names = ("factor", "samples", "gap", "accuracy")
    return xarray.Dataset({name: ("run", values) for name, values in zip(names, np.array(rows).T, strict=True)})


@measure_gap.claim(
    "bounds-vacuous",
    every(above(math.log10(VACUOUS), "samples needed for a gap below 1/2 over those trained on", called=f"{VACUOUS:g}"), "at every m"),
    null=0.0,
)
def powers_of_ten_above(data: xarray.Dataset) -> dict[int, Finding]:
    """The samples that bounds need over those that the networks had, in powers of ten: means over networks."""
    transformers = data.sel(learner="transformer")
    by_network: Any = np.log10(transformers["samples"] / transformers["m"])
    powers = by_network.mean("run")
    words = f"{_words(transformers)}; the mean of log₁₀ of the ratio is shown for the m at which it is smallest."
    return {m: Finding(float(powers.sel(m=m)), regime=words) for m in powers.m.values.tolist()}


@measure_gap.claim(
    "bounds-rank",
    positive("mean over m of Spearman's correlations of factor and gap within equal m", where="over m"),
    null=0.0,
)
def correlation_at_equal_m(data: xarray.Dataset) -> Finding:
    transformers = data.sel(learner="transformer")
    if transformers["gap"].size < 10 or transformers.sizes["m"] < 2:
        raise common.nothing(f"Ranks are judged from ten networks and two m on. {_words(transformers)}.")
    value, error, together = rank_correlation(transformers)
    return Finding(value, error, f"{_words(transformers)}; the mean over m is shown. Among all networks together it is {together:.2f}.")


def rank_correlation(networks: xarray.Dataset) -> tuple[float, float, float]:
    """Spearman's correlation of norm factor and gap among networks with the same m, on the mean over m, with its standard error over m;
    and that of all networks together, which m alone may bring about."""
    factor, gap = networks["factor"].values, networks["gap"].values  # by m and run
    inside = [_spearman(x, y) for x, y in zip(factor, gap, strict=True)] if factor.shape[1] > 2 else []
    error = float(np.std(inside, ddof=1)) / math.sqrt(len(inside)) if len(inside) > 1 else math.nan
    return float(np.mean(inside)) if inside else math.nan, error, _spearman(factor.ravel(), gap.ravel())


def _spearman(x: np.ndarray, y: np.ndarray) -> float:
    correlation: Any = stats.spearmanr(x, y)
    return float(correlation.statistic)


def _words(networks: xarray.Dataset) -> str:
    return f"{networks.runs} networks each at T = {networks.length}, m = {common.listed(networks.m.values)}"


@measure_gap.figure()
def gaps(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for number, learner in enumerate(LEARNERS):
        networks = data.sel(learner=learner)
        add_scatter(figure, networks["factor"].values.ravel(), networks["gap"].values.ravel(), learner, number)
    finished(figure, x="factor of norms in the bound", y="validation loss − training loss", linear_y=True)
    return Plot(figure, "Norms and the measured gap", "One point for each trained network.", wide=True)


@measure_gap.table()
def medians(data: xarray.Dataset) -> Table:
    notes = []
    for learner in LEARNERS:
        networks = data.sel(learner=learner)
        if networks["gap"].size > 4:
            value, error, together = rank_correlation(networks)
            notes.append(
                f"Rank correlation of factor and gap at equal m, {learner}: {value:.2f} ± {error:.2f}; all together {together:.2f}."
            )
    columns = {"network": "learner", "m": "m", "gap": "gap:.2g", "accuracy": "accuracy:.2g", "factor of norms": "factor:.2g"}
    columns |= {"samples from which the bound is below 1/2": "samples:.2g"}
    note = f"Medians over networks. {' '.join(notes)}".strip()
    return table(data.median("run"), columns, note=note, title="Bounds of trained networks")
