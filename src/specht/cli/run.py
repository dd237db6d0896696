"""From a configuration to its files: a complete run is found again, anything else is computed and recorded."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from specht.commands.cache import use_compilation_cache
from specht.commands.command import figure_writers, made_with
from specht.commands.output import OutputFlags, print_json, print_paths
from specht.lab.config import Config

if TYPE_CHECKING:
    import xarray

    from specht.lab.store import Request
    from specht.report.html import Report


@dataclasses.dataclass(frozen=True)
class Origin:
    """What made a result, as its files and its report say it."""

    heading: dict[str, Any]
    """The first fields of the JSON object."""
    record: dict[str, Any]
    """The attributes of the data file."""
    reproduce: str
    """The command that makes the result again."""
    folder: Path
    """Where the results go."""
    request: Request

    @property
    def made_with(self) -> dict[str, str]:
        return made_with(self.record)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a command computed: the JSON object, the report, and how each of the other files is written, by the name it goes by."""

    result: dict[str, Any]
    report: Report
    writers: Mapping[str, Callable[[Path], None]]
    afterwards: Callable[[], object] | None = None
    """What is left to do when all files are written."""


class Tabular(Protocol):
    """A run whose numbers are a dataset and a table."""

    def dataset(self, attributes: dict[str, Any], /) -> xarray.Dataset: ...
    def csv(self) -> str: ...


def data_writers(run: Tabular, origin: Origin) -> dict[str, Callable[[Path], None]]:
    """How the numbers of a run are written as netCDF and as CSV."""
    from specht.lab import store

    return {"data": partial(store.save_dataset, run.dataset(origin.record)), "csv": partial(store.save_text, run.csv())}


def run_command(
    command: str,
    config: Config,
    output: OutputFlags,
    files: Mapping[str, str],
    compute: Callable[[Origin], Outcome],
    show: Callable[[dict[str, Any]], None],
) -> None:
    """Find or compute the result of a configuration, then show it and where its files are.

    `files` are those without which a run is not complete, by the names they go by; "report" is one of them.
    """
    use_compilation_cache()
    result, folder = _find_or_compute(command, config, output, files, compute)
    paths = {name: str(folder / file) for name, file in files.items()}
    if output.json:
        return print_json(result | paths)
    show(result)
    print_paths(paths)


def _find_or_compute(
    command: str, config: Config, output: OutputFlags, files: Mapping[str, str], compute: Callable[[Origin], Outcome]
) -> tuple[dict[str, Any], Path]:
    from specht.lab import store  # loads xarray, which help does not need
    from specht.report.html import render
    from specht.report.static import require_matplotlib

    if output.figures:
        require_matplotlib()
    request = store.Request.of(command, config)
    with store.results_folder(request, output.out) as folder:
        result = store.finished_result(folder, files.values())
        if result is not None and all(any(folder.glob(f"figure-*.{kind}")) for kind in output.figures):
            output.say("computed before; remove the folder to compute it again")
            return result, folder
        record = store.provenance(request)
        heading = {"command": command, "config": request.identity, "seed": request.seed, "version": record["version"]}
        outcome = compute(Origin(heading, record, shlex.join(["specht", command, *config.flags()]), folder, request))
        writers = {**outcome.writers, "report": partial(store.save_text, render(outcome.report))}
        written = {files[name]: write for name, write in writers.items()} | figure_writers(outcome.report.plots, output)
        store.save_config(request, folder)
        for name, write in written.items():
            write(folder / name)
        store.save_result(outcome.result, folder, written)
        if outcome.afterwards is not None:
            outcome.afterwards()
    return outcome.result, folder
