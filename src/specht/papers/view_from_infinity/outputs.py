"""Predicted outputs on new sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht import learning
from specht.papers import Finding, at_least, common, grid, measure
from specht.papers.view_from_infinity.losses import VOCAB
from specht.report import Plot, add_guide, add_scatter

_MODEL = grid(vocab=VOCAB, ridge=1.0, seed=0)


@measure(
    smoke=_MODEL * grid(length=4, n_train=[16], datasets=4, repeats=2, sequences=20),
    quick=_MODEL * grid(length=8, n_train=[36, 42, 48], datasets=50, repeats=4, sequences=300),
    full=_MODEL * grid(length=16, n_train=[64, 128, 256], datasets=100, repeats=8, sequences=500),
)
def measure_outputs(
    vocab: int, length: int, ridge: float, n_train: int, datasets: int, repeats: int, sequences: int, seed: int
) -> xarray.Dataset:
    """Predicted mean outputs on fresh sequences against exact inference averaged over data sets.

    `r2` is the share of the variance of the exact mean outputs that the prediction explains, and its standard error a jackknife over
    independent groups of data sets.
    """
    source, arch = specht.sources.default_mixture(vocab), specht.Architecture(vocab=vocab, length=length)
    spec = specht.spectrum(arch, source)
    task = specht.Task(source, learning.leading_modes(spec))
    theory = specht.learning_curve(spec, task, [n_train], ridge=ridge)
    x = source.sample(seed + 1000, sequences, length)
    setting: Any = {"n_train": [n_train], "ridge": ridge, "datasets": datasets, "scale": spec.trace}
    groups = np.array([specht.gp.mean_outputs(arch, task, x, seed=seed + i, **setting).mean[0, ..., 0] for i in range(repeats)])
    predicted = theory.content.mean_output(x, theory.learnability.learnability[0])[:, 0]
    without = np.array([_explained(predicted, np.delete(groups, i, axis=0).mean(axis=0)) for i in range(repeats)])
    mean = groups.mean(axis=0)
    return xarray.Dataset(
        {
            "predicted": ("sequence", predicted),
            "exact": ("sequence", mean),
            "r2": _explained(predicted, mean),
            "r2_stderr": without.std() * np.sqrt(repeats - 1),
            "learned": theory.learned[0],
        }
    )


def _explained(predicted: np.ndarray, exact: np.ndarray) -> float:
    """R²."""
    return float(1.0 - ((exact - predicted) ** 2).sum() / ((exact - exact.mean()) ** 2).sum())


@measure_outputs.claim(
    "q2-outputs",
    at_least(0.95, "R² of the predicted mean output with the posterior mean averaged over data sets", where="on fresh sequences"),
    null=0.0,
)
def least_explained(data: xarray.Dataset) -> Finding:
    worst = data.isel(n_train=int(data["r2"].argmin("n_train")))
    words = (
        f"Linear attention + linear activation, V = {data.vocab}, L = {data.length}, ridge {data.ridge:g} E[k], N = "
        f"{common.listed(data.n_train.values)} where {common.span(data['learned'].values.round(2))} of the target is learnt, "
        f"{data.datasets * data.repeats} data sets, {data.sequences} fresh sequences; the smallest R² is shown."
    )
    return Finding(float(worst["r2"]), float(worst["r2_stderr"]), words)


@measure_outputs.figure()
def predicted_and_exact(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for number, n in enumerate(data.n_train.values):
        at = data.sel(n_train=n)
        add_scatter(figure, at["predicted"].values, at["exact"].values, f"N = {n}", number)
    ends = [float(data["predicted"].min()), float(data["predicted"].max())]
    add_guide(figure, ends, ends, "equal")
    caption = "Each point is a fresh sequence: the predicted mean output, and that of exact inference averaged over data sets."
    return common.plotted(figure, "Predicted outputs", caption, x="predicted mean output", y="exact mean output", linear="xy")
