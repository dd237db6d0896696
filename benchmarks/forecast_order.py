"""Does order matter, and how much: what a forecast says, beside what shuffled tokens cost models that are trained.

    python benchmarks/forecast_order.py measure validation FOLDER > order.jsonl        # one to two minutes of CPU time a table
    python benchmarks/forecast_order.py measure train FOLDER --tables trec stability >> order.jsonl
    python benchmarks/forecast_order.py judge order.jsonl                              # whether forecasts meet their targets

FOLDER holds tables as for `forecast.py`. Of every table `--rows` rows are forecast by exact inference alone (`bag`, `mean`, `positions`,
`local`), and once more with their tokens shuffled beforehand, where the verdict has to be no. What order is worth is measured apart: a
transformer and logistic regression of n-grams (ridge regression for numbers) are trained on four fifths of the same rows and tested on
other rows, as they are and with the tokens of all rows shuffled; every seed has its own training rows, shuffles and test rows. The cost is
accuracy lost, or for numbers error gained in units of the label variance. The judge is the trained model with the smaller error on rows as
they are.

The targets were fixed before anything was measured. `sign`: the verdict is yes wherever the cost is more than `CLEAR` standard errors above
zero. `size`: there, the size that is stated over the cost is `WITHIN`; it holds or fails where the errors of both leave no doubt at 90 %,
and is undecided elsewhere. `null`: the verdict on shuffled tables is no. The exit code is 1 when a target is missed.
"""

from common import MISSED, print_line  # isort: skip -- first, because it sets the number of threads

import argparse
import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from forecast import tables_of
from scipy import special

from specht.forecasts import SequenceTable, choose_learners
from specht.forecasts.forecast import ForecastSettings, forecast_table
from specht.forecasts.learners.learner import accuracy, squared_error
from specht.forecasts.subsets import label_variance
from specht.forecasts.verdicts import OrderVerdict

QUICK, BUDGET = ("bag", "mean", "positions", "local"), 30.0
"""Learners of the forecast, and its seconds."""
TRAINED = ("transformer", "ngrams")
ROWS, SEEDS, TEST_ROWS = 600, 4, 2000
CLEAR, WITHIN, CONFIDENCE = 2.0, (0.5, 1.5), 0.9


def measured(table: SequenceTable, rows: int, seeds: int) -> dict[str, Any]:
    """What a forecast says of some rows of a table, of the same rows shuffled, and what trained models lose."""
    some = np.random.default_rng([rows, 2]).permutation(len(table))[: rows + TEST_ROWS]
    own, others = table.take(some[:rows]), table.take(some[rows:])
    return {
        "rows": rows,
        "said": said(own),
        "null": said(with_shuffled_tokens(own, np.random.default_rng(3))),
        "trained": {name: [outcome(name, own, others, seed, seeds) for seed in range(seeds)] for name in TRAINED},
    }


def said(own: SequenceTable) -> dict[str, Any]:
    """The verdict of a forecast with its size."""
    begun = time.process_time()
    order = forecast_table(own, choose_learners(QUICK, own), ForecastSettings(budget=BUDGET, confidence=CONFIDENCE)).order
    assert order is not None
    return dataclasses.asdict(order) | {"seconds": time.process_time() - begun}


def outcome(name: str, own: SequenceTable, others: SequenceTable, seed: int, seeds: int) -> dict[str, float]:
    """Errors and accuracies of one trained model, on rows as they are and on shuffled ones."""
    rng = np.random.default_rng([seed, 4])
    train = own.take(np.sort(rng.permutation(len(own))[: len(own) * 4 // 5]))
    test = others.take(np.arange(seed, len(others), seeds))
    learner = choose_learners([name], own)[0]
    values = {}
    for how, rows, judged in (("", train, test), ("_shuffled", *(with_shuffled_tokens(part, rng) for part in (train, test)))):
        outputs = learner.predict(rows, judged, seed)
        values[f"error{how}"] = squared_error(judged.labels, outputs, label_variance(own.labels))
        values[f"accuracy{how}"] = accuracy(judged.labels, outputs)
    return values


def with_shuffled_tokens(table: SequenceTable, rng: np.random.Generator) -> SequenceTable:
    """Every row with its real tokens in random order."""
    tokens = table.tokens.copy()
    for row, real in zip(tokens, table.mask, strict=True):
        row[real] = rng.permutation(row[real])
    return dataclasses.replace(table, tokens=tokens)


def cost_of(seeds: list[dict[str, float]], is_accuracy: bool) -> dict[str, float]:
    """What shuffling costs a trained model, with its standard error over seeds, and its error on rows as they are."""
    values = {name: np.array([one[name] for one in seeds], dtype=float) for name in seeds[0]}
    lost = values["accuracy"] - values["accuracy_shuffled"] if is_accuracy else values["error_shuffled"] - values["error"]
    now = 1.0 - values["accuracy"] if is_accuracy else values["error"]
    gained = values["error_shuffled"] - values["error"]
    both = {"cost": lost, "error_gained": gained}
    stated = {name: float(some.mean()) for name, some in both.items()}
    errors = {f"{name}_stderr": float(some.std(ddof=1) / np.sqrt(len(some))) for name, some in both.items()}
    return {"now": float(now.mean())} | stated | errors


def size_agrees(size: float, stderr: float, cost: float, cost_stderr: float) -> str:
    """Whether a size is the cost within the bounds: holds, fails or undecided.

    >>> size_agrees(0.1, 0.01, 0.1, 0.01), size_agrees(0.1, 0.01, 0.3, 0.01), size_agrees(0.1, 0.01, 0.19, 0.01)
    ('holds', 'fails', 'undecided')
    """
    reach = float(special.ndtri((1.0 + CONFIDENCE) / 2.0))
    low, high = ((size - bound * cost) / np.hypot(stderr, bound * cost_stderr) for bound in WITHIN)
    if low >= reach and high <= -reach:
        return "holds"
    return "fails" if low <= -reach or high >= reach else "undecided"


def judged(line: dict[str, Any]) -> dict[str, Any]:
    """One table: the verdict beside the costs, and what of it meets its target."""
    said, null = OrderVerdict(**_without(line["said"])), OrderVerdict(**_without(line["null"]))
    costs = {name: cost_of(seeds, said.is_accuracy) for name, seeds in line["trained"].items()}
    judge = min(costs, key=lambda name: costs[name]["now"])
    cost, stderr = costs[judge]["cost"], costs[judge]["cost_stderr"]
    size_stderr = (said.high - said.low) / 2.0 / float(special.ndtri((1.0 + CONFIDENCE) / 2.0))
    clear = cost > CLEAR * stderr
    return {
        "table": line["table"], "rows": line["rows"], "unit": "accuracy" if said.is_accuracy else "error",
        "by": said.measured_by, "left_with": said.left_with, "verdict": said.verdict, "size": said.value,
        "low": said.low, "high": said.high, "seconds": line["said"]["seconds"],
        "judge": judge, "costs": costs, "clear": clear,
        "ratio": said.value / cost if clear else None,
        "sign": said.verdict == "yes" if clear else None,
        "size_agrees": size_agrees(said.value, size_stderr, cost, stderr) if clear else None,
        "null": null.verdict,
    }  # fmt: skip


def _without(verdict: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in verdict.items() if name != "seconds"}


def summarise(lines: list[dict[str, Any]]) -> None:
    tables = [judged(line) for line in lines]
    for table in tables:
        print_line("forecast_order", **table)
    clear = [table for table in tables if table["clear"]]
    sizes = [table["size_agrees"] for table in clear]
    counts = {word: sizes.count(word) for word in ("holds", "undecided", "fails")}
    met = {
        "sign": all(table["sign"] for table in clear),
        "size": counts["fails"] == 0,
        "null": all(table["null"] == "no" for table in tables),
    }
    within = sum(WITHIN[0] <= table["ratio"] <= WITHIN[1] for table in clear)
    print_line("forecast_order", tables=len(tables), clear=len(clear), ratios_within=within, sizes=counts, met=met)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = parser.add_subparsers(dest="what", required=True)
    measuring = tasks.add_parser("measure")
    measuring.add_argument("part", choices=("train", "validation", "test"))
    measuring.add_argument("folder", type=Path)
    measuring.add_argument("--tables", nargs="+", help="some of the part")
    measuring.add_argument("--rows", type=int, default=ROWS)
    measuring.add_argument("--seeds", type=int, default=SEEDS, help="trainings of every model")
    tasks.add_parser("judge").add_argument("files", type=Path, nargs="+")
    chosen = parser.parse_args()
    if chosen.what == "judge":
        summarise([json.loads(text) for path in chosen.files for text in path.read_text().splitlines()])
        return 1 if MISSED else 0
    for name, table in tables_of(chosen.part, chosen.folder):
        if chosen.tables is None or name in chosen.tables:
            print(json.dumps({"table": name} | measured(table, chosen.rows, chosen.seeds)), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
