"""Samples needed for AND of three bits: the theory of finite width beside trained transformers and the kernel."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.lab import count, measure_threshold
from specht.papers import Finding, Grid, NothingToJudge, Scale, below, both, common, grid, measure, near
from specht.papers.sparse_variables.thresholds import AND_TABLE, LEARNT, SHARE, THEORIES, VALIDATION
from specht.report import Plot, Table, add_line, add_points, finished, in_terminal, points_of, style_counts
from specht.studies.sparse import fit_growth, name_of

TRAINED, KERNEL = "transformer", "transformer-nngp"
WIDTHS = tuple(int(theory.rpartition("-")[2]) for theory in THEORIES)
LEARNERS = (TRAINED, *THEORIES, KERNEL)
NEAR = 0.15
"""How far the exponent of the theory may be from that of trained networks."""
CONFIDENCE = 0.95
LEAST_LENGTHS, LEAST_SEEDS = 4, 3
"""Thresholds without which a seed has no exponent, and seeds without which nothing is judged."""


def _searches(scale: Scale) -> Grid:
    """The longest sequences first: they take longest. Full scale goes on from the quick one."""
    lengths = common.at_scale(scale, smoke=(6, 8), quick=(25, 35, 50, 100), full=(25, 35, 50, 71, 100, 141, 200))
    seeds = range(common.at_scale(scale, smoke=1, quick=3, full=5))
    rest = {"accuracy": LEARNT, "validation": VALIDATION}
    searches = Grid([])
    for T in reversed(lengths):
        for learner in LEARNERS:
            largest, batch, budget = (64, 4, 12) if scale == "smoke" else (4096 if learner == KERNEL else 1024, 4, 40)
            search = {"share": SHARE, "smallest": 8, "largest": largest, "width": 1.4, "confidence": 0.9, "plateau": False}
            search |= {"batch": batch, "budget": budget}
            training = {"restarts": 3, "steps": 50 if scale == "smoke" else 125} if learner == TRAINED else {}
            searches += grid(learner=learner, length=T, table=AND_TABLE, search=search, training=training, seed=seeds, **rest)
    return searches


searches = measure(_searches)(measure_threshold)


def mean_over_seeds(values: Any) -> Finding | None:
    """The mean and Student's interval; None for fewer than three seeds."""
    return common.with_interval(common.mean_of(np.array(values)), len(values), CONFIDENCE) if len(values) >= LEAST_SEEDS else None


def _ends(mean: Finding) -> str:
    """The interval of a mean in words."""
    low, high = mean.interval or (mean.value, mean.value)
    return f"{low:.2f} to {high:.2f}"


def thresholds(data: xarray.Dataset, learner: str) -> dict[int, dict[int, tuple[float, float]]]:
    """By seed and T, the thresholds that were found and the standard errors of their logarithms."""
    by_seed: dict[int, dict[int, tuple[float, float]]] = {}
    for point in points_of(data.sel(learner=learner), "seed", "length"):
        reached = by_seed.setdefault(point["seed"].item(), {})
        if point["state"].item() == "found":
            reached[point["length"].item()] = float(point["m"]), float(point["log_stderr"])
    return by_seed


def growth(points: dict[int, tuple[float, float]]) -> Any:
    """The laws of growth through the thresholds of one seed; None for fewer than four."""
    if len(points) < LEAST_LENGTHS:
        return None
    return fit_growth(list(points), *zip(*points.values(), strict=True))


def pooled_growth(data: xarray.Dataset, learner: str) -> Any:
    """The laws of growth through the thresholds of all seeds."""
    every = [(T, *point) for seed in thresholds(data, learner).values() for T, point in seed.items()]
    return fit_growth(*zip(*every, strict=True)) if len({T for T, *_ in every}) >= LEAST_LENGTHS else None


def exponents(data: xarray.Dataset, learner: str) -> dict[int, float]:
    """The exponent of each seed that has one."""
    fits = {seed: growth(points) for seed, points in thresholds(data, learner).items()}
    return {seed: fit.exponent for seed, fit in fits.items() if fit is not None}


def difference(data: xarray.Dataset, first: str, second: str) -> Finding | None:
    """By how much the exponent of a learner is above that of another, seed by seed."""
    one, other = exponents(data, first), exponents(data, second)
    return mean_over_seeds([one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())])


def _regime(data: xarray.Dataset) -> str:
    means = {learner: mean_over_seeds(list(exponents(data, learner).values())) for learner in LEARNERS}
    words = "; ".join(f"{name_of(learner)[4:]} {mean.value:.2f} ({_ends(mean)})" for learner, mean in means.items() if mean is not None)
    said = f" Exponents with {100 * CONFIDENCE:g} % intervals over seeds: {words}." if words else ""
    return f"AND of three bits, T = {common.span(data['length'].values)}, {data.sizes['seed']} seeds.{said}"


def _too_few(data: xarray.Dataset) -> NothingToJudge:
    return common.nothing(f"Too few seeds have an exponent. {_regime(data)}")


def difference_in_words(data: xarray.Dataset, theory: str, other: str) -> Finding:
    """By how much the exponent of the theory is above that of another learner."""
    off = difference(data, theory, other)
    if off is None:
        raise _too_few(data)
    return dataclasses.replace(off, regime=f"The difference is shown, whose interval is {_ends(off)}. {_regime(data)}")


def difference_from_trained(data: xarray.Dataset, theory: str) -> tuple[Finding, Finding]:
    """The same beside trained networks, and the exponent of the theory itself, which must be shown to bend."""
    off, own = difference_in_words(data, theory, TRAINED), mean_over_seeds(list(exponents(data, theory).values()))
    if own is None:
        raise _too_few(data)
    return off, own


def ratio_at_the_longest(data: xarray.Dataset, theory: str) -> Finding:
    """Samples at the longest sequences over those of the kernel, seed by seed."""
    longest = int(data["length"].max())
    one, other = (
        {seed: points[longest][0] for seed, points in thresholds(data, learner).items() if longest in points}
        for learner in (theory, KERNEL)
    )
    logarithms = [math.log(one[seed] / other[seed]) for seed in sorted(one.keys() & other.keys())]
    off = mean_over_seeds(logarithms)
    if off is None:
        raise common.nothing(f"Too few seeds reach the threshold at T = {longest}. {_regime(data)}")
    words = f"Mean of ln(m / m of the kernel) at T = {longest}, interval {_ends(off)}, {len(logarithms)} seeds."
    return dataclasses.replace(off, regime=words)


def _judge(width: int, theory: str) -> None:
    """Bind the claims on the theory at one width."""
    close = near(0.0, NEAR, "difference of the exponent from that of trained ones")
    bends = below(1.0 - NEAR, "the exponent")
    searches.claim(f"trained-exponent-{width}", both(close, bends), null=(1.0, 1.0))(partial(difference_from_trained, theory=theory))
    slower = below(0.0, "difference of the exponent from that of the kernel")
    searches.claim(f"trained-slower-{width}", slower, null=0.0)(partial(difference_in_words, theory=theory, other=KERNEL))
    fewer = below(0.0, "mean of the logarithm of the ratio")
    searches.claim(f"trained-fewer-{width}", fewer, null=0.0)(partial(ratio_at_the_longest, theory=theory))


for _width, _theory in zip(WIDTHS, THEORIES, strict=True):
    _judge(_width, _theory)


@searches.figure()
def thresholds_by_length(data: xarray.Dataset) -> Plot:
    figure, every = go.Figure(), []
    lengths = data["length"].values
    for number, learner in enumerate(LEARNERS):
        rows = by_length(data, learner)
        every += [row[0] for row in rows.values()]
        errors = [m * spread for m, spread, _ in rows.values()]
        add_points(figure, list(rows), [m for m, _, _ in rows.values()], name_of(learner)[4:], number, errors=errors)
        fit = pooled_growth(data, learner)
        if fit is not None:
            law = "log" if learner == TRAINED else "power"
            places = np.geomspace(lengths[0], lengths[-1], 40)
            add_line(figure, places, fit.laws[law](places), f"{name_of(learner)[4:]}: {law} law", number, legend=False)
    finished(figure, x="number of bits T", y="threshold m", ticks=lengths)
    style_counts(figure, every or [8.0, 64.0])
    caption = (
        "AND of three bits: samples at which 80 % of trials learn it, geometric means over seeds with standard errors. Line through "
        "trained transformers: a + b ln T; through the others: c T^{α}."
    )
    return Plot(figure, "Theory of finite width beside trained transformers and the kernel", caption, wide=True)


def by_length(data: xarray.Dataset, learner: str) -> dict[int, tuple[float, float, int]]:
    """By T, the geometric mean of thresholds over seeds, its relative standard error, and the number of seeds that reach it."""
    logarithms: dict[int, list[float]] = {}
    for points in thresholds(data, learner).values():
        for T, (m, _) in points.items():
            logarithms.setdefault(T, []).append(math.log(m))
    return {
        T: (math.exp(np.mean(logs)), float(np.std(logs, ddof=1) / math.sqrt(len(logs))) if len(logs) > 1 else 0.0, len(logs))
        for T, logs in sorted(logarithms.items())
    }


@searches.table()
def all_thresholds(data: xarray.Dataset) -> Table:
    rows = [
        [learner, str(T), count(m), f"{100 * spread:.0f} %", f"{reached} of {data.sizes['seed']}"]
        for learner in LEARNERS
        for T, (m, spread, reached) in by_length(data, learner).items()
    ]
    note = "Geometric means over seeds with their standard errors; seeds that do not reach a threshold are left out."
    header = ("learner", "T", "threshold m", "standard error", "seeds that reach it")
    return Table(header, rows or [["none", "", "not reached", "", ""]], note, "Thresholds")


@searches.table()
def growth_with_length(data: xarray.Dataset) -> Table:
    rows = []
    for learner in LEARNERS:
        fit, mean = pooled_growth(data, learner), mean_over_seeds(list(exponents(data, learner).values()))
        if fit is not None:
            criteria = " · ".join(f"{fit.laws[name].aic:.1f}" for name in ("log", "power", "linear"))
            rows.append([learner, in_terminal(fit.verdict), "" if mean is None else f"{mean.value:.2f} ({_ends(mean)})", criteria])
    header = ("learner", "growth", f"exponent ({100 * CONFIDENCE:g} % over seeds)", "AIC: log · power · linear")
    return Table(header, rows or [["none", "fewer than four thresholds", "", ""]], "Laws through all seeds.", "Growth with T")
