"""Running things: configurations, jobs, and where their results are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.lab import store
    from specht.lab.archive import Archive
    from specht.lab.checkpoint import Checkpoint as Checkpoint
    from specht.lab.config import ArchitectureFlags, Config
    from specht.lab.executors import Places, dask_cluster, describe, local_processes, slurm, this_process
    from specht.lab.jobs import Job
    from specht.lab.runs import Run, export, files_of, find_archives, find_run, find_runs, prunable, prune
    from specht.lab.store import Request, save_npz, save_text
    from specht.lab.sweeps import Failure, datasets_of, sweep
    from specht.lab.threads import one_thread
    from specht.lab.threshold_job import MEASURE, count, describe_threshold, measure_threshold

__all__, __getattr__, __dir__ = lazy_names(__name__)
