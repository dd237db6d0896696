"""What is measured within a budget: which learners, and how many repeats of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from specht.forecasts.learners.learner import Learner
from specht.forecasts.subsets import learner_sizes

FEWEST, USUAL, MOST = 3, 5, 10
"""Repeats: without which a learner is left out, for which all of them come first, and beyond which there is no use."""
FOR_ORDER = 0.15
"""Share of the budget that is kept for the test of order."""
QUICK = 0.15
"""Share of the budget up to which learners are tried before the first answer."""


@dataclasses.dataclass(frozen=True)
class PlannedRun:
    """One repeat of one learner on all subset sizes; on the largest alone where tokens are shuffled."""

    learner: str
    repeat: int
    octaves: float
    """Between the sizes of subsets: learners that take long have fewer of them."""
    shuffled: bool = False


@dataclasses.dataclass(frozen=True)
class Plans:
    """Measurements in stages, quick learners first."""

    learners: tuple[Learner, ...]
    rows: int
    stages: tuple[tuple[PlannedRun, ...], ...]
    left_out: tuple[str, ...]

    @classmethod
    def of(cls, learners: Sequence[Learner], rows: int, budget: float) -> Plans:
        """The most repeats that a budget of CPU seconds has room for; the quickest learner is measured in any case."""
        room = budget * (1.0 - FOR_ORDER)
        costs = {learner.name: _seconds(learner, rows, 0.5) for learner in learners}
        steps = {name: 0.5 if cost * USUAL * len(learners) <= room else 1.0 for name, cost in costs.items()}
        costs = {learner.name: _seconds(learner, rows, steps[learner.name]) for learner in learners}
        order = sorted(costs, key=lambda name: costs[name])
        repeats = dict.fromkeys(order, 0)
        spent = 0.0
        for goal in (FEWEST, USUAL, MOST):
            for name in order:
                more = (goal - repeats[name]) * costs[name]
                started = goal == FEWEST or repeats[name] > 0
                if started and (spent + more <= room or (goal == FEWEST and name == order[0])):
                    repeats[name], spent = goal, spent + more
        quick = [name for name in order if repeats[name] and FEWEST * costs[name] <= QUICK * budget] or order[:1]
        chosen = [PlannedRun(name, repeat, steps[name]) for name in order for repeat in range(repeats[name])]
        first = tuple(one for one in chosen if one.learner in quick and one.repeat < FEWEST)
        rest = tuple(one for one in chosen if one not in first)
        left_out = tuple(name for name in order if not repeats[name])
        return cls(tuple(learners), rows, (first, rest) if rest else (first,), left_out)

    @property
    def seconds(self) -> float:
        """What the measurements will take, with those of shuffled tokens."""
        return sum(self.seconds_of(one) for stage in self.stages for one in stage) / (1.0 - FOR_ORDER)

    def learner(self, name: str) -> Learner:
        return next(learner for learner in self.learners if learner.name == name)

    def seconds_of(self, measurement: PlannedRun) -> float:
        """What one measurement will take."""
        if measurement.shuffled:
            learner = self.learner(measurement.learner)
            return learner.cost(int(learner_sizes(learner, self.rows, measurement.octaves)[-1]))
        return _seconds(self.learner(measurement.learner), self.rows, measurement.octaves)


def order_measurements(learner: str, done: Sequence[PlannedRun]) -> list[PlannedRun]:
    """The repeats of one learner again, up to the usual number, with the tokens of every sequence shuffled."""
    return [dataclasses.replace(one, shuffled=True) for one in done if one.learner == learner and one.repeat < USUAL and not one.shuffled]


def _seconds(learner: Learner, rows: int, octaves: float) -> float:
    return sum(learner.cost(int(size)) for size in learner_sizes(learner, rows, octaves))
