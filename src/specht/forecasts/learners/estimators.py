"""Learners that people bring: any estimator of scikit-learn, or any object with `fit` and `predict` (or `predict_proba`)."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from specht.errors import InputError
from specht.forecasts.learners.learner import constant, one_class
from specht.forecasts.table import SequenceTable

PADDING = -1
"""What stands in front of shorter sequences where an estimator reads integers."""


class EstimatorLearner:
    """An estimator that is copied, unfitted, for every training subset.

    It reads texts where the table was read from texts (words are put together with spaces), and otherwise integers (n, columns), with -1
    in front of shorter sequences. Classes are whole numbers: 0, 1, ... over those that the training subset has.
    """

    def __init__(self, name: str, estimator: Any, seconds: float = 1e-3) -> None:
        if not callable(getattr(estimator, "fit", None)) or not _judges(estimator):
            raise InputError(f"Learner {name!r} must have the methods fit and predict (or predict_proba), got {type(estimator).__name__}.")
        self.name, self.estimator, self.seconds = name, estimator, seconds
        self.sees_order = True
        self.most_rows: int | None = None
        self.description = f"Your estimator {type(estimator).__name__}."

    def predict(self, train: SequenceTable, test: SequenceTable, seed: int) -> np.ndarray:
        """What a fresh copy of the estimator says after it was fitted."""
        if one_class(train.labels):
            return constant(train.labels, len(test))
        model = seeded(fresh(self.estimator), seed)
        if train.task == "regression":
            model.fit(inputs(train), train.labels[:, 0])
            return self._checked(model.predict(inputs(test)), (len(test), 1), "predict")
        present, classes = np.unique(np.argmax(train.labels, axis=1), return_inverse=True)
        model.fit(inputs(train), classes)
        outputs = np.zeros((len(test), train.labels.shape[1]))
        if callable(getattr(model, "predict_proba", None)):
            outputs[:, present] = self._checked(model.predict_proba(inputs(test)), (len(test), len(present)), "predict_proba")
        else:
            named = self._checked(model.predict(inputs(test)), (len(test), 1), "predict")[:, 0]
            if not np.isin(named, np.arange(len(present))).all():
                raise InputError(f"Learner {self.name!r} predicts classes it was not given: they are 0 to {len(present) - 1}.")
            outputs[np.arange(len(test)), present[named.astype(int)]] = 1.0
        return outputs

    def cost(self, rows: int) -> float:
        """Seconds: so many for a row as were stated."""
        return self.seconds * rows

    def _checked(self, values: Any, shape: tuple[int, int], method: str) -> np.ndarray:
        array = np.asarray(values, dtype=np.float64)
        array = array[:, None] if array.ndim == 1 else array
        if array.shape != shape:
            raise InputError(f"{method} of learner {self.name!r} must give an array of shape {shape}, got {array.shape}.")
        if not np.isfinite(array).all():
            raise InputError(f"{method} of learner {self.name!r} gave values that are not finite.")
        return array


def inputs(table: SequenceTable) -> Any:
    """What an estimator reads: a list of texts, or integers (n, columns) with -1 for padding."""
    if table.facts.cut_into == "items":
        return np.where(table.mask, table.tokens, PADDING)
    between = " " if table.facts.cut_into == "words" else ""
    return [between.join(table.vocabulary[token] for token in tokens[real]) for tokens, real in zip(table.tokens, table.mask, strict=True)]


def fresh(estimator: Any) -> Any:
    """An unfitted copy of an estimator."""
    if callable(getattr(estimator, "get_params", None)) and hasattr(estimator, "__sklearn_tags__"):
        from sklearn.base import clone  # pyright: ignore[reportMissingImports]

        return clone(estimator)
    return copy.deepcopy(estimator)


def seeded(model: Any, seed: int) -> Any:
    """The model with the seed in the place of every `random_state` that is not set."""
    if callable(getattr(model, "get_params", None)) and callable(getattr(model, "set_params", None)):
        unset = {name: seed for name, value in model.get_params().items() if name.split("__")[-1] == "random_state" and value is None}
        if unset:
            model.set_params(**unset)
    return model


def _judges(estimator: Any) -> bool:
    return any(callable(getattr(estimator, method, None)) for method in ("predict", "predict_proba"))
