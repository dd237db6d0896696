r"""Training of attention that selects tokens: from a setting and a seed to losses at every length and support that is asked for.

Losses are halves of squared errors, $\frac12 \mathrm E \|f - \mathrm{STS}_q\|^2$, and so learning rates of gradient descent are those of
the exact dynamics (`specht.studies.selection.theory`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError
from specht.nn import Fresh, Keeper, Optimiser, RateSchedule, Recipe, Trained, train
from specht.progress import Progress
from specht.studies.selection.model import (
    Codes,
    Query,
    SelectionModel,
    drawing,
    held_out,
    keys_cosine,
    off_block_share,
    rows_of,
    selection_forward,
    values_cosine,
)
from specht.studies.selection.task import Selection

_TOGETHER = 512
"""Sequences that a model is called with."""
MEASURES = {"keys_cosine": keys_cosine, "values_cosine": values_cosine, "off_block": off_block_share}


@dataclasses.dataclass(frozen=True, kw_only=True)
class SelectionTraining:
    """How attention is trained to select tokens, and what it is tested on."""

    task: Selection
    code: int | None = None
    """Dimension of the codes; one-hot codes have that of the length."""
    codes: Codes | str = "stochastic"
    query: Query | str = "dual"
    optimiser: Optimiser | str = "sgd"
    learning_rate: float = 1.0
    schedule: RateSchedule | str = "constant"
    steps: int = 6000
    batch: int = 256
    scale: float = 0.0
    """Standard deviation of the entries of both matrices at the start."""
    lengths: tuple[int, ...] = ()
    """Other lengths to test at."""
    supports: tuple[int, ...] = ()
    """Other numbers of chosen positions to test with."""
    pairs: tuple[tuple[int, int], ...] = ()
    """Lengths with numbers of chosen positions to test both at once."""
    sees_query: bool = False
    """Whether the query is a key too, beside the tokens."""
    patience: int | None = None
    """Records without a better loss of validation after which training stops and the best model is kept."""
    n_test: int = 1024
    records: int = 60

    def __post_init__(self) -> None:
        whole_number("n_test", self.n_test, 2)
        if self.codes == "one-hot" and any(length != self.task.length for length in self._all_lengths):
            raise InputError(f"One-hot codes know the {self.task.length} positions of training only: test other lengths with random codes.")
        for other in (*self._all_lengths, *self._all_supports):
            whole_number("a test length or support", other, 1)

    @property
    def room(self) -> int:
        return max(self.task.support, *self._all_supports, 0)

    @property
    def _all_lengths(self) -> tuple[int, ...]:
        return (*self.lengths, *(length for length, _ in self.pairs))

    @property
    def _all_supports(self) -> tuple[int, ...]:
        return (*self.supports, *(support for _, support in self.pairs))

    def tests(self) -> dict[str, Selection]:
        """What is tested on, by name: the task itself, then other lengths, other supports, and both at once."""
        own = self.task
        longer = {f"T={length}": dataclasses.replace(own, length=length) for length in self.lengths}
        denser = {f"q={support}": dataclasses.replace(own, support=support) for support in self.supports}
        both = {f"T={length} q={q}": dataclasses.replace(own, length=length, support=q) for length, q in self.pairs}
        return {"validation": own, **longer, **denser, **both}

    def start(self, key: Any) -> SelectionModel:
        """The model at the start."""
        longest = max(self.task.length, *self._all_lengths, 0)
        asked = {"codes": self.codes, "query": self.query, "sees_query": self.sees_query}
        return SelectionModel.init(self.task, self.code, key=key, **asked, scale=self.scale, longest=longest, room=self.room)

    def recipe(self) -> Recipe:
        # The loss of training is the whole squared error; Adam does not see the difference.
        rate = self.learning_rate * (1.0 if self.optimiser in ("adam", "adamw") else 0.5)
        return Recipe(
            steps=self.steps,
            learning_rate=rate,
            optimiser=self.optimiser,
            schedule=self.schedule,
            batch=self.batch,
            records=self.records,
            patience=self.patience,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class SelectionRun:
    """One training: losses by set, numbers of the model, and the model."""

    training: SelectionTraining
    steps: np.ndarray
    losses: dict[str, np.ndarray]
    """Half the mean squared error on "validation", "T=75", "q=5" and so on, and of the last batch on "train", record by record."""
    measures: dict[str, np.ndarray]
    """Cosines of both matrices with the ground truth, and their share off its blocks."""
    trained: Trained

    def variables(self) -> dict[str, Any]:
        """Losses along set and step, measures along step, and both matrices at the start and at the end: what a dataset is made of."""
        losses = {"loss": (("set", "step"), np.stack([values for name, values in self.losses.items() if name != "train"]))}
        measures = {name: ("step", np.asarray(values, np.float64)) for name, values in self.measures.items()}
        matrices = {
            f"{name}_{when}": ((rows, "column"), np.asarray(getattr(model, name), np.float64))
            for when, model in (("start", self.first_model), ("end", self.model))
            for name, rows in (("keys", "row"), ("values", "output"))
        }
        return losses | measures | matrices

    def coordinates(self) -> dict[str, Any]:
        """The sets and steps that losses stand along."""
        return {"set": [name for name in self.losses if name != "train"], "step": self.steps}

    @property
    def stop(self) -> int:
        """The record of the model that is kept: the last one, or the best one where training stops by `patience`."""
        return len(self.steps) - 1 if self.training.patience is None else int(np.argmin(self.losses["validation"]))

    def query_share(self, n: int = 1024, seed: int = 0) -> float:
        """How much of its attention the model at the end gives to the query, on average over so many fresh samples."""
        import jax
        import jax.numpy as jnp

        tokens, chosen = self.training.task.draw(np.random.default_rng([seed, 1]), n)
        seen = self.model.attend(jnp.asarray(rows_of(tokens, chosen, self.model.room)), jax.random.key(seed))
        return float(seen.on_query.mean())

    @property
    def model(self) -> SelectionModel:
        return self.trained.model()

    @property
    def first_model(self) -> SelectionModel:
        return self.trained.first_model()

    def function(self, first: bool = False) -> Callable[[Any, Any], np.ndarray]:
        """The model at the end, or at the start, as a function of sequences (n, T, d) and sets (n, q), with one draw of codes."""
        return as_function(self.first_model if first else self.model)


def train_selection(
    training: SelectionTraining, seed: int = 0, *, checkpoint: Keeper | None = None, progress: Progress | None = None
) -> SelectionRun:
    """Train from one seed, with fresh samples at every step; a learning rate that diverges is refused.

    >>> setting = SelectionTraining(task=Selection(8, 2, 3), codes="one-hot", learning_rate=1.0, steps=400, records=5)
    >>> trained = train_selection(setting)
    >>> bool(trained.losses["validation"][-1] < 0.1 < 0.7 < trained.losses["validation"][0])
    True
    """
    sets = {name: held_out(task, training.n_test, seed, training.room) for name, task in training.tests().items()}
    trained = train(
        training.start,
        Fresh(drawing(training.task, training.room)),
        training.recipe(),
        seeds=[seed],
        evaluate=sets | MEASURES,
        forward=selection_forward,
        checkpoint=checkpoint,
        progress=progress,
    )
    if trained.diverged.any():
        raise InputError(
            f"Learning rate {training.learning_rate:g} diverges by step {int(trained.diverged_at.max())} of {training.steps}: take a "
            f"smaller one, of gradient descent well below 2q = {2 * training.task.support}."
        )
    curves = {name: values[0, 0, 0].astype(np.float64) for name, values in trained.losses.items()}
    measures = {name: curves.pop(name) for name in MEASURES}
    losses = {name: values / 2 for name, values in curves.items()}
    return SelectionRun(training, trained.steps, losses, measures, trained)


def as_function(model: SelectionModel, seed: int = 0) -> Callable[[Any, Any], np.ndarray]:
    """A model as a function of sequences and sets, with one draw of codes: what is permuted in a symmetry profile are sequences alone."""
    import equinox as eqx
    import jax

    key, call = jax.random.key(seed), eqx.filter_jit(selection_forward)

    def function(tokens: Any, chosen: Any) -> np.ndarray:
        shapes = np.shape(tokens), np.shape(chosen)
        if tuple(map(len, shapes)) != (3, 2) or shapes[0][0] != shapes[1][0]:
            raise InputError(f"The model takes sequences (n, T, d) and as many sets (n, q), got shapes {shapes[0]} and {shapes[1]}.")
        if model.longest is not None and shapes[0][1] > model.longest:
            raise InputError(f"The model has codes for {model.longest} positions, and sequences have {shapes[0][1]}: give shorter ones.")
        if not len(tokens):
            return np.zeros((0, len(model.values)))
        rows = rows_of(np.asarray(tokens, np.float32), np.asarray(chosen), model.room)
        filled = np.resize(rows, (-(-len(rows) // _TOGETHER) * _TOGETHER, rows.shape[1]))  # one program for any number of sequences
        values = [np.asarray(call(model, block, key), np.float64) for block in np.split(filled, len(filled) // _TOGETHER)]
        return np.concatenate(values)[: len(rows)]

    return function
