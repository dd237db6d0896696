"""Theorem 1: with one-hot codes the loss goes to zero as one over time, and two numbers say how."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers import Finding, Grid, below, both, common, every, grid, measure, near, points
from specht.papers.token_selection import training
from specht.report import Plot, Table, add_line, finished, points_of, table
from specht.studies import selection

_SHARE = 0.1
"""Of the trivial loss: where the closed form of time is compared."""


def _cases(*cases: tuple[int, int, int]) -> Grid:
    return points({"length": T, "support": q, "dimension": d, "rate": 0.3} for T, q, d in cases)


@measure(
    smoke=_cases((6, 2, 2)) * grid(steps=200),
    quick=_cases((10, 2, 3), (8, 3, 2)) * grid(steps=3000),
    full=_cases((10, 2, 3), (8, 3, 2), (14, 4, 5)) * grid(steps=3000),
)
def measure_full(length: int, support: int, dimension: int, rate: float, steps: int) -> xarray.Dataset:
    """Gradient descent over full matrices, W between codes and V of contents and codes, with every set listed, in float64."""
    import jax
    import jax.numpy as jnp

    task = selection.Selection(length, support, dimension)
    members = np.zeros((task.sets, length))
    np.put_along_axis(members, task.subsets(), 1.0, axis=1)
    exact = selection.one_hot_dynamics(length, support, dimension, learning_rate=rate, steps=steps, records=40)

    def loss(matrices: Any) -> Any:
        W, V, U = matrices
        p, t = jax.nn.softmax(members @ W.T, axis=-1), members / support
        # Contents are standard normal, so their expectation is known: E|V X p - X t + U p|^2 for weights p and wanted weights t.
        content = (V**2).sum() * (p * p).sum(axis=1) - 2 * jnp.trace(V) * (p * t).sum(axis=1) + dimension * (t * t).sum(axis=1)
        return 0.5 * (content + ((p @ U.T) ** 2).sum(axis=1)).mean()

    with jax.enable_x64(True):
        whole = jax.jit(loss)
        step = jax.jit(lambda matrices: jax.tree.map(lambda x, g: x - rate * g, matrices, jax.grad(loss)(matrices)))
        matrices: Any = (jnp.zeros((length, length)), jnp.zeros((dimension, dimension)), jnp.zeros((dimension, length)))
        apart, done = [], 0
        for place, wanted in enumerate(exact.steps):
            for _ in range(done, wanted):
                matrices = step(matrices)
            done = wanted
            W, V, U = (np.asarray(matrix) for matrix in matrices)
            expected = exact.score[place] * (np.eye(length) - 1 / length), exact.value[place] * np.eye(dimension), 0.0
            gaps = [np.abs(actual - wished).max() for actual, wished in zip((W, V, U), expected, strict=True)]
            apart.append(max(*gaps, abs(float(whole(matrices)) - exact.loss[place])))
    return xarray.Dataset({"apart": ("step", apart), "loss": ("step", exact.loss)}, {"step": exact.steps})


def _course(length: int, rate: float, durations: float) -> xarray.Dataset:
    """The recursion for so many times T^2/(eta d) steps: the slope of 1/L at the end, and the time to a tenth of the loss."""
    q, d = training.SUPPORT, training.DIMENSION
    steps = int(durations * length**2 / (rate * d))
    course = selection.one_hot_dynamics(length, q, d, learning_rate=rate, steps=steps, records=2000)
    late = course.steps >= steps / 2
    slope = np.polyfit(course.steps[late], 1 / course.loss[late], 1)[0] / (4 * rate / (length - 1))
    tenth = np.interp(-_SHARE * d / (2 * q), -course.loss, course.steps)
    shown = np.unique(np.linspace(0, len(course.steps) - 1, 120).astype(int))
    fields = {
        "slope": slope,
        "tenth": tenth,
        "predicted": float(selection.time_of_loss(_SHARE * d / (2 * q), length, q, d, rate)),
        "loss": ("step", course.loss[shown]),
        "asymptote": ("step", selection.asymptote(np.maximum(course.steps[shown], 1), length, rate)),
    }
    fields |= {f"phase_{name}": float(value) for name, value in selection.phases(length, q, d, rate)._asdict().items()}
    return xarray.Dataset(fields, {"step": course.steps[shown]})


@measure(
    smoke=grid(length=[20, 100], rate=1.0, durations=60.0),
    quick=grid(length=[50, 200, 1000, 4000], rate=1.0, durations=60.0),
    full=grid(length=[50, 200, 1000, 4000, 8000], rate=1.0, durations=60.0),
)
def measure_recursion(length: int, rate: float, durations: float) -> xarray.Dataset:
    """The recursion at a large rate, up to long sequences."""
    return _course(length, rate, durations)


SMALL_RATE = 1 / (20 * training.DIMENSION**2)
"""The largest that the theorem allows; it also asks for lengths of more than four times as many positions as are chosen."""


@measure(
    smoke=grid(length=[16, 24], rate=SMALL_RATE, durations=60.0),
    quick=grid(length=[16, 50, 100, 200], rate=SMALL_RATE, durations=60.0),
)
def measure_small_rate(length: int, rate: float, durations: float) -> xarray.Dataset:
    """The recursion under the conditions of the theorem."""
    return _course(length, rate, durations)


@measure_full.claim(
    "t1-recursion",
    every(
        below(
            1e-10,
            "distance of W between codes, V and the loss from the recursion, and of what of W reads contents from zero",
            where="at every recorded step",
        ),
        "for every length",
    ),
    null=1.0,
)
def distances_from_recursion(data: xarray.Dataset) -> dict[int, Finding]:
    """What of W reads contents stays zero by the symmetry x → −x."""
    places = zip(data.length.values, data.support.values, data.dimension.values, strict=True)
    cases = " and ".join(f"T = {T}, q = {q}, d = {d}" for T, q, d in places)
    words = f"{cases}, every set listed, {data.steps} steps of rate 0.3 from zero, float64; the largest difference is shown."
    return {part.length.item(): Finding(float(part["apart"].max()), regime=words) for part in points_of(data, "length")}


def _recursions(data: xarray.Dataset) -> str:
    return f"q = {training.SUPPORT}, d = {training.DIMENSION}, rate 1, T = {common.listed(data.length.values)}"


@measure_recursion.claim(
    "t1-rate", every(near(1, 0.02, "slope of 1/L over the last half of the steps over 4η/(T − 1)"), "at every length"), null=0.0
)
def slopes(data: xarray.Dataset) -> dict[int, Finding]:
    words = f"{_recursions(data)}, {data.durations:g} T²/(ηd) steps; the slope farthest from the predicted one is shown."
    return {part.length.item(): Finding(float(part["slope"]), regime=words) for part in points_of(data, "length")}


@measure_small_rate.claim(
    "t1-small-rate",
    both(
        every(near(1, 0.02, "slope of 1/L over the last half of the steps over 4η/(T − 1)"), "at every length"),
        every(below(0.01, "loss at the end over that of the predictor zero", percent=True), "at every length"),
    ),
    null=([0.0], [1.0]),
)
def slopes_and_ends(data: xarray.Dataset) -> tuple[dict[int, Finding], dict[int, float]]:
    q, d = training.SUPPORT, training.DIMENSION
    ends = {part.length.item(): float(part.dropna("step")["loss"][-1]) / training.trivial() for part in points_of(data, "length")}
    counted = ", ".join(f"{data.durations * T**2 / (data.rate * d) / 1e6:.3g}" for T in ends)
    words = (
        f"q = {q}, d = {d}, T = {common.listed(data.length.values)}, rate {data.rate:g}, which is 1/20d², {counted} million steps; "
        f"the slope farthest from the predicted one is shown. Losses end at {common.span([float(f'{end:.2g}') for end in ends.values()])} "
        "of that of the predictor zero."
    )
    return {part.length.item(): Finding(float(part["slope"]), regime=words) for part in points_of(data, "length")}, ends


@measure_recursion.claim(
    "t1-phases", near(1, 0.02, "predicted over counted steps to a tenth of the trivial loss", where="at the longest sequences"), null=2.0
)
def predicted_over_counted(data: xarray.Dataset) -> Finding:
    ratios = (data["predicted"] / data["tenth"]).values
    words = (
        f"{_recursions(data)}: predicted over counted steps to a tenth of the trivial loss are {common.listed(np.round(ratios, 3))}; "
        "that of the longest is shown. Shorter sequences are off by a share of the order of d/T."
    )
    return Finding(float(ratios[-1]), regime=words)


@measure_recursion.figure()
def losses(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for number, part in enumerate(points_of(data, "length")):
        run, length = part.dropna("step"), part.length.item()  # other lengths are recorded at other steps
        steps = run["step"].values
        add_line(figure, steps[1:], run["loss"].values[1:], f"T = {length}", number)
        seen = run["asymptote"].values < training.DIMENSION / (2 * training.SUPPORT)
        add_line(figure, steps[seen], run["asymptote"].values[seen], f"T = {length}, asymptote", number, dash="dot", legend=False)
    finished(figure, x="steps", y="loss L")
    figure.update_yaxes(range=[-5, 0.2])
    caption = "Exact population gradient descent with one-hot codes, and (T − 1)/(4ηt), dotted. Loss is half the mean squared error."
    return Plot(figure, "The loss falls as one over time", caption, wide=True)


@measure_recursion.table()
def phases(data: xarray.Dataset) -> Table:
    columns = {
        "T": "length",
        "values learnt": "phase_value:,.0f",
        "half of attention": "phase_attention:,.0f",
        "asymptote": "phase_tail:,.0f",
        "a tenth of the loss": "tenth:,.0f",
        "by closed form": "predicted:,.0f",
        "slope over predicted": "slope:.4f",
    }
    note = "Steps at which the phases end, by closed forms, and the time to a tenth of the trivial loss."
    return table(data, columns, rows=["length"], note=note, title="Phases")


@measure_small_rate.table()
def small_rates(data: xarray.Dataset) -> Table:
    rows = []
    for part in points_of(data, "length"):
        run = part.dropna("step")
        share = float(run["loss"][-1]) / training.trivial()
        rows.append(
            [
                f"{part.length.item()}",
                f"{int(run['step'][-1]):,}",
                f"{float(part['tenth']):,.0f}",
                f"{share:.2%}",
                f"{float(part['slope']):.4f}",
            ]
        )
    header = ("T", "steps", "steps to a tenth of the loss", "loss at the end over the trivial one", "slope over predicted")
    note = f"At rate {data.rate:g} with q = {training.SUPPORT} and d = {training.DIMENSION}."
    return Table(header, rows, note, "Under the conditions of the theorem")
