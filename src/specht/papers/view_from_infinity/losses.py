"""Figure on losses against the number of samples and the length."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht import learning, sequences
from specht.papers import Finding, at_least, at_most, common, fixed, grid, measure
from specht.report import Plot, Table, add_line, add_points, points_of

LOSSES = {"test": "test", "train": "train", "ood": "out of distribution"}
VOCAB = 3
LARGE, SMALL = 1.0, 0.05
"""Ridges at which the equivalent kernel is judged by itself, in units of E[k]."""
_MODEL = grid(vocab=VOCAB, noise=0.01, seed=1)


@measure(
    smoke=_MODEL * grid(length=[4, 6], ridge=[LARGE, SMALL], n_train=fixed([8, 32]), datasets=4),
    quick=_MODEL * grid(length=[8, 16, 32], ridge=[LARGE, 0.2, SMALL], n_train=fixed([16, 64, 256, 1024]), datasets=40),
    full=_MODEL * grid(length=[8, 16, 32], ridge=[LARGE, 0.2, SMALL], n_train=fixed([2**power for power in range(4, 11)]), datasets=80),
)
def measure_losses(vocab: int, length: int, ridge: float, noise: float, n_train: list[int], datasets: int, seed: int) -> xarray.Dataset:
    """Losses of the solvable model on a target of levels 0 and 1: predicted, by the equivalent kernel, and by exact inference."""
    source, arch = specht.sources.default_mixture(vocab), specht.Architecture(vocab=vocab, length=length)
    spec = specht.spectrum(arch, source)
    task = specht.Task(source, learning.leading_modes(spec), sequences.shifted(source, "reweighted"))
    theory = specht.learning_curve(spec, task, n_train, ridge=ridge, noise=noise)
    exact: Any = specht.gp.learning_curve(
        arch, task, n_train=n_train, ridge=ridge, noise=noise, datasets=datasets, scale=spec.trace, seed=seed
    )
    assert theory.ood is not None
    return xarray.Dataset(
        {
            "theory": (("loss", "n_train"), [theory.test, theory.train, theory.ood]),
            "exact": (("loss", "n_train"), [exact.test, exact.train, exact.ood]),
            "stderr": (("loss", "n_train"), [exact.test_stderr, exact.train_stderr, exact.ood_stderr]),
            "equivalent": ("n_train", theory.equivalent.test),
        },
        {"loss": list(LOSSES), "n_train": n_train},
    )


def _regime(data: xarray.Dataset) -> str:
    return (
        f"Linear attention + linear activation, V = {data.vocab}, L = {common.listed(data.length.values)}, N = "
        f"{common.span(data.n_train.values)}, ridge {common.listed(data.ridge.values.ravel())} E[k], label noise "
        f"{data.noise:g}, {data.datasets} data sets a point."
    )


def _errors(data: xarray.Dataset, loss: str) -> xarray.DataArray:
    """Relative errors of theory."""
    return abs(data["theory"] / data["exact"] - 1.0).sel(loss=loss)


def _equivalent_errors(data: xarray.Dataset) -> xarray.DataArray:
    """Relative errors of the equivalent kernel."""
    return abs(data["equivalent"] / data["exact"].sel(loss="test") - 1.0)


def _noise(data: xarray.Dataset, loss: str = "test") -> float:
    """Relative standard errors of exact inference, on average."""
    return float((data["stderr"] / data["exact"]).sel(loss=loss).mean())


def mean_error(data: xarray.Dataset, loss: str) -> Finding:
    """Losses at several N and ridges come from the same data sets: only lengths count as independent."""
    return Finding(float(_errors(data, loss).mean()), _noise(data, loss) / np.sqrt(data.sizes["length"]), _regime(data))


_WITHIN = at_most(
    0.1, "mean relative error", percent=True, where="over the grid, with the renormalised ridge, at least 10 data sets a point"
)
for _loss in LOSSES:
    measure_losses.claim(f"f1-{_loss}", _WITHIN, null=1.0, loss=_loss)(mean_error)


@measure_losses.claim("f1-equivalent", at_most(0.1, "mean relative error", percent=True, where="over the same grid"), null=1.0)
@measure_losses.claim(
    "f1-equivalent-large-ridge", at_most(0.25, "mean relative error", percent=True, where=f"at ridge {LARGE:g} E[k]"), null=1.0, ridge=LARGE
)
def mean_error_of_the_equivalent_kernel(data: xarray.Dataset, ridge: float | None = None) -> Finding:
    """At one ridge, or at all of them."""
    data = data if ridge is None else data.sel(ridge=ridge)
    return Finding(float(_equivalent_errors(data).mean()), _noise(data), _regime(data))


@measure_losses.claim(
    "f1-equivalent-small-ridge", at_least(0.7, "largest relative error", percent=True, where=f"at ridge {SMALL:g} E[k]"), null=0.0
)
def largest_error_at_a_small_ridge(data: xarray.Dataset) -> Finding:
    data = data.sel(ridge=SMALL)
    largest = float(_equivalent_errors(data).max())
    return Finding(largest, _noise(data) * (1.0 - largest), _regime(data))


@measure_losses.figure()
def against_samples(data: xarray.Dataset) -> list[Plot]:
    """Test losses for all lengths, and one figure a ridge at the middle length."""
    largest = float(data.ridge.max())
    figure = go.Figure()
    for number, length in enumerate(data.length.values):
        _add_curve(figure, data.sel(length=length, ridge=largest, loss="test"), f"L = {length}", number)
    caption = f"Lines are the prediction, points exact inference, at ridge {largest:g} E[k]: longer contexts need more samples."
    first = common.plotted(figure, "Test loss against samples and length", caption, x="samples N", y="test loss")
    middle = data.isel(length=data.sizes["length"] // 2)
    return [first, *(_curves(middle.sel(ridge=ridge)) for ridge in sorted(data.ridge.values, reverse=True))]


def _add_curve(figure: go.Figure, data: xarray.Dataset, name: str, number: int) -> None:
    """A line that is predicted, with points by exact inference."""
    add_line(figure, data.n_train.values, data["theory"].values, name, number)
    add_points(figure, data.n_train.values, data["exact"].values, f"{name}, exact", number, errors=data["stderr"].values, legend=False)


def _curves(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for number, (loss, name) in enumerate(LOSSES.items()):
        _add_curve(figure, data.sel(loss=loss), name, number)
    add_line(figure, data.n_train.values, data["equivalent"].values, "equivalent kernel, test", 0, dash="dot")
    title = f"Losses at ridge {data.ridge.item():g} E[k], L = {data.length.item()}"
    caption = (
        "Lines are the prediction and points exact Bayesian inference; the dotted line leaves out that functions not yet learnt act as "
        "noise."
    )
    return common.plotted(figure, title, caption, x="samples N", y="mean squared error")


@measure_losses.table()
def errors_of_losses(data: xarray.Dataset) -> Table:
    rows = []
    for point in points_of(data, "length", "ridge"):
        errors = [*(_errors(point, loss) for loss in LOSSES), _equivalent_errors(point)]
        shares = [*(float(error.mean()) for error in errors), _noise(point)]
        rows.append([f"L = {point.length.item()}, ridge {point.ridge.item():g}", *(f"{share:.1%}" for share in shares)])
    header = ("grid", *LOSSES.values(), "equivalent kernel, test", "noise of exact inference")
    return Table(header, rows, "Mean relative error of the prediction over the numbers of samples.", "Error of the predicted losses")
