"""What has been computed: folders of results, and archives of jobs among them."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from specht.errors import InputError
from specht.files import write_atomically
from specht.lab.archive import COMPLETE, LOCKS, Archive
from specht.lab.store import CONFIG_FILE, RESULT_FILE, finished_result, is_at_work
from specht.lab.version import code_version

WRITTEN = ("config.json", "result.json", "scorecard.json", "report.html", "*.nc", "*.csv", "*.npz", "tokenizer-*.json", "figure-*", ".*")
"""Files that Specht writes into the folder of a run."""


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
    """Every folder of results in a folder, the newest first; what lies behind a link belongs elsewhere."""
    folders = [path.parent for path in root.glob(f"*/{CONFIG_FILE}") if not path.parent.is_symlink()] if root.is_dir() else []
    return sorted(filter(None, map(_run, folders)), key=lambda run: run.changed, reverse=True)


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
    if not root.is_dir():
        return []
    folders = {path.parent for pattern in (f"*/{LOCKS}", f"*/*/{LOCKS}") for path in root.glob(pattern)}
    return sorted(folder for folder in folders if not folder.is_symlink() and not folder.parent.is_symlink())


def export(run: Run, target: Path) -> None:
    """A run as one zip file."""
    if target.exists():
        raise InputError(f"{target} exists already: choose another name.")
    with write_atomically(target) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for path in files_of(run):
            archive.write(path, Path(run.name) / path.relative_to(run.folder))


def files_of(run: Run) -> list[Path]:
    """The files of a run, with those of its jobs."""
    return _files(run.folder)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))


def prunable(root: Path, older_than: float | None) -> Iterator[tuple[Path, str]]:
    """What can go, and why: runs and results of jobs that are of no use, and with a number of days complete runs that are older.

    A run that is going on stays, and so does an unfinished one with complete jobs, which its next start needs.
    """
    now = datetime.datetime.now(datetime.UTC)
    for run in find_runs(root):
        days = (now - run.changed).total_seconds() / 86400.0
        if is_at_work(run.folder):
            continue
        if run.state == COMPLETE and older_than is not None and days >= older_than:
            yield run.folder, f"{days:.0f} days old"
        elif run.state != COMPLETE and not any(entry.state == COMPLETE for entry in Archive(run.folder / "jobs").entries()):
            yield run.folder, run.state
    for folder in find_archives(root):
        for entry in Archive(folder).entries():
            if entry.state != COMPLETE:
                yield folder / f"{entry.name}.nc", entry.state


def prune(root: Path, older_than: float | None) -> tuple[list[Path], list[Path]]:
    """Take away what `prunable` names, as far as Specht has written it; returns what went, and folders that keep files of others."""
    gone, kept = [], []
    for folder in find_archives(root):
        gone += [folder / f"{entry.name}.nc" for entry in Archive(folder).prune()]
    for folder, _ in list(prunable(root, older_than)):
        if folder.is_dir():
            _remove_run(folder)
            (kept if folder.exists() else gone).append(folder)
    return gone, kept


def _remove_run(folder: Path) -> None:
    (folder / RESULT_FILE).unlink(missing_ok=True)  # first, so that a run that is half removed does not look complete
    if not (folder / "jobs").is_symlink() and (folder / "jobs" / LOCKS).exists():
        shutil.rmtree(folder / "jobs", ignore_errors=True)
    for path in list(folder.iterdir()):
        if path.is_file() and any(path.match(pattern) for pattern in WRITTEN):
            path.unlink()
    with contextlib.suppress(OSError):  # somebody else's files are in it
        folder.rmdir()


def _run(folder: Path) -> Run | None:
    try:
        record = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        command, config = str(record["command"]), dict(record["config"])
        if re.fullmatch("[0-9a-f]{12}", record["digest"]) is None:
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not one of ours
    facts: list[os.stat_result] = []
    for path in _files(folder):
        with contextlib.suppress(OSError):  # it is gone
            facts.append(path.stat())
    changed = datetime.datetime.fromtimestamp(max((fact.st_mtime for fact in facts), default=0.0), datetime.UTC)
    state, result = _state(folder)
    return Run(folder, command, state, config, result, changed, sum(fact.st_size for fact in facts))


def _state(folder: Path) -> tuple[str, dict[str, Any]]:
    path = folder / RESULT_FILE
    if not path.exists():
        return "unfinished", {}
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        code = record.get("code")  # files of earlier releases do not say it
    except (OSError, ValueError, AttributeError):
        return "damaged", {}
    if code != code_version():
        return "other version", {}
    result = finished_result(folder)
    return ("damaged", {}) if result is None else (COMPLETE, result)
