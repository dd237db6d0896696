"""Figure on losses against the number of samples and the length."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Result, Results, Scale, Verdict, holds_if
from specht.papers.view_from_infinity import sources
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.losses"
LOSSES = {"test": "test", "train": "train", "ood": "out of distribution"}
VOCAB = 3
NOISE = 0.01
"""Variance of the noise on the labels."""
LARGE, SMALL = 1.0, 0.05
"""Ridges at which the equivalent kernel is judged by itself, in units of E[k]."""


def measure_losses(vocab: int, length: int, ridge: float, noise: float, n_train: list[int], datasets: int, seed: int) -> xarray.Dataset:
    """Losses of the solvable model on a target of levels 0 and 1: predicted, by the equivalent kernel, and by exact inference."""
    import specht
    from specht.learning.modes import leading_modes
    from specht.sequences.tasks import shifted

    source, arch = specht.sources.default_mixture(vocab), specht.Architecture(vocab=vocab, length=length)
    spec = specht.spectrum(arch, source)
    task = specht.Task(source, leading_modes(spec), shifted(source, "reweighted"))
    theory = specht.learning_curve(spec, task, n_train, ridge=ridge, noise=noise)
    exact: Any = specht.gp.learning_curve(
        arch, task, n_train=n_train, ridge=ridge, noise=noise, datasets=datasets, scale=spec.trace, seed=seed
    )
    assert theory.ood is not None
    return common.record(
        "losses",
        {
            "theory": (("loss", "n_train"), [theory.test, theory.train, theory.ood]),
            "exact": (("loss", "n_train"), [exact.test, exact.train, exact.ood]),
            "stderr": (("loss", "n_train"), [exact.test_stderr, exact.train_stderr, exact.ood_stderr]),
            "equivalent": ("n_train", theory.equivalent.test),
        },
        {"loss": list(LOSSES), "n_train": n_train},
    )


def jobs(scale: Scale) -> list[Job]:
    lengths = common.at_scale(scale, smoke=[4, 6], quick=[8, 16, 32], full=[8, 16, 32])
    ridges = common.at_scale(scale, smoke=[LARGE, SMALL], quick=[LARGE, 0.2, SMALL], full=[LARGE, 0.2, SMALL])
    n_train = common.at_scale(scale, smoke=[8, 32], quick=[16, 64, 256, 1024], full=[16, 32, 64, 128, 256, 512, 1024])
    datasets = common.at_scale(scale, smoke=4, quick=40, full=80)
    return [
        Job.of(f"{_HERE}:measure_losses", vocab=VOCAB, length=n, ridge=r, noise=NOISE, n_train=n_train, datasets=datasets, seed=1)
        for n in lengths
        for r in ridges
    ]


def _regime(results: Results) -> str:
    given = results[0].arguments
    return (
        f"Linear attention + linear activation, V = {given['vocab']}, L = {common.listed(common.arguments(results, 'length'))}, N = "
        f"{common.span(given['n_train'])}, ridge {common.listed(common.arguments(results, 'ridge'))} E[k], label noise "
        f"{given['noise']:g}, {given['datasets']} data sets a point."
    )


def _mean_error(results: Results, loss: str) -> tuple[float, float]:
    """Mean relative error of theory over the grid, and what the standard errors of exact inference put into it."""
    theory, exact, stderr = (np.array([r.data[name].sel(loss=loss).values for r in results]) for name in ("theory", "exact", "stderr"))
    floor = stderr / exact
    # losses at several N and ridges come from the same data sets: only lengths count as independent
    independent = len(set(common.arguments(results, "length")))
    return float(np.abs(theory / exact - 1.0).mean()), float(floor.mean() / np.sqrt(independent))


def _judge_loss(loss: str) -> Any:
    def judge(results: Results) -> Verdict:
        mean, stderr = _mean_error(results, loss)
        return holds_if(mean <= 0.1, mean, stderr, _regime(results))

    return judge


def _equivalent_errors(results: Results) -> np.ndarray:
    return np.array([np.abs(r.data["equivalent"].values / r.data["exact"].sel(loss="test").values - 1.0) for r in results])


def _equivalent_stderr(results: Results) -> float:
    return float(np.mean([(r.data["stderr"].sel(loss="test") / r.data["exact"].sel(loss="test")).values for r in results]))


def judge_equivalent(results: Results) -> Verdict:
    mean = float(_equivalent_errors(results).mean())
    return holds_if(mean <= 0.1, mean, _equivalent_stderr(results), _regime(results))


def judge_equivalent_large(results: Results) -> Verdict:
    at = [result for result in results if result.arguments["ridge"] == LARGE]
    mean = float(_equivalent_errors(at).mean())
    return holds_if(mean <= 0.25, mean, _equivalent_stderr(at), _regime(at))


def judge_equivalent_small(results: Results) -> Verdict:
    at = [result for result in results if result.arguments["ridge"] == SMALL]
    worst = float(_equivalent_errors(at).max())
    return holds_if(worst >= 0.7, worst, _equivalent_stderr(at) * (1.0 - worst), _regime(at))


def plots(results: Results) -> list[Plot]:
    """One figure a ridge at the middle length, and test losses against N for all lengths."""
    lengths = sorted(set(common.arguments(results, "length")))
    middle = lengths[len(lengths) // 2]
    ridges = sorted(set(common.arguments(results, "ridge")), reverse=True)
    curves = [_curves(next(r for r in results if r.arguments["length"] == middle and r.arguments["ridge"] == ridge)) for ridge in ridges]
    figure = go.Figure()
    for number, length in enumerate(lengths):
        result = next(r for r in results if r.arguments["length"] == length and r.arguments["ridge"] == ridges[0])
        n, data = result.data["n_train"].values, result.data.sel(loss="test")
        common.add_line(figure, n, data["theory"].values, f"L = {length}", number)
        common.add_points(figure, n, data["exact"].values, f"L = {length}, exact", number, errors=data["stderr"].values, legend=False)
    common.finished(figure, x="samples N", y="test loss")
    caption = f"Lines are the prediction, points exact inference, at ridge {ridges[0]:g} E[k]: longer contexts need more samples."
    return [Plot(figure, "Test loss against samples and length", caption, wide=True), *curves]


def _curves(result: Result) -> Plot:
    figure = go.Figure()
    n = result.data["n_train"].values
    for number, (loss, name) in enumerate(LOSSES.items()):
        data = result.data.sel(loss=loss)
        common.add_line(figure, n, data["theory"].values, name, number)
        common.add_points(figure, n, data["exact"].values, f"{name}, exact", number, errors=data["stderr"].values, legend=False)
    common.add_line(figure, n, result.data["equivalent"].values, "equivalent kernel, test", 0, dash="dot")
    common.finished(figure, x="samples N", y="mean squared error")
    ridge, length = result.arguments["ridge"], result.arguments["length"]
    caption = (
        "Lines are the prediction and points exact Bayesian inference; the dotted line leaves out that functions not yet learnt act as "
        "noise."
    )
    return Plot(figure, f"Losses at ridge {ridge:g} E[k], L = {length}", caption, wide=True)


def tables(results: Results) -> list[Table]:
    rows = []
    for result in results:
        errors = [f"{_mean_error([result], loss)[0]:.1%}" for loss in LOSSES]
        name = f"L = {result.arguments['length']}, ridge {result.arguments['ridge']:g}"
        rows.append([name, *errors, f"{_equivalent_errors([result]).mean():.1%}", f"{_mean_error([result], 'test')[1]:.1%}"])
    header = ("grid", *LOSSES.values(), "equivalent kernel, test", "noise of exact inference")
    return [Table(header, rows, "Mean relative error of the prediction over the numbers of samples.", "Error of the predicted losses")]


EXPERIMENT = Experiment(
    name="infinity.f1",
    title="Losses against the number of samples and the length",
    shown=(
        "Poster: predicted loss against the number of samples and the length beside exact Bayesian inference, for training data and an "
        "out-of-distribution test set, with linear attention and a linear MLP on a mixture of hidden Markov models. The sizes, "
        "variances and ridge are not known to us."
    ),
    claims=(
        *(
            Claim(
                f"infinity.f1-{loss}",
                f"Theory gives the {name} loss of exact Bayesian inference over the grid of samples and lengths.",
                f"{sources.POSTER}, figure on losses",
                "mean relative error at most 10 % over the grid, with the renormalised ridge, at least 10 data sets a point",
                _judge_loss(loss),
            )
            for loss, name in LOSSES.items()
        ),
        Claim(
            "infinity.f1-equivalent",
            "The equivalent kernel, with the bare ridge, gives the test loss of exact Bayesian inference.",
            f"{sources.POSTER}, formula of the predictor, with the ridge taken as the bare noise",
            "mean relative error at most 10 % over the same grid",
            judge_equivalent,
        ),
        Claim(
            "infinity.f1-equivalent-large-ridge",
            "At a ridge as large as E[k] the equivalent kernel is a rough guide.",
            sources.OURS,
            "mean relative error at most 25 % at ridge 1 E[k]",
            judge_equivalent_large,
        ),
        Claim(
            "infinity.f1-equivalent-small-ridge",
            "At a small ridge the equivalent kernel is useless: off by up to nine tenths.",
            sources.OURS,
            "largest relative error at least 70 % at ridge 0.05 E[k]",
            judge_equivalent_small,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Each eigenfunction is learnt in part; functions not yet learnt raise the ridge.",
            ("N = Σ_j d_j λ_j/(λ_j + κ) + δ/κ", "L_i = λ_i/(λ_i + κ)"),
        ),
        Step("The equivalent kernel takes κ = δ/N and leaves out the variance over data sets."),
        Step("Kernels are in units of E[k], and the target has half its mean square at level 0 and half at level 1."),
    ),
)
