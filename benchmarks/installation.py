"""From nothing to the first figure: what a new user waits for, with an empty home, no cache and the first command of the README.

    python benchmarks/installation.py            # a minute or two, most of it the network's
    python benchmarks/installation.py --quick    # with the cache of this user's pip

Prints one JSON object a line: seconds on the clock of every stage (a virtual environment, `pip install`, the first `specht predict`, which
compiles, and a second one), the size of the environment, and of the report. `met` says which targets a line meets; the exit code is 1 when
one is missed.
"""

from common import print_line, run  # isort: skip -- first, because it sets the number of threads

import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST_SECONDS = 120
ROOT = Path(__file__).parents[1]
FORGOTTEN = {"PYTHONPATH", "XDG_CACHE_HOME", "PIP_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR", "XLA_FLAGS"}
FORGOTTEN |= {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"}
"""What a new user has not set."""


def report(quick: bool) -> None:
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # a new user has the whole machine
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept = {key: value for key, value in os.environ.items() if key not in FORGOTTEN}  # how to reach the network is among them
        environment = kept if quick else kept | {"HOME": name}
        stages = {
            "venv": [sys.executable, "-m", "venv", ".venv"],
            "install": [".venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT)],
            "first figure": [".venv/bin/specht", "predict", "--out", "first"],
            "second figure": [".venv/bin/specht", "predict", "--out", "second", "--length", "20"],
        }
        seconds = {stage: clocked(command, folder, environment) for stage, command in stages.items()}
        together = sum(seconds.values()) - seconds["second figure"]
        page = (folder / "first" / "report.html").read_text(encoding="utf-8")
        print_line(
            "from nothing to the first figure",
            seconds=together,
            stages=seconds,
            megabytes=size(folder / ".venv") / 1e6,
            met={f"below {MOST_SECONDS} s": together < MOST_SECONDS, "the report has a figure": "Plotly.newPlot" in page},
        )


def clocked(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    """Seconds that a command takes; one that fails is shown with what it said."""
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)} ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - begin


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


if __name__ == "__main__":
    raise SystemExit(run(report, __doc__))
