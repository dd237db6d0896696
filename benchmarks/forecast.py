"""Forecasts on real tables whose outcome is known: from N rows to 4 N, beside the laws that people continue curves with now.

    python benchmarks/forecast.py measure test FOLDER > test.jsonl       # what there is to forecast, and what came of it
    python benchmarks/forecast.py measure test FOLDER --part-of 0 2      # every second table, in one of two processes
    python benchmarks/forecast.py measure test FOLDER --rows 250 500     # what docs/howto/own_data.md shows; 1000 rows take hours
    python benchmarks/forecast.py judge test.jsonl                       # forecasts, and whether they meet their targets

FOLDER holds the tables that `python benchmarks/tables.py make` builds; train, validation and test are its split, and train's are in
../shared/data/tables. Every draw takes N rows at random and measures a learner on nested subsets of them; then the same learner is trained
on 4 N rows, those N among them, and tested on up to 2000 others. Forecasts and laws see the measured points alone. `miss` is
log(truth / forecast) of the error: mean squared error, or for `rate` the share of wrong rows. `score` is the interval score of the
logarithm (smaller is better). A draw without a wrong row in its test is left out. The exit code is 1 when a target is missed.
"""

from common import MISSED, print_line  # isort: skip -- first, because it sets the number of threads

import argparse
import json
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from specht.forecasts import SequenceTable, TableOptions, choose_learners, read_table
from specht.forecasts.curves import MeasuredErrors, band, measured_error_rates, measured_errors
from specht.forecasts.laws import LAWS, extrapolate_law
from specht.forecasts.learners.learner import Learner, PreparedLearner, accuracy, squared_error
from specht.forecasts.shapes import KnownCurve, learned_shapes
from specht.forecasts.subsets import SplitErrors, label_variance, measure_split, nested_splits, subset_sizes
from specht.stats import interval_score

LEARNERS = {250: ("bag", "local"), 500: ("bag", "local"), 1000: ("local",)}
"""By number of rows: quick ones, without order and with it; exact inference from 4000 rows takes a minute."""
TIMES, DRAWS, TEST_ROWS = 4, 5, 2000
REPEATS, CONFIDENCE = 5, 0.9
CURVES = ("n_train", "error", "accuracy", "row_variance")
JUDGES = ("power", "pow4", "mmf4")
"""Laws that the forecast has to beat."""
BETTER, BIAS, HELD = 0.8, 0.05, (0.85, 0.95)


def tables_of(part: str, folder: Path) -> Iterator[tuple[str, SequenceTable]]:
    catalogue = tomllib.loads(Path(__file__).with_name("tables.toml").read_text())
    for name in sorted(catalogue["split"][part]):
        what = catalogue["tables"].get(name, {}).get("what", {})
        options = TableOptions(task=what.get("task", "auto"), tokens=what.get("tokens", "auto"))
        yield name, read_table(folder / f"{name}.csv", "label", "text", options)


def draws_of(table: SequenceTable, sizes: list[int], draws: int) -> Iterator[dict[str, Any]]:
    """What is measured on N rows of one table, and the truth at 4 N."""
    for rows in sizes:
        if len(table) < TIMES * rows + 300:
            continue
        for draw in range(draws):
            order = np.random.default_rng([draw, rows]).permutation(len(table))[: TIMES * rows + TEST_ROWS]
            own, whole = table.take(order[:rows]), table.take(order)
            for learner in choose_learners(LEARNERS[rows], own):
                yield {"rows": rows, "draw": draw, "learner": learner.name} | outcome(learner, own, whole, draw)


def outcome(learner: Learner, own: SequenceTable, whole: SequenceTable, draw: int) -> dict[str, Any]:
    """Errors on subsets of the own rows, and from all training rows of the whole."""
    rows = len(own)
    splits = [measure_split(learner, own, split, subset_sizes(rows), draw) for split in nested_splits(rows, REPEATS, draw)]
    train, judged = np.arange(TIMES * rows), whole.take(np.arange(TIMES * rows, len(whole)))
    if isinstance(learner, PreparedLearner):
        learner.prepare(whole, train, draw)
    outputs = learner.predict(whole.take(train), judged, draw)
    error = squared_error(judged.labels, outputs, label_variance(own.labels))
    measured = [{name: getattr(split, name).tolist() for name in CURVES} for split in splits]
    return {"splits": measured, "error": error, "rate": 1.0 - accuracy(judged.labels, outputs), "tested": len(judged)}


def measured_of(line: dict[str, Any]) -> Iterator[tuple[str, MeasuredErrors, float]]:
    """What was measured, and the truth, of the error and for classes of the share of wrong rows."""
    arrays = [{name: np.array(values, dtype=float) for name, values in split.items()} for split in line["splits"]]
    splits = [SplitErrors(**curves, seconds=0.0, last_errors=np.empty(0), last_right=np.empty(0)) for curves in arrays]
    yield "error", measured_errors(splits, line["rows"]), line["error"]
    if line["rate"] * line["tested"] >= 0.5:
        yield "rate", measured_error_rates(splits, line["rows"]), line["rate"]


def known_curves(line: dict[str, Any]) -> Iterator[KnownCurve]:
    """For learning: the beginning and the point at 4 N, whose stated error is that of the rows that judge the beginning and are shared."""
    for _, measured, truth in measured_of(line):
        yield KnownCurve(measured.curve(), float(TIMES * line["rows"]), truth, measured.shared * truth)


def judged(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The forecast of the error and, for classes, of the share of wrong rows."""
    about = {name: line[name] for name in ("table", "rows", "draw", "learner")}
    for measure, measured, truth in measured_of(line):
        yield about | {"measure": measure} | continued(measured, line["rows"], truth, line["draw"])


def continued(measured: MeasuredErrors, rows: int, truth: float, draw: int) -> dict[str, Any]:
    """How far the forecast and every law miss the truth, whether intervals hold, and their scores."""
    at = np.array([float(TIMES * rows)])
    ahead = band(learned_shapes().forecast(measured.curve(), measured.shared), at, CONFIDENCE)
    bands = {"forecast": (ahead.value, ahead.low, ahead.high)}
    for name in LAWS:
        rng = np.random.default_rng(draw)
        bands[name] = extrapolate_law(name, measured.curve(), at, shared=measured.shared, confidence=CONFIDENCE, rng=rng)
    line: dict[str, Any] = {"truth": truth, "now": float(measured.mean[-1])}
    for name, (value, low, high) in bands.items():
        logs = np.log(np.maximum([value[0], low[0], high[0]], 1e-4))
        score = float(interval_score(logs[1], logs[2], np.log(truth), CONFIDENCE))
        line[name] = {"miss": float(np.log(truth) - logs[0]), "held": bool(low[0] <= truth <= high[0]), "score": score}
    return line


def summarise(lines: list[dict[str, Any]]) -> None:
    """Every way over all draws, and whether the forecast meets its targets."""
    for measure in ("error", "rate"):
        some = [line for line in lines if line["measure"] == measure]
        values: dict[str, Any] = {}
        for name in ("forecast", *LAWS):
            misses = np.array([line[name]["miss"] for line in some])
            values[name] = {
                "bias": float(misses.mean()),
                "rms": float(np.sqrt(np.mean(misses**2))),
                "median": float(np.median(np.abs(misses))),
                "held": float(np.mean([line[name]["held"] for line in some])),
                "score": float(np.mean([line[name]["score"] for line in some])),
            }
        own, laws = values["forecast"], [values[name] for name in JUDGES]
        met = {
            "rms": own["rms"] <= BETTER * min(law["rms"] for law in laws),
            "bias": abs(own["bias"]) <= BIAS,
            "held": HELD[0] <= own["held"] <= HELD[1],
            "score": own["score"] < min(law["score"] for law in laws),
        }
        tables = len({line["table"] for line in some})
        print_line("forecast", measure=measure, tables=tables, draws=len(some), **values, met=met)
        by_table: dict[str, list[float]] = defaultdict(list)
        for line in some:
            by_table[line["table"]].append(line["forecast"]["miss"])
        print_line("forecast", measure=measure, bias_by_table={name: float(np.mean(misses)) for name, misses in by_table.items()})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = parser.add_subparsers(dest="what", required=True)
    measuring = tasks.add_parser("measure")
    measuring.add_argument("part", choices=("train", "validation", "test"))
    measuring.add_argument("folder", type=Path)
    measuring.add_argument("--part-of", type=int, nargs=2, default=(0, 1), metavar=("NUMBER", "OF"), dest="share")
    measuring.add_argument("--rows", type=int, nargs="+", choices=LEARNERS, default=list(LEARNERS), help="numbers of rows to begin with")
    measuring.add_argument("--draws", type=int, default=DRAWS)
    tasks.add_parser("judge").add_argument("files", type=Path, nargs="+")
    chosen = parser.parse_args()
    if chosen.what == "judge":
        lines = [json.loads(text) for path in chosen.files for text in path.read_text().splitlines()]
        summarise([outcome for line in lines for outcome in judged(line)])
        return 1 if MISSED else 0
    number, of = chosen.share
    for place, (name, table) in enumerate(tables_of(chosen.part, chosen.folder)):
        if place % of == number:
            for line in draws_of(table, chosen.rows, chosen.draws):
                print(json.dumps({"table": name} | line), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
