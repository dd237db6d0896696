"""What a report says, before it becomes a file or lines in a terminal. Loading this loads no plotting program."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specht.report.figures import Plot


Column = str | Callable[[Any], str]
"""The name of a field, with a format behind a colon if need be; or a function from a record to its text."""


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows under column names; the first cell of a row names it."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    """What has to be known to read it. A terminal keeps its lines apart."""
    title: str = "Numbers"
    brief: bool = True
    """Whether a terminal shows it too."""
    most: int | None = None
    """How many rows a terminal shows; all of them unless given."""

    @classmethod
    def of(cls, records: Iterable[Any], columns: Mapping[str, Column], **words: Any) -> Table:
        """A table with a row for each record.

        >>> Table.of([SimpleNamespace(length=8, loss=0.123)], {"T": "length", "loss": "loss:.2f"}).rows
        [['8', '0.12']]
        """
        return cls(tuple(columns), [[_cell(record, column) for column in columns.values()] for record in records], **words)


def _cell(record: Any, column: Column) -> str:
    if callable(column):
        return column(record)
    name, _, form = column.partition(":")
    value = getattr(record, name) if isinstance(record, SimpleNamespace) else record[name].item()
    return format(value, form)


@dataclasses.dataclass(frozen=True)
class Step:
    """A sentence of the method and the formulas under it, in the notation of `specht.report.maths`."""

    text: str
    formulas: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Page:
    """What the numbers of a result say. Answer, captions and notes may hold formulas in the notation of `specht.report.maths`."""

    title: str
    subtitle: str
    question: str
    answer: str
    plots: Sequence[Plot]
    tables: Sequence[Table]
    method: Sequence[Step]


@dataclasses.dataclass(frozen=True)
class Report(Page):
    """A page, and where its numbers come from."""

    reproduce: str
    """The command that makes this report again."""
    made_with: Mapping[str, str]
    """Seed, versions, machine, time."""


def listed(words: Iterable[object]) -> str:
    """Words as a list in a sentence.

    >>> listed([4, 8, 16])
    '4, 8 and 16'
    """
    *most, last = [str(word) for word in words] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def with_error(value: float, stderr: float | None) -> str:
    """A number with its standard error, if it has one.

    >>> with_error(0.25, 0.0123)
    '0.25 ± 0.01'
    """
    return f"{value:.4g}" if stderr is None else f"{value:.4g} ± {stderr:.1g}"


def percent(share: float) -> str:
    """A share to a tenth of a per cent.

    >>> percent(0.1234), percent(-1e-9)
    ('12.3 %', '0.0 %')
    """
    return f"{100 * share:z.1f} %".replace("-", "−")
