"""Sweeps: what is complete is skipped, what fails fails alone, and the numbers do not depend on where or how often it was tried."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import sample_jobs
from sample_jobs import some

from specht.errors import InputError, StorageError, WorkError
from specht.lab.archive import Archive
from specht.lab.executors import dask_cluster, local_processes, slurm, this_process
from specht.lab.jobs import Job
from specht.lab.locks import Locks
from specht.lab.sweeps import datasets_of, sweep
from specht.lab.version import code_version


def contents(archive: Archive) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in archive.folder.glob("*.nc")}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict[str, bytes]:
    archive = Archive(tmp_path_factory.mktemp("undisturbed"))
    sweep(some(12), archive, this_process)
    return contents(archive)


def test_complete_jobs_are_skipped_and_counted(tmp_path):
    archive, calls = Archive(tmp_path), []
    assert sweep(some(3), archive, this_process).computed == 3
    done = sweep([*some(5), *some(5)], archive, this_process, progress=lambda done, total: calls.append((done, total)))
    assert (done.skipped, done.computed, done.elsewhere, done.failures) == (3, 2, 0, ())
    assert calls == [(3, 5), (4, 5), (5, 5)]


def test_nothing_is_opened_for_nothing(tmp_path):
    def never():
        raise AssertionError("there is nothing to do")

    assert sweep([], Archive(tmp_path), never).computed == 0


def test_one_failing_job_does_not_lose_the_others(tmp_path):
    bad = Job.of("sample_jobs:fails", seed=7)
    done = sweep([*some(2), bad, *some(4)], Archive(tmp_path), this_process)
    assert done.computed == 4
    assert [(failure.job, failure.error) for failure in done.failures] == [(bad, "ValueError: seed 7 is a bad seed")]


def test_datasets_come_in_the_order_of_their_jobs_or_not_at_all(tmp_path, monkeypatch):
    archive, jobs = Archive(tmp_path), some(3)
    datasets = datasets_of(jobs[::-1], archive, this_process)
    assert [data.identical(job.run()) for data, job in zip(datasets, jobs[::-1], strict=True)] == [True] * 3
    with pytest.raises(WorkError, match="seed 7 is a bad seed"):
        datasets_of([Job.of("sample_jobs:fails", seed=7)], archive, this_process)
    monkeypatch.setattr(Archive, "load", lambda *_: None)
    with pytest.raises(StorageError, match="was damaged after it was computed: give the same command again"):
        datasets_of(jobs, archive, this_process)


def test_a_job_is_tried_again_up_to_a_limit(tmp_path):
    job = Job.of("sample_jobs:fails_until", path=str(tmp_path / "log"), times=2)
    assert sweep([job], Archive(tmp_path / "a"), this_process, attempts=2).failures[0].error == "OSError: not yet"
    assert sweep([job], Archive(tmp_path / "a"), this_process, attempts=2).computed == 1
    missing = Job.of("no_such_module:f")
    assert "ModuleNotFoundError" in sweep([missing], Archive(tmp_path / "a"), this_process).failures[0].error


@pytest.mark.parametrize(("workers", "attempts"), [(1, 2), pytest.param(2, 3, marks=pytest.mark.whole)])
def test_processes_give_the_same_bytes_and_survive_a_job_that_kills_them(tmp_path, undisturbed, workers, attempts):
    archive, killer, before = Archive(tmp_path), Job.of("sample_jobs:dies", seed=0), set(multiprocessing.active_children())
    done = sweep([*some(3), killer, *some(12)], archive, lambda: local_processes(workers), attempts=attempts)
    assert [failure.job for failure in done.failures] == [killer]
    assert "BrokenProcessPool" in done.failures[0].error
    assert contents(archive) == undisturbed
    end = time.monotonic() + 60.0
    while set(multiprocessing.active_children()) - before:  # this also takes leave of those that have ended
        assert time.monotonic() < end
        time.sleep(0.1)


def run_apart(store: Path, workers: int, count: int, pause: float, log: Path) -> subprocess.Popen[str]:
    command = [sys.executable, sample_jobs.__file__, str(store), str(workers), str(count), str(pause), str(log)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(sample_jobs.__file__).parent), *sys.path])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.mark.whole
def test_killed_again_and_again_it_ends_with_the_same_bytes(tmp_path):
    jobs = some(12, pause=0.1, log=str(tmp_path / "log"))
    chance, kills = random.Random(0), 0
    while True:
        process = run_apart(tmp_path / "jobs", 2, 12, 0.1, tmp_path / "log")
        try:
            process.wait(2.5 + chance.random() if kills < 1 else None)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
    assert process.communicate()[0].split()[-1] == "0"
    whole = Archive(tmp_path / "whole")
    sweep(jobs, whole, this_process)
    assert contents(Archive(tmp_path / "jobs")) == contents(whole)
    assert kills >= 1
    _no_orphans(str(tmp_path / "jobs"))


def _no_orphans(word: str) -> None:
    """Workers end when the process that they work for is gone."""
    for _ in range(50):
        left = [pid for pid in Path("/proc").glob("[0-9]*") if word in _command(pid)]
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError(left)


def _command(pid: Path) -> str:
    try:
        return (pid / "cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


HOLDER = """
import sys, time
from pathlib import Path
from specht.lab.locks import Locks

print(Locks(Path(sys.argv[1])).acquire(sys.argv[2]), flush=True)
time.sleep(600)
"""


def test_a_lock_is_held_against_other_processes_until_its_own_is_killed(tmp_path):
    path, name = tmp_path / "locks", some(1)[0].digest
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path), name], stdout=subprocess.PIPE, text=True, env=environment)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "True\n"
    locks = Locks(path)
    assert not locks.acquire(name)
    assert locks.acquire(some(2)[1].digest)
    holder.kill()
    holder.communicate()
    assert locks.acquire(name)
    locks.close()


@pytest.mark.whole
def test_two_processes_share_the_work(tmp_path):
    log = tmp_path / "log"
    both = [run_apart(tmp_path / "jobs", 0, 12, 0.2, log) for _ in range(2)]
    counts = []
    for process in both:
        out, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        counts.append([int(word) for word in out.split()])
    assert sorted(map(int, log.read_text().split())) == list(range(12))  # each job began once
    assert sum(count[0] for count in counts) == 12
    assert all(sum(count) == 12 and count[3] == 0 for count in counts)


@pytest.mark.whole
def test_an_interrupt_leaves_what_is_complete(tmp_path):
    process = run_apart(tmp_path / "jobs", 2, 60, 0.3, tmp_path / "log")
    archive, jobs = Archive(tmp_path / "jobs"), some(60, pause=0.3, log=str(tmp_path / "log"))
    while not any(map(archive.holds, jobs)):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode != 0
    assert errors.count("KeyboardInterrupt") == 1  # of the process itself, and of none of its workers
    complete = [job for job in jobs if archive.holds(job)]
    left = next(job for job in jobs if job not in complete)
    assert sweep([*complete, left], archive, this_process).skipped == len(complete)


def test_a_dask_cluster_in_this_process_gives_the_same_bytes(tmp_path, undisturbed):
    distributed = pytest.importorskip("distributed")
    archive = Archive(tmp_path)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        done = sweep(some(3), archive, lambda: dask_cluster(cluster.scheduler_address))
    assert (done.computed, done.failures) == (3, ())
    assert contents(archive).items() <= undisturbed.items()


@pytest.mark.whole
def test_a_dask_cluster_that_loses_a_worker_gives_the_same_bytes(tmp_path, undisturbed):
    from distributed import Client, LocalCluster, WorkerPlugin

    class SearchPath(WorkerPlugin):
        def setup(self, worker):
            sys.path.append(folder)

    folder = str(Path(sample_jobs.__file__).parent)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1") as cluster:
        killed = []

        def kill_one(done, total):
            if done >= 3 and not killed:
                killed.append(cluster.workers[0].process.pid)
                os.kill(killed[0], signal.SIGKILL)

        archive = Archive(tmp_path)
        with Client(cluster, set_as_default=False) as client:
            client.register_plugin(SearchPath())
        done = sweep(some(12), archive, lambda: dask_cluster(cluster.scheduler_address), progress=kill_one)
    assert killed
    assert (done.computed, done.failures) == (12, ())
    assert contents(archive) == undisturbed


@pytest.mark.parametrize("cluster", ["debug", pytest.param("local", marks=pytest.mark.whole)])  # in this process, and in others
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # submitit leaves its logs open there
def test_submitit_gives_the_same_bytes(tmp_path, undisturbed, monkeypatch, cluster):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(sample_jobs.__file__).parent), *sys.path]))
    archive = Archive(tmp_path / "jobs")
    done = sweep(some(2), archive, lambda: slurm({"timeout_min": "5"}, tmp_path / "slurm", 2, cluster=cluster))
    assert (done.computed, done.failures) == (2, ())
    assert contents(archive).items() <= undisturbed.items()


def test_places_that_are_not_there_are_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("specht.lab.executors._PATIENCE", "1s")
    with pytest.raises(InputError, match=r"No Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        sweep(some(1), Archive(tmp_path), lambda: dask_cluster("tcp://127.0.0.1:9"))
    with pytest.raises(InputError, match="SLURM cannot be used like this"):
        sweep(some(1), Archive(tmp_path), lambda: slurm({"partition": "cpu"}, tmp_path / "slurm", 2))


@pytest.mark.parametrize("workers", [0, 1])
def test_errors_of_every_kind_are_one_line(tmp_path, workers):
    jobs = [Job.of(f"sample_jobs:{name}") for name in ("leaves", "raises_what_cannot_travel", "raises_at_length", "raises_without_words")]
    place = (lambda: local_processes(1)) if workers else this_process
    done = sweep([*jobs, *some(1)], Archive(tmp_path), place, attempts=1)
    assert done.computed == 1
    errors = [failure.error for failure in done.failures]  # in the order of the jobs
    assert errors[0] == "SystemExit: 0"
    assert errors[1] == "Stubborn: real reason"
    assert len(errors[2]) < 600
    assert errors[3] == "Silent: its message cannot be shown"


def test_two_sweeps_in_one_process_do_not_take_each_others_jobs(tmp_path):
    log = str(tmp_path / "log")
    jobs = some(6, pause=0.1, log=log)
    both = [threading.Thread(target=sweep, args=(jobs, Archive(tmp_path / "jobs"), this_process)) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sorted(map(int, Path(log).read_text().split())) == list(range(6))


def test_locks_that_the_disk_does_not_have_are_one_sentence(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("specht.lab.locks.fcntl.lockf", none)
    with pytest.raises(StorageError, match=r"cannot be locked \(No locks available\): choose a folder on another disk"):
        sweep(some(1), Archive(tmp_path), this_process)


def test_workers_with_other_code_are_not_believed(tmp_path, monkeypatch):
    monkeypatch.setattr("specht.lab.sweeps.code_version", lambda: "0.0+00000000")
    done = sweep(some(1), Archive(tmp_path), this_process)
    assert done.failures[0].error.startswith(f"The worker has Specht {code_version()} and the sweep 0.0+00000000: install the same one")


@pytest.mark.slow
def test_a_scheduler_that_dies_ends_the_sweep(tmp_path):
    from distributed import Client

    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    command += ["--host", "127.0.0.1", "--scheduler-file", str(tmp_path / "scheduler.json")]
    scheduler = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not (tmp_path / "scheduler.json").exists():
        time.sleep(0.2)
    address = json.loads((tmp_path / "scheduler.json").read_text())["address"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(sample_jobs.__file__).parent), *sys.path])}
    words = ["-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "5"]
    worker = subprocess.Popen([sys.executable, *words], stderr=subprocess.DEVNULL, env=environment)
    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(1)
    threading.Timer(5.0, scheduler.kill).start()
    try:
        with pytest.raises(InputError, match=r"No Dask scheduler answers|has no workers"):
            sweep(some(400, pause=0.2), Archive(tmp_path / "jobs"), lambda: dask_cluster(address))
    finally:
        for process in (scheduler, worker):
            process.kill()
    assert list((tmp_path / "jobs").glob("*.nc"))
