"""What the benchmarks share: one thread, CPU seconds, JSON lines, targets. Imported before NumPy and JAX, which read settings once."""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[threads] = "1"

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ENOUGH = 0.1
"""Seconds of runs after which no more are needed."""
MISSED: list[str] = []
"""Targets that a line missed."""


class Measurement(NamedTuple):
    seconds: float
    """Least CPU seconds over some runs after a first one that compiles."""
    memory: int
    """Growth of the peak resident set over all of them, in bytes."""
    result: Any


def measure(function: Callable[[], Any], runs: int = 5) -> Measurement:
    """Run a function at least a number of times, and as often as a tenth of a second allows: the shortest runs scatter most."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before, seconds = resident("VmRSS"), []
    result = function()
    while len(seconds) < runs or (sum(seconds) < ENOUGH and len(seconds) < 100 * runs):
        begin = time.process_time()
        function()
        seconds.append(time.process_time() - begin)
    return Measurement(min(seconds), max(0, resident("VmHWM") - before), result)


def resident(field: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def print_line(what: str, **fields: Any) -> None:
    """One JSON object; `met` maps targets to whether they are reached."""
    MISSED.extend(f"{what}: {target} ({fields})" for target, reached in fields.get("met", {}).items() if not reached)
    print(json.dumps({"benchmark": what, **_rounded(fields)}), flush=True)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def run(report: Callable[[bool], None], description: str | None) -> int:
    """Command line of a benchmark: `--quick`, one core, a summary of missed targets, exit code 1 if there are any."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="without the largest cases")
    quick = parser.parse_args().quick
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    report(quick)
    print_line("summary", missed=MISSED)
    return 1 if MISSED else 0
