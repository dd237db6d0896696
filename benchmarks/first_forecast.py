"""How soon a forecast answers, beside scikit-learn's learning curve of n-gram logistic regression on as many subsets.

    python benchmarks/first_forecast.py            # 2000 rows of 50 tokens
    python benchmarks/first_forecast.py --quick    # 500 rows

The table is made here: six kinds of questions, told by their last word and by a word somewhere. `first` and `all` are CPU seconds until the
first answer and until the last one with the default budget, compiled programs included; `learning_curve` are those of scikit-learn with the
same sizes and folds, for one learner, one strength and no forecast. `of_ours` is what that learner takes here, which also chooses its
strength. Prints one JSON object; `met` says whether the first answer came within 20 seconds, and the exit code is 1 if not.
"""

from __future__ import annotations

from common import MISSED, print_line  # isort: skip -- first, because it sets the number of threads

import argparse
import os
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import learning_curve
from sklearn.pipeline import make_pipeline

from specht.forecasts import ForecastSettings, choose_learners, forecast_table, read_table
from specht.forecasts.forecast import Forecast
from specht.forecasts.subsets import FOLDS, subset_sizes

TARGET = 20.0


def table_of(rows: int, words: int = 600) -> tuple[list[str], list[str]]:
    """Questions of 50 words with the frequencies of a language, and the kind of each."""
    rng = np.random.default_rng(0)
    frequencies = 1.0 / np.arange(2, words + 2)
    texts, kinds = [], []
    for _ in range(rows):
        question = rng.choice(words, size=50, p=frequencies / frequencies.sum())
        kind = rng.integers(6)
        question[-1] = kind // 2  # the last word tells three pairs of kinds, a topic the two of a pair
        question[rng.integers(49)] = 10 + kind % 2
        texts.append(" ".join(f"word{word}" for word in question))
        kinds.append(f"kind {kind if rng.random() < 0.9 else rng.integers(6)}")
    return texts, kinds


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
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    report(500 if options.quick else 2000)
    return 1 if MISSED else 0


if __name__ == "__main__":
    raise SystemExit(main())
