"""Columns of what is in memory: tables of other libraries, arrays, records, what tokenizers return, and sequences with their labels.

No library is imported for its tables: what has columns is a table, and what has rows is a column.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from specht.arrays import as_numpy
from specht.errors import InputError, unknown_choice
from specht.forecasts.table_files import Column, RawTable, cells_of_array, cells_of_records, check_names, columns_of_array, counted

IDS, ATTENTION, LABELS = "input_ids", "attention_mask", ("labels", "label")
"""What tokenizers call tokens and their mask, and what labels are called beside them."""
SEQUENCES = "the sequences given"
_FORMS = "a path, a DataFrame, a mapping of columns, a list of records, or sequences with as many labels"


def read_memory(data: Any, target: Any, sequence: str | None) -> tuple[RawTable, str, str | None]:
    """The table, the column of its labels, and the column of its sequences if that is known."""
    if target is None or isinstance(target, str | int | np.integer):
        return _table(data, None if target is None else str(target), sequence)
    return _sequences_and_labels(data, target, sequence), "label", "sequence"


def _table(data: Any, target: str | None, sequence: str | None) -> tuple[RawTable, str, str | None]:
    name, columns = _named_columns(data, target)
    if IDS in columns and sequence in (None, IDS):
        sequence, target = IDS, target or next((label for label in LABELS if label in columns), None)
        if target is None:
            raise InputError(f"There is {IDS!r} and no {LABELS[0]!r} in {name}: name the column of the labels as target, or add one.")
        if target not in columns:
            raise unknown_choice(f"column of {name}", target, [column for column in columns if column != ATTENTION])
        mask = columns.get(ATTENTION)
        ids = columns[IDS] if mask is None else _real_tokens(columns[IDS], mask, name)
        columns = {IDS: ids, target: columns[target]}  # token_type_ids and the like say nothing about the sequence
    if target is None:
        raise InputError(f"target is missing: name the column of {name} that holds the labels ({', '.join(columns)}).")
    cells = {column: _cells(values, f"Column {column!r} of {name}") for column, values in columns.items()}
    return _raw(name, cells, "table"), target, sequence


def _raw(name: str, cells: Mapping[str, Column], source: str) -> RawTable:
    sizes = {column: len(values) for column, values in cells.items()}
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{column} {size}" for column, size in sizes.items())
        raise InputError(f"The columns of {name} have different numbers of rows ({listed}): give one value a row in each.")
    rows = max(sizes.values(), default=0)
    if not rows:
        raise InputError(f"There is no row in {name}: give at least one.")
    return RawTable(name, "row", cells, range(1, rows + 1), source=source)


def _named_columns(data: Any, target: str | None) -> tuple[str, dict[str, Any]]:
    """What the table is called, and its columns as they are."""
    if isinstance(data, Mapping):
        return "the mapping given", {str(name): values for name, values in data.items()}
    if _has_columns(data):
        kind, keys = type(data).__name__, list(data.column_names if hasattr(data, "column_names") else data.columns)
        names = [str(key) for key in keys]
        check_names(f"The {kind}", names)
        return kind, {name: data[key] for name, key in zip(names, keys, strict=True)}
    if isinstance(data, np.ndarray) and (data.dtype.names or (data.ndim == 2 and target is not None)):
        return "the array given", dict(columns_of_array("The array given", data))
    if isinstance(data, list | tuple) and any(isinstance(row, Mapping) for row in data):
        other = next((row for row, record in enumerate(data, start=1) if not isinstance(record, Mapping)), None)
        if other is not None:
            raise InputError(f"Row {other} of the records given is {_shown(data[other - 1])}: give one dictionary a row.")
        return "the records given", dict(cells_of_records(data))
    if isinstance(data, list | tuple | np.ndarray) or hasattr(data, "__array__"):
        if not len(data):
            raise InputError("There is no row in the data given: give at least one.")
        column = f"no column {target!r}" if target is not None else "no labels"
        raise InputError(f"The {type(data).__name__} given has {column}: give the labels themselves, as read_table(sequences, labels).")
    raise InputError(f"data is {_shown(data)}, which is no table: give {_FORMS}.")


def _has_columns(data: Any) -> bool:
    """Whether it has columns, as tables of pandas, polars, Arrow and datasets do."""
    return hasattr(data, "__getitem__") and (hasattr(data, "columns") or hasattr(data, "column_names"))


def _sequences_and_labels(data: Any, labels: Any, sequence: str | None) -> RawTable:
    if sequence is not None:
        raise InputError(f"sequence={sequence!r} names a column, and labels were given beside the sequences: leave it out.")
    records = isinstance(data, list | tuple) and any(isinstance(row, Mapping) for row in data)
    if records or isinstance(data, Mapping) or _has_columns(data):
        raise InputError(
            f"The {type(data).__name__} given has columns, so target is the name of one, got a {type(labels).__name__}: "
            "name the column of the labels."
        )
    cells = {"sequence": _cells(data, "The data given"), "label": _labels(labels)}
    sequences, size = len(cells["sequence"]), len(cells["label"])
    if sequences != size:
        raise InputError(f"{counted(sequences, 'sequence')} and {counted(size, 'label')} were given: give one label a sequence.")
    if sequences and all(isinstance(cell, int | float | np.number) and not isinstance(cell, bool) for cell in cells["sequence"]):
        raise InputError("The data given are numbers and no sequences: give one text, one list of tokens or one row of an array each.")
    return _raw(SEQUENCES, cells, "sequences")


def _labels(labels: Any) -> Column:
    if _has_columns(labels):
        labels = as_numpy(labels, "target")
    shape = np.shape(labels) if hasattr(labels, "__array__") else ()
    if len(shape) == 2 and shape[1] == 1:
        labels = as_numpy(labels, "target")[:, 0]
    elif len(shape) > 1:
        raise InputError(f"The labels given have shape {shape}: give one a row, for example by argmax(axis=1) if they are one-hot.")
    return _cells(labels, "target")


def _cells(values: Any, name: str) -> Column:
    """The cells of one column, in whichever library it is."""
    if isinstance(values, list | tuple | range):
        return [_cell(value, name) for value in values]
    if hasattr(values, "isna") and hasattr(values, "tolist"):  # pandas has several kinds of cells that are not there
        return [None if gone else _cell(value, name) for value, gone in zip(values.tolist(), values.isna().tolist(), strict=True)]
    if isinstance(values, np.ndarray) and values.ndim:
        return [_cell(value, name) for value in values] if values.dtype == object else cells_of_array(values)
    for method in ("to_list", "to_pylist"):
        if hasattr(values, method):
            return [_cell(value, name) for value in getattr(values, method)()]
    array = as_numpy(values, name) if hasattr(values, "__array__") or hasattr(values, "__dlpack__") else None
    if array is None or not array.ndim:
        raise InputError(f"{name} is {_shown(values)}: give one value a row, in a list or an array.")
    return cells_of_array(array)


def _cell(value: Any, name: str) -> Any:
    """A cell as a text, a number, a list, an array of whole numbers, or None; negative numbers fill up an array and are left out."""
    if isinstance(value, str | int | float) and not isinstance(value, np.generic):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return list(value) if set(map(type, value)) <= {int, str} else [_cell(item, name) for item in value]
    if type(value).__name__ in ("NAType", "NaTType"):  # of pandas
        return None
    if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        array = as_numpy(value, name)
        return array.item() if not array.ndim else cells_of_array(array[None])[0]
    return value


def _real_tokens(ids: Any, mask: Any, name: str) -> list[Any]:
    """The rows of token ids without those that the attention mask hides."""
    from specht.sequences import booleans  # which loads more than a table needs

    rows, marks = _rows(ids, f"{IDS} of {name}"), _rows(mask, f"{ATTENTION} of {name}")
    if len(rows) != len(marks):
        raise InputError(f"{IDS} has {len(rows)} rows, and {ATTENTION} {len(marks)}: give one mask a sequence.")
    real: list[Any] = []
    for place, (row, hidden) in enumerate(zip(rows, marks, strict=True), start=1):
        if row is None or hidden is None:
            real.append(row)
            continue
        tokens, visible = np.asarray(row), booleans(hidden, ATTENTION) if len(hidden) else np.zeros(0, bool)
        if tokens.shape != visible.shape:
            raise InputError(f"{ATTENTION} has shape {visible.shape} in row {place}, and {IDS} {tokens.shape}: give one mark a token.")
        real.append(tokens[visible])
    return real


def _rows(values: Any, name: str) -> Column:
    """The rows of token ids or of a mask, with all that fills them up."""
    if isinstance(values, list | tuple | np.ndarray):
        rows = values
    else:
        rows = values.tolist() if hasattr(values, "isna") else as_numpy(values, name)
    in_a_row = isinstance(rows, list | tuple) or rows.ndim > 0
    first = next((row for row in rows if row is not None), []) if in_a_row else rows
    if np.ndim(first) != 1:
        raise InputError(f"{name} has no sequences as rows: give one list of numbers a sequence, for example [[0, 1], [1, 0]].")
    return rows


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 and " at 0x" not in text else f"a {type(value).__name__}"
