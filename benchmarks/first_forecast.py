"""How soon a forecast answers, beside scikit-learn's learning curve of n-gram logistic regression on as many subsets.

    python benchmarks/first_forecast.py            # 2000 rows of 50 tokens
    python benchmarks/first_forecast.py --quick    # 500 rows
    python benchmarks/first_forecast.py --shapes   # whether tables of other shapes keep to their budget; --only NAME for one of them

The table is made here: questions of six kinds, told by their last word and by a word somewhere. `first` and `all` are CPU seconds until the
first answer and until the last one with the default budget, compiled programs included; `learning_curve` are those of scikit-learn with the
same sizes and folds, for one learner, one strength and no forecast. `of_ours` is what that learner takes here, which also chooses its
strength. Prints one JSON object; `met` says whether the first answer came within 20 seconds, and the exit code is 1 if not.

With `--shapes` one object a table: `expected_over_spent` is the time that was stated beforehand over what it took, `cpu_over_budget` the
CPU time of everything, programs and reading included, over the budget, and `estimate_over_actual` has the same for every learner by its own
estimate, before it was rescaled. `memory` is the peak of the resident set in bytes.
"""

from __future__ import annotations

from common import MISSED, print_line, resident  # isort: skip -- first, because it sets the number of threads

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import learning_curve
from sklearn.pipeline import make_pipeline

from specht.forecasts import ForecastSettings, TableOptions, choose_learners, forecast_table, read_table
from specht.forecasts.forecast import Forecast
from specht.forecasts.subsets import FOLDS, subset_sizes

TARGET = 20.0


BUDGET = 120.0
LONGEST = 1.25
"""Times its budget that a forecast may take, and one measurement more."""
SHAPES: dict[str, dict[str, Any]] = {
    "2000 x 50": {"rows": 2000},
    "20000 x 500": {"rows": 20000, "columns": 500, "words": 2000},
    "50000 x 30, 2000 tokens": {"rows": 50000, "columns": 30, "words": 2000, "classes": 4},
    "50 classes": {"rows": 5000, "columns": 40, "words": 1000, "classes": 50},
    "1 row in 200": {"rows": 5000, "columns": 40, "words": 1000, "classes": 2, "rare": 1 / 201},
    "numbers": {"rows": 20000, "columns": 100, "words": 2000, "numbers": True},
}


def table_of(
    rows: int, columns: int = 50, words: int = 600, classes: int = 6, *, rare: float | None = None, numbers: bool = False
) -> tuple[list[str], list[Any]]:
    """Questions whose words have the frequencies of a language, and the kind of each, one in ten of them at random.

    Arguments:
        rare: share of the second of two kinds.
        numbers: the kinds are numbers with noise.
    """
    rng = np.random.default_rng(0)
    frequencies, shares = 1.0 / np.arange(2, words + 2), None if rare is None else [1.0 - rare, rare]
    questions = rng.choice(words, size=(rows, columns), p=frequencies / frequencies.sum())
    kinds, others = (rng.choice(classes, size=rows, p=shares) for _ in range(2))
    questions[:, -1] = kinds // 2  # the last word tells pairs of kinds, a topic the two of a pair
    questions[np.arange(rows), rng.integers(columns - 1, size=rows)] = 30 + kinds % 2
    names = np.array([f"word{word}" for word in range(words)])
    texts, said = [" ".join(names[question]) for question in questions], np.where(rng.random(rows) < 0.9, kinds, others)
    return texts, (said + rng.standard_normal(rows)).tolist() if numbers else [f"kind {kind}" for kind in said]


def shape_report(name: str) -> None:
    texts, kinds = table_of(**SHAPES[name])
    Path("/proc/self/clear_refs").write_text("5")  # the peak of the memory starts anew
    begun = time.process_time()
    table = read_table(texts, kinds, options=TableOptions(max_length=500))
    learners = {learner.name: learner for learner in choose_learners(None, table)}
    forecast = forecast_table(table, list(learners.values()), ForecastSettings(budget=BUDGET))
    whole, longest = time.process_time() - begun, 0.0
    ratios = {}
    for one in forecast.learners:
        measured = one.error.measured
        actual = one.seconds / measured.error.shape[1]
        ratios[one.name] = sum(learners[one.name].cost(int(n)) for n in measured.n_train) / actual
        longest = max(longest, actual)
    print_line(
        "forecast within a budget",
        shape=name,
        budget=BUDGET,
        expected=forecast.cost.expected,
        spent=forecast.cost.spent,
        expected_over_spent=forecast.cost.expected / forecast.cost.spent,
        cpu_over_budget=whole / BUDGET,
        estimate_over_actual=ratios,
        longest=longest,
        memory=resident("VmHWM"),
        left_out=list(forecast.left_out),
        best=forecast.best.name,
        met={f"ends within {LONGEST:g} budgets and one measurement": whole <= LONGEST * BUDGET + longest},
    )


def report(rows: int) -> None:
    texts, kinds = table_of(rows)
    begun = time.process_time()
    seen: list[tuple[float, Forecast]] = []
    table = read_table(texts, kinds)
    settings = ForecastSettings()
    last = forecast_table(
        table, choose_learners(None, table), settings, first=lambda forecast: seen.append((time.process_time() - begun, forecast))
    )
    whole = time.process_time() - begun
    first, early = seen[0]

    begun = time.process_time()
    pipeline = make_pipeline(TfidfVectorizer(token_pattern=r"\S+", ngram_range=(1, 3)), LogisticRegression(max_iter=500))
    _, _, scores = learning_curve(pipeline, texts, kinds, train_sizes=subset_sizes(rows), cv=FOLDS, shuffle=True, random_state=0)
    theirs = time.process_time() - begun
    print_line(
        "first forecast",
        rows=rows,
        first=first,
        all=whole,
        learning_curve=theirs,
        first_over_learning_curve=first / theirs,
        of_ours={one.name: one.seconds for one in last.learners},
        accuracy={"first": 1.0 - early.best.now(), "all": 1.0 - last.best.now(), "learning_curve": float(np.mean(scores[-1]))},
        met={"first answer within 20 s": first <= TARGET},
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="500 rows")
    parser.add_argument("--shapes", action="store_true", help="other tables instead")
    parser.add_argument("--only", choices=list(SHAPES), help="one of these")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if options.shapes or options.only:
        for name in [options.only] if options.only else SHAPES:
            shape_report(name)
    else:
        report(500 if options.quick else 2000)
    return 1 if MISSED else 0


if __name__ == "__main__":
    raise SystemExit(main())
