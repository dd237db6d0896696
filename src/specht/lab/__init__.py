"""Running things: configurations, jobs, and where their results are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.lab import store as store
    from specht.lab.archive import Archive as Archive
    from specht.lab.checkpoint import Checkpoint as Checkpoint
    from specht.lab.config import ArchitectureFlags as ArchitectureFlags, Config as Config
    from specht.lab.executors import (
        Places as Places,
        dask_cluster as dask_cluster,
        describe as describe,
        local_processes as local_processes,
        slurm as slurm,
        this_process as this_process,
    )
    from specht.lab.jobs import Job as Job
    from specht.lab.runs import (
        Run as Run,
        export as export,
        files_of as files_of,
        find_archives as find_archives,
        find_run as find_run,
        find_runs as find_runs,
        prunable as prunable,
        prune as prune,
    )
    from specht.lab.store import Request as Request, save_npz as save_npz, save_text as save_text
    from specht.lab.sweeps import Failure as Failure, datasets_of as datasets_of, sweep as sweep
    from specht.lab.threads import one_thread as one_thread
    from specht.lab.threshold_job import (
        MEASURE as MEASURE,
        count as count,
        describe_threshold as describe_threshold,
        measure_threshold as measure_threshold,
    )

__all__, __getattr__, __dir__ = lazy_names(__name__)
