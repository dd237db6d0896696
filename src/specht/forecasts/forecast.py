"""How good with more rows like these: several learners measured on nested subsets of a table, and each curve continued.

Errors are mean squared ones in units of the label variance, so that predicting the mean has error 1 and R² is one minus the error. For
classes the share of rows that are named wrongly is forecast as well. Every choice that a learner makes, it makes from its training rows.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from specht.errors import InputError
from specht.forecasts.curves import CurveForecast, forecast_curve, measured_error_rates, measured_errors
from specht.forecasts.learners.learner import Learner, LookingLearner
from specht.forecasts.measuring import Measuring, Run, in_this_process
from specht.forecasts.plan import FIRST, LEAST, BudgetPlan, ExpectedUse, PlannedRun
from specht.forecasts.room import check_room
from specht.forecasts.subsets import SplitErrors, label_variance
from specht.forecasts.summary import forecast_summary, forecast_variables
from specht.forecasts.table import SequenceTable
from specht.forecasts.verdicts import Goal, OrderVerdict, RowsForGoal, Worth, order_verdict, rows_for_goal, worth_of_more
from specht.forecasts.where import SECONDS, WhereItLooks, where_it_looks
from specht.progress import Progress, report
from specht.results import Result, Variable

MIN_ROWS = 64
FOR_WHERE = 0.2
"""Share of the budget that looking for places and tokens may take; without so much it is left out."""
OVER = 1.1
"""How much of the budget may be used at the end of that, or it is left out as well."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ForecastSettings:
    """How a forecast is made."""

    rows: int = 20000
    """Most rows that are used, drawn at random."""
    horizons: tuple[float, ...] = (1.0, 2.0, 4.0, 10.0)
    """Multiples of the rows used, at which the forecast is stated."""
    goal: Goal | None = None
    budget: float = 120.0
    """Seconds of CPU that it may take to measure."""
    confidence: float = 0.9
    seed: int = 0


@dataclasses.dataclass(frozen=True, eq=False)
class LearnerForecast:
    """The curve of one learner."""

    name: str
    description: str
    sees_order: bool
    error: CurveForecast
    error_rate: CurveForecast | None
    """Share of rows whose class is named wrongly; None for regression."""
    seconds: float
    """CPU time that its measurements took."""
    rows: int
    """How many rows are at hand."""

    @property
    def main(self) -> CurveForecast:
        """What people ask for: the error rate of classes, otherwise the error."""
        return self.error if self.error_rate is None else self.error_rate

    def now(self) -> float:
        """The main measure at all rows used."""
        return self.at(self.rows)

    def at(self, n_train: float) -> float:
        """The main measure with so many rows for training."""
        return float(self.main.ahead.quantiles(n_train, np.array([0.5]))[0])

    def error_at(self, n_train: float) -> float:
        """The squared error with so many rows for training."""
        return float(self.error.ahead.quantiles(n_train, np.array([0.5]))[0])


@dataclasses.dataclass(frozen=True)
class Cost:
    """CPU seconds of measuring and of what belongs to it, of all processes together."""

    expected: float
    """Before anything was measured."""
    spent: float


@dataclasses.dataclass(frozen=True, eq=False)
class Forecast(Result):
    """The learning curve of a table under several learners, the best one first."""

    rows: int
    rows_available: int
    variance: float
    """Of the labels, summed over outputs."""
    majority: float | None
    """Accuracy of always naming the most frequent class."""
    learners: tuple[LearnerForecast, ...]
    left_out: tuple[str, ...]
    """Learners for which the budget had no room."""
    worth: Worth
    order: OrderVerdict | None
    """None where no learner that sees order was measured, or the budget had no room for the test."""
    where: WhereItLooks | None
    """None where the budget has no room for it."""
    goal: RowsForGoal | None
    settings: ForecastSettings
    cost: Cost

    @property
    def best(self) -> LearnerForecast:
        """The learner with the smallest error at the most rows that any was trained on."""
        return self.learners[0]

    def summary(self) -> dict[str, Any]:
        """Curves as plain values, as files and figures have them."""
        return forecast_summary(self)

    def _summary(self) -> str:
        from specht.forecasts.sentences import answer_sentences

        return "\n".join(answer_sentences(self))

    def _variables(self) -> list[Variable]:
        return forecast_variables(self)


def forecast_table(
    table: SequenceTable,
    learners: Sequence[Learner],
    settings: ForecastSettings = ForecastSettings(),  # noqa: B008 -- frozen
    *,
    run: Run | None = None,
    ahead: int = 1,
    progress: Progress | None = None,
    planned: Callable[[ExpectedUse], None] | None = None,
    first: Callable[[Forecast], None] | None = None,
    clock: Callable[[], float] = time.process_time,
) -> Forecast:
    """Measure and continue the learning curve of a table under each of some learners.

    Arguments:
        run: does the measurements; in this process unless given.
        ahead: how many measurements are handed out at a time.
        progress: called as progress(done, total).
        planned: called with what the budget is expected to be used for, before anything is measured.
        first: called with a first forecast as soon as the quick learners have three repeats.
        clock: CPU seconds of this process so far.
    """
    used = used_rows(table, settings)
    looking = SECONDS if settings.budget * FOR_WHERE >= SECONDS else 0.0
    plan = BudgetPlan(learners, len(used), settings.budget, beside=looking)
    measuring = Measuring(plan, run or in_this_process(used, learners, settings.seed), ahead, progress, clock)
    expected = plan.expected()
    if planned is not None:
        planned(expected)

    def assembled() -> Forecast:
        return _assembled(table, used, measuring.done, plan, settings)

    measuring.go_on(FIRST)
    if first is not None and plan.next() is not None:
        first(assembled())
    measuring.go_on()
    whole, where = assembled(), None
    largest = _most_trained_on(whole.learners)
    for one in sorted((one for one in whole.learners if one.sees_order), key=lambda one: one.error_at(largest)):
        if measuring.shuffle(one.name):
            break  # the best that the budget has room for
    measuring.count_what_lies_beside()
    if looking and plan.spent + looking <= OVER * settings.budget:
        looks = [one for one in learners if one.name not in plan.left_out and isinstance(one, LookingLearner)]
        with threadpool_limits(1):
            where = (looks[0].where_it_looks if looks else where_it_looks)(used, settings.seed)
        measuring.count_what_lies_beside()
    report(progress, 1, 1)
    order = _order(learners, measuring.done, settings.confidence)
    return dataclasses.replace(whole, order=order, where=where, cost=Cost(expected.seconds, plan.spent))


def used_rows(table: SequenceTable, settings: ForecastSettings) -> SequenceTable:
    """The rows that a forecast rests on."""
    if len(table) < MIN_ROWS:
        raise InputError(f"The table has {len(table)} usable rows, and a forecast needs at least {MIN_ROWS}: add rows.")
    if settings.rows < MIN_ROWS:
        raise InputError(f"rows={settings.rows} leaves too few of them, and a forecast needs at least {MIN_ROWS}: raise it.")
    if settings.goal is not None and settings.goal.measure == "accuracy" and table.task == "regression":
        raise InputError("--goal accuracy needs classes, and the labels are numbers: give R2= or error=, or --task classification.")
    check_room(min(len(table), settings.rows), table.tokens.shape[1])
    rng = np.random.default_rng(settings.seed)
    return table.take(np.sort(rng.permutation(len(table))[: settings.rows]))


def _assembled(
    table: SequenceTable,
    used: SequenceTable,
    done: dict[PlannedRun, SplitErrors],
    plan: BudgetPlan,
    settings: ForecastSettings,
) -> Forecast:
    """The forecast from the measurements that are done."""
    rows = len(used)
    forecasts, learners = [], list(plan.learners.values())
    for learner in learners:
        splits = [splits for one, splits in done.items() if one.learner == learner.name and not one.shuffled]
        if len(splits) >= LEAST:
            forecasts.append(_learner_forecast(learner, splits, rows, settings))
    largest = _most_trained_on(forecasts)
    forecasts.sort(key=lambda one: one.at(largest))
    best = forecasts[0]
    goal = None
    if settings.goal is not None:
        ahead = best.error_rate.ahead if settings.goal.measure == "accuracy" and best.error_rate is not None else best.error.ahead
        goal = rows_for_goal(settings.goal, ahead, rows, settings.confidence)
    return Forecast(
        rows=rows,
        rows_available=len(table),
        variance=label_variance(used.labels),
        majority=float(used.labels.mean(axis=0).max()) if table.task == "classification" else None,
        learners=tuple(forecasts),
        left_out=plan.left_out,
        worth=worth_of_more(best.main.ahead, rows, settings.confidence),
        order=None,
        where=None,
        goal=goal,
        settings=settings,
        cost=Cost(plan.spent, plan.spent),
    )


def _most_trained_on(learners: Sequence[LearnerForecast]) -> float:
    """Where learners are compared: curves of those with fewer rows are continued to here, and none to where nothing was measured."""
    return max(float(one.main.measured.n_train[-1]) for one in learners)


def _learner_forecast(learner: Learner, splits: Sequence[SplitErrors], rows: int, settings: ForecastSettings) -> LearnerForecast:
    horizons = np.array(settings.horizons) * rows
    rng = np.random.default_rng(settings.seed)
    error = forecast_curve(measured_errors(splits, rows), horizons, settings.confidence, rng)
    rate = None
    if not np.isnan(splits[0].accuracy[-1]):
        rate = forecast_curve(measured_error_rates(splits, rows), horizons, settings.confidence, rng, most=1.0)
    return LearnerForecast(learner.name, learner.description, learner.sees_order, error, rate, sum(split.seconds for split in splits), rows)


def _order(learners: Sequence[Learner], done: dict[PlannedRun, SplitErrors], confidence: float) -> OrderVerdict | None:
    """What the learner whose tokens were shuffled lost, beside the learners that see no order and were trained on as many rows."""
    shuffled = {one: splits for one, splits in done.items() if one.shuffled}
    if not shuffled:
        return None
    best = next(iter(shuffled)).learner
    ordered = [done[dataclasses.replace(one, shuffled=False)] for one in shuffled]
    without = {best: list(shuffled.values())}
    for learner in (one for one in learners if not one.sees_order):
        repeats = {one.repeat: splits for one, splits in done.items() if one.learner == learner.name}
        same = [repeats[one.repeat] for one in shuffled if one.repeat in repeats]
        if len(same) == len(ordered) and same[0].n_train[-1] == ordered[0].n_train[-1]:
            without[learner.name] = same
    return order_verdict(best, ordered, without, confidence)
