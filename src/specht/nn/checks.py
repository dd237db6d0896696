"""What `train` asks of its arguments before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from specht.errors import InputError
from specht.memory import available_memory


def listed(name: str, values: Any, default: Any) -> list[Any]:
    """Several numbers, or what they are unless given."""
    if values is None:
        return [default]
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name} must be a list of numbers, got {values!r}.")
    values = list(values)
    if not values:
        raise InputError(f"{name} is empty: give at least one.")
    return values


def check_memory(runs: int, chunk: int, numbers: int, seeds_share: int) -> None:
    """Finished models of all runs, and for those at work parameters, gradients, moments and copies of them."""
    needed, free = 4 * numbers * (runs + 8 * chunk), available_memory()
    if free is not None and needed > 0.8 * free:
        fit = max(1, int(0.5 * free / (4 * numbers * seeds_share)))
        raise InputError(
            f"{runs} trained networks of {numbers} numbers each need {needed / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are free: "
            f"train about {fit} seeds at a time, or smaller networks."
        )
