"""Where jobs run: in this process, in processes of this machine, on a Dask cluster, or on SLURM. The numbers are the same everywhere.

Each place is a `concurrent.futures.Executor`, so that a sweep need not know which it has. What a job returns is the content of its netCDF
file, encoded where it was computed; the process that asked for it writes it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from specht.errors import InputError, in_one_line
from specht.lab.jobs import Job
from specht.lab.threads import ask_for_one_thread, forget_programs_if_many, one_thread, one_thread_for_good
from specht.lab.version import code_version

_LONGEST = 500
"""Characters of an error that are kept."""
_LOOK = 0.5
"""Seconds between looks at a job of SLURM."""
_PATIENCE = "10s"
"""For a scheduler to answer."""


class Computed(NamedTuple):
    """What a worker sends back."""

    content: bytes
    """Of a netCDF file; empty if the job failed."""
    seconds: float
    """That the job took."""
    error: str = ""
    """What it raised, as text: exceptions themselves do not always travel."""


class Place(NamedTuple):
    """An executor, and how many jobs it does at a time."""

    executor: Executor
    workers: int
    is_alive: Callable[[], bool] = lambda: True
    """False when nothing will come back any more."""


Places = Callable[[], contextlib.AbstractContextManager[Place]]
"""Opens a place for jobs, and again if it breaks."""


def compute(job: Job, version: str) -> Computed:
    """Do a job with one thread: what every worker calls. Only the version of the code that asks will do."""
    one_thread_for_good()
    if version != code_version():
        return Computed(b"", 0.0, f"The worker has Specht {code_version()} and the sweep {version}: install the same one on both.")
    from specht.lab.archive import encode  # loads xarray, in the worker

    forget_programs_if_many()
    start = time.perf_counter()
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is for the scorecard
            content, error = encode(job.run()), ""
    except (Exception, SystemExit) as raised:
        content, error = b"", describe(raised)
    return Computed(content, time.perf_counter() - start, error)


def describe(error: BaseException) -> str:
    """An error in one line of text, whatever it is."""
    try:
        text = in_one_line(error).encode("utf-8", "replace").decode()
    except Exception:
        text = f"{type(error).__name__}: its message cannot be shown"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


@contextlib.contextmanager
def this_process() -> Iterator[Place]:
    """One job after another, here: for debugging, and where processes cannot be started."""
    ask_for_one_thread()
    with one_thread(), _Here() as executor:  # and as many as before, afterwards
        yield Place(executor, 1)


class _Here(Executor):
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextlib.contextmanager
def local_processes(workers: int) -> Iterator[Place]:
    """So many processes of this machine, started afresh: a copy of a process that has loaded JAX would hang."""
    ask_for_one_thread()
    context = multiprocessing.get_context("spawn")
    before = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(workers, mp_context=context, initializer=_serve)
    try:
        yield Place(executor, workers)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - before:  # what they are at is not asked for any more
            process.terminate()


def _serve() -> None:
    """Set a worker up: the interrupt is for the process that asks, and when that is gone there is nobody left to work for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)  # standard output is for the scorecard
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()


@contextlib.contextmanager
def dask_cluster(address: str) -> Iterator[Place]:
    """The workers of a running Dask scheduler, `tcp://host:port`. Jobs of a worker that dies are done by another."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError("A cluster needs Dask, which is not installed: `pip install specht[cluster]`.") from None
    try:
        client: Any = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"No Dask scheduler answers at {address!r} ({error}): start one with `dask scheduler`, or check it.") from None
    with client:
        workers = sum(client.nthreads().values())
        if not workers:
            raise InputError(f"The Dask scheduler at {address} has no workers: start some with `dask worker {address}`.")
        yield Place(client.get_executor(pure=False), workers, lambda: client.status == "running")


@contextlib.contextmanager
def slurm(options: Mapping[str, str], folder: Path, workers: int, cluster: str = "slurm") -> Iterator[Place]:
    """SLURM through submitit: a job of its own for every job here, at most so many at a time.

    Arguments:
        options: of `sbatch`, as submitit names them: partition, time, mem_gb, cpus_per_task, ...
        folder: that all machines see, for what submitit writes.
        cluster: "local" runs the same way on this machine.
    """
    try:
        import submitit
    except ImportError:
        raise InputError("SLURM needs submitit, which is not installed: `pip install specht[cluster]`.") from None
    try:
        executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
        executor.update_parameters(**{_parameter(name, cluster): _number(value) for name, value in options.items()})
    except (RuntimeError, NameError, ValueError, TypeError, AssertionError) as error:
        raise InputError(f"SLURM cannot be used like this: {' '.join(str(error).split())}") from None
    submitted = _Submitted(executor, workers)
    try:
        yield Place(submitted, workers)
    finally:
        submitted.stop()


class _Submitted(Executor):
    """Jobs of submitit as futures: threads wait for them."""

    def __init__(self, executor: Any, workers: int) -> None:
        self._executor, self._threads = executor, ThreadPoolExecutor(workers)
        self._stopped = threading.Event()
        self._running: set[Any] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._threads.submit(self._await, fn, *args, **kwargs)

    def stop(self) -> None:
        """Call off what has not come back."""
        self._stopped.set()
        for job in list(self._running):
            job.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _await(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        job = self._executor.submit(fn, *args, **kwargs)
        self._running.add(job)
        try:
            while not job.done():
                if self._stopped.wait(_LOOK):
                    raise RuntimeError("called off")
            return job.result()
        finally:
            self._running.discard(job)


def _parameter(name: str, cluster: str) -> str:
    """Options that submitit does not know for every cluster carry the name of the cluster."""
    common = ("timeout_min", "mem_gb", "cpus_per_task", "gpus_per_node", "nodes", "tasks_per_node", "name")
    return name if name in common or cluster == "local" else f"slurm_{name.removeprefix('slurm_')}"


def _number(value: str) -> float | str:
    try:
        return int(value) if value.isascii() and value.isdigit() else float(value)
    except ValueError:
        return value
