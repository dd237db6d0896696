"""The compiled part of training: many steps, and the losses at some of them, in one program.

A run goes through a slice of its steps as a scan over spans, each a loop of steps followed, where it is asked for, by the losses on every
set. Slices of one training share one program, so that a run that was stopped between two of them goes on with the same numbers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Key, Num, PyTree

from specht.nn.data import SampleBlocks
from specht.nn.network import Network
from specht.nn.recipe import JUDGEMENTS, Recipe

Forward = Callable[[Any, Any, Any], Any]
"""From a model, inputs (n, ...) and a random key to outputs (n, outputs)."""
Measure = Callable[[Any], Any]
"""From a model to one number."""
AnyArray: TypeAlias = Array | np.ndarray
"""An array on the device, or one that is about to go there."""
NOT_YET = -1
_DIVERGED = 1e3
"""A run whose training loss is this many times what it was at the start will not come back."""


class Spans(NamedTuple):
    """Stretches of steps: from `first` up to, not including, `last`, after which losses are recorded or not."""

    first: Int[np.ndarray, " spans"] | Int[Array, " spans"]
    last: Int[np.ndarray, " spans"] | Int[Array, " spans"]
    recorded: Bool[np.ndarray, " spans"] | Bool[Array, " spans"]


class TrainingState(eqx.Module):
    """What changes while a run is trained; of several runs, everything has one more axis in front."""

    params: PyTree
    moments: PyTree
    """State of the optimiser."""
    order: Int[AnyArray, "*runs n"] | None
    """In which samples of a fixed dataset are gone through; None where all are taken at once, or none twice."""
    batch_loss: Float[AnyArray, "*runs"]
    """Loss on the last batch."""
    first_loss: Float[AnyArray, "*runs"]
    best: PyTree | None
    """Parameters with the least loss on the watched set, where training stops by it."""
    best_loss: Float[AnyArray, "*runs"]
    waited: Int[AnyArray, "*runs"]
    """Records since then."""
    stopped_at: Int[AnyArray, "*runs"]
    """Step at which training ended early, or `NOT_YET`."""
    diverged_at: Int[AnyArray, "*runs"]


class TrainingRun(eqx.Module):
    """One run: its state, and what it is trained and tested on."""

    state: TrainingState
    start: PyTree | None
    """Parameters at the start, where they are needed."""
    learning_rate: Float[AnyArray, "*runs"]
    key: Key[Array, "*runs"]
    x: Num[AnyArray, "..."]
    """The dataset, or the fresh samples of this slice (steps, batch, ...)."""
    y: Num[AnyArray, "..."]
    sets: dict[str, SampleBlocks]


class LossAndAccuracy(NamedTuple):
    """Mean loss and accuracy on a set; NaN where there is none."""

    loss: Float[AnyArray, "..."]
    accuracy: Float[AnyArray, "..."]


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """What all runs have in common."""

    recipe: Recipe
    forward: Forward
    fresh: bool
    watched: str
    """The set whose loss decides when to stop."""
    measures: tuple[tuple[str, Measure], ...] = ()
    """Numbers of the model that are recorded beside the losses, by name."""


def call_model(model: Any, x: Any, key: Any) -> Any:
    """A model called as it is; transformers with stochastic positions draw them from the key."""
    if isinstance(model, Network):
        return model(x, key=key if model.arch.positions == "stochastic" else None)
    return model(x)


def outputs(plan: TrainingPlan, rest: PyTree, params: PyTree, start: PyTree | None, x: Any, key: Any) -> Float[Array, "n outputs"]:
    """What is trained towards the labels: the network, centred and scaled as the recipe says. `rest` is the part that is not trained."""
    values = plan.forward(eqx.combine(params, rest), x, key)
    if plan.recipe.centred:
        values = values - plan.forward(eqx.combine(start, rest), x, key)
    return plan.recipe.output_scale * values


def initial_state(plan: TrainingPlan, params: PyTree, n: int) -> TrainingState:
    """The state before the first step."""
    recipe, nothing = plan.recipe, jnp.asarray(NOT_YET, jnp.int32)
    return TrainingState(
        params=params,
        moments=recipe.transformation(jnp.float32(1.0), params).init(params),
        order=jnp.arange(n) if not plan.fresh and recipe.batch is not None else None,
        batch_loss=jnp.float32(jnp.nan),
        first_loss=jnp.float32(jnp.nan),
        best=params if recipe.patience is not None else None,
        best_loss=jnp.float32(jnp.inf),
        waited=jnp.asarray(0, jnp.int32),
        stopped_at=nothing,
        diverged_at=nothing,
    )


@eqx.filter_jit
def advance(plan: TrainingPlan, rest: PyTree, runs: TrainingRun, spans: Spans) -> tuple[TrainingState, dict[str, LossAndAccuracy]]:
    """The states of runs after a slice of their steps, and their losses, shape (runs, spans), NaN where none were recorded."""

    def through(run: TrainingRun) -> tuple[TrainingState, dict[str, LossAndAccuracy]]:
        return jax.lax.scan(lambda state, span: _span(plan, rest, run, state, span), run.state, spans)

    if len(runs.learning_rate) == 1:  # a batch axis of one makes slower programs
        results = through(jax.tree.map(lambda leaf: leaf[0], runs))
        return jax.tree.map(lambda leaf: leaf[None], results)
    return jax.vmap(through)(runs)


def _span(
    plan: TrainingPlan, rest: PyTree, run: TrainingRun, state: TrainingState, span: Spans
) -> tuple[TrainingState, dict[str, LossAndAccuracy]]:
    first, last, recorded = span
    transformation = plan.recipe.transformation(run.learning_rate, run.start if plan.recipe.decay_to == "start" else None)

    def step(t: Any, state: TrainingState) -> TrainingState:
        return _step(plan, rest, run, transformation, t, state)

    # Only where training may stop does the number of steps differ between runs, which costs a copy of the state a step.
    end = jnp.where(state.stopped_at == NOT_YET, last, first) if plan.recipe.may_stop else last
    state = jax.lax.fori_loop(first, end, step, state)

    def judged(state: TrainingState) -> tuple[TrainingState, dict[str, LossAndAccuracy]]:
        set_losses = {name: _losses(plan, rest, run, state, blocks) for name, blocks in run.sets.items()}
        if plan.fresh:
            set_losses["train"] = LossAndAccuracy(state.batch_loss, jnp.float32(jnp.nan))
        model = eqx.combine(state.params, rest)
        set_losses |= {
            name: LossAndAccuracy(jnp.asarray(measure(model), jnp.float32), jnp.float32(jnp.nan)) for name, measure in plan.measures
        }
        return _judge(plan, state, set_losses, last), set_losses

    def passed(state: TrainingState) -> tuple[TrainingState, dict[str, LossAndAccuracy]]:
        names = [*run.sets, *(["train"] if plan.fresh else []), *(name for name, _ in plan.measures)]
        return state, {name: LossAndAccuracy(jnp.float32(jnp.nan), jnp.float32(jnp.nan)) for name in names}

    return jax.lax.cond(recorded, judged, passed, state)


def _step(
    plan: TrainingPlan, rest: PyTree, run: TrainingRun, transformation: optax.GradientTransformation, t: Any, state: TrainingState
) -> TrainingState:
    x, y, order = _batch(plan, run, state.order, t)
    key = jax.random.fold_in(run.key, t)

    def objective(params: PyTree) -> Float[Array, ""]:
        return JUDGEMENTS[plan.recipe.loss].loss(outputs(plan, rest, params, run.start, x, key), y).mean()

    loss, gradient = jax.value_and_grad(objective)(state.params)
    with jax.numpy_dtype_promotion("standard"):  # Optax multiplies by counts of steps
        updates, moments = transformation.update(gradient, state.moments, state.params)
    params = optax.apply_updates(state.params, updates)
    return dataclasses.replace(state, params=params, moments=moments, order=order, batch_loss=loss)


def _batch(plan: TrainingPlan, run: TrainingRun, order: Any, t: Any) -> tuple[Any, Any, Any]:
    """The samples of step t, and the order from there on."""
    batch = plan.recipe.batch
    if plan.fresh:
        place = t % len(run.x)  # slices of fresh samples are all as long
        return run.x[place], run.y[place], order
    if batch is None:
        return run.x, run.y, order
    steps = len(run.x) // batch
    shuffle = jax.random.fold_in(run.key, -1 - t // steps)  # steps have the other keys
    order = jax.lax.cond(t % steps == 0, lambda: jax.random.permutation(shuffle, len(run.x)), lambda: order)
    chosen = jax.lax.dynamic_slice_in_dim(order, (t % steps) * batch, batch)
    return run.x[chosen], run.y[chosen], order


def _losses(plan: TrainingPlan, rest: PyTree, run: TrainingRun, state: TrainingState, blocks: SampleBlocks) -> LossAndAccuracy:
    judgement = JUDGEMENTS[plan.recipe.loss]

    def total(block: SampleBlocks) -> tuple[Float[Array, ""], Float[Array, ""]]:
        values = outputs(plan, rest, state.params, run.start, block.x, run.key)
        losses = jnp.where(block.counts, judgement.loss(values, block.y), 0)
        right = jnp.nan if judgement.correct is None else jnp.where(block.counts, judgement.correct(values, block.y), 0)
        return losses.sum(), jnp.sum(right)

    losses, right = jax.lax.map(total, blocks)
    count = blocks.counts.sum(dtype=jnp.float32)
    return LossAndAccuracy(losses.sum() / count, right.sum() / count)


def _judge(plan: TrainingPlan, state: TrainingState, set_losses: dict[str, LossAndAccuracy], step: Any) -> TrainingState:
    """Whether the run has diverged, is good enough, or has waited long enough."""
    train, watched = set_losses["train"].loss, set_losses[plan.watched].loss
    first = jnp.where(jnp.isnan(state.first_loss), train, state.first_loss)
    diverged = ~jnp.isfinite(train) & (step > 0) | (train > _DIVERGED * first)  # fresh samples have no loss before the first step
    better = watched < state.best_loss
    waited = jnp.where(better, 0, state.waited + 1)
    stop = diverged
    if plan.recipe.stop_below is not None:
        stop |= train <= plan.recipe.stop_below
    if plan.recipe.patience is not None:
        stop |= waited >= plan.recipe.patience
    return dataclasses.replace(
        state,
        first_loss=first,
        best=None if state.best is None else jax.tree.map(lambda new, old: jnp.where(better, new, old), state.params, state.best),
        best_loss=jnp.where(better, watched, state.best_loss),
        waited=waited,
        stopped_at=jnp.where(stop & (state.stopped_at == NOT_YET), step, state.stopped_at) if plan.recipe.may_stop else state.stopped_at,
        diverged_at=jnp.where(diverged & (state.diverged_at == NOT_YET), step, state.diverged_at),
    )
