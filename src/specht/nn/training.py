"""Training of many networks at once: datasets x learning rates x seeds, each a run of its own, with the whole loop compiled.

Runs follow one `Recipe`. They are trained in chunks, each slice by slice of its steps, and after a slice everything that is needed to go on
can be kept: a training that was killed and is started again ends with the same numbers, to the bit. A run that diverges says so, and
the others go on.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from specht.checks import finite_number, whole_number
from specht.errors import InputError, explains_calls
from specht.memory import available_memory
from specht.nn.data import Fixed, Fresh, SampleBlocks, check_model_inputs, in_blocks
from specht.nn.loop import NOT_YET, Forward, Measure, Spans, TrainingPlan, TrainingRun, TrainingState, advance, call_model, initial_state
from specht.nn.recipe import Recipe, check_outputs
from specht.nn.trained import Keeper, Ledger, Start, Trained, keys_of
from specht.progress import Progress, report

_SLICE_WORK = 3e10
"""Multiplications in a slice: some tenths of a second, after which progress is shown and a checkpoint may be written."""
_BLOCK_NUMBERS = 2**22
"""Numbers in the fresh samples of a slice."""


_Member: TypeAlias = tuple[int, float, int]
"""Dataset, learning rate and seed of a run."""


@explains_calls
def train(
    start: Start | Any,
    data: Fixed | Fresh | Any,
    recipe: Recipe | Any,
    *,
    seeds: Sequence[int] | Any = (0,),
    learning_rates: Sequence[float] | Any = None,
    evaluate: Mapping[str, Fixed | Measure] | Any = None,
    forward: Forward | None = None,
    chunk: int | None = None,
    checkpoint: Keeper | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train a network from every seed, on every dataset, at every learning rate.

    >>> from specht.architecture import Architecture
    >>> from specht.nn.network import Network, Size
    >>> arch = Architecture(vocab=2, length=3)
    >>> x = np.random.default_rng(0).integers(2, size=(32, 4))
    >>> trained = train(
    ...     lambda key: Network.init(arch, Size(8, 2, 4), key=key),
    ...     Fixed(x, x[:, 0] - x[:, 1]),
    ...     Recipe(steps=200, learning_rate=0.01, optimiser="adam"),
    ...     seeds=[0, 1],
    ... )
    >>> trained.losses["train"].shape, bool((trained.losses["train"][..., -1] < trained.losses["train"][..., 0]).all())
    ((1, 1, 2, 23), True)

    Args:
        start: makes a model from a random key; every array of floating-point numbers in it is trained.
        learning_rates: that of the recipe unless given.
        evaluate: other sets whose losses are recorded; "validation" is the one that `patience` watches. Functions of the model are
            recorded as well, with one number each.
        forward: from a model, inputs and a random key to outputs; calls the model unless given.
        chunk: runs that are trained side by side: 1 on a processor, where more soon leave its cache, and all elsewhere, unless given.
            The last bits of the results depend on it; very small networks are up to a third faster with 8.
        checkpoint: keeps what was done, so that the same call goes on from there after it was killed.
        progress: called as `progress(done, total)`, in steps of all runs.
    """
    training = _prepare(start, data, recipe, seeds, learning_rates, evaluate or {}, forward, chunk)
    return training.run(checkpoint, progress)


def _prepare(
    start: Any,
    data: Any,
    recipe: Any,
    seeds: Any,
    learning_rates: Any,
    evaluate: Any,
    forward: Forward | None,
    chunk: int | None,
) -> _Training:
    """Everything checked, before anything is computed."""
    if not isinstance(recipe, Recipe) or not callable(start):
        what, wrong = ("recipe must be a Recipe", recipe) if callable(start) else ("start must be a function of a random key", start)
        raise InputError(f"{what}, got {type(wrong).__name__}.")
    rates = tuple(
        finite_number("learning_rate", rate, above=0.0) for rate in _listed("learning_rates", learning_rates, recipe.learning_rate)
    )
    seeds = tuple(whole_number("seed", seed, at_least=0, at_most=2**31 - 1) for seed in _listed("seeds", seeds, 0))
    measures = tuple((name, measure) for name, measure in evaluate.items() if callable(measure))
    evaluate = {name: samples for name, samples in evaluate.items() if not callable(samples)}
    if any(name == "train" for name, _ in measures) or "train" in evaluate:
        raise InputError('evaluate has a set named "train", which is the name of the training data: take another.')
    for name, samples in {"data": data, **evaluate}.items():
        if not isinstance(samples, Fixed) and not (name == "data" and isinstance(samples, Fresh)):
            raise InputError(f"{name} must be Fixed(x, y){' or Fresh(draw)' if name == 'data' else ''}, got {type(samples).__name__}.")
    if isinstance(data, Fresh) and recipe.batch is None:
        raise InputError("Fresh samples come in batches: give the recipe a batch.")
    fixed = data.checked(recipe.loss) if isinstance(data, Fixed) else None
    sets = {name: samples.checked(recipe.loss, name) for name, samples in evaluate.items()}
    datasets = 1 if fixed is None else fixed.datasets
    for name, samples in sets.items():
        if samples.datasets not in (1, datasets):
            raise InputError(f"{name} has {samples.datasets} datasets and the training data {datasets}: give one, or one for each.")
    if fixed is not None and recipe.batch is not None and recipe.batch > fixed.n:
        raise InputError(f"A batch of {recipe.batch} is more than the {fixed.n} samples there are: take a smaller one, or none.")
    forward, model = forward or call_model, start(keys_of(seeds[0]).start)
    numbers = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))
    if not numbers:
        raise InputError("start made a model without arrays of floating-point numbers: there is nothing to train.")
    fresh: Any = data
    first = fixed if fixed is not None else Fixed(*fresh.block(0, 0, 1, recipe.batch, recipe.loss))
    for name, samples in {"data": first, **sets}.items():
        check_model_inputs(model, samples.x, f"{name}.x")
        shape = jax.eval_shape(forward, model, jax.ShapeDtypeStruct(samples.x.shape[1:], samples.x.dtype), keys_of(0).run).shape
        check_outputs(recipe.loss, shape, samples.y)
    for name, measure in measures:
        shape = jax.eval_shape(measure, model).shape
        if shape != ():
            raise InputError(f"{name} turns a model into an array of shape {shape}: what is recorded must be one number.")
    runs = datasets * len(rates) * len(seeds)
    if chunk is None:
        chunk = 1 if jax.default_backend() == "cpu" else runs
    chunk = min(runs, whole_number("chunk", chunk, at_least=1))
    _check_memory(runs, chunk, numbers, datasets * len(rates))
    plan = TrainingPlan(_compiled(recipe), forward, fixed is None, "validation" if "validation" in sets else "train", measures)
    work = getattr(model, "multiplications", None) or numbers * first.x.shape[-1]
    return _Training(start, data if fixed is None else fixed, recipe, seeds, rates, sets, plan, chunk, work, datasets)


def _compiled(recipe: Recipe) -> Recipe:
    """The recipe without what does not change the program, so that trainings share it."""
    steps = recipe.steps if recipe.schedule != "constant" else max(1, recipe.warmup)
    return dataclasses.replace(recipe, learning_rate=1.0, records=1, steps=steps)


@dataclasses.dataclass(frozen=True, eq=False)
class _Training:
    """A training whose arguments are known to be good."""

    start: Start
    data: Fixed | Fresh
    recipe: Recipe
    seeds: tuple[int, ...]
    rates: tuple[float, ...]
    sets: dict[str, Fixed]
    plan: TrainingPlan
    chunk: int
    work: int
    """Multiplications for one sample: those that a model says it needs, or every trained number once a column."""
    datasets: int

    def run(self, checkpoint: Keeper | None, progress: Progress | None) -> Trained:
        slices, records = self._slices(), self.recipe.record_steps()
        groups = list(_grouped(itertools.product(range(self.datasets), self.rates, self.seeds), self.chunk))
        names = [*self.sets, "train", *(name for name, _ in self.plan.measures)]
        ledger = Ledger.empty(len(groups) * self.chunk, len(records), names)
        identity = self._identity() if checkpoint is not None else ""
        kept = checkpoint.load(identity) if checkpoint is not None else None
        group_at, slice_at, leaves = ledger.restore(kept) if kept is not None else (0, 0, None)
        runs: TrainingRun | None = None
        for number in range(group_at, len(groups)):
            runs, rest = self._begin(groups[number], runs, groups[max(0, number - 1)])
            if leaves is not None:
                state = jax.tree.unflatten(jax.tree.structure(runs.state), [jnp.asarray(leaf) for leaf in leaves])
                runs, leaves = dataclasses.replace(runs, state=state), None
            for place in range(slice_at, len(slices)):
                if isinstance(self.data, Fresh):
                    x, y = _stacked([self._inputs(dataset, seed, place) for dataset, _, seed in groups[number]])
                    runs = dataclasses.replace(runs, x=x, y=y)
                state, set_losses = advance(self.plan, rest, runs, slices[place])
                runs = dataclasses.replace(runs, state=state)
                ledger.record(number * self.chunk, set_losses, slices[place])
                if checkpoint is not None:
                    last = number + 1 == len(groups) and place + 1 == len(slices)
                    checkpoint.save(identity, functools.partial(ledger.arrays, number, place + 1, state), now=last)
                report(progress, self._done(number, place + 1, len(slices)), self.recipe.steps * len(groups) * self.chunk)
                if self.recipe.may_stop and (np.asarray(state.stopped_at) != NOT_YET).all():
                    break
            ledger.finish(number * self.chunk, runs.state)
            slice_at = 0
        return self._result(ledger, records)

    def _done(self, group: int, place: int, slices: int) -> int:
        return (group * slices + place) * self.recipe.steps * self.chunk // slices

    def _slices(self) -> list[Spans]:
        """Spans of steps, slice by slice, as many to each, the last ones empty where a slice has fewer."""
        records, steps = self.recipe.record_steps(), self.recipe.steps
        length = min(steps, self._slice_steps)
        ends = [min(start + length, steps) for start in range(0, steps, length)]
        slices = []
        for start, end in zip([0, *ends], ends, strict=False):
            inside = [int(step) for step in records if start < step <= end or step == start == 0]
            stops = inside if inside and inside[-1] == end else [*inside, end]
            slices.append((stops, [stop in inside for stop in stops], start))
        most = max(len(stops) for stops, _, _ in slices)
        padded = []
        for stops, recorded, start in slices:
            filled = stops + [stops[-1]] * (most - len(stops))
            flags = np.array(recorded + [False] * (most - len(stops)))
            padded.append(Spans(np.array([start, *filled[:-1]], np.int32), np.array(filled, np.int32), flags))
        return padded

    @functools.cached_property
    def _slice_steps(self) -> int:
        """Steps after which progress is shown: a function of the sizes alone, so that it is the same when a training goes on."""
        if isinstance(self.data, Fixed):
            return max(1, int(_SLICE_WORK / (6 * self.work * (self.recipe.batch or self.data.n) * self.chunk)))
        assert self.recipe.batch is not None
        width = self.data.block(0, 0, 1, self.recipe.batch, self.recipe.loss)[0].shape[-1]
        work = _SLICE_WORK / (6 * self.work * self.recipe.batch * self.chunk)
        return max(1, min(int(work), _BLOCK_NUMBERS // (self.recipe.batch * width * self.chunk)))

    def _begin(self, group: list[_Member], before: TrainingRun | None, before_group: list[_Member]) -> tuple[TrainingRun, Any]:
        """A group of runs before their first step, and what of the model is not trained.

        What they read is that of the group before, where the datasets are the same: taking it to the device again would cost more than
        a hundred steps of a small network.
        """
        keys = [keys_of(seed) for _, _, seed in group]
        split = [eqx.partition(self.start(key.start), eqx.is_inexact_array) for key in keys]
        if any(not eqx.tree_equal(split[0][1], rest) for _, rest in split[1:]):
            raise InputError("Models of different seeds differ in what is not trained: train them one at a time, with chunk=1.")
        params = _stacked([params for params, _ in split])
        state = dataclasses.replace(self._blank, params=params, best=params if self.recipe.patience is not None else None)
        start = params if self.recipe.keeps_start else None
        rates, run_keys = np.array([rate for _, rate, _ in group], np.float32), jnp.stack([key.run for key in keys])
        if before is not None and [member[0] for member in group] == [member[0] for member in before_group]:
            return dataclasses.replace(before, state=state, start=start, learning_rate=rates, key=run_keys), split[0][1]
        x, y = _stacked([self._inputs(dataset, seed, 0) for dataset, _, seed in group])
        read = jax.device_put((x, y, _stacked([self._sets(dataset) for dataset, _, _ in group])))
        return TrainingRun(state, start, rates, run_keys, *read), split[0][1]

    @functools.cached_property
    def _blank(self) -> TrainingState:
        """The states of a group before their first step but for the parameters: nothing else in them depends on the seed."""
        params = eqx.filter(self.start(keys_of(self.seeds[0]).start), eqx.is_inexact_array)
        blank = initial_state(self.plan, params, 0 if isinstance(self.data, Fresh) else self.data.n)
        return _stacked([blank] * self.chunk)

    def _sets(self, dataset: int) -> dict[str, SampleBlocks]:
        """What losses are recorded on."""
        sets = self.sets | ({"train": self.data} if isinstance(self.data, Fixed) else {})
        return {name: in_blocks(fixed.x[dataset % fixed.datasets], fixed.y[dataset % fixed.datasets]) for name, fixed in sets.items()}

    def _inputs(self, dataset: int, seed: int, place: int) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(self.data, Fixed):
            return self.data.x[dataset], self.data.y[dataset]
        assert self.recipe.batch is not None
        steps = min(self.recipe.steps, self._slice_steps)
        return self.data.block(seed, place, steps, self.recipe.batch, self.recipe.loss)

    def _identity(self) -> str:
        """A digest of everything that decides the numbers."""
        digest = hashlib.sha256(repr((self.recipe, self.seeds, self.rates, self.chunk, jax.__version__, jax.default_backend())).encode())
        key, (x, _) = keys_of(self.seeds[0]), self._inputs(0, self.seeds[0], 0)
        model = self.start(key.start)
        few = x.reshape(-1, x.shape[-1])[:8]
        # What the model does at the start stands for all of it that is no array, and for the way it is called.
        arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array))]
        arrays.append(np.asarray(self.plan.forward(model, jnp.asarray(few), key.run)))
        if isinstance(self.data, Fixed):
            arrays += [self.data.x, self.data.y]
        else:
            arrays += self._inputs(0, self.seeds[0], 0)
        for name, fixed in sorted(self.sets.items()):
            digest.update(name.encode())
            arrays += [fixed.x, fixed.y]
        for array in arrays:
            digest.update(f"{array.shape} {array.dtype}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def _result(self, ledger: Ledger, records: np.ndarray) -> Trained:
        axes = (self.datasets, len(self.rates), len(self.seeds))
        runs = math.prod(axes)

        def shaped(values: np.ndarray) -> np.ndarray:
            return values[:runs].reshape(*axes, *values.shape[1:])

        template = eqx.filter(self.start(keys_of(self.seeds[0]).start), eqx.is_inexact_array)
        assert ledger.models is not None
        models = jax.tree.unflatten(jax.tree.structure(template), [shaped(leaf) for leaf in ledger.models])
        with_accuracy = {name: values for name, values in ledger.accuracies.items() if not np.isnan(values[:runs]).all()}
        return Trained(
            steps=records,
            losses={name: shaped(values) for name, values in ledger.losses.items()},
            accuracies={name: shaped(values) for name, values in with_accuracy.items()},
            models=models,
            diverged_at=shaped(ledger.diverged_at),
            stopped_at=shaped(ledger.stopped_at),
            learning_rates=self.rates,
            seeds=self.seeds,
            plan=self.plan,
            start=self.start,
        )


def _grouped(items: Iterator[Any], size: int) -> Iterator[list[Any]]:
    """Groups of one size, the last filled up with copies of the last item, so that one program serves all."""
    while batch := list(itertools.islice(items, size)):
        yield [*batch, *([batch[-1]] * (size - len(batch)))]


def _stacked(trees: Sequence[Any]) -> Any:
    """Leaves side by side on a new first axis; put together by NumPy, which is quicker than a program for every shape."""
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *trees)


def _listed(name: str, values: Any, default: Any) -> list[Any]:
    """Several numbers, or what they are unless given."""
    if values is None:
        return [default]
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name} must be a list of numbers, got {values!r}.")
    values = list(values)
    if not values:
        raise InputError(f"{name} is empty: give at least one.")
    return values


def _check_memory(runs: int, chunk: int, numbers: int, seeds_share: int) -> None:
    """Finished models of all runs, and for those at work parameters, gradients, moments and copies of them."""
    needed, free = 4 * numbers * (runs + 8 * chunk), available_memory()
    if free is not None and needed > 0.8 * free:
        fit = max(1, int(0.5 * free / (4 * numbers * seeds_share)))
        raise InputError(
            f"{runs} trained networks of {numbers} numbers each need {needed / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are free: "
            f"train about {fit} seeds at a time, or smaller networks."
        )
