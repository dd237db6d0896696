"""Goals, whether more rows are worth it, and whether order matters: each says yes and no where it should."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specht.errors import InputError
from specht.forecasts.shapes import ErrorCurve, learned_shapes
from specht.forecasts.subsets import SplitErrors
from specht.forecasts.verdicts import Goal, order_verdict, rows_for_goal, worth_of_more

SIZES = 25.0 * 2.0 ** np.arange(0, 4.5, 0.5)


def ahead(law, relative=0.01):
    return learned_shapes().forecast(ErrorCurve(SIZES, law(SIZES), relative * law(SIZES)))


def test_rows_for_a_goal_are_where_the_curve_crosses_it():
    needed = rows_for_goal(Goal("error", 0.05), ahead(lambda n: n**-0.5), 500, 0.9)
    assert needed.low <= 400.0 <= needed.high
    assert needed.value == pytest.approx(400.0, rel=0.1)
    beyond = rows_for_goal(Goal("accuracy", 0.975), ahead(lambda n: n**-0.5), 500, 0.9)
    assert 1000 < beyond.value < 3000  # 1600 on the curve
    assert beyond.low < beyond.value < beyond.high


def test_a_goal_below_the_floor_is_out_of_reach():
    needed = rows_for_goal(Goal("error", 0.1), ahead(lambda n: 0.4 + 0.0 * n), 500, 0.9)
    assert math.isinf(needed.value)
    assert math.isinf(needed.high)


@pytest.mark.parametrize(("law", "verdict"), [(lambda n: n**-0.5, "yes"), (lambda n: 0.4 + 0.0 * n, "no")])
def test_more_rows_are_worth_it_where_the_curve_falls(law, verdict):
    assert worth_of_more(ahead(law), 500, 0.9).verdict == verdict


@pytest.mark.parametrize("text", ["accuracy", "accuracy=2", "f1=0.9", "accuracy=x", "R2=0", ""])
def test_a_goal_that_says_nothing_is_refused(text):
    with pytest.raises(InputError, match="--goal must be accuracy="):
        Goal.parse(text)


def test_goals_are_read_as_people_write_them():
    assert Goal.parse("accuracy=95%") == Goal.parse("Accuracy = 0.95")
    assert Goal.parse("r2=0.8").largest_error == pytest.approx(0.2)


def splits(right, folds=5, squares=None):
    """Folds of rows that are right or wrong, whose squared errors are zero or one unless given."""
    arrays = (np.array([80.0]), np.array([0.5]), np.array([0.5]), np.array([0.1]), 0.0)
    squares = 1.0 - right if squares is None else squares
    parts = zip(np.array_split(squares, folds), np.array_split(right.astype(float), folds), strict=True)
    return [SplitErrors(*arrays, *part) for part in parts]


def test_order_matters_where_shuffling_costs_more_than_chance():
    rng = np.random.default_rng(0)
    right = rng.random(400) < 0.9
    yes = order_verdict("a", splits(right), {"a": splits(right & (rng.random(400) < 0.9))}, 0.9)
    assert (yes.verdict, yes.is_accuracy, yes.only_less_sure) == ("yes", True, False)
    assert yes.low < 0.09 < yes.high
    assert yes.error_gained == pytest.approx(yes.value)
    said = [order_verdict("a", splits(rng.random(200) < 0.8), {"a": splits(rng.random(200) < 0.8)}, 0.9).verdict for _ in range(400)]
    assert said.count("yes") <= 4 + 3 * 2  # one in a hundred, and three standard errors


def test_order_matters_a_little_where_outputs_alone_get_worse():
    """Squared errors of all rows grow by a twentieth, and the same rows are right."""
    rng = np.random.default_rng(4)
    right, squares = rng.random(400) < 0.9, rng.exponential(0.5, 400)
    grown = squares + 0.05 + 0.1 * rng.standard_normal(400)
    said = order_verdict("a", splits(right, squares=squares), {"a": splits(right, squares=grown)}, 0.9)
    assert (said.verdict, said.value, said.only_less_sure) == ("yes", 0.0, True)
    assert said.error_gained == pytest.approx(np.mean(grown - squares))
    same = order_verdict("a", splits(right, squares=squares), {"a": splits(right, squares=rng.permutation(squares))}, 0.9)
    assert (same.verdict, same.only_less_sure) == ("no", False)


def test_what_is_left_is_the_best_by_squared_error_for_the_verdict_and_by_accuracy_for_the_size():
    rng = np.random.default_rng(5)
    squares, right = rng.exponential(0.5, 4000), {name: rng.random(4000) < level for name, level in (("a", 0.9), ("bag", 0.7), ("b", 0.6))}
    without = {"bag": splits(right["bag"], squares=squares + 0.3), "b": splits(right["b"], squares=squares)}
    said = order_verdict("a", splits(right["a"], squares=squares), without, 0.9)
    assert (said.verdict, said.left_with) == ("no", "bag")
    assert said.error_gained == 0.0
    assert said.low < 0.2 < said.high


def test_repeats_that_scatter_more_than_their_rows_count():
    """Whole folds that go up or down together are no evidence of the size of their rows."""
    rng = np.random.default_rng(1)
    said = []
    for _ in range(300):
        level = np.repeat(0.1 * rng.standard_normal(5), 80)
        without = {"a": splits(rng.random(400) < 0.7 - level)}
        said.append(order_verdict("a", splits(rng.random(400) < 0.7 + level), without, 0.9).verdict)
    assert said.count("yes") <= 7.5 + 3 * 2.7  # one in forty (2.3 and 2.7 % of 2000), and three standard errors


def test_what_is_lost_is_counted_from_the_best_that_is_left():
    """A learner that only reads the last token falls below one that sees no order."""
    rng = np.random.default_rng(2)
    levels = {"ordered": 0.9, "last": 0.5, "bag": 0.8}
    rows = {name: splits(rng.random(4000) < level) for name, level in levels.items()}
    said = order_verdict("last", rows["ordered"], {name: rows[name] for name in ("last", "bag")}, 0.9)
    assert (said.measured_by, said.left_with, said.verdict) == ("last", "bag", "yes")
    assert said.low < 0.1 < said.high
    worse = order_verdict("last", rows["ordered"], {"last": rows["last"], "bag": splits(rng.random(4000) < 0.3)}, 0.9)
    assert worse.left_with == "last"
    assert worse.low < 0.4 < worse.high
