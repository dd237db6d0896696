"""Adapted variances: their limit is exact inference, they save rows where few places count, and noise teaches them nothing."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from learner_tables import easy, shuffled, table_of

from specht.errors import InputError
from specht.forecasts import ForecastSettings, forecast_table
from specht.forecasts.learners import choose_learners, exact, squared_error
from specht.forecasts.learners.adapted import AdaptedLearner, contrasts
from specht.forecasts.learners.learner import LookingLearner

PLANTED = (4, 13)
"""Places of the tokens that decide."""


def planted(rows, seed):
    """Twenty tokens of four; the label counts how often two places hold the token b."""
    x = np.random.default_rng(seed).integers(4, size=(rows, 20))
    table = table_of(x, (x[:, PLANTED] == 1).sum(axis=1).astype(float), 4)
    return dataclasses.replace(table, facts=dataclasses.replace(table.facts, shortest=20, longest=20))


def cut(table, rows):
    return table.take(np.arange(rows)), table.take(np.arange(rows, len(table)))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_infinite_width_is_exact_inference(task):
    train, test = cut(easy(90, task=task), 60)  # sequences of unequal length
    whole = AdaptedLearner(4, 8, width=10**12)
    narrow = AdaptedLearner(4, 8, width=4)
    expected = choose_learners(["mean"], train)[0].predict(train, test, seed=3)
    np.testing.assert_allclose(whole.predict(train, test, seed=3), expected, atol=1e-6)
    assert np.abs(narrow.predict(train, test, seed=3) - expected).max() > 1e-3


def test_it_needs_fewer_rows_where_two_places_of_twenty_count():
    sizes, losses = (30, 40, 50, 60), {}
    for name in ("adapted", "mean"):
        for rows in sizes:
            each = []
            for seed in range(4):
                train, test = cut(planted(560, seed), 60)
                outputs = choose_learners([name], train)[0].predict(train.take(np.arange(rows)), test, seed=0)
                each.append(squared_error(test.labels, outputs, float(test.labels.var())))
            losses[name, rows] = np.array(each)
            if name == "mean":  # beyond what draws differ by
                gain = losses["mean", rows] - losses["adapted", rows]
                assert gain.mean() > 3.0 * gain.std(ddof=1) / 2.0
    for bound in (0.4, 0.2):  # rows in between by straight lines
        needed = {name: np.interp(-bound, [-losses[name, rows].mean() for rows in sizes], sizes) for name in ("adapted", "mean")}
        assert needed["adapted"] <= 0.95 * needed["mean"]


def test_it_names_the_places_that_count():
    table = planted(150, 0)
    learner = choose_learners(["adapted"], table)[0]
    assert isinstance(learner, LookingLearner)
    where = learner.where_it_looks(table, seed=0)
    assert sorted(one.name for one in where.places) == ["token 14", "token 5"]
    assert where.tokens[0].name == "b"
    assert (where.rows, where.width) == (150, 64)
    learner.predict(table, table, seed=0)
    assert set(np.argsort(-learner.embedding.positions)[:2]) == set(PLANTED)
    for one in where.places:
        ratio = learner.embedding.positions[int(one.name.split()[1]) - 1] / np.median(learner.embedding.positions)
        assert one.ratio == pytest.approx(ratio, rel=1e-6)


def test_labels_in_random_order_teach_it_nothing():
    errors, named = [], 0
    for seed in range(3):
        table = shuffled(planted(350, seed), seed)
        train, test = cut(table, 150)
        learner = choose_learners(["adapted"], table)[0]
        errors.append(squared_error(test.labels, learner.predict(train, test, seed=0), float(table.labels.var())))
        where = learner.where_it_looks(train, seed=0)
        named += len(where.places) + len(where.tokens)
    assert 0.95 < np.mean(errors) < 1.15
    assert named <= 1


def test_tokens_that_are_not_seen_keep_their_variance():
    rng = np.random.default_rng(0)
    x = rng.choice([0, 2, 5], size=(60, 6))
    table = table_of(x, (x == 2).sum(axis=1).astype(float), 8)
    learner = AdaptedLearner(8, 6)
    test = table_of(rng.integers(8, size=(20, 6)), rng.standard_normal(20), 8)
    assert np.isfinite(learner.predict(table, test, seed=0)).all()
    np.testing.assert_array_equal(learner.embedding.seen, [0, 2, 5])
    np.testing.assert_array_equal(learner.embedding.tokens[[1, 3, 4, 6, 7]], 1.0)
    assert learner.embedding.tokens[2] > 1.0


def test_contrasts_keep_what_labels_share():
    labels = np.eye(5)[np.random.default_rng(0).choice([0, 1, 3], size=40)]
    few, centred = contrasts(labels), labels - labels.mean(axis=0)
    assert few.shape == (40, 2)
    assert np.mean(few**2) == pytest.approx(1.0)
    products = centred @ centred.T
    np.testing.assert_allclose(few @ few.T, products * (2.0 / np.trace(products) * 40.0), atol=1e-12)


def test_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr(exact, "MOST_ROWS", 20)
    table = easy(30)
    with pytest.raises(InputError, match="'adapted' needs the cube of the rows, so it takes at most 20 training rows, got 30"):
        choose_learners(["adapted"], table)[0].predict(table, table, seed=0)


def test_a_forecast_says_where_the_measured_learner_looks():
    class Looking:
        name, description, sees_order, most_rows = "mine", "Says the mean.", True, None

        def predict(self, train, test, seed):
            return np.tile(train.labels.mean(axis=0), (len(test), 1))

        def cost(self, rows):
            return 0.01

        def where_it_looks(self, train, seed):
            return AdaptedLearner(4, 20, width=16).where_it_looks(train.take(np.arange(64)), seed)

    result = forecast_table(planted(100, 0), [Looking()], ForecastSettings(budget=100.0))
    assert result.where is not None
    assert (result.where.width, result.where.rows) == (16, 64)
    assert "A transformer of width 16 gives more weight to" in repr(result)
