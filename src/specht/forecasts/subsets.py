"""Which rows train and which judge: nested subsets of growing size, and a fold of other rows that judges all of them."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from specht.forecasts.learners.learner import Learner, PreparedLearner, accuracy, right_rows
from specht.forecasts.table import SequenceTable

FOLDS = 5
"""Every row judges once in five repeats; the other four fifths train."""
OCTAVES = 4
"""The smallest subset is this many halvings of the largest."""
LEAST = 12
"""Rows of the smallest subset."""


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
    """Rows of a table for one repeat."""

    train: np.ndarray
    """In the order in which they join the subsets."""
    test: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class SplitErrors:
    """How well one learner predicts the test rows of one split from each of the nested subsets."""

    n_train: np.ndarray
    """(P,)"""
    error: np.ndarray
    """(P,): mean squared error in units of the label variance."""
    accuracy: np.ndarray
    """(P,): share of test rows whose likeliest class is right; not a number for regression."""
    row_variance: np.ndarray
    """(P,): variance of one row's squared error, in the same unit squared."""
    seconds: float
    """CPU time of all fits."""
    last_errors: np.ndarray
    """(test rows,) at the largest size: squared errors in units of the label variance."""
    last_right: np.ndarray
    """(test rows,) at the largest size: one where the class is right and zero elsewhere; not a number for regression."""


def subset_sizes(rows: int, step: float = 0.5) -> np.ndarray:
    """Sizes of the subsets of so many rows, largest last, a number of octaves apart.

    >>> subset_sizes(500).tolist()
    [25, 35, 50, 71, 100, 141, 200, 283, 400]
    >>> subset_sizes(500, step=1.0).tolist()
    [25, 50, 100, 200, 400]
    """
    most = rows - -(-rows // FOLDS)
    sizes = np.round(most * 2.0 ** -np.arange(0.0, OCTAVES + 1e-9, step)[::-1]).astype(int)
    return np.unique(sizes[sizes >= min(LEAST, most)])


def learner_sizes(learner: Learner, rows: int, octaves: float, most: int | None = None) -> np.ndarray:
    """Sizes of the subsets that a learner takes: those of all learners, up to its limit, and as many octaves below it.

    Arguments:
        most: a limit beside that of the learner.
    """
    limits = [limit for limit in (learner.most_rows, most) if limit is not None]
    whole = subset_sizes(rows, octaves)
    if not limits or whole[-1] <= min(limits):
        return whole
    limit, largest = min(limits), whole[-1]
    falls = np.arange(0.0, np.log2(largest / limit) + OCTAVES + 1e-9, octaves)[::-1]
    sizes = np.round(largest * 2.0**-falls).astype(int)
    return np.append(np.unique(sizes[(sizes < limit) & (sizes >= min(LEAST, limit))]), limit)


def nested_splits(rows: int, repeats: int, seed: int) -> list[Split]:
    """The folds of random permutations one after the other, each with the other rows in random order.

    >>> [split.test.tolist() for split in nested_splits(5, 5, seed=0)]
    [[2], [4], [3], [0], [1]]
    """
    rng = np.random.default_rng(seed)
    splits: list[Split] = []
    while len(splits) < repeats:
        folds = np.array_split(rng.permutation(rows), FOLDS)
        for fold in folds:
            rest = np.setdiff1d(np.arange(rows), fold)
            splits.append(Split(rng.permutation(rest), fold))
    return splits[:repeats]


def measure_split(learner: Learner, table: SequenceTable, split: Split, sizes: np.ndarray, seed: int) -> SplitErrors:
    """Train on each subset and judge by the rows of the fold."""
    variance = label_variance(table.labels)
    test = table.take(split.test)
    errors, accuracies, variances = np.empty((3, len(sizes)))
    last_errors, last_right = np.empty((2, len(split.test)))
    begun = time.process_time()
    if isinstance(learner, PreparedLearner):
        rows = np.concatenate([split.train[: sizes[-1]], split.test])
        learner.prepare(table.take(rows), np.arange(sizes[-1]), seed)
    for index, size in enumerate(sizes):
        outputs = learner.predict(table.take(np.sort(split.train[:size])), test, seed)
        squares = np.sum((outputs - test.labels) ** 2, axis=1) / variance
        errors[index], variances[index] = squares.mean(), squares.var()
        accuracies[index] = accuracy(test.labels, outputs)
        last_errors = squares
        last_right = np.full(len(squares), np.nan) if test.labels.shape[1] == 1 else right_rows(test.labels, outputs)
    return SplitErrors(sizes, errors, accuracies, variances, time.process_time() - begun, last_errors, last_right)


def label_variance(labels: np.ndarray) -> float:
    """Mean squared distance of labels from their mean, summed over outputs."""
    return float(np.mean(np.sum((labels - labels.mean(axis=0)) ** 2, axis=1)))
