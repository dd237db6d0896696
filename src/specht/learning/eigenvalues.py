"""Eigenvalues and target weights of one's own, in place of a spectrum and a task: all that a learning curve depends on."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from specht.checks import finite_number
from specht.errors import InputError
from specht.learning.target_content import Content, left_over


@dataclasses.dataclass(frozen=True, eq=False)
class Eigenvalues:
    """A kernel by its eigenvalues and a target by its weights, whatever they come from: a paper, a Gram matrix, another kernel.

    >>> import specht
    >>> own = Eigenvalues(values=[0.5, 0.01], degeneracies=[1, 50], weights=[0.2, 0.8])
    >>> specht.learning_curve(own, n_train=[10, 100, 1000], ridge=0.1).test.round(3)
    array([0.72 , 0.029, 0.   ])
    """

    values: Any
    """Distinct eigenvalues of the kernel operator, shape (M,), in any unit."""
    degeneracies: Any
    """How many orthogonal eigenfunctions each of them has, shape (M,)."""
    weights: Any
    """Mean square of the target in the eigenspace of each, shape (M,)."""
    rest: float = 0.0
    """Mean square of the target outside all of them, which is never learnt."""
    trace: float | None = None
    """E[k(x, x)], the unit of the ridge: the sum of degeneracy times eigenvalue unless given. What is left of it lies in functions that are
    not listed, and acts on all others as a ridge."""

    def __post_init__(self) -> None:
        for name in ("values", "degeneracies", "weights"):
            object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        sizes = [len(array) for array in (self.values, self.degeneracies, self.weights)]
        if len(set(sizes)) > 1:
            words = "values, degeneracies and weights must be three lists of one length"
            raise InputError(f"{words}, got {', '.join(map(str, sizes))} numbers: give one of each for every eigenvalue.")
        object.__setattr__(self, "rest", finite_number("rest", self.rest, at_least=0.0))
        total = float(self.values @ self.degeneracies)
        trace = total if self.trace is None else finite_number("trace", self.trace, above=0.0)
        if not trace > 0.0:
            raise InputError("All eigenvalues are zero, so nothing is learnt: give at least one that is positive.")
        if trace < total * (1.0 - 1e-9):
            raise InputError(f"trace must be at least the sum of degeneracy times eigenvalue, {total:.6g}, got {trace:.6g}.")
        object.__setattr__(self, "trace", trace)

    def content(self) -> Content:
        """Turn kernel and target into what the theory takes, in units of the trace."""
        assert self.trace is not None  # set in __post_init__
        eigenvalues = self.values / self.trace
        return Content(
            rows=(),
            eigenvalues=eigenvalues,
            degeneracies=self.degeneracies,
            weights=self.weights,
            weights_stderr=np.zeros(len(self.weights)),
            total=float(self.weights.sum()) + self.rest,
            mean_square=0.0,
            tail=left_over(eigenvalues, self.degeneracies),
        )


def _numbers(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a list of numbers, got {values!r}.") from None
    if array.ndim != 1 or not array.size:
        raise InputError(f"{name} must be a list of at least one number, got an array of shape {array.shape}.")
    if not np.isfinite(array).all() or (array < 0.0).any():
        raise InputError(f"{name} must be finite and not negative, got {array[~(np.isfinite(array) & (array >= 0.0))][0]:g}.")
    return array
