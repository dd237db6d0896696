"""Measurements done as a plan says, in this process or elsewhere, until the budget is used."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from specht.forecasts.learners.learner import Learner
from specht.forecasts.plan import LEAST, BudgetPlan, PlannedRun
from specht.forecasts.subsets import SplitErrors, learner_sizes, measure_split, nested_splits
from specht.forecasts.table import SequenceTable
from specht.progress import STEPS, Progress, report

Run = Callable[[Sequence[PlannedRun], Progress | None], list[SplitErrors]]
"""Does measurements somewhere and returns their results in order."""


class Measuring:
    """What was measured, and what comes next."""

    def __init__(self, plan: BudgetPlan, run: Run, ahead: int, progress: Progress | None, clock: Callable[[], float]) -> None:
        self.plan, self.run, self.ahead, self.progress = plan, run, ahead, progress
        self.done: dict[PlannedRun, SplitErrors] = {}
        self._clock, self._mark, self._shown = clock, clock(), 0

    def go_on(self, until: float | None = None) -> None:
        """Measure until the room for it is used, or so many seconds are spent."""
        while some := self._next(until):
            self._measure(some)

    def shuffle(self, learner: str) -> bool:
        """Measure a learner on shuffled tokens, on as many repeats as there is room for; False where there is none."""
        runs = self.plan.order_measurements(learner)
        for some in (runs[start : start + self.ahead] for start in range(0, len(runs), self.ahead)):
            spent, longest = self.plan.spent, max(map(self.plan.seconds_of, some))
            measured = sum(one.shuffled for one in self.done)
            if measured >= LEAST and spent + longest * len(some) > self.plan.budget:
                break  # they take longer than they were to take
            for one in some:
                self.plan.begin(one)
            self._measure(some)
        return bool(runs)

    def count_what_lies_beside(self) -> None:
        """Count the time between measurements: the budget pays for all."""
        now = self._clock()
        self.plan.spent += now - self._mark
        self._mark = now

    def _next(self, until: float | None) -> list[PlannedRun]:
        some: list[PlannedRun] = []
        while len(some) < self.ahead and (one := self.plan.next(until)) is not None:
            self.plan.begin(one)
            some.append(one)
        return some

    def _measure(self, some: Sequence[PlannedRun]) -> None:
        self.count_what_lies_beside()
        whole = self.plan.expected().seconds
        after = self.plan.spent / whole
        before = after - sum(map(self.plan.seconds_of, some)) / whole
        results = self.run(some, self._part(before, after))
        self._mark = self._clock()  # what measurements took they say themselves, wherever they ran
        for one, result in zip(some, results, strict=True):
            self.plan.end(one, result.seconds)
            self.done[one] = result

    def _part(self, before: float, after: float) -> Progress | None:
        """Progress from one share of the whole to another, never backwards, and short of the end, which comes with the answer."""
        if self.progress is None:
            return None

        def go_on(done: int, of: int) -> None:
            share = before + (after - before) * done / max(of, 1)
            self._shown = min(max(self._shown, round(STEPS * share)), STEPS - 1)
            report(self.progress, self._shown, STEPS)

        return go_on


def in_this_process(table: SequenceTable, learners: Sequence[Learner], seed: int) -> Run:
    """Measurements one after another, each with one thread: several would wait for each other wherever the machine does more than this."""
    by_name = {learner.name: learner for learner in learners}

    def run(measurements: Sequence[PlannedRun], progress: Progress | None) -> list[SplitErrors]:
        results = []
        with threadpool_limits(1):
            for index, measurement in enumerate(measurements):
                report(progress, index, len(measurements))
                results.append(measured(by_name[measurement.learner], table, measurement, seed))
        report(progress, len(measurements), len(measurements))
        return results

    return run


def measured(learner: Learner, table: SequenceTable, measurement: PlannedRun, seed: int) -> SplitErrors:
    """One repeat of one learner."""
    split = nested_splits(len(table), measurement.repeat + 1, seed)[measurement.repeat]
    sizes = learner_sizes(learner, len(table), measurement.octaves, measurement.most)
    if measurement.shuffled:
        # every repeat with a shuffle of its own, so that what one of them does by chance is seen as scatter of repeats
        table, sizes = shuffled_tokens(table, seed + measurement.repeat), sizes[-1:]
    return measure_split(learner, table, split, sizes, seed + measurement.repeat)


def shuffled_tokens(table: SequenceTable, seed: int) -> SequenceTable:
    """The table with the real tokens of every row in random order."""
    rng = np.random.default_rng([seed, 1])
    keys = np.where(table.mask, rng.random(table.tokens.shape), -1.0)  # what is not real stays in front
    return dataclasses.replace(table, tokens=np.take_along_axis(table.tokens, np.argsort(keys, axis=1, kind="stable"), axis=1))
