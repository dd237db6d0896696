"""What a training has found so far, in arrays that can be written down and taken up again."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np

from specht.nn.loop import NOT_YET, Spans, TrainingState


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
