"""Small tables that the tests of learners share."""

from __future__ import annotations

import dataclasses

import numpy as np

from specht.forecasts.table import SequenceTable, TableFacts


def table_of(
    tokens: np.ndarray, labels: np.ndarray, vocab: int, cut_into: str = "items", lengths: np.ndarray | None = None
) -> SequenceTable:
    """A table of given sequences; one-hot labels (n, classes) for whole numbers (n,), numbers otherwise."""
    rows, columns = tokens.shape
    classes = tuple(map(str, range(int(labels.max()) + 1))) if labels.dtype.kind == "i" else ()
    y = np.eye(len(classes))[labels] if classes else labels[:, None]
    mask = np.ones(tokens.shape, bool) if lengths is None else np.arange(columns)[None] >= columns - lengths[:, None]
    facts = TableFacts(
        path="", unit="row", target="y", sequence="x", cut_into=cut_into, rows_read=rows, rows_used=rows, shortest=1, longest=columns,
        cut=0, kept_end="last", types=vocab, other_share=0.0, duplicates="keep",
    )  # fmt: skip
    task = "classification" if classes else "regression"
    names = tuple("abcdefghijklmnopqrstuvwxyz"[:vocab])
    return SequenceTable(np.where(mask, tokens, 0).astype(np.int32), mask, y, np.arange(rows) + 7, task, classes, names, (), facts)


def easy(rows: int, seed: int = 0, task: str = "classification", cut_into: str = "items") -> SequenceTable:
    """Whether (or how often) the first token is among eight columns of four, in sequences of three to eight tokens."""
    rng = np.random.default_rng(seed)
    tokens, lengths = rng.integers(1, 4, size=(rows, 8)), rng.integers(3, 9, size=rows)
    marked = rng.integers(3, size=rows)
    tokens[:, 5:][np.arange(3)[None] < marked[:, None]] = 0
    labels = (marked > 0).astype(int) if task == "classification" else marked.astype(float)
    return table_of(tokens, labels, 4, cut_into, lengths)


def shuffled(table: SequenceTable, seed: int = 0) -> SequenceTable:
    """The table with its labels in another order, so that there is nothing to learn."""
    return dataclasses.replace(table, labels=table.labels[np.random.default_rng(seed).permutation(len(table))])


class Constant:
    """Always says the mean of the training labels, after so many seconds."""

    description, sees_order, most_rows = "The mean.", True, None

    def __init__(self, name="constant", seconds=0.1):
        self.name, self.seconds, self.seen = name, seconds, []

    def cost(self, rows):
        return self.seconds

    def predict(self, train, test, seed):
        self.seen.append(set(train.lines.tolist()))
        return np.tile(train.labels.mean(axis=0), (len(test), 1))
