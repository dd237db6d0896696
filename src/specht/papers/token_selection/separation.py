"""The separation: how large codes must be for attention, and how wide the first layer of a fully connected network."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers import Finding, above, below, both, common, every, grid, measure, positive, prefers
from specht.papers.token_selection import training
from specht.report import Plot, Table, add_line, add_points, finished, points_of
from specht.studies import selection
from specht.studies.sparse import SEPARATED, fit_growth

_LARGER, _SMALLER = 1.5, 0.7
"""Dimensions at which attention is trained, in units of the smallest that theory gives."""
_LEAST_LENGTHS = 4


@measure(
    smoke=grid(length=[8, 16], draws=60, seed=0),
    quick=grid(length=[25, 50, 100, 200, 400, 800], draws=500, seed=0),
    full=grid(length=[25, 50, 100, 200, 400, 800, 1600, 3200], draws=1000, seed=0),
)
def measure_smallest(length: int, draws: int, seed: int) -> xarray.Dataset:
    """The smallest dimension of stochastic codes with which the two numbers of the reduced dynamics get below 2 % of the trivial loss."""
    smallest = selection.smallest_code(length, training.SUPPORT, training.ENOUGH, draws=draws, seed=seed)
    width = float(selection.width_needed(training.ENOUGH, length, training.SUPPORT, training.DIMENSION))
    return xarray.Dataset({"code": float(smallest), "width": width})


@measure(
    smoke=grid(length=8, factor=[_SMALLER, _LARGER], draws=60, steps=60, seed=0),
    quick=grid(length=[25, 100], factor=[_SMALLER, _LARGER], draws=500, steps=1500, seed=0),
    full=grid(length=[25, 50, 100, 200], factor=[_SMALLER, _LARGER], draws=1000, steps=2500, seed=0),
)
def measure_reached(length: int, factor: float, draws: int, steps: int, seed: int) -> xarray.Dataset:
    """The loss that training reaches with codes of so many times that dimension, and the least that theory allows."""
    task = selection.Selection(length, training.SUPPORT, training.DIMENSION)
    code = round(factor * selection.smallest_code(length, task.support, training.ENOUGH, draws=draws, seed=0))
    setting = selection.SelectionTraining(
        task=task, code=code, optimiser="adam", schedule="cosine", learning_rate=0.02, steps=steps, scale=0.02, n_test=8192, records=1
    )
    run = selection.train_selection(setting, seed)
    pool = selection.draw_pool(np.random.default_rng([seed, 6]), length, task.support, code, 4 * draws)
    fields = {
        "code": float(code),
        "share": run.losses["validation"][-1] / task.trivial_loss,
        "least": selection.best_share(pool).share,
    }
    return xarray.Dataset(fields)


def _fit(lengths: np.ndarray, codes: np.ndarray) -> tuple[float, float, float]:
    """Dimension = a + b log T: both numbers, and the share of the variance that is explained."""
    design = np.stack([np.ones(len(lengths)), np.log(lengths)], axis=1)
    (a, b), *_ = np.linalg.lstsq(design, codes, rcond=None)
    rest = codes - design @ [a, b]
    return float(a), float(b), float(1 - (rest**2).sum() / ((codes - codes.mean()) ** 2).sum())


@measure_smallest.claim(
    "log-length",
    both(
        positive("factor b of log T in a + b log T"),
        above(0.95, "share of the variance of the smallest dimensions that it explains", percent=True),
        below(0.25, "exponent of a power law"),
    ),
    null=(0.0, 0.5, 1.0),
)
def factor_of_the_logarithm(data: xarray.Dataset) -> tuple[Finding, float, float]:
    lengths, codes = data.length.values, data["code"].values
    a, b, explained = _fit(lengths, codes)
    power = common.power_law(lengths, codes)
    assert power is not None
    words = (
        f"q = {training.SUPPORT}, T = {common.span(lengths)}, {data.draws} draws: with the first seed m = {a:.1f} + {b:.2f} log T explains "
        f"{explained:.1%} of the variance, and m grows as T^{{{power.exponent:.2f}}} over this range. The factor of log T is shown."
    )
    return Finding(b, regime=words), explained, power.exponent


@measure_smallest.claim("log-law", prefers("the logarithm", "a power law", by=SEPARATED), null=-10.0)
def advantage_of_the_logarithm(data: xarray.Dataset) -> Finding:
    """Smallest dimensions are whole numbers, and so have an error of rounding at least."""
    lengths, codes = data.length.values, data["code"].values
    if len(lengths) < _LEAST_LENGTHS:
        raise common.nothing(f"Laws are told apart from {_LEAST_LENGTHS} lengths on, and there are {len(lengths)}.")
    fit = fit_growth(lengths.tolist(), codes.tolist(), (1 / np.sqrt(12) / codes).tolist())
    said = fit.verdict[0].upper() + fit.verdict[1:]
    words = (
        f"With the first seed: {said}; exponent {fit.exponent:.2f} ± {fit.exponent_stderr:.2f}. q = {training.SUPPORT}, "
        f"T = {common.span(lengths)}."
    )
    return Finding(fit.advantage("log", "power"), regime=words)


@measure_smallest.claim(
    "separation",
    both(
        above(10, "least width over d + m at the longest sequences"),
        every(positive("its rise from one length to the next"), "at every length"),
    ),
    null=(1.0, [0.0]),
)
def ratios_of_widths(data: xarray.Dataset) -> tuple[Finding, dict[int, float]]:
    lengths, widths = data.length.values, data["width"].values
    ratios = widths / (training.DIMENSION + data["code"].values)
    words = (
        f"q = {training.SUPPORT}, d = {training.DIMENSION}, T = {common.span(lengths)}: attention of width d + m against "
        f"{widths[0]:.0f} to {widths[-1]:.0f} units for 2 % of the trivial error. The ratio grows from {ratios[0]:.2g}; the last is shown."
    )
    return Finding(float(ratios[-1]), regime=words), dict(zip(lengths[1:].tolist(), np.diff(ratios).tolist(), strict=True))


@measure_reached.claim(
    "smallest-codes",
    both(
        every(
            below(training.ENOUGH, f"loss over the trivial one with {_LARGER:g} times the smallest dimension", percent=True),
            "at every length",
        ),
        every(above(training.ENOUGH, f"that with {_SMALLER:g} times", percent=True), "at every length"),
    ),
    null=([0.01], [0.01]),
)
def losses_reached(data: xarray.Dataset) -> tuple[dict[int, Finding], dict[int, float]]:
    larger, smaller = ({int(part.length): float(part) for part in data["share"].sel(factor=factor)} for factor in (_LARGER, _SMALLER))
    words = (
        f"q = {training.SUPPORT}, d = {training.DIMENSION}, T = {common.listed(data.length.values)}, Adam of rate 0.02 falling to zero, "
        f"{data.steps} steps. The largest share with {_LARGER:g} times the smallest dimension is shown; with {_SMALLER:g} times it is "
        f"{common.span(np.round(list(smaller.values()), 4))} with the first seed."
    )
    return {length: Finding(share, regime=words) for length, share in larger.items()}, smaller


@measure_smallest.figure()
def codes_and_widths(data: xarray.Dataset) -> Plot:
    lengths, codes = data.length.values, data["code"].values
    a, b, _ = _fit(lengths, codes)
    figure = go.Figure()
    add_points(figure, lengths, codes, "attention: smallest dimension of codes", 0)
    add_line(figure, lengths, a + b * np.log(lengths), f"{a:.0f} + {b:.1f} log T", 0, dash="dash")
    add_points(figure, lengths, data["width"].values, "fully connected: least width, by the bound", 1)
    add_line(figure, lengths, training.DIMENSION * lengths, "T d", 1, dash="dash")
    finished(figure, x="length T", y="width", ticks=lengths)
    caption = f"What a loss of 2 % of the trivial one takes, with q = {training.SUPPORT} chosen positions and d = {training.DIMENSION}."
    return Plot(figure, "The separation", caption, wide=True)


@measure_smallest.table(measure_reached)
def codes_widths_and_losses(data: xarray.Dataset, reached: xarray.Dataset) -> Table:
    rows = []
    for part in points_of(data, "length"):
        cells = [_reached(reached, part.length.item(), factor) for factor in (_SMALLER, _LARGER)]
        rows.append([str(part.length.item()), f"{float(part['code']):.0f}", f"{float(part['width']):.0f}", *cells])
    header = ("T", "smallest dimension", "least width", f"trained with {_SMALLER:g} times", f"with {_LARGER:g} times")
    note = "Losses of trained attention as shares of the trivial one, one seed; in brackets the least that theory allows."
    return Table(header, rows, note, "Codes and widths")


def _reached(reached: xarray.Dataset, length: int, factor: float) -> str:
    if length not in reached.length:
        return ""
    one = reached.sel(length=length, factor=factor)
    return f"{float(one['share']):.2%} ({float(one['least']):.2%})"
