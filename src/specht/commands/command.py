"""What a command is, and all that follows from it: flags, JSON, CSV, netCDF, tables, report, figures, and results that are found again.

A command says what it is asked (`config`), what it computes (`compute`) and what the numbers say (`page`). The numbers are a tree, written
as netCDF. This file is the result that is found again; JSON, CSV, tables and report are made from it.
"""

from __future__ import annotations

import contextlib
import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from cyclopts import Parameter

from specht.commands.cache import use_compilation_cache
from specht.commands.output import OutputFlags, ProgressBar, print_json, print_page, print_paths
from specht.lab.config import Config
from specht.lab.csv_text import csv_text
from specht.trees import columns, plain

if TYPE_CHECKING:
    import xarray

    from specht.lab.store import Request
    from specht.report.figures import Plot
    from specht.report.page import Page, Report

MADE_WITH = ("seed", "version", "python", "jax", "numpy", "platform", "time")
AGAIN = "computed before; remove the folder to compute it again"
Writer = Callable[[Path], None]
"""Writes a file to a path."""


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
        from specht.report.page import Report

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
        from specht.report.static import require_matplotlib

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
        with begun, ProgressBar(self.name) as progress:
            data = self.compute(config, progress)
        data.attrs = store.provenance(request)
        return data

    def _files(self, data: xarray.DataTree, report: Report) -> dict[str, tuple[str, Writer]]:
        """Name and writer of every file, by the name that JSON has for it."""
        from specht.lab import store
        from specht.report.html import render

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
    from specht.report.static import draw, figure_names

    def writer(plot: Plot, kind: str) -> Writer:
        return lambda path: store.save_bytes(draw(plot, kind), path)

    return {name: writer(plot, kind) for kind in output.figures for name, plot in zip(figure_names(list(plots), kind), plots, strict=True)}
