"""Theorem 2 and figures 1 and 3: stochastic codes converge, to the identity between codes and on contents."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers import Finding, Grid, Scale, above, at_least, below, between, both, common, fixed, grid, measure, points
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
    runs = common.at_scale(scale, smoke=3, quick=6, full=12)
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
    (loss, error), share = training.last(data, "validation"), training.trivial()
    return Finding(loss / share, error / share, f"{training.regime(data)}.")


@trained.claim(
    "t2-identity",
    below(0.05, "distance of that block from the nearest multiple of the identity", percent=True, where="of its norm, for every seed"),
    null=1.0,
)
def distance_from_identity(data: xarray.Dataset) -> Finding:
    return Finding(float(data["unlike"].max()), regime=f"{training.regime(data)}; the largest of all seeds is shown.")


KNOWN = 0.01
"""Relative errors of w and v with which the recursion is compared."""


@measure_noise.claim(
    "t2-recursion",
    below(3, "distance of w, v and the loss at the end from the reduced dynamics in standard errors", where="at the smallest rate"),
    null=10.0,
)
def distance_from_recursion(data: xarray.Dataset) -> Finding:
    """Standard errors are those of the difference, and those of w and v must be small."""
    runs = data.isel(rate=0)
    differences = {name: _difference(runs, name) for name in ("score", "value", "loss")}
    away = max(abs(apart) / error for apart, error in differences.values())
    said = ", ".join(common.with_error(*difference, 2) for difference in differences.values())
    words = (
        f"T = {data.length}, q = {training.SUPPORT}, d = {training.DIMENSION}, codes of dimension {data.code}, SGD of rate "
        f"{runs.rate.item():g} from zero, {runs.steps.item()} steps of 256 fresh samples, {data.runs} seeds; {data.draws} draws for the "
        f"recursion. Differences of w, v and the loss at the end are {said}; the largest is shown, in its standard errors."
    )
    resolved = all(error < KNOWN * abs(float(runs[f"exact_{name}"])) for name, (_, error) in differences.items() if name != "loss")
    if not resolved:
        raise common.unresolved(words)
    return Finding(away, regime=words)


def _difference(runs: xarray.Dataset, name: str) -> tuple[float, float]:
    """Of the mean over trainings from the recursion, with its standard error."""
    values = runs[name].values
    own = values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - runs[f"exact_{name}"]), float(np.hypot(own, runs[f"exact_{name}_stderr"]))


STEEP = 0.3
"""Standard error of an exponent from which on it is not judged."""


@measure_noise.claim(
    "t2-noise",
    at_least(
        1, "power of the rate with which the difference of v grows", where=f"at equal rate times steps, where it is known to {STEEP:g}"
    ),
    null=0.0,
)
def power_of_the_rate(data: xarray.Dataset) -> Finding:
    runs = data.isel(rate=slice(None, None, -1))
    apart, errors = np.array([_difference(part, "value") for part in points_of(runs, "rate")]).T
    said = ", ".join(f"{value:.4f} ± {error:.4f}" for value, error in zip(apart, errors, strict=True))
    rates = ", ".join(f"{rate:g}" for rate in runs.rate.values)
    words = f"T = 12, codes of dimension 24, batches of 256, rates {rates}: differences of v are {said}."
    power = common.exponent_of(runs.rate.values, np.abs(apart), errors, words)
    if (power.stderr or 0.0) > STEEP:
        raise common.unresolved(words)
    return power


@trained.claim(
    "t2-close",
    below(0.01, "difference of w and v at the end from the reduced dynamics, means over seeds,", percent=True),
    null=1.0,
    beside=[measure_dynamics],
)
def difference_of_two_numbers(data: xarray.Dataset, recursion: xarray.Dataset) -> Finding:
    """As shares of what the recursion has."""
    exact = recursion.sel(query="dual").isel(step=-1)
    apart = {name: data[name].values.mean() / float(exact[name]) - 1 for name in ("score", "value")}
    words = f"{training.regime(data)}: w differs by {apart['score']:+.2%} and v by {apart['value']:+.2%}. The larger one is shown."
    return Finding(max(map(abs, apart.values())), regime=words)


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
    numbers = [common.mean_and_error(data[field]) for field in ("score", "value")]
    cells = [common.with_error(float(mean), float(error), 4) for mean, error in numbers]
    rows.append(["trained, dual", *cells, common.with_error(*training.last(data, "validation"), 4)])
    note = "At the end; w is the multiple of the identity between codes and v that on contents. Errors are over seeds or groups of draws."
    return Table(("", "w", "v", "loss"), rows, note, "Two numbers")


@trained.figure(measure_dynamics)
def two_numbers_over_time(data: xarray.Dataset, recursion: xarray.Dataset) -> Plot:
    figure = go.Figure()
    training.add_curve(figure, data, "validation", "trained", 0, joined=False)
    for number, query in enumerate(("dual", "sum"), 1):
        name = "recursion" if query == "dual" else "recursion, queries that are sums"
        add_line(figure, recursion["step"].values[1:], recursion["loss"].sel(query=query).values[1:], name, number)
    finished(figure, x="steps", y="loss L")
    caption = "Stochastic codes: mean over seeds with standard errors, and the reduced dynamics of two numbers over a pool of draws."
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
    steps, inverse = losses.steps[1:], 1 / losses.mean[1:]
    late = steps >= steps[-1] / 2
    correlation = float(np.corrcoef(steps[late], inverse[late])[0, 1])
    # Any power of time correlates with it over a factor of two, so slopes are compared as well.
    thirds = [(steps >= part * steps[-1]) & (steps <= (part + 1 / 3) * steps[-1]) for part in (1 / 3, 2 / 3)]
    sooner, later = (float(np.polyfit(steps[third], inverse[third], 1)[0]) for third in thirds)
    words = (
        f"{training.regime(data)}; the correlation of 1/L, L the mean over seeds, with time is {correlation:.4f} over the last half. "
        f"Its slope in the last third of the steps over that in the third before is shown."
    )
    return Finding(later / sooner, regime=words), correlation


@both_codes.claim("f1-cosines", above(0.99, "both cosines", where="for every seed"), null=0.0)
def least_cosine(data: xarray.Dataset) -> Finding:
    ends = data.sel(codes="stochastic").isel(step=-1)
    words = f"{training.regime(data)}; the least cosine of both matrices and all seeds is shown."
    return Finding(min(float(ends["keys_cosine"].min()), float(ends["values_cosine"].min())), regime=words)


@both_codes.claim(
    "f1-fixed-codes",
    both(below(0.9, "cosine of W, mean over seeds,"), below(0.1, "loss over the trivial one, mean over seeds,", percent=True)),
    null=(1.0, 0.0),
)
def cosine_of_fixed_codes(data: xarray.Dataset) -> tuple[Finding, float]:
    runs = data.sel(codes="fixed")
    loss = training.last(runs, "validation")[0] / training.trivial()
    words = f"{training.regime(data)}; fixed codes have a loss of {loss:.1%} of the trivial one. The cosine of W is shown."
    return Finding(*training.last(runs, "keys_cosine"), words), loss


@both_codes.figure()
def losses_and_cosines(data: xarray.Dataset) -> list[Plot]:
    words = "Means over seeds with standard errors, on fresh samples of the length of training."
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
        seen = course.mean > 0
        values = transform(course.mean[seen])
        errors = np.abs(transform(course.mean[seen] + course.stderr[seen]) - values)
        add_points(figure, course.steps[seen], values, f"{codes} codes", number, errors=errors, joined=True)
    return common.plotted(figure, title, caption, x="steps", y=y, linear="xy")


by_adam = measure(lambda scale: training.trainings(scale, "adam", ["stochastic"]))(training.measure_training)


@by_adam.claim(
    "f3-blocks", below(0.05, "share of the squares of either matrix off its block", percent=True, where="for every seed"), null=1.0
)
def share_off_the_blocks(data: xarray.Dataset) -> Finding:
    words = f"{training.regime(data)}; the larger share of W or V over all seeds, of the sum of squares."
    return Finding(float(data["off_block"].isel(step=-1).max()), regime=words)


@by_adam.figure()
def matrices(data: xarray.Dataset) -> list[Plot]:
    caption = f"Rows and columns: {training.DIMENSION} of contents, then codes. Adam, first seed, stochastic codes."
    return [
        matrix_plot(data[f"{which}_{when}"].isel(seed=0).values, title=f"{words} at the {when}", caption=caption)
        for which, words in (("keys", "W"), ("values", "V"))
        for when in ("start", "end")
    ]
