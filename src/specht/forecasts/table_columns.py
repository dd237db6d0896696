"""Which columns of a table hold the labels and the sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from specht.errors import InputError, unknown_choice
from specht.forecasts.table_files import Column, RawTable, cells_of_array
from specht.forecasts.table_labels import MAX_CLASSES, MISSING, number_of
from specht.forecasts.table_tokens import has_space

ROWS_A_CATEGORY = 5
"""Fewest rows a value, on average, of a column of text that looks like a category and not like sequences."""


def target_column(raw: RawTable, target: str) -> str:
    """The column of the labels; of a plain array by its number, negative ones from the right."""
    if raw.numbered and target.startswith("-") and target[1:].isdigit() and 0 < int(target[1:]) <= len(raw.columns):
        return raw.columns[int(target)]
    if target not in raw.columns:
        raise unknown_choice(f"column of {raw.path}", target, raw.columns)
    return target


def sequence_columns(raw: RawTable, target: str, sequence: str | None) -> list[str]:
    """The column of the sequences, or all columns that one sequence is spread over.

    Unless it is given, it is the only column beside the labels, or the only one of text. Where several have text, those of identifiers
    (texts that are all different, without spaces) and of categories (few different texts) are left aside if one other is left.
    """
    others = [name for name in raw.columns if name != target]
    if sequence is not None:
        if sequence not in raw.columns:
            raise unknown_choice(f"column of {raw.path}", sequence, raw.columns)
        if sequence == target:
            another = raw.option("sequence")
            raise InputError(f"Column {target!r} cannot be both the label and the sequence: name another one with {another}.")
        return [sequence]
    if not others:
        raise InputError(f"There is no column beside {target!r} in {raw.path}: sequences need one of their own.")
    if len(others) == 1 or (raw.numbered and not any(_has_spaces(raw.cells[name]) for name in others)):
        return others  # in a plain array all that is not the label is the sequence
    texts = [name for name in others if _has_text(raw.cells[name])]
    likely = [name for name in texts if not _are_identifiers(raw.cells[name]) and not _are_categories(raw.cells[name])]
    for candidates in (texts, likely):
        if len(candidates) == 1:
            return candidates
    listed = likely or texts
    which = f"are {len(listed)} columns of text" if listed else "is no column of text"
    raise InputError(
        f"In {raw.path} there {which} beside {target!r} ({', '.join(listed or others)}): "
        f"say which holds the sequences with {raw.option('sequence')}."
    )


def sequence_cells(raw: RawTable, columns: Sequence[str]) -> Column:
    """The sequence of every row."""
    if len(columns) == 1:
        return raw.cells[columns[0]]
    parts = [raw.cells[name] for name in columns]
    if all(isinstance(part, np.ndarray) for part in parts):
        return cells_of_array(np.column_stack(parts))
    return list(map(list, zip(*parts, strict=True)))


def _has_text(cells: Column) -> bool:
    """Whether some cell is something other than a number or nothing."""
    return not _is_numeric(cells) and any(isinstance(cell, list | np.ndarray) or _is_text(cell) for cell in cells)


def _has_spaces(cells: Column) -> bool:
    return not _is_numeric(cells) and any(isinstance(cell, str) and has_space(cell) for cell in cells)


def _is_text(cell: Any) -> bool:
    return isinstance(cell, str) and cell.strip().lower() not in MISSING and number_of(cell) is None


def _is_numeric(cells: Column) -> bool:
    return isinstance(cells, np.ndarray) and cells.dtype.kind in "iuf"


def _are_identifiers(cells: Column) -> bool:
    """Whether texts are all different and have no spaces, as names, addresses and keys."""
    texts = _texts(cells)
    return len(set(texts)) == len(texts) > 0 and not any(map(has_space, texts))


def _are_categories(cells: Column) -> bool:
    """Whether texts are few and come back, as labels do."""
    texts = _texts(cells)
    return 0 < len(set(texts)) <= min(MAX_CLASSES, len(texts) / ROWS_A_CATEGORY)


def _texts(cells: Column) -> list[str]:
    """The texts of a column of texts; none of one that holds lists."""
    if any(isinstance(cell, list | np.ndarray) for cell in cells):
        return []
    return [cell.strip() for cell in cells if isinstance(cell, str) and cell.strip().lower() not in MISSING]
