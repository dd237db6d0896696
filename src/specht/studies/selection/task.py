r"""Sparse token selection: average the few vectors that a query names.

The input is a sequence of $T$ Gaussian vectors $x_i \sim N(0, I_d)$ and a set $y$ of $q$ positions, uniform among all and independent of
the sequence. The target is (Wang, Wei, Hsu & Lee 2024, after Sanford, Hsu & Telgarsky 2023)

$$ \mathrm{STS}_q(x, y) = \frac1q \sum_{i \in y} x_i \in \mathbb R^d , \qquad \mathrm E\,\|\mathrm{STS}_q\|^2 = \frac dq . $$

Losses of this task are halves of squared errors, so that of the predictor zero is $d/2q$.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError

MOST_SETS = 10**6
"""Sets that are listed one by one."""


@dataclasses.dataclass(frozen=True)
class Selection:
    """The task: sequences of `length` vectors of `dimension` numbers, of which `support` are averaged.

    >>> task = Selection(length=6, support=2, dimension=3)
    >>> task.sets, task.trivial_loss, str(task)
    (15, 0.75, 'T=6 q=2 d=3')
    >>> tokens, chosen = task.draw(np.random.default_rng(0), 4)
    >>> tokens.shape, chosen.shape, task.target(tokens, chosen).shape
    ((4, 6, 3), (4, 2), (4, 3))
    """

    length: int
    support: int
    dimension: int

    def __post_init__(self) -> None:
        for name in ("length", "support", "dimension"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), 1))
        if self.support >= self.length:
            raise InputError(
                f"{self.support} of {self.length} positions are to be selected, which leaves none or too few to choose from: "
                "take a support below the length."
            )

    @property
    def sets(self) -> int:
        """How many sets of positions there are."""
        return math.comb(self.length, self.support)

    @property
    def trivial_loss(self) -> float:
        """Of the predictor zero: half the mean square of the target."""
        return self.dimension / (2 * self.support)

    def subsets(self) -> np.ndarray:
        """Every set of positions, one a row, in the order of a dictionary; refused where there are too many to list."""
        if self.sets > MOST_SETS:
            raise InputError(
                f"{self} has {self.sets} sets of positions, more than the {MOST_SETS} that are listed: draw some with draw_sets."
            )
        flat = itertools.chain.from_iterable(itertools.combinations(range(self.length), self.support))
        return np.fromiter(flat, dtype=np.int64, count=self.sets * self.support).reshape(-1, self.support)

    def draw_sets(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Uniform sets of positions (n, q), each in increasing order."""
        if self.support**2 > 4 * self.length:  # then one pass over all positions costs less than going back to the chosen ones
            return np.sort(np.argpartition(rng.random((n, self.length)), self.support, axis=1)[:, : self.support], axis=1)
        chosen = np.empty((n, self.support), dtype=np.int64)
        # Floyd's way: a position that is in the set already makes room for the last one, which is not.
        for place, last in enumerate(range(self.length - self.support, self.length)):
            drawn = rng.integers(last + 1, size=n)
            taken = (chosen[:, :place] == drawn[:, None]).any(axis=1)
            chosen[:, place] = np.where(taken, last, drawn)
        return np.sort(chosen, axis=1)

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Sequences (n, T, d) in float32, which is what networks read, and sets (n, q)."""
        return rng.standard_normal((n, self.length, self.dimension), dtype=np.float32), self.draw_sets(rng, n)

    def target(self, tokens: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """The mean of the chosen vectors, (n, d)."""
        return np.take_along_axis(tokens, chosen[..., None], axis=-2).mean(axis=-2)

    def __str__(self) -> str:
        return f"T={self.length} q={self.support} d={self.dimension}"
