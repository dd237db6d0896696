"""What has been computed: folders of results, and archives of jobs among them."""

from __future__ import annotations

import dataclasses
import datetime
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import specht
from specht.errors import InputError
from specht.lab.archive import LOCKS, Archive
from specht.lab.store import CONFIG_FILE, RESULT_FILE, finished_result, write_atomically

COMPLETE = "complete"


@dataclasses.dataclass(frozen=True)
class Run:
    """One folder with the results of a command."""

    folder: Path
    command: str
    state: str
    """`complete`, `unfinished`, `damaged` or `other version`."""
    config: dict[str, Any]
    result: dict[str, Any]
    """What it printed with --json; empty unless it is complete."""
    changed: datetime.datetime
    bytes: int

    @property
    def name(self) -> str:
        return self.folder.name


def find_runs(root: Path) -> list[Run]:
    """Every folder of results in a folder, the newest first."""
    found = [_run(path.parent) for path in root.glob(f"*/{CONFIG_FILE}")] if root.is_dir() else []
    return sorted((run for run in found if run is not None), key=lambda run: run.changed, reverse=True)


def find_run(root: Path, name: str) -> Run:
    """The run with a name, or with the only name that begins like this."""
    runs = find_runs(root)
    chosen = [run for run in runs if run.name == name] or [run for run in runs if run.name.startswith(name)]
    if len(chosen) == 1:
        return chosen[0]
    if chosen:
        raise InputError(
            f"{len(chosen)} runs in {root} begin with {name!r}: {', '.join(run.name for run in chosen)}. Give more of the name."
        )
    raise InputError(f"There is no run {name!r} in {root}: `specht runs` lists them.")


def find_archives(root: Path) -> list[Path]:
    """Folders of results of jobs, in a folder or in runs there."""
    return sorted({path.parent for pattern in (f"*/{LOCKS}", f"*/*/{LOCKS}") for path in root.glob(pattern)}) if root.is_dir() else []


def export(run: Run, target: Path) -> None:
    """A run as one zip file."""
    if target.exists():
        raise InputError(f"{target} exists already: choose another name.")
    with write_atomically(target) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files_of(run):
            archive.write(path, Path(run.name) / path.relative_to(run.folder))


def files_of(run: Run) -> list[Path]:
    """The files of a run, with those of its jobs."""
    return sorted(path for path in run.folder.rglob("*") if path.is_file() and not path.name.startswith("."))


def prunable(root: Path, older_than: float | None) -> Iterator[tuple[Path, str]]:
    """What can go, and why: runs and results of jobs that are of no use, and with a number of days those that are older."""
    now = datetime.datetime.now(datetime.UTC)
    for run in find_runs(root):
        if run.state != COMPLETE:
            yield run.folder, run.state
        elif older_than is not None and (now - run.changed).days >= older_than:
            yield run.folder, f"{(now - run.changed).days} days old"
    for folder in find_archives(root):
        for entry in Archive(folder).entries():
            if entry.state != COMPLETE:
                yield folder / f"{entry.name}.nc", entry.state


def remove(path: Path) -> None:
    """Take away what `prunable` has named."""
    if path.is_dir():
        (path / RESULT_FILE).unlink(missing_ok=True)  # first, so that a run that is half removed does not look complete
        shutil.rmtree(path)
    else:
        path.with_suffix(".json").unlink(missing_ok=True)
        path.unlink(missing_ok=True)


def _run(folder: Path) -> Run | None:
    try:
        record = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        command, config = str(record["command"]), dict(record["config"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not one of ours
    files = [path for path in folder.rglob("*") if path.is_file()]
    changed = datetime.datetime.fromtimestamp(max(path.stat().st_mtime for path in files), datetime.UTC)
    state, result = _state(folder)
    return Run(folder, command, state, config, result, changed, sum(path.stat().st_size for path in files))


def _state(folder: Path) -> tuple[str, dict[str, Any]]:
    path = folder / RESULT_FILE
    if not path.exists():
        return "unfinished", {}
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        names, version = list(record["files"]), record["result"]["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return "damaged", {}
    if version != specht.__version__:
        return "other version", {}
    result = finished_result(folder, names)
    return ("damaged", {}) if result is None else (COMPLETE, result)
