"""Theorem 3 and figures 2, 4 and 5: lengths and supports that were never seen, with stochastic and with fixed codes."""

from __future__ import annotations

from functools import partial

import numpy as np
import plotly.graph_objects as go
import xarray

from specht.papers import Finding, Measurement, above, at_least, below, between, both, common, every, measure, near, positive
from specht.papers.token_selection import convergence, training
from specht.report import Plot, Table, finished

_FLOOR = 0.15
"""What fixed codes stay above at all lengths, as the paper has it."""
_FAR = 1.5
_REACHED = (0.5, 0.1, 0.05)
"""Losses, as shares of that of the predictor zero, by which codes are compared."""

theorem = measure(lambda scale: training.trainings(scale, codes=["stochastic"]))(training.measure_training)
recursion = measure(lambda scale: convergence.dynamics(scale, ["dual"]))(convergence.measure_dynamics)
by_descent = measure(training.trainings)(training.measure_training)
other_supports = measure(training.trainings)(training.measure_training)
by_adam = measure(lambda scale: training.trainings(scale, "adam"))(training.measure_training)


def _lengths(data: xarray.Dataset, least: float = 0.0) -> list[int]:
    """Test lengths that are at least so many times that of training."""
    return [length for length in data.lengths if length >= least * data.length - 1]


@theorem.claim(
    "t3-lengths",
    every(
        at_least(0.5, "over the last two thirds of the steps, power of the loss of training as which that at the length falls,"),
        "at every other length",
    ),
    null=0.0,
)
def powers(data: xarray.Dataset) -> dict[int, Finding]:
    """How the logarithm of the loss at another length goes with that of the loss at the length of training."""
    steps = data["step"].values
    late = steps >= steps[-1] / 3
    own = np.log(training.curve(data, "validation").values[late])
    ends = {length: training.last(data, f"T={length}") for length in _lengths(data)}
    ratios = [end / training.last(data, "validation") for end in ends.values()]
    words = (
        f"{training.regime(data)}, lengths {common.listed(_lengths(data))}; the smallest power is shown. In the end losses are "
        f"{common.span(np.round(ratios, 1))} times that at the length of training with the first seed."
    )
    others = {length: np.log(training.curve(data, f"T={length}").values[late]) for length in ends}
    return {length: Finding(float(np.polyfit(own, other, 1)[0]), regime=words) for length, other in others.items()}


@theorem.claim(
    "t3-two-numbers",
    every(
        near(0, 0.2, "relative difference of the loss at the end from that of the reduced dynamics, mean over seeds,", percent=True),
        "at every length",
    ),
    null=1.0,
    beside=[recursion],
)
def differences_from_recursion(data: xarray.Dataset, exact: xarray.Dataset) -> dict[int, Finding]:
    """Losses of trained matrices at other lengths, beside those that w and v of the reduced dynamics have there."""
    words = f"{training.regime(data)}, lengths {common.listed(_lengths(data))}; the largest difference is shown."
    expected = {length: float(exact["other"].sel(length=length)) for length in _lengths(data)}
    return {length: Finding(training.last(data, f"T={length}") / loss - 1, regime=words) for length, loss in expected.items()}


@theorem.table()
def losses_in_time(data: xarray.Dataset) -> Table:
    steps = data["step"].values[-1]
    rows = []
    for name in ("validation", *(f"T={length}" for length in _lengths(data))):
        curve = training.curve(data, name)
        label = f"{data.length}, as trained" if name == "validation" else name[2:]
        rows.append([label, *(common.with_error(curve.at(share * steps)) for share in (1 / 6, 1 / 2, 1))])
    header = ("length", "at a sixth of the steps", "at half", "at the end")
    return Table(header, rows, f"Stochastic codes: {training.regime(data)}.", "Losses in time")


def falling(data: xarray.Dataset) -> dict[int, Finding]:
    words = f"{training.regime(data)}, lengths {common.listed(_lengths(data))}; the largest ratio of the end to half-time is shown."
    run = data.sel(codes="stochastic")
    return {length: Finding(training.kept(run, f"T={length}"), regime=words) for length in _lengths(data)}


def floor(data: xarray.Dataset, is_far: bool) -> tuple[dict[int, Finding], dict[int, float]]:
    """Fixed codes at lengths of half as much again and more, or at those below: the loss, and the share that it kept, at every length."""
    far, run = _lengths(data, _FAR), data.sel(codes="fixed")
    lengths = far if is_far else [length for length in _lengths(data) if length not in far]
    kept = {length: training.kept(run, f"T={length}") for length in lengths}
    words = (
        f"{training.regime(data)}, lengths {common.listed(lengths)}; the lowest is shown. Over the last half of the steps losses "
        f"change by a factor of {common.span(np.round(list(kept.values()), 2))} with the first seed."
    )
    return {length: Finding(training.last(run, f"T={length}"), regime=words) for length in lengths}, kept


def advantage(data: xarray.Dataset) -> dict[int, Finding]:
    lengths = _lengths(data, _FAR)
    words = f"{training.regime(data)}, lengths {common.listed(lengths)}; the smallest ratio is shown."
    own, fixed = ({length: training.last(data.sel(codes=codes), f"T={length}") for length in lengths} for codes in training.CODES)
    return {length: Finding(fixed[length] / own[length], regime=words) for length in lengths}


def _judge_lengths(measurement: Measurement, figure: str, ratio: float) -> None:
    """Bind the claims that two figures make alike."""
    falls = below(0.8, "loss at the end over that at half of the steps, mean over seeds,")
    stays = above(0.8, "loss at the end over that at half of the steps")
    measurement.claim(f"{figure}-stochastic", every(falls, "at every length"), null=1.0)(falling)
    rule = both(every(at_least(_FLOOR, "loss"), "at every such length"), every(stays, "at every such length"))
    for name, is_far in (("floor", True), ("near-floor", False)):
        measurement.claim(f"{figure}-{name}", rule, null=([0.0], [0.5]))(partial(floor, is_far=is_far))
    more = at_least(ratio, "loss of fixed codes over that of stochastic ones")
    measurement.claim(f"{figure}-advantage", every(more, "at every length from half as long again"), null=1.0)(advantage)


_judge_lengths(by_descent, "f2", 3.0)
_judge_lengths(by_adam, "f5", 5.0)


@other_supports.claim(
    "f4-supports",
    every(below(0.6, "loss at the end over that at a sixth of the steps, mean over seeds,"), "for every number and both kinds of codes"),
    null=1.0,
)
def losses_of_supports(data: xarray.Dataset) -> dict[tuple[str, int], Finding]:
    words = (
        f"{training.regime(data)}, supports {common.listed(data.supports)}; the largest ratio of the loss at the end to that at a sixth of "
        "the steps is shown."
    )
    return {
        (codes, support): Finding(training.kept(data.sel(codes=codes), f"q={support}", since=1 / 6), regime=words)
        for codes in training.CODES
        for support in data.supports
    }


@other_supports.claim(
    "f4-order",
    every(positive("rise of the loss of fixed codes from one number of chosen positions to the next"), "for every step"),
    null=[0.0, -0.01],
)
def rises_with_support(data: xarray.Dataset) -> dict[int, Finding]:
    supports = sorted(data.supports)
    ends = [training.last(data.sel(codes="fixed"), f"q={support}") for support in supports]
    said = ", ".join(f"{loss:.3g}" for loss in ends)
    words = f"{training.regime(data)}, supports {common.listed(supports)}: {said} with the first seed. The smallest rise is shown."
    return {support: Finding(rise, regime=words) for support, rise in zip(supports[1:], np.diff(ends).tolist(), strict=True)}


@other_supports.claim(
    "f4-quicker",
    every(
        between(0.5, 1, "steps of stochastic codes over those of fixed ones"),
        "until the loss at the length of training is a half, a tenth and a twentieth of that of the predictor zero",
    ),
    null=[1.5, 1.5, 1.5],
)
def quicker(data: xarray.Dataset) -> dict[float, Finding]:
    """Where one kind of codes never comes to a loss there is nothing to compare."""
    own, fixed = (
        {share: training.curve(data.sel(codes=codes), "validation").reaches(share * training.trivial()) for share in _REACHED}
        for codes in training.CODES
    )
    if any(np.isnan([*own.values(), *fixed.values()])):
        raise common.nothing(f"{training.regime(data)}: not every training reaches {min(_REACHED):g} of the loss of the predictor zero.")
    said = ", ".join(f"{own[share]:.0f} and {fixed[share]:.0f}" for share in _REACHED)
    words = (
        f"{training.regime(data)}; the first seed takes {said} steps with stochastic and fixed codes. The ratio nearest to an end is shown."
    )
    return {share: Finding(own[share] / fixed[share], regime=words) for share in _REACHED}


@by_descent.figure()
@by_adam.figure()
def length_plots(data: xarray.Dataset) -> list[Plot]:
    lengths = _lengths(data)
    own = data.length
    ends, courses = go.Figure(), go.Figure()
    tested = {own: "validation"} | {length: f"T={length}" for length in lengths}
    for number, codes in enumerate(training.CODES):
        run = data.sel(codes=codes)
        training.add_ends(ends, run, tested, f"{codes} codes", number)
        for place, length in enumerate((lengths[0], lengths[-1])):
            training.add_curve(courses, run, f"T={length}", f"{codes}, T = {length}", 2 * number + place)
    finished(ends, x="test length", y="loss L", ticks=[own, *lengths])
    ends.update_xaxes(type="linear", dtick=None)
    finished(courses, x="steps", y="loss L")
    words = f"Trained at T = {own}; one seed."
    return [
        Plot(ends, "Losses at other lengths", f"At the end of training. {words}", wide=True),
        Plot(courses, "Losses at other lengths in time", f"At the nearest and the farthest length. {words}", wide=True),
    ]


def _table(data: xarray.Dataset, names: dict[str, str], first: str, title: str) -> Table:
    rows = []
    for name, label in names.items():
        cells = [common.with_error(training.last(data.sel(codes=codes), name)) for codes in training.CODES]
        support = int(name[2:]) if name.startswith("q=") else training.SUPPORT
        rows.append([label, *cells, f"{training.trivial(support):.3g}"])
    note = f"At the end of training: {training.regime(data)}."
    return Table((first, "stochastic codes", "fixed codes", "predictor zero"), rows, note, title)


@by_descent.table()
@by_adam.table()
def length_table(data: xarray.Dataset) -> Table:
    names = {"validation": f"{data.length}, as trained"} | {f"T={length}": str(length) for length in _lengths(data)}
    return _table(data, names, "length", "Losses by length")


@other_supports.figure()
def support_plots(data: xarray.Dataset) -> Plot:
    figure = go.Figure()
    tested = dict(sorted(({training.SUPPORT: "validation"} | {support: f"q={support}" for support in data.supports}).items()))
    for number, codes in enumerate(training.CODES):
        training.add_ends(figure, data.sel(codes=codes), tested, f"{codes} codes", number)
    finished(figure, x="chosen positions q", y="loss L", ticks=list(tested))
    figure.update_xaxes(type="linear", dtick=None)
    caption = f"Trained with q = {training.SUPPORT}; at the end, one seed."
    return Plot(figure, "Other numbers of chosen positions", caption, wide=True)


@other_supports.table()
def support_table(data: xarray.Dataset) -> Table:
    names = {"validation": f"{training.SUPPORT}, as trained"} | {f"q={support}": str(support) for support in data.supports}
    return _table(data, names, "chosen positions", "Losses by support")
