"""The first forecast of a fresh process, now and at an earlier commit: CPU seconds until there is a result, with nothing compiled before.

    python benchmarks/first_forecast.py                     # 128 and 600 rows, three processes each, against the default commit
    python benchmarks/first_forecast.py --quick             # 128 rows
    python benchmarks/first_forecast.py --before HEAD~10    # against another commit

Both commits forecast the same table in processes that take turns, each with an empty cache of compiled programs. The table is made here:
six kinds of short questions, told by their last word and by a word somewhere. Prints one JSON object a line: CPU seconds of the imports
(JAX among them) and of the forecast, and how many programs were compiled in how many seconds of wall time, each the least of all processes.
`ratio` compares the forecasts, from the call to the result, and has to be 5; `with_imports` compares the whole processes,
half of whose time may now go into loading libraries. `met` says whether the target is met; the exit code is 1 when it is missed.
"""

from common import MISSED, print_line  # isort: skip -- first, because it sets the number of threads

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parents[1]
BEFORE = "7bbe09f"
"""The last commit at which every variance compiled every kernel anew."""
TARGET, RUNS, SIZES = 5.0, 3, (128, 600)
PROCESS = """
import json, sys, time
start = time.process_time()
from pathlib import Path
import jax
import xarray
try:
    import specht.forecasts.forecast, specht.forecasts.table
    from specht.commands.forecast import ForecastCommand, ForecastConfig
    from specht.trees import rows as rows_of
    run = ForecastCommand().compute
    results_of = lambda data: rows_of(data["architectures"])
except ImportError:  # the earlier commit
    from specht.lab.forecast_config import ForecastConfig
    from specht.lab.forecast_job import run_forecast as run
    results_of = lambda done: done.forecast.architectures
seconds = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, duration, **_: seconds.append(duration) if event.endswith("backend_compile_duration") else None
)
loaded = time.process_time()
rows = int(sys.argv[2])
result = run(ForecastConfig(data=Path(sys.argv[1]), target="kind", rows=rows, fit_rows=min(rows, 400)))
done = time.process_time()
print(json.dumps({
    "imports": loaded - start, "forecast": done - loaded, "compilations": len(seconds), "compile_wall_seconds": sum(seconds),
    "errors": {one.name: one.error for one in results_of(result)},
}))
"""


def report(before: str, quick: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sources = {"before": unpacked(before, Path(folder)), "after": HERE / "src"}
        table = Path(folder) / "questions.csv"
        write_table(table, rows=2 * max(SIZES))
        for rows in SIZES[:1] if quick else SIZES:
            taken = {name: [] for name in sources}
            # In turns, so that a busy moment does not fall on one of them alone; the first of each fills the caches of files.
            for _ in range(RUNS + 1):
                for name, source in sources.items():
                    taken[name].append(first_forecast(source, table, rows))
            print_comparison(before, rows, {name: least(runs[1:]) for name, runs in taken.items()})


def unpacked(commit: str, folder: Path) -> Path:
    """The sources of a commit."""
    archive = subprocess.run(["git", "archive", commit, "src"], cwd=HERE, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return folder / "src"


def write_table(path: Path, rows: int, words: int = 600) -> None:
    """Questions of 5 to 30 words with the frequencies of a language, and the kind of each."""
    rng = np.random.default_rng(0)
    frequencies = 1.0 / np.arange(2, words + 2)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["question", "kind"])
        for _ in range(rows):
            question = rng.choice(words, size=rng.integers(5, 31), p=frequencies / frequencies.sum())
            kind = rng.integers(6)
            question[-1] = kind // 2  # the last word tells three pairs of kinds apart, a topic the two of a pair
            question[rng.integers(len(question) - 1)] = 10 + kind % 2
            writer.writerow([" ".join(f"word{word}" for word in question), f"kind {kind if rng.random() < 0.9 else rng.integers(6)}"])


def first_forecast(source: Path, table: Path, rows: int) -> dict:
    """What a fresh process took."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"PYTHONPATH": str(source), "JAX_COMPILATION_CACHE_DIR": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else every process compiles all modules
        command = [sys.executable, "-c", PROCESS, str(table), str(rows)]
        printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return json.loads(printed)


def least(runs: list[dict]) -> dict:
    """The least seconds of several processes, and that of imports and forecast together."""
    names = ("imports", "forecast", "compile_wall_seconds")
    total = min(run["imports"] + run["forecast"] for run in runs)
    return runs[0] | {name: min(run[name] for run in runs) for name in names} | {"total": total}


def print_comparison(before: str, rows: int, taken: dict[str, dict]) -> None:
    errors = {name: one.pop("errors") for name, one in taken.items()}
    for name, one in taken.items():
        print_line("first forecast", commit=before if name == "before" else "now", rows=rows, **one, errors=errors[name])
    ratio, with_imports = (taken["before"][part] / taken["after"][part] for part in ("forecast", "total"))
    print_line("speed-up", rows=rows, ratio=ratio, with_imports=with_imports, met={f"{TARGET:g} times faster": ratio >= TARGET})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", default=BEFORE, help="commit to compare with")
    parser.add_argument("--quick", action="store_true", help="without the larger table")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    report(options.before, options.quick)
    print_line("summary", missed=MISSED)
    return 1 if MISSED else 0


if __name__ == "__main__":
    raise SystemExit(main())
