"""What a command is, and all that follows from it: flags, JSON, CSV, netCDF, tables, report, figures, and results that are found again.

A command says what it is asked (`config`), what it computes (`compute`) and what the numbers say (`page`). The numbers are a tree, written
as netCDF. This file is the result that is found again; JSON, CSV, tables and report are made from it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import inspect
import json
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from cyclopts import Group, Parameter

from specht.files import csv_text
from specht.lab import Config
from specht.progress import progress_bar
from specht.trees import columns, plain

if TYPE_CHECKING:
    import xarray

    from specht.lab import Request
    from specht.report import Page, Plot, Report

MADE_WITH = ("seed", "version", "python", "jax", "numpy", "platform", "time")
AGAIN = "computed before; remove the folder to compute it again"
Writer = Callable[[Path], None]
"""Writes a file to a path."""
Many = Parameter(consume_multiple=True, negative="")
"""A flag that takes several values."""
Switch = Annotated[bool, Parameter(negative="", show_default=False)]
"""A flag that takes none."""
JsonSwitch = Annotated[Switch, Parameter(name="--json", help="Print one JSON object on standard output and nothing else there.")]


class Command:
    """A question that people put with flags; its docstring is its help."""

    name: ClassVar[str]
    config: ClassVar[type[Config]]
    """Everything that decides the numbers."""
    options: ClassVar[type | None] = None
    """A data class of flags that decide no numbers, such as where jobs run; the command has them in `chosen`."""
    stem: ClassVar[str] = ""
    """What its files are called; the name of the command unless given."""
    csv: ClassVar[str] = ""
    """The table of the tree that becomes the CSV file, such as "lengths/rows"."""
    resumes: bool = False
    """Whether it leaves finished parts in its folder, where a run that was killed finds them again."""

    def __init__(self, chosen: Any = None, folder: Path | None = None) -> None:
        self.chosen: Any = self.options() if chosen is None and self.options is not None else chosen
        self.folder = folder
        """Where results go; None where somebody calls `compute` alone."""
        self.out: Path | None = None
        """What --out says, beside which jobs are kept (`WorkFlags.folder`)."""

    def compute(self, config: Any, progress: Callable[[int, int], None] | None) -> xarray.DataTree:
        """The numbers that a configuration asks for."""
        raise NotImplementedError

    def page(self, data: xarray.DataTree) -> Page:
        """What the numbers say."""
        raise NotImplementedError

    def report(self, config: Any, data: xarray.DataTree) -> Report:
        """The page on the numbers of a configuration, with the command that makes them again."""
        from specht.report import Report

        reproduce = shlex.join(["specht", self.name, *config.flags()])
        return Report(**vars(self.page(data)), reproduce=reproduce, made_with=made_with(data.attrs))

    def more_files(self, data: xarray.DataTree) -> Mapping[str, tuple[str, Writer]]:
        """Files beyond those that every command writes: name and writer, by the name that JSON has for them."""
        return {}

    def finish(self) -> None:
        """What is left to do when all files are written."""

    def run(self, config: Any, output: OutputFlags) -> None:
        """Find or compute the result of a configuration, write the files that are missing, then show the result and where its files are."""
        use_compilation_cache()
        from specht.lab import store  # loads xarray, which help does not need
        from specht.report import require_matplotlib

        if output.figures:
            require_matplotlib()
        request = store.Request.of(self.name, config)
        with store.results_folder(request, output.out) as folder:
            self.folder, self.out = folder, output.out
            intact, name = store.intact_files(folder), f"{self.stem or self.name}.nc"
            data = store.load_tree(folder / name, request) if name in intact else None
            if data is not None:
                output.say(AGAIN)
            else:
                data, intact = self._computed(config, request, folder), set()
            heading = {"command": self.name, "config": request.identity, "seed": request.seed, "version": data.attrs["version"]}
            result = heading | plain(data)
            report = self.report(config, data)
            files = self._files(data, report)
            writers = dict(files.values()) | figure_writers(report.plots, output)
            missing = {file: write for file, write in writers.items() if file not in intact}
            if missing:
                store.save_config(request, folder)
                for file, write in missing.items():
                    write(folder / file)
                store.save_result(result, folder, sorted(intact | set(writers)))
                self.finish()
        paths = {what: str(folder / file) for what, (file, _) in files.items()}
        if output.json:
            return print_json(result | paths)
        print_page(report)
        print_paths(paths)

    def _computed(self, config: Config, request: Request, folder: Path) -> xarray.DataTree:
        from specht.lab import store

        begun = store.begun(request, folder) if self.resumes else contextlib.nullcontext()
        with begun, progress_bar(self.name) as progress:
            data = self.compute(config, progress)
        data.attrs = store.provenance(request)
        return data

    def _files(self, data: xarray.DataTree, report: Report) -> dict[str, tuple[str, Writer]]:
        """Name and writer of every file, by the name that JSON has for it."""
        from specht.lab import store
        from specht.report import render

        stem = self.stem or self.name
        files: dict[str, tuple[str, Writer]] = {
            "report": ("report.html", lambda path: store.save_text(render(report), path)),
            "data": (f"{stem}.nc", partial(store.save_tree, data)),
        }
        if self.csv:
            files["csv"] = (f"{stem}.csv", lambda path: store.save_text(csv_of(data, self.csv), path))
        return {**files, **self.more_files(data)}


def command_line(command: type[Command]) -> Callable[..., None]:
    """A command as the function that the command line calls, with its flags as arguments."""
    kinds: dict[str, Any] = {"config": command.config, "options": command.options, "output": OutputFlags}
    annotations = {name: Annotated[kind, Parameter(name="*")] for name, kind in kinds.items() if kind is not None}
    needed = {"config"} if any(field.is_required() for field in command.config.model_fields.values()) else set()
    defaults = {name: kinds[name]() for name in annotations if name not in needed}

    def run(config: Any = None, **others: Any) -> None:
        values = defaults | others
        command(values.get("options")).run(values["config"] if config is None else config, values["output"])

    nothing, keyword = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    ways = {"config": inspect.Parameter.POSITIONAL_OR_KEYWORD} if command.config.positional else {}
    parameters = [
        inspect.Parameter(name, ways.get(name, keyword), default=defaults.get(name, nothing), annotation=annotation)
        for name, annotation in annotations.items()
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__, run.__name__, run.__doc__ = annotations, command.name, inspect.getdoc(command)
    return run


def csv_of(data: xarray.DataTree, table: str) -> str:
    """A table of a tree as the text of a CSV file."""
    lines = columns(data[table])
    return csv_text(list(lines), [dict(zip(lines, line, strict=True)) for line in zip(*lines.values(), strict=True)])


def made_with(record: Mapping[Any, Any]) -> dict[str, str]:
    """What a report says about where its numbers come from; nothing of numbers that were computed for a look and not stored."""
    return {name: str(record[name]) for name in MADE_WITH if name in record}


def figure_writers(plots: Sequence[Plot], output: OutputFlags) -> dict[str, Writer]:
    """How figures are written as files of the kinds that are asked for."""
    from specht.lab import store
    from specht.report import draw, figure_names

    def writer(plot: Plot, kind: str) -> Writer:
        return lambda path: store.save_bytes(draw(plot, kind), path)

    return {name: writer(plot, kind) for kind in output.figures for name, plot in zip(figure_names(list(plots), kind), plots, strict=True)}


@Parameter(name="*", group=Group("Output", sort_key=2))
@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputFlags:
    """Flags that every command has."""

    out: Path | None = None
    """Folder for the results; specht-results/COMMAND-HASH unless given."""
    figures: Annotated[tuple[Literal["png", "svg", "pdf"], ...], Parameter(consume_multiple=True, negative="", show_default=False)] = ()
    """Write the figures of the report as files too, of these kinds: png, svg, pdf."""
    json: Switch = False
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


def print_summaries(command: str, what: str, presets: Mapping[str, Any], as_json: bool) -> None:
    """The names of presets, each with a sentence."""
    summaries = {name: preset.summary for name, preset in presets.items()}
    if as_json:
        return print_json({"command": command, what: summaries})
    return print_table([[name, summary] for name, summary in summaries.items()])


def print_page(page: Page) -> None:
    """What a page says, without figures and method. Not by Rich, which takes [7,1] for markup and breaks cells in narrow windows."""
    from specht.report import in_terminal

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


CACHE_VARIABLE, THRESHOLD_VARIABLE = "JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"


def use_compilation_cache() -> None:
    """Point JAX, not loaded yet, to the cache of this user and machine; one that the environment names already is left alone."""
    if CACHE_VARIABLE not in os.environ:
        folder = user_cache() / "jax" / machine_key()
        try:
            # Whoever can write there can run code as this user, so nobody else may.
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            return  # a home that cannot be written to makes the command slower, not impossible
        os.environ[CACHE_VARIABLE] = str(folder)
    os.environ.setdefault(THRESHOLD_VARIABLE, "0")  # many small programs take as long to compile as one large


def user_cache() -> Path:
    """The folder for caches of this user on this system."""
    from platformdirs import user_cache_path

    return user_cache_path("specht", appauthor=False, opinion=False)


def machine_key() -> str:
    """Names the kind of processor: a program compiled for one may not run on another that shares the home folder."""
    facts = [platform.machine(), platform.processor()]
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        wanted = ("model name", "flags", "Features")
        facts += sorted({line for line in cpuinfo.read_text(errors="replace").splitlines() if line.startswith(wanted)})
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:12]
