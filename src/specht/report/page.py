"""What a report says, before it becomes a file or lines in a terminal: sentences, formulas, tables. Loading this loads no plotting program.

Formulas are HTML, so that a report needs no typesetting program. A table from a dataset has a row for each combination of the dimensions at
which there is something.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

if TYPE_CHECKING:
    import xarray

    from specht.report.figures import Plot

Column = str | Callable[[Any], str]
"""The name of a field, with a format behind a colon if need be; or a function from a record to its text."""
_RAISED = re.compile(r"\\([_^])|([_^])(?:\{([^{}]*)\}|([^\s{}]))")


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
    folded: bool = False
    """Whether a page shows it only when its title is clicked."""

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
    """A sentence of the method and the formulas under it, in the notation of `formula`."""

    text: str
    formulas: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Page:
    """What the numbers of a result say. Answer, captions and notes may hold formulas in the notation of `formula`."""

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


def table(
    data: xarray.Dataset, columns: Mapping[str, Column], *, rows: Sequence[str] | None = None, note: str = "", title: str = "Numbers"
) -> Table:
    """A table with a row for each point of a dataset: each combination of all its dimensions, or of those in `rows`. A point is a record.

    >>> import xarray
    >>> losses = xarray.Dataset({"loss": ("length", [0.123, 0.5])}, coords={"length": [8, 16]})
    >>> table(losses, {"T": "length", "loss": "loss:.2f"}).rows
    [['8', '0.12'], ['16', '0.50']]
    """
    points = points_of(data, *(map(str, data.dims) if rows is None else rows))
    return Table.of(points, columns, note=note, title=title)


def points_of(data: xarray.Dataset, *dimensions: str) -> Iterator[xarray.Dataset]:
    """The parts of a dataset at each combination of some dimensions, where there is something."""
    for place in itertools.product(*(range(data.sizes[name]) for name in dimensions)):
        part = data.isel(dict(zip(dimensions, place, strict=True)))
        if any(bool(variable.notnull().any()) for variable in part.data_vars.values()):
            yield part


def formula(text: str) -> Markup:
    r"""Unicode mathematics with `_` and `^` for one character or a group in braces; after a backslash they stand for themselves.

    >>> str(formula(r"K_{ab} = s_w² + x^2 in my\_file"))
    'K<sub>ab</sub> = s<sub>w</sub>² + x<sup>2</sup> in my_file'
    """

    def raised(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        tag = "sub" if match[2] == "_" else "sup"
        return f"<{tag}>{match[3] if match[3] is not None else match[4]}</{tag}>"

    return Markup(_RAISED.sub(raised, str(escape(text))))


def literal(text: str) -> str:
    r"""Text that `formula` leaves as it is, such as names of files.

    >>> str(formula(literal("my_file^2")))
    'my_file^2'
    """
    return re.sub(r"([_^])", r"\\\1", text)


def in_terminal(text: str) -> str:
    r"""The same formulas where nothing can be raised or lowered: braces go where a single word stands in them.

    >>> in_terminal(r"L^{−1.23} for x_{a b}, 10^{9} in my\_file")
    'L^−1.23 for x_{a b}, 10^9 in my_file'
    """
    return re.sub(r"\\([_^])|([_^])\{([^{}\s]*)\}", lambda match: match[1] or match[2] + match[3], text)


def prose(text: str) -> Markup:
    r"""Text with formulas, in which no line ends between a number and its percent sign.

    >>> prose("39.4 % of L^2")
    Markup('39.4\xa0% of L<sup>2</sup>')
    """
    return Markup(re.sub(r"(?<=\d) (?=%)", "\xa0", formula(text)))


def unbroken(text: str) -> str:
    """Text in which no line ends at the sign of a small number such as 1e-10."""
    return re.sub(r"(?<=\de)-(?=\d)", "−", text)
