"""Exact Gaussian process inference with the kernel of an architecture.

Variances maximise the likelihood of the labels of a few hundred training rows. The ridge is chosen on every training subset by leaving out
one row at a time. With `prepare` the kernel of all rows is computed once, and subsets are cut out of it.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from specht.architecture import Architecture
from specht.errors import InputError
from specht.forecasts.learners.learner import constant, one_class
from specht.forecasts.learners.ridge import RidgeFit, fit_ridge_by_leaving_out
from specht.forecasts.table import SequenceTable
from specht.learning.gp import Fit, fit_architecture, normalised_gram

MOST_ROWS = 4000
"""Training rows of exact inference, whose time is their cube; and all rows whose kernel is kept in memory."""
FIT_ROWS = 300
"""Rows whose labels decide the variances."""


@dataclasses.dataclass(frozen=True, eq=False)
class PreparedKernel:
    """What was prepared: the architecture with its variances, and the kernel of all rows unless they are too many."""

    fit: Fit
    table: SequenceTable
    gram: np.ndarray | None

    def cut(self, train: SequenceTable, test: SequenceTable) -> np.ndarray | None:
        """The kernel (train and test, train), or None where some row was not prepared."""
        if self.gram is None:
            return None
        rows = self._places(train), self._places(test)
        if rows[0] is None or rows[1] is None:
            return None
        return self.gram[np.ix_(np.concatenate([rows[0], rows[1]]), rows[0])]

    def _places(self, table: SequenceTable) -> np.ndarray | None:
        """Where rows of another table stand in this one, by their lines in the file."""
        order = np.argsort(self.table.lines)
        at = order[np.minimum(np.searchsorted(self.table.lines, table.lines, sorter=order), len(order) - 1)]
        same = self.table.tokens.shape[1] == table.tokens.shape[1] and np.array_equal(self.table.lines[at], table.lines)
        same = same and np.array_equal(self.table.tokens[at], table.tokens) and np.array_equal(self.table.mask[at], table.mask)
        return at if same else None


class ExactLearner:
    """The infinitely wide network of an architecture, conditioned on the training rows."""

    def __init__(self, name: str, description: str, arch: Architecture) -> None:
        self.name, self.description, self.arch = name, f"Exact inference with infinite width: {description}.", arch
        self.sees_order = not (arch.positions == "none" and arch.readout == "mean")
        self.most_rows: int | None = MOST_ROWS
        self.ridge: RidgeFit | None = None
        """What the last prediction was made with."""
        self._prepared: PreparedKernel | None = None

    @property
    def at_bound(self) -> bool:
        """Whether the ridge of the last prediction stopped at a bound."""
        return self.ridge is not None and self.ridge.at_bound

    def prepare(self, table: SequenceTable, training: np.ndarray, seed: int) -> None:
        """Fit the variances on some of the rows `training` of a table, and compute the kernel of all its rows if they are not too many."""
        fit = self._fit(table.take(training), seed)
        gram = None
        if len(table) <= MOST_ROWS and fit is not None:
            gram = normalised_gram(fit.arch, table.tokens, table.mask)
        self._prepared = PreparedKernel(fit, table, gram) if fit is not None else None

    def predict(self, train: SequenceTable, test: SequenceTable, seed: int) -> np.ndarray:
        """The posterior mean at the test rows."""
        check_rows(self.name, len(train))
        mean = train.labels.mean(axis=0)
        if one_class(train.labels):
            self.ridge = None
            return constant(train.labels, len(test))
        gram = self._prepared.cut(train, test) if self._prepared is not None else None
        if gram is None:
            fit = self._prepared.fit if self._prepared is not None else self._fit(train, seed)
            arch = fit.arch if fit is not None else self.arch
            gram = normalised_gram(arch, np.concatenate([train.tokens, test.tokens]), np.concatenate([train.mask, test.mask]))
        n = len(train)
        self.ridge = fit_ridge_by_leaving_out(gram[:n, :n], train.labels - mean)
        return gram[n:, :n] @ self.ridge.weights + mean

    def cost(self, rows: int) -> float:
        """Seconds: the eigenvectors, and looking at every ridge."""
        return 0.1 + cube(rows) + 3e-7 * rows**2

    def _fit(self, train: SequenceTable, seed: int) -> Fit | None:
        some = np.random.default_rng(seed).permutation(len(train))[:FIT_ROWS]
        labels = train.labels[some]
        if one_class(labels):
            return None
        labels = labels - labels.mean(axis=0)
        scale = np.sqrt(np.mean(np.sum(labels**2, axis=1)))
        return fit_architecture(self.arch, train.tokens[some], train.mask[some], labels / scale)


def cube(rows: int) -> float:
    """Seconds for the ridge of so many rows."""
    return 1.2 * (rows / 2000) ** 3


def check_rows(name: str, rows: int) -> None:
    """Refuse more rows than exact inference takes."""
    if rows > MOST_ROWS:
        raise InputError(f"Learner {name!r} needs the cube of the rows, so it takes at most {MOST_ROWS} training rows, got {rows}.")
