"""One's own data: a file of sequences and labels as arrays that a kernel takes, with every row that was not as it should be.

Policies, each reported with what it did:

- A row without label or sequence, or one that does not parse, is left out.
- Rows that repeat (same sequence, same label) are kept unless `duplicates="drop"`: a law that repeats itself in the file will do so in
  future samples. Equal sequences with different labels are always kept, since they show the noise of the labels.
- Sequences longer than `max_length` lose their beginning, or their end with `keep="first"`.
- Beyond `vocab` different tokens the rarest become one symbol, `<other>`.
- Shorter sequences are aligned at their end, where the readout is, and padded in front.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError, unknown_choice
from specht.forecasts.table_files import Problem, RawTable, read_raw

Task = Literal["regression", "classification"]
OTHER = "<other>"
MISSING = frozenset({"", "na", "n/a", "nan", "null"})
"""Texts that stand for a label which is not there, in any case."""
FEW = 10
"""Most distinct whole numbers that are taken for classes."""
MAX_CLASSES = 100


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableOptions:
    """How a file is read."""

    delimiter: str | None = None
    """Of a CSV file; guessed unless given."""
    tokens: Literal["auto", "words", "characters"] = "auto"
    """What a text is cut into; words if any text has a space between others."""
    task: Literal["auto", "regression", "classification"] = "auto"
    vocab: int = 512
    max_length: int = 64
    keep: Literal["last", "first"] = "last"
    """Which end of a sequence is kept when it is too long."""
    duplicates: Literal["keep", "drop"] = "keep"

    def __post_init__(self) -> None:
        whole_number("vocab", self.vocab, at_least=2)
        whole_number("max_length", self.max_length, at_least=1)
        for name in ("tokens", "task", "keep", "duplicates"):
            choices = {"tokens": ("auto", "words", "characters"), "task": ("auto", "regression", "classification")}
            allowed = choices.get(name, ("last", "first") if name == "keep" else ("keep", "drop"))
            if getattr(self, name) not in allowed:
                raise unknown_choice(name, getattr(self, name), allowed)


@dataclasses.dataclass(frozen=True, eq=False)
class SequenceTable:
    """Sequences and labels, ready for a kernel."""

    tokens: np.ndarray
    """(n, columns), int32, aligned at the end; the last column is always real."""
    mask: np.ndarray
    """(n, columns), True where a token is real."""
    labels: np.ndarray
    """(n, outputs): the number itself, or one column a class with a single one."""
    lines: np.ndarray
    """(n,): where each row stands in the file, counted from 1."""
    task: Task
    classes: tuple[str, ...]
    """Names of the classes, most frequent first; empty for regression."""
    vocabulary: tuple[str, ...]
    """Names of the token ids, most frequent first; `<other>` last where rare tokens were put together."""
    problems: tuple[Problem, ...]
    """In the order of lines."""
    facts: TableFacts

    def __len__(self) -> int:
        return len(self.tokens)

    def take(self, rows: np.ndarray) -> SequenceTable:
        """The table of some of its rows."""
        parts = {name: getattr(self, name)[rows] for name in ("tokens", "mask", "labels", "lines")}
        return dataclasses.replace(self, **parts)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableFacts:
    """What was read, and what was done to it."""

    path: str
    unit: str
    """What line numbers count: line or row."""
    target: str
    sequence: str
    """The column, or the range of columns, that sequences come from."""
    cut_into: str
    """words, characters or items."""
    rows_read: int
    rows_used: int
    shortest: int
    longest: int
    """Tokens of the longest sequence, before it was cut."""
    cut: int
    """Sequences that were too long."""
    kept_end: str
    types: int
    """Different tokens in the file."""
    other_share: float
    """Share of tokens that became `<other>`."""
    duplicates: str
    """What was done with rows that repeat: keep or drop."""


def read_table(path: str | Path, target: str, sequence: str | None = None, options: TableOptions = TableOptions()) -> SequenceTable:  # noqa: B008 -- frozen
    """Sequences and labels of a file.

    Arguments:
        path: a CSV file with a header, JSON lines, NumPy arrays or Parquet, told apart by the ending.
        target: column of the labels; in a plain NumPy array its number, negative ones from the right.
        sequence: column of the sequences; the only other column, or the only other one of text, unless given.
        options: how to read.
    """
    raw = read_raw(Path(path), options.delimiter)
    target = _target_column(raw, target)
    columns = _sequence_columns(raw, target, sequence)
    cells = [row[columns[0]] if len(columns) == 1 else [row[name] for name in columns] for row in _rows(raw, [target, *columns])]
    cut = _cut_into(cells, options.tokens)
    problems = list(raw.problems)
    found: list[tuple[int, tuple[str, ...], Any]] = []
    for (line, row), cell in zip(raw.rows, cells, strict=True):
        sequence_or_fault, label = _tokens(cell, cut), _label(row.get(target))
        if label is None:
            problems.append(Problem(line, "missing", f"no label in column {target!r}"))
        elif isinstance(sequence_or_fault, str):
            kind = "missing" if sequence_or_fault.startswith("no ") else "malformed"
            problems.append(Problem(line, kind, sequence_or_fault))
        else:
            found.append((line, sequence_or_fault, label))
    if raw.rows and not any(_label(row.get(target)) is not None for _, row in raw.rows):
        raise InputError(f"Every label in column {target!r} of {path} is missing: choose another column with --target.")
    task = _task([label for *_, label in found], options.task)
    found, bad = _checked_labels(found, task, target)
    problems += bad
    if not found:
        detail = f" ({raw.unit} {problems[0].line}: {problems[0].detail})" if problems else ""
        raise InputError(f"No row of {path} can be used{detail}: mend the file, or choose other columns.")
    found, repeats = _duplicates(found, options.duplicates, raw.unit)
    problems += repeats
    labels, classes = _arrays_of_labels([label for *_, label in found], task, target)
    tokens, mask, vocabulary, other_share = _arrays_of_tokens([words for _, words, _ in found], options)
    lengths = [len(words) for _, words, _ in found]
    facts = TableFacts(
        path=str(path),
        unit=raw.unit,
        target=target,
        sequence=columns[0] if len(columns) == 1 else f"{columns[0]} to {columns[-1]}",
        cut_into=cut if any(isinstance(cell, str) for cell in cells) else "items",
        rows_read=len(raw.rows) + len(raw.problems),
        rows_used=len(found),
        shortest=min(lengths),
        longest=max(lengths),
        cut=sum(length > options.max_length for length in lengths),
        kept_end=options.keep,
        types=len({word for _, words, _ in found for word in words}),
        other_share=other_share,
        duplicates=options.duplicates,
    )
    lines = np.array([line for line, *_ in found])
    in_order = tuple(sorted(problems, key=lambda problem: problem.line))
    return SequenceTable(tokens, mask, labels, lines, task, classes, vocabulary, in_order, facts)


def _rows(raw: RawTable, names: Sequence[str]) -> list[dict[str, Any]]:
    return [{name: row.get(name) for name in names} for _, row in raw.rows]


def _target_column(raw: RawTable, target: str) -> str:
    numbered = raw.columns == tuple(map(str, range(len(raw.columns))))
    if numbered and target.startswith("-") and target[1:].isdigit() and 0 < int(target[1:]) <= len(raw.columns):
        return raw.columns[int(target)]
    if target not in raw.columns:
        raise unknown_choice(f"column of {raw.path}", target, raw.columns)
    return target


def _sequence_columns(raw: RawTable, target: str, sequence: str | None) -> list[str]:
    others = [name for name in raw.columns if name != target]
    if sequence is not None:
        if sequence not in raw.columns:
            raise unknown_choice(f"column of {raw.path}", sequence, raw.columns)
        if sequence == target:
            raise InputError(f"Column {target!r} cannot be both the label and the sequence: name another one with --sequence.")
        return [sequence]
    if not others:
        raise InputError(f"{raw.path} has no column beside {target!r}: sequences need one of their own.")
    if len(others) == 1:
        return others
    if raw.columns == tuple(map(str, range(len(raw.columns)))):  # a plain array: all that is not the label is the sequence
        return others
    texts = [name for name in others if any(_is_text(row.get(name)) for _, row in raw.rows)]
    if len(texts) == 1:
        return texts
    which = f"{len(texts)} columns of text" if texts else "no column of text"
    raise InputError(
        f"{raw.path} has {which} beside {target!r} ({', '.join(others)}): say which holds the sequences with --sequence COLUMN."
    )


def _is_text(cell: Any) -> bool:
    """Whether a cell is something other than a number or nothing."""
    if isinstance(cell, list):
        return True
    return isinstance(cell, str) and cell.strip().lower() not in MISSING and _number(cell) is None


def _cut_into(cells: Sequence[Any], tokens: str) -> str:
    if tokens != "auto":
        return tokens
    return "words" if any(isinstance(cell, str) and len(cell.split()) > 1 for cell in cells) else "characters"


def _tokens(cell: Any, cut: str) -> tuple[str, ...] | str:
    """The tokens of a cell, or what is wrong with it."""
    if isinstance(cell, str):
        words = tuple(cell.split()) if cut == "words" else tuple(cell.strip())
        return words or "no sequence"
    if cell is None:
        return "no sequence"
    if not isinstance(cell, list):
        cell = [cell]
    if not cell:
        return "no sequence"
    for item in cell:
        if isinstance(item, bool | int | str):
            continue
        if isinstance(item, float) and item.is_integer():
            continue
        return f"a sequence holds {item!r}, and tokens are texts or whole numbers"
    return tuple(str(int(item)) if isinstance(item, float) else str(item) for item in cell)


def _label(cell: Any) -> Any:
    """The cell without surrounding spaces; None where it is missing."""
    if isinstance(cell, str):
        cell = cell.strip()
        return None if cell.lower() in MISSING else cell
    return None if cell is None or (isinstance(cell, float) and math.isnan(cell)) else cell


def _number(label: Any) -> float | None:
    if isinstance(label, bool | list | dict):
        return None
    try:
        return float(label)
    except (TypeError, ValueError):
        return None


def _task(labels: Sequence[Any], task: str) -> Task:
    """Classes for texts, truth values and a few whole numbers; otherwise numbers, if nearly all are."""
    if task != "auto":
        return cast(Task, task)
    numbers = [number for label in labels if (number := _number(label)) is not None]
    distinct = set(numbers)
    few = len(distinct) <= FEW and all(number.is_integer() for number in distinct if math.isfinite(number))
    return "regression" if numbers and not few and len(numbers) >= 0.9 * len(labels) else "classification"


def _checked_labels(
    found: list[tuple[int, tuple[str, ...], Any]], task: Task, target: str
) -> tuple[list[tuple[int, tuple[str, ...], Any]], list[Problem]]:
    """Labels as numbers or names of classes; rows whose label is neither are problems."""
    good: list[tuple[int, tuple[str, ...], Any]] = []
    problems: list[Problem] = []
    for line, words, label in found:
        number = _number(label)
        if isinstance(label, list | dict):
            problems.append(Problem(line, "malformed", f"label {label!r} is not a single value"))
        elif task == "classification":
            good.append((line, words, f"{number:g}" if number is not None and number.is_integer() and abs(number) < 1e6 else str(label)))
        elif number is None or not math.isfinite(number):
            problems.append(Problem(line, "malformed", f"label {label!r} in column {target!r} is no finite number"))
        else:
            good.append((line, words, number))
    return good, problems


def _duplicates(
    found: list[tuple[int, tuple[str, ...], Any]], policy: str, unit: str
) -> tuple[list[tuple[int, tuple[str, ...], Any]], list[Problem]]:
    first: dict[tuple[str, ...], tuple[int, Any]] = {}
    seen: dict[tuple[tuple[str, ...], Any], int] = {}
    good: list[tuple[int, tuple[str, ...], Any]] = []
    problems: list[Problem] = []
    for line, words, label in found:
        before = seen.setdefault((words, label), line)
        origin, other = first.setdefault(words, (line, label))
        if before != line:
            problems.append(Problem(line, "duplicate", f"same sequence and label as {unit} {before}", kept=policy == "keep"))
            if policy == "drop":
                continue
        elif origin != line:
            problems.append(Problem(line, "conflict", f"same sequence as {unit} {origin}, label {label} and not {other}", kept=True))
        good.append((line, words, label))
    return good, problems


def _arrays_of_labels(labels: list[Any], task: Task, target: str) -> tuple[np.ndarray, tuple[str, ...]]:
    if task == "regression":
        values = np.array(labels, dtype=np.float64)[:, None]
        if np.ptp(values) == 0.0:
            raise InputError(f"Every label in column {target!r} is {values[0, 0]:g}, so there is nothing to learn: choose another column.")
        return values, ()
    counts = collections.Counter(labels)
    classes = tuple(sorted(counts, key=lambda name: (-counts[name], name)))
    if len(classes) == 1:
        raise InputError(f"Every label in column {target!r} is {classes[0]!r}, so there is nothing to learn: choose another column.")
    if len(classes) > MAX_CLASSES:
        raise InputError(
            f"Column {target!r} has {len(classes)} different values, and at most {MAX_CLASSES} classes are told apart: "
            "choose another column, or --task regression for numbers."
        )
    place = {name: index for index, name in enumerate(classes)}
    return np.eye(len(classes))[[place[label] for label in labels]], classes


def _arrays_of_tokens(sequences: list[tuple[str, ...]], options: TableOptions) -> tuple[np.ndarray, np.ndarray, tuple[str, ...], float]:
    """Tokens, mask, names of the ids, and the share of tokens that became `<other>`."""
    limit = options.max_length
    kept = [words[-limit:] if options.keep == "last" else words[:limit] for words in sequences]
    counts = collections.Counter(word for words in kept for word in words)
    order = sorted(counts, key=lambda word: (-counts[word], word))
    if len(order) > options.vocab:
        order = [*order[: options.vocab - 1], OTHER]
    place = {word: index for index, word in enumerate(order)}
    columns = max(2, max(map(len, kept)))  # a context position and a readout column
    tokens = np.zeros((len(kept), columns), dtype=np.int32)
    mask = np.zeros((len(kept), columns), dtype=bool)
    for row, words in enumerate(kept):
        tokens[row, columns - len(words) :] = [place.get(word, len(order) - 1) for word in words]
        mask[row, columns - len(words) :] = True
    total = sum(counts.values())
    other = total - sum(counts[word] for word in order if word != OTHER) if OTHER in place else 0
    return tokens, mask, tuple(order), other / total
