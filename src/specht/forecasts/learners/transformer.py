"""A small transformer that is trained: one block of softmax attention, several seeds, stopped by rows that are held out.

Every step takes as many rows, whatever the table has, and every validation set is filled up to one size, so subsets of all sizes share one
compiled program. Tokens are left out at random while it trains, which keeps small tables from being learnt by heart.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from specht.architecture import Architecture
from specht.forecasts.learners.learner import constant, one_class
from specht.forecasts.learners.networks import FILLED, biased, forward
from specht.forecasts.table import SequenceTable
from specht.nn import Fixed, Fresh, Recipe, Size, Trained, train

SIZE = Size(width=32, heads=1, head_size=16)
RATES = (3e-3, 1e-2)
"""Learning rates, of which the first member of the ensemble chooses one."""
MEMBERS = 3
STEPS, BATCH = 1000, 32
_LEFT_OUT = 0.25
"""Share of tokens left out while training."""
_HELD_OUT = 10
"""One in so many training rows is held out, or sixteen rows if that is more, but no more than a quarter."""
_SMALL = 0.01
"""Variances of embeddings, positions and readout at the start, so that networks begin near the shares of the classes."""


class TransformerLearner:
    """An ensemble of small trained transformers."""

    name = "transformer"
    sees_order = True
    most_rows: int | None = None
    description = "A small trained transformer: one block of softmax attention, the mean of several seeds."

    def __init__(self, vocab: int, columns: int) -> None:
        self.arch = Architecture(
            vocab=vocab + 1, length=columns, attention="softmax", residual=True, norm="pre", activation="relu", readout="mean",
            s_w=_SMALL, s_p=_SMALL, s_2=_SMALL,
        )  # fmt: skip
        self.rate: float | None = None
        """Learning rate of the last prediction."""

    def predict(self, train: SequenceTable, test: SequenceTable, seed: int) -> np.ndarray:
        """The mean over members of their numbers, or of their probabilities of each class."""
        self.rate = None
        if one_class(train.labels):
            return constant(train.labels, len(test))
        x, new = self._inputs(train), self._inputs(test)
        new = np.resize(new, (max(len(new), FILLED), new.shape[1]))  # tables of few rows share a program
        named = train.task == "classification"
        mean, scale = train.labels.mean(axis=0), float(train.labels.std()) or 1.0
        y = np.argmax(train.labels, axis=1)[:, None] if named else (train.labels - mean) / scale
        shares = (train.labels.sum(axis=0) + 0.5) / (len(train) + 0.5 * train.labels.shape[1])
        start = biased(self.arch, SIZE, np.log(shares) if named else np.zeros(train.labels.shape[1]))
        order = np.random.default_rng(seed).permutation(len(train))
        results, rates = [], RATES
        for member in range(MEMBERS):
            held, rest = _parts(np.roll(order, -member * held_out(len(train))))
            trained = self._train(start, x, y, held, rest, rates, named, seed + member)
            best = int(np.argmin(np.nanmin(trained.losses["validation"][0, :, 0], axis=1)))
            values = np.asarray(trained.function(0, best, 0)(new), float)[: len(test)]
            results.append(softmax(values, axis=1) if named else values * scale + mean)
            rates = (rates[best],)
        self.rate = rates[0]
        return np.mean(results, axis=0)

    def cost(self, rows: int) -> float:
        """Seconds: steps are as many for every number of rows, and half of them are usually enough for few."""
        columns = self.arch.columns
        step = 1.5e-5 * columns + 1.2e-7 * columns**2
        return 1.5 + STEPS * (MEMBERS + len(RATES) - 1) * step * min(1.0, 0.5 + rows / 4000)

    def _inputs(self, table: SequenceTable) -> np.ndarray:
        """Tokens with the last symbol where there is padding."""
        return np.where(table.mask, table.tokens, self.arch.vocab - 1).astype(np.int32)

    def _train(
        self, start, x: np.ndarray, y: np.ndarray, held: np.ndarray, rest: np.ndarray, rates: tuple[float, ...], named: bool, seed: int
    ) -> Trained:  # fmt: skip
        padding = self.arch.vocab - 1

        def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
            rows = np.concatenate([rng.permutation(rest) for _ in range(-(-n // len(rest)))])[:n]
            return with_gaps(x[rows], padding, rng), y[rows]

        filled = np.resize(held, FILLED)
        recipe = Recipe(
            steps=STEPS, learning_rate=RATES[0], optimiser="adam", batch=BATCH, loss="cross-entropy" if named else "mse", patience=14,
            records=40,
        )  # fmt: skip
        validation = {"validation": Fixed(x[filled], y[filled])}
        return train(start, Fresh(draw), recipe, seeds=[seed % 2**31], learning_rates=rates, evaluate=validation, forward=forward)


def held_out(rows: int) -> int:
    """How many training rows decide when to stop.

    >>> [held_out(rows) for rows in (4, 20, 100, 500, 2000)]
    [1, 5, 16, 50, 200]
    """
    return max(1, rows // _HELD_OUT, min(16, rows // 4))


def _parts(order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that decide when to stop, at most as many as are looked at, and rows to train on."""
    count = held_out(len(order))
    return order[:count][:FILLED], order[count:]


def with_gaps(x: np.ndarray, padding: int, rng: np.random.Generator) -> np.ndarray:
    """Sequences without some of their tokens; the last one stays, so that none is empty."""
    gaps = rng.random(x.shape) < _LEFT_OUT
    gaps[:, -1] = False
    return np.where(gaps, padding, x)
