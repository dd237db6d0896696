"""Theorem 2 and figures 1 and 3: stochastic codes converge, to the identity between codes and on contents."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.token_selection import sources, training
from specht.report.figures import Plot
from specht.report.html import Step, Table
from specht.report.select_figures import matrix_plot

_HERE = f"{sources.PACKAGE}.convergence"
_GROUPS = 6
"""Parts of a pool of draws, by which the recursion has standard errors."""
_N_TEST = 4096
"""Samples that losses of many trainings are measured with: sixteen draws of codes."""


def measure_dynamics(
    length: int, code: int, steps: int, rate: float, query: str, draws: int, lengths: list[int], seed: int
) -> xarray.Dataset:
    """The reduced dynamics of stochastic codes over a pool of draws, with queries that are dual to the codes of their sets or sums.

    What w and v are worth at other lengths in the end is measured over pools of those lengths.
    """
    from specht.learning.selection_codes import draw_pool, pool_loss, stochastic_dynamics

    def pool(T: int) -> Any:
        return draw_pool(np.random.default_rng([seed, 5, T]), T, sources.SUPPORT, code, draws, query)

    found = stochastic_dynamics(pool(length), sources.DIMENSION, learning_rate=rate, steps=steps, records=100, groups=_GROUPS)
    w, v = float(found.score[-1]), float(found.value[-1])
    others = np.array([pool_loss(pool(T), sources.DIMENSION, w, v) for T in lengths])
    fields = ("score", "value", "loss", "score_stderr", "value_stderr", "loss_stderr")
    numbers = {name: ("step", getattr(found, name)) for name in fields}
    numbers |= {"other": ("length", others[:, 0]), "other_stderr": ("length", others[:, 1])}
    return common.record("dynamics", numbers, {"step": found.steps, "length": lengths})


def measure_noise(length: int, code: int, steps: int, rate: float, draws: int, runs: int, seed: int) -> xarray.Dataset:
    """w, v and loss at the end of several trainings, and by the reduced dynamics over a large pool."""
    from specht.learning.selection_codes import draw_pool, stochastic_dynamics
    from specht.nn.selection_training import SelectionTraining, train_selection
    from specht.sequences.selection import Selection

    task = Selection(length, sources.SUPPORT, sources.DIMENSION)
    setting = SelectionTraining(task=task, code=code, learning_rate=rate, steps=steps, n_test=_N_TEST, records=1)
    found = [train_selection(setting, 1000 * seed + run) for run in range(runs)]
    matrices = [(np.asarray(run.model.keys, np.float64), np.asarray(run.model.values, np.float64)) for run in found]
    values = {
        "score": [np.diag(W)[task.dimension :].mean() for W, _ in matrices],
        "value": [np.diag(V).mean() for _, V in matrices],
        "loss": [run.losses["validation"][-1] for run in found],
    }
    pool = draw_pool(np.random.default_rng([seed, 5]), length, task.support, code, draws)
    exact = stochastic_dynamics(pool, task.dimension, learning_rate=rate, steps=steps, records=1, groups=_GROUPS)
    expected = {f"exact_{name}{error}": getattr(exact, f"{name}{error}")[-1] for name in values for error in ("", "_stderr")}
    return common.record("noise", {name: ("run", each) for name, each in values.items()} | expected)


def jobs(scale: Scale) -> list[Job]:
    draws = common.at_scale(scale, smoke=120, quick=1500, full=1500)
    # Short sequences and small codes, where the noise of batches shows most, at equal rate times steps.
    runs = common.at_scale(scale, smoke=3, quick=6, full=12)
    rates = common.at_scale(scale, smoke=(1.0, 0.25), quick=(1.0, 0.25, 0.0625), full=(1.0, 0.25, 0.0625))
    small = {"length": 12, "code": 24, "draws": 4 * draws, "runs": runs, "seed": 0}
    noise = [Job.of(f"{_HERE}:measure_noise", **small, steps=round(100 / rate), rate=rate) for rate in rates]
    return [*training.jobs(scale, codes=["stochastic"]), *(dynamics_job(scale, query) for query in ("dual", "sum")), *noise]


def dynamics_job(scale: Scale, query: str) -> Job:
    """The reduced dynamics of the trainings of a scale."""
    trained = training.jobs(scale)[0].arguments
    given = {name: trained[name] for name in ("length", "code", "steps", "rate", "lengths")}
    draws = common.at_scale(scale, smoke=120, quick=1500, full=1500)
    return Job.of(f"{_HERE}:measure_dynamics", **given, query=query, draws=draws, seed=0)


def judge_converges(results: Results) -> Verdict:
    loss, error = training.last(training.runs(results, "stochastic"), "validation")
    share = training.trivial()
    return holds_if(loss < sources.ENOUGH * share, loss / share, error / share, f"{training.regime(results)}.")


def judge_identity(results: Results) -> Verdict:
    unlike = common.column(training.runs(results, "stochastic"), "unlike")
    words = f"{training.regime(results)}; the largest of all seeds is shown."
    return holds_if(unlike.max() < 0.05, unlike.max(), regime=words)


def judge_recursion(results: Results) -> Verdict:
    """The three numbers at the end at the smallest rate, in standard errors of their difference."""
    found = min(common.chosen(results, "noise"), key=lambda result: result.arguments["rate"])
    differences = {name: _difference(found.data, name) for name in ("score", "value", "loss")}
    away = max(abs(apart) / error for apart, error in differences.values())
    said = ", ".join(common.with_error(*difference, 2) for difference in differences.values())
    given = found.arguments
    words = (
        f"T = {given['length']}, q = {sources.SUPPORT}, d = {sources.DIMENSION}, codes of dimension {given['code']}, SGD of rate "
        f"{given['rate']:g} from zero, {given['steps']} steps of 256 fresh samples, {given['runs']} seeds; {given['draws']} draws for the "
        f"recursion. Differences of w, v and the loss at the end are {said}; the largest is shown, in its standard errors."
    )
    resolved = all(error < 0.01 * abs(float(found.data[f"exact_{name}"])) for name, (_, error) in differences.items() if name != "loss")
    return holds_if(away < 3.0, away, regime=words) if resolved else common.unresolved(words)


def _difference(data: xarray.Dataset, name: str) -> tuple[float, float]:
    """Of the mean over trainings from the recursion, with its standard error."""
    values = data[name].values
    own = values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - data[f"exact_{name}"]), float(np.hypot(own, data[f"exact_{name}_stderr"]))


def judge_noise(results: Results) -> Verdict:
    """How the difference of v goes with the rate, at equal rate times steps."""
    found = common.chosen(results, "noise")
    rates = np.array(common.arguments(found, "rate"))
    apart, errors = np.array([_difference(result.data, "value") for result in found]).T
    power = common.power_law(rates, np.abs(apart), errors)
    said = ", ".join(f"{value:.4f} ± {error:.4f}" for value, error in zip(apart, errors, strict=True))
    words = f"T = 12, codes of dimension 24, batches of 256, rates {', '.join(f'{rate:g}' for rate in rates)}: differences of v are {said}."
    if power is None or power.stderr > 0.3:
        return common.unresolved(words)
    return holds_if(power.exponent + 2 * power.stderr >= 1.0, power.exponent, power.stderr, words)


def judge_close(results: Results) -> Verdict:
    """w and v of the trainings of the other experiments, as shares of what the recursion has."""
    found, (exact,) = training.runs(results, "stochastic"), common.chosen(results, "dynamics", query="dual")
    apart = {name: common.column(found, name).mean() / float(exact.data[name][-1]) - 1 for name in ("score", "value")}
    words = f"{training.regime(results)}: w differs by {apart['score']:+.2%} and v by {apart['value']:+.2%}. The larger one is shown."
    worst = max(map(abs, apart.values()))
    return holds_if(worst < 0.01, worst, regime=words)


def judge_sums(results: Results) -> Verdict:
    (summed,), (dual,) = (common.chosen(results, "dynamics", query=query) for query in ("sum", "dual"))
    share = float(summed.data["loss"][-1]) / training.trivial()
    error = float(summed.data["loss_stderr"][-1]) / training.trivial()
    given = summed.arguments
    words = (
        f"T = {given['length']}, q = {sources.SUPPORT}, codes of dimension {given['code']}, {given['steps']} steps of the reduced dynamics "
        f"at rate {given['rate']:g}; the dual query is at {float(dual.data['loss'][-1]) / training.trivial():.1%} by then."
    )
    return holds_if(share > 0.1, share, error, words)


def tables(results: Results) -> list[Table]:
    rows = []
    for name, query in (("dual: product one with every member", "dual"), ("sum of the members", "sum")):
        (found,) = common.chosen(results, "dynamics", query=query)
        cells = [common.with_error(float(found.data[f][-1]), float(found.data[f"{f}_stderr"][-1]), 4) for f in ("score", "value", "loss")]
        rows.append([f"recursion, {name}", *cells])
    found = training.runs(results, "stochastic")
    cells = []
    for field in ("score", "value"):
        values = common.column(found, field)
        cells.append(common.with_error(values.mean(), values.std(ddof=1) / np.sqrt(len(values)), 4))
    rows.append(["trained, dual", *cells, common.with_error(*training.last(found, "validation"), 4)])
    note = "At the end; w is the multiple of the identity between codes and v that on contents. Errors are over seeds or groups of draws."
    return [Table(("", "w", "v", "loss"), rows, note, "Two numbers")]


def _against_time(results: Results, name: str, transform: Any, *, title: str, y: str, caption: str) -> Plot:
    figure = go.Figure()
    for number, codes in enumerate(training.CODES):
        found = training.curve(training.runs(results, codes), name)
        seen = found.mean > 0
        values = transform(found.mean[seen])
        errors = np.abs(transform(found.mean[seen] + found.stderr[seen]) - values)
        common.add_points(figure, found.steps[seen], values, f"{codes} codes", number, errors=errors, joined=True)
    common.finished(figure, x="steps", y=y, linear_y=True)
    figure.update_xaxes(type="linear", dtick=None)
    return Plot(figure, title, caption, wide=True)


def plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    found = training.curve(training.runs(results, "stochastic"), "validation")
    common.add_points(figure, found.steps[1:], found.mean[1:], "trained", 0, errors=found.stderr[1:])
    for number, query in enumerate(("dual", "sum"), 1):
        (exact,) = common.chosen(results, "dynamics", query=query)
        name = "recursion" if query == "dual" else "recursion, queries that are sums"
        common.add_line(figure, exact.data["step"].values[1:], exact.data["loss"].values[1:], name, number)
    common.finished(figure, x="steps", y="loss L")
    caption = "Stochastic codes: mean over seeds with standard errors, and the reduced dynamics of two numbers over a pool of draws."
    return [Plot(figure, "Two numbers over a pool of codes", caption, wide=True)]


def judge_linear(results: Results) -> Verdict:
    found = training.curve(training.runs(results, "stochastic"), "validation")
    steps, inverse = found.steps[1:], 1 / found.mean[1:]
    late = steps >= steps[-1] / 2
    correlation = float(np.corrcoef(steps[late], inverse[late])[0, 1])
    # Any power of time correlates with it over a factor of two, so slopes are compared as well.
    thirds = [(steps >= part * steps[-1]) & (steps <= (part + 1 / 3) * steps[-1]) for part in (1 / 3, 2 / 3)]
    sooner, later = (float(np.polyfit(steps[third], inverse[third], 1)[0]) for third in thirds)
    words = (
        f"{training.regime(results)}; the correlation of 1/L, L the mean over seeds, with time is {correlation:.4f} over the last half. "
        f"Its slope in the last third of the steps over that in the third before is shown."
    )
    return holds_if(correlation > 0.99 and 0.8 < later / sooner < 1.25, later / sooner, regime=words)


def judge_cosines(results: Results) -> Verdict:
    found = training.runs(results, "stochastic")
    keys, values = (np.array([result.data[name].values[-1] for result in found]) for name in ("keys_cosine", "values_cosine"))
    least = min(keys.min(), values.min())
    return holds_if(least > 0.99, least, regime=f"{training.regime(results)}; the least cosine of both matrices and all seeds is shown.")


def judge_fixed_cosine(results: Results) -> Verdict:
    mean, error = training.last(training.runs(results, "fixed"), "keys_cosine")
    loss = training.last(training.runs(results, "fixed"), "validation")[0] / training.trivial()
    words = f"{training.regime(results)}; fixed codes have a loss of {loss:.1%} of the trivial one. The cosine of W is shown."
    return holds_if(mean < 0.9 and loss < 0.1, mean, error, words)


def loss_plots(results: Results) -> list[Plot]:
    words = "Means over seeds with standard errors, on fresh samples of the length of training."
    cosines = go.Figure()
    for number, (codes, name, label) in enumerate(
        (codes, name, label) for codes in training.CODES for name, label in (("keys_cosine", "W"), ("values_cosine", "V"))
    ):
        found = training.curve(training.runs(results, codes), name)
        common.add_points(cosines, found.steps[1:], found.mean[1:], f"{label}, {codes} codes", number, errors=found.stderr[1:], joined=True)
    common.finished(cosines, x="steps", y="cosine", linear_y=True)
    return [
        _against_time(results, "validation", lambda x: x, title="Loss", y="loss L", caption=words),
        _against_time(results, "validation", lambda x: 1 / x, title="Inverse loss", y="1 / L", caption=f"A line is L ∝ 1/t. {words}"),
        Plot(cosines, "Cosine to the ground truth", "W* is the identity between codes and V* the identity on contents.", wide=True),
    ]


def judge_blocks(results: Results) -> Verdict:
    worst = max(float(result.data["off_block"][-1]) for result in training.runs(results, "stochastic"))
    words = f"{training.regime(results)}; the larger share of W or V over all seeds, of the sum of squares."
    return holds_if(worst < 0.05, worst, regime=words)


def matrix_plots(results: Results) -> list[Plot]:
    found = training.runs(results, "stochastic")[0].data
    plots = []
    for which, words in (("keys", "W"), ("values", "V")):
        for when in ("start", "end"):
            matrix = found[f"{which}_{when}"].values
            caption = f"Rows and columns: {sources.DIMENSION} of contents, then codes. Adam, first seed, stochastic codes."
            plots.append(matrix_plot(matrix, title=f"{words} at the {when}", caption=caption))
    return plots


THEOREM = Experiment(
    name="selection.theorem-2",
    title="Stochastic codes converge",
    shown="Theorem 2: with codes drawn anew at every step, of width of the order of d + q log T, the loss goes to zero.",
    claims=(
        Claim(
            "selection.t2-converges",
            "Attention with stochastic codes learns to select tokens.",
            f"{sources.PAPER}, theorem 2",
            "loss below 2 % of that of the predictor zero, mean over seeds",
            judge_converges,
        ),
        Claim(
            "selection.t2-identity",
            "Between codes W becomes a multiple of the identity.",
            f"{sources.PAPER}, theorem 2",
            "distance of that block from the nearest multiple of the identity below 5 % of its norm, for every seed",
            judge_identity,
        ),
        Claim(
            "selection.t2-recursion",
            "Two numbers over a pool of draws describe the training of the full matrices, where batches make little noise.",
            sources.OURS,
            "w, v and loss at the end within three errors of the reduced dynamics, at the smallest rate; errors of w and v below 1 %",
            judge_recursion,
        ),
        Claim(
            "selection.t2-noise",
            "What separates trainings at larger rates from the reduced dynamics goes away with the rate, at least in proportion to it.",
            sources.OURS,
            "difference of v grows as the rate to a power of one or more, within two errors of at most 0.3, at equal rate times steps",
            judge_noise,
        ),
        Claim(
            "selection.t2-close",
            "At the rate of the other experiments the two numbers are those of the recursion to a per cent.",
            sources.OURS,
            "w and v at the end, means over seeds, within 1 % of the reduced dynamics",
            judge_close,
        ),
        Claim(
            "selection.t2-dual-query",
            "The query must be dual to the codes of its set: with their sum the loss stays up.",
            sources.OURS,
            "loss with summed codes above 10 % of the trivial one in the end",
            judge_sums,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "Codes are random signs, drawn anew for every batch. The query of a set y has product one with every code of it:",
            ("e_y = E_y (E_y^T E_y)^{−1} 1",),
        ),
        Step(
            "Signs and order of coordinates may be changed without changing the law of codes, so on average W stays w I between codes:",
            ("v ← v − η E Σ_i p_i (v p_i − t_i)", "w ← w − (ηd/m) v E Σ_i (v p_i − t_i) p_i (c_i − Σ_j p_j c_j)"),
        ),
    ),
)

LOSSES = Experiment(
    name="selection.figure-1",
    title="Loss, inverse loss, and the ground truth",
    shown="Figure 1: the loss goes to zero and its inverse grows as a line; W and V turn towards the ground truth.",
    claims=(
        Claim(
            "selection.f1-linear",
            "The inverse loss grows linearly in time.",
            f"{sources.FIGURES}, figure 1, left",
            "correlation of 1/L with time above 0.99 over the last half, slope in the last third 0.8 to 1.25 times that before",
            judge_linear,
        ),
        Claim(
            "selection.f1-cosines",
            "W and V converge in direction to the ground truth.",
            f"{sources.FIGURES}, figure 1, right",
            "both cosines above 0.99, for every seed",
            judge_cosines,
        ),
        Claim(
            "selection.f1-fixed-codes",
            "With codes that are drawn once the loss falls as well, but W does not find the ground truth.",
            sources.OURS,
            "loss below 10 % of the trivial one and cosine of W below 0.9, means over seeds",
            judge_fixed_cosine,
        ),
    ),
    jobs=training.jobs,
    plots=loss_plots,
    method=(Step("Loss is half the mean squared error on fresh samples, with several draws of codes."),),
)

MATRICES = Experiment(
    name="selection.figure-3",
    title="What the matrices become",
    shown="Figure 3: heat maps of W and V before and after training from random numbers.",
    claims=(
        Claim(
            "selection.f3-blocks",
            "From a random start only the block between codes of W and that on contents of V grow.",
            f"{sources.FIGURES}, figure 3",
            "below 5 % of the squares of either matrix off its block, for every seed",
            judge_blocks,
        ),
    ),
    jobs=lambda scale: training.jobs(scale, ["adam"], ["stochastic"]),
    plots=matrix_plots,
    method=(Step("Both matrices are trained as a whole; at the start their entries are normal with a standard deviation of 0.02."),),
)
