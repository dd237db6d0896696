"""What keeping results costs.

    python benchmarks/lab.py            # about a minute
    python benchmarks/lab.py --quick

Prints one JSON object a line: the overhead of archive and sweep on jobs of one second, and how long ten thousand finished jobs take to
skip. `met` says which targets a line meets, and the exit code is 1 when one is missed.
"""

from common import print_line, run  # isort: skip -- first, because it sets the number of threads

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import xarray

from specht.lab.archive import Archive, encode
from specht.lab.executors import this_process
from specht.lab.jobs import Job
from specht.lab.sweeps import sweep


def wait(seed: int, seconds: float) -> xarray.Dataset:
    """A job of known length, with as many numbers as the experiments have."""
    time.sleep(seconds)
    return xarray.Dataset({"values": (("n", "m"), np.random.default_rng(seed).normal(size=(20, 5)))}, coords={"n": np.arange(20)})


def report(quick: bool) -> None:
    report_overhead(5 if quick else 30)
    report_skipping(1000 if quick else 10_000)


def report_overhead(count: int) -> None:
    """Seconds beyond those of the jobs themselves, for jobs of one second."""
    with tempfile.TemporaryDirectory() as folder:
        archive, jobs = Archive(Path(folder)), [Job.of("lab:wait", seed=seed, seconds=1.0) for seed in range(count)]
        sweep([Job.of("lab:wait", seed=count, seconds=0.0)], archive, this_process)  # loads what is to be loaded
        start = time.perf_counter()
        sweep(jobs, archive, this_process)
        overhead = (time.perf_counter() - start) / count - 1.0
    print_line("overhead", jobs=count, overhead_seconds=overhead, met={"below 2 % of a job of one second": overhead < 0.02})


def report_skipping(count: int) -> None:
    """Finished jobs, each believed only after its checksums."""
    with tempfile.TemporaryDirectory() as folder:
        archive, jobs = Archive(Path(folder)), [Job.of("lab:wait", seed=seed, seconds=0.0) for seed in range(count)]
        content = encode(wait(0, 0.0))
        for job in jobs:
            archive.save(job, content, 0.0)
        start = time.perf_counter()
        done = sweep(jobs, archive, this_process)
        seconds = time.perf_counter() - start
        assert done.skipped == count
    limit = 5.0 * count / 10_000
    print_line("skipping", jobs=count, seconds=seconds, met={"10^4 in 5 s": seconds < limit})


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))  # jobs are imported by name
    raise SystemExit(run(report, __doc__))
