"""The job of `specht threshold` and of papers that search thresholds: one search, and what it says in a few words."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from specht.studies import sparse

MEASURE = "specht.lab.threshold_job:measure_threshold"


def measure_threshold(
    table: str, length: int, learner: str, search: dict[str, Any], training: dict[str, Any], accuracy: float, validation: int, seed: int
) -> xarray.Dataset:
    """One threshold: where it lies, and every batch of trials that says so."""
    task = sparse.SparseTask(sparse.sparse_function(table), length, accuracy, validation, seed)
    student = sparse.learner(learner, task, **_training(learner, **training))
    trials_by_batch: list[list[Any]] = []

    def count_successes(m: int, numbers: range) -> int:
        trials_by_batch.append([student.try_once(m, number) for number in numbers])
        return sum(trial.success for trial in trials_by_batch[-1])

    threshold = sparse.find_threshold(count_successes, sparse.Search(**search))
    numbers = {name: float(getattr(threshold, name)) for name in ("m", "low", "high", "log_stderr", "curve_width", "lapse", "reached")}
    batches = {
        "size": [float(batch.m) for batch in threshold.batches],
        "successes": [float(batch.successes) for batch in threshold.batches],
        "runs": [float(sum(trial.runs for trial in trials)) for trials in trials_by_batch],
        "accuracy": [float(np.mean([trial.accuracy for trial in trials])) for trials in trials_by_batch],
        "identified": [float(np.mean([trial.identified for trial in trials])) for trials in trials_by_batch],
    }
    return xarray.Dataset(
        {name: ((), value) for name, value in numbers.items()} | {name: ("batch", values) for name, values in batches.items()},
        coords={"what": "threshold", "state": threshold.state},
    )


def _training(learner: str, steps: int = 125, restarts: int = 3, learning_rate: float = 1e-3) -> dict[str, Any]:
    """How a learner is trained, if it is a network."""
    if learner not in sparse.NETWORKS:
        return {}
    return {"schooling": sparse.Schooling(steps=steps, every=min(25, steps), learning_rate=learning_rate), "restarts": restarts}


def describe_threshold(data: xarray.Dataset, smallest: int, largest: int) -> str:
    """A threshold in a few words."""
    state = data["state"].item()
    if state == "not reached":
        return f"not reached by m = {largest}"
    if state == "below":
        return f"reached by m = {smallest} already"
    middle, low, high = (count(float(data[name])) for name in ("m", "low", "high"))
    return f"{middle} ({low} to {high})"


def count(samples: float) -> str:
    """A number of samples, in three digits or more.

    >>> count(31.26), count(1221.3)
    ('31.3', '1221')
    """
    return f"{samples:.3g}" if samples < 1000 else f"{samples:.0f}"
