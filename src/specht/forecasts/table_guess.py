"""Which columns of a table hold the labels and the sequences, where nobody has said it yet: a first guess that people may change."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from specht.errors import InputError
from specht.forecasts.table_columns import ROWS_A_CATEGORY, sequence_columns
from specht.forecasts.table_files import Column, RawTable
from specht.forecasts.table_labels import MAX_CLASSES, clean_label, number_of

LABEL_NAMES = ("label", "labels", "target", "class", "y", "category", "sentiment", "stars", "rating", "score", "outcome", "activity")
"""What columns of labels are called, the likeliest first."""
MOSTLY = 0.9
"""Share of labels that are numbers in a column of numbers."""


@dataclasses.dataclass(frozen=True)
class GuessedColumns:
    """The columns that look like labels and sequences."""

    target: str
    sequence: str | None
    """None where the other columns say it by themselves, as `read_table` finds out."""


def guess_columns(raw: RawTable) -> GuessedColumns:
    """The likeliest columns of a table.

    Labels are in the column with the likeliest name, else in the last one whose cells are numbers or few different texts, and in a plain
    array in the last one. Row numbers and identifiers, which are all different, are no labels.
    """
    if not raw.columns:
        raise InputError(f"{raw.path} has no columns: sequences and labels need one each.")
    target = _target(raw)
    try:
        sequence_columns(raw, target, None)
    except InputError:
        return GuessedColumns(target, _longest(raw, target))
    return GuessedColumns(target, None)


def _target(raw: RawTable) -> str:
    *_, last = raw.columns
    if raw.numbered:
        return last
    single = [name for name in raw.columns if _is_single(raw.cells[name])]
    places = {name.strip().lower(): name for name in reversed(single)}
    named = next((places[name] for name in LABEL_NAMES if name in places), None)
    likely = [name for name in single if _may_be_labels(raw.cells[name])]
    return named or (likely or single or [last])[-1]


def _is_single(cells: Column) -> bool:
    """Whether every cell is a single value and no list."""
    return isinstance(cells, np.ndarray) or not any(isinstance(cell, list | dict | np.ndarray) for cell in cells)


def _may_be_labels(cells: Column) -> bool:
    values: list[Any] = [clean_label(cell) for cell in (cells.tolist() if isinstance(cells, np.ndarray) else cells)]
    values = [value for value in values if value is not None]
    different = len(set(values))
    if different < 2:
        return False
    numbers = [number for value in values if (number := number_of(value)) is not None]
    if len(numbers) >= MOSTLY * len(values):
        return not (different == len(values) and all(number.is_integer() for number in numbers))
    return different <= min(MAX_CLASSES, len(values) / ROWS_A_CATEGORY)


def _longest(raw: RawTable, target: str) -> str | None:
    """The column with the longest sequences, in characters or items."""
    sizes = {name: _size(raw.cells[name]) for name in raw.columns if name != target}
    return max(sizes, key=lambda name: sizes[name]) if any(sizes.values()) else None


def _size(cells: Column) -> int:
    return sum(len(cell) for cell in cells if isinstance(cell, list | np.ndarray) or (isinstance(cell, str) and number_of(cell) is None))
