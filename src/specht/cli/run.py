"""From a configuration to its files: a complete run is found again, anything else is computed and recorded."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from specht.cli.output import OutputFlags
from specht.lab.config import Config

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
    """What a command computed: the JSON object, and how each file is written."""

    result: dict[str, Any]
    files: Mapping[str, Callable[[Path], None]]


def find_or_compute(
    command: str, config: Config, seed: int, output: OutputFlags, files: list[str], compute: Callable[[Origin], Outcome]
) -> tuple[dict[str, Any], Path]:
    """The result of a configuration and the folder of its files; `files` are those without which a run is not complete."""
    from specht.lab import store  # loads xarray, which help does not need

    with store.results_folder(command, config, output.out) as folder:
        result = store.finished_result(folder, files)
        if result is not None:
            output.say("computed before; remove the folder to compute it again")
            return result, folder
        record = store.provenance(command, config, seed)
        heading = {"command": command, "config": config.identity(), "seed": seed, "version": record["version"]}
        outcome = compute(Origin(heading, record, shlex.join(["specht", command, *config.flags()])))
        store.save_config(command, config, folder)
        for name, write in outcome.files.items():
            write(folder / name)
        store.save_result(outcome.result, folder, outcome.files)
    return outcome.result, folder
