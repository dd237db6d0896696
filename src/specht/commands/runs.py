"""specht runs: what has been computed, where, and how."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import cyclopts
from cyclopts import Parameter, validators

from specht.commands.command import JsonSwitch, Switch, print_json, print_table

if TYPE_CHECKING:
    from specht.lab import Run

ROOT = Path("specht-results")

app = cyclopts.App(
    name="runs",
    sort_key=10,
    help="""What has been computed, where, and how.

For example

    specht runs                               the results in specht-results/
    specht runs show predict-3f2a             one of them, and its files
    specht runs export predict-3f2a mine.zip  as one file
    specht runs prune                         what is damaged or unfinished
    specht runs prune --older-than 30 --yes   remove that, and what is old""",
    help_format="plaintext",
)
Root = Annotated[Path, Parameter(name="--root", help="Folder of the results.")]
Name = Annotated[str, Parameter(help="Of the run, or how it begins.")]


@app.default
def list_runs(*, root: Root = ROOT, as_json: JsonSwitch = False) -> None:
    """What has been computed, the newest first."""
    from specht.lab import Archive, find_archives, find_runs

    runs = find_runs(root)
    archives = []
    for folder in find_archives(root):
        states = [entry.state for entry in Archive(folder).entries()]
        archives.append({"folder": str(folder), "jobs": len(states), "complete": states.count("complete")})
    if as_json:
        return print_json({"command": "runs", "runs": [_fields(run) for run in runs], "archives": archives})
    if not runs and not archives:
        print(f"Nothing has been computed in {root} yet: `specht predict` is a beginning.")
        return None
    if runs:
        print_table(
            [[run.name, run.state, _when(run.changed), _size(run.bytes), _settings(run.config)] for run in runs],
            header=["run", "state", "changed", "size", "configuration"],
        )
    for archive in archives:
        print(f"\n{archive['folder']}: results of {archive['jobs']} jobs, {archive['complete']} of them complete")
    return None


@app.command
def show(name: Name, *, root: Root = ROOT, as_json: Annotated[Switch, Parameter(name="--json")] = False) -> None:
    """One run: what it was asked, and its files.

    Parameters
    ----------
    as_json
        Print one JSON object, with what the command itself printed.
    """
    from specht.lab import files_of, find_run

    run = find_run(root, name)
    if as_json:
        return print_json(_fields(run) | {"command": "runs", "result": run.result, "files": [str(path) for path in files_of(run)]})
    facts = [["run", run.name], ["command", run.command], ["state", run.state], ["changed", _when(run.changed)], ["size", _size(run.bytes)]]
    print_table(facts)
    print("\nconfiguration")
    print_table([[f"  {key}", str(value)] for key, value in run.config.items()])
    print("\nfiles", *(f"  {path}" for path in files_of(run)), sep="\n")
    return None


@app.command
def export(name: Name, target: Path, *, root: Root = ROOT) -> None:
    """A run as one zip file.

    Parameters
    ----------
    target
        The file to write; one that exists is left alone.
    """
    from specht.lab import export as write, find_run

    run = find_run(root, name)
    write(run, target)
    print(f"{run.name} is in {target}")


@app.command
def prune(
    *,
    root: Root = ROOT,
    older_than: Annotated[float | None, Parameter(validator=validators.Number(gte=0))] = None,
    yes: Switch = False,
) -> None:
    """Remove runs that are unfinished, damaged or of another version, and results of jobs like that.

    Parameters
    ----------
    older_than
        Days after which complete runs go as well; never unless given.
    yes
        Remove them; without it they are only listed.
    """
    from specht.lab import prunable, prune as remove

    removable = list(prunable(root, older_than))
    if not removable:
        print(f"Nothing to remove in {root}.")
        return
    print_table([[str(path), reason] for path, reason in removable])
    if not yes:
        print(f"\n{len(removable)} would be removed: say --yes.")
        return
    gone, kept = remove(root, older_than)
    print(f"\n{len(gone)} removed.", *(f"{folder} stays: it holds files that are not results of Specht." for folder in kept), sep="\n")


def _fields(run: Run) -> dict[str, Any]:
    facts = {"run": run.name, "of": run.command, "state": run.state, "changed": run.changed.isoformat(timespec="seconds")}
    return facts | {"bytes": run.bytes, "config": run.config, "folder": str(run.folder)}


def _settings(config: dict[str, Any]) -> str:
    text = " ".join(f"{name}={value}" for name, value in config.items() if value not in (None, [], ""))
    return text if len(text) <= 60 else f"{text[:57]}..."


def _when(time: datetime.datetime) -> str:
    return time.astimezone().strftime("%Y-%m-%d %H:%M")


def _size(number: float) -> str:
    for unit in ("B", "KB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"
