"""Learners of exact inference: ridges against refits, n-grams against a loop, kernels that were prepared against those that were not."""

from __future__ import annotations

import collections
import dataclasses

import numpy as np
import pytest
from learner_tables import easy, shuffled, table_of

from specht.errors import InputError
from specht.forecasts.learners import PreparedLearner, accuracy, choose_learners, exact, ridge, squared_error
from specht.forecasts.learners.local import LocalLearner, order_grams
from specht.forecasts.learners.ngrams import ngram_counts, orders_of
from specht.forecasts.learners.ridge import CEILING, FLOOR, LeaveOneOut, fit_ridge_by_leaving_out
from specht.learning.gp.fit import normalised_gram

RNG = np.random.default_rng(0)


def refitted(gram: np.ndarray, labels: np.ndarray, strength: float) -> np.ndarray:
    """Residuals at every row of a regression on all others, by solving anew."""
    residuals = []
    for row in range(len(gram)):
        rest = np.delete(np.arange(len(gram)), row)
        weights = np.linalg.solve(gram[np.ix_(rest, rest)] + strength * np.eye(len(rest)), labels[rest])
        residuals.append(labels[row] - gram[row, rest] @ weights)
    return np.array(residuals)


@pytest.mark.parametrize("strength", [0.01, 1.0, 100.0])
def test_leaving_out_is_fitting_without(strength):
    x, labels = RNG.standard_normal((12, 20)), RNG.standard_normal((12, 3))
    np.testing.assert_allclose(LeaveOneOut(x @ x.T, labels).residuals(strength), refitted(x @ x.T, labels, strength), rtol=1e-8)


def test_errors_of_many_ridges_are_those_of_each(monkeypatch):
    x, labels = RNG.standard_normal((12, 20)), RNG.standard_normal((12, 3))
    left, ridges = LeaveOneOut(x @ x.T, labels), np.geomspace(1e-3, 1e3, 7)
    monkeypatch.setattr(ridge, "_TOGETHER", 9)  # three ridges at a time
    np.testing.assert_allclose(left.errors(ridges), [left.error(one) for one in ridges], rtol=1e-12)


def test_the_ridge_is_the_best_of_a_fine_grid():
    x = RNG.standard_normal((40, 10))
    labels = x @ RNG.standard_normal((10, 1)) + 2.0 * RNG.standard_normal((40, 1))
    fit = fit_ridge_by_leaving_out(x @ x.T, labels)
    errors = {point: np.mean(refitted(x @ x.T, labels, point) ** 2) for point in np.geomspace(1e-3, 1e4, 300)}
    assert not fit.at_bound
    assert fit.left_out_error == pytest.approx(np.mean(refitted(x @ x.T, labels, fit.ridge) ** 2), rel=1e-8)
    assert fit.left_out_error <= min(errors.values()) * (1 + 1e-6)


def test_a_ridge_at_its_bounds_says_so():
    x = RNG.standard_normal((30, 60))
    exact_labels = x[:, :1] * 0 + np.arange(30)[:, None] % 2 - 0.5
    doubled = np.vstack([x, x])  # every row has a copy with the same label: no noise at all
    fit = fit_ridge_by_leaving_out(doubled @ doubled.T, np.vstack([exact_labels, exact_labels]))
    largest = np.linalg.eigvalsh(doubled @ doubled.T)[-1]
    assert (fit.bound, fit.at_bound) == ("floor", True)
    assert FLOOR * largest * 0.99 < fit.ridge < 2 * FLOOR * largest
    opposite = fit_ridge_by_leaving_out(doubled @ doubled.T, np.vstack([exact_labels, -exact_labels]))
    assert opposite.bound == "ceiling"
    assert opposite.ridge < 1.01 * CEILING * largest


def test_rows_that_repeat_with_other_labels_do_no_harm():
    """What a ridge fitted elsewhere at its floor would do to these is 10^5 times the variance of the labels."""
    tokens = np.tile(RNG.integers(3, size=(20, 4)), (3, 1))
    labels = RNG.standard_normal(60)
    learner = LocalLearner()
    outputs = learner.predict(table_of(tokens, labels, 3), table_of(tokens[:20], labels[:20], 3), seed=0)
    assert np.abs(outputs).max() < 5.0


def loop_counts(table, row, order):
    """N-grams of one row with marks at its ends, counted by a dictionary."""
    words = [int(token) for token in table.tokens[row][table.mask[row]]]
    words = words if order == 1 else ["start", *words, "end"]
    return collections.Counter(tuple(words[place : place + order]) for place in range(len(words) - order + 1))


@pytest.mark.parametrize("cut_into", ["items", "characters"])
def test_counts_of_ngrams_are_those_of_a_loop(cut_into):
    table = easy(25, cut_into=cut_into)
    orders = orders_of(table)
    assert len(orders) == (6 if cut_into == "characters" else 3)
    for order, counts in zip(orders, ngram_counts(table.tokens, table.mask, orders), strict=True):
        rows = [loop_counts(table, row, order) for row in range(25)]
        products = [[sum(a[gram] * b[gram] for gram in a) for b in rows] for a in rows]
        np.testing.assert_array_equal((counts @ counts.T).toarray(), products)


def test_kernels_of_orders_are_those_of_a_loop():
    table = easy(20)
    for order, gram in enumerate(order_grams(table.take(np.arange(12)), table.take(np.arange(12, 20))), start=1):
        rows = [loop_counts(table, row, order) for row in range(20)]
        logs = [{name: np.log1p(count) for name, count in row.items()} for row in rows]
        lengths = [np.sqrt(sum(value**2 for value in row.values())) for row in logs]
        expected = np.array([[sum(a[g] * b.get(g, 0.0) for g in a) for b in logs[:12]] for a in logs])
        np.testing.assert_allclose(gram, expected / np.outer(lengths, lengths[:12]), atol=1e-12)


@pytest.mark.parametrize("name", ["bag", "mean", "erf"])
def test_a_prepared_kernel_gives_the_same(name):
    table = easy(60)
    train, test = table.take(np.arange(10, 50)), table.take(np.arange(50, 60))
    learner = choose_learners([name], table)[0]
    assert isinstance(learner, exact.ExactLearner)
    assert isinstance(learner, PreparedLearner)
    learner.prepare(table, np.arange(50), seed=0)
    prepared = learner.predict(train, test, seed=0)
    other = dataclasses.replace(test, lines=test.lines + 1000)  # rows that were not prepared
    again = learner.predict(train, other, seed=0)
    assert prepared.shape == (10, 2)
    assert accuracy(test.labels, prepared) == 1.0
    # The kernel is in units of its mean over other rows, beside the shared offset: nearly the same predictor.
    np.testing.assert_allclose(prepared, again, atol=0.05)


def by_the_whole_gram(arch, train, test, others):
    """Outputs by the square Gram of all rows, in units of its own trace."""
    rows = [train, test, *others]
    gram = normalised_gram(arch, np.concatenate([part.tokens for part in rows]), np.concatenate([part.mask for part in rows]))
    n, m, mean = len(train), len(test), train.labels.mean(axis=0)
    return gram[n : n + m, :n] @ fit_ridge_by_leaving_out(gram[:n, :n], train.labels - mean).weights + mean


@pytest.mark.parametrize("most", [50, 4000])
@pytest.mark.parametrize("name", ["bag", "mean", "positions", "erf"])
def test_what_test_rows_share_with_each_other_changes_nothing(name, most, monkeypatch):
    monkeypatch.setattr(exact, "MOST_ROWS", most)
    table, order = easy(90), np.random.default_rng(1).permutation(90)
    training, test = order[:50], table.take(order[50:])
    learner = choose_learners([name], table)[0]
    assert isinstance(learner, exact.ExactLearner)
    learner.prepare(table, training, seed=0)
    fit = learner._fit(table.take(training), 0)
    assert fit is not None
    for n in (20, 50):
        train = table.take(np.sort(training[:n]))
        others = [] if most < 90 else [table.take(training[n:])]  # whose own kernels are in the unit of few rows
        expected = by_the_whole_gram(fit.arch, train, test, others)
        np.testing.assert_allclose(learner.predict(train, test, seed=0), expected, rtol=1e-10, atol=1e-10)


def test_labels_of_test_rows_are_not_looked_at():
    table = easy(60)
    train, test = table.take(np.arange(40)), table.take(np.arange(40, 60))
    for name in ("bag", "local"):
        outputs = []
        for judged in (test, shuffled(test)):
            learner = choose_learners([name], table)[0]
            if isinstance(learner, PreparedLearner):
                whole = dataclasses.replace(table, labels=np.concatenate([train.labels, judged.labels]))
                learner.prepare(whole, np.arange(40), seed=0)
            outputs.append(learner.predict(train, judged, seed=0))
        np.testing.assert_array_equal(*outputs)


@pytest.mark.parametrize("name", ["bag", "local"])
def test_where_there_is_nothing_to_learn_the_mean_is_predicted(name):
    table = shuffled(easy(300, task="regression"))
    train, test = table.take(np.arange(200)), table.take(np.arange(200, 300))
    outputs = choose_learners([name], table)[0].predict(train, test, seed=0)
    assert 0.9 < squared_error(test.labels, outputs, table.labels.var()) < 1.15


def test_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr(exact, "MOST_ROWS", 20)
    table = easy(30)
    for name in ("bag", "local"):
        with pytest.raises(InputError, match="at most 20 training rows, got 30"):
            choose_learners([name], table)[0].predict(table, table, seed=0)
