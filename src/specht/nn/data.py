"""What networks are trained and tested on: fixed datasets, or fresh samples for every step."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from specht.checks import finite_number
from specht.errors import InputError, explains_calls
from specht.nn.network import Network
from specht.nn.recipe import check_labels
from specht.sequences import check_tokens, input_array

Draw = Callable[[np.random.Generator, int], tuple[Any, Any]]
"""From a generator and a number n to n inputs (n, ...) and labels (n, columns)."""
EVALUATED_TOGETHER = 256
"""Samples whose losses are computed at once: enough to keep the processor busy, few enough for its cache."""


@dataclasses.dataclass(frozen=True, eq=False)
class Fixed:
    """A dataset, or several of one size along a first axis."""

    x: Any
    """Inputs (n, columns), tokens for a transformer; or (datasets, n, columns)."""
    y: Any
    """Labels (n,), (n, outputs) or (datasets, n, outputs); what they may be depends on the loss."""

    def checked(self, loss: str, name: str = "data") -> Fixed:
        """Add a first axis of datasets, and turn arrays into the types that training reads."""
        unequal = f"{name}.x has rows of unequal length: give inputs of one length."
        x, y = input_array(self.x, f"{name}.x", unequal), check_labels(loss, self.y, f"{name}.y")
        y = y[:, None] if y.ndim == 1 else y
        if x.ndim not in (2, 3):
            raise InputError(f"{name}.x must be (n, columns) or (datasets, n, columns), got an array of shape {x.shape}.")
        x, y = x[None] if x.ndim == 2 else x, y[None] if y.ndim == 2 else y
        if x.size == 0:
            raise InputError(f"{name}.x is empty (shape {x.shape}): give at least one sample.")
        if x.dtype.kind == "f" and not np.isfinite(x).all():
            raise InputError(f"{name}.x holds NaN or infinity: leave out such samples.")
        if x.dtype.kind not in "fiu":
            raise InputError(f"{name}.x has dtype {x.dtype}: give whole numbers (tokens) or floating-point numbers.")
        if x.shape[:2] != y.shape[:2]:
            raise InputError(f"{name}.x has {x.shape[:-1]} samples and {name}.y has {y.shape[:-1]}: give each input one label.")
        return Fixed(x.astype(np.float32 if x.dtype.kind == "f" else np.int32, copy=False), y)

    @property
    def datasets(self) -> int:
        """Number of datasets; call it on checked data."""
        return self.x.shape[0]

    @property
    def n(self) -> int:
        return self.x.shape[1]


# Here, and not above the class: the checks of types that tests switch on go on top of its decorators.
explains_calls(Fixed)


def check_model_inputs(model: Any, x: np.ndarray, name: str) -> None:
    """Tokens that a transformer does not know would be taken for others without a word."""
    if isinstance(model, Network):
        check_tokens(model.arch, x.reshape(-1, x.shape[-1]), name)


def check_posterior(x: Any, y: Any, at: Any, noise: Any) -> tuple[Fixed, np.ndarray, float]:
    """What a posterior is sampled for: one dataset, inputs (M, columns) at which functions are kept, and the noise of labels."""
    noise = finite_number("noise (a variance)", noise, above=0.0)
    data, inputs = Fixed(x, y).checked("mse"), input_array(at, "at")
    if data.datasets != 1:
        raise InputError(f"x holds {data.datasets} datasets: sample the posterior of one at a time.")
    if inputs.ndim != 2 or inputs.size == 0 or inputs.shape[1] != data.x.shape[-1]:
        raise InputError(f"at must be inputs with {data.x.shape[-1]} columns, one a row, got an array of shape {inputs.shape}.")
    if inputs.dtype.kind == "f" and not np.isfinite(inputs).all():
        raise InputError("at holds NaN or infinity: leave out such inputs.")
    return data, inputs, noise


def check_posterior_model(model: Any, data: Fixed, at: np.ndarray) -> None:
    """Refuse a model that has no posterior, or does not know the tokens."""
    if isinstance(model, Network) and model.arch.positions == "stochastic":
        raise InputError("Stochastic positions are drawn anew for every sequence, so these networks have no posterior: take others.")
    check_model_inputs(model, data.x, "x")
    check_model_inputs(model, at, "at")


@dataclasses.dataclass(frozen=True, eq=False)
class Fresh:
    """New samples for every step."""

    draw: Draw

    def block(self, seed: int, number: int, steps: int, batch: int, loss: str) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and labels (steps, batch, ...) of one block of steps; the same seed and number give the same."""
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        drawn = Fixed(*self.draw(rng, steps * batch)).checked(loss, "A fresh sample")
        if drawn.n != steps * batch:
            raise InputError(f"draw was asked for {steps * batch} samples and gave {drawn.n}: return as many as asked for.")
        return drawn.x[0].reshape(steps, batch, -1), drawn.y[0].reshape(steps, batch, -1)


# Here, and not above the class: the checks of types that tests switch on go on top of its decorators.
explains_calls(Fresh)


class SampleBlocks(NamedTuple):
    """Samples in blocks that are evaluated one after the other; the last is filled up with copies that do not count."""

    x: Any
    """(blocks, size, ...)."""
    y: Any
    """(blocks, size, columns)."""
    counts: Any
    """(blocks, size), False for the copies."""


def in_blocks(x: np.ndarray, y: np.ndarray, size: int = EVALUATED_TOGETHER) -> SampleBlocks:
    """Samples (n, ...) and labels (n, _) in blocks of one size.

    >>> in_blocks(np.zeros((5, 3)), np.zeros((5, 1)), size=4).counts.astype(int).tolist()
    [[1, 1, 1, 1], [1, 0, 0, 0]]
    """
    size = min(size, len(x))
    blocks = -(-len(x) // size)
    rows = np.arange(blocks * size).reshape(blocks, size)
    inside = np.minimum(rows, len(x) - 1)
    return SampleBlocks(x[inside], y[inside], rows < len(x))
