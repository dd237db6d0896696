"""The losses that every learning curve has, whether from theory, exact inference or networks: their names, meanings and words."""

from __future__ import annotations

from typing import Any

import numpy as np

from specht.results import Variable

LOSSES = ("test", "train", "ood", "learned")
"""Fields of a learning curve; `ood` is None without a test source."""
TARGET_SQUARED = "target squared"
_MEANING = {
    "test": "mean squared error on fresh sequences, against the target without noise",
    "train": "mean squared error on the training labels, noise included",
    "ood": "mean squared error out of distribution",
    "learned": "share of the target in the prediction",
}
_SHOWN = 6
"""Most numbers of samples that a summary shows."""


def axes_of(n_train: np.ndarray) -> tuple[str, ...]:
    """Names of the dimensions of a curve: `n_train`, unless several ridges make it a table."""
    return ("n_train",) if n_train.ndim == 1 else tuple(f"axis_{number}" for number in range(n_train.ndim))


def loss_variables(curve: Any, axes: tuple[str, ...], before: str = "") -> list[Variable]:
    """The losses of a curve, with their standard errors where it has them; `before` stands before their names."""
    variables = []
    for name in LOSSES:
        unit = "1" if name == "learned" else TARGET_SQUARED
        for end, words in (("", ""), ("_stderr", "standard error over datasets: ")):
            values = getattr(curve, name + end, None)
            if values is not None:
                variables.append(Variable(f"{before}{name}{end}", axes, values, words + _MEANING[name], unit))
    return variables


def describe_losses(curve: Any) -> str:
    """The test loss in a line."""
    if curve.n_train.ndim != 1:
        return f"test loss from {np.min(curve.test):.4g} to {np.max(curve.test):.4g} at {curve.n_train.size} points"
    count = len(curve.n_train)
    places = range(count) if count <= _SHOWN else [*range(_SHOWN - 2), count - 1]
    values = [f"{curve.test[place]:.4g} at N = {curve.n_train[place]:g}" for place in places]
    if count > _SHOWN:
        values.insert(-1, "...")
    return f"test loss {', '.join(values)}"
