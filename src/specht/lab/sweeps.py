"""Many jobs: what is complete is skipped, the rest is done wherever there is room, and one that fails does not take others with it.

Killing a sweep at any moment loses the jobs in flight and nothing else; the same call goes on. Several sweeps may share an archive: a job
that one of them is at is left to it.
"""

from __future__ import annotations

import collections
import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait

import xarray

from specht.errors import InputError, StorageError, WorkError
from specht.lab.archive import Archive
from specht.lab.executors import Computed, Place, Places, compute, describe
from specht.lab.jobs import Job
from specht.lab.locks import Locks
from specht.lab.version import code_version
from specht.progress import Progress

ATTEMPTS = 3
"""How often a job is tried."""
_AHEAD = 2
"""Jobs handed to an executor for each of its workers, so that none of them waits; more would be kept from other sweeps."""
_POLL, _LOOK = 0.2, 5.0
"""Seconds between looks at jobs that another process has, and at whether a place is still alive."""


@dataclasses.dataclass(frozen=True)
class Failure:
    """A job that was given up."""

    job: Job
    error: str
    """What was raised, in one line."""


@dataclasses.dataclass(frozen=True)
class Sweep:
    """What came of a number of jobs."""

    skipped: int
    """Complete before."""
    computed: int
    """Done now, by this sweep."""
    elsewhere: int
    """Done meanwhile by another process."""
    failures: tuple[Failure, ...]

    def raise_failure(self) -> None:
        """Raise the first failure, if there is one: bad input in its own words, anything else with the job that it befell."""
        if not self.failures:
            return
        job, error = self.failures[0].job, self.failures[0].error
        kind, _, sentence = error.partition(": ")
        if kind == InputError.__name__:
            raise InputError(sentence)
        raise WorkError(f"{job} failed ({error}); what was finished is kept, and the same command goes on from there.")


def sweep(
    jobs: Iterable[Job],
    archive: Archive,
    places: Places,
    *,
    attempts: int = ATTEMPTS,
    progress: Progress | None = None,
) -> Sweep:
    """Have every job in the archive.

    Arguments:
        places: opens what the jobs run on, only if there is anything to run.
        attempts: how often a job is tried before it is given up.
        progress: called as progress(done, total), with jobs that were complete before counted as done.
    """
    every = list(dict.fromkeys(jobs))
    missing = [job for job in every if not archive.holds(job)]
    with archive.open() as locks:
        running = _Running(archive, locks, missing, attempts, lambda open_: progress and progress(len(every) - open_, len(every)))
        running.report()
        while running.open:
            with places() as place:
                running.go_on(place)  # comes back early when the place breaks
    failures = sorted(running.failures, key=lambda failure: every.index(failure.job))  # not as chance had it
    return Sweep(len(every) - len(missing), running.computed, running.elsewhere, tuple(failures))


def datasets_of(jobs: Sequence[Job], archive: Archive, places: Places, progress: Progress | None = None) -> list[xarray.Dataset]:
    """The result of every job, in their order, each tried once; the first failure is raised."""
    sweep(jobs, archive, places, attempts=1, progress=progress).raise_failure()
    return [_loaded(archive, job) for job in jobs]


def _loaded(archive: Archive, job: Job) -> xarray.Dataset:
    dataset = archive.load(job)
    if dataset is None:
        raise StorageError(f"The result of {job} was damaged after it was computed: give the same command again.")
    return dataset


class _Running:
    """The state of a sweep."""

    def __init__(self, archive: Archive, locks: Locks, jobs: Iterable[Job], attempts: int, report: Callable[[int], object]) -> None:
        self.archive, self.locks, self.attempts, self._report = archive, locks, attempts, report
        self.pending = collections.deque(jobs)
        self.away: list[Job] = []  # another process is at these
        self.flying: dict[Future[Computed], Job] = {}
        self.tried: collections.Counter[Job] = collections.Counter()
        self.suspects: set[Job] = set()  # in flight when a place broke; done one by one, so that the guilty one is found
        self.computed = self.elsewhere = 0
        self.failures: list[Failure] = []

    @property
    def open(self) -> int:
        """Jobs without a result, and not given up."""
        return len(self.pending) + len(self.away) + len(self.flying)

    def report(self) -> None:
        self._report(self.open)

    def go_on(self, place: Place) -> None:
        """Work until nothing is open, or the place is broken."""
        while self.open:
            try:
                self._fill(place)
                if not self._land(place):
                    return
            except BrokenExecutor as error:  # from submitting: nothing more goes in
                self._crash(error)
                return

    def _fill(self, place: Place) -> None:
        """Hand out as many jobs as there is room for."""
        while self.pending and len(self.flying) < (1 if self.suspects else _AHEAD * place.workers):
            job = self.pending.popleft()
            if not self.locks.acquire(job.digest):
                self.away.append(job)
            elif self.archive.holds(job):  # done by another process since we looked
                self.locks.release(job.digest)
                self.suspects.discard(job)
                self.elsewhere += 1
                self.report()
            else:
                try:
                    future = place.executor.submit(compute, job, code_version())
                except BrokenExecutor:
                    self.locks.release(job.digest)
                    self.pending.appendleft(job)
                    raise
                self.flying[future] = job
                if future.done():  # it was done here: keep it before the next one begins
                    return

    def _land(self, place: Place) -> bool:
        """Keep what has come back; False if the place is broken."""
        if not self.flying:
            time.sleep(_POLL)
        else:
            done, _ = wait(self.flying, timeout=_POLL if self.away else _LOOK, return_when=FIRST_COMPLETED)
            if not done and not place.is_alive():
                self._crash(CancelledError("the cluster went away"))
                return False
            for future in done:
                error = CancelledError("the cluster went away") if future.cancelled() else future.exception()
                if isinstance(error, BrokenExecutor):
                    self._crash(error)
                    return False
                self._keep(self.flying.pop(future), Computed(b"", 0.0, describe(error)) if error else future.result())
        self.pending.extend(self.away)
        self.away.clear()
        return True

    def _keep(self, job: Job, result: Computed) -> None:
        self.suspects.discard(job)
        try:
            if result.error:
                self._try_again(job, result.error)
            else:
                self.archive.save(job, result.content, result.seconds)
                self.computed += 1
        finally:
            self.locks.release(job.digest)
        self.report()

    def _try_again(self, job: Job, error: str) -> None:
        self.tried[job] += 1
        if self.tried[job] < self.attempts:
            self.pending.append(job)
        else:
            self.suspects.discard(job)
            self.failures.append(Failure(job, error))

    def _crash(self, error: BaseException) -> None:
        """A worker died and took the place with it: any job in flight may have been the cause."""
        suspects = list(self.flying.values())
        self.flying.clear()
        self.suspects.update(suspects)
        for job in suspects:
            self.locks.release(job.digest)
            self._try_again(job, describe(error))
        self.pending.rotate(len(suspects))  # they come first
