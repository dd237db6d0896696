"""Networks sampled from their posterior by Langevin dynamics against the Gaussian process: how they come to it with width and step."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import xarray

import specht
from specht import sequences
from specht.papers import (
    Criterion,
    Finding,
    Grid,
    Scale,
    at_most,
    below,
    both,
    common,
    every,
    exponent,
    grid,
    larger,
    measure,
    near,
    present,
)
from specht.report import Plot, Table, add_guide, add_line, add_points

LENGTH, SAMPLES, RIDGE = 4, 8, 1.0
"""Contexts of four of two tokens, so that all 32 sequences can be listed; eight of them are samples, and the ridge is E[k]."""
SETTING = f"V = 2, L = {LENGTH}, {SAMPLES} samples, ridge E[k], LeCun variances, labels of variance one, heads of size 4"
LIMIT = 0.1
"""Relative difference of the loss at the largest width: section 7 of the notes."""
ACTIVATIONS = ("linear", "erf", "relu", "gelu")
HEAD_SIZE = 4
WIDTH = 16
"""Of the networks whose step is changed."""
STEPS = (0.5, 0.2, 0.1, 0.05)
"""Step times largest curvature: section 8 of the notes."""
SMALL_STEP = 0.1
_KNOWN = 0.2
"""Standard error up to which an exponent is judged."""
_DIFFERENCE = "relative difference from the Gaussian process"


def measure_posterior(
    activation: str, width: int, heads: int, dataset: int, chains: int, duration: float, step: float, seed: int
) -> xarray.Dataset:
    """The posterior mean of networks on one dataset, at every sequence, against that of the Gaussian process.

    `loss` and `gp_loss` are mean squared errors against the target, `distance` is the mean square of the difference of the two means, all
    free of the noise of a finite number of chains, and `gp_norm` the mean square of the Gaussian process's. `spread` is the mean
    variance of sampled functions.
    """
    x, y = _sequences()
    rows = np.random.default_rng(dataset + seed).choice(len(x), SAMPLES, replace=False)
    arch = specht.Architecture(vocab=2, length=LENGTH, activation=activation)
    gram = specht.Kernel(arch).nngp(x)
    noise = RIDGE * float(gram.diagonal().mean())
    mean = gram[:, rows] @ np.linalg.solve(gram[np.ix_(rows, rows)] + noise * np.eye(SAMPLES), y[rows])
    size = specht.nn.Size(width, heads, HEAD_SIZE)
    sampling = specht.nn.Sampling(chains=chains, samples=40, burn_in=8.0, duration=duration, curvature_step=step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", specht.nn.StepSizeWarning)  # large steps are what is measured
        sampled = specht.nn.langevin(
            lambda key: specht.nn.Network.init(arch, size, key=key),
            x[rows],
            y[rows],
            x,
            noise=noise,
            sampling=sampling,
            seed=(1000 * dataset + width + seed) % 2**31,
        )
    (loss, loss_stderr), (distance, distance_stderr) = sampled.mean_square_error(y), sampled.mean_square_error(mean)
    return xarray.Dataset(
        {
            "loss": loss,
            "loss_stderr": loss_stderr,
            "gp_loss": float(np.square(mean - y).mean()),
            "distance": distance,
            "distance_stderr": distance_stderr,
            "gp_norm": float(np.square(mean).mean()),
            "spread": float(sampled.variance.mean()),
        },
    )


def _sequences() -> tuple[np.ndarray, np.ndarray]:
    """Every sequence, and the target: half of its variance ignores order and half is at level one, of mean zero and variance one."""
    x = sequences.every_sequence(2, LENGTH + 1)
    signs = 2.0 * x[:, :LENGTH] - 1.0
    symmetric = signs.mean(axis=1)
    first = signs[:, 0] - symmetric
    target = symmetric / symmetric.std() + first / first.std()
    return x, (target / target.std())[:, None]


def _wide_points(scale: Scale) -> Grid:
    widths, datasets, chains, duration = common.at_scale(
        scale, smoke=([4, 8], 1, 3, 1.0), quick=([16, 32, 64, 128], 2, 6, 20.0), full=([16, 32, 64, 128, 256], 2, 6, 20.0)
    )
    activations = ACTIVATIONS if scale != "smoke" else ACTIVATIONS[:1]  # every one takes seconds to compile
    networks = Grid(
        {"activation": activation, "width": width, "heads": width // 2}
        for activation in activations
        for width in (widths if activation in ("linear", "erf") else widths[:3])
    )
    return networks * grid(dataset=range(datasets), chains=chains, duration=duration, step=0.05, seed=0)


measure_wide = measure(_wide_points)(measure_posterior)
_HEADS = grid(activation="linear", width=64, heads=[1, 2, 4, 8, 16], dataset=range(2), chains=6, duration=20.0, step=0.05, seed=0)
measure_heads = measure(
    smoke=grid(activation="linear", width=8, heads=[2, 4], dataset=[0], chains=3, duration=1.0, step=0.05, seed=0), quick=_HEADS
)(measure_posterior)
_STEP = grid(activation="erf", width=WIDTH, heads=WIDTH // 2, step=STEPS, seed=0)
measure_step = measure(
    smoke=grid(activation="linear", width=8, heads=4, step=STEPS, dataset=[0], chains=3, duration=1.0, seed=0),
    quick=_STEP * grid(dataset=range(2), chains=8, duration=60.0),
    full=_STEP * grid(dataset=range(4), chains=16, duration=100.0),
)(measure_posterior)

Measured = tuple[np.ndarray, np.ndarray]
"""Values with their standard errors."""


def _totals(data: xarray.Dataset, name: str, unit: str) -> Measured:
    """A mean square over all datasets together, relative to one of the Gaussian process."""
    total = data[unit].sum("dataset").values
    return data[name].sum("dataset").values / total, np.sqrt((data[f"{name}_stderr"] ** 2).sum("dataset").values) / total


def excess(data: xarray.Dataset) -> Measured:
    """Loss over that of the Gaussian process, minus one."""
    ratio, error = _totals(data, "loss", "gp_loss")
    return ratio - 1.0, error


def deviation(data: xarray.Dataset) -> Measured:
    """Root mean square difference of the mean output over its size; zero where noise is all."""
    square, error = _totals(data, "distance", "gp_norm")
    values = np.sqrt(np.maximum(0.0, square))
    return values, np.where(values > 0.0, error / (2.0 * np.where(values > 0.0, values, 1.0)), np.sqrt(error))


def _of(data: xarray.Dataset, activation: str) -> xarray.Dataset:
    """The networks of one activation at the widths that were sampled."""
    return present(data.sel(activation=activation))


def _regime(data: xarray.Dataset) -> str:
    """The setting of the networks of one activation."""
    sizes = f"widths {common.listed(data.width.values)} with half as many heads"
    return f"Linear attention + {data.activation.item()}, {SETTING}, {sizes}, {data.sizes['dataset']} data sets."


def _power(x: np.ndarray, measured: Measured) -> common.Power | None:
    return common.power_law(x, np.abs(measured[0]), measured[1])


def _falling(power: common.Power | None, rest: str = "") -> str:
    return "" if power is None else f" It falls with an exponent of {power.exponent:.2f} ± {power.stderr:.2f}{rest}."


@measure_wide.claim(
    "q3-langevin",
    both(
        near(0, LIMIT, "difference of the loss from that of the Gaussian process", percent=True, where="at the largest width"),
        below(0, "its size less that at the smallest width"),
    ),
    null=(0.5, 0.0),
)
def excess_of_wide_networks(data: xarray.Dataset) -> tuple[Finding, float]:
    data = _of(data, "linear")
    widths, (values, errors) = data.width.values, excess(data)
    if errors[-1] > LIMIT / 2:
        raise common.unresolved(_regime(data))
    slope = _falling(_power(widths, (values, errors)))
    words = f"{_regime(data)} At width {widths[-1]}, from {values[0]:+.0%} at width {widths[0]}.{slope}"
    return Finding(values[-1], errors[-1], words), abs(values[-1]) - abs(values[0])


def _inverse(what: str) -> Criterion:
    return every(exponent(-1, within=0.3, of=f"{what} against the width"), "for every activation, at fixed N")


@measure_wide.claim("e4-width", _inverse("the excess loss"), null=0.0, size=excess)
@measure_wide.claim("e8-mean-output", _inverse("the deviation of the mean output"), null=0.0, size=deviation)
def exponents_of_width(data: xarray.Dataset, size: Callable[[xarray.Dataset], Measured]) -> dict[str, Finding]:
    """The exponent of every activation."""
    cases = {activation: _of(data, activation) for activation in data.activation.values.tolist()}
    powers = {activation: _power(case.width.values, size(case)) for activation, case in cases.items()}
    known = {activation: power for activation, power in powers.items() if power is not None}
    words = _regime(next(iter(cases.values()))).replace(f" + {next(iter(cases))}", "")
    if len(known) < len(powers) or max(power.stderr for power in known.values()) > _KNOWN:
        raise common.unresolved(words)
    slopes = [
        f"{name} {power.exponent:.2f} ± {power.stderr:.2f}, and {_last_slope(cases[name], size):.2f} between the two largest"
        for name, power in known.items()
    ]
    return {name: Finding(power.exponent, power.stderr, f"{words} Slopes: {'; '.join(slopes)}.") for name, power in known.items()}


def _last_slope(data: xarray.Dataset, size: Callable[[xarray.Dataset], Measured]) -> float:
    """The slope between the two largest widths."""
    (before, after), widths = np.abs(size(data)[0][-2:]), data.width.values[-2:]
    return float(np.log(after / before) / np.log(widths[1] / widths[0])) if min(before, after) > 0 else float("nan")


@measure_step.claim(
    "e4-step",
    at_most(
        0.05,
        "relative distance of the loss from that at the smallest step",
        percent=True,
        where=f"where step times largest curvature is at most {SMALL_STEP:g}",
    ),
    null=0.5,
)
def distance_from_smallest_step(data: xarray.Dataset) -> Finding:
    """Losses at small steps over that at the smallest."""
    values, errors = excess(data)
    distances, errors = abs(values[1:] - values[0]) / (1 + values[0]), np.hypot(errors[1:], errors[0])
    small = data.step.values[1:] <= SMALL_STEP
    off, error = max(zip(distances[small].tolist(), errors[small].tolist(), strict=True))
    if error > 0.025:
        raise common.unresolved(f"the loss at the smallest steps is known to {error:.1%} only.")
    words = (
        f"Linear attention + {data.activation}, {SETTING}, width {data.width}. At a step of {data.step.values[-1]:g} over the curvature "
        f"the loss is {distances[-1]:.1%} off."
    )
    return Finding(off, error, words)


@measure_heads.claim("e4-heads", larger("excess of the loss at the fewest heads", than="that at the most", where="at one width"), null=0.0)
def fall_of_excess(data: xarray.Dataset) -> Finding:
    heads, (values, errors) = data.heads.values, excess(data)
    slope = _falling(_power(heads, (values, errors)), "; what remains is the width")
    words = (
        f"Linear attention + linear, {SETTING}, {common.listed(heads)} heads at width {data.width}: excess of the loss {values[-1]:+.0%} ± "
        f"{errors[-1]:.0%} at {heads[-1]}, shown is how much larger it is at {heads[0]}.{slope}"
    )
    return Finding(values[0] - values[-1], float(np.hypot(errors[0], errors[-1])), words)


@measure_heads.figure()
def against_heads(data: xarray.Dataset) -> Plot:
    figure, heads = go.Figure(), data.heads.values
    for number, (size, name) in enumerate(((excess, "test loss"), (deviation, "mean output"))):
        values, errors = size(data)
        add_points(figure, heads, values, name, number, errors=errors, joined=True)
    caption = f"At a width of {data.width}. Few heads average less, and the posterior is further from its limit."
    return common.plotted(figure, "Heads of sampled networks", caption, x="heads", y=_DIFFERENCE, ticks=heads)


@measure_wide.figure()
def against_width(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    for number, activation in enumerate(data.activation.values):
        case = _of(data, activation)
        values, errors = deviation(case)
        add_points(figure, case.width.values, values, f"mean output, {activation}", number, errors=errors, joined=True)
        add_line(figure, case.width.values, np.abs(excess(case)[0]), f"loss, {activation}", number, dash="dot")
    widths = data.width.values
    add_guide(figure, widths, 5.0 / widths, "1/width")
    caption = "Solid: root mean square difference of the posterior means over all sequences. Dotted: difference of their test losses."
    return common.plotted(figure, "Sampled networks come to the Gaussian process", caption, x="width", y=_DIFFERENCE, ticks=widths)


def _percent(value: float, error: float, sign: str = "") -> str:
    return f"{100 * value:{sign}.1f} ± {100 * error:.1f} %"


@measure_wide.table()
def by_width(data: xarray.Dataset) -> Table:
    rows = []
    for activation in data.activation.values:
        case = _of(data, activation)
        for width, *loss, distance, error in zip(case.width.values, *excess(case), *deviation(case), strict=True):
            rows.append([f"{activation}, width {width}", _percent(*loss, sign="+"), _percent(distance, error)])
    note = "Differences from the Gaussian process on the same data, with standard errors over chains."
    return Table(("networks", "test loss", "mean output"), rows, note, "By width")


@measure_step.figure()
def against_step(data: xarray.Dataset) -> Plot:
    figure, steps = go.Figure(), data.step.values
    (values, errors), spread = excess(data), data["spread"].mean("dataset").values
    add_points(figure, steps, 1.0 + values, "test loss over that of the Gaussian process", 0, errors=errors, joined=True)
    add_points(figure, steps, spread / spread[0], "variance of functions over that at the smallest step", 1, joined=True)
    caption = "Uncorrected Langevin dynamics samples too broad a law where steps are large."
    return common.plotted(figure, "Finite steps", caption, x="step × largest curvature", y="ratio", ticks=steps, linear="y")


@measure_step.table()
def by_step(data: xarray.Dataset) -> Table:
    measured = zip(data.step.values, *excess(data), data["spread"].mean("dataset").values, strict=True)
    rows = [[f"{step:g}", _percent(value, error, sign="+"), f"{spread:.4g}"] for step, value, error, spread in measured]
    header = ("step × curvature", "test loss from the Gaussian process", "variance of sampled functions")
    return Table(header, rows, "What remains at small steps is the finite width.", "By step")
