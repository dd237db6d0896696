"""Sums of two numbers learnt by transformers with and without positions, causal masks and residual sums, beside what order is worth."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers import Finding, Grid, Scale, above, at_least, at_most, below, both, common, every, grid, measure, positive
from specht.papers.breaking_symmetry import training
from specht.papers.breaking_symmetry.multisets import BASE, floor, sum_digits
from specht.papers.breaking_symmetry.training import BATCH, DEEP, HEADS, MODELS, WIDTH, Stack, models, over_seeds, settings, told
from specht.report import Plot, Table, add_band, add_guide, add_line, colour

ABOVE, BELOW, SOLVED = 1.05, 0.8, 0.98
"""Limits on the loss over the bound, where order is ignored and where it is seen, and on the share of sums that positions get right."""


def _trainings(scale: Scale) -> Grid:
    """Those of which the residual sums are asked about have more seeds: without them trainings end far apart."""
    few, many = {"smoke": (2, 2), "quick": (3, 5), "full": (3, 6)}[scale]
    chosen = (*MODELS, *(DEEP if scale == "full" else ()))
    asked = {model: model.positions == "none" and model.causal and model.depth == 2 for model in chosen}
    return training.trainings({model: many if asked[model] else few for model in chosen}, **settings(scale))


@measure(lambda scale: grid(digits=settings(scale)["digits"], tests=settings(scale)["tests"], seed=0))
def measure_bound(digits: int, tests: int, seed: int) -> xarray.Dataset:
    """What predictors that ignore order can do at most, by listing all problems, and how much of each sum is at which level.

    `shares` are those of the variance of the right answer, written as ones and zeros, by the number of digits that must be singled out.
    """
    known = floor(digits)
    shares = training.profile_of(lambda x: np.eye(BASE)[sum_digits(x)], digits, tests, seed)
    numbers = {"loss": known.loss, "losses": ("place", known.losses), "accuracies": ("place", known.accuracies), "exact": known.exact}
    return xarray.Dataset(numbers | shares)


trainings = measure(_trainings)(training.measure_training)


def _regime(data: xarray.Dataset) -> str:
    norm = "no norm" if data.norm == "none" else f"{data.norm}-norm"
    return (
        f"Sums of two numbers of {data.digits} digits, softmax attention + GELU, {norm}, width {WIDTH}, {HEADS} heads, "
        f"{data.steps} steps of Adam with {BATCH} fresh problems each, {training.seeds(data)}, {data.tests} test problems a seed."
    )


def _listed(means: Mapping[Stack, Finding]) -> str:
    return "; ".join(f"{model}: {told(mean)}" for model, mean in means.items())


def ratios(data: xarray.Dataset, bound: xarray.Dataset, *, positions: bool, invariant: bool) -> dict[Stack, Finding]:
    """Losses at the end over the bound, of models with or without positions that ignore order or see it; their regime lists them all."""
    limit = float(bound["loss"])
    wanted = [model for model in models(data) if model.is_invariant == invariant and (model.positions != "none") == positions]
    means = {model: over_seeds(models(data)[model], "loss") for model in wanted}
    shares_of_bound = {model: Finding(mean.value / limit, (mean.stderr or 0.0) / limit) for model, mean in means.items()}
    words = f"{_regime(data)} Loss over the bound of {limit:.4f} nats a digit: {_listed(shares_of_bound)}."
    return {model: dataclasses.replace(ratio, regime=words) for model, ratio in shares_of_bound.items()}


BEST = "the exact loss of the best predictor that knows the multiset only"


@trainings.claim(
    "addition-invariant",
    both(
        every(at_least(1.0, "mean loss", called=BEST), "for every such network"),
        every(at_most(ABOVE, "mean loss", called=f"{ABOVE:g} of it"), "for every such network"),
    ),
    null=([0.5], [0.5]),
    beside=[measure_bound],
)
def ratios_without_order(data: xarray.Dataset, bound: xarray.Dataset) -> tuple[list[Finding], list[Finding]]:
    means = list(ratios(data, bound, positions=False, invariant=True).values())
    worst = max(means, key=lambda mean: abs(mean.value - (1.0 + ABOVE) / 2))
    shown = [dataclasses.replace(mean, shown=(worst.value, worst.stderr)) for mean in means]
    return shown, shown


@trainings.claim(
    "addition-causal",
    every(below(BELOW, "mean loss", called=f"{BELOW:g} of {BEST}"), "for every such network"),
    null=1.0,
    beside=[measure_bound],
)
def ratios_with_order(data: xarray.Dataset, bound: xarray.Dataset) -> dict[Stack, Finding]:
    return ratios(data, bound, positions=False, invariant=False)


@trainings.claim("addition-positions", above(SOLVED, "share of sums that are right, mean over seeds,", percent=True), null=0.1)
def least_share_of_right_sums(data: xarray.Dataset) -> Finding:
    shares = {model: over_seeds(runs, "exact") for model, runs in models(data).items() if not model.is_invariant}
    worst = min((mean for model, mean in shares.items() if model.positions != "none"), key=lambda mean: mean.value)
    return dataclasses.replace(worst, regime=f"{_regime(data)} Share of sums that are right: {_listed(shares)}.")


@trainings.claim(
    "addition-residual",
    every(positive("what they take off the mean loss after as many steps"), "at every depth from two on"),
    null=0.0,
)
def gains_of_residual_sums(data: xarray.Dataset) -> list[Finding]:
    """By how much the loss at the end is lower with residual sums, at every depth at which order is seen."""
    means = {model: over_seeds(runs, "loss") for model, runs in models(data).items() if model.positions == "none" and model.causal}
    pairs = {model.depth: (mean, means[model._replace(residual=False)]) for model, mean in means.items() if model.residual}
    gains = {depth: training.difference(without, with_) for depth, (with_, without) in pairs.items()}
    listed = "; ".join(
        f"{depth} layer{'s' * (depth > 1)} {told(pairs[depth][0])} with, {told(pairs[depth][1])} without, so {told(gain)} less"
        for depth, gain in gains.items()
    )
    words = (
        f"{_regime(data)} Losses: {listed}. With one layer the bound decides. A residual block also has one more matrix, and other norms, "
        "starts and learning rates may turn the sign: depth and seeds are all that was varied."
    )
    return [dataclasses.replace(gain, regime=words) for depth, gain in gains.items() if depth > 1]


@trainings.figure(measure_bound)
def learning_curves(data: xarray.Dataset, bound: xarray.Dataset) -> Plot:
    figure, steps = go.Figure(), data["step"].values.tolist()
    stacks = list(dict.fromkeys(model._replace(residual=True) for model in models(data)))
    for model, runs in models(data).items():
        number = stacks.index(model._replace(residual=True))
        shade = colour(number)
        red, green, blue = (int(shade[place : place + 2], 16) for place in (1, 3, 5))
        means = [common.mean_of(values) for values in runs["curve"].transpose("step", "seed").values[1:]]
        low, high = ([mean.value + sign * (mean.stderr or 0.0) for mean in means] for sign in (-1, 1))
        add_band(figure, steps[1:], low, high, f"rgba({red},{green},{blue},0.18)", mode="lines", showlegend=False)
        add_line(figure, steps[1:], [mean.value for mean in means], str(model), number, dash="solid" if model.residual else "dot")
    limit = float(bound["loss"])
    add_guide(figure, [1, steps[-1]], [limit, limit], "bound without order")
    caption = (
        "Means over seeds; bands are their standard errors. The dashed line is the exact loss of the best predictor that knows which "
        "digits there are and not where: networks that ignore order cannot go below it."
    )
    plot = common.plotted(figure, "Learning to add", caption, x="steps", y="loss in nats a digit", linear="y")
    figure.update_yaxes(rangemode="tozero")
    return plot


@trainings.table(measure_bound)
def accuracies(data: xarray.Dataset, bound: xarray.Dataset) -> Table:
    limit, places = float(bound["loss"]), bound.sizes["place"]
    right = [f"{value:.3f}" for value in bound["accuracies"].values]
    rows = [["best without order", "", f"{limit:.4f}", "1", *right, f"{float(bound['exact']):.3f}"]]
    for model, runs in models(data).items():
        loss = over_seeds(runs, "loss")
        right = [f"{value:.3f}" for value in runs["accuracies"].mean("seed").values]
        rows.append([
            str(model), str(runs.sizes["seed"]), told(loss), f"{loss.value / limit:.3f}", *right, told(over_seeds(runs, "exact"))
        ])  # fmt: skip
    header = ("network", "seeds", "loss", "over the bound", *(f"{10 ** (places - 1 - k)}s" for k in range(places)), "whole sums")
    note = (
        "Losses in nats a digit, shares of right digits of the sum by their place, and of right sums: means and standard errors over seeds."
    )
    return Table(header, rows, note, "Sums that were learnt")


@trainings.table()
def adjacency(data: xarray.Dataset) -> Table:
    deepest = max(model.depth for model in models(data))
    rows = []
    for model, runs in models(data).items():
        both_ends = [runs[f"adjacency_{time}"].mean("seed").values for time in ("start", "end")]
        cells = [f"{start:.2f} → {end:.2f}" for start, end in zip(*both_ends, strict=True)]
        rows.append([str(model), *cells, *[""] * (deepest + 1 - len(cells))])
    header = ("network", "embedding", *(f"layer {number}" for number in range(1, deepest + 1)))
    note = (
        "How often the nearer of two positions on one side looks more alike, in each layer, before → after training; one half is chance. "
        "Nothing reads the last layer but at “=”."
    )
    return Table(header, rows, note, "Adjacency score")


@trainings.table(measure_bound)
def profiles(data: xarray.Dataset, bound: xarray.Dataset) -> Table:
    rows = [["the sum itself", *_percent(bound["shares"]), f"{100 * float(bound['order']):.1f} %"]]
    for model, runs in models(data).items():
        rows.append([str(model), *_percent(runs["shares"]), f"{100 * common.mean_of(runs['order'].values).value:.1f} %"])
    header = ("function", *(f"level {level}" for level in range(bound.sizes["level"])), "needs order")
    note = (
        "Shares of the variance of the logits as a function of the digits, in %, by the number of digits that are singled out; level 0 "
        "ignores order. Means over seeds. The sum itself is written as ones and zeros."
    )
    return Table(header, rows, note, "Profile of what was learnt")


def _percent(shares: xarray.DataArray) -> list[str]:
    """Means over seeds in per cent, without the minus sign of rounded zeros."""
    clean = abs(shares.round(9))
    return [f"{100 * value:.1f}" for value in (clean.mean("seed") if "seed" in clean.dims else clean).values]
