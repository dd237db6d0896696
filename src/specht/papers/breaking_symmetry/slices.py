"""Vertical slices: whether a position resembles itself from layer to layer, and what training and residual sums have to do with it.

The score compares position i in one layer with the same and with other positions in the next (`specht.probes.similarity.slice_score`). A
residual sum hands the state of a position on to the same position of the next layer, so that the score is large before any training: what
training adds to it is what may speak for the hypothesis of the paper, whose two abstracts differ on it.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers import Finding, Grid, Scale, above, common, every, larger, measure
from specht.papers.breaking_symmetry import training
from specht.papers.breaking_symmetry.training import BATCH, DEEP, HEADS, MODELS, WIDTH, Stack, difference, models, settings
from specht.report import Plot, Table, colour, finished_bars

APART = 0.3
"""How much larger the score is with residual sums."""


def _trainings(scale: Scale) -> Grid:
    """Causal networks without positions of two layers or more, with and without residual sums: those of the addition and, with a norm
    and the small weights that language models begin with, shorter ones of this experiment, which smoke does without."""
    shared = settings(scale)
    many, few, more = common.at_scale(scale, smoke=(2, 2, 0), quick=(5, 3, 3), full=(6, 3, 4))
    plain = {model: many for model in MODELS if model.positions == "none" and model.causal and model.depth == 2}
    plain |= dict.fromkeys(DEEP if scale == "full" else (), few)
    shorter = shared | {"steps": shared["steps"] // 2}
    return training.trainings(plain, **shared) + training.trainings({model._replace(norm="pre"): more for model in plain}, **shorter)


trainings = measure(_trainings)(training.measure_training)


def _later(runs: xarray.Dataset, time: str) -> np.ndarray:
    """Scores of consecutive layers but for the first pair, whose one half is the embedding, (seeds, pairs)."""
    return runs[f"slice_{time}"].transpose("seed", "pair").values[:, 1:]


def change(runs: xarray.Dataset) -> Finding:
    """What training adds to the score, mean over layers and seeds."""
    return common.mean_of((_later(runs, "end") - _later(runs, "start")).mean(axis=1))


def _pairs(data: xarray.Dataset) -> dict[Stack, tuple[xarray.Dataset, xarray.Dataset]]:
    """Runs with and without residual sums, of every depth and norm."""
    groups = models(data)
    return {model: (runs, groups[model._replace(residual=False)]) for model, runs in groups.items() if model.residual}


def _changes(data: xarray.Dataset) -> dict[Stack, tuple[Finding, Finding]]:
    """What training adds with and without residual sums."""
    return {model: (change(with_), change(without)) for model, (with_, without) in _pairs(data).items()}


def _regime(data: xarray.Dataset) -> str:
    steps = np.atleast_1d(data["steps"].values if "steps" in data.coords else data.attrs["steps"])
    return (
        f"Sums of two numbers of {data.digits} digits, causal, no positions, softmax attention + GELU, width {WIDTH}, {HEADS} "
        f"heads, {common.listed(steps)} steps with {BATCH} fresh problems each, {training.seeds(data)}."
    )


def stack_name(model: Stack) -> str:
    """What tells models apart of which only depth, norm and residual sums differ."""
    return f"{model.depth} layers, {'no norm' if model.norm == 'none' else f'{model.norm}-norm'}"


@trainings.claim("slices-training", every(larger("what training adds to the score with them", than="without"), "in every stack"), null=0.0)
def gains(data: xarray.Dataset) -> list[Finding]:
    """What training adds with residual sums, less what it adds without, in every stack."""
    added = _changes(data)
    listed = "; ".join(f"{stack_name(model)}: {_signed(one)} with, {_signed(other)} without" for model, (one, other) in added.items())
    words = f"{_regime(data)} What training adds to the score, mean over layers from the first block on: {listed}."
    return [dataclasses.replace(difference(*pair), regime=words) for pair in added.values()]


def _signed(mean: Finding) -> str:
    return f"{mean.value:+.3f} ± {mean.stderr:.1g}"


def differences(data: xarray.Dataset, time: str) -> list[Finding]:
    """By how much the score is larger with residual sums, for every stack and pair of layers."""
    return [
        difference(common.mean_of(one), common.mean_of(other))
        for with_, without in _pairs(data).values()
        for one, other in zip(_later(with_, time).T, _later(without, time).T, strict=True)
    ]


LARGER = above(APART, "score with them less that without")


@trainings.claim("slices-start", every(LARGER, "in random networks, for every pair of layers from the first block on"), null=0.0)
def differences_at_the_start(data: xarray.Dataset) -> list[Finding]:
    words = f"{_regime(data)} Random networks, the pair of layers where it is least."
    return [dataclasses.replace(apart, regime=words) for apart in differences(data, "start")]


@trainings.claim("slices-trained", every(LARGER, "in trained networks, for every pair of layers from the first block on"), null=0.0)
def differences_at_the_end(data: xarray.Dataset) -> list[Finding]:
    before = common.span([round(apart.value, 2) for apart in differences(data, "start")])
    words = (
        f"{_regime(data)} Score with residual sums less that without, in trained networks, for the pair of layers and the stack where "
        f"it is least; before training it is {before}. The last layer is read at “=” only."
    )
    return [dataclasses.replace(apart, regime=words) for apart in differences(data, "end")]


@trainings.figure()
def bars(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    bars = [(model, runs, pair) for model, runs in models(data).items() for pair in range(1, model.depth)]
    for number, (time, name) in enumerate({"start": "before training", "end": "after training"}.items()):
        means = [common.mean_of(_later(runs, time)[:, pair - 1]) for _, runs, pair in bars]
        figure.add_bar(
            y=[f"{stack_name(model)}, {'residual' if model.residual else 'no residual'}, {pair}→{pair + 1}" for model, _, pair in bars],
            x=[mean.value for mean in means],
            name=name,
            orientation="h",
            marker={"color": colour(number), "opacity": 0.75},
            error_x={"type": "data", "array": [mean.stderr for mean in means], "thickness": 1.2, "width": 3},
            hovertemplate="%{y}<br>%{x:.3f}<extra></extra>",
        )
    finished_bars(figure, x="score of vertical slices", rows=len(bars), row_height=44)
    caption = (
        "How much more a position resembles itself in the next layer than other positions do; means over seeds with standard errors. "
        "Residual sums make the score large before anything is learnt."
    )
    return Plot(figure, "Vertical slices before and after training", caption, wide=True)


@trainings.table()
def what_training_adds(data: xarray.Dataset) -> Table:
    rows = []
    for (model, (one, other)), (runs, _) in zip(_changes(data).items(), _pairs(data).values(), strict=True):
        rows.append([stack_name(model), f"{runs.sizes['seed']}", _signed(one), _signed(other), _signed(difference(one, other))])
    header = ("stack", "seeds", "change with residual sums", "change without", "difference")
    note = "After training less before, mean over pairs of layers from the first block on, with standard errors over seeds."
    return Table(header, rows, note, "What training adds to vertical slices")
