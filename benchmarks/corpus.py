"""What the symmetry of a corpus costs: WikiText-2 train, 2.09 million tokens, V = 1000, L = 128.

    python benchmarks/corpus.py            # about six minutes
    python benchmarks/corpus.py --quick    # without the larger corpora

Prints one JSON object a line: CPU seconds and peak memory of processes that score the corpus by sketches and exactly, or count all lag
tables, beside a naive count of all pairs in all windows and beside the floor, one update of a table a pair. Then ten times the corpus, and
two processes of a Dask cluster against one. `met` says which targets a line meets, and the exit code is 1 when one is missed.
"""

from common import print_line, run  # isort: skip -- first, because it sets the number of threads

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from specht.corpus.measuring import score
from specht.corpus.read.corpora import open_corpus
from specht.corpus.stats.moments import LagCounts
from specht.corpus.survey import SurveySettings, plan_survey, take_census

DATA = Path(os.environ.get("SPECHT_DATA", Path(__file__).parents[2] / "shared" / "data"))
TRAIN = DATA / "wikitext2" / "train.txt"
VOCAB, LENGTH = 1000, 128
SECONDS, MEGABYTES = 6.0, 400.0
TIMES = 10
RUNS = 3
"""Of which the quickest counts."""


def report(quick: bool) -> None:
    if not TRAIN.exists():
        print_line("skipped", reason=f"{TRAIN} is not there: set SPECHT_DATA to the folder of the corpora")
        return
    sketch = report_score()
    report_exact(sketch["score"])
    report_counts(sketch["cpu_seconds"])
    if not quick:
        with tempfile.TemporaryDirectory() as folder:
            large = Path(folder) / "large.txt"
            large.write_bytes(TRAIN.read_bytes() * TIMES)
            report_growth(large, sketch)
            report_cluster(large, Path(folder))


def report_score() -> dict[str, float]:
    """Text to score by sketches, reading twice and all."""
    found = min((in_a_process("sketch", TRAIN) for _ in range(RUNS)), key=lambda each: each["cpu_seconds"])
    met = {"score by sketch in 6 CPU s": found["cpu_seconds"] <= SECONDS, "within 400 MB": found["peak_megabytes"] <= MEGABYTES}
    print_line("score by sketch", **found, met=met)
    return found


def report_exact(by_sketch: float) -> None:
    found = in_a_process("exact", TRAIN)
    error = abs(by_sketch / found["score"] - 1.0)
    print_line("exact score", **found, error_of_the_sketch=error, met={"sketch within 1 %": error <= 0.01})


def report_counts(sketch_seconds: float) -> None:
    """Counting alone, and what it is compared with."""
    ids, symbols = wikitext_ids(), VOCAB + 1
    tables = in_a_process("tables", TRAIN)
    naive, floor = naive_seconds(ids, symbols), floor_seconds(len(ids))
    print_line("all lag tables", **tables)
    print_line("naive count of all windows", cpu_seconds=naive, over_the_score_by_sketch=naive / sketch_seconds, extrapolated=True)
    print_line("one update a pair", cpu_seconds=floor, score_by_sketch_over_it=sketch_seconds / floor)


def wikitext_ids() -> np.ndarray:
    corpus = open_corpus(TRAIN, tokens="wikitext")
    survey = plan_survey(corpus, SurveySettings(length=LENGTH, lengths=(), vocab=VOCAB), take_census(corpus, range(len(corpus.parts))))
    return np.concatenate([piece.ids for piece in survey.pieces(range(len(corpus.parts)))])


def naive_seconds(ids: np.ndarray, symbols: int, pairs: int = 40) -> float:
    """Every pair of positions in every sliding window, one table for all, from some of the pairs of positions."""
    rng, windows = np.random.default_rng(0), len(ids) - LENGTH + 1
    begin = time.process_time()
    for _ in range(pairs):
        first, second = np.sort(rng.choice(LENGTH, 2, replace=False))
        np.bincount(ids[first : first + windows] * symbols + ids[second : second + windows], minlength=symbols**2)
    return (time.process_time() - begin) * LENGTH * (LENGTH - 1) / 2 / pairs


def floor_seconds(tokens: int) -> float:
    """One update of a small table for each pair of tokens at each lag, as quickly as the machine does it."""
    cells = np.random.default_rng(0).integers(4096, size=2**14)
    begin, repeats = time.process_time(), 2000
    for _ in range(repeats):
        np.bincount(cells, minlength=4096)
    return (time.process_time() - begin) / (repeats * len(cells)) * tokens * (LENGTH - 1)


def report_growth(large: Path, small: dict[str, float]) -> None:
    """Ten times the corpus: ten times the time, the same memory."""
    found = in_a_process("sketch", large)
    time_ratio, memory_ratio = found["cpu_seconds"] / small["cpu_seconds"], found["peak_megabytes"] / small["peak_megabytes"]
    same = memory_ratio <= 1.10 and found["peak_megabytes"] <= MEGABYTES
    met = {"ten times the time": time_ratio <= 1.1 * TIMES, "the same memory": same}
    print_line("ten times the corpus", **found, time_ratio=time_ratio, memory_ratio=memory_ratio, met=met)


def report_cluster(large: Path, folder: Path) -> None:
    """The scores of the same corpus on Dask clusters of one and of two processes."""
    from specht.commands.symmetry.compute import Prepared

    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    corpus = open_corpus(large, tokens="wikitext")
    prepared, settings = [Prepared(corpus, corpus.fingerprint())], SurveySettings()
    seconds, found = {}, {}
    for processes in (1, 2, 1, 2):
        taken, found[processes] = on_cluster(prepared, settings, processes, folder / f"jobs-{processes}-{time.monotonic_ns()}")
        seconds[processes] = min(taken, seconds.get(processes, taken))
    apart = max(abs(found[1][0][name] - found[2][0][name]) for name in ("score", "low", "high", "distance", "direction", "rms"))
    met = {"1.6 times as fast": seconds[1] / seconds[2] >= 1.6, "the same numbers": apart <= 1e-10}
    print_line(
        "two processes", tokens=found[1][0]["n_tokens"], one=seconds[1], two=seconds[2], ratio=seconds[1] / seconds[2], apart=apart, met=met
    )


def on_cluster(prepared: list, settings: SurveySettings, processes: int, folder: Path) -> tuple[float, list]:
    from distributed import LocalCluster

    from specht.commands.symmetry.compute import run_symmetry
    from specht.lab.archive import Archive
    from specht.lab.executors import dask_cluster

    with LocalCluster(n_workers=processes, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        begin = time.perf_counter()
        found = run_symmetry(prepared, settings, False, Archive(folder), lambda: dask_cluster(cluster.scheduler_address))
        return time.perf_counter() - begin, found


def in_a_process(what: str, path: Path) -> dict[str, float]:
    """CPU seconds and peak memory of a process that does one thing."""
    lines = subprocess.run([sys.executable, __file__, "--case", what, str(path)], capture_output=True, text=True, check=True).stdout
    return json.loads(lines.splitlines()[-1])


def run_case(what: str, path: str) -> None:
    begin, value = time.process_time(), 0.0
    if what == "tables":
        corpus = open_corpus(path, tokens="wikitext")
        survey = plan_survey(corpus, SurveySettings(length=LENGTH, lengths=(), vocab=VOCAB), take_census(corpus, range(len(corpus.parts))))
        counts = LagCounts(LENGTH, VOCAB + 1)
        for segment in survey.segments(range(len(corpus.parts))):
            counts.update(segment)
        value = float(counts.pairs.sum())
    else:
        value = score(path, tokens="wikitext", length=LENGTH, vocab=VOCAB, how="sketch" if what == "sketch" else "exact").score
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000.0
    name = "pairs" if what == "tables" else "score"
    print(json.dumps({name: value, "cpu_seconds": seconds, "peak_megabytes": peak}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        run_case(*sys.argv[2:])
    else:
        raise SystemExit(run(report, __doc__))
