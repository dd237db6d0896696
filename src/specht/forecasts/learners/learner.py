"""What a learner is: something that is trained on labelled rows and guesses the labels of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from specht.forecasts.table import SequenceTable

if TYPE_CHECKING:
    from specht.forecasts.where import WhereItLooks


@runtime_checkable
class Learner(Protocol):
    """Learns from a table and predicts another one; whatever it chooses, it chooses from the training rows."""

    name: str
    description: str
    """One plain sentence."""
    sees_order: bool
    """Whether its predictions may change when tokens change places."""
    most_rows: int | None
    """Most training rows that it takes; None where there is no limit."""

    def predict(self, train: SequenceTable, test: SequenceTable, seed: int) -> np.ndarray:
        """Outputs (n_test, outputs) in float64: numbers in the units of the labels, or an estimate of the one-hot label."""
        ...

    def cost(self, rows: int) -> float:
        """Seconds, roughly, that `predict` takes with so many training rows on one ordinary core."""
        ...


@runtime_checkable
class PreparedLearner(Protocol):
    """A learner that can do work for many subsets at once."""

    def prepare(self, table: SequenceTable, training: np.ndarray, seed: int) -> None:
        """Get ready for subsets of a table.

        Arguments:
            table: all rows that will be trained or tested on.
            training: the rows of it that choices may be made from: the largest training subset.
            seed: decides which rows are looked at where some are enough.
        """
        ...


@runtime_checkable
class LookingLearner(Protocol):
    """A learner that says which tokens and places it makes larger than others."""

    def where_it_looks(self, train: SequenceTable, seed: int) -> WhereItLooks | None:
        """What stands out by more than chance does; None where there is nothing to tell apart."""
        ...


def squared_error(labels: np.ndarray, outputs: np.ndarray, variance: float) -> float:
    """Mean squared distance between labels and outputs (n, outputs), in units of the label variance.

    >>> labels = np.eye(2)[[0, 1, 1, 1]]
    >>> variance = np.sum(labels.var(axis=0))
    >>> float(squared_error(labels, np.broadcast_to(labels.mean(axis=0), labels.shape), variance))
    1.0
    """
    return float(np.mean(np.sum((labels - outputs) ** 2, axis=1)) / variance)


def accuracy(labels: np.ndarray, outputs: np.ndarray) -> float:
    """Share of rows whose largest output is that of their class; not a number where labels are numbers.

    >>> accuracy(np.eye(2)[[0, 1]], np.array([[0.9, 0.1], [0.6, 0.4]]))
    0.5
    """
    return float("nan") if labels.shape[1] == 1 else float(right_rows(labels, outputs).mean())


def right_rows(labels: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """One for every row whose largest output is that of its class, zero for the others."""
    return (np.argmax(outputs, axis=1) == np.argmax(labels, axis=1)).astype(float)


def one_class(labels: np.ndarray) -> bool:
    """Whether all training labels are the same, so that there is nothing to tell apart."""
    return bool((labels == labels[0]).all())


def constant(labels: np.ndarray, rows: int) -> np.ndarray:
    """The mean of labels, once a row."""
    return np.tile(labels.mean(axis=0), (rows, 1))
