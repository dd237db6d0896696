"""Nested subsets, folds, and the errors of what is measured on them."""

from __future__ import annotations

import numpy as np
import pytest
from learner_tables import Constant, easy

from specht.forecasts.curves import measured_errors
from specht.forecasts.subsets import SplitErrors, learner_sizes, measure_split, nested_splits, subset_sizes


def test_every_row_judges_once_in_five_repeats():
    splits = nested_splits(103, 10, seed=3)
    for some in (splits[:5], splits[5:]):
        assert sorted(np.concatenate([split.test for split in some])) == list(range(103))
    for split in splits:
        assert sorted([*split.train, *split.test]) == list(range(103))
    again = nested_splits(103, 3, seed=3)
    assert all(np.array_equal(one.train, other.train) for one, other in zip(splits, again, strict=False))  # more repeats change none


def test_sizes_stop_at_the_limit_of_a_learner():
    learner = Constant()
    assert learner_sizes(learner, 10000, 1.0).tolist() == [500, 1000, 2000, 4000, 8000]
    learner.most_rows = 3000
    assert learner_sizes(learner, 10000, 1.0).tolist() == [250, 500, 1000, 2000, 3000]
    assert learner_sizes(learner, 10000, 1.0, most=1000).tolist() == [62, 125, 250, 500, 1000]
    assert len(learner_sizes(learner, 10**6, 1.0)) >= 5  # as many octaves below the limit, however many rows there are
    assert learner_sizes(learner, 20, 1.0, most=500).tolist() == [16]


def test_subsets_are_nested_and_errors_are_in_units_of_the_label_variance():
    table, learner = easy(80), Constant()
    split = nested_splits(len(table), 1, seed=0)[0]
    result = measure_split(learner, table, split, subset_sizes(80), seed=0)
    assert all(small < large for small, large in zip(learner.seen, learner.seen[1:], strict=False))
    assert result.error[-1] == pytest.approx(1.0, abs=0.15)
    assert result.accuracy[-1] == np.mean(np.argmax(table.labels[split.test], axis=1) == np.argmax(table.labels.sum(axis=0)))


def test_stated_errors_are_those_of_repeats_and_of_the_rows_that_all_share():
    """Against simulation: tables whose rows and training sets both scatter, folds that cover all rows."""
    rng, rows, means, stated, shared = np.random.default_rng(0), 200, [], [], []
    sizes = np.array([40, 80, 160])
    for _ in range(400):
        row, splits = rng.exponential(0.5, rows), []
        for fold in np.array_split(rng.permutation(rows), 5):
            training = 1.0 + 0.1 * rng.standard_normal(3)
            error, none = row[fold].mean() * training, np.empty(0)
            splits.append(SplitErrors(sizes, error, np.full(3, np.nan), np.full(3, row[fold].var()), 0.0, none, none))
        measured = measured_errors(splits, rows)
        means.append(measured.mean)
        stated.append(measured.stderr)
        shared.append(measured.shared)
    observed = np.std(means, axis=0) / np.mean(means, axis=0)
    assert np.mean(shared) == pytest.approx(1.0 / np.sqrt(rows), rel=0.1)
    own = np.sqrt(np.maximum(observed**2 - np.mean(shared) ** 2, 0))
    assert np.mean(stated, axis=0) / 0.5 == pytest.approx(own, rel=0.2)
