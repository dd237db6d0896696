"""Trained networks by what they are made of: which runs belong together, and what they have in common over their seeds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray

from specht.papers import common
from specht.papers.breaking_symmetry.invariance import is_invariant
from specht.papers.claims import Result, Results

TRAINED, BOUND = "trained", "bound"
"""What the two kinds of results hold."""


class Model(NamedTuple):
    """What a network is made of; runs that agree in it differ by their seed."""

    positions: str
    causal: bool
    depth: int
    residual: bool
    norm: str = "none"

    @property
    def is_invariant(self) -> bool:
        return is_invariant(self.positions, self.causal, self.depth)

    def __str__(self) -> str:
        words = [
            "no positions" if self.positions == "none" else f"{self.positions} positions",
            "causal" if self.causal else "no mask",
            f"{self.depth} layer{'s' * (self.depth > 1)}",
            *["no residual sums"] * (not self.residual),
            *[f"{self.norm}-norm"] * (self.norm != "none"),
        ]
        return ", ".join(words)


class Mean(NamedTuple):
    """Over seeds, with its standard error."""

    value: float
    stderr: float


def model_of(result: Result) -> Model:
    return Model(*(result.arguments[name] for name in Model._fields))


def models(results: Results, **arguments: Any) -> dict[Model, list[Result]]:
    """Runs of each model with the given arguments, in their order."""
    found: dict[Model, list[Result]] = {}
    for result in common.chosen(results, TRAINED, **arguments):
        found.setdefault(model_of(result), []).append(result)
    return found


def bound(results: Results) -> xarray.Dataset:
    """What predictors that ignore order can do at most."""
    (found,) = common.chosen(results, BOUND)
    return found.data


def over_seeds(results: Results, name: str) -> Mean:
    """The mean of a scalar over seeds.

    Its standard error comes from the spread between them; where a few of them lie closer together than the problems on which they were
    tested let one know, it comes from these.
    """
    values = common.column(results, name)
    known = common.column(results, f"{name}_stderr") if f"{name}_stderr" in results[0].data else np.zeros(len(values))
    return _mean(values, float(np.linalg.norm(known)) / len(values))


def difference(one: Mean, other: Mean) -> Mean:
    """Of two means over seeds of their own."""
    return Mean(one.value - other.value, float(np.hypot(one.stderr, other.stderr)))


def mean_of(values: np.ndarray) -> Mean:
    """The mean of numbers that differ by their seed."""
    return _mean(values, 0.0)


def _mean(values: np.ndarray, at_least: float) -> Mean:
    spread = float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return Mean(float(values.mean()), max(float(spread), at_least))


def told(mean: Mean, digits: int = 3) -> str:
    """A mean in words.

    >>> told(Mean(1.70312, 0.0044)), told(Mean(1.0, 0.0))
    ('1.703 ± 0.004', '1.000')
    """
    return f"{mean.value:.{digits}f}" + (f" ± {mean.stderr:.1g}" if mean.stderr > 0.0 else "")


def seeds(results: Results) -> str:
    """How many seeds models had, in words."""
    return f"{common.span([len(runs) for runs in models(results).values()])} seeds"
