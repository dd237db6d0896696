"""What a training has found so far, in arrays that can be kept, and what it leaves: losses, networks, learned functions."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from specht.errors import InputError
from specht.nn.data import check_model_inputs, in_blocks
from specht.nn.loop import NOT_YET, Spans, TrainingPlan, TrainingState, outputs
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


@runtime_checkable
class Keeper(Protocol):
    """Keeps the state of a training that may be killed; `specht.nn.Checkpoint` does so in a file."""

    def load(self, identity: str) -> Mapping[str, np.ndarray] | None:
        """What was kept of the training with this identity, if anything was."""
        ...

    def save(self, identity: str, arrays: Callable[[], Mapping[str, np.ndarray]], now: bool) -> None:
        """Keep what `arrays` makes: at once, or when enough time has passed since the last."""
        ...


@dataclasses.dataclass(eq=False)
class Ledger:
    """What has been found so far, by run."""

    losses: dict[str, np.ndarray]
    accuracies: dict[str, np.ndarray]
    diverged_at: np.ndarray
    stopped_at: np.ndarray
    models: list[np.ndarray] | None
    """Leaves of the finished models (runs, ...), made when the first is finished."""
    recorded: int = 0
    """Records of the present group so far."""

    @classmethod
    def empty(cls, runs: int, records: int, names: list[str]) -> Ledger:
        losses, accuracies = ({name: np.full((runs, records), np.nan, np.float32) for name in names} for _ in range(2))
        return cls(losses, accuracies, np.full(runs, NOT_YET), np.full(runs, NOT_YET), None)

    def record(self, first_run: int, set_losses: Any, spans: Spans) -> None:
        wanted = np.flatnonzero(spans.recorded)
        at = slice(self.recorded, self.recorded + len(wanted))
        for name, losses in set_losses.items():
            values = np.asarray(losses.loss)
            self.losses[name][first_run : first_run + len(values), at] = values[:, wanted]
            self.accuracies[name][first_run : first_run + len(values), at] = np.asarray(losses.accuracy)[:, wanted]
        self.recorded += len(wanted)

    def finish(self, first_run: int, state: TrainingState) -> None:
        """The end of a group of runs: its models are kept, and what was not recorded after an early stop repeats what was."""
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state.params if state.best is None else state.best)]
        at = slice(first_run, first_run + len(leaves[0]))
        if self.models is None:
            self.models = [np.zeros((len(self.stopped_at), *leaf.shape[1:]), leaf.dtype) for leaf in leaves]
        for kept, leaf in zip(self.models, leaves, strict=True):
            kept[at] = leaf
        self.diverged_at[at], self.stopped_at[at] = np.asarray(state.diverged_at), np.asarray(state.stopped_at)
        for values in (*self.losses.values(), *self.accuracies.values()):
            values[at, self.recorded :] = values[at, self.recorded - 1 : self.recorded]
        self.recorded = 0

    def arrays(self, group: int, place: int, state: TrainingState) -> dict[str, np.ndarray]:
        """Everything that is needed to go on, by name."""
        named = {"at": np.array([group, place, self.recorded]), "diverged_at": self.diverged_at, "stopped_at": self.stopped_at}
        named |= {f"loss {name}": values for name, values in self.losses.items()}
        named |= {f"accuracy {name}": values for name, values in self.accuracies.items()}
        named |= {f"model {number}": leaf for number, leaf in enumerate(self.models or [])}
        return named | {f"state {number}": np.asarray(leaf) for number, leaf in enumerate(jax.tree.leaves(state))}

    def restore(self, kept: Mapping[str, np.ndarray]) -> tuple[int, int, list[np.ndarray]]:
        """Take over what was kept; returns the group, the slice to go on with, and the leaves of the state."""
        group, place, self.recorded = (int(number) for number in kept["at"])
        self.diverged_at, self.stopped_at = kept["diverged_at"].copy(), kept["stopped_at"].copy()
        for name in self.losses:
            self.losses[name], self.accuracies[name] = kept[f"loss {name}"].copy(), kept[f"accuracy {name}"].copy()
        models = [kept[name].copy() for name in _numbered(kept, "model")]
        self.models = models or None
        return group, place, [kept[name] for name in _numbered(kept, "state")]


def _numbered(kept: Mapping[str, np.ndarray], what: str) -> Iterator[str]:
    return itertools.takewhile(lambda name: name in kept, (f"{what} {number}" for number in itertools.count()))
