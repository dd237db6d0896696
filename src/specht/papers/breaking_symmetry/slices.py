"""Vertical slices: whether a position resembles itself from layer to layer, and what training and residual sums have to do with it.

The score compares position i in one layer with the same and with other positions in the next (`specht.probes.similarity.slice_score`). A
residual sum hands the state of a position on to the same position of the next layer, so that the score is large before any training: what
training adds to it is what may speak for the hypothesis of the paper, whose two abstracts differ on it.
"""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.breaking_symmetry import sources
from specht.papers.breaking_symmetry.addition import BATCH, DEEP, DEVIATION, HEADS, MODELS, WIDTH, settings, training
from specht.papers.breaking_symmetry.addition_figures import stack_name
from specht.papers.breaking_symmetry.addition_runs import TRAINED, Mean, Model, difference, mean_of, models, seeds
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.report.figures import Plot
from specht.report.html import Step, Table

APART = 0.3
"""How much larger the score is with residual sums."""
ERRORS = 2.0
"""Standard errors from which on a difference counts."""


def jobs(scale: Scale) -> list[Job]:
    """Causal networks without positions of two layers or more, with and without residual sums: those of the addition and, with a norm
    and the small weights that language models begin with, shorter ones of this experiment, which smoke does without."""
    shared = settings(scale)
    many, few, more = common.at_scale(scale, smoke=(2, 2, 0), quick=(5, 3, 3), full=(6, 3, 4))
    deep = {"full": DEEP}.get(scale, ())
    plain = [model for model in MODELS if model.positions == "none" and model.causal and model.depth == 2]
    normed = {**shared, "steps": shared["steps"] // 2}
    return [
        *(training(model, **shared, seed=seed) for model in plain for seed in range(many)),
        *(training(model, **shared, seed=seed) for model in deep for seed in range(few)),
        *(training(model._replace(norm="pre"), **normed, seed=seed) for model in (*plain, *deep) for seed in range(more)),
    ]


def _later(runs: Results, time: str) -> np.ndarray:
    """Scores of consecutive layers but for the first pair, whose one half is the embedding, (seeds, pairs)."""
    return common.stacked(runs, f"slice_{time}")[:, 1:]


def change(runs: Results) -> Mean:
    """What training adds to the score, mean over layers and seeds."""
    return mean_of((_later(runs, "end") - _later(runs, "start")).mean(axis=1))


def _pairs(results: Results) -> dict[Model, tuple[Results, Results]]:
    """Runs with and without residual sums, of every depth and norm."""
    groups = models(results)
    return {model: (runs, groups[model._replace(residual=False)]) for model, runs in groups.items() if model.residual}


def _regime(results: Results) -> str:
    found = common.chosen(results, TRAINED)
    given = found[0].arguments
    return (
        f"Sums of two numbers of {given['digits']} digits, causal, no positions, softmax attention + GELU, width {WIDTH}, {HEADS} "
        f"heads, {common.listed(common.arguments(found, 'steps'))} steps with {BATCH} fresh problems each, {seeds(results)}."
    )


def judge_training(results: Results) -> Verdict:
    """What training adds with residual sums, less what it adds without, in every stack."""
    found = {model: (change(with_), change(without)) for model, (with_, without) in _pairs(results).items()}
    gains = {model: difference(*both) for model, both in found.items()}
    least = min(gains.values(), key=lambda gain: gain.value - ERRORS * gain.stderr)
    each = "; ".join(f"{stack_name(model)}: {_signed(one)} with, {_signed(other)} without" for model, (one, other) in found.items())
    words = f"{_regime(results)} What training adds to the score, mean over layers from the first block on: {each}."
    return holds_if(all(gain.value > ERRORS * gain.stderr for gain in gains.values()), *least, regime=words)


def _signed(mean: Mean) -> str:
    return f"{mean.value:+.3f} ± {mean.stderr:.1g}"


def judge_architecture(results: Results) -> Verdict:
    """How much larger the score of trained networks is with residual sums, in the layers where it is least so."""
    at_start, at_end = (
        [
            difference(mean_of(one), mean_of(other))
            for with_, without in _pairs(results).values()
            for one, other in zip(_later(with_, time).T, _later(without, time).T, strict=True)
        ]
        for time in ("start", "end")
    )
    worst = min(at_end, key=lambda gain: gain.value)
    before = [gain.value for gain in at_start]
    words = (
        f"{_regime(results)} Score with residual sums less that without, in trained networks, for the pair of layers and the stack where "
        f"it is least; before training it is {common.span([round(value, 2) for value in before])}. The last layer is read at “=” only."
    )
    return holds_if(worst.value > APART, *worst, regime=words)


def judge_start(results: Results) -> Verdict:
    """The same before training."""
    found = [
        difference(mean_of(one), mean_of(other))
        for with_, without in _pairs(results).values()
        for one, other in zip(_later(with_, "start").T, _later(without, "start").T, strict=True)
    ]
    worst = min(found, key=lambda gain: gain.value)
    return holds_if(worst.value > APART, *worst, regime=f"{_regime(results)} Random networks, the pair of layers where it is least.")


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    names, values = _bars(results)
    for number, time in enumerate(("start", "end")):
        means = [mean_of(scores) for scores in values[time]]
        figure.add_bar(
            y=names,
            x=[mean.value for mean in means],
            name={"start": "before training", "end": "after training"}[time],
            orientation="h",
            marker={"color": common.colour(number), "opacity": 0.75},
            error_x={"type": "data", "array": [mean.stderr for mean in means], "thickness": 1.2, "width": 3},
            hovertemplate="%{y}<br>%{x:.3f}<extra></extra>",
        )
    common.finished_bars(figure, x="score of vertical slices", rows=len(names), row_height=44)
    caption = (
        "How much more a position resembles itself in the next layer than other positions do; means over seeds with standard errors. "
        "Residual sums make the score large before anything is learnt."
    )
    return [Plot(figure, "Vertical slices before and after training", caption, wide=True)]


def _bars(results: Results) -> tuple[list[str], dict[str, list[np.ndarray]]]:
    """Names of bars, and scores of all seeds for each, before and after training."""
    names: list[str] = []
    values: dict[str, list[np.ndarray]] = {"start": [], "end": []}
    for model, runs in models(results).items():
        for pair in range(1, model.depth):
            names.append(f"{stack_name(model)}, {'residual' if model.residual else 'no residual'}, {pair}→{pair + 1}")
            for time, found in values.items():
                found.append(common.stacked(runs, f"slice_{time}")[:, pair])
    return names, values


def tables(results: Results) -> list[Table]:
    rows = []
    for model, (with_, without) in _pairs(results).items():
        one, other = change(with_), change(without)
        rows.append([stack_name(model), f"{len(with_)}", _signed(one), _signed(other), _signed(difference(one, other))])
    header = ("stack", "seeds", "change with residual sums", "change without", "difference")
    note = "After training less before, mean over pairs of layers from the first block on, with standard errors over seeds."
    return [Table(header, rows, note, "What training adds to vertical slices")]


EXPERIMENT = Experiment(
    name="breaking.slices",
    title="Vertical slices",
    shown=(
        "Abstract: residual connections are thought to encourage all layers at a position to represent that position. The first version "
        "says that evidence is demonstrated, the second that no definitive evidence is found."
    ),
    claims=(
        Claim(
            "breaking.slices-training",
            "Training makes positions resemble themselves more from layer to layer where there are residual connections than where there "
            "are none; the first version of the abstract says “demonstrate evidence”, the second “we do not find definitive evidence”.",
            sources.ABSTRACT,
            "what training adds to the score larger with them than without by more than two standard errors, in every stack",
            judge_training,
        ),
        Claim(
            "breaking.slices-start",
            "Residual connections alone, before any training, make a position resemble itself in the next layer.",
            sources.OURS,
            "score with them above that without by more than 0.3 in random networks, for every pair of layers from the first block on",
            judge_start,
        ),
        Claim(
            "breaking.slices-trained",
            "So it is in trained networks, which says nothing of why.",
            sources.OURS,
            "score with them above that without by more than 0.3 in trained networks, for every pair of layers from the first block on",
            judge_architecture,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "States of each layer are centred over problems and positions, and the cosine of position i in one layer with j in the next is "
            "averaged over problems:",
            ("score = mean_i ( C_{ii} − mean_{j≠i} C_{ij} )",),
        ),
        Step(
            f"Stacks without a norm begin with weights scaled by their fan-in, those with one with a deviation of {DEVIATION:g} "
            "throughout, as language models do."
        ),
    ),
)
