"""Theorem 2 and figures 1 and 3: stochastic codes converge, to the identity between codes and on contents."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers import Finding, Grid, Scale, above, below, between, both, common, every, fixed, grid, measure, near, points
from specht.papers.token_selection import training
from specht.report import Plot, Table, add_line, add_points, finished, matrix_plot, points_of
from specht.studies import selection

_GROUPS = 6
"""Parts of a pool of draws, by which the recursion has standard errors."""
_N_TEST = 4096
"""Samples that losses of many trainings are measured with: sixteen draws of codes."""


def dynamics(scale: Scale, queries: list[str]) -> Grid:
    """The reduced dynamics of the trainings of a scale."""
    (trained, *_) = training.trainings(scale)
    settings = {name: trained[name] for name in ("length", "code", "steps", "rate")} | {"lengths": fixed(trained["lengths"])}
    return grid(query=queries, **settings, draws=_draws(scale), seed=0)


def _draws(scale: Scale) -> int:
    return common.at_scale(scale, smoke=120, quick=1500, full=1500)


@measure(lambda scale: dynamics(scale, ["dual", "sum"]))
def measure_dynamics(
    length: int, code: int, steps: int, rate: float, query: str, draws: int, lengths: list[int], seed: int
) -> xarray.Dataset:
    """The reduced dynamics of stochastic codes over a pool of draws, with queries that are dual to the codes of their sets or sums.

    What w and v are worth at other lengths in the end is measured over pools of those lengths.
    """

    def pool(T: int) -> Any:
        return selection.draw_pool(np.random.default_rng([seed, 5, T]), T, training.SUPPORT, code, draws, query)

    reduced = selection.stochastic_dynamics(pool(length), training.DIMENSION, learning_rate=rate, steps=steps, records=100, groups=_GROUPS)
    w, v = float(reduced.score[-1]), float(reduced.value[-1])
    others = np.array([selection.pool_loss(pool(T), training.DIMENSION, w, v) for T in lengths])
    fields = ("score", "value", "loss", "score_stderr", "value_stderr", "loss_stderr")
    numbers = {name: ("step", getattr(reduced, name)) for name in fields}
    numbers |= {"other": ("length", others[:, 0]), "other_stderr": ("length", others[:, 1])}
    return xarray.Dataset(numbers, {"step": reduced.steps, "length": lengths})


def _noise(scale: Scale) -> Grid:
    """Short sequences and small codes, where the noise of batches shows most, at equal rate times steps."""
    rates = common.at_scale(scale, smoke=(1.0, 0.25), quick=(1.0, 0.25, 0.0625), full=(1.0, 0.25, 0.0625))
    runs = common.at_scale(scale, smoke=2, quick=2, full=4)
    recipes = points({"rate": rate, "steps": round(100 / rate)} for rate in rates)
    return recipes * grid(length=12, code=24, draws=4 * _draws(scale), runs=runs, seed=0)


@measure(_noise)
def measure_noise(length: int, code: int, steps: int, rate: float, draws: int, runs: int, seed: int) -> xarray.Dataset:
    """w, v and loss at the end of several trainings, and by the reduced dynamics over a large pool."""
    task = selection.Selection(length, training.SUPPORT, training.DIMENSION)
    setting = selection.SelectionTraining(task=task, code=code, learning_rate=rate, steps=steps, n_test=_N_TEST, records=1)
    trainings = [selection.train_selection(setting, 1000 * seed + run) for run in range(runs)]
    matrices = [(np.asarray(run.model.keys, np.float64), np.asarray(run.model.values, np.float64)) for run in trainings]
    values = {
        "score": [np.diag(W)[task.dimension :].mean() for W, _ in matrices],
        "value": [np.diag(V).mean() for _, V in matrices],
        "loss": [run.losses["validation"][-1] for run in trainings],
    }
    pool = selection.draw_pool(np.random.default_rng([seed, 5]), length, task.support, code, draws)
    exact = selection.stochastic_dynamics(pool, task.dimension, learning_rate=rate, steps=steps, records=1, groups=_GROUPS)
    expected = {f"exact_{name}{error}": getattr(exact, f"{name}{error}")[-1] for name in values for error in ("", "_stderr")}
    return xarray.Dataset({name: ("run", row) for name, row in values.items()} | expected)


trained = measure(lambda scale: training.trainings(scale, codes=["stochastic"]))(training.measure_training)


@trained.claim("t2-converges", below(training.ENOUGH, "loss over that of the predictor zero, mean over seeds,", percent=True), null=1.0)
def loss_at_the_end(data: xarray.Dataset) -> Finding:
    return Finding(training.last(data, "validation") / training.trivial(), regime=f"{training.regime(data)}.")


@trained.claim(
    "t2-identity",
    below(0.05, "distance of that block from the nearest multiple of the identity", percent=True, where="of its norm"),
    null=1.0,
)
def distance_from_identity(data: xarray.Dataset) -> Finding:
    return Finding(float(data["unlike"]), regime=f"{training.regime(data)}.")


@measure_noise.claim(
    "t2-recursion",
    both(
        every(near(0, 0.01, "relative difference from the reduced dynamics", percent=True), "for w and v at the smallest rate"),
        near(0, 0.05, "that of the loss", percent=True),
    ),
    null=([0.1, 0.1], 0.5),
)
def differences_at_a_small_rate(data: xarray.Dataset) -> tuple[dict[str, Finding], float]:
    runs = data.isel(rate=0)
    words = (
        f"T = {data.length}, q = {training.SUPPORT}, d = {training.DIMENSION}, codes of dimension {data.code}, SGD of rate "
        f"{runs.rate.item():g} from zero, {runs.steps.item()} steps of 256 fresh samples, {data.runs} trainings a seed; {data.draws} draws "
        "for the recursion. Shares of what the recursion has at the end; the larger one of w and v is shown."
    )
    apart = {name: _difference(runs, name) / float(runs[f"exact_{name}"]) for name in ("score", "value", "loss")}
    loss = apart.pop("loss")
    return {name: Finding(value, regime=words) for name, value in apart.items()}, loss


def _difference(runs: xarray.Dataset, name: str) -> float:
    """Of the mean over trainings from the recursion."""
    return float(runs[name].mean() - runs[f"exact_{name}"])


@measure_noise.claim(
    "t2-noise",
    every(
        near(0, 1, "difference of v over that at the largest rate, divided by the ratio of the rates,"),
        "at every smaller rate, at equal rate times steps",
    ),
    null=[4.0, 16.0],
)
def differences_in_proportion(data: xarray.Dataset) -> dict[float, Finding]:
    """One where differences are proportional to the rate, and less where they go away faster."""
    apart = {part.rate.item(): _difference(part, "value") for part in points_of(data, "rate")}
    largest = max(apart)
    said = ", ".join(f"{apart[rate]:.4f}" for rate in sorted(apart, reverse=True))
    words = (
        f"T = {data.length}, codes of dimension {data.code}, batches of 256, rates {common.listed(list(apart))}, {data.runs} trainings a "
        f"seed; differences of v from the largest rate on are {said} with the first seed."
    )
    return {rate: Finding(apart[rate] / apart[largest] * largest / rate, regime=words) for rate in apart if rate != largest}


@trained.claim(
    "t2-close",
    every(near(0, 0.01, "relative difference from the reduced dynamics at the end, mean over seeds,", percent=True), "for w and v"),
    null=1.0,
    beside=[measure_dynamics],
)
def differences_of_two_numbers(data: xarray.Dataset, recursion: xarray.Dataset) -> dict[str, Finding]:
    exact = recursion.sel(query="dual").isel(step=-1)
    words = f"{training.regime(data)}; the larger one is shown."
    return {name: Finding(float(data[name] / exact[name]) - 1, regime=words) for name in ("score", "value")}


@measure_dynamics.claim("t2-dual-query", above(0.1, "loss with summed codes over the trivial one in the end", percent=True), null=0.0)
def loss_of_sums(data: xarray.Dataset) -> Finding:
    summed, dual = (data.sel(query=query).isel(step=-1) for query in ("sum", "dual"))
    share, error = (float(summed[name]) / training.trivial() for name in ("loss", "loss_stderr"))
    words = (
        f"T = {data.attrs['length']}, q = {training.SUPPORT}, codes of dimension {data.code}, {data.steps} steps of the reduced dynamics "
        f"at rate {data.rate:g}; the dual query is at {float(dual['loss']) / training.trivial():.1%} by then."
    )
    return Finding(share, error, words)


@trained.table(measure_dynamics)
def two_numbers(data: xarray.Dataset, recursion: xarray.Dataset) -> Table:
    rows = []
    for name, query in (("dual: product one with every member", "dual"), ("sum of the members", "sum")):
        exact = recursion.sel(query=query).isel(step=-1)
        cells = [common.with_error(float(exact[field]), float(exact[f"{field}_stderr"]), 4) for field in ("score", "value", "loss")]
        rows.append([f"recursion, {name}", *cells])
    ends = [float(data["score"]), float(data["value"]), training.last(data, "validation")]
    rows.append(["trained, dual", *(common.with_error(end, digits=4) for end in ends)])
    note = "At the end; w is the multiple of the identity between codes and v that on contents. Errors are over groups of draws."
    return Table(("", "w", "v", "loss"), rows, note, "Two numbers")


@trained.figure(measure_dynamics)
def two_numbers_over_time(data: xarray.Dataset, recursion: xarray.Dataset) -> Plot:
    figure = go.Figure()
    training.add_curve(figure, data, "validation", "trained", 0, joined=False)
    for number, query in enumerate(("dual", "sum"), 1):
        name = "recursion" if query == "dual" else "recursion, queries that are sums"
        add_line(figure, recursion["step"].values[1:], recursion["loss"].sel(query=query).values[1:], name, number)
    finished(figure, x="steps", y="loss L")
    caption = "Stochastic codes: one training, and the reduced dynamics of two numbers over a pool of draws."
    return Plot(figure, "Two numbers over a pool of codes", caption, wide=True)


both_codes = measure(training.trainings)(training.measure_training)


@both_codes.claim(
    "f1-linear",
    both(
        between(0.8, 1.25, "slope of 1/L in the last third of the steps over that in the third before"),
        above(0.99, "correlation of 1/L with time over the last half"),
    ),
    null=(0.5, 0.9),
)
def slopes_of_inverse_loss(data: xarray.Dataset) -> tuple[Finding, float]:
    losses = training.curve(data.sel(codes="stochastic"), "validation")
    steps, inverse = losses.steps[1:], 1 / losses.values[1:]
    late = steps >= steps[-1] / 2
    correlation = float(np.corrcoef(steps[late], inverse[late])[0, 1])
    # Any power of time correlates with it over a factor of two, so slopes are compared as well.
    thirds = [(steps >= part * steps[-1]) & (steps <= (part + 1 / 3) * steps[-1]) for part in (1 / 3, 2 / 3)]
    sooner, later = (float(np.polyfit(steps[third], inverse[third], 1)[0]) for third in thirds)
    words = (
        f"{training.regime(data)}; the correlation of 1/L with time is {correlation:.4f} over the last half with the first seed. "
        f"Its slope in the last third of the steps over that in the third before is shown."
    )
    return Finding(later / sooner, regime=words), correlation


@both_codes.claim("f1-cosines", every(above(0.99, "cosine to the ground truth at the end"), "of W and of V"), null=0.0)
def cosines(data: xarray.Dataset) -> dict[str, Finding]:
    ends = data.sel(codes="stochastic").isel(step=-1)
    words = f"{training.regime(data)}; the smaller cosine is shown."
    return {name: Finding(float(ends[name]), regime=words) for name in ("keys_cosine", "values_cosine")}


@both_codes.claim(
    "f1-fixed-codes",
    both(below(0.9, "cosine of W, mean over seeds,"), below(0.1, "loss over the trivial one, mean over seeds,", percent=True)),
    null=(1.0, 0.0),
)
def cosine_of_fixed_codes(data: xarray.Dataset) -> tuple[Finding, float]:
    run = data.sel(codes="fixed")
    loss = training.last(run, "validation") / training.trivial()
    words = (
        f"{training.regime(data)}; fixed codes have a loss of {loss:.1%} of the trivial one with the first seed. The cosine of W is shown."
    )
    return Finding(training.last(run, "keys_cosine"), regime=words), loss


@both_codes.figure()
def losses_and_cosines(data: xarray.Dataset) -> list[Plot]:
    words = "One seed, on fresh samples of the length of training."
    cosines = go.Figure()
    for number, (codes, name, label) in enumerate(
        (codes, name, label) for codes in training.CODES for name, label in (("keys_cosine", "W"), ("values_cosine", "V"))
    ):
        training.add_curve(cosines, data.sel(codes=codes), name, f"{label}, {codes} codes", number)
    finished(cosines, x="steps", y="cosine", linear_y=True)
    return [
        _against_time(data, "validation", lambda x: x, title="Loss", y="loss L", caption=words),
        _against_time(data, "validation", lambda x: 1 / x, title="Inverse loss", y="1 / L", caption=f"A line is L ∝ 1/t. {words}"),
        Plot(cosines, "Cosine to the ground truth", "W* is the identity between codes and V* the identity on contents.", wide=True),
    ]


def _against_time(data: xarray.Dataset, name: str, transform: Any, *, title: str, y: str, caption: str) -> Plot:
    figure = go.Figure()
    for number, codes in enumerate(training.CODES):
        course = training.curve(data.sel(codes=codes), name)
        add_points(figure, course.steps, transform(course.values), f"{codes} codes", number, joined=True)
    return common.plotted(figure, title, caption, x="steps", y=y, linear="xy")


by_adam = measure(lambda scale: training.trainings(scale, "adam", ["stochastic"]))(training.measure_training)


@by_adam.claim(
    "f3-blocks",
    every(below(0.05, "share of the squares of a matrix off its block", percent=True), "for W and for V"),
    null=1.0,
)
def shares_off_the_blocks(data: xarray.Dataset) -> dict[str, Finding]:
    words = f"{training.regime(data)}; the larger share of W or V, of the sum of squares."
    return {name: Finding(float(data[name]), regime=words) for name in ("keys_off", "values_off")}


@by_adam.figure()
def matrices(data: xarray.Dataset) -> list[Plot]:
    caption = f"Rows and columns: {training.DIMENSION} of contents, then codes. Adam, one seed, stochastic codes."
    return [
        matrix_plot(data[f"{which}_{when}"].values, title=f"{words} at the {when}", caption=caption)
        for which, words in (("keys", "W"), ("values", "V"))
        for when in ("start", "end")
    ]
