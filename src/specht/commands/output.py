"""What every command prints and where it writes."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from specht.progress import Progress

if TYPE_CHECKING:
    from specht.report.page import Page


@Parameter(name="*", group=Group("Output", sort_key=2))
@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputFlags:
    """Flags that every command has."""

    out: Path | None = None
    """Folder for the results; specht-results/COMMAND-HASH unless given."""
    figures: Annotated[tuple[Literal["png", "svg", "pdf"], ...], Parameter(consume_multiple=True, negative="", show_default=False)] = ()
    """Write the figures of the report as files too, of these kinds: png, svg, pdf."""
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False
    """Print one JSON object on standard output and nothing else there."""

    def say(self, sentence: str) -> None:
        """A remark beside the results."""
        print(sentence, file=sys.stderr)


def print_json(value: Mapping[str, Any]) -> None:
    print(json.dumps(value, allow_nan=False), flush=True)


def print_table(rows: Sequence[Sequence[str]], header: Sequence[str] | None = None, fit: bool = False) -> None:
    """Rows of text in aligned columns; a cell that its row leaves empty behind it may run on. They may be cut to fit a terminal."""
    lines = [list(row) for row in ([header] if header else []) + list(rows)]
    columns = max(map(len, lines))
    # A cell followed by empty ones alone needs no column of its own width.
    widths = [max((len(line[i]) for line in lines if any(line[i + 1 :])), default=0) for i in range(columns)]
    room = shutil.get_terminal_size().columns if fit and sys.stdout.isatty() else sys.maxsize
    for line in lines:
        text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip()
        print(text if len(text) <= room else f"{text[: room - 1]}…")


def print_page(page: Page) -> None:
    """What a page says, without figures and method. Not by Rich, which takes [7,1] for markup and breaks cells in narrow windows."""
    from specht.report.maths import in_terminal

    print(page.subtitle, in_terminal(page.answer), sep="\n\n")
    for table in page.tables:
        if table.brief and table.rows:
            print("", *([f"{table.title}:"] if len(page.tables) > 1 else []), sep="\n")
            print_table([[in_terminal(cell) for cell in row] for row in table.rows[: table.most]], header=table.header)
            if table.most is not None and len(table.rows) > table.most:
                print("… and more in the report")
            if table.note:
                print("", in_terminal(table.note), sep="\n")


def print_paths(paths: Mapping[str, str]) -> None:
    """Where the files are."""
    print("", *(f"{name:6}  {path}" for name, path in paths.items()), sep="\n")


class ProgressBar:
    """A progress bar on standard error, for work of more than two seconds, when someone is looking."""

    def __init__(self, description: str) -> None:
        self._description = description
        self._bar: Any = None

    def __enter__(self) -> Progress | None:
        return self._update if sys.stderr.isatty() else None

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def _update(self, done: int, total: int) -> None:
        from tqdm import tqdm

        if self._bar is None or self._bar.total != total or done < self._bar.n:
            self.__exit__()
            self._bar = tqdm(desc=self._description, total=total, delay=2, leave=False, file=sys.stderr)
        self._bar.update(done - self._bar.n)
