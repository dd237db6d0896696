r"""Perceptrons behind heads: any function of what heads read, exactly, with norms that do not depend on the length.

Heads give a point $y \in \mathbb R^h$ up to an error of $\gamma / 4$: the mean of $\pm 1$ over the positions that a symmetric function
reads ($h = 1$, which has $s + 1$ values), or one sign a position ($h = s$, of which there are $2^s$). Where points lie $\gamma$ apart, two
hidden layers of ReLU give a function any value at each of them (lemmas B.5, B.6 and B.8 of Edelman, Goel, Kakade & Zhang 2022). The first
has four units a point and coordinate, which make a trapezium,

$$ t(y) = \tfrac 8\gamma \big[ (z + \tfrac38\gamma)_+ - (z + \tfrac14\gamma)_+ - (z - \tfrac14\gamma)_+ + (z - \tfrac38\gamma)_+ \big] ,
   \qquad z = y - c , $$

one within $\gamma / 4$ of the coordinate $c$ and zero from $3 \gamma / 8$ on; the second has two units a point, which tell whether all
coordinates are there, $(\sum_i t_i - h + 1)_+ - (\sum_i t_i - h)_+$, and the readout has the values of the function.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from specht.checks import finite_number, whole_number
from specht.errors import InputError


@dataclasses.dataclass(frozen=True, eq=False)
class BumpNetwork:
    """A perceptron of two hidden layers, $w^T (W_2^T (W_1^T y + b_1)_+ + b_2)_+$."""

    first: np.ndarray
    """(coordinates, 4 x coordinates x points)"""
    first_bias: np.ndarray
    second: np.ndarray
    """(4 x coordinates x points, 2 x points)"""
    second_bias: np.ndarray
    readout: np.ndarray
    """(2 x points,)"""

    def __call__(self, y: Any) -> np.ndarray:
        """The outputs at points (n, coordinates)."""
        hidden = np.maximum(np.asarray(y, dtype=np.float64) @ self.first + self.first_bias, 0.0)
        return np.maximum(hidden @ self.second + self.second_bias, 0.0) @ self.readout

    @property
    def widths(self) -> tuple[int, int]:
        return self.first.shape[1], self.second.shape[1]

    @property
    def norms(self) -> dict[str, float]:
        """The largest weights of the two layers and of the readout, biases apart: what the lemmas bound."""
        return {name: float(np.abs(getattr(self, name)).max()) for name in ("first", "second", "readout")}


def bump_network(points: Any, values: Any, gamma: float) -> BumpNetwork:
    """The perceptron that gives each point (points, coordinates) its value, and so for all that lie within gamma / 4 of one.

    >>> network = bump_network([[-1.0], [0.0], [1.0]], [5.0, 0.0, -2.0], gamma=1.0)
    >>> network([[-1.2], [0.1], [0.8]]).round(12).tolist(), network.widths
    ([5.0, 0.0, -2.0], (12, 6))
    """
    points, values = np.asarray(points, dtype=np.float64), np.asarray(values, dtype=np.float64)
    gamma = finite_number("gamma", gamma, above=0.0)
    if points.ndim != 2 or not points.size or values.shape != points.shape[:1]:
        raise InputError(f"Points must be (points, coordinates) with a value each, got shapes {points.shape} and {values.shape}.")
    count, coordinates = points.shape
    apart = np.abs(points[:, None] - points[None]).max(axis=2)[np.triu_indices(count, 1)]
    if apart.size and apart.min() < gamma * (1.0 - 1e-12):
        raise InputError(f"Two points lie {apart.min():.3g} apart, less than gamma = {gamma:.3g}: take a smaller gamma.")
    edges = gamma * np.array([3 / 8, 1 / 4, -1 / 4, -3 / 8])  # where a trapezium bends, from the left
    slope = 8.0 / gamma
    first = np.zeros((coordinates, count, coordinates, 4))
    first[np.arange(coordinates), :, np.arange(coordinates)] = slope
    second = np.zeros((count, coordinates, 4, count, 2))
    second[np.arange(count), :, :, np.arange(count)] = np.array([1.0, -1.0, -1.0, 1.0])[:, None]
    return BumpNetwork(
        first=first.reshape(coordinates, -1),
        first_bias=(slope * (edges - points[:, :, None])).ravel(),
        second=second.reshape(4 * coordinates * count, 2 * count),
        second_bias=np.tile([1.0 - coordinates, -float(coordinates)], count),
        readout=np.stack([values, -values], axis=1).ravel(),
    )


def symmetric_bumps(values: Sequence[float], gamma: float) -> BumpNetwork:
    """Lemma B.5: a symmetric function of s bits, whose value for k ones is `values[k]`, behind a head that gives the mean of ±1."""
    support = len(values) - 1
    whole_number("number of values", len(values), at_least=2)
    return bump_network((2.0 * np.arange(support + 1)[:, None] - support) / support, values, gamma)


def table_bumps(values: Sequence[float], gamma: float) -> BumpNetwork:
    """Lemma B.6: any function of s bits, from its 2^s values in the order of binary numbers, behind s heads that read one bit each."""
    support = len(values).bit_length() - 1
    if len(values) < 2 or len(values) != 2**support:
        raise InputError(f"A table of s bits has 2^s values, at least two, got {len(values)}: fill it up.")
    return bump_network(list(itertools.product([-1.0, 1.0], repeat=support)), values, gamma)


def bump_bounds(support: int, gamma: float, largest: float, *, symmetric: bool) -> dict[str, float]:
    r"""What lemmas B.5 and B.6 state: widths of both layers, and largest weights, biases apart, $8 / \gamma$ (heads give at most one),
    $8 s / \gamma$ and max |f|.

    >>> bump_bounds(3, 0.5, largest=1.0, symmetric=True)
    {'width': 16, 'second width': 8, 'first': 16.0, 'second': 48.0, 'readout': 1.0}
    """
    points, coordinates = (support + 1, 1) if symmetric else (2**support, support)
    return {
        "width": 4 * coordinates * points,
        "second width": 2 * points,
        "first": 8.0 / gamma,
        "second": 8.0 * support / gamma,
        "readout": largest,
    }
