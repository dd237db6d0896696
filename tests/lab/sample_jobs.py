"""Jobs for the tests of sweeps: quick, and able to fail, to die, and to say that they ran."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import xarray

from specht.lab.archive import Archive
from specht.lab.executors import local_processes, this_process
from specht.lab.jobs import Job
from specht.lab.sweeps import sweep


def numbers(seed: int, size: int = 50, pause: float = 0.0, log: str = "") -> xarray.Dataset:
    """Random numbers, after a pause; leaves a line in a log when it begins."""
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"{seed}\n")
    time.sleep(pause)
    values = np.random.default_rng(seed).normal(size=size)
    return xarray.Dataset({"values": (("n",), values), "kind": (("n",), np.array(["a", "b"] * (size // 2)))}, coords={"n": np.arange(size)})


def fails(seed: int) -> xarray.Dataset:
    raise ValueError(f"seed {seed}\nis a bad seed")


def fails_until(path: str, times: int) -> xarray.Dataset:
    """Fails so many times, then works."""
    with open(path, "a", encoding="utf-8") as file:
        file.write("tried\n")
    if len(Path(path).read_text(encoding="utf-8").splitlines()) <= times:
        raise OSError("not yet")
    return numbers(0)


def dies(seed: int) -> xarray.Dataset:
    """Takes its process with it, as the kernel does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)
    return numbers(seed)


def leaves() -> xarray.Dataset:
    sys.exit(0)


class Stubborn(Exception):
    """An error that does not survive the way to another process."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} {other}")


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def raises_what_cannot_travel() -> xarray.Dataset:
    raise Stubborn("real", "reason")


def raises_at_length() -> xarray.Dataset:
    raise ValueError("far too long " * 10_000)


def raises_without_words() -> xarray.Dataset:
    raise Silent


def some(count: int, **arguments) -> list[Job]:
    return [Job.of("sample_jobs:numbers", seed=seed, **arguments) for seed in range(count)]


if __name__ == "__main__":  # store, workers, number of jobs, pause, log: a process of its own that can be killed
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background has its children ignore it
    store, workers, count, pause, log = sys.argv[1:]
    place = this_process if workers == "0" else (lambda: local_processes(int(workers)))
    done = sweep(some(int(count), pause=float(pause), log=log), Archive(Path(store)), place)
    print(done.computed, done.elsewhere, done.skipped, len(done.failures))
