"""Training on small samples until validation says that a function is learnt: many short runs, each a program of its own loop.

Runs differ in their samples and seeds and share one compiled program: samples are filled up to a common size with copies that have no
weight, and a run ends at the first look at the validation set at which enough of it is right. All weights lie in one vector, so that a
step of the optimiser is one pass over memory.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from specht.checks import finite_number, whole_number
from specht.studies.sparse.model import BitModel
from specht.studies.sparse.task import Samples, needed

_BETAS, _EPSILON = (0.9, 0.999), 1e-8


@dataclasses.dataclass(frozen=True, kw_only=True)
class Schooling:
    """How a network is trained on all of its samples at once: Adam on the cross-entropy, gradients clipped, weights of matrices decayed."""

    steps: int = 125
    every: int = 25
    """Steps between two looks at the validation set."""
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    clip: float = 1.0
    """Largest norm of a gradient."""

    def __post_init__(self) -> None:
        whole_number("steps", self.steps, at_least=1)
        whole_number("every", self.every, at_least=1, at_most=self.steps)
        finite_number("learning_rate", self.learning_rate, above=0.0)
        finite_number("weight_decay", self.weight_decay, at_least=0.0)
        finite_number("clip", self.clip, above=0.0)

    @property
    def looks(self) -> int:
        """How often the validation set is looked at, at most."""
        return math.ceil(self.steps / self.every)


@dataclasses.dataclass(frozen=True, eq=False)
class TrialRun:
    """What came of one run."""

    right: np.ndarray
    """How many of the validation set are right at each look that was taken, whole numbers."""
    accuracy: np.ndarray
    """The same as a share, (looks,); NaN after the end."""
    validation_loss: np.ndarray
    train_loss: np.ndarray
    """Of the training samples without dropout, at each look."""
    params: Any
    """Weights at the end."""

    @property
    def best(self) -> float:
        """Largest accuracy at any look."""
        return float(np.nanmax(self.accuracy))

    @property
    def most_right(self) -> int:
        """Largest number of samples that are right at any look."""
        return int(self.right.max())


def run_trial(
    model: BitModel, train: Samples, validation: Samples, schooling: Schooling, *, seed: int | Sequence[int], enough: float = 2.0
) -> TrialRun:
    """Train one network until a share `enough` of the validation set is right, or to the end; two means never enough.

    Several numbers make one seed, such as those of a task, a trial and a start.

    >>> from specht.studies.sparse.model import Perceptron
    >>> x = np.random.default_rng(0).integers(2, size=(64, 4))
    >>> data = Samples(x, x[:, 0])
    >>> run_trial(Perceptron(4, 16), data, data, Schooling(steps=200), seed=0).best
    1.0
    """
    n = len(train.x)
    rows = np.arange(filled(n))
    weights = (rows < n).astype(np.float32) / n
    inside = np.minimum(rows, n - 1)
    arrays = (train.x[inside].astype(np.float32), train.y[inside].astype(np.int32), weights)
    tests = (validation.x.astype(np.float32), validation.y.astype(np.int32))
    seeds = [seed] if isinstance(seed, int) else list(seed)
    start = model.init(np.random.default_rng([*seeds, 1]))
    key = jax.random.key(np.random.SeedSequence([*seeds, 2]).generate_state(1)[0])
    need = np.int32(needed(enough, len(validation.x)))
    params, right, losses, looks = _trained(model, schooling.looks, _Pace.of(schooling), start, arrays, tests, key, need)
    losses = np.array(losses, dtype=np.float64)
    losses[:, int(looks) :] = np.nan
    right = np.asarray(right)[: int(looks)]
    accuracy = np.full(schooling.looks, np.nan)
    accuracy[: int(looks)] = right / len(validation.x)
    return TrialRun(right, accuracy, losses[0], losses[1], jax.tree.map(np.asarray, params))


class _Pace(NamedTuple):
    """A schooling as numbers that a compiled program takes, so that several share it; only the number of looks is part of it."""

    steps: Any
    every: Any
    learning_rate: Any
    weight_decay: Any
    clip: Any

    @classmethod
    def of(cls, schooling: Schooling) -> _Pace:
        counts = (np.int32(schooling.steps), np.int32(schooling.every))
        return cls(*counts, *(np.float32(getattr(schooling, name)) for name in ("learning_rate", "weight_decay", "clip")))


class _Adam(NamedTuple):
    """All weights in one vector, and their moments.

    It is written out because published thresholds hang on its rounding. `optax.scale_by_adam` sums in another order: weights differ by up
    to 1e-4 after 100 steps, and in one run of 48 another number of samples of the validation set was right at some look.
    """

    theta: Any
    first: Any
    second: Any

    @classmethod
    def start(cls, theta: Any) -> _Adam:
        return cls(theta, jnp.zeros_like(theta), jnp.zeros_like(theta))

    def step(self, t: Any, gradient: Any, decayed: Any, pace: _Pace) -> _Adam:
        """After step t, with the gradient clipped and the weights of matrices decayed."""
        gradient = gradient * jnp.minimum(1.0, pace.clip / (jnp.linalg.norm(gradient) + 1e-6))
        first = _BETAS[0] * self.first + (1 - _BETAS[0]) * gradient
        second = _BETAS[1] * self.second + (1 - _BETAS[1]) * gradient**2
        count = (t + 1).astype(jnp.float32)
        size = jnp.sqrt(second / (1 - _BETAS[1] ** count)) + _EPSILON
        update = first / (1 - _BETAS[0] ** count) / size + pace.weight_decay * decayed * self.theta
        return _Adam(self.theta - pace.learning_rate * update, first, second)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _trained(
    model: BitModel, most_looks: int, pace: _Pace, start: Any, train: Any, validation: Any, key: Any, need: Any
) -> tuple[Any, Any, Any, Any]:
    """Weights at the end, samples that are right and (loss, training loss) at each look, and the number of looks."""
    theta, unflatten = ravel_pytree(start)
    decayed = _decayed(start)
    x, y, weights = train
    shown, truth = jnp.concatenate([x, validation[0]]), jnp.concatenate([y, validation[1]])

    def loss(theta: Any, t: Any) -> Any:
        return (weights * _cross_entropy(model.logits(unflatten(theta), x, jax.random.fold_in(key, t)), y)).sum()

    def step(t: Any, state: _Adam) -> _Adam:
        return state.step(t, jax.grad(loss)(state.theta, t), decayed, pace)

    def look(state: tuple[Any, _Adam, Any, Any]) -> tuple[Any, _Adam, Any, Any]:
        place, adam, counts, records = state
        begin = place * pace.every
        adam = jax.lax.fori_loop(begin, jnp.minimum(begin + pace.every, pace.steps), step, adam)
        logits = model.logits(unflatten(adam.theta), shown)
        right = (logits.argmax(axis=-1) == truth)[len(x) :].sum(dtype=jnp.int32)  # a mean in float32 of ones may be less than one
        losses = _cross_entropy(logits, truth)
        both_losses = jnp.stack([losses[len(x) :].mean(), (weights * losses[: len(x)]).sum()])
        return place + 1, adam, counts.at[place].set(right), records.at[:, place].set(both_losses)

    def goes_on(state: tuple[Any, _Adam, Any, Any]) -> Any:
        place, _, counts, _ = state
        return (place < most_looks) & ((place == 0) | (counts[jnp.maximum(place - 1, 0)] < need))

    blank = (jnp.asarray(0, jnp.int32), _Adam.start(theta), jnp.zeros(most_looks, jnp.int32), jnp.zeros((2, most_looks)))
    looks, adam, counts, records = jax.lax.while_loop(goes_on, look, blank)
    return unflatten(adam.theta), counts, records, looks


def run_stream(
    model: BitModel,
    table: tuple[bool, ...],
    probability: float,
    schooling: Schooling,
    *,
    seed: int,
    batch: int = 2048,
    enough: float = 0.0,
) -> np.ndarray:
    """Train on fresh samples of a sparse function at every step; the loss on every batch, (steps,), before its step is made.

    The function is the table of its values on the first bits, as in `specht.studies.sparse.task`; bits are one with the probability.
    Training ends at the first loss below `enough`, the last one that is returned.
    """
    start = model.init(np.random.default_rng([seed, 1]))
    values, size = np.asarray(table, np.int32), (schooling.steps, batch)
    losses, steps = _streamed(
        model, size, _Pace.of(schooling), start, values, np.float32(probability), jax.random.key(seed), np.float32(enough)
    )
    return np.asarray(losses, dtype=np.float64)[: int(steps)]


@functools.partial(jax.jit, static_argnums=(0, 1))
def _streamed(
    model: BitModel, size: tuple[int, int], pace: _Pace, start: Any, table: Any, probability: Any, key: Any, enough: Any
) -> tuple[Any, Any]:
    """The losses, and how many there are."""
    (steps, batch), (theta, unflatten), decayed = size, ravel_pytree(start), _decayed(start)
    support = len(table).bit_length() - 1
    places = jnp.asarray(2 ** np.arange(support - 1, -1, -1), jnp.int32)

    def step(adam: _Adam, t: Any) -> tuple[_Adam, Any]:
        draw, drop = jax.random.split(jax.random.fold_in(key, t))
        bits = jax.random.bernoulli(draw, probability, (batch, model.length))
        y = table[bits[:, :support].astype(jnp.int32) @ places]

        def loss(theta: Any) -> Any:
            return _cross_entropy(model.logits(unflatten(theta), bits.astype(jnp.float32), drop), y).mean()

        value, gradient = jax.value_and_grad(loss)(adam.theta)
        return adam.step(t, gradient, decayed, pace), value

    def goes_on(state: tuple[Any, _Adam, Any]) -> Any:
        t, _, losses = state
        return (t < steps) & ((t == 0) | (losses[jnp.maximum(t - 1, 0)] >= enough))

    def advance(state: tuple[Any, _Adam, Any]) -> tuple[Any, _Adam, Any]:
        t, adam, losses = state
        adam, value = step(adam, t)
        return t + 1, adam, losses.at[t].set(value)

    done, _, losses = jax.lax.while_loop(goes_on, advance, (jnp.asarray(0, jnp.int32), _Adam.start(theta), jnp.zeros(steps)))
    return losses, done


def filled(n: int) -> int:
    """To how many samples n are filled up: few different sizes, so that few programs are compiled.

    >>> [filled(n) for n in (3, 64, 65, 97, 150, 1000)]
    [64, 64, 96, 128, 192, 1024]
    """
    power = 64 * 2 ** max(0, math.ceil(math.log2(n / 64)))
    return power * 3 // 4 if power > 64 and n <= power * 3 // 4 else power


def _cross_entropy(logits: Any, y: Any) -> Any:
    return jax.nn.logsumexp(logits, axis=-1) - jnp.take_along_axis(logits, y[:, None], axis=-1)[:, 0]


def _decayed(params: dict[str, Any]) -> np.ndarray:
    """One for the weights that are decayed, those of matrices but not of embeddings, in the order of the vector."""
    chosen = {name: np.full(leaf.shape, leaf.ndim == 2 and name not in ("token", "position"), np.float32) for name, leaf in params.items()}
    return np.concatenate([leaf.reshape(-1) for leaf in jax.tree.leaves(chosen)])
