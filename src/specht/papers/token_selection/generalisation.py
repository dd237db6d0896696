"""Theorem 3 and figures 2, 4 and 5: lengths and supports that were never seen, with stochastic and with fixed codes."""

from __future__ import annotations

from functools import partial

import numpy as np
import plotly.graph_objects as go

from specht.papers import common
from specht.papers.claims import Claim, Experiment, Results, Verdict, holds_if
from specht.papers.token_selection import convergence, sources, training
from specht.report.figures import Plot
from specht.report.html import Step, Table

_FLOOR, _NEAR_FLOOR = 0.15, 0.1
"""What fixed codes stay above at half as long again or more, and at shorter lengths."""
_FAR = 1.5
_FOLLOWS = 0.5
"""Least power of the loss of training with which losses at other lengths go down."""


def _lengths(results: Results, least: float = 0.0) -> list[int]:
    """Test lengths that are at least so many times that of training."""
    given = common.chosen(results, "training")[0].arguments
    return [length for length in given["lengths"] if length >= least * given["length"] - 1]


def judge_follows(results: Results) -> Verdict:
    """How the logarithm of the loss at another length goes with that of the loss at the length of training, seed by seed."""
    found = training.runs(results, "stochastic")
    steps = found[0].data["step"].values
    late = steps >= steps[-1] / 3
    powers, ratios = [], []
    for length in _lengths(results):
        losses = [np.log(result.data["loss"].sel(set=["validation", f"T={length}"]).values[:, late]) for result in found]
        slopes = np.array([np.polyfit(own, other, 1)[0] for own, other in losses])
        powers.append((slopes.mean(), slopes.std(ddof=1) / np.sqrt(len(slopes))))
        ratios.append(training.last(found, f"T={length}")[0] / training.last(found, "validation")[0])
    least, error = min(powers)
    words = (
        f"{training.regime(results)}, lengths {common.listed(_lengths(results))}; the smallest power is shown. In the end losses are "
        f"{common.span(np.round(ratios, 1))} times that at the length of training."
    )
    return holds_if(least - 2 * error >= _FOLLOWS, least, error, words)


def judge_two_numbers(results: Results) -> Verdict:
    """Losses of trained matrices at other lengths, beside those that w and v of the reduced dynamics have there."""
    found, (exact,) = training.runs(results, "stochastic"), common.chosen(results, "dynamics")
    measured = np.array([training.last(found, f"T={length}") for length in _lengths(results)])
    expected = exact.data["other"].sel(length=_lengths(results)).values
    apart = measured[:, 0] / expected - 1
    errors = np.hypot(measured[:, 1], exact.data["other_stderr"].sel(length=_lengths(results)).values) / expected
    worst = int(np.abs(apart).argmax())
    said = ", ".join(f"{change:+.0%}" for change in apart)
    words = f"{training.regime(results)}; at lengths {common.listed(_lengths(results))} losses differ by {said}. The largest is shown."
    if errors.max() > 0.1:
        return common.unresolved(words)
    return holds_if(abs(apart[worst]) < 0.2, abs(apart[worst]), errors[worst], words)


def _floor(results: Results, is_far: bool, floor: float) -> Verdict:
    """Fixed codes at lengths of half as much again and more, or at those below."""
    far = _lengths(results, _FAR)
    lengths = far if is_far else [length for length in _lengths(results) if length not in far]
    found = training.runs(results, "fixed")
    ends = [training.last(found, f"T={length}") for length in lengths]
    lowest, error = min(ends)
    steps = found[0].data["step"].values[-1]
    changes = [training.curve(found, f"T={length}") for length in lengths]
    kept = [curve.at(steps)[0] / curve.at(steps / 2)[0] for curve in changes]
    words = (
        f"{training.regime(results)}, lengths {common.listed(lengths)}; the lowest is shown. Over the last half of the steps losses "
        f"change by a factor of {common.span(np.round(kept, 2))}."
    )
    return holds_if(lowest >= floor and min(kept) > 0.8, lowest, error, words)


def judge_falling(results: Results) -> Verdict:
    found = training.runs(results, "stochastic")
    steps = found[0].data["step"].values[-1]
    kept = []
    for length in _lengths(results):
        curve = training.curve(found, f"T={length}")
        (end, error), (half, _) = curve.at(steps), curve.at(steps / 2)
        kept.append((end / half, error / half))
    worst, error = max(kept)
    words = f"{training.regime(results)}, lengths {common.listed(_lengths(results))}; the largest ratio of the end to half-time is shown."
    return holds_if(worst < 0.8, worst, error, words)


def _advantage(results: Results, least: float) -> Verdict:
    ratios = []
    for length in _lengths(results, _FAR):
        (own, error), (fixed, fixed_error) = (training.last(training.runs(results, codes), f"T={length}") for codes in training.CODES)
        ratios.append((fixed / own, fixed / own * np.hypot(fixed_error / fixed, error / own)))
    worst, error = min(ratios)
    words = f"{training.regime(results)}, lengths {common.listed(_lengths(results, _FAR))}; the smallest ratio is shown."
    return holds_if(worst >= least, worst, error, words)


def _supports(results: Results) -> list[int]:
    return common.chosen(results, "training")[0].arguments["supports"]


def judge_supports(results: Results) -> Verdict:
    worst = []
    for codes in training.CODES:
        found = training.runs(results, codes)
        steps = found[0].data["step"].values[-1]
        for support in _supports(results):
            curve = training.curve(found, f"q={support}")
            (end, error), (before, _) = curve.at(steps), curve.at(steps / 6)
            worst.append((end / before, error / before, support, codes))
    ratio, error, support, codes = max(worst)
    words = (
        f"{training.regime(results)}, supports {common.listed(_supports(results))}; the largest ratio of the loss at the end to that at a "
        f"sixth of the steps is shown, with {support} chosen positions and {codes} codes."
    )
    return holds_if(ratio < 0.6, ratio, error, words)


def judge_order(results: Results) -> Verdict:
    """Fixed codes do worse the more positions are chosen: steps between supports, model by model, in standard errors."""
    found, supports = training.runs(results, "fixed"), sorted(_supports(results))
    ends = np.array([[float(result.data["loss"].sel(set=f"q={support}")[-1]) for support in supports] for result in found])
    steps = np.diff(ends, axis=1)
    errors = steps.std(axis=0, ddof=1) / np.sqrt(len(steps))
    least = float((steps.mean(axis=0) / np.maximum(errors, 1e-12)).min())
    said = ", ".join(f"{loss:.3g}" for loss in ends.mean(axis=0))
    words = (
        f"{training.regime(results)}, supports {common.listed(supports)}: {said}; the smallest step of a model from one support to the "
        "next is shown, in its errors over seeds."
    )
    return holds_if(least > 2.0, least, regime=words)


def length_plots(results: Results) -> list[Plot]:
    lengths = _lengths(results)
    own = common.chosen(results, "training")[0].arguments["length"]
    ends, courses = go.Figure(), go.Figure()
    for number, codes in enumerate(training.CODES):
        found = training.runs(results, codes)
        points = [training.last(found, name) for name in ("validation", *(f"T={length}" for length in lengths))]
        common.add_points(
            ends, [own, *lengths], [p[0] for p in points], f"{codes} codes", number, errors=[p[1] for p in points], joined=True
        )
        for place, length in enumerate((lengths[0], lengths[-1])):
            curve = training.curve(found, f"T={length}")
            common.add_points(
                courses, curve.steps[1:], curve.mean[1:], f"{codes}, T = {length}", 2 * number + place, errors=curve.stderr[1:], joined=True
            )
    common.finished(ends, x="test length", y="loss L", ticks=[own, *lengths])
    ends.update_xaxes(type="linear", dtick=None)
    common.finished(courses, x="steps", y="loss L")
    words = f"Trained at T = {own}; means over seeds with standard errors."
    return [
        Plot(ends, "Losses at other lengths", f"At the end of training. {words}", wide=True),
        Plot(courses, "Losses at other lengths in time", f"At the nearest and the farthest length. {words}", wide=True),
    ]


def _table(results: Results, names: dict[str, str], first: str, title: str) -> list[Table]:
    rows = []
    for name, label in names.items():
        cells = [common.with_error(*training.last(training.runs(results, codes), name)) for codes in training.CODES]
        support = int(name[2:]) if name.startswith("q=") else sources.SUPPORT
        rows.append([label, *cells, f"{training.trivial(support):.3g}"])
    note = f"At the end of training: {training.regime(results)}."
    return [Table((first, "stochastic codes", "fixed codes", "predictor zero"), rows, note, title)]


def length_tables(results: Results) -> list[Table]:
    own = common.chosen(results, "training")[0].arguments["length"]
    names = {"validation": f"{own}, as trained"} | {f"T={length}": str(length) for length in _lengths(results)}
    return _table(results, names, "length", "Losses by length")


def support_plots(results: Results) -> list[Plot]:
    figure = go.Figure()
    tested = {sources.SUPPORT: "validation"} | {support: f"q={support}" for support in _supports(results)}
    places = sorted(tested)
    for number, codes in enumerate(training.CODES):
        points = [training.last(training.runs(results, codes), tested[support]) for support in places]
        common.add_points(figure, places, [p[0] for p in points], f"{codes} codes", number, errors=[p[1] for p in points], joined=True)
    common.finished(figure, x="chosen positions q", y="loss L", ticks=places)
    figure.update_xaxes(type="linear", dtick=None)
    return [
        Plot(figure, "Other numbers of chosen positions", f"Trained with q = {sources.SUPPORT}; at the end, means over seeds.", wide=True)
    ]


def support_tables(results: Results) -> list[Table]:
    names = {"validation": f"{sources.SUPPORT}, as trained"} | {f"q={support}": str(support) for support in _supports(results)}
    return _table(results, names, "chosen positions", "Losses by support")


def _length_claims(prefix: str, figure: str, ratio: float, how: str = "") -> tuple[Claim, ...]:
    cited = f"{sources.FIGURES}, {figure}"
    return (
        Claim(
            f"selection.{prefix}-stochastic",
            f"With stochastic codes the loss at longer sequences keeps falling{how}.",
            cited,
            "loss at the end below 0.8 times that at half of the steps, at every length, means over seeds",
            judge_falling,
        ),
        Claim(
            f"selection.{prefix}-floor",
            "With fixed codes the loss at sequences half as long again or more stays up.",
            cited,
            f"mean over seeds at least {_FLOOR:g}, and not below 0.8 times that at half of the steps, at every such length",
            partial(_floor, is_far=True, floor=_FLOOR),
        ),
        Claim(
            f"selection.{prefix}-near-floor",
            "So it does at lengths nearer to that of training, but lower.",
            f"{cited} (where the floor is the same)",
            f"mean over seeds at least {_NEAR_FLOOR:g}, and not below 0.8 times that at half of the steps",
            partial(_floor, is_far=False, floor=_NEAR_FLOOR),
        ),
        Claim(
            f"selection.{prefix}-advantage",
            "Stochastic codes generalise to longer sequences far better than fixed ones.",
            cited,
            f"fixed codes at least {ratio:g} times the loss of stochastic ones, at every length from half as long again",
            partial(_advantage, least=ratio),
        ),
    )


_CODES = Step("Fixed codes of all positions are drawn once; training sees those of its length, tests at other lengths see more of them.")


def _losses_in_time(results: Results) -> list[Table]:
    found = training.runs(results, "stochastic")
    steps = found[0].data["step"].values[-1]
    rows = []
    for name in ("validation", *(f"T={length}" for length in _lengths(results))):
        curve = training.curve(found, name)
        label = f"{found[0].arguments['length']}, as trained" if name == "validation" else name[2:]
        rows.append([label, *(common.with_error(*curve.at(share * steps)) for share in (1 / 6, 1 / 2, 1))])
    header = ("length", "at a sixth of the steps", "at half", "at the end")
    return [Table(header, rows, f"Stochastic codes: {training.regime(results)}.", "Losses in time")]


THEOREM = Experiment(
    name="selection.theorem-3",
    title="Longer sequences",
    shown="Theorem on length generalisation: with stochastic codes the loss at other lengths goes to zero with that of training.",
    claims=(
        Claim(
            "selection.t3-lengths",
            "The loss at sequences of up to twice the length goes to zero with that of training.",
            f"{sources.PAPER}, theorem on length generalisation",
            f"over the last two thirds of the steps losses at all lengths fall at least as that of training to the power {_FOLLOWS:g}, by "
            "two standard errors",
            judge_follows,
        ),
        Claim(
            "selection.t3-two-numbers",
            "What is lost at other lengths is what the two numbers w and v, which fit the length of training, are worth there.",
            sources.OURS,
            "losses at the end within 20 % of those of the reduced dynamics at every length, means over seeds with errors below 10 %",
            judge_two_numbers,
        ),
    ),
    jobs=lambda scale: [*training.jobs(scale, codes=["stochastic"]), convergence.dynamics_job(scale, "dual")],
    tables=_losses_in_time,
    method=(
        _CODES,
        Step(
            "At the length of training v makes up for the attention that is elsewhere. At another length there is more of it, and the loss "
            "is that of w and v over a pool of draws of codes of that length."
        ),
    ),
)


LENGTHS = Experiment(
    name="selection.figure-2",
    title="Stochastic against fixed codes",
    shown="Figures 2 and 4, top: at unseen lengths stochastic codes go to zero and fixed ones stay at 0.15 or more.",
    claims=_length_claims("f2", "figure 2 and figure 4, top", 3.0),
    jobs=training.jobs,
    plots=length_plots,
    tables=length_tables,
    method=(_CODES,),
)

SUPPORTS = Experiment(
    name="selection.figure-4",
    title="Other numbers of chosen positions",
    shown="Figure 4, bottom: with unseen numbers of chosen positions both kinds of codes go down, fixed ones less the more are chosen.",
    claims=(
        Claim(
            "selection.f4-supports",
            "With numbers of chosen positions that were never seen the loss goes down with that of training, for both kinds of codes.",
            f"{sources.FIGURES}, figure 4, bottom",
            "loss at the end below 0.6 times that at a sixth of the steps, for every number, means over seeds",
            judge_supports,
        ),
        Claim(
            "selection.f4-order",
            "Fixed codes do worse the more positions are chosen.",
            f"{sources.FIGURES}, figure 4, bottom",
            "losses increase with the number, each step of a model by more than two standard errors",
            judge_order,
        ),
    ),
    jobs=training.jobs,
    plots=support_plots,
    tables=support_tables,
    method=(Step("The query holds the dual code of as many positions as are chosen; nothing else in the model knows their number."),),
)

ADAM = Experiment(
    name="selection.figure-5",
    title="The same by Adam",
    shown="Figure 5: Adam instead of gradient descent, with the same outcome.",
    claims=_length_claims("f5", "figure 5", 5.0, " as the rate of Adam does"),
    jobs=lambda scale: training.jobs(scale, ["adam"]),
    plots=length_plots,
    tables=length_tables,
    method=(_CODES,),
)
