"""A task: what the data are, what is to be learnt from them, and on what it is tested.

A task is tested on fresh sequences of its own source, and where `test_source` is given on sequences of that law too, which the training
data did not come from: the components of a mixture in other proportions, new components, or tokens whose order begins to matter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from specht.errors import InputError, check_choice, explains_calls
from specht.sequences.hmm import HiddenMarkov, MixtureOfHMMs
from specht.sequences.law import Exchangeable, Source
from specht.sequences.sources import default_mixture, generic_mixture, graded_mixture, order_broken, redrawn, reweighted, uniform
from specht.sequences.targets import Setting, Target, target


@explains_calls
@dataclasses.dataclass(frozen=True)
class Task:
    """A source, a target, and where the test sequences come from if not from the same source."""

    source: Source
    target: Target
    test_source: Source | None = None
    name: str = ""

    def __post_init__(self) -> None:
        for name, source in (("source", self.source), ("test_source", self.test_source)):
            if not isinstance(source, Source) and (source is not None or name == "source"):
                raise InputError(f"{name} must be one of specht.sources, got {source!r}.")
        if not isinstance(self.target, Target):
            advice = f"got {self.target!r}: wrap a function as Target(name, function)"
            raise InputError(f"target must be a Target, {advice}.")
        if self.test_source is not None and self.test_source.vocab != self.source.vocab:
            raise InputError(
                f"The source has {self.source.vocab} tokens and the test source {self.test_source.vocab}: give both the same vocab."
            )

    def draw(self, rng: np.random.Generator, n: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
        """Training data: sequences (n, columns) and labels (n, outputs)."""
        return self.target.draw(self.source, rng, n, columns)

    def draw_test(self, rng: np.random.Generator, n: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
        """Fresh sequences of the source, and the values of the target without noise."""
        x = self.source.draw(rng, n, columns)
        return x, self.target(x)

    def draw_ood(self, rng: np.random.Generator, n: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw sequences from the test source, with the target's values."""
        if self.test_source is None:
            raise InputError("This task has no test source, so nothing is out of its distribution: give it one with test_source.")
        x = self.test_source.draw(rng, n, columns)
        return x, self.target(x)


def check_task(task: Any, vocab: int | None = None) -> None:
    """Raise where it is no task, or one with another number of tokens than an architecture has."""
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task, got {task!r}: write specht.Task(source, target).")
    if vocab not in (None, task.source.vocab):
        raise InputError(f"The task has {task.source.vocab} tokens and the architecture {vocab}: give both the same vocab.")


def _other_weights(source: Any, seed: int, epsilon: float) -> Source:
    """Weights that double from one component to the next."""
    if len(source.weights) == 1:
        raise InputError("This source has a single component, so its weights cannot be changed: take another shift.")
    weights = 2.0 ** np.arange(len(source.weights))
    return reweighted(source, weights / weights.sum())


SHIFTS: dict[str, Callable[[Any, int, float], Source]] = {
    "reweighted": _other_weights,
    "redrawn": lambda source, seed, epsilon: redrawn(source, seed + 1),
    "order-broken": lambda source, seed, epsilon: order_broken(source, epsilon),
}
"""Ways for the test law to differ from the training law, from (source, seed, epsilon)."""


def shifted(source: Source, shift: str, seed: int = 0, epsilon: float = 0.2) -> Source:
    """A source out of the distribution of the given one.

    Arguments:
        shift: "reweighted", other proportions of the components; "redrawn", new components; "order-broken", order matters by `epsilon`.

    >>> from specht.sequences.sources import default_mixture
    >>> shifted(default_mixture(), "reweighted").weights.round(3)
    array([0.067, 0.133, 0.267, 0.533])
    """
    check_choice("shift", shift, SHIFTS)
    return SHIFTS[shift](source, seed, epsilon)


class TaskPreset(NamedTuple):
    """A named task."""

    summary: str
    source: Callable[[int, int], Source]
    """From the number of tokens and a seed."""
    target: str
    support: int = 2
    shift: str | None = "reweighted"

    @property
    def has_chains(self) -> bool:
        """Whether the source has hidden chains, whose order can be broken."""
        return self.source is not _uniform


def _uniform(vocab: int, seed: int) -> Source:
    return uniform(vocab)


def _mixture(vocab: int, seed: int) -> Source:
    return default_mixture(vocab, seed=seed)


TASKS: dict[str, TaskPreset] = {
    "next-token": TaskPreset("the next token of an exchangeable mixture of hidden Markov models", _mixture, "next-token"),
    "counts": TaskPreset("how often a token occurs, in the same mixture", _mixture, "counts"),
    "one-position": TaskPreset("a function that singles out one position, in the same mixture", _mixture, "level", support=1),
    "two-positions": TaskPreset("one that singles out two", _mixture, "level"),
    "new-components": TaskPreset(
        "the next token, tested on components that training did not show", _mixture, "next-token", shift="redrawn"
    ),
    "broken-order": TaskPreset("the next token, tested where order begins to matter", _mixture, "next-token", shift="order-broken"),
    "graded": TaskPreset(
        "the next token of a mixture whose order matters a little", lambda v, s: graded_mixture(0.2, v, seed=s), "next-token", shift=None
    ),
    "generic": TaskPreset(
        "the next token of any mixture of hidden Markov models", lambda v, s: generic_mixture(v, seed=s), "next-token", shift=None
    ),
    "sparse-and": TaskPreset("AND of three of many independent tokens", _uniform, "and", support=3, shift=None),
    "sparse-majority": TaskPreset("majority of three of many independent tokens", _uniform, "majority", support=3, shift=None),
    "sparse-parity": TaskPreset("parity of two of many independent tokens", _uniform, "parity", shift=None),
}
"""Named tasks."""


def task(name: str, vocab: int = 4, length: int = 16, seed: int = 0) -> Task:
    """A task by its name.

    >>> task("sparse-parity", vocab=2).target.name
    'parity of 2'
    """
    check_choice("task", name, TASKS)
    preset = TASKS[name]
    source = preset.source(vocab, seed)
    wanted = target(preset.target, Setting(source, length, preset.support))
    return Task(source, wanted, None if preset.shift is None else shifted(source, preset.shift, seed), name)


def order_forgotten(source: Source, columns: int) -> Exchangeable:
    """The exchangeable source nearest in kind: each component keeps how often it shows a token on average, and forgets the order.

    An exchangeable source with a known mixture is returned as that mixture. It is what the theory takes for a source whose order matters,
    and `exchangeability_gap` tells how far that is from the truth.
    """
    if source.is_mixture:
        return source.mixture
    chains = source.components if isinstance(source, MixtureOfHMMs) else (source,)
    weights = source.weights if isinstance(source, MixtureOfHMMs) else np.ones(1)
    return Exchangeable(weights, np.array([_mean_token_law(chain, columns) for chain in chains]))


def _mean_token_law(chain: Source, columns: int) -> np.ndarray:
    """Probabilities of the tokens, averaged over the columns."""
    if not isinstance(chain, HiddenMarkov):
        return np.mean([chain.joint([column]) for column in range(columns)], axis=0)
    state, total = chain.initial, np.zeros(len(chain.initial))
    for _ in range(columns):
        total, state = total + state, state @ chain.transition
    law = total / columns @ chain.emission
    return law / law.sum()
