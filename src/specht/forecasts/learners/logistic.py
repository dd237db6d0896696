"""Linear learners of sparse features: logistic regression for classes, and ridge regression for numbers.

Features are n-grams, or which token stands where. How strongly weights are held back is chosen by cross-validation of the squared error on
training rows, at most 2000 of them. Where there are more weights than such rows can tell apart, fits know rows by what they share; others
are those of scikit-learn (the extra `learners`). Numbers take a ridge chosen by leaving rows out.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsqr

from specht.errors import InputError
from specht.forecasts.learners.learner import constant, one_class
from specht.forecasts.learners.ngrams import SparseRows, ngram_counts, orders_of
from specht.forecasts.learners.ridge import RidgeFit, fit_ridge_by_leaving_out, ridge_seconds
from specht.forecasts.learners.softmax import Coordinates, SoftmaxRegression
from specht.forecasts.subsets import FOLDS
from specht.forecasts.table import SequenceTable

STRENGTHS = tuple((0.1 * 10 ** (0.5 * step)) for step in range(8))
"""What the loss is multiplied by against the squares of the weights; small values hold back more."""
FALLS = (math.sqrt(0.5), 1.0)
"""Scale of the n-grams of an order in units of that of the order before, the usual one first."""
_FOLDS = 3
_JUDGED = 2000
"""Training rows that are enough to choose among these."""
_STEPS = 100
"""Most steps of a fit."""
_WEIGHTS = 5e5
"""Most weights, features times classes; beyond, the rarest features are left out."""
_WEIGHT = 20.0
"""Products of rows that take as long as what is done to a weight in a step: fits know rows by what they share if that takes less time."""
_DEAR = 1e7
"""Products a step, in fits by features, beyond which one fold judges one fall."""
_WINDOWS = 8e7
"""Most n-grams that are looked at; beyond, the longest are left out."""
_MANY = 1000
"""From so many rows on, n-grams that stand in one of them alone are left out."""

Features = Callable[[SequenceTable, SequenceTable], list[SparseRows]]
"""Blocks of features (train and test, features), each with rows of length one or less."""
Fits = Callable[[np.ndarray, np.ndarray, float], np.ndarray]
"""From rows to train on, rows to judge and a strength to the shares of the classes at the latter."""


@dataclasses.dataclass(frozen=True)
class FeatureSize:
    """What the time of a fit grows with."""

    tokens: float
    """Of a sequence, in the mean."""
    classes: int
    """0 for numbers."""
    blocks: int
    """Of features."""
    judged: int
    """Rows that judge."""


class LinearLearner:
    """Logistic regression, or ridge regression for numbers, on blocks of sparse features."""

    sees_order = True
    most_rows: int | None = None

    def __init__(self, name: str, description: str, features: Features, size: FeatureSize) -> None:
        self.name, self.description, self.features, self.size = name, description, features, size
        self.choice: tuple[float, float] | None = None
        """Fall and strength (for numbers: ridge) of the last prediction."""
        self.at_bound = False
        """Whether the strength of the last prediction was the largest or smallest one, or its ridge stopped at a bound."""

    def predict(self, train: SequenceTable, test: SequenceTable, seed: int) -> np.ndarray:
        """Shares of the classes, or numbers, at the test rows."""
        self.choice, self.at_bound = None, False
        if one_class(train.labels):
            return constant(train.labels, len(test))
        blocks = self.features(train, test)
        rng = np.random.default_rng(seed)
        if train.task == "regression":
            return self._numbers(blocks, train.labels, rng)
        return self._classes(blocks, train.labels, rng)

    def cost(self, rows: int) -> float:
        """Seconds: counting, choosing on some of the rows, and one fit to all."""
        size, judged = self.size, min(rows, _JUDGED)
        falls = min(size.blocks, len(FALLS))
        counting = 2e-7 * size.tokens * size.blocks * (rows + size.judged)
        if not size.classes:
            return 0.05 + counting + falls * ridge_seconds(judged)
        choosing = falls * (ridge_seconds(judged) + 3e-8 * judged**2 * (size.classes + 10))  # steps of few classes wait for the memory
        # features that are rare are left out where rows are long, so a step takes less than in proportion to their tokens
        step = 4.4e-5 * size.tokens**0.5 * size.classes**0.25 * (1.0 if size.blocks > 1 else 0.6)
        whole = step * rows if rows > _JUDGED else 0.0
        return 0.05 + counting + choosing + whole

    def _classes(self, blocks: list[SparseRows], labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n, outputs = labels.shape
        classes, some = np.argmax(labels, axis=1), rng.permutation(n)[:_JUDGED]
        blocks = most_frequent(blocks, n, int(_WEIGHTS / outputs))
        products = blocks_size(blocks) * outputs * len(some) / n
        few = len(some) ** 2 <= _WEIGHT * outputs * sum(block.shape[1] for block in blocks) + products
        dear = not few and products > _DEAR
        errors: dict[tuple[float, float], float] = {}
        spaces: dict[float, Coordinates] = {}
        for fall in FALLS[:1] if dear or len(blocks) == 1 else FALLS:
            x = scaled(blocks, fall)[some]
            x = x[:, np.unique(x.indices)]  # no others get a weight
            if few:
                spaces[fall] = Coordinates((x @ x.T).toarray())
            models = [self._model(x, spaces.get(fall), classes[some], outputs) for _ in range(1 if dear else _FOLDS)]
            strengths = near(min(errors, key=errors.__getitem__)[1]) if errors else STRENGTHS
            path = validation_path(models, labels[some], strengths)
            errors |= {(fall, strength): error for strength, error in path.items()}
        self.choice = fall, strength = min(errors, key=errors.__getitem__)
        self.at_bound = strength in (STRENGTHS[0], STRENGTHS[-1])
        x = scaled(blocks, fall)
        if few and n <= _JUDGED:  # the rows that were judged were all, in another order
            space = spaces[fall]
            regression = SoftmaxRegression(space, classes[some], outputs, _STEPS)
            return regression.shares(np.arange(n), space.of((x[n:] @ x[some].T).toarray()), strength)
        return Regressor(outputs).shares(x[:n], classes, x[n:], strength)

    @staticmethod
    def _model(x: SparseRows, space: Coordinates | None, classes: np.ndarray, outputs: int) -> Fits:
        """Fits to some rows that are judged at others: by what rows share if their coordinates are given, else by features."""
        if space is None:
            regressor = Regressor(outputs)
            return lambda inside, outside, strength: regressor.shares(x[inside], classes[inside], x[outside], strength)
        regression = SoftmaxRegression(space, classes, outputs, _STEPS)
        return lambda inside, outside, strength: regression.shares(inside, space.rows[outside], strength)

    def _numbers(self, blocks: list[SparseRows], labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n, mean = len(labels), labels.mean(axis=0)
        some = rng.permutation(n)[:_JUDGED]
        fits: dict[float, RidgeFit] = {}
        for fall in FALLS[: len(blocks)]:
            x = with_offset(scaled(blocks, fall))[some]
            fits[fall] = fit_ridge_by_leaving_out((x @ x.T).toarray(), labels[some] - mean)
        fall = min(fits, key=lambda fall: fits[fall].left_out_error)
        self.choice, self.at_bound = (fall, fits[fall].ridge), fits[fall].at_bound
        x = with_offset(scaled(blocks, fall))
        if n <= _JUDGED:  # the rows that were judged were all, in another order
            return (x[n:] @ x[some].T) @ fits[fall].weights + mean
        columns = [lsqr(x[:n], column, damp=math.sqrt(fits[fall].ridge))[0] for column in (labels - mean).T]
        return x[n:] @ np.stack(columns, axis=1) + mean


def scaled(blocks: Sequence[SparseRows], fall: float) -> SparseRows:
    """Blocks side by side, each smaller than the one before."""
    return sparse.hstack([fall**place * block for place, block in enumerate(blocks)]).tocsr()


def with_offset(x: SparseRows) -> SparseRows:
    """Features with a column of ones."""
    return sparse.hstack([x, np.ones((x.shape[0], 1))]).tocsr()


def most_frequent(blocks: Sequence[SparseRows], n: int, most: int) -> list[SparseRows]:
    """The features that stand in most of the first n rows, so many of them over all blocks."""
    counts = [np.bincount(block[:n].indices, minlength=block.shape[1]) for block in blocks]
    if sum(map(len, counts)) <= most:
        return list(blocks)
    least = np.partition(np.concatenate(counts), -most)[-most]
    return [block[:, np.flatnonzero(count > least)] for block, count in zip(blocks, counts, strict=True)]


def blocks_size(blocks: Sequence[SparseRows]) -> int:
    """Numbers in all blocks that are not zero."""
    return sum(block.nnz for block in blocks)


def near(strength: float) -> tuple[float, ...]:
    """A strength and its neighbours."""
    at = STRENGTHS.index(strength)
    return STRENGTHS[max(at - 1, 0) : at + 2]


def validation_path(models: Sequence[Fits], labels: np.ndarray, strengths: Sequence[float]) -> dict[float, float]:
    """Mean squared error on as many of the three folds as there are models, at every strength until it rises."""
    of_fold = np.arange(len(labels)) % _FOLDS
    errors: dict[float, float] = {}
    for strength in strengths:
        squares = []
        for fold, fits in enumerate(models):
            inside, outside = np.flatnonzero(of_fold != fold), np.flatnonzero(of_fold == fold)
            squares.append(np.sum((labels[outside] - fits(inside, outside, strength)) ** 2, axis=1))
        errors[strength] = float(np.concatenate(squares).mean())
        if errors[strength] > 1.05 * min(errors.values()):
            break  # weights that are held back even less would be worse
    return errors


class Regressor:
    """Logistic regression that begins where it ended before, if it is asked again with the same rows."""

    def __init__(self, outputs: int) -> None:
        self.outputs, self.model = outputs, None

    def shares(self, x: SparseRows, classes: np.ndarray, x_new: SparseRows, strength: float) -> np.ndarray:
        """Probability of every class at new rows: zero for those that no training row has."""
        shares = np.zeros((x_new.shape[0], self.outputs))
        present = np.unique(classes)
        if len(present) == 1:
            shares[:, present[0]] = 1.0
            return shares
        if self.model is None:
            self.model = _linear_model().LogisticRegression(tol=1e-4, max_iter=_STEPS, warm_start=True)
        self.model.set_params(C=strength)
        with warnings.catch_warnings():  # of small steps left at the end
            warnings.simplefilter("ignore")
            self.model.fit(x, classes)
        shares[:, self.model.classes_] = self.model.predict_proba(x_new)
        return shares


def _linear_model() -> Any:
    if not has_scikit_learn():
        raise InputError("Logistic regression needs scikit-learn: install it with `pip install 'specht[learners]'`.")
    return importlib.import_module("sklearn.linear_model")


def has_scikit_learn() -> bool:
    """Whether scikit-learn is installed."""
    return importlib.util.find_spec("sklearn") is not None


def ngram_features(train: SequenceTable, test: SequenceTable) -> list[SparseRows]:
    """log(1 + count) of n-grams that training rows have, one block an order, in units of the length of each row."""
    tokens, mask = np.concatenate([train.tokens, test.tokens]), np.concatenate([train.mask, test.mask])
    orders = orders_of(train)
    orders = orders[: max(1, int(_WINDOWS / tokens.size))]
    least = 2 if len(train) >= _MANY else 1
    return [_known(counts.log1p(), len(train), least) for counts in ngram_counts(tokens, mask, orders)]


def place_features(train: SequenceTable, test: SequenceTable) -> list[SparseRows]:
    """Which token stands where, counted from the end and, where sequences differ in length, from the start."""
    tokens, mask = np.concatenate([train.tokens, test.tokens]), np.concatenate([train.mask, test.mask])
    rows, columns = np.nonzero(mask)
    symbols, width = int(tokens.max()) + 1, tokens.shape[1]
    starts = width - mask.sum(axis=1)
    ends = [columns] if mask.all() else [columns, columns - starts[rows]]
    blocks = []
    for place in ends:
        at = place * symbols + tokens[mask]
        ones = sparse.coo_matrix((np.ones(len(rows)), (rows, at)), shape=(len(tokens), width * symbols)).tocsr()
        blocks.append(_known(ones, len(train), 1))
    return [sparse.hstack(blocks).tocsr()]


def _known(values: SparseRows, n: int, least: int) -> SparseRows:
    """Columns that so many training rows have; rows in units of their length before others were left out."""
    lengths = np.sqrt(np.asarray(values.power(2).sum(axis=1)).ravel())
    scale = sparse.diags_array(1.0 / np.where(lengths > 0.0, lengths, 1.0))
    seen = np.bincount(values[:n].indices, minlength=values.shape[1])
    return (scale @ values[:, np.flatnonzero(seen >= least)]).tocsr()


KIND = "logistic regression (ridge regression for numbers)"
LINEAR: dict[str, tuple[str, Features]] = {
    "ngrams": (f"N-grams with {KIND}.", ngram_features),
    "places": (f"Which token stands where, with {KIND}.", place_features),
}
"""What each linear learner is, and its features."""


def linear_learner(name: str, table: SequenceTable) -> LinearLearner:
    """The linear learner of this name for sequences like those of a table."""
    tokens, classes = float(table.mask.sum() / len(table)), len(table.classes)
    blocks = len(orders_of(table)) if name == "ngrams" else 1
    return LinearLearner(name, *LINEAR[name], FeatureSize(tokens, classes, blocks, len(table) // FOLDS))
