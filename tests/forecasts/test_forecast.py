"""The learning curve of one's own data: outcomes that are known, and a yes and a no of every judge."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import toy_results
from learner_tables import easy, shuffled, table_of
from toy_results import assert_comes_back, assert_shows_itself

import specht
from specht.errors import InputError
from specht.forecasts import room
from specht.forecasts.forecast import ForecastSettings, forecast_table
from specht.forecasts.learners.exact import ExactLearner
from specht.forecasts.learners.registry import choose_learners
from specht.forecasts.measuring import shuffled_tokens
from specht.forecasts.verdicts import Goal, OrderVerdict

SETTINGS = ForecastSettings(budget=11.0)


def forecast_of(table, *names, **settings):
    return forecast_table(table, choose_learners(names, table), dataclasses.replace(SETTINGS, **settings))


def test_the_truth_at_four_times_the_rows_lies_in_the_interval():
    """A learner measured on 150 rows, and trained on 600."""
    table = easy(2600, task="regression")
    table = dataclasses.replace(table, labels=table.labels + 0.3 * np.random.default_rng(0).standard_normal(table.labels.shape))
    own, train, test = table.take(np.arange(150)), table.take(np.arange(600)), table.take(np.arange(600, 2600))
    band = forecast_of(own, "mean").best.error.horizons
    learner = choose_learners(["mean"], train)[0]
    assert isinstance(learner, ExactLearner)
    outputs = learner.predict(train, test, 0)
    truth = np.mean((outputs - test.labels) ** 2) / own.labels.var()
    at = list(band.n_train).index(600)
    assert band.low[at] <= truth <= band.high[at]


def test_order_is_told_from_its_absence():
    rng = np.random.default_rng(12)
    x = rng.integers(3, size=(160, 6))
    placed, counted = (x[:, 1] == 0) * 2.0 + (x[:, 4] == 1), (x == 0).sum(axis=1) * 1.0
    orders = {}
    for name, y in (("placed", placed), ("counted", counted)):
        result = forecast_of(table_of(x, y + 0.3 * rng.standard_normal(160), 3), "bag", "mean")
        assert result.order is not None
        assert result.order.measured_by == "mean"
        orders[name] = result.order
    assert orders["placed"].verdict == "yes"
    assert orders["placed"].low > 0.3
    assert orders["counted"].verdict == "no"
    assert forecast_of(table_of(x, counted, 3), "bag").order is None


def test_order_is_worth_what_it_adds_to_a_learner_without_it():
    """Labels are linear, so the share of their variance that counts cannot explain is known."""
    rng = np.random.default_rng(3)
    x = rng.integers(3, size=(320, 6))
    parts = [2.0 * (x == 0).sum(axis=1), 2.0 * (x[:, -1] == 1)]
    order = forecast_of(table_of(x, sum(parts) + 0.3 * rng.standard_normal(320), 3), "bag", "positions").order
    assert order is not None
    assert (order.measured_by, order.verdict) == ("positions", "yes")
    counts = np.stack([(x == token).sum(axis=1) for token in range(3)], axis=1)
    slope, *_ = np.linalg.lstsq(counts, parts[1], rcond=None)
    unseen = np.var(parts[1] - counts @ slope) / np.var(sum(parts))
    assert order.low < unseen < order.high


def test_a_loss_that_accuracy_does_not_show_is_said_to_be_little():
    order = OrderVerdict("mean", "yes", 0.004, -0.01, 0.018, is_accuracy=True, left_with="mean", error_gained=0.03)
    forecast = toy_results.forecast()
    unseen, seen = (repr(dataclasses.replace(forecast, order=one)) for one in (order, dataclasses.replace(order, low=0.001)))
    assert "Does order matter? Yes, a little: with the tokens of every row shuffled, predictions get less sure" in unseen
    assert "squared errors grow by 3.0 % of the label variance" in unseen
    assert "accuracy changes by less than can be measured (0.4 %, −1.0 % to 1.8 %)" in unseen
    assert "Does order matter? Yes: with the tokens of every row shuffled, mean loses 0.4 %" in seen


def test_labels_without_a_law_are_not_worth_more_rows():
    result = forecast_of(shuffled(easy(150)), "bag", "mean")
    assert result.worth.verdict != "yes"
    assert result.order is not None
    assert result.order.verdict == "no"
    best = result.best.main.horizons
    assert all(one.main.curve.high.max() <= 1.0 for one in result.learners)  # no more rows are wrong than there are
    assert best.low[-1] <= 1 - result.majority + 0.1


def test_shuffled_rows_keep_their_tokens():
    table = easy(50)
    other = shuffled_tokens(table, seed=0)
    assert np.array_equal(np.sort(np.where(table.mask, table.tokens, -1)), np.sort(np.where(other.mask, other.tokens, -1)))
    assert not np.array_equal(table.tokens, other.tokens)


def test_forecasts_repeat_to_the_bit_and_progress_goes_forward():
    table, steps = easy(100), []
    learners = choose_learners(["bag", "mean"], table)
    one = forecast_table(table, learners, SETTINGS, progress=lambda done, total: steps.append(done / total))
    two = forecast_table(table, choose_learners(["bag", "mean"], table), SETTINGS)
    for first, second in zip(one.learners, two.learners, strict=True):
        assert first.main.horizons.high.tolist() == second.main.horizons.high.tolist()
        assert first.main.law.low.tolist() == second.main.law.low.tolist()
    assert steps == sorted(steps)
    assert steps[0] < 0.1
    assert steps[-1] == 1.0


def test_rows_are_counted_as_they_are_and_horizons_are_multiples_of_them():
    result = forecast_of(easy(120), "bag", rows=90, horizons=(1.0, 4.0))
    assert (result.rows, result.rows_available) == (90, 120)
    assert result.best.error.horizons.n_train.tolist() == [90, 360]


def test_a_first_answer_comes_before_the_rest():
    firsts, table = [], easy(100)
    last = forecast_table(table, choose_learners(["bag"], table), SETTINGS, first=firsts.append)
    assert len(firsts) == 1
    assert firsts[0].best.error.measured.error.shape[1] < last.best.error.measured.error.shape[1]


def test_a_forecast_shows_itself_and_comes_back(tmp_path):
    forecast = toy_results.forecast()
    assert_shows_itself(forecast)
    assert_comes_back(forecast, tmp_path)
    assert {trace.get("name") for trace in forecast.plot("learners").to_dict()["data"]} >= {"bag"}
    assert forecast.to_dataframe()["error"].tolist() == forecast.best.error.horizons.value.tolist()
    for words in ("Now: about", "With more rows like these", "Is more data worth collecting?", "Does order matter?"):
        assert words in repr(forecast)


def test_one_call_takes_sequences_and_estimators():
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(list("abcdef"), 8)) for _ in range(120)]
    labels = ["yes" if "a" in text else "no" for text in texts]
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")
    text = pytest.importorskip("sklearn.feature_extraction.text")
    counts, pipeline = text.CountVectorizer(token_pattern=r"\S+"), pytest.importorskip("sklearn.pipeline")
    estimator = pipeline.make_pipeline(counts, linear.LogisticRegression())
    result = specht.forecast(texts, labels, learners={"mine": estimator, "bag": True}, goal="accuracy=90%", budget="10s")
    assert {one.name for one in result.learners} == {"mine", "bag"}
    assert result.goal is not None
    assert result.goal.goal == Goal("accuracy", 0.9)
    assert result.best.now() < 0.2


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"rows": 20}, "rows=20 leaves too few"),
        ({"goal": Goal("accuracy", 0.9)}, "--goal accuracy needs classes"),
    ],
)
def test_bad_settings_are_refused(fields, sentence):
    with pytest.raises(InputError, match=sentence):
        forecast_of(easy(80, task="regression"), "bag", **fields)


def test_few_rows_are_refused():
    with pytest.raises(InputError, match="The table has 40 usable rows, and a forecast needs at least 64"):
        forecast_of(easy(40), "bag")


def test_what_cannot_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(room, "_SURELY_FITS", 0)
    monkeypatch.setattr(room, "available_memory", lambda: 2**29)
    with pytest.raises(InputError, match=r"100 rows of 8 tokens need about 0.5 GiB of memory, and 0.5 GiB are free: use fewer rows"):
        forecast_of(easy(100), "bag")
    assert room.needed_memory(50000, 500) > room.needed_memory(50000, 30) > room.needed_memory(2000, 30)
