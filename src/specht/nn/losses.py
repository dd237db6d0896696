r"""What training makes small, and how its success is told: one number a sample, from outputs $f$ and labels $y$.

| loss | | labels | accuracy |
|---|---|---|---|
| mse | $\|f - y\|^2$, summed over outputs | numbers (n, outputs) | none |
| hinge | $\max(0, 1 - y f)$, summed over outputs | −1 or 1, (n, outputs) | sign of the first output |
| logistic | $\log(1 + e^{-y f})$, summed over outputs | −1 or 1, (n, outputs) | sign of the first output |
| cross-entropy | $-\log \mathrm{softmax}(f)_y$, mean over columns | classes 0, 1, ... (n, columns) | largest outputs, of all columns |

Labels of several columns are as many choices: outputs are one group of classes a column, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Num

from specht.arrays import as_numpy
from specht.errors import InputError, unknown_choice

Loss = Literal["mse", "hinge", "logistic", "cross-entropy"]
Outputs: TypeAlias = Float[Array, "n outputs"]
Labels: TypeAlias = Num[Array, "n _"]


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
        if (array != np.floor(array)).any() or array.min() < 0:
            raise InputError(f"Labels of cross-entropy are classes 0, 1, ..., and {name} holds {_odd_one(array)}: number the classes.")
        return array.astype(np.int32)
    if loss in ("hinge", "logistic") and not np.isin(array, (-1, 1)).all():
        other = array[~np.isin(array, (-1, 1))].flat[0]
        raise InputError(f"Labels of the {loss} loss are -1 and 1, and {name} holds {other}: recode them.")
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


def _odd_one(array: np.ndarray) -> Any:
    return array[(array != np.floor(array)) | (array < 0)].flat[0]
