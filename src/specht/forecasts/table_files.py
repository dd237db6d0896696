"""Rows of a data file as they stand there: CSV, JSON lines, NumPy arrays and Parquet, each row with the line it came from.

Nothing is interpreted here, and no pickle is ever loaded. What does not parse is a `Problem` with its line number.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from specht.errors import InputError

DELIMITERS = (",", "\t", ";", "|")
_SNIFFED = 50
"""Lines that a delimiter is judged on."""
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
    """The cells of a file by column name; a cell that is not there is None."""

    path: str
    unit: str
    """What a line number counts: line or row."""
    columns: tuple[str, ...]
    rows: tuple[tuple[int, dict[str, Any]], ...]
    problems: tuple[Problem, ...] = ()


def read_raw(path: Path, delimiter: str | None = None) -> RawTable:
    """The rows of a file, by the ending of its name."""
    if path.is_dir():
        raise InputError(f"{path} is a folder: give the data file itself.")
    if not path.exists():
        raise InputError(f"{path} does not exist: check the path given to --data.")
    readers: dict[str, Callable[[], RawTable]] = {
        **dict.fromkeys((".csv", ".tsv", ".txt"), lambda: _read_csv(path, delimiter)),
        **dict.fromkeys((".jsonl", ".ndjson"), lambda: _read_json_lines(path)),
        **dict.fromkeys((".npy", ".npz"), lambda: _read_numpy(path)),
        **dict.fromkeys((".parquet", ".pq"), lambda: _read_parquet(path)),
    }
    ending = path.suffix.lower()
    if ending not in readers:
        raise InputError(f"{path} ends in {ending!r}, which is none of {', '.join(readers)}: save it as one of these.")
    if delimiter is not None and ending not in (".csv", ".tsv", ".txt"):
        raise InputError(f"--delimiter belongs to CSV files, and {path} ends in {ending!r}: leave it out.")
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty: give a file with at least one row.")
        return readers[ending]()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}): check the path given to --data.") from None


def _text(path: Path) -> str:
    data = path.read_bytes()
    if b"\0" in data:
        raise InputError(f"{path} holds binary data, not text: give UTF-8 text, or name the file by what it is (.npy, .npz, .parquet).")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(f"{path} is not UTF-8 text (byte 0x{data[error.start]:02x} in line {line}): save it as UTF-8.") from None
    if not text.strip():
        raise InputError(f"{path} is empty: give a file with at least one row.")
    return text


def _read_csv(path: Path, delimiter: str | None) -> RawTable:
    text = _text(path)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise InputError(f"delimiter must be one character other than a quote, got {delimiter!r}.")
    csv.field_size_limit(_FIELD_LIMIT)
    records = _records(text, delimiter or ("\t" if path.suffix.lower() == ".tsv" else guess_delimiter(text)))
    line, header = next(records)
    if isinstance(header, str):
        raise InputError(f"The header of {path} cannot be read ({header}): put the names of the columns into its first line.")
    columns = [name.strip() for name in header]
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path} has two columns named {twice!r}: give every column a name of its own.")
    rows: list[tuple[int, dict[str, Any]]] = []
    problems: list[Problem] = []
    for line, cells in records:
        if isinstance(cells, str):
            problems.append(Problem(line, "malformed", cells))
        elif len(cells) != len(columns):
            problems.append(Problem(line, "malformed", f"{_counted(len(cells), 'field')}, but the header has {len(columns)}"))
        else:
            rows.append((line, dict(zip(columns, cells, strict=True))))
    if not rows and not problems:
        raise InputError(f"{path} has a header and no rows: give a file with at least one row.")
    return RawTable(str(path), "line", tuple(columns), tuple(rows), tuple(problems))


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
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
    head = "\n".join(text.splitlines()[:_SNIFFED])

    def merit(delimiter: str) -> tuple[float, int]:
        sizes = [len(fields) for _, fields in _records(head, delimiter) if not isinstance(fields, str)]
        if not sizes or sizes[0] == 1:
            return 0.0, 0
        return sum(size == sizes[0] for size in sizes) / len(sizes), sizes[0]

    return max(DELIMITERS, key=merit)


def _read_json_lines(path: Path) -> RawTable:
    rows: list[tuple[int, dict[str, Any]]] = []
    problems: list[Problem] = []
    columns: dict[str, None] = {}
    for line, text in enumerate(_text(path).split("\n"), start=1):
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
        columns |= dict.fromkeys(row)
        rows.append((line, row))
    if not rows:
        raise InputError(f"{path} has no line that is a JSON object ({problems[0].detail}): write one object a line.")
    return RawTable(str(path), "line", tuple(columns), tuple(rows), tuple(problems))


def _read_numpy(path: Path) -> RawTable:
    try:
        # Arrays of Python objects are pickles, and loading a pickle runs whatever it says.
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            arrays = _columns_of(path, loaded)
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
        found = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise InputError(f"The arrays in {path} have different numbers of rows ({found}): give one row a sequence in each.")
    cells = {name: [_cell(row) for row in array] for name, array in arrays.items()}
    rows = tuple((index + 1, {name: column[index] for name, column in cells.items()}) for index in range(max(sizes.values())))
    return RawTable(str(path), "row", tuple(arrays), rows)


def _columns_of(path: Path, array: np.ndarray) -> dict[str, np.ndarray]:
    """A single array by named fields, or by column numbers."""
    if array.dtype.names:
        return {name: array[name] for name in array.dtype.names}
    if array.ndim != 2:
        raise InputError(f"{path} holds an array of shape {array.shape}: give one row a sequence, the label in one of its columns.")
    return {str(column): array[:, column] for column in range(array.shape[1])}


def _cell(value: Any) -> Any:
    """A NumPy scalar or row as plain Python; negative whole numbers fill up short sequences and are left out."""
    if not isinstance(value, np.ndarray):
        return value.item() if isinstance(value, np.generic) else value
    if value.dtype.kind == "i" and value.ndim == 1:
        value = value[value >= 0]
    return value.tolist()


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
    rows = tuple((index, row) for index, row in enumerate(table.to_pylist(), start=1))
    return RawTable(str(path), "row", tuple(table.column_names), rows)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
