"""From a configuration to its files: a complete run is found again, anything else is computed and recorded."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specht.cli.output import OutputFlags
from specht.lab.config import Config

if TYPE_CHECKING:
    from specht.report.html import Report

REPORT = "report.html"
MADE_WITH = ("seed", "version", "python", "jax", "numpy", "platform", "time")


@dataclasses.dataclass(frozen=True)
class Origin:
    """What made a result, as its files and its report say it."""

    heading: dict[str, Any]
    """The first fields of the JSON object."""
    record: dict[str, Any]
    """The attributes of the data file."""
    reproduce: str
    """The command that makes the result again."""

    @property
    def made_with(self) -> dict[str, str]:
        return {name: str(self.record[name]) for name in MADE_WITH}


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a command computed: the JSON object, the report, and how each of the other files is written."""

    result: dict[str, Any]
    report: Report
    files: Mapping[str, Callable[[Path], None]]


def find_or_compute(
    command: str, config: Config, seed: int, output: OutputFlags, files: list[str], compute: Callable[[Origin], Outcome]
) -> tuple[dict[str, Any], Path]:
    """The result of a configuration and the folder of its files; `files` are those without which a run is not complete."""
    from specht.lab import store  # loads xarray, which help does not need
    from specht.report.html import render
    from specht.report.static import require_matplotlib

    if output.figures:
        require_matplotlib()
    with store.results_folder(command, config, output.out) as folder:
        result = store.finished_result(folder, files)
        if result is not None and all(any(folder.glob(f"figure-*.{kind}")) for kind in output.figures):
            output.say("computed before; remove the folder to compute it again")
            return result, folder
        record = store.provenance(command, config, seed)
        heading = {"command": command, "config": config.identity(), "seed": seed, "version": record["version"]}
        outcome = compute(Origin(heading, record, shlex.join(["specht", command, *config.flags()])))
        written = {**outcome.files, REPORT: partial(store.save_text, render(outcome.report)), **_figures(outcome.report, output)}
        store.save_config(command, config, folder)
        for name, write in written.items():
            write(folder / name)
        store.save_result(outcome.result, folder, written)
    return outcome.result, folder


def _figures(report: Report, output: OutputFlags) -> dict[str, Callable[[Path], None]]:
    """How the figures of a report are written as files of the kinds that are asked for."""
    from specht.lab import store
    from specht.report.static import draw, figure_names

    return {
        name: partial(store.save_bytes, draw(plot, kind))
        for kind in output.figures
        for name, plot in zip(figure_names(list(report.plots), kind), report.plots, strict=True)
    }
