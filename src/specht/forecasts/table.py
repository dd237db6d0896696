"""One's own data: sequences and labels, of a file or in memory, as arrays that a kernel takes, with every row that was not as it should be.

Policies, each reported with what it did:

- A row without label or sequence, or one that does not parse, is left out.
- Rows that repeat (same sequence, same label) are kept unless `duplicates="drop"`: a law that repeats itself in the table will do so in
  future samples. Equal sequences with different labels are always kept, since they show the noise of the labels.
- Sequences longer than `max_length` lose their beginning, or their end with `keep="first"`.
- Beyond `vocab` different tokens the rarest become one symbol, `<other>`.
- Shorter sequences are aligned at their end, where the readout is, and padded in front.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any, Literal

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError, unknown_choice
from specht.forecasts.table_columns import sequence_cells, sequence_columns, target_column
from specht.forecasts.table_encodings import encoding_name
from specht.forecasts.table_files import Problem, RawTable, check_names, read_raw
from specht.forecasts.table_labels import LabelledRow, Task, check_labels, clean_label, label_arrays, repeated_rows, task_of
from specht.forecasts.table_memory import read_memory
from specht.forecasts.table_tokens import OTHER as OTHER, TokenNumbers, cut_into, number_of_types, token_arrays

_CHOICES = {
    "tokens": ("auto", "words", "characters"),
    "task": ("auto", "regression", "classification"),
    "keep": ("last", "first"),
    "duplicates": ("keep", "drop"),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableOptions:
    """How a table is read."""

    delimiter: str | None = None
    """Of a CSV file; guessed unless given."""
    encoding: str | None = None
    """Of a text file; unless given, what a mark at its beginning says, else UTF-8, else cp1252 or latin-1."""
    columns: tuple[str, ...] | None = None
    """Names of the columns of a CSV file without header; its first line is a row then."""
    tokens: Literal["auto", "words", "characters"] = "auto"
    """What a text is cut into; words if at least half of the texts have a space between others."""
    task: Literal["auto", "regression", "classification"] = "auto"
    """Labels as numbers or as classes. Unless given, texts are classes, and so are up to ten different whole numbers, and whole numbers
    that are exactly 0 to k-1 or 1 to k, with k up to 100 and at least 20 rows a class on average."""
    vocab: int = 4000
    max_length: int = 256
    keep: Literal["last", "first"] = "last"
    """Which end of a sequence is kept when it is too long."""
    duplicates: Literal["keep", "drop"] = "keep"

    def __post_init__(self) -> None:
        whole_number("vocab", self.vocab, at_least=2)
        whole_number("max_length", self.max_length, at_least=1)
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise unknown_choice(name, getattr(self, name), allowed)
        if self.encoding is not None:
            encoding_name(self.encoding)
        if self.columns is not None:
            if isinstance(self.columns, str) or not self.columns:
                raise InputError(f"columns must be names, one a column, got {self.columns!r}: write for example ('text', 'label').")
            check_names("The table", self.columns)


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
    """Of the file, or what the data in memory are called."""
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
    """Different tokens in the table."""
    other_share: float
    """Share of tokens that became `<other>`."""
    duplicates: str
    """What was done with rows that repeat: keep or drop."""
    encoding: str | None = None
    """What a text file was read in; None for arrays and for data in memory."""


def read_table(data: Any, target: Any = None, sequence: str | None = None, options: TableOptions = TableOptions()) -> SequenceTable:  # noqa: B008 -- frozen
    """Sequences and labels of a file, or of what is in memory.

    Arguments:
        data: the path of a CSV file with a header, JSON lines, NumPy arrays or Parquet, told by the ending; or a DataFrame, a mapping of
            columns, a list of records, or what a tokenizer returns, `{"input_ids", "attention_mask", "labels"}`; or the sequences alone:
            texts, lists of tokens, or an integer array with one sequence a row, negative numbers filling up; or what `read_raw` read.
        target: column of the labels; in a plain NumPy array its number, negative ones from the right. With the sequences alone, the
            labels themselves. `labels` unless given, for what a tokenizer returns.
        sequence: column of the sequences; the only other column, or the only other one of text, unless given.
        options: how to read.

    >>> table = read_table(["a b a", "b c", "a a b"], [1, 0, 1])
    >>> table.tokens.tolist(), table.vocabulary, table.classes
    ([[0, 1, 0], [0, 1, 2], [0, 0, 1]], ('a', 'b', 'c'), ('1', '0'))
    """
    if isinstance(data, str | os.PathLike):
        target = str(target) if isinstance(target, int) and not isinstance(target, bool) else target
        if not isinstance(target, str):
            raise InputError(f"{data} is a file, and its labels are in a column: give the name of that column as target, got {target!r}.")
        raw = read_raw(Path(data), options.delimiter, options.encoding, options.columns)
    else:
        for name in ("delimiter", "encoding", "columns"):
            if getattr(options, name) is not None:
                raise InputError(f"{name}={getattr(options, name)!r} is for files, and the data are in memory: leave it out.")
        raw, target, sequence = (data, target, sequence) if isinstance(data, RawTable) else read_memory(data, target, sequence)
    target = target_column(raw, target)
    return _table_of(raw, target, sequence_columns(raw, target, sequence), options)


def _table_of(raw: RawTable, target: str, columns: list[str], options: TableOptions) -> SequenceTable:
    cells = sequence_cells(raw, columns)
    cut = cut_into(cells, options.tokens)
    numbers = TokenNumbers(cut)
    rows, problems = _rows(raw, target, cells, numbers)
    task = task_of([row.label for row in rows], options.task)
    rows, faults = check_labels(rows, task, raw.label_place(target))
    problems += faults
    if not rows:
        detail = f" ({raw.unit} {problems[0].line}: {problems[0].detail})" if problems else ""
        cure = "mend them" if raw.source == "sequences" else "mend it, or choose other columns"
        raise InputError(f"No row of {raw.path} can be used{detail}: {cure}.")
    rows, repeats = repeated_rows(rows, options.duplicates, raw.unit)
    problems += repeats
    labels, classes = label_arrays([row.label for row in rows], task, target, raw)
    sequences, names = [row.ids for row in rows], numbers.names
    tokens, mask, vocabulary, other_share = token_arrays(sequences, names, options.vocab, options.max_length, options.keep)
    lengths = [len(ids) for ids in sequences]
    facts = TableFacts(
        path=raw.path,
        unit=raw.unit,
        target=target,
        sequence=columns[0] if len(columns) == 1 else f"{columns[0]} to {columns[-1]}",
        cut_into=cut if any(isinstance(cell, str) for cell in cells) else "items",
        rows_read=len(raw.lines) + len(raw.problems),
        rows_used=len(rows),
        shortest=min(lengths),
        longest=max(lengths),
        cut=sum(length > options.max_length for length in lengths),
        kept_end=options.keep,
        types=number_of_types(sequences, names),
        other_share=other_share,
        duplicates=options.duplicates,
        encoding=raw.encoding,
    )
    lines = np.array([row.line for row in rows])
    in_order = tuple(sorted(problems, key=lambda problem: problem.line))
    return SequenceTable(tokens, mask, labels, lines, task, classes, vocabulary, in_order, facts)


def _rows(raw: RawTable, target: str, cells: Any, numbers: TokenNumbers) -> tuple[list[LabelledRow], list[Problem]]:
    """Rows with a sequence and a label, and what is wrong with the others."""
    labels = [clean_label(cell.tolist() if isinstance(cell, np.ndarray | np.generic) else cell) for cell in raw.cells[target]]
    if labels and all(label is None for label in labels):
        whose = "" if raw.source == "sequences" else f" of {raw.path}"
        raise InputError(f"Every label {raw.label_place(target)}{whose} is missing: {raw.other_labels}.")
    rows: list[LabelledRow] = []
    problems = list(raw.problems)
    for line, cell, label in zip(raw.lines, cells, labels, strict=True):
        ids = numbers.encode(cell)
        if label is None:
            problems.append(Problem(line, "missing", f"no label {raw.label_place(target)}"))
        elif isinstance(ids, str):
            problems.append(Problem(line, "missing" if ids.startswith("no ") else "malformed", ids))
        else:
            rows.append(LabelledRow(line, ids, label))
    return rows, problems
