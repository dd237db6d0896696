"""Training on small samples until validation says that a function is learnt: many short runs, each a program of its own loop.

Runs differ in their samples and seeds and share one compiled program: samples are filled up to a common size with copies that have no
weight, and a run ends at the first look at the validation set at which enough of it is right. All weights lie in one vector, so that a
step of the optimiser is one pass over memory.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from specht.errors import finite_number, whole_number
from specht.finite.sparse import Model

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


class Samples(NamedTuple):
    """Bits (n, T) and labels (n,)."""

    x: np.ndarray
    y: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class TrialRun:
    """What came of one run."""

    accuracy: np.ndarray
    """Share of the validation set that is right at each look, (looks,); NaN after the end."""
    validation_loss: np.ndarray
    train_loss: np.ndarray
    """Of the training samples without dropout, at each look."""
    params: Any
    """Weights at the end."""

    @property
    def best(self) -> float:
        """Largest accuracy at any look."""
        return float(np.nanmax(self.accuracy))


def run_trial(model: Model, train: Samples, validation: Samples, schooling: Schooling, *, seed: int, enough: float = 2.0) -> TrialRun:
    """Train one network until a share `enough` of the validation set is right, or to the end; two means never enough.

    >>> from specht.finite.sparse import Perceptron
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
    start = model.init(np.random.default_rng([seed, 1]))
    params, records, looks = _trained(model, schooling, start, arrays, tests, jax.random.key(seed), np.float32(enough))
    records = np.array(records, dtype=np.float64)
    records[:, int(looks) :] = np.nan
    return TrialRun(records[0], records[1], records[2], jax.tree.map(np.asarray, params))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _trained(
    model: Model, schooling: Schooling, begin_with: Any, train: Any, validation: Any, key: Any, enough: Any
) -> tuple[Any, Any, Any]:
    """Weights at the end, (accuracy, loss, training loss) at each look, and the number of looks."""
    start, unflatten = ravel_pytree(begin_with)
    decayed, _ = ravel_pytree(jax.tree.map(lambda leaf: np.full(leaf.shape, leaf.ndim == 2, np.float32), _without_embeddings(begin_with)))
    x, y, weights = train
    shown, truth = jnp.concatenate([x, validation[0]]), jnp.concatenate([y, validation[1]])

    def step(t: Any, state: Any) -> Any:
        theta, first, second = state
        gradient = jax.grad(lambda theta: _loss(model, unflatten(theta), x, y, weights, jax.random.fold_in(key, t)))(theta)
        gradient = gradient * jnp.minimum(1.0, schooling.clip / (jnp.linalg.norm(gradient) + 1e-6))
        first = _BETAS[0] * first + (1 - _BETAS[0]) * gradient
        second = _BETAS[1] * second + (1 - _BETAS[1]) * gradient**2
        count = (t + 1).astype(jnp.float32)
        size = jnp.sqrt(second / (1 - _BETAS[1] ** count)) + _EPSILON
        update = first / (1 - _BETAS[0] ** count) / size + schooling.weight_decay * decayed * theta
        return theta - schooling.learning_rate * update, first, second

    def look(state: Any) -> Any:
        place, theta, first, second, records = state
        begin = place * schooling.every
        end = jnp.minimum(begin + schooling.every, schooling.steps)
        theta, first, second = jax.lax.fori_loop(begin, end, step, (theta, first, second))
        logits = model.logits(unflatten(theta), shown)
        right = (logits.argmax(axis=-1) == truth)[len(x) :].astype(jnp.float32).mean()
        losses = _cross_entropy(logits, truth)
        found = jnp.stack([right, losses[len(x) :].mean(), (weights * losses[: len(x)]).sum()])
        return place + 1, theta, first, second, records.at[:, place].set(found)

    def goes_on(state: Any) -> Any:
        place, *_, records = state
        before = records[0, jnp.maximum(place - 1, 0)]
        return (place < schooling.looks) & ((place == 0) | (before < enough))

    blank = (jnp.asarray(0, jnp.int32), start, jnp.zeros_like(start), jnp.zeros_like(start), jnp.zeros((3, schooling.looks)))
    looks, theta, _, _, records = jax.lax.while_loop(goes_on, look, blank)
    return unflatten(theta), records, looks


def filled(n: int) -> int:
    """To how many samples n are filled up: few different sizes, so that few programs are compiled.

    >>> [filled(n) for n in (3, 64, 65, 97, 150, 1000)]
    [64, 64, 96, 128, 192, 1024]
    """
    power = 64 * 2 ** max(0, math.ceil(math.log2(n / 64)))
    return power * 3 // 4 if power > 64 and n <= power * 3 // 4 else power


def _loss(model: Model, params: Any, x: Any, y: Any, weights: Any, key: Any) -> Any:
    return (weights * _cross_entropy(model.logits(params, x, key), y)).sum()


def _cross_entropy(logits: Any, y: Any) -> Any:
    return jax.nn.logsumexp(logits, axis=-1) - jnp.take_along_axis(logits, y[:, None], axis=-1)[:, 0]


def _without_embeddings(tree: dict[str, Any]) -> dict[str, Any]:
    """Embeddings are matrices that are not decayed: as vectors they do not count as such."""
    return {name: leaf.reshape(-1) if name in ("token", "position") else leaf for name, leaf in tree.items()}
