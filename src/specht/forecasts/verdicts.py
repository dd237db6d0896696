"""What people ask of a forecast: rows for a goal, whether more rows are worth it, and whether the order of tokens matters."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from scipy import special

from specht.errors import InputError
from specht.forecasts.shapes import ErrorForecast
from specht.forecasts.subsets import SplitErrors

WITHIN_REACH = 100.0
"""A goal that takes more than this many times the rows at hand is out of reach."""
WORTH_TIMES, WORTH_CUT = 4.0, 0.1
"""More rows are worth collecting if so many times the rows cut the error by at least this share."""
LIKELY = 0.75
"""Probability from which more rows are said to be worth it or not."""
CERTAIN = 0.98
"""Two-sided probability at which order is said to matter: one table without order in a hundred is taken for one with it, and one in forty
where whole folds go up or down by ten points."""
_STEPS = 200


@dataclasses.dataclass(frozen=True)
class Goal:
    """A quality that somebody wants to reach.

    >>> Goal.parse("accuracy=0.95")
    Goal(measure='accuracy', value=0.95)
    """

    measure: Literal["accuracy", "R2", "error"]
    """error is the mean squared error in units of the label variance, and R2 is one minus that."""
    value: float

    @classmethod
    def parse(cls, text: str) -> Goal:
        match = re.fullmatch(r"\s*(accuracy|r2|error)\s*=\s*([0-9.eE+-]+)\s*(%?)\s*", text, re.IGNORECASE)
        try:
            measure, value = (match[1].lower(), float(match[2]) / (100.0 if match[3] else 1.0)) if match else ("", math.nan)
        except ValueError:
            measure, value = "", math.nan
        if not 0.0 < value < 1.0:
            raise InputError(
                f"--goal must be accuracy=, R2= or error= and a number between 0 and 1, got {text!r}: for example accuracy=0.95."
            )
        return cls({"accuracy": "accuracy", "r2": "R2", "error": "error"}[measure], value)  # type: ignore[arg-type]

    @property
    def largest_error(self) -> float:
        """The error, or the error rate, that reaches it."""
        return self.value if self.measure == "error" else 1.0 - self.value


@dataclasses.dataclass(frozen=True)
class RowsForGoal:
    """How many rows a goal takes; infinite where that is more than `WITHIN_REACH` times the rows at hand."""

    goal: Goal
    value: float
    low: float
    high: float


def rows_for_goal(goal: Goal, ahead: ErrorForecast, rows: int, confidence: float) -> RowsForGoal:
    """The numbers of rows at which the goal is met with a chance of one half, and at both ends of the interval."""
    grid = np.geomspace(max(ahead.curve.n_train[0], 1.0), WITHIN_REACH * rows, _STEPS)
    chance = np.maximum.accumulate([ahead.share_below(float(n), goal.largest_error) for n in grid])
    tail = (1.0 - confidence) / 2.0

    def first(level: float) -> float:
        return float(grid[np.argmax(chance >= level)]) if chance[-1] >= level else math.inf

    return RowsForGoal(goal, first(0.5), first(tail), first(1.0 - tail))


@dataclasses.dataclass(frozen=True)
class Worth:
    """What four times the rows do to the error."""

    verdict: Literal["yes", "no", "unclear"]
    cut: float
    """Share of the error that goes."""
    low: float
    high: float


def worth_of_more(ahead: ErrorForecast, rows: int, confidence: float) -> Worth:
    """Yes if a cut of at least `WORTH_CUT` is as likely as `LIKELY`, no if one below it is, and unclear otherwise."""
    tail = (1.0 - confidence) / 2.0
    levels = np.array([1.0 - tail, LIKELY, 0.5, 1.0 - LIKELY, tail])
    low, modest, value, bold, high = 1.0 - ahead.ratio_quantiles(rows, WORTH_TIMES * rows, levels)
    verdict = "yes" if modest >= WORTH_CUT else "no" if bold < WORTH_CUT else "unclear"
    return Worth(verdict, float(value), float(low), float(high))


@dataclasses.dataclass(frozen=True)
class OrderVerdict:
    """What is lost when the tokens of every sequence are shuffled: by the best learner, against the best that is left then."""

    measured_by: str
    """The learner that sees order and has the smallest squared error, of those whose test fits into the budget; called so because
    `learner` is a dimension of a forecast."""
    verdict: Literal["yes", "no"]
    """Yes where squared errors of the same rows grow by more than happens by chance at `CERTAIN`."""
    value: float
    """Accuracy that is lost for classes; error that is gained, in units of the label variance, for numbers."""
    low: float
    high: float
    is_accuracy: bool
    left_with: str
    """The best learner on shuffled tokens, by what `value` counts: the same one, or one that sees no order."""
    error_gained: float
    """In units of the label variance, against the learner whose squared error is the smallest on shuffled tokens."""

    @property
    def only_less_sure(self) -> bool:
        """Whether order matters, though no loss of accuracy is seen: outputs get worse by less than changes which class is named."""
        return self.verdict == "yes" and self.is_accuracy and self.low <= 0.0


@dataclasses.dataclass(frozen=True)
class _Difference:
    """The mean difference of paired rows with its standard error, and the degrees of freedom of that."""

    value: float
    stderr: float
    freedom: float

    def reach(self, level: float) -> float:
        """Half the length of the interval that holds with so much probability."""
        return float(special.stdtrit(self.freedom, (1.0 + level) / 2.0)) * self.stderr


def order_verdict(
    learner: str, ordered: Sequence[SplitErrors], without: Mapping[str, Sequence[SplitErrors]], confidence: float
) -> OrderVerdict:
    """All test rows at the largest size, each row beside itself.

    A learner that reads the last token, say, gets worse than one that sees no order when tokens are shuffled. Somebody who had shuffled
    tokens would take the other one, so its loss alone would say too much: the best learner on shuffled tokens is what it is compared with.

    The verdict is by squared errors, for classes too. Nearly every row is as right as before where order matters little, so that accuracy
    says nothing for sure, while outputs of all rows get a little worse. The size is in accuracy, because that is what people want to know.

    Arguments:
        ordered: repeats on sequences as they are.
        without: by learner the same repeats on sequences whose tokens are shuffled, which change nothing for one that sees no order.
    """

    def gained(loss: Callable[[SplitErrors], np.ndarray]) -> tuple[str, _Difference]:
        losses = {name: [loss(split) for split in splits] for name, splits in without.items()}
        best = min(losses, key=lambda name: float(np.concatenate(losses[name]).mean()))
        return best, _mean_difference([other - loss(one) for one, other in zip(ordered, losses[best], strict=True)])

    left_with, error = gained(lambda split: split.last_errors)
    verdict = "yes" if error.value > max(error.reach(CERTAIN), 0.0) else "no"
    is_accuracy = not math.isnan(ordered[0].accuracy[-1])
    size = error
    if is_accuracy:
        left_with, size = gained(lambda split: 1.0 - split.last_right)
    reach = size.reach(confidence)
    return OrderVerdict(learner, verdict, size.value, size.value - reach, size.value + reach, is_accuracy, left_with, error.value)


def _mean_difference(folds: Sequence[np.ndarray]) -> _Difference:
    r"""The mean over all rows of some repeats.

    Rows scatter, and on top the differences of repeats may, because other rows trained: with v the variance of the n rows' differences,
    T rows a fold, and s² the variance of the R repeats' means, $\mathrm{stderr}^2 = v / n + \max(s^2 - v / T, 0) / R$. The second part is
    known from R repeats alone, so the interval is Student's t with the degrees of freedom of Welch and Satterthwaite.
    """
    differences, repeats = np.concatenate(folds), len(folds)
    v, of_repeats = float(differences.var(ddof=1)), float(np.var([fold.mean() for fold in folds], ddof=1))
    extra = max(of_repeats - v * repeats / len(differences), 0.0) / repeats
    of_rows = v / len(differences)
    parts = of_rows**2 / (len(differences) - 1) + extra**2 / (repeats - 1)
    freedom = (of_rows + extra) ** 2 / parts if parts > 0.0 else 1.0  # nothing differs at all
    return _Difference(float(differences.mean()), math.sqrt(of_rows + extra), freedom)
