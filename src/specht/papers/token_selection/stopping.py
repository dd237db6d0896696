"""Figure 5 with what the paper does there: Adam, stopped early, and tests with a number of chosen positions that was never seen."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers import Finding, at_least, below, common, every, grid, measure
from specht.papers.token_selection import training
from specht.report import Plot, Table, add_points
from specht.studies import selection

UNSEEN = 5
"""Chosen positions in tests; training has three."""
_FLOOR, _RATIO, _FAR = 0.15, 5.0, 1.5


@measure(
    smoke=grid(codes=training.CODES, length=12, code=32, steps=100, rate=0.02, patience=15, seed=0),
    quick=grid(codes=training.CODES, length=50, code=96, steps=1500, rate=0.01, patience=15, seed=0),
    full=grid(codes=training.CODES, length=200, code=170, steps=2500, rate=0.01, patience=15, seed=0),
)
def measure_stopped(codes: str, length: int, code: int, steps: int, rate: float, patience: int, seed: int) -> xarray.Dataset:
    """Adam at a constant rate; the model of the least loss at the length and support of training is kept, and tested elsewhere.

    Training ends when so many records have passed without a lower one.
    """
    task = selection.Selection(length, training.SUPPORT, training.DIMENSION)
    lengths = [round(length * factor) for factor in (1, 1.25, 1.5, 1.75, 2)]
    setting = selection.SelectionTraining(
        task=task,
        code=code,
        codes=codes,
        optimiser="adam",
        learning_rate=rate,
        steps=steps,
        scale=0.02,
        pairs=tuple((T, UNSEEN) for T in lengths),
        patience=patience,
        n_test=training.N_TEST,
        records=100,
    )
    run = selection.train_selection(setting, seed)
    numbers = {
        "loss": ("tested", [float(run.losses[f"T={T} q={UNSEEN}"][run.stop]) for T in lengths]),
        "own": float(run.losses["validation"][run.stop]),
        "stop": float(run.steps[run.stop]),
    }
    return xarray.Dataset(numbers, {"tested": lengths})


def _words(data: xarray.Dataset) -> str:
    stops = ", ".join(f"{float(data['stop'].sel(codes=codes)):.0f} with {codes} codes" for codes in training.CODES)
    own = ", ".join(f"{float(data['own'].sel(codes=codes)) / training.trivial():.1%}" for codes in training.CODES)
    return (
        f"T = {data.length}, q = {training.SUPPORT}, d = {training.DIMENSION}, codes of dimension {data.code}, Adam of rate {data.rate:g}, "
        f"at most {data.steps} steps of 256 fresh samples. With the first seed the best step is {stops}, and losses as in training are "
        f"{own} of the trivial one. Tested with q = {UNSEEN}"
    )


def _far(data: xarray.Dataset) -> list[int]:
    return [length for length in data["tested"].values.tolist() if length >= _FAR * data.length - 1]


@measure_stopped.claim(
    "f5-unseen-stochastic",
    every(below(0.1, "loss of stochastic codes over that of the predictor zero", percent=True), "at every length"),
    null=1.0,
)
def losses_of_stochastic_codes(data: xarray.Dataset) -> dict[int, Finding]:
    losses = data["loss"].sel(codes="stochastic") / training.trivial(UNSEEN)
    words = f"{_words(data)} at T = {common.listed(data['tested'].values)}; the largest share is shown."
    return {int(loss.tested): Finding(float(loss), regime=words) for loss in losses}


@measure_stopped.claim(
    "f5-unseen-floor", every(at_least(_FLOOR, "loss of fixed codes"), "at every length from half as long again"), null=0.0
)
def losses_of_fixed_codes(data: xarray.Dataset) -> dict[int, Finding]:
    words = f"{_words(data)} at T = {common.listed(_far(data))}; the lowest is shown."
    losses = data["loss"].sel(codes="fixed", tested=_far(data))
    return {int(loss.tested): Finding(float(loss), regime=words) for loss in losses}


@measure_stopped.claim(
    "f5-unseen-advantage",
    every(at_least(_RATIO, "loss of fixed codes over that of stochastic ones"), "at every length from half as long again"),
    null=1.0,
)
def ratios(data: xarray.Dataset) -> dict[int, Finding]:
    words = f"{_words(data)} at T = {common.listed(_far(data))}; the smallest ratio is shown."
    own, fixed = (data["loss"].sel(codes=codes, tested=_far(data)).values for codes in training.CODES)
    return {length: Finding(float(ratio), regime=words) for length, ratio in zip(_far(data), fixed / own, strict=True)}


@measure_stopped.figure()
def losses_by_length(data: xarray.Dataset) -> Plot:
    figure, lengths = go.Figure(), data["tested"].values
    for number, codes in enumerate(training.CODES):
        add_points(figure, lengths, data["loss"].sel(codes=codes).values, f"{codes} codes", number, joined=True)
    caption = f"Trained at T = {data.length} with q = {training.SUPPORT} and stopped early, tested with q = {UNSEEN}; one seed."
    return common.plotted(
        figure, "Longer sequences with an unseen support", caption, x="test length", y="loss L", ticks=lengths, linear="x"
    )


@measure_stopped.table()
def table_by_length(data: xarray.Dataset) -> Table:
    trivial = training.trivial(UNSEEN)
    rows = [
        [f"{length}", *(f"{float(data['loss'].sel(codes=codes, tested=length)):.3g}" for codes in training.CODES), f"{trivial:.3g}"]
        for length in np.unique(data["tested"])
    ]
    return Table(("length", "stochastic codes", "fixed codes", "predictor zero"), rows, f"{_words(data)}.", "Losses by length")
