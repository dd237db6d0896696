"""Exact Gaussian process inference with the kernel of an architecture.

Variances maximise the likelihood of the labels of a few hundred training rows. The ridge is chosen on every training subset by leaving out
one row at a time. With `prepare` the kernel of the training rows with all rows is computed once, and subsets are cut out of it; what test
rows share with each other is never computed.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from specht.architecture import Architecture
from specht.errors import InputError
from specht.forecasts.learners.learner import constant, one_class
from specht.forecasts.learners.ridge import RidgeFit, fit_ridge_by_leaving_out, ridge_seconds
from specht.forecasts.table import SequenceTable
from specht.learning.gp import Fit, fit_architecture, leading_gram

MOST_ROWS = 4000
"""Training rows of exact inference, whose time is their cube."""
FIT_ROWS = 300
"""Rows whose labels decide the variances."""


@dataclasses.dataclass(frozen=True, eq=False)
class PreparedKernel:
    """The architecture with its variances, and its kernel between all rows and those that train."""

    fit: Fit
    table: SequenceTable
    """Rows that train, before the others."""
    gram: np.ndarray
    """(rows, training rows), in no unit."""
    own: np.ndarray
    """k(x, x) of all rows."""

    def cut(self, train: SequenceTable, test: SequenceTable) -> tuple[np.ndarray, np.ndarray] | None:
        """The kernel (train, train) and (test, train), or None where some row was not prepared.

        Its unit is the mean of k(x, x): over all rows if they are few, and otherwise over those that are asked for.
        """
        columns, rows = self._places(train), self._places(test)
        if columns is None or rows is None or columns.max() >= self.gram.shape[1]:
            return None
        unit = self.own.mean() if len(self.own) <= MOST_ROWS else self.own[np.concatenate([columns, rows])].mean()
        square, cross = self.gram[np.ix_(columns, columns)], self.gram[np.ix_(rows, columns)]
        for part in (square, cross):
            part /= unit
            part += 1.0
        return square, cross

    def _places(self, table: SequenceTable) -> np.ndarray | None:
        """Where rows of another table stand in this one, by their lines in the file."""
        order = np.argsort(self.table.lines)
        at = order[np.minimum(np.searchsorted(self.table.lines, table.lines, sorter=order), len(order) - 1)]
        same = self.table.tokens.shape[1] == table.tokens.shape[1] and np.array_equal(self.table.lines[at], table.lines)
        same = same and np.array_equal(self.table.tokens[at], table.tokens) and np.array_equal(self.table.mask[at], table.mask)
        return at if same else None


class ExactLearner:
    """The infinitely wide network of an architecture, conditioned on the training rows."""

    def __init__(self, name: str, description: str, arch: Architecture, outputs: int = 1, judged: int = 0) -> None:
        self.name, self.description, self.arch = name, f"Exact inference with infinite width: {description}.", arch
        self.sees_order = not (arch.positions == "none" and arch.readout == "mean")
        self.most_rows: int | None = MOST_ROWS
        self.outputs, self.judged = outputs, judged
        """Of a label, and rows that judge: what seconds grow with."""
        self.ridge: RidgeFit | None = None
        """What the last prediction was made with."""
        self._prepared: PreparedKernel | None = None

    @property
    def at_bound(self) -> bool:
        """Whether the ridge of the last prediction stopped at a bound."""
        return self.ridge is not None and self.ridge.at_bound

    def prepare(self, table: SequenceTable, training: np.ndarray, seed: int) -> None:
        """Fit the variances on some of the rows `training` of a table, and compute the kernel of all its rows with these."""
        self._prepared = None
        check_rows(self.name, len(training))
        fit = self._fit(table.take(training), seed)
        if fit is not None:
            ordered = table.take(np.concatenate([training, np.setdiff1d(np.arange(len(table)), training)]))
            gram, own = leading_gram(fit.arch, ordered.tokens, ordered.mask, len(training))
            self._prepared = PreparedKernel(fit, ordered, gram, own)

    def predict(self, train: SequenceTable, test: SequenceTable, seed: int) -> np.ndarray:
        """The posterior mean at the test rows."""
        check_rows(self.name, len(train))
        mean = train.labels.mean(axis=0)
        if one_class(train.labels):
            self.ridge = None
            return constant(train.labels, len(test))
        parts = None if self._prepared is None else self._prepared.cut(train, test)
        if parts is None:
            fit = self._fit(train, seed) if self._prepared is None else self._prepared.fit
            parts = _kernels(self.arch if fit is None else fit.arch, train, test)
        square, cross = parts
        self.ridge = fit_ridge_by_leaving_out(square, train.labels - mean)
        return cross @ self.ridge.weights + mean

    def cost(self, rows: int) -> float:
        """Seconds: the ridge, and a share of the kernel, which is computed once for subsets of all sizes."""
        places = self.arch.columns if self.arch.has_positions else 0
        pairs = rows * (0.33 * rows + 0.4 * self.judged)  # sums to about all of them over the subsets of one repeat
        return 0.05 + ridge_seconds(rows, self.outputs) + pairs * (3e-8 + 2e-11 * self.arch.vocab + 4.3e-10 * places)

    def _fit(self, train: SequenceTable, seed: int) -> Fit | None:
        some = np.random.default_rng(seed).permutation(len(train))[:FIT_ROWS]
        labels = train.labels[some]
        if one_class(labels):
            return None
        labels = labels - labels.mean(axis=0)
        scale = np.sqrt(np.mean(np.sum(labels**2, axis=1)))
        return fit_architecture(self.arch, train.tokens[some], train.mask[some], labels / scale)


def _kernels(arch: Architecture, train: SequenceTable, test: SequenceTable) -> tuple[np.ndarray, np.ndarray]:
    """The kernel (train, train) and (test, train), in units of the mean of k(x, x) over all of these rows, plus the shared offset."""
    n = len(train)
    gram, own = leading_gram(arch, np.concatenate([train.tokens, test.tokens]), np.concatenate([train.mask, test.mask]), n)
    gram /= own.mean()
    gram += 1.0
    return gram[:n], gram[n:]


def check_rows(name: str, rows: int) -> None:
    """Refuse more rows than exact inference takes."""
    if rows > MOST_ROWS:
        raise InputError(f"Learner {name!r} needs the cube of the rows, so it takes at most {MOST_ROWS} training rows, got {rows}.")
