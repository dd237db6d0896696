"""Results of `specht threshold` made up in no time, for tests of its page."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import xarray

from specht.commands.threshold import ThresholdConfig
from specht.commands.threshold.compute import summary_of
from specht.trees import facts, tree


def found(m: float, state: str = "found"):
    numbers = {"m": m, "low": 0.9 * m, "high": 1.1 * m, "log_stderr": 0.05, "curve_width": 0.2, "lapse": 0.05}
    numbers |= {"reached": float(state != "not reached")}
    batches = {"size": [0.8 * m, 1.2 * m], "successes": [3.0, 8.0], "runs": [20.0, 9.0], "accuracy": [0.9, 1.0], "identified": [1.0, 1.0]}
    fields = {name: ((), value) for name, value in numbers.items()} | {name: ("batch", np.array(v)) for name, v in batches.items()}
    return xarray.Dataset(fields, coords={"what": "threshold", "state": state})


def tree_of(sizes: dict[str, list[tuple[int, float, str]]], **changes: Any) -> xarray.DataTree:
    lengths = tuple(sorted({length for each in sizes.values() for length, _, _ in each}))
    config = ThresholdConfig(function="and", lengths=lengths, learners=tuple(sizes), **changes)
    return tree(summary_of(config, {(name, length): found(m, state) for name, each in sizes.items() for length, m, state in each}))


def result_of(sizes: dict[str, list[tuple[int, float, str]]], **changes: Any) -> SimpleNamespace:
    return facts(tree_of(sizes, **changes))


BOTH = {
    "transformer": [(25, 31.0, "found"), (50, 42.0, "found"), (100, 53.0, "found"), (200, 64.0, "found")],
    "perceptron-ntk": [(25, 125.0, "found"), (50, 250.0, "found"), (100, 500.0, "found"), (200, 900.0, "not reached")],
}
