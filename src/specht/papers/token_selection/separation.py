"""The separation: how large codes must be for attention, and how wide the first layer of a fully connected network."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab.jobs import Job
from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Scale, Verdict, holds_if
from specht.papers.token_selection import sources
from specht.report.figures import Plot
from specht.report.html import Step, Table

_HERE = f"{sources.PACKAGE}.separation"
_LARGER, _SMALLER = 1.5, 0.7
"""Dimensions at which attention is trained, in units of the smallest that theory gives."""
_LEAST_LENGTHS = 4


def measure_smallest(length: int, draws: int, seed: int) -> xarray.Dataset:
    """The smallest dimension of stochastic codes with which the two numbers of the reduced dynamics get below 2 % of the trivial loss."""
    from specht.learning.selection import width_needed
    from specht.learning.selection_codes import smallest_code

    found = smallest_code(length, sources.SUPPORT, sources.ENOUGH, draws=draws, seed=seed)
    width = float(width_needed(sources.ENOUGH, length, sources.SUPPORT, sources.DIMENSION))
    return common.record("smallest", {"code": float(found), "width": width})


def measure_reached(length: int, factor: float, draws: int, steps: int, seed: int) -> xarray.Dataset:
    """The loss that training reaches with codes of so many times that dimension, and the least that theory allows."""
    from specht.learning.selection_codes import best_share, draw_pool, smallest_code
    from specht.nn.selection_training import SelectionTraining, train_selection
    from specht.sequences.selection import Selection

    task = Selection(length, sources.SUPPORT, sources.DIMENSION)
    code = round(factor * smallest_code(length, task.support, sources.ENOUGH, draws=draws, seed=0))
    setting = SelectionTraining(
        task=task, code=code, optimiser="adam", schedule="cosine", learning_rate=0.02, steps=steps, scale=0.02, n_test=8192, records=1
    )
    found = train_selection(setting, seed)
    pool = draw_pool(np.random.default_rng([seed, 6]), length, task.support, code, 4 * draws)
    fields = {"code": float(code), "share": found.losses["validation"][-1] / task.trivial_loss, "least": best_share(pool).share}
    return common.record("reached", fields)


def jobs(scale: Scale) -> list[Job]:
    lengths = common.at_scale(scale, smoke=[8, 16], quick=[25, 50, 100, 200, 400, 800], full=[25, 50, 100, 200, 400, 800, 1600, 3200])
    trained = common.at_scale(scale, smoke=[8], quick=[25, 50, 100], full=[25, 50, 100, 200])
    draws, steps, seeds = common.at_scale(scale, smoke=(60, 60, 2), quick=(500, 1500, 3), full=(1000, 2500, 3))
    theory = [Job.of(f"{_HERE}:measure_smallest", length=T, draws=draws, seed=seed) for T in lengths for seed in range(seeds)]
    return theory + [
        Job.of(f"{_HERE}:measure_reached", length=T, factor=factor, draws=draws, steps=steps, seed=seed)
        for T in trained
        for factor in (_SMALLER, _LARGER)
        for seed in range(2)
    ]


def _smallest(results: Results) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lengths, smallest dimensions and their standard errors over draws."""
    found = common.chosen(results, "smallest")
    lengths = sorted(set(common.arguments(found, "length")))
    values = np.array([common.column(common.chosen(found, "smallest", length=length), "code") for length in lengths])
    return np.array(lengths), values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])


def _fit(lengths: np.ndarray, codes: np.ndarray) -> tuple[float, float, float, float]:
    """Dimension = a + b log T: both numbers, the standard error of b, and the share of the variance that is explained."""
    design = np.stack([np.ones(len(lengths)), np.log(lengths)], axis=1)
    (a, b), *_ = np.linalg.lstsq(design, codes, rcond=None)
    rest = codes - design @ [a, b]
    freedom = max(1, len(lengths) - 2)
    error = np.sqrt((rest**2).sum() / freedom * np.linalg.inv(design.T @ design)[1, 1])
    return float(a), float(b), float(error), float(1 - (rest**2).sum() / ((codes - codes.mean()) ** 2).sum())


def judge_logarithm(results: Results) -> Verdict:
    lengths, codes, _ = _smallest(results)
    a, b, error, explained = _fit(lengths, codes)
    power = common.power_law(lengths, codes)
    assert power is not None
    words = (
        f"q = {sources.SUPPORT}, T = {common.span(lengths)}: m = {a:.1f} + {b:.2f} log T explains {explained:.1%} of the variance, and m "
        f"grows as T^{{{power.exponent:.2f}}} over this range. The factor of log T is shown."
    )
    return holds_if(explained > 0.95 and power.exponent < 0.25 and b > 3 * error, b, error, words)


def growth(results: Results) -> Any:
    """The laws of growth of the smallest dimensions, which are whole numbers and so have an error of rounding at least."""
    from specht.learning.growth import fit_growth

    lengths, codes, errors = _smallest(results)
    return fit_growth(lengths.tolist(), codes.tolist(), (np.hypot(errors, 1 / np.sqrt(12)) / codes).tolist())


def judge_law(results: Results) -> Verdict:
    """A logarithm, a power, or neither told from the other."""
    from specht.learning.growth import SEPARATED

    lengths = _smallest(results)[0]
    if len(lengths) < _LEAST_LENGTHS:
        return Verdict("not tested", regime=f"Laws are told apart from {_LEAST_LENGTHS} lengths on, and there are {len(lengths)}.")
    fit = growth(results)
    ahead = fit.advantage("log", "power")
    said = fit.verdict[0].upper() + fit.verdict[1:]
    words = f"{said}; exponent {fit.exponent:.2f} ± {fit.exponent_stderr:.2f}. q = {sources.SUPPORT}, T = {common.span(lengths)}."
    return Verdict("not tested", ahead, regime=words) if abs(ahead) <= SEPARATED else holds_if(ahead > 0.0, ahead, regime=words)


def judge_separation(results: Results) -> Verdict:
    lengths, codes, _ = _smallest(results)
    widths = [float(common.chosen(results, "smallest", length=length)[0].data["width"]) for length in lengths]
    ratios = np.array(widths) / (sources.DIMENSION + codes)
    words = (
        f"q = {sources.SUPPORT}, d = {sources.DIMENSION}, T = {common.span(lengths)}: attention of width d + m against {widths[0]:.0f} to "
        f"{widths[-1]:.0f} units for 2 % of the trivial error. The ratio grows from {ratios[0]:.2g}; the last is shown."
    )
    return holds_if(bool((np.diff(ratios) > 0).all()) and ratios[-1] > 10, ratios[-1], regime=words)


def judge_reached(results: Results) -> Verdict:
    found = common.chosen(results, "reached")
    larger = common.column([r for r in found if r.arguments["factor"] == _LARGER], "share")
    smaller = common.column([r for r in found if r.arguments["factor"] == _SMALLER], "share")
    words = (
        f"q = {sources.SUPPORT}, d = {sources.DIMENSION}, T = {common.listed(common.arguments(found, 'length'))}, Adam of rate 0.02 "
        f"falling to zero, {found[0].arguments['steps']} steps, two seeds: {common.span(np.round(larger, 4))} of the trivial loss with "
        f"{_LARGER:g} times the smallest dimension, {common.span(np.round(smaller, 4))} with {_SMALLER:g} times. The "
        "largest of the first is shown."
    )
    return holds_if(larger.max() < sources.ENOUGH < smaller.min(), larger.max(), regime=words)


def plots(results: Results) -> list[Plot]:
    lengths, codes, errors = _smallest(results)
    widths = [float(common.chosen(results, "smallest", length=length)[0].data["width"]) for length in lengths]
    a, b, _, _ = _fit(lengths, codes)
    figure = go.Figure()
    common.add_points(figure, lengths, codes, "attention: smallest dimension of codes", 0, errors=errors)
    common.add_line(figure, lengths, a + b * np.log(lengths), f"{a:.0f} + {b:.1f} log T", 0, dash="dash")
    common.add_points(figure, lengths, widths, "fully connected: least width, by the bound", 1)
    common.add_line(figure, lengths, sources.DIMENSION * lengths, "T d", 1, dash="dash")
    common.finished(figure, x="length T", y="width", ticks=lengths)
    caption = f"What a loss of 2 % of the trivial one takes, with q = {sources.SUPPORT} chosen positions and d = {sources.DIMENSION}."
    return [Plot(figure, "The separation", caption, wide=True)]


def tables(results: Results) -> list[Table]:
    lengths, codes, errors = _smallest(results)
    rows = []
    for length, code, error in zip(lengths, codes, errors, strict=True):
        width = float(common.chosen(results, "smallest", length=length)[0].data["width"])
        cells = [_reached(results, int(length), factor) for factor in (_SMALLER, _LARGER)]
        rows.append([str(length), common.with_error(code, error), f"{width:.0f}", *cells])
    header = ("T", "smallest dimension", "least width", f"trained with {_SMALLER:g} times", f"with {_LARGER:g} times")
    note = "Losses of trained attention as shares of the trivial one, two seeds each; in brackets the least that theory allows."
    return [Table(header, rows, note, "Codes and widths")]


def _reached(results: Results, length: int, factor: float) -> str:
    found = common.chosen(results, "reached", length=length, factor=factor)
    if not found:
        return ""
    return f"{common.column(found, 'share').mean():.2%} ({common.column(found, 'least').mean():.2%})"


EXPERIMENT = Experiment(
    name="selection.separation",
    title="Attention against fully connected networks",
    shown="Theorems: attention of width of the order of d + q log T learns what takes a first layer of the order of T d units otherwise.",
    claims=(
        Claim(
            "selection.log-length",
            "The codes that attention needs grow about as the logarithm of the length, by a factor that no power above 1/4 has.",
            f"{sources.PAPER}, theorem 2",
            "a + b log T explains over 95 % of the smallest dimensions, b above three standard errors, exponent of a power law below 0.25",
            judge_logarithm,
        ),
        Claim(
            "selection.log-law",
            "Over these lengths the growth is a logarithm and no power.",
            f"{sources.PAPER}, theorem 2, an upper bound",
            "Akaike's criterion prefers the logarithm to a power law by more than 4; not decided within 4",
            judge_law,
        ),
        Claim(
            "selection.separation",
            "Fully connected networks need a width that grows with the length and passes that of attention by any factor.",
            f"{sources.PAPER}, theorems on transformers and on fully connected networks",
            "least width over d + m grows with the length, to more than ten",
            judge_separation,
        ),
        Claim(
            "selection.smallest-codes",
            "Trained attention reaches 2 % with codes a half larger than the smallest, and not with smaller ones.",
            sources.OURS,
            f"loss below 2 % of the trivial one with {_LARGER:g} times the smallest dimension, above with {_SMALLER:g} times, every seed",
            judge_reached,
        ),
    ),
    jobs=jobs,
    plots=plots,
    tables=tables,
    method=(
        Step(
            "With stochastic codes the dynamics end at the least loss over w and v, which a pool of draws gives for every dimension m. "
            "The smallest m with 2 % of the trivial loss is found by bisection, several times.",
            ("L/L_0 = 1 − (E A)² / (q E Σ_i p_i²),   p = softmax(w c)",),
        ),
        Step("The width is that from which on the bound for fully connected networks is below 2 % of the error of the predictor zero."),
    ),
)
