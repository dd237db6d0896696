"""What the experiments have in common, and trainings that several of them read, by gradient descent or Adam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers import Grid, Scale, common, fixed, grid
from specht.report import add_points
from specht.studies import selection

SUPPORT, DIMENSION = 3, 5
"""Chosen positions q, which are those of the paper, and numbers in a token d, which it does not give."""
ENOUGH = 0.02
"""Loss, as a share of that of the predictor zero, from which on a task counts as learnt."""
CODES = ("stochastic", "fixed")
N_TEST = 1024
"""Samples of every test set: four draws of codes."""


def measure_training(
    codes: str, optimiser: str, length: int, code: int, steps: int, rate: float, lengths: list[int], supports: list[int], seed: int
) -> xarray.Dataset:
    """One training: losses on every set along `step`, cosines, and the matrices at the start and at the end.

    Gradient descent begins from zero and keeps its rate. Adam begins from small random numbers, and its rate falls to zero: at a constant
    one its steps stay as large as they are, and the noise that they make grows with the number of weights.
    """
    task = selection.Selection(length, SUPPORT, DIMENSION)
    setting = selection.SelectionTraining(
        task=task,
        code=code,
        codes=codes,
        optimiser=optimiser,
        learning_rate=rate,
        schedule="constant" if optimiser == "sgd" else "cosine",
        steps=steps,
        scale=0.0 if optimiser == "sgd" else 0.02,
        lengths=tuple(lengths),
        supports=tuple(supports),
        n_test=N_TEST,
        records=100,
    )
    outcome = selection.train_selection(setting, seed)
    variables = outcome.variables()
    W, V = variables["keys_end"][1][task.dimension :, task.dimension :], variables["values_end"][1][:, : task.dimension]
    w = np.diag(W).mean()
    numbers = {"score": w, "value": np.diag(V).mean(), "unlike": np.linalg.norm(W - w * np.eye(len(W))) / np.linalg.norm(W)}
    for name, block in (("keys", W), ("values", V)):
        numbers[f"{name}_off"] = 1 - np.square(block).sum() / np.square(variables[f"{name}_end"][1]).sum()
    return xarray.Dataset(variables | {name: np.float64(value) for name, value in numbers.items()}, outcome.coordinates())


class TrainingSetting(NamedTuple):
    """What trainings of one scale have in common."""

    length: int
    code: int
    lengths: list[int]
    supports: list[int]


def setting(scale: Scale) -> TrainingSetting:
    return common.at_scale(
        scale,
        smoke=TrainingSetting(12, 24, [15, 18], [2, 5]),
        quick=TrainingSetting(50, 64, [62, 75, 87, 100], [2, 5, 8]),
        full=TrainingSetting(200, 170, [250, 300, 350, 400], [2, 5, 8]),
    )


def trainings(scale: Scale, optimiser: str = "sgd", codes: Sequence[str] = CODES) -> Grid:
    """Trainings of one scale; experiments that ask for the same ones share them."""
    chosen = setting(scale)
    recipes = common.at_scale(
        scale,
        smoke={"sgd": (300, 1.0), "adam": (200, 0.02)},
        quick={"sgd": (6000, 1.0), "adam": (3000, 0.01)},
        full={"sgd": (24000, 2.0), "adam": (2500, 0.01)},  # a third of the former passes before attention finds the tokens
    )
    steps, rate = recipes[optimiser]
    where = {"length": chosen.length, "code": chosen.code, "lengths": fixed(chosen.lengths), "supports": fixed(chosen.supports)}
    return grid(codes=list(codes), optimiser=optimiser, **where, steps=steps, rate=rate, seed=0)


class TrainingCurve(NamedTuple):
    """A loss or a measure along steps."""

    steps: np.ndarray
    values: np.ndarray

    def at(self, step: float) -> float:
        """The record nearest to a step."""
        return float(self.values[int(np.abs(self.steps - step).argmin())])

    def reaches(self, value: float) -> float:
        """The step at which it first falls to a value, between records by the logarithms of both; NaN if it never does."""
        below = np.flatnonzero(self.values <= value)
        if not len(below) or below[0] < 2:  # the first record is at step zero, which has no logarithm
            return float("nan") if not len(below) else float(self.steps[below[0]])
        ends = slice(below[0] - 1, below[0] + 1)
        steps, values = np.log(self.steps[ends]), np.log(self.values[ends])
        share = (np.log(value) - values[0]) / (values[1] - values[0])
        return float(np.exp(steps[0] + share * (steps[1] - steps[0])))


def curve(run: xarray.Dataset, name: str) -> TrainingCurve:
    """The loss on a set, or one of the measures, of a training."""
    return TrainingCurve(run["step"].values, (run[name] if name in run else run["loss"].sel(set=name)).values)


def last(run: xarray.Dataset, name: str) -> float:
    """The same at the end."""
    return float(curve(run, name).values[-1])


def kept(run: xarray.Dataset, name: str, since: float = 1 / 2) -> float:
    """The loss at the end over that at a share of the steps."""
    course = curve(run, name)
    return course.at(course.steps[-1]) / course.at(course.steps[-1] * since)


def add_curve(figure: go.Figure, run: xarray.Dataset, name: str, label: str, number: int, *, joined: bool = True) -> None:
    """A loss or a measure against steps, from the first one on."""
    along = curve(run, name)
    add_points(figure, along.steps[1:], along.values[1:], label, number, joined=joined)


def add_ends(figure: go.Figure, run: xarray.Dataset, names: Mapping[int, str], label: str, number: int) -> None:
    """Losses at the end against what tests differ in."""
    add_points(figure, list(names), [last(run, name) for name in names.values()], label, number, joined=True)


def trivial(support: int = SUPPORT) -> float:
    """Loss of the predictor zero."""
    return DIMENSION / (2 * support)


def regime(data: xarray.Dataset) -> str:
    """The setting in words, without a full stop."""
    how = f"SGD of rate {data.rate:g} from zero" if data.optimiser == "sgd" else f"Adam of rate {data.rate:g}, falling to zero"
    return (
        f"T = {data.length}, q = {SUPPORT}, d = {DIMENSION}, codes of dimension {data.code}, {how}, "
        f"{data.steps} steps of 256 fresh samples, {N_TEST} test samples of every kind"
    )
