"""Plans within a budget: by estimates that turn out wrong, stopped in time, with a clock that is not the machine's."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from learner_tables import Constant, easy

from specht.forecasts import forecast
from specht.forecasts.forecast import Forecast, ForecastSettings, forecast_table
from specht.forecasts.measuring import measured
from specht.forecasts.plan import FEWEST, LEAST, MOST, SMALLEST, USUAL, BudgetPlan, PlannedRun

ROWS = 500


@pytest.fixture(autouse=True)
def without_looking(monkeypatch):
    """Where labels look takes time of its own."""
    monkeypatch.setattr(forecast, "FOR_WHERE", 0.0)


class Costly(Constant):
    """Takes other times than it says."""

    def __init__(self, name: str, seconds: float, factor: float = 1.0, sees_order: bool = True, grows: bool = False) -> None:
        super().__init__(name, seconds)
        self.factor, self.sees_order, self.grows = factor, sees_order, grows

    def cost(self, rows):
        return self.seconds * (rows / 100 if self.grows else 1.0)


def in_fact(learners, plan, run):
    """What a measurement takes in fact."""
    return next(one.factor for one in learners if one.name == run.learner) * plan._estimate(run)


def played(learners, budget, rows=ROWS):
    """The plan after all its measurements, and how long each took."""
    plan, took = BudgetPlan(learners, rows, budget), []
    while (run := plan.next()) is not None:
        plan.begin(run)
        took.append((run, in_fact(learners, plan, run)))
        plan.end(*took[-1])
    return plan, took


def test_a_plan_keeps_to_its_budget_and_leaves_out_what_does_not_fit():
    learners = [Costly("slowest", 100.0), Costly("slow", 0.3), Costly("quick", 0.01)]
    plan, took = played(learners, 20.0)
    assert plan.left_out == ("slowest",)
    assert plan.spent == pytest.approx(sum(seconds for _, seconds in took))
    assert plan.spent <= 20.0
    assert plan.repeats["quick"] == MOST
    assert plan.repeats["slow"] >= FEWEST
    assert took[0][0].learner == "quick"
    expected = BudgetPlan(learners, ROWS, 20.0).expected()
    assert expected.left_out == ("slowest",)
    assert expected.repeats == {"quick": plan.repeats["quick"], "slow": plan.repeats["slow"]}
    assert plan.spent < expected.seconds <= 20.0  # which has the test of order, too


@pytest.mark.parametrize("factor", [0.2, 1.0, 3.0])
def test_estimates_that_are_wrong_are_made_right(factor):
    """All wrong alike, as on another machine, and each in its own way: the budget is used, and not exceeded by more than a measurement."""
    for own in (1.0, 1.5):
        learners = [Costly("a", 0.1, factor), Costly("b", 0.2, factor * own), Costly("c", 0.4, factor / own)]
        plan, took = played(learners, 60.0)
        assert plan.spent <= 60.0 + max(seconds for _, seconds in took)
        assert plan.spent > 30.0 or set(plan.repeats.values()) == {MOST}
        for learner in learners:
            assert plan.pace(learner.name) == pytest.approx(learner.factor)


def test_what_is_not_measured_yet_takes_the_pace_of_the_others():
    plan = BudgetPlan([Costly("a", 0.1), Costly("b", 1.0)], ROWS, 100.0)
    run = PlannedRun("a", 0, 1.0)
    assert plan.pace("b") == 1.0
    plan.begin(run)
    assert plan.spent == pytest.approx(plan.seconds_of(run))
    plan.end(run, 3.0 * plan.seconds_of(run))
    assert plan.pace("a") == plan.pace("b") == pytest.approx(3.0)
    for repeat in (1, 2):  # the first one, with what is compiled, counts no more once there are others
        run = PlannedRun("a", repeat, 1.0)
        plan.begin(run)
        plan.end(run, 2.0 * plan._estimate(run))
    assert plan.pace("a") == plan.pace("b") == pytest.approx(2.0)


def test_one_learner_that_is_quick_does_not_make_others_quick():
    learners = [Costly("a", 0.1, 0.1), Costly("b", 0.1, 0.2), Costly("c", 1.0)]
    plan = BudgetPlan(learners, ROWS, 100.0)
    for name, paces in (("a", (0.1, 1.0, 1.0)), ("b", (0.1, 0.2, 0.2))):
        run = PlannedRun(name, 0, 1.0)
        plan.begin(run)
        plan.end(run, in_fact(learners, plan, run))
        assert tuple(plan.pace(learner.name) for learner in learners) == pytest.approx(paces)


def test_no_learner_is_begun_that_cannot_be_brought_to_the_end():
    plan, _ = played([Costly("quick", 0.1), Costly("slow", 2.0)], 20.0)  # of which one repeat would have room
    assert plan.repeats["slow"] == 0
    assert plan.left_out == ("slow",)


def test_where_all_rows_take_too_long_fewer_are_taken():
    learners = [Costly("a", 0.02, grows=True), Costly("b", 1.0, grows=True)]
    plan, took = played(learners, 400.0, rows=10000)
    assert {run.most for run, _ in took if run.learner == "a"} == {None}
    assert {run.most for run, _ in took if run.learner == "b"} <= {4000, 2000}
    assert plan.repeats["b"] >= LEAST
    assert plan.spent <= 400.0
    alone, took = played([Costly("a", 50.0, grows=True)], 10.0, rows=10000)  # nothing has room: one is measured in any case
    assert alone.repeats["a"] == LEAST
    assert all(SMALLEST <= run.most < 2 * SMALLEST for run, _ in took)


def test_a_learner_that_takes_more_than_its_share_has_fewer_rows_or_gives_way():
    """Where rows cost, there are fewer of them; what costs as much for few comes last, and gets what is left."""
    growing = [Costly(name, seconds, grows=True) for name, seconds in (("a", 0.05), ("b", 0.06), ("d", 0.4))]
    for budget, begun in ((80.0, ["a", "b", "d"]), (120.0, ["a", "b", "c", "d"])):
        plan, took = played([*growing, Costly("c", 2.5)], budget, rows=5000)
        assert list(dict.fromkeys(run.learner for run, _ in took)) == begun
        assert {run.most for run, _ in took if run.learner == "d"} <= {500, 1000, 2000}
        assert plan.spent <= budget


def test_repeats_of_a_learner_have_the_same_sizes_however_the_pace_changes():
    plan = BudgetPlan([Costly("a", 0.5, grows=True), Costly("b", 0.1)], 4000, 200.0)
    factors, grids = iter([0.1, 5.0, 1.0] * 20), set()
    while (run := plan.next()) is not None:
        plan.begin(run)
        plan.end(run, next(factors) * plan._estimate(run))
        if run.learner == "a":
            grids.add((run.octaves, run.most))
    assert len(grids) == 1


def test_order_is_tested_on_the_repeats_that_are_there_and_have_room():
    plan = BudgetPlan([Costly("a", 0.1)], ROWS, 50.0)
    for repeat in range(7):
        run = PlannedRun("a", repeat, 0.5)
        plan.begin(run)
        plan.end(run, 0.9)
    assert plan.order_measurements("a") == [PlannedRun("a", repeat, 0.5, shuffled=True) for repeat in range(USUAL)]
    plan.spent = plan.budget - 3.5 * plan.seconds_of(PlannedRun("a", 0, 0.5, shuffled=True))
    assert len(plan.order_measurements("a")) == 3
    plan.spent = plan.budget
    assert plan.order_measurements("a") == []


def test_another_learner_is_tested_on_order_where_the_best_has_no_room(monkeypatch):
    """The budget leaves no room for the shuffled tokens of the learner that comes first; the second says what it loses."""
    found = BudgetPlan.order_measurements
    monkeypatch.setattr(BudgetPlan, "order_measurements", lambda plan, name: [] if name == "first" else found(plan, name))
    result, _, together = whole({"first": 1.0, "second": 1.0}, budget=30.0)
    assert result.best.name == "first"
    assert result.order is not None
    assert result.order.measured_by == "second"
    assert {one.learner for some in together for one in some if one.shuffled} == {"second"}


def whole(factors: dict[str, float], budget: float, ahead: int = 1, **more) -> tuple[Forecast, list[float], list[list[PlannedRun]]]:
    """A forecast whose measurements say that they took so many times their estimate; their times, and what was handed out together."""
    table, took, together = easy(100, task="regression"), [], []
    learners = [Costly(name, 0.1, sees_order=name != "blind") for name in factors]
    estimates = BudgetPlan(learners, len(table), budget)

    def run(some, progress):
        together.append(list(some))
        results = []
        for one in some:
            took.append(factors[one.learner] * estimates._estimate(one))
            learner = next(learner for learner in learners if learner.name == one.learner)
            results.append(dataclasses.replace(measured(learner, table, one, 0), seconds=took[-1]))
            if progress is not None:
                progress(len(results), len(some))
        return results

    result = forecast_table(table, learners, ForecastSettings(budget=budget), run=run, ahead=ahead, clock=lambda: 0.0, **more)
    return result, took, together


def test_a_forecast_ends_when_its_budget_does():
    result, took, _ = whole({"a": 4.0, "b": 7.0, "blind": 4.0}, budget=60.0)
    assert result.cost.spent == pytest.approx(sum(took))
    assert result.cost.spent <= 60.0 + max(took)
    assert result.order is not None
    assert result.left_out == ()


def test_what_is_expected_beforehand_is_what_is_spent_where_estimates_are_right():
    said = []
    result, took, _ = whole({"a": 1.0, "b": 1.0}, budget=20.0, planned=said.append)
    assert result.cost.expected == said[0].seconds
    assert result.cost.spent == pytest.approx(sum(took))
    assert abs(np.log(result.cost.spent / result.cost.expected)) < 0.1
    assert {one.name: one.error.measured.error.shape[1] for one in result.learners} == said[0].repeats


def test_measurements_that_are_handed_out_together_count_before_they_end():
    result, took, together = whole({"a": 1.0, "b": 1.0}, budget=12.0, ahead=4)
    assert max(map(len, together)) == 4
    assert result.cost.spent <= 12.0 + max(took)


def test_what_lies_between_measurements_is_paid_from_the_budget():
    ticks = iter(range(10**6))
    table = easy(100, task="regression")
    learners = [Costly("a", 0.001)]

    def run(some, progress):
        return [dataclasses.replace(measured(learners[0], table, one, 0), seconds=0.001) for one in some]

    result = forecast_table(table, learners, ForecastSettings(budget=6.0), run=run, clock=lambda: float(next(ticks)))
    assert 5.0 <= result.cost.spent <= 10.0
    assert result.best.error.measured.error.shape[1] < MOST


def test_progress_never_goes_back_while_estimates_change():
    steps: list[float] = []
    whole({"a": 0.1, "b": 6.0, "blind": 1.0}, budget=40.0, progress=lambda done, total: steps.append(done / total))
    assert all(first <= second for first, second in pairwise(steps))
    assert steps[0] < 0.1
    assert steps[-1] == 1.0


def test_the_first_answer_comes_with_the_quickest_learners():
    firsts: list[Forecast] = []
    result, _, _ = whole({"a": 1.0, "b": 12.0}, budget=100.0, first=firsts.append)
    assert len(firsts) == 1
    assert firsts[0].cost.spent < 0.5 * result.cost.spent


def test_an_order_without_room_is_said_to_have_had_none():
    result, _, _ = whole({"a": 30.0}, budget=12.0)
    assert result.order is None
    assert "the budget had no room" in repr(result)


def test_the_best_learner_is_told_no_farther_ahead_than_one_was_measured():
    """A steep curve of few rows crosses that of a better learner far ahead, where nothing was measured."""

    class Falling(Costly):
        def __init__(self, name, height, power, most_rows):
            super().__init__(name, 0.01)
            self.height, self.power, self.most_rows = height, power, most_rows

        def predict(self, train, test, seed):
            error = self.height * (len(train) / 1000) ** -self.power
            signs = np.random.default_rng(len(train)).choice([-1.0, 1.0], size=test.labels.shape)
            return test.labels + np.sqrt(error * test.labels.var()) * signs

    table = easy(5000, task="regression")
    learners = [Falling("steep", 0.4, 0.5, 1000), Falling("good", 0.2, 0.05, 2000)]
    result = forecast_table(table, learners, ForecastSettings(budget=60.0))
    assert result.best.name == "good"
    assert result.learners[1].at(10**6) < result.best.at(10**6)
