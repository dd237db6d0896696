"""Exact inference by n-grams: a kernel whose tokens see their neighbours.

The kernel of one order is the inner product of log(1 + count) over n-grams of that length, divided by the lengths of the two vectors, so
that its diagonal is one. Orders are added with weights that fall, stay or grow with the order: rows left out decide which, as on the ridge.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from specht.forecasts.learners.exact import MOST_ROWS, check_rows
from specht.forecasts.learners.learner import constant, one_class
from specht.forecasts.learners.ngrams import SparseRows, ngram_counts, orders_of
from specht.forecasts.learners.ridge import RidgeFit, fit_ridge_by_leaving_out, ridge_seconds
from specht.forecasts.table import SequenceTable

RATIOS = (0.0, 0.5, 1.0, 2.0)
"""Weight of each order in units of that of the order before; zero leaves single tokens."""
_JUDGED = 1000
"""Training rows that are enough to choose among these."""


class LocalLearner:
    """A Gaussian process whose kernel compares runs of neighbouring tokens."""

    name = "local"
    sees_order = True
    description = "Exact inference with the kernel of n-gram counts, whose tokens see their neighbours."

    def __init__(self, tokens: float = 50.0, outputs: int = 1, judged: int = 0) -> None:
        self.tokens, self.outputs, self.judged = tokens, outputs, judged
        """Of a sequence, of a label, and rows that judge: what seconds grow with."""
        self.most_rows: int | None = MOST_ROWS
        self.ridge: RidgeFit | None = None
        """What the last prediction was made with."""
        self.ratio: float | None = None
        """Weight of an order in units of the one before, in the last prediction."""

    @property
    def at_bound(self) -> bool:
        """Whether the ridge of the last prediction stopped at a bound."""
        return self.ridge is not None and self.ridge.at_bound

    def predict(self, train: SequenceTable, test: SequenceTable, seed: int) -> np.ndarray:
        """The posterior mean at the test rows."""
        check_rows(self.name, len(train))
        self.ridge = self.ratio = None
        if one_class(train.labels):
            return constant(train.labels, len(test))
        n, mean = len(train), train.labels.mean(axis=0)
        grams = order_grams(train, test)
        some = np.random.default_rng(seed).permutation(n)[:_JUDGED]
        inner, labels = [gram[np.ix_(some, some)] for gram in grams], train.labels - mean
        fits = {ratio: fit_ridge_by_leaving_out(_mixed(inner, ratio), labels[some]) for ratio in RATIOS}
        self.ratio = min(RATIOS, key=lambda ratio: fits[ratio].left_out_error)
        gram = _mixed(grams, self.ratio)
        self.ridge = fit_ridge_by_leaving_out(gram[:n], labels)
        return gram[n:] @ self.ridge.weights + mean

    def cost(self, rows: int) -> float:
        """Seconds: counting, the kernels, the ridge of all rows and, on fewer of them, those of the choices."""
        ridges = ridge_seconds(rows, self.outputs) + len(RATIOS) * ridge_seconds(min(rows, _JUDGED), self.outputs)
        whole = rows + self.judged
        return 0.02 + ridges + 9e-7 * self.tokens * whole + rows * whole * (3e-8 + 5e-10 * self.tokens)


def order_grams(train: SequenceTable, test: SequenceTable) -> list[np.ndarray]:
    """For every order the kernel (train and test, train)."""
    tokens, mask = np.concatenate([train.tokens, test.tokens]), np.concatenate([train.mask, test.mask])
    grams = []
    for counts in ngram_counts(tokens, mask, orders_of(train)):
        known = counts[:, np.unique(counts[: len(train)].indices)]  # an n-gram that training rows lack matches none of them
        rows = scaled_logarithms(known, counts)
        grams.append((rows @ rows[: len(train)].T).toarray())
    return grams


def scaled_logarithms(counts: SparseRows, whole: SparseRows) -> SparseRows:
    """log(1 + count), in units of the length of that row of `whole`."""
    lengths = np.sqrt(np.asarray(whole.log1p().power(2).sum(axis=1)).ravel())
    return sparse.diags_array(1.0 / np.where(lengths > 0.0, lengths, 1.0)) @ counts.log1p()


def _mixed(grams: list[np.ndarray], ratio: float) -> np.ndarray:
    """Kernels of all orders weighted, plus the shared offset."""
    weights = ratio ** np.arange(len(grams))
    mixed = np.ones_like(grams[0])
    for weight, gram in zip(weights / weights.sum(), grams, strict=True):
        if weight > 0.0:
            mixed += weight * gram
    return mixed
