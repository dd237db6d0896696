"""Where the jobs of a sweep run: flags that every command with a sweep has."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from specht.errors import InputError

if TYPE_CHECKING:
    from specht.lab import Places

STORE = Path("specht-results") / "jobs"


@Parameter(name="*", group=Group("Work", sort_key=1))
@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkFlags:
    """How many jobs at a time, where, and where their results are kept."""

    workers: int | None = None
    """Processes of this machine, one thread each; its cores unless given. 0: no processes, one job after another."""
    cluster: str | None = None
    """Address of a Dask scheduler, tcp://host:port, whose workers do the jobs instead."""
    slurm: Annotated[tuple[str, ...] | None, Parameter(consume_multiple=True, negative="")] = None
    """Jobs of SLURM instead, with options of sbatch, for example partition=cpu timeout_min=60 mem_gb=8; --workers at a time."""
    store: Path | None = None
    """Folder of the results of jobs, which runs share. Unless given: jobs/ in --out or in specht-results; symmetry has its own."""

    @property
    def is_asked(self) -> bool:
        """Whether somebody says where jobs run."""
        return self.workers is not None or self.cluster is not None or self.slurm is not None

    def folder(self, out: Path | None) -> Path:
        """Where results of jobs are kept."""
        return self.store or (STORE if out is None else out / "jobs")

    def places(self, folder: Path) -> Places:
        """What the jobs run on; a choice that cannot be meant is refused."""
        from specht.lab import dask_cluster, local_processes, slurm, this_process

        if self.cluster is not None and self.slurm is not None:
            raise InputError("--cluster and --slurm both say where jobs run: give one of them.")
        if self.workers is not None and self.workers < 0:
            raise InputError(f"--workers must be 0 or more, got {self.workers}.")
        if self.cluster is not None:
            return partial(dask_cluster, self.cluster)
        workers = cores() if self.workers is None else self.workers
        if self.slurm is not None:
            options = {name: value for name, _, value in (option.partition("=") for option in self.slurm)}
            if not all(options.values()):
                raise InputError(f"--slurm takes options as name=value, got {' '.join(self.slurm)!r}: for example partition=cpu.")
            return partial(slurm, options, folder / "slurm", max(1, workers))
        return partial(local_processes, workers) if workers else this_process


@contextlib.contextmanager
def removed_if_bad(made: Callable[[], set[Path]]) -> Iterator[None]:
    """Leave nothing behind if the input turns out to be bad; a run that is killed or interrupted finds its own again.

    Arguments:
        made: the files and folders that are there, of those that go.
    """
    before = made()
    try:
        yield
    except InputError:
        for path in made() - before:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        raise


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
