"""Figure 3: accuracy during training above and below the threshold, and what attention reads in the end."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.sparse_variables import sources
from specht.report.figures import GREY, Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.curves"
SUPPORT = 3
FITTED, POOR = 0.01, 0.9
"""Training loss that counts as fitted, and validation accuracy that does not count as learnt."""
ABOVE, BELOW = "above", "below"


def measure_curves(length: int, m: int, runs: int, steps: int, side: str, seed: int) -> xarray.Dataset:
    """Training runs to the end, each on samples of its own: accuracy and losses at every look."""
    from specht.learning.learners import Task, network_learner
    from specht.nn.trials import Schooling
    from specht.sequences.sparse import sparse_function

    who = network_learner(
        "transformer", Task(sparse_function("and", SUPPORT), length, seed=seed), schooling=Schooling(steps=steps, every=steps // 5)
    )
    found = []
    for trial in range(runs):
        train, validation, _ = who.task.draw(m, trial)
        found.append(who.run(train, validation, trial, enough=2.0))
    curves = {
        name: (("run", "look"), np.array([getattr(run, name) for run in found])) for name in ("accuracy", "train_loss", "validation_loss")
    }
    return common.record("curves", curves, {"look": steps // 5 * np.arange(1, 6)})


def measure_attention(length: int, m: int, runs: int, steps: int, seed: int) -> xarray.Dataset:
    """One head of full width: how much it takes from every position, on the mean over validation samples, run by run."""
    from specht.learning.learners import Task, network_learner
    from specht.nn.sparse import BitTransformer
    from specht.nn.trials import Schooling
    from specht.sequences.sparse import sparse_function

    model = BitTransformer(length, heads=1)
    task = Task(sparse_function("and", SUPPORT), length, seed=seed)
    who = network_learner("transformer", task, schooling=Schooling(steps=steps, every=steps // 5), model=model)
    weights, single, accuracy = [], [], []
    for trial in range(runs):
        train, validation, _ = task.draw(m, trial)
        run = who.run(train, validation, trial, enough=2.0)
        taken = np.asarray(model.attention(run.params, validation.x.astype(np.float32)), dtype=np.float64)[:, 0]
        ones = validation.y == 1
        weights.append(taken.mean(axis=0))
        single.append(taken[ones][:8])
        accuracy.append(run.accuracy[-1])
    fields = {
        "weights": (("run", "column"), np.array(weights)),
        "single": (("run", "example", "column"), np.array(single)),
        "accuracy": (("run",), np.array(accuracy)),
    }
    return common.record("attention", fields)


def jobs(scale: Scale) -> list[Job]:
    length, runs = common.at_scale(scale, smoke=12, quick=100, full=100), common.at_scale(scale, smoke=2, quick=16, full=16)
    few, many = common.at_scale(scale, smoke=(10, 60), quick=(25, 120), full=(25, 120))
    steps = common.at_scale(scale, smoke=100, quick=400, full=400)
    found = [
        Job.of(f"{_HERE}:measure_curves", length=length, m=m, runs=runs, steps=steps, side=side, seed=2)
        for m, side in ((few, BELOW), (many, ABOVE))
    ]
    attention = {"length": common.at_scale(scale, smoke=12, quick=50, full=50), "m": common.at_scale(scale, smoke=128, quick=300, full=300)}
    attention |= {
        "runs": common.at_scale(scale, smoke=1, quick=4, full=4),
        "steps": common.at_scale(scale, smoke=250, quick=500, full=500),
    }
    return [*found, Job.of(f"{_HERE}:measure_attention", **attention, seed=3)]


def _side(results: Results, side: str) -> tuple[xarray.Dataset, str]:
    (found,) = common.chosen(results, "curves", side=side)
    given = found.arguments
    return found.data, f"T = {given['length']}, m = {given['m']}, {given['runs']} runs of {given['steps']} steps"


def judge_above(results: Results) -> Verdict:
    data, words = _side(results, ABOVE)
    share = float((data["accuracy"].max("look") >= sources.LEARNT).mean())
    return holds_if(share >= 0.8, share, regime=f"{words}.")


def judge_below(results: Results) -> Verdict:
    """Whether training samples are fitted and validation samples are not."""
    data, words = _side(results, BELOW)
    fitted, best = float(data["train_loss"].isel(look=-1).median()), float(data["accuracy"].max("look").median())
    return holds_if(fitted < FITTED and best < POOR, best, regime=f"{words}; median training loss at the end {fitted:.1e}.")


def _attended(results: Results) -> tuple[xarray.Dataset, str]:
    (found,) = common.chosen(results, "attention")
    given = found.arguments
    return found.data, f"One head, T = {given['length']}, m = {given['m']}, {given['runs']} runs of {given['steps']} steps"


def judge_relevant(results: Results) -> Verdict:
    """The share of all attention that relevant bits get, the rest being that of other bits and of the class symbol itself: the smallest
    over runs that learnt it."""
    data, words = _attended(results)
    learnt = data["accuracy"].values >= sources.LEARNT
    if not learnt.any():
        return Verdict("not tested", regime=f"No run learnt it. {words}.")
    mass = data["weights"].values[learnt, :SUPPORT].sum(axis=1)
    return holds_if(mass.min() >= 0.95, mass.min(), regime=f"{words}, {learnt.sum()} of which learnt it; the smallest mass is shown.")


def judge_irrelevant(results: Results) -> Verdict:
    data, words = _attended(results)
    learnt = data["accuracy"].values >= sources.LEARNT
    if not learnt.any():
        return Verdict("not tested", regime=f"No run learnt it. {words}.")
    largest = data["weights"].values[learnt, SUPPORT:-1].max()
    return holds_if(
        largest <= 1e-2, largest, regime=f"{words}, {learnt.sum()} of which learnt it; the largest mean weight on one bit is shown."
    )


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    for number, side in enumerate((BELOW, ABOVE)):
        data, _ = _side(results, side)
        m = common.chosen(results, "curves", side=side)[0].arguments["m"]
        for place, row in enumerate(data["accuracy"].values):
            style = {"color": common.colour(number), "width": 1.1}
            figure.add_scatter(x=data["look"].values, y=row, mode="lines", name=f"m = {m}", showlegend=place == 0, line=style, opacity=0.7)
        style = {"color": common.colour(number), "width": 2.2, "dash": "dash"}
        loss = data["train_loss"].median("run").values
        figure.add_scatter(x=data["look"].values, y=loss, mode="lines", name=f"training loss, m = {m}", line=style)
    common.finished(figure, x="step", y="validation accuracy, training loss", linear_y=True)
    figure.update_xaxes(type="linear", dtick=None)
    curves = Plot(
        figure,
        "Above and below the threshold",
        "Thin lines: validation accuracy of single runs. Dashed: median training loss. With too few samples it vanishes all the same.",
        wide=True,
    )
    return [curves, _attention_plot(results)]


def _attention_plot(results: Results) -> Plot:
    data, _ = _attended(results)
    figure = go.Figure()
    for place, row in enumerate(data["single"].values[0]):
        figure.add_scatter(
            x=np.arange(1, len(row)),
            y=np.maximum(row[:-1], 1e-9),
            mode="lines+markers",
            name="one sample each",
            showlegend=place == 0,
            line={"color": common.colour(0), "width": 0.8},
            marker={"color": common.colour(0), "size": 4},
            opacity=0.6,
            hovertemplate="bit %{x}: %{y:.2e}<extra></extra>",
        )
    length = data.sizes["column"] - 1
    figure.add_scatter(
        x=[1, length], y=[1e-2, 1e-2], mode="lines", name="one hundredth", line={"color": GREY, "width": 1.1, "dash": "dash"}
    )
    common.finished(figure, x="bit", y="attention weight")
    figure.update_xaxes(type="linear", dtick=5 if length > 20 else 1)
    caption = f"Attention of the class symbol in one run, for samples whose label is one. The label depends on bits 1 to {SUPPORT}."
    return Plot(figure, "What attention reads", caption, wide=True)


def tables(results: Results) -> list[Table]:
    rows = []
    for side in (BELOW, ABOVE):
        data, words = _side(results, side)
        best = data["accuracy"].max("look")
        cells = [f"{float(best.median()):.3f}", f"{int((best >= sources.LEARNT).sum())} of {data.sizes['run']}"]
        rows.append([words, *cells, f"{float(data['train_loss'].isel(look=-1).median()):.1e}"])
    return [Table(("runs", "median best accuracy", "learnt", "median training loss at the end"), rows, "", "Above and below")]


_FIGURE = f"{sources.PAPER}, figure 3"
EXPERIMENT = Experiment(
    name="sparse.f3",
    title="Above and below the threshold, and what attention reads",
    shown="Figure 3: accuracy curves for small and large m; attention weights of one head on each position.",
    claims=(
        Claim(
            "sparse.f3-above",
            "With more samples than the threshold, networks learn AND to the end.",
            _FIGURE,
            "at least 80 % of runs above 99 % accuracy",
            judge_above,
        ),
        Claim(
            "sparse.f3-below",
            "With fewer samples, networks fit their training set and do not generalise.",
            _FIGURE,
            f"median training loss below {FITTED:g} at the end, and median best validation accuracy below {POOR:g}",
            judge_below,
        ),
        Claim(
            "sparse.f3-relevant",
            "A trained head takes almost everything from the relevant bits.",
            _FIGURE,
            "mean mass on the three bits at least 0.95",
            judge_relevant,
        ),
        Claim(
            "sparse.f3-irrelevant",
            "It takes almost nothing from any other bit.",
            _FIGURE,
            "mean weight on every other bit at most 0.01",
            judge_irrelevant,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(Step("Training is that of the thresholds, but goes on to the end. For attention the transformer has one head of width 64."),),
)
