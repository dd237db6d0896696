"""Columns of a data file as they stand there: CSV, JSON lines, NumPy arrays and Parquet, each row with the line it came from.

Nothing is interpreted here, and no pickle is ever loaded. What does not parse is a `Problem` with its line number.
"""

from __future__ import annotations

import collections
import csv
import dataclasses
import io
import itertools
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from specht.errors import InputError
from specht.forecasts.table_encodings import read_text

DELIMITERS = (",", "\t", ";", "|")
_SNIFFED = 50
"""Lines that a delimiter is judged on."""
_HEAD = 2**20
"""Characters that those lines are looked for in."""
Column = Sequence[Any] | np.ndarray
"""Cells, one a row."""
_FIELD_LIMIT = 2**27
"""Characters of one CSV field; the standard limit of 131072 is shorter than some sequences."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """A row that is not as it should be, where it stands, and what became of it."""

    line: int
    """Line of a text file, row of an array, both counted from 1."""
    kind: str
    """missing, malformed, duplicate or conflict."""
    detail: str
    kept: bool = False
    """Whether the row is used all the same."""


@dataclasses.dataclass(frozen=True)
class RawTable:
    """The cells of a table by column; a cell that is not there is None."""

    path: str
    """Of the file, or what the data in memory are called."""
    unit: str
    """What a line number counts: line or row."""
    cells: Mapping[str, Column]
    """By name, one cell a row; columns of numbers may be arrays, and so may cells that hold a sequence of them."""
    lines: Sequence[int]
    problems: tuple[Problem, ...] = ()
    encoding: str | None = None
    """Of a text file."""
    source: str = "file"
    """file, table (in memory) or sequences (given with their labels)."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.cells)

    @property
    def numbered(self) -> bool:
        """Whether columns have numbers and no names, as those of a plain array."""
        return self.columns == tuple(map(str, range(len(self.columns))))

    def option(self, name: str, value: str = "COLUMN") -> str:
        """How people write an option: as a flag for a file, as an argument for data in memory."""
        return f"--{name} {value}" if self.source == "file" else f"{name}={value!r}"

    def label_place(self, target: str) -> str:
        """Where labels are, after the word label."""
        return "given" if self.source == "sequences" else f"in column {target!r}"

    @property
    def other_labels(self) -> str:
        """What to do about labels that will not do."""
        return "give other labels" if self.source == "sequences" else f"choose another column with {self.option('target')}"


def read_raw(path: Path, delimiter: str | None = None, encoding: str | None = None, columns: tuple[str, ...] | None = None) -> RawTable:
    """The columns of a file, by the ending of its name."""
    if path.is_dir():
        raise InputError(f"{path} is a folder: give the data file itself.")
    if not path.exists():
        raise InputError(f"{path} does not exist: check the path given to --data.")
    readers: dict[str, Callable[[], RawTable]] = {
        **dict.fromkeys((".csv", ".tsv", ".txt"), lambda: _read_csv(path, delimiter, encoding, columns)),
        **dict.fromkeys((".jsonl", ".ndjson"), lambda: _read_json_lines(path, encoding)),
        **dict.fromkeys((".npy", ".npz"), lambda: _read_numpy(path)),
        **dict.fromkeys((".parquet", ".pq"), lambda: _read_parquet(path)),
    }
    ending = path.suffix.lower()
    if ending not in readers:
        raise InputError(f"{path} ends in {ending!r}, which is none of {', '.join(readers)}: save it as one of these.")
    for flag, value in (("delimiter", delimiter), ("columns", columns)):
        if value is not None and ending not in (".csv", ".tsv", ".txt"):
            raise InputError(f"--{flag} belongs to CSV files, and {path} ends in {ending!r}: leave it out.")
    if encoding is not None and ending not in (".csv", ".tsv", ".txt", ".jsonl", ".ndjson"):
        raise InputError(f"--encoding belongs to text files, and {path} ends in {ending!r}: leave it out.")
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty: give a file with at least one row.")
        return readers[ending]()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the path given to --data.") from None


def _read_csv(path: Path, delimiter: str | None, encoding: str | None, names: tuple[str, ...] | None) -> RawTable:
    text, encoding = read_text(path, encoding)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise InputError(f"delimiter must be one character other than a quote, got {delimiter!r}.")
    csv.field_size_limit(_FIELD_LIMIT)
    records = _records(text, delimiter or ("\t" if path.suffix.lower() == ".tsv" else guess_delimiter(text)))
    columns, first = _names_of_columns(path, records, names)
    rows: list[list[str]] = []
    lines: list[int] = []
    problems: list[Problem] = []
    for line, fields in itertools.chain(first, records):
        if isinstance(fields, str):
            problems.append(Problem(line, "malformed", fields))
        elif len(fields) != len(columns):
            whose = "the header has" if names is None else "--columns names"
            problems.append(Problem(line, "malformed", f"{counted(len(fields), 'field')}, but {whose} {len(columns)}"))
        else:
            rows.append(fields)
            lines.append(line)
    if not rows and not problems:
        raise InputError(f"{path} has a header and no rows: give a file with at least one row.")
    cells = {name: [row[place] for row in rows] for place, name in enumerate(columns)}
    return RawTable(str(path), "line", cells, lines, tuple(problems), encoding)


_Record = tuple[int, list[str] | str]


def _names_of_columns(path: Path, records: Iterator[_Record], names: tuple[str, ...] | None) -> tuple[list[str], list[_Record]]:
    """The names that are given or that the first record has, and the records that were read for it and are rows."""
    line, header = next(records)
    if names is not None:
        if not isinstance(header, str) and len(header) != len(names):
            raise InputError(
                f"--columns names {counted(len(names), 'column')}, and line {line} of {path} has {counted(len(header), 'field')}: "
                "give one name a field."
            )
        return list(names), [(line, header)]
    if isinstance(header, str):
        raise InputError(f"The header of {path} cannot be read ({header}): put the names of the columns into its first line.")
    columns = [name.strip() for name in header]
    check_names(str(path), columns)
    return columns, []


def check_names(path: str, columns: Sequence[str]) -> None:
    """Refuse two columns of one name."""
    twice = next((name for name, times in collections.Counter(columns).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"{path} has two columns named {twice!r}: give every column a name of its own.")


def _records(text: str, delimiter: str) -> Iterator[_Record]:
    """Every record with the line it starts on: its fields, or what is wrong with it. Empty lines are no records."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield start, str(error)
            continue
        if fields:
            yield start, fields


def guess_delimiter(text: str) -> str:
    """The delimiter that cuts the first line into most fields, and most of the following lines into as many.

    >>> guess_delimiter("text;label\\na b, c;1\\nd e;0\\n") == ";"
    True
    """
    head = "\n".join(text[:_HEAD].splitlines()[:_SNIFFED])

    def merit(delimiter: str) -> tuple[float, int]:
        sizes = [len(fields) for _, fields in _records(head, delimiter) if not isinstance(fields, str)]
        if not sizes or sizes[0] == 1:
            return 0.0, 0
        return sum(size == sizes[0] for size in sizes) / len(sizes), sizes[0]

    return max(DELIMITERS, key=merit)


def _read_json_lines(path: Path, encoding: str | None) -> RawTable:
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    problems: list[Problem] = []
    whole, encoding = read_text(path, encoding)
    for line, text in enumerate(whole.split("\n"), start=1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except (ValueError, RecursionError) as error:
            problems.append(Problem(line, "malformed", f"not JSON ({error})"))
            continue
        if not isinstance(row, dict):
            problems.append(Problem(line, "malformed", f"a JSON {type(row).__name__}, not an object"))
            continue
        rows.append(row)
        lines.append(line)
    if not rows:
        raise InputError(f"{path} has no line that is a JSON object ({problems[0].detail}): write one object a line.")
    return RawTable(str(path), "line", cells_of_records(rows), lines, tuple(problems), encoding)


def cells_of_records(records: Sequence[Mapping[Any, Any]]) -> dict[str, Column]:
    """Records as columns, in the order in which their names come up."""
    names = dict.fromkeys(itertools.chain.from_iterable(records))
    return {str(name): [record.get(name) for record in records] for name in names}


def _read_numpy(path: Path) -> RawTable:
    try:
        # Arrays of Python objects are pickles, and loading a pickle runs whatever it says.
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            arrays = columns_of_array(str(path), loaded)
        else:
            with loaded:
                arrays = {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        if "pickle" in str(error).lower() or "object" in str(error).lower():
            raise InputError(
                f"{path} holds Python objects (a pickle), which are never loaded: save sequences as one integer array, shorter ones "
                "filled up with -1."
            ) from None
        raise InputError(f"{path} is not a file of NumPy arrays: write it with numpy.save or numpy.savez.") from None
    sizes = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if not sizes or not max(sizes.values()):
        raise InputError(f"{path} is empty: give arrays with at least one row.")
    if len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise InputError(f"The arrays in {path} have different numbers of rows ({listed}): give one row a sequence in each.")
    cells = {name: cells_of_array(array) for name, array in arrays.items()}
    return RawTable(str(path), "row", cells, range(1, max(sizes.values()) + 1))


def columns_of_array(path: str, array: np.ndarray) -> dict[str, np.ndarray]:
    """A single array by named fields, or by column numbers."""
    if array.dtype.names:
        return {name: array[name] for name in array.dtype.names}
    if array.ndim != 2:
        raise InputError(f"{path} holds an array of shape {array.shape}: give one row a sequence, the label in one of its columns.")
    return {str(column): array[:, column] for column in range(array.shape[1])}


def cells_of_array(array: np.ndarray) -> Column:
    """One cell a row: a number or text, or a sequence; negative whole numbers fill up short sequences and are left out."""
    if array.ndim != 2:
        return array if array.ndim == 1 and array.dtype.kind in "iuf" else array.tolist()
    if array.dtype.kind == "f" and np.all(np.abs(array) < 2**53) and np.all(array == np.floor(array)):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        return array.tolist()
    return [row[row >= 0] for row in array] if np.any(array < 0) else list(array)


def _read_parquet(path: Path) -> RawTable:
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
        from pyarrow import parquet  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InputError(
            f"{path} is a Parquet file, and pyarrow, which reads these, is not installed: `pip install pyarrow`, or save it as CSV."
        ) from None
    try:
        table = parquet.read_table(path)
    except pyarrow.ArrowInvalid as error:
        raise InputError(f"{path} is not a Parquet file ({str(error).splitlines()[0]}): check what wrote it.") from None
    if not table.num_rows:
        raise InputError(f"{path} is empty: give a file with at least one row.")
    check_names(str(path), table.column_names)
    cells = {name: column.to_pylist() for name, column in zip(table.column_names, table.columns, strict=True)}
    return RawTable(str(path), "row", cells, range(1, table.num_rows + 1))


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
