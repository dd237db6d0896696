r"""How a network is trained: steps, optimiser, schedule, loss, when to stop and what to record.

A loss is one number a sample, from outputs $f$ and labels $y$:

| loss | | labels | accuracy |
|---|---|---|---|
| mse | $\|f - y\|^2$, summed over outputs | numbers (n, outputs) | none |
| hinge | $\max(0, 1 - y f)$, summed over outputs | −1 or 1, (n, outputs) | sign of the first output |
| logistic | $\log(1 + e^{-y f})$, summed over outputs | −1 or 1, (n, outputs) | sign of the first output |
| cross-entropy | $-\log \mathrm{softmax}(f)_y$, mean over columns | classes 0, 1, ... (n, columns) | largest outputs, of all columns |

Labels of several columns are as many choices: outputs are one group of classes a column, one after the other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Num

from specht.arrays import as_numpy
from specht.checks import finite_number, whole_number
from specht.errors import InputError, explains_calls, unknown_choice

Loss = Literal["mse", "hinge", "logistic", "cross-entropy"]
Optimiser = Literal["sgd", "momentum", "adam", "adamw"]
RateSchedule = Literal["constant", "cosine", "linear"]
DecayTo = Literal["zero", "start"]
Outputs: TypeAlias = Float[Array, "n outputs"]
Labels: TypeAlias = Num[Array, "n _"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """A way to train; every run of `train` follows the same one, with a seed, a dataset and a learning rate of its own.

    >>> Recipe(steps=1000, learning_rate=0.01, optimiser="adam").record_steps().tolist()[:5]
    [0, 1, 2, 3, 4]
    """

    steps: int
    learning_rate: Any
    optimiser: Optimiser | str = "sgd"
    momentum: Any = 0.9
    """Momentum of the optimiser "momentum"."""
    batch: int | None = None
    """Samples a step; None takes all of a fixed dataset. Fixed datasets are gone through in a new random order every epoch, of which
    what does not fill a batch is left out."""
    loss: Loss | str = "mse"
    """Averaged over the batch."""
    weight_decay: Any = 0.0
    r"""Adds $\frac{w}{2} |\theta - \theta_*|^2$ to the loss; "adamw" takes it past the moments, straight to the step."""
    decay_to: DecayTo | str = "zero"
    r"""Where weight decay pulls to: zero, or the values at the start."""
    schedule: RateSchedule | str = "constant"
    """constant; cosine and linear fall to zero over the steps after `warmup`."""
    warmup: int = 0
    """Steps over which the learning rate rises from zero."""
    output_scale: Any = 1.0
    """What outputs are multiplied by: large values keep the network near its tangent kernel, small ones let it learn features."""
    centred: bool = False
    """Whether the output at the start is subtracted, so that training begins from the function zero."""
    stop_below: Any = None
    """Training ends where the training loss is recorded at this value or less."""
    patience: int | None = None
    """Training ends after this many records without a better loss on the set that is watched ("validation" if there is one, else the
    training data), and the best network is kept."""
    records: int = 25
    """About how many times losses are recorded, evenly on a logarithmic scale of steps."""

    def __post_init__(self) -> None:
        whole_number("steps", self.steps, at_least=1)
        whole_number("warmup", self.warmup, at_least=0, at_most=self.steps)
        whole_number("records", self.records, at_least=1)
        for name in ("batch", "patience"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), at_least=1)
        for name, choices in (("optimiser", Optimiser), ("schedule", RateSchedule), ("decay_to", DecayTo), ("loss", Loss)):
            if getattr(self, name) not in get_args(choices):
                raise unknown_choice(name, getattr(self, name), get_args(choices))
        for name in ("learning_rate", "output_scale"):
            object.__setattr__(self, name, finite_number(name, getattr(self, name), above=0.0))
        object.__setattr__(self, "weight_decay", finite_number("weight_decay", self.weight_decay, at_least=0.0))
        object.__setattr__(self, "momentum", finite_number("momentum", self.momentum, at_least=0.0, below=1.0))
        if self.stop_below is not None:
            finite_number("stop_below", self.stop_below, at_least=0.0)

    def record_steps(self) -> np.ndarray:
        """Steps after which losses are recorded: the first, the last, and between them evenly in the logarithm, without repetition."""
        grid = np.unique(np.rint(np.geomspace(1, self.steps, self.records)).astype(int)) if self.records > 1 else np.array([self.steps])
        return np.concatenate([[0], grid])

    @property
    def keeps_start(self) -> bool:
        """Whether the values at the start are needed later on."""
        return self.centred or (self.weight_decay > 0 and self.decay_to == "start")

    @property
    def may_stop(self) -> bool:
        return self.stop_below is not None or self.patience is not None

    def transformation(self, learning_rate: Any, anchor: Any) -> optax.GradientTransformation:
        """The optimiser at one learning rate, which may be traced; `anchor` is what weight decay pulls to, None for zero."""
        moments = {
            "sgd": optax.identity(),
            "momentum": optax.trace(self.momentum),
            "adam": optax.scale_by_adam(),
            "adamw": optax.scale_by_adam(),
        }[self.optimiser]
        decay = decay_towards(self.weight_decay, anchor) if self.weight_decay else optax.identity()
        order = (moments, decay) if self.optimiser == "adamw" else (decay, moments)
        return optax.chain(*order, optax.scale_by_schedule(lambda count: -learning_rate * self._share(jnp.asarray(count, jnp.float32))))

    def _share(self, count: Any) -> Any:
        """The learning rate of a step, as a share of the largest."""
        left = self.steps - self.warmup
        falling: optax.Schedule = {
            "constant": optax.constant_schedule(1.0),
            "cosine": optax.cosine_decay_schedule(1.0, max(1, left)),
            "linear": optax.linear_schedule(1.0, 0.0, left),
        }[self.schedule]
        if not self.warmup:
            return falling(count)
        return optax.join_schedules([optax.linear_schedule(0.0, 1.0, self.warmup), falling], [self.warmup])(count)


# Here, and not above the class: the checks of types that tests switch on go on top of its decorators.
explains_calls(Recipe)


def decay_towards(rate: Any, anchor: Any = None) -> optax.GradientTransformation:
    r"""Adds $w (\theta - \theta_*)$ to gradients; `rate` is one number or a tree of them, and no anchor means zero."""

    def decayed(updates: Any, params: Any) -> Any:
        apart = params if anchor is None else jax.tree.map(jnp.subtract, params, anchor)
        rates = jax.tree.map(lambda _: rate, params) if isinstance(rate, float) else rate
        return jax.tree.map(lambda update, value, weight: update + weight * value, updates, apart, rates)

    return optax.stateless(decayed)


class Judgement(NamedTuple):
    """How a loss is computed."""

    loss: Callable[[Outputs, Labels], Float[Array, " n"]]
    correct: Callable[[Outputs, Labels], Float[Array, " n"]] | None
    """One where the prediction is right and zero elsewhere; None for numbers, which are never just right."""


def _choices(outputs: Outputs, labels: Labels) -> Float[Array, "n columns classes"]:
    return outputs.reshape(len(outputs), labels.shape[1], -1)


def _same_sign(outputs: Outputs, labels: Labels) -> Float[Array, " n"]:
    return (outputs[:, 0] * labels[:, 0] > 0).astype(jnp.float32)


JUDGEMENTS: dict[str, Judgement] = {
    "mse": Judgement(lambda f, y: optax.losses.squared_error(f, y).sum(axis=-1), None),
    "hinge": Judgement(lambda f, y: optax.losses.hinge_loss(f, y).sum(axis=-1), _same_sign),
    "logistic": Judgement(lambda f, y: optax.losses.sigmoid_binary_cross_entropy(f, (y + 1) / 2).sum(axis=-1), _same_sign),
    "cross-entropy": Judgement(
        lambda f, y: optax.losses.softmax_cross_entropy_with_integer_labels(_choices(f, y), y).mean(axis=-1),
        lambda f, y: (_choices(f, y).argmax(axis=-1) == y).all(axis=-1).astype(jnp.float32),
    ),
}


def check_labels(loss: str, y: Any, name: str = "y") -> np.ndarray:
    """Labels as (..., n, columns) in the type that the loss reads, or an `InputError`.

    >>> check_labels("hinge", [[1], [-1]]).dtype
    dtype('float32')
    """
    if loss not in JUDGEMENTS:
        raise unknown_choice("loss", loss, get_args(Loss))
    array = as_numpy(y, name)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} has dtype {array.dtype}, but labels are numbers: encode them first.")
    if array.size == 0:
        raise InputError(f"{name} is empty (shape {array.shape}): give at least one sample.")
    if not np.isfinite(array).all():
        where = np.argwhere(~np.isfinite(array))[0].tolist()
        raise InputError(f"{name} holds {array[tuple(where)]} at {where}: leave out samples whose label is not a finite number.")
    if loss == "cross-entropy":
        no_class = array[(array != np.floor(array)) | (array < 0)]
        if no_class.size:
            raise InputError(f"Labels of cross-entropy are classes 0, 1, ..., and {name} holds {no_class.flat[0]}: number the classes.")
        return array.astype(np.int32)
    other = array[~np.isin(array, (-1, 1))]
    if loss in ("hinge", "logistic") and other.size:
        raise InputError(f"Labels of the {loss} loss are -1 and 1, and {name} holds {other.flat[0]}: recode them.")
    return array.astype(np.float32)


def check_outputs(loss: str, outputs: tuple[int, ...], y: np.ndarray) -> None:
    """Refuse outputs that do not fit the labels (datasets, n, columns): they would be stretched to each other's shape without a word."""
    n, columns = y.shape[-2:]
    if len(outputs) != 2 or outputs[0] != n:
        raise InputError(f"The model turns {n} inputs into outputs of shape {outputs}: it must give ({n}, number of outputs).")
    if loss != "cross-entropy":
        if outputs[1] != columns:
            raise InputError(f"The model has {outputs[1]} outputs and labels have {columns} columns: give as many of one as of the other.")
        return
    if outputs[1] % columns:
        raise InputError(
            f"Labels of cross-entropy have {columns} columns, and {outputs[1]} outputs cannot be shared out between them: "
            f"give a multiple of {columns}."
        )
    if y.max() >= outputs[1] // columns:
        share = f"{outputs[1]} outputs" if columns == 1 else f"{outputs[1] // columns} outputs a column"
        raise InputError(f"Labels name class {int(y.max())} and the model has {share}, one for each class: give it more.")
