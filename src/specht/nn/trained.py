"""What a training leaves: losses, networks, and the functions that were learned."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from specht.errors import InputError
from specht.nn.data import check_model_inputs, in_blocks
from specht.nn.loop import NOT_YET, TrainingPlan, outputs
from specht.sequences import input_array

Start = Callable[[Any], Any]
"""From a random key to a model: a callable tree of arrays, such as a `Network`."""


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """What came of a training. The first three axes of everything are datasets, learning rates and seeds."""

    steps: np.ndarray
    """Steps after which losses were recorded, (records,)."""
    losses: dict[str, np.ndarray]
    """Mean loss on "train" and every other set, (datasets, rates, seeds, records); after an early stop the last one is repeated. Of fresh
    samples "train" is the loss of the last batch before its step was made. What functions of the model gave stands here as well."""
    accuracies: dict[str, np.ndarray]
    """Share of right predictions, of the same shape as the losses; empty for a loss of numbers. Fresh samples have none."""
    models: Any
    """The networks at the end, or the best ones where training stopped by `patience`: a tree of arrays with three more axes in front."""
    diverged_at: np.ndarray
    """Record at which a run was found to have diverged, in steps; -1 for those that have not."""
    stopped_at: np.ndarray
    """Record at which a run ended early, in steps; -1 for those that ran to the end."""
    learning_rates: tuple[float, ...]
    seeds: tuple[int, ...]
    plan: TrainingPlan
    start: Start

    @property
    def diverged(self) -> np.ndarray:
        """Which runs diverged."""
        return self.diverged_at != NOT_YET

    @property
    def warning(self) -> str | None:
        """A sentence on the runs that diverged; None if there are none."""
        if not self.diverged.any():
            return None
        worst = [rate for place, rate in enumerate(self.learning_rates) if self.diverged[:, place].any()]
        earliest = self.diverged_at[self.diverged].min()
        return (
            f"{self.diverged.sum()} of {self.diverged.size} runs diverged, the first by step {earliest}, at learning rate "
            f"{', '.join(f'{rate:g}' for rate in worst)}: their losses are not finite or a thousand times those of the start. "
            "Take a smaller learning rate."
        )

    def first_model(self, seed: int = 0) -> Any:
        """The model from which a run began."""
        return self.start(keys_of(self.seeds[seed]).start)

    def model(self, dataset: int = 0, rate: int = 0, seed: int = 0) -> Any:
        """The model with which a run ended."""
        params = jax.tree.map(lambda leaf: jnp.asarray(leaf[dataset, rate, seed]), self.models)
        return eqx.combine(params, eqx.filter(self.first_model(seed), eqx.is_inexact_array, inverse=True))

    def function(self, dataset: int = 0, rate: int = 0, seed: int = 0) -> Callable[[Any], np.ndarray]:
        """One of the trained functions, from inputs (n, columns) to outputs (n, outputs), centred and scaled as the recipe says."""
        key, model = keys_of(self.seeds[seed]), self.model(dataset, rate, seed)
        params, rest = eqx.partition(model, eqx.is_inexact_array)
        first = eqx.filter(self.first_model(seed), eqx.is_inexact_array)

        def function(x: Any) -> np.ndarray:
            x = np.atleast_2d(input_array(x))
            if x.size == 0:
                raise InputError(f"x is empty (shape {x.shape}): give at least one input.")
            check_model_inputs(model, x, "x")
            blocks = in_blocks(x, np.zeros((len(x), 1), np.float32))
            values = np.concatenate([_outputs(self.plan, rest, params, first, block, key.run) for block in blocks.x])
            return values[: len(x)]

        return function


@eqx.filter_jit
def _outputs(plan: TrainingPlan, rest: Any, params: Any, start: Any, x: Any, key: Any) -> Any:
    return outputs(plan, rest, params, start, x, key)


class Keys(NamedTuple):
    start: Any
    run: Any


def keys_of(seed: int) -> Keys:
    """The random keys of one run: for its first weights, and for what is random while it is trained."""
    return Keys(*jax.random.split(jax.random.key(seed)))
