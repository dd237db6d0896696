"""Labels of a table: which are missing, whether they are numbers or classes, and their arrays.

Unless the task is given, labels are classes

- where they are texts or truth values (more than a tenth of the rows),
- where they are at most `FEW` different whole numbers,
- where they are whole numbers that look like codes: exactly 0 to k-1 or exactly 1 to k, at most `MAX_CLASSES` of them, with
  `ROWS_A_CLASS` rows or more for each on average.

All other labels are numbers.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from specht.errors import InputError
from specht.forecasts.table_files import Problem, RawTable

Task = Literal["regression", "classification"]
MISSING = frozenset({"", "na", "n/a", "nan", "null"})
"""Texts that stand for a label which is not there, in any case."""
FEW = 10
"""Most distinct whole numbers that are taken for classes, whichever they are."""
MAX_CLASSES = 100
ROWS_A_CLASS = 20
"""Fewest rows a class on average, where more than `FEW` whole numbers are taken for classes."""


class LabelledRow(NamedTuple):
    """A row that can be used so far."""

    line: int
    ids: np.ndarray
    """Its tokens, in the numbers of `TokenNumbers`."""
    label: Any


def clean_label(cell: Any) -> Any:
    """The cell without surrounding spaces; None where it is missing."""
    if isinstance(cell, str):
        cell = cell.strip()
        return None if cell.lower() in MISSING else cell
    return None if cell is None or (isinstance(cell, float) and math.isnan(cell)) else cell


def number_of(label: Any) -> float | None:
    """The number that a label is or spells, if it does."""
    if isinstance(label, bool | list | dict):
        return None
    try:
        return float(label)
    except (TypeError, ValueError):
        return None


def task_of(labels: Sequence[Any], task: str = "auto") -> Task:
    """Whether labels are numbers or classes, by the rule above.

    >>> task_of(["0", "1", "1"]), task_of([0.5, 1.0, 2.5]), task_of(["1", "2", "x"])
    ('classification', 'regression', 'classification')
    >>> codes = list(range(26))
    >>> task_of(20 * codes), task_of(19 * codes), task_of([3 * code for code in 20 * codes])
    ('classification', 'regression', 'regression')
    """
    if task != "auto":
        return cast(Task, task)
    numbers = [number for label in labels if (number := number_of(label)) is not None]
    if not numbers or len(numbers) < 0.9 * len(labels):
        return "classification"
    distinct = {number for number in numbers if math.isfinite(number)}
    whole = all(number.is_integer() for number in distinct)
    return "classification" if whole and (len(distinct) <= FEW or _are_codes(distinct, len(numbers))) else "regression"


def _are_codes(distinct: set[float], rows: int) -> bool:
    """Whether whole numbers are 0 to k-1 or 1 to k, few enough and each often enough."""
    k, first = len(distinct), min(distinct)
    return first in (0, 1) and max(distinct) == first + k - 1 and k <= MAX_CLASSES and rows >= ROWS_A_CLASS * k


def check_labels(rows: list[LabelledRow], task: Task, place: str) -> tuple[list[LabelledRow], list[Problem]]:
    """Rows with labels as numbers or names of classes; those whose label is neither are problems. Sentences say the place of labels."""
    good: list[LabelledRow] = []
    problems: list[Problem] = []
    for row in rows:
        number = number_of(row.label)
        if isinstance(row.label, list | dict):
            problems.append(Problem(row.line, "malformed", f"label {row.label!r} is not a single value"))
        elif task == "classification":
            whole = number is not None and number.is_integer() and abs(number) < 1e6
            good.append(row._replace(label=f"{number:g}" if whole else str(row.label)))
        elif number is None or not math.isfinite(number):
            problems.append(Problem(row.line, "malformed", f"label {row.label!r} {place} is no finite number"))
        else:
            good.append(row._replace(label=number))
    return good, problems


def repeated_rows(rows: list[LabelledRow], policy: str, unit: str) -> tuple[list[LabelledRow], list[Problem]]:
    """The rows without those that the policy drops, and which of them repeat or contradict an earlier one."""
    first: dict[bytes, tuple[int, Any]] = {}
    same: dict[tuple[bytes, Any], int] = {}
    good: list[LabelledRow] = []
    problems: list[Problem] = []
    for row in rows:
        line, words, label = row.line, row.ids.tobytes(), row.label
        before = same.setdefault((words, label), line)
        origin, other = first.setdefault(words, (line, label))
        if before != line:
            problems.append(Problem(line, "duplicate", f"same sequence and label as {unit} {before}", kept=policy == "keep"))
            if policy == "drop":
                continue
        elif origin != line:
            problems.append(Problem(line, "conflict", f"same sequence as {unit} {origin}, label {label} and not {other}", kept=True))
        good.append(row)
    return good, problems


def label_arrays(labels: list[Any], task: Task, target: str, raw: RawTable) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels as `SequenceTable` has them, and the names of the classes."""
    if task == "regression":
        values = np.array(labels, dtype=np.float64)[:, None]
        if np.ptp(values) == 0.0:
            raise _nothing_to_learn(raw, target, f"{values[0, 0]:g}")
        return values, ()
    counts = collections.Counter(labels)
    classes = tuple(sorted(counts, key=lambda name: (-counts[name], name)))
    if len(classes) == 1:
        raise _nothing_to_learn(raw, target, repr(classes[0]))
    if len(classes) > MAX_CLASSES:
        raise InputError(
            f"The labels {raw.label_place(target)} have {len(classes)} different values, and there may be at most {MAX_CLASSES} classes: "
            f"{raw.other_labels}, or take them for numbers with {raw.option('task', 'regression')}."
        )
    place = {name: index for index, name in enumerate(classes)}
    return np.eye(len(classes))[[place[label] for label in labels]], classes


def _nothing_to_learn(raw: RawTable, target: str, label: str) -> InputError:
    return InputError(f"Every label {raw.label_place(target)} is {label}, so there is nothing to learn: {raw.other_labels}.")
