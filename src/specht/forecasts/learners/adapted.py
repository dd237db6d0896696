r"""Exact inference with a transformer of finite width, whose embedding has adapted to the training rows.

At infinite width the kernel knows nothing of the labels but a few numbers. At width d it moves towards them: every token and every place
gets a variance of its own, at the minimum of the free energy that begins at the fitted infinite width (`specht.learning.adaptive`). The
kernel with these variances then predicts as in exact inference, with a ridge chosen by leaving out one row at a time.

Of labels $Y$ (n, outputs) without mean only $Y Y^T$ counts. So classes enter as contrasts, $Y W$ with the right singular vectors $W$ of
$Y$: as many outputs as there are classes that occur, less one, of mean square one. While the embedding adapts they are assumed to have
the noise that `specht.forecasts.where` assumes.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from specht.architecture import Architecture, Variances
from specht.forecasts.contenders import choose_contenders
from specht.forecasts.learners.exact import FIT_ROWS, MOST_ROWS, check_rows
from specht.forecasts.learners.learner import constant, one_class
from specht.forecasts.learners.ridge import RidgeFit, fit_ridge_by_leaving_out, ridge_seconds
from specht.forecasts.table import SequenceTable
from specht.forecasts.where import RIDGE, Excess, WhereItLooks, beyond_chance, excess_of, place_names
from specht.kernel import Kernel
from specht.learning.adaptive import AdaptiveProblem, Widths, nearest_minimum
from specht.learning.gp import fit_architecture

WIDTH = 64
"""Entries of the embedding, and width of the layers behind attention."""
ADAPT_ROWS = FIT_ROWS
"""Most training rows whose labels the embedding adapts to; all training rows take part in the inference that follows."""
_FILLED = (64, 128, ADAPT_ROWS)
"""Rows are filled up to one of these, and tokens to a power of two from the first on, so that subsets share compiled programs."""
_STEPS, _SEEN = 10, 2048
"""For the estimate of time: steps of the search, and most different tokens that so few rows hold."""
_NOTHING = 1e-9
"""Singular values of labels below this share of the largest are zero."""


@dataclasses.dataclass(frozen=True, eq=False)
class AdaptedEmbedding:
    """The variances of embedding vectors, over those at infinite width."""

    tokens: np.ndarray
    """(vocab,): one for tokens that were not seen."""
    positions: np.ndarray
    """(columns,)"""
    seen: np.ndarray
    """Tokens in the rows that the embedding adapted to."""

    def variances(self, prior: Variances) -> Variances:
        """What a kernel takes in place of the variances at infinite width."""
        return Variances(self.tokens * prior.tokens, self.positions * prior.positions, prior.dense, prior.readout)


class AdaptedLearner:
    """The Gaussian process of a transformer of finite width, at the minimum of its free energy that the prior leads to."""

    name = "adapted"
    sees_order = True
    description = f"Exact inference with a transformer of width {WIDTH} whose variances have adapted to the data."

    def __init__(self, vocab: int, columns: int, width: int = WIDTH) -> None:
        self.arch, self.width = choose_contenders(["mean"], vocab, columns)["mean"], width
        self.most_rows: int | None = MOST_ROWS
        self.ridge: RidgeFit | None = None
        """What the last prediction was made with."""
        self.embedding: AdaptedEmbedding | None = None
        """What the last prediction was made with; None where the labels that it may adapt to are all the same."""

    @property
    def at_bound(self) -> bool:
        """Whether the ridge of the last prediction stopped at a bound."""
        return self.ridge is not None and self.ridge.at_bound

    def predict(self, train: SequenceTable, test: SequenceTable, seed: int) -> np.ndarray:
        """The posterior mean at the test rows."""
        check_rows(self.name, len(train))
        self.ridge = self.embedding = None
        if one_class(train.labels):
            return constant(train.labels, len(test))
        some, arch, variances = _some(train, seed), self.arch, None
        if not one_class(some.labels):
            arch = self._fitted(some)
            self.embedding = adapt_embedding(arch, some, some.labels, self.width)
            variances = self.embedding.variances(arch.variances)
        kernel, n, mean = Kernel(arch, variances=variances), len(train), train.labels.mean(axis=0)
        tokens, mask = np.concatenate([train.tokens, test.tokens]), np.concatenate([train.mask, test.mask])
        # The unit and the shared offset are those of exact inference.
        gram = np.asarray(kernel.nngp(tokens, tokens[:n], mask=mask, mask_y=mask[:n])) / np.mean(kernel.diagonal(tokens, mask=mask)) + 1.0
        self.ridge = fit_ridge_by_leaving_out((gram[:n] + gram[:n].T) / 2.0, train.labels - mean)
        return gram[n:] @ self.ridge.weights + mean

    def where_it_looks(self, train: SequenceTable, seed: int) -> WhereItLooks | None:
        """Tokens and places that it amplifies by more than chance does; None where all labels are the same."""
        some = _some(train, seed)
        if one_class(some.labels):
            return None
        arch = self._fitted(some)
        seen = np.unique(some.tokens[some.mask])

        def excess(labels: np.ndarray) -> Excess:
            embedding = adapt_embedding(arch, some, labels, self.width)
            return excess_of(embedding.tokens[seen], embedding.positions)

        names = [train.vocabulary[token] for token in seen], place_names(train)
        return beyond_chance(excess, some.labels, names, np.random.default_rng(seed), self.width)

    def cost(self, rows: int) -> float:
        """Seconds: the search for the minimum on at most `ADAPT_ROWS` rows, then the kernel and the ridge of all of them.

        Programs are shared by subsets and repeats; the first second is what compiling them comes to for each.
        """
        adapted, vocab, columns = _filled(min(rows, ADAPT_ROWS)), self.arch.vocab, self.arch.columns
        step = adapted**2 * (4e-10 * adapted + 8e-10 * (min(vocab, _SEEN) + columns))
        return 1.0 + _STEPS * step + 1e-9 * rows * vocab * (columns + rows) + 2e-9 * rows**2 * columns + ridge_seconds(rows)

    def _fitted(self, rows: SequenceTable) -> Architecture:
        """The architecture with the variances at infinite width that exact inference has."""
        labels = rows.labels - rows.labels.mean(axis=0)
        return fit_architecture(self.arch, rows.tokens, rows.mask, labels / np.sqrt(np.mean(np.sum(labels**2, axis=1)))).arch


def adapt_embedding(arch: Architecture, rows: SequenceTable, labels: np.ndarray, width: int) -> AdaptedEmbedding:
    """The minimum of the free energy that the prior leads to.

    Arguments:
        arch: with the variances at infinite width.
        rows: what the embedding adapts to.
        labels: (n, outputs), of these rows or in random order.
        width: of the embedding and of the layers behind attention.
    """
    seen = np.unique(rows.tokens[rows.mask])
    numbers = np.zeros(arch.vocab, dtype=np.int32)
    numbers[seen] = np.arange(len(seen))
    few = arch.replace(vocab=min(arch.vocab, max(_FILLED[0], 1 << (len(seen) - 1).bit_length())))
    problem = AdaptiveProblem.of(few, numbers[rows.tokens], contrasts(labels), rows.mask, RIDGE, None)
    minimum = nearest_minimum(problem, Widths(width, width, max(1, width // 2), 4), rows=_filled(len(rows)))
    tokens = np.ones(arch.vocab)
    tokens[seen] = minimum.tokens[: len(seen)]
    return AdaptedEmbedding(tokens, minimum.positions, seen)


def contrasts(labels: np.ndarray) -> np.ndarray:
    """Labels (n, outputs) without mean, as few outputs that do not correlate, with a mean square of one over all of them.

    >>> np.abs(contrasts(np.eye(2)[[0, 1, 1, 0]])).round(6).tolist()
    [[1.0], [1.0], [1.0], [1.0]]
    """
    left, values, _ = np.linalg.svd(labels - labels.mean(axis=0), full_matrices=False)
    kept = values[values > _NOTHING * values[0]]
    return left[:, : len(kept)] * kept * np.sqrt(len(labels) * len(kept) / np.sum(kept**2))


def _some(train: SequenceTable, seed: int) -> SequenceTable:
    """The rows that variances are chosen from."""
    return train.take(np.random.default_rng(seed).permutation(len(train))[:ADAPT_ROWS])


def _filled(rows: int) -> int:
    return next((most for most in _FILLED if most >= rows), rows)
