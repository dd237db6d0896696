"""Predicted outputs on new sequences."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.view_from_infinity import sources
from specht.papers.view_from_infinity.losses import VOCAB
from specht.report.figures import Plot
from specht.report.html import Step

_HERE = f"{sources.PACKAGE}.outputs"


def measure_outputs(
    vocab: int, length: int, ridge: float, n_train: list[int], datasets: int, repeats: int, sequences: int, seed: int
) -> xarray.Dataset:
    """Predicted mean outputs on fresh sequences against exact inference averaged over data sets.

    `r2` is the share of the variance of the exact mean outputs that the prediction explains, and its standard error a jackknife over
    independent groups of data sets.
    """
    import specht
    from specht.learning.modes import leading_modes

    source, arch = specht.sources.default_mixture(vocab), specht.Architecture(vocab=vocab, length=length)
    spec = specht.spectrum(arch, source)
    task = specht.Task(source, leading_modes(spec))
    theory = specht.learning_curve(spec, task, n_train, ridge=ridge)
    x = source.sample(seed + 1000, sequences, length)
    groups = np.array(
        [
            specht.gp.mean_outputs(arch, task, x, n_train=n_train, ridge=ridge, datasets=datasets, scale=spec.trace, seed=seed + i).mean[
                ..., 0
            ]
            for i in range(repeats)
        ]
    )
    predicted = np.array([theory.content.mean_output(x, learnt)[:, 0] for learnt in theory.learnability.learnability])
    without = np.array([_explained(predicted, np.delete(groups, i, axis=0).mean(axis=0)) for i in range(repeats)])
    mean = groups.mean(axis=0)
    return common.record(
        "outputs",
        {
            "predicted": (("n_train", "sequence"), predicted),
            "exact": (("n_train", "sequence"), mean),
            "r2": ("n_train", _explained(predicted, mean)),
            "r2_stderr": ("n_train", without.std(axis=0) * np.sqrt(repeats - 1)),
            "learned": ("n_train", theory.learned),
        },
        {"n_train": n_train, "sequence": np.arange(sequences)},
    )


def _explained(predicted: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """R² along the last axis."""
    return 1.0 - ((exact - predicted) ** 2).sum(axis=-1) / ((exact - exact.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)


def jobs(scale: Scale) -> list[Job]:
    length = common.at_scale(scale, smoke=4, quick=8, full=16)
    n_train = common.at_scale(scale, smoke=[16], quick=[36, 42, 48], full=[64, 128, 256])
    datasets, repeats, sequences = common.at_scale(scale, smoke=(4, 2, 20), quick=(50, 4, 300), full=(100, 8, 500))
    given = {"vocab": VOCAB, "length": length, "ridge": 1.0, "datasets": datasets, "repeats": repeats, "sequences": sequences, "seed": 0}
    return [Job.of(f"{_HERE}:measure_outputs", n_train=[n], **given) for n in n_train]


def judge(results: Results) -> Verdict:
    worst = min(results, key=lambda result: float(result.data["r2"].min()))
    given, learned = worst.arguments, np.concatenate([result.data["learned"].values for result in results])
    regime = (
        f"Linear attention + linear activation, V = {given['vocab']}, L = {given['length']}, ridge {given['ridge']:g} E[k], N = "
        f"{common.listed([n for r in results for n in r.arguments['n_train']])} where {common.span(learned.round(2).tolist())} of the "
        f"target is learnt, {given['datasets'] * given['repeats']} data sets, {given['sequences']} fresh sequences; the smallest R² is "
        "shown."
    )
    return holds_if(float(worst.data["r2"].min()) >= 0.95, float(worst.data["r2"].min()), float(worst.data["r2_stderr"].max()), regime)


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    for number, result in enumerate(results):
        name = f"N = {result.arguments['n_train'][0]}"
        common.add_scatter(figure, result.data["predicted"].values[0], result.data["exact"].values[0], name, number)
    ends = [float(f([f(r.data["predicted"].values) for r in results])) for f in (np.min, np.max)]
    common.add_guide(figure, ends, ends, "equal")
    common.finished(figure, x="predicted mean output", y="exact mean output", linear_y=True)
    figure.update_xaxes(type="linear", dtick=None)
    caption = "Each point is a fresh sequence: the predicted mean output, and that of exact inference averaged over data sets."
    return [Plot(figure, "Predicted outputs", caption, wide=True)]


EXPERIMENT = Experiment(
    name="infinity.q2",
    title="Predicted outputs on new sequences",
    shown="Abstract: accurate predictions for network outputs. The setting is not known to us.",
    claims=(
        Claim(
            "infinity.q2-outputs",
            "Theory gives the mean output on sequences that were not trained on.",
            sources.ABSTRACT,
            "R² of the predicted mean output with the posterior mean averaged over data sets at least 0.95 on fresh sequences",
            judge,
        ),
    ),
    jobs=jobs,
    plots=plots,
    method=(Step("The mean prediction keeps of each part of the target its learnability.", ("f(x) = Σ_i L_i g_i φ_i(x)",)),),
)
