"""How good with more rows like these: several learners measured on nested subsets of a table, and each curve continued.

Errors are mean squared ones in units of the label variance, so that predicting the mean has error 1 and R² is one minus the error. For
classes the share of rows that are named wrongly is forecast as well. Every choice that a learner makes, it makes from its training rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from specht.errors import InputError
from specht.forecasts.curves import CurveForecast, forecast_curve, measured_error_rates, measured_errors
from specht.forecasts.learners.learner import Learner, LookingLearner
from specht.forecasts.plan import PlannedRun, Plans, order_measurements
from specht.forecasts.subsets import SplitErrors, label_variance, learner_sizes, measure_split, nested_splits
from specht.forecasts.summary import forecast_summary, forecast_variables
from specht.forecasts.table import SequenceTable
from specht.forecasts.verdicts import Goal, OrderVerdict, RowsForGoal, Worth, order_verdict, rows_for_goal, worth_of_more
from specht.forecasts.where import SECONDS, WhereItLooks, where_it_looks
from specht.progress import Progress, report
from specht.results import Result, Variable

MIN_ROWS = 64
FOR_WHERE = 0.2
"""Share of the budget that looking for places and tokens may take; without so much it is left out."""
Run = Callable[[Sequence[PlannedRun], Progress | None], list[SplitErrors]]
"""Does measurements somewhere and returns their results in order."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ForecastSettings:
    """How a forecast is made."""

    rows: int = 20000
    """Most rows that are used, drawn at random."""
    horizons: tuple[float, ...] = (1.0, 2.0, 4.0, 10.0)
    """Multiples of the rows used, at which the forecast is stated."""
    goal: Goal | None = None
    budget: float = 120.0
    """Seconds of CPU that measuring may take, by the learners' own estimates."""
    confidence: float = 0.9
    seed: int = 0


@dataclasses.dataclass(frozen=True, eq=False)
class LearnerForecast:
    """The curve of one learner."""

    name: str
    description: str
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
        return float(self.main.ahead.quantiles(self.rows, np.array([0.5]))[0])


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
    """None where no learner that sees order was measured."""
    where: WhereItLooks | None
    """None where the budget has no room for it."""
    goal: RowsForGoal | None
    settings: ForecastSettings

    @property
    def best(self) -> LearnerForecast:
        """The learner with the smallest error now."""
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
    progress: Progress | None = None,
    first: Callable[[Forecast], None] | None = None,
) -> Forecast:
    """Measure and continue the learning curve of a table under each of some learners.

    Arguments:
        run: does the measurements; in this process unless given.
        progress: called as progress(done, total).
        first: called with a first forecast as soon as the quick learners have three repeats.
    """
    used = used_rows(table, settings)
    plans = Plans.of(learners, len(used), settings.budget)
    run = run or in_this_process(used, learners, settings.seed)
    done: dict[PlannedRun, SplitErrors] = {}
    total = plans.seconds

    def measure(some: Sequence[PlannedRun]) -> None:
        begun = sum(plans.seconds_of(one) for one in done)
        share = sum(plans.seconds_of(one) for one in some)
        done.update(zip(some, run(some, _part(progress, begun, share, total)), strict=True))

    for number, stage in enumerate(plans.stages):
        measure(stage)
        if number == 0 and first is not None and len(plans.stages) > 1:
            first(_assembled(table, used, learners, plans, done, settings))
    preliminary = _assembled(table, used, learners, plans, done, settings)
    seeing = [one.name for one in preliminary.learners if plans.learner(one.name).sees_order]
    if seeing:
        measure(order_measurements(seeing[0], [one for one in done if one.learner == seeing[0]]))
    whole = _assembled(table, used, learners, plans, done, settings)
    if settings.budget * FOR_WHERE >= SECONDS:
        looking = [one for one in learners if one.name not in plans.left_out and isinstance(one, LookingLearner)]
        look = looking[0].where_it_looks if looking else where_it_looks
        whole = dataclasses.replace(whole, where=look(used, settings.seed))
    report(progress, 1, 1)
    return whole


def used_rows(table: SequenceTable, settings: ForecastSettings) -> SequenceTable:
    """The rows that a forecast rests on."""
    if len(table) < MIN_ROWS:
        raise InputError(f"The table has {len(table)} usable rows, and a forecast needs at least {MIN_ROWS}: add rows.")
    if settings.rows < MIN_ROWS:
        raise InputError(f"rows={settings.rows} leaves too few of them, and a forecast needs at least {MIN_ROWS}: raise it.")
    if settings.goal is not None and settings.goal.measure == "accuracy" and table.task == "regression":
        raise InputError("--goal accuracy needs classes, and the labels are numbers: give R2= or error=, or --task classification.")
    rng = np.random.default_rng(settings.seed)
    return table.take(np.sort(rng.permutation(len(table))[: settings.rows]))


def in_this_process(table: SequenceTable, learners: Sequence[Learner], seed: int) -> Run:
    """Measurements one after another."""
    by_name = {learner.name: learner for learner in learners}

    def run(measurements: Sequence[PlannedRun], progress: Progress | None) -> list[SplitErrors]:
        results = []
        for index, measurement in enumerate(measurements):
            report(progress, index, len(measurements))
            results.append(measured(by_name[measurement.learner], table, measurement, seed))
        report(progress, len(measurements), len(measurements))
        return results

    return run


def measured(learner: Learner, table: SequenceTable, measurement: PlannedRun, seed: int) -> SplitErrors:
    """One repeat of one learner."""
    split = nested_splits(len(table), measurement.repeat + 1, seed)[measurement.repeat]
    sizes = learner_sizes(learner, len(table), measurement.octaves)
    if measurement.shuffled:
        table, sizes = shuffled_tokens(table, seed), sizes[-1:]
    return measure_split(learner, table, split, sizes, seed + measurement.repeat)


def shuffled_tokens(table: SequenceTable, seed: int) -> SequenceTable:
    """The table with the real tokens of every row in random order."""
    rng = np.random.default_rng([seed, 1])
    keys = np.where(table.mask, rng.random(table.tokens.shape), -1.0)  # what is not real stays in front
    return dataclasses.replace(table, tokens=np.take_along_axis(table.tokens, np.argsort(keys, axis=1, kind="stable"), axis=1))


def _part(progress: Progress | None, begun: float, share: float, total: float) -> Progress | None:
    if progress is None:
        return None
    return lambda done, of: progress(round(1000 * (begun + share * done / max(of, 1)) / total), 1000)


def _assembled(
    table: SequenceTable,
    used: SequenceTable,
    learners: Sequence[Learner],
    plans: Plans,
    done: dict[PlannedRun, SplitErrors],
    settings: ForecastSettings,
) -> Forecast:
    """The forecast from the measurements that are done."""
    rows = len(used)
    forecasts = []
    for learner in learners:
        splits = [splits for one, splits in done.items() if one.learner == learner.name and not one.shuffled]
        if splits:
            forecasts.append(_learner_forecast(learner, splits, rows, settings))
    forecasts.sort(key=LearnerForecast.now)
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
        left_out=plans.left_out,
        worth=worth_of_more(best.main.ahead, rows, settings.confidence),
        order=_order(learners, done, settings.confidence),
        where=None,
        goal=goal,
        settings=settings,
    )


def _learner_forecast(learner: Learner, splits: Sequence[SplitErrors], rows: int, settings: ForecastSettings) -> LearnerForecast:
    horizons = np.array(settings.horizons) * rows
    rng = np.random.default_rng(settings.seed)
    error = forecast_curve(measured_errors(splits, rows), horizons, settings.confidence, rng)
    rate = None
    if not np.isnan(splits[0].accuracy[-1]):
        rate = forecast_curve(measured_error_rates(splits, rows), horizons, settings.confidence, rng)
    return LearnerForecast(learner.name, learner.description, error, rate, sum(split.seconds for split in splits), rows)


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
