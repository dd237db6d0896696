"""What is measured within a budget: which learners, on how many rows, how often; decided as the run goes on, by what measurements took.

Learners estimate what a fit will take. Those estimates are multiplied by how long measurements took over how long they were to take: of
the same learner as soon as there is one, before that of the others. The plan is made anew after each measurement, so that it ends when the
budget does, whatever the machine and the table.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import itertools
import statistics
from collections.abc import Sequence

from specht.forecasts.learners.learner import Learner
from specht.forecasts.subsets import learner_sizes

LEAST, FEWEST, USUAL, MOST = 2, 3, 5, 10
"""Repeats: without which there is no forecast, without which no learner is begun, for which all come first, and beyond which there is
no use."""
FOR_ORDER = 0.15
"""Share of the budget that is kept for the test of order."""
FIRST = 10.0
"""Seconds within which learners are tried before the first answer; the quickest one takes what it takes."""
SHARE = 1.5
"""How many times its part of the room a learner may take for its fewest repeats; it has fewer rows else, or waits for all others."""
_GOALS = ((FEWEST, False), (FEWEST, True), (USUAL, False), (MOST, False))
"""Repeats that all learners are brought to before any has more, and whether one may take more than its share."""
HALVINGS, SMALLEST = 3, 400
"""How often the rows of a learner are halved, at most, where the budget has no room for all of them; the quickest one, if there is no room
for any, goes down to about so many rows."""


@dataclasses.dataclass(frozen=True)
class PlannedRun:
    """One repeat of one learner on all subset sizes; on the largest alone where tokens are shuffled."""

    learner: str
    repeat: int
    octaves: float
    """Between the sizes of subsets: learners that take long have fewer of them."""
    most: int | None = None
    """Most training rows; all that the learner takes unless given."""
    shuffled: bool = False


@dataclasses.dataclass(frozen=True)
class ExpectedUse:
    """What a budget is expected to be used for."""

    seconds: float
    repeats: dict[str, int]
    left_out: tuple[str, ...]


class BudgetPlan:
    """Measurements within a budget of CPU seconds, one after the other: quick learners first.

    Arguments:
        rows: of the table, those that judge included.
        beside: seconds of the budget that something else will take at the end.
    """

    def __init__(self, learners: Sequence[Learner], rows: int, budget: float, beside: float = 0.0) -> None:
        self.learners = {learner.name: learner for learner in learners}
        self.rows, self.spent = rows, 0.0
        self.budget, self._beside = budget - beside, beside
        self._room = (1.0 - FOR_ORDER) * budget - beside
        self._estimates: dict[PlannedRun, float] = {}
        self._grids: dict[str, tuple[float, int | None]] = {}
        self._running: dict[PlannedRun, float] = {}
        self._done: dict[str, list[tuple[float, float]]] = {name: [] for name in self.learners}  # (before rescaling, in fact)
        self.repeats: collections.Counter[str] = collections.Counter()
        """Of every learner: done and under way."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """Learners with too few repeats for a forecast."""
        return tuple(name for name in self._by_cost() if self.repeats[name] < LEAST)

    def pace(self, name: str) -> float:
        """How many times as long as estimated a learner's next measurement will take."""
        done = self._done[name]
        if not done:
            # that one other is quick may be its own; that several are is the machine's
            return statistics.median_high([1.0, *(self.pace(other) for other, those in self._done.items() if those)])
        later = done[1:] or done  # programs are compiled in the first
        return sum(actual for _, actual in later) / max(sum(estimate for estimate, _ in later), 1e-9)

    def seconds_of(self, measurement: PlannedRun) -> float:
        """What one measurement will take."""
        return self._estimate(measurement) * self.pace(measurement.learner)

    def next(self, until: float | None = None) -> PlannedRun | None:
        """The measurement that comes next, or None where the room is used.

        Arguments:
            until: stop where so many seconds are spent, but not before one learner has its fewest repeats.
        """
        room = self._room if until is None else min(until, self._room)
        enough = FEWEST if until is not None and self.spent < self._room else LEAST
        first = not any(count >= enough for count in self.repeats.values())
        order = self._by_cost()
        for goal, beyond in _GOALS if until is None else _GOALS[:1]:
            for name in order:
                have, grid = self.repeats[name], self._grid(name, beyond)
                if have >= goal or (goal > FEWEST and have < LEAST):
                    continue
                must = first and name == self._begun(order)
                measurement = PlannedRun(name, have, *(grid or self._grids_of(name)[-1]))
                # a learner is begun only if it can be brought to the end
                wanted = self.seconds_of(measurement) * (FEWEST if have == 0 else 1)
                if must or (grid is not None and self.spent + wanted <= room):
                    return measurement
        return None

    def begin(self, measurement: PlannedRun) -> None:
        """A measurement is under way: it counts as what it will take."""
        if not measurement.shuffled:
            self._grids[measurement.learner] = measurement.octaves, measurement.most
            self.repeats[measurement.learner] += 1
        self._running[measurement] = self.seconds_of(measurement)
        self.spent += self._running[measurement]

    def end(self, measurement: PlannedRun, seconds: float) -> None:
        """A measurement is done and took so many seconds."""
        self.spent += seconds - self._running.pop(measurement)
        if not measurement.shuffled:  # which prepare for one size what others prepare for all
            self._done[measurement.learner].append((self._estimate(measurement), seconds))

    def order_measurements(self, learner: str) -> list[PlannedRun]:
        """The repeats of one learner again, with the tokens of every sequence shuffled: as many as the budget has room for."""
        octaves, most = self._grids[learner]
        runs = [PlannedRun(learner, repeat, octaves, most, shuffled=True) for repeat in range(min(USUAL, self.repeats[learner]))]
        fit = int((self.budget - self.spent) / max(self.seconds_of(runs[0]), 1e-9))
        return runs[:fit] if fit >= LEAST else []

    def expected(self) -> ExpectedUse:
        """What is expected in all, if every measurement from here on takes what is estimated."""
        ahead = copy.copy(self)
        ahead._grids, ahead._running, ahead.repeats = dict(self._grids), dict(self._running), self.repeats.copy()
        while (measurement := ahead.next()) is not None:
            ahead.begin(measurement)
        repeats = {name: ahead.repeats[name] for name in ahead._by_cost() if ahead.repeats[name] >= LEAST}
        seeing = [name for name in repeats if ahead.learners[name].sees_order]
        order = ahead.order_measurements(seeing[-1]) if seeing else []  # which of them is best is not known: at worst the slowest
        return ExpectedUse(ahead.spent + sum(map(ahead.seconds_of, order)) + self._beside, repeats, ahead.left_out)

    def _estimate(self, measurement: PlannedRun) -> float:
        """Seconds by the learner's own estimate."""
        like = dataclasses.replace(measurement, repeat=0)
        if like not in self._estimates:
            learner = self.learners[like.learner]
            sizes = learner_sizes(learner, self.rows, like.octaves, like.most)
            self._estimates[like] = sum(learner.cost(int(size)) for size in (sizes[-1:] if like.shuffled else sizes))
        return self._estimates[like]

    def _by_cost(self) -> list[str]:
        """Learners, those whose measurement on all rows takes least time first."""
        return sorted(self.learners, key=lambda name: self.seconds_of(PlannedRun(name, 0, 1.0)))

    def _begun(self, order: list[str]) -> str:
        """The learner that is measured in any case: one that was begun, or the quickest."""
        return max(order, key=lambda name: self.repeats[name])

    def _grid(self, name: str, beyond: bool) -> tuple[float, int | None] | None:
        """Octaves and most rows of a learner: the finest and the most within its share, or the fewest beyond it; once and for all."""
        if name in self._grids:
            return self._grids[name]
        fine, *others = self._grids_of(name)[: 2 + HALVINGS]
        if self.seconds_of(PlannedRun(name, 0, *fine)) * USUAL * len(self.learners) <= self._room:
            return fine
        left = self._room - self.spent
        # what quicker learners leave goes to the slower ones
        limit = left if beyond else min(left, SHARE * left / (len(self.learners) - len(self._grids)))
        within = [grid for grid in others if FEWEST * self.seconds_of(PlannedRun(name, 0, *grid)) <= limit]
        return within[-1 if beyond else 0] if within else None

    def _grids_of(self, name: str) -> list[tuple[float, int | None]]:
        """Octaves and most rows that are tried."""
        largest = int(learner_sizes(self.learners[name], self.rows, 1.0)[-1])
        halves = itertools.takewhile(lambda half: half >= SMALLEST, (largest >> times for times in itertools.count(1)))
        return [(0.5, None), (1.0, None), *((1.0, half) for half in halves)]
