r"""Heads that compute sparse functions, with their norms; perceptrons behind them; and what heads of unbounded norm can shatter.

A head whose scores are R at the s positions that a function reads, and at most about zero elsewhere, takes the mean over these positions:
by lemma B.7 the mass elsewhere is at most $2 (T - s) / (s e^R)$, so $R \approx \log(8 T / \gamma)$ is enough for an error of $\gamma / 4$,
and norms grow with the logarithm of T. What it takes there is $\pm 1$ by the bit, so its output is $\frac1s \sum_{i \in I} \chi_i$.

With positions that overlap a little, $|v_i \cdot v_j| \le \Delta$, the key of the paper, $\sum_{i \in I} v_i$, has unequal overlaps with
its own summands, which R multiplies: the mean is not uniform, and its error not small. The dual key has overlap one with each.

Heads give a perceptron behind them a point $y \in \mathbb R^h$ up to an error of $\gamma / 4$: the mean of $\pm 1$ over the positions that
a symmetric function reads ($h = 1$, which has $s + 1$ values), or one sign a position ($h = s$, of which there are $2^s$). Where points lie
$\gamma$ apart, two hidden layers of ReLU give a function any value at each of them, with norms that do not depend on the length (lemmas
B.5, B.6 and B.8 of Edelman, Goel, Kakade & Zhang 2022). The first has four units a point and coordinate, which make a trapezium,

$$ t(y) = \tfrac 8\gamma \big[ (z + \tfrac38\gamma)_+ - (z + \tfrac14\gamma)_+ - (z - \tfrac14\gamma)_+ + (z - \tfrac38\gamma)_+ \big] ,
   \qquad z = y - c , $$

one within $\gamma / 4$ of the coordinate $c$ and zero from $3 \gamma / 8$ on; the second has two units a point, which tell whether all
coordinates are there, $(\sum_i t_i - h + 1)_+ - (\sum_i t_i - h)_+$, and the readout has the values of the function.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from specht.checks import finite_number, whole_number
from specht.errors import InputError
from specht.sequences import dual_code


@dataclasses.dataclass(frozen=True, eq=False)
class SparseHead:
    """One head on tokens (rows) and a class token, $W_C^T W_V^T X^T softmax(X W_K W_Q^T x_cls)$."""

    query: np.ndarray
    """(width, k)"""
    key: np.ndarray
    value: np.ndarray
    mix: np.ndarray
    """(k, k)"""
    symbol: np.ndarray
    """The class token, (width,)."""
    positions: np.ndarray
    """What positions add to tokens, (T, width)."""
    tokens: np.ndarray
    """Embeddings of the bits 0 and 1, (2, width)."""

    def __call__(self, x: Any) -> np.ndarray:
        """The output for bits (n, T), one number each."""
        x = np.asarray(x)
        return np.array([self._output(row) for row in x])

    def attention(self, bits: np.ndarray) -> np.ndarray:
        """How much is taken from each token of one sequence."""
        stream = self._stream(bits)
        scores = stream @ (self.key @ (self.query.T @ self.symbol))
        weights = np.exp(scores - scores.max())
        return weights / weights.sum()

    def _stream(self, bits: np.ndarray) -> np.ndarray:
        return self.tokens[bits] + self.positions

    def _output(self, bits: np.ndarray) -> float:
        mixed = self._stream(bits).T @ self.attention(bits)
        return float((self.mix.T @ (self.value.T @ mixed))[0])

    @property
    def norms(self) -> dict[str, float]:
        """Frobenius norms of the four matrices."""
        return {name: float(np.linalg.norm(getattr(self, name))) for name in ("query", "key", "value", "mix")}


def fixed_positions_head(codes: np.ndarray, chosen: Sequence[int], gamma: float, *, dual: bool = True) -> SparseHead:
    """Lemma B.2: positions are given codes (dimension, T) of norm one, and the head takes the mean of ±1 over the chosen ones.

    `dual` takes the key that has overlap one with each chosen code; otherwise it is their sum, as the lemma has it.
    """
    codes, places = np.asarray(codes, dtype=np.float64), _chosen(chosen, codes.shape[1])
    dimension, length = codes.shape
    key = dual_code(codes, places) if dual else codes[:, places].sum(axis=1)
    strength = _strength(codes, places, key, length, gamma)
    # Tokens 0 and 1 and the class symbol have dimensions of their own behind those of positions.
    zero, one, symbol = np.eye(dimension + 3)[dimension:]
    return SparseHead(
        query=strength * symbol[:, None],
        key=np.concatenate([key, np.zeros(3)])[:, None],
        value=(one - zero)[:, None],
        mix=np.ones((1, 1)),
        symbol=symbol,
        positions=np.concatenate([codes.T, np.zeros((length, 3))], axis=1),
        tokens=np.stack([zero, one]),
    )


def trained_positions_head(length: int, chosen: Sequence[int], gamma: float) -> SparseHead:
    r"""Lemma B.3: positions are trained, and only the chosen ones have a vector, so that $\|P^T\|_{2,1} = s$ and the key has norm one."""
    zero, one, symbol, mark = np.eye(4)
    positions = np.zeros((length, 4))
    positions[_chosen(chosen, length)] = mark
    strength = math.log(8 * length / _gamma(gamma))
    return SparseHead(
        strength * symbol[:, None], mark[:, None], (one - zero)[:, None], np.ones((1, 1)), symbol, positions, np.stack([zero, one])
    )


def norm_bounds(lemma: str, support: int, length: int, gamma: float) -> dict[str, float]:
    """The Frobenius norms that lemmas B.2 and B.3 state for codes that do not overlap, by matrix.

    >>> {name: round(bound, 2) for name, bound in norm_bounds("B.2", 3, 12, 1 / 3).items()}
    {'query': 5.66, 'key': 3, 'value': 2, 'mix': 1}
    """
    if lemma in ("B.2", "B.3"):
        return {"query": math.log(8 * length / gamma), "key": support if lemma == "B.2" else 1, "value": 2, "mix": 1}
    raise InputError(f"Norms are stated by lemmas B.2 and B.3, got {lemma!r}: choose one of them.")


def _strength(codes: np.ndarray, chosen: np.ndarray, key: np.ndarray, length: int, gamma: float) -> float:
    """What scores are multiplied by: log(8 T / γ) over the gap between those at chosen positions and the others."""
    overlaps = codes.T @ key
    others = np.delete(overlaps, chosen)
    gap = float(overlaps[chosen].min() - others.max(initial=0.0))
    if gap <= 0.0:
        raise InputError(
            f"Some other code is as near to the key as the chosen ones (gap {gap:.3g}): take longer codes than {len(codes)} dimensions."
        )
    return math.log(8 * length / _gamma(gamma)) / gap


def _chosen(chosen: Sequence[int], length: int) -> np.ndarray:
    places = np.asarray([whole_number("position", place, at_least=0, at_most=length - 1) for place in chosen])
    if not len(places) or len(set(places.tolist())) < len(places):
        raise InputError(f"Positions must be different and at least one, got {list(chosen)}.")
    return places


def _gamma(gamma: float) -> float:
    return finite_number("gamma", gamma, above=0.0)


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


def shattering_head(position: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Proposition 4.4: query-key and value vectors of the head that reads one position out of T on a circle."""
    angle = 2 * math.pi * position / length
    return length**2 * np.array([math.cos(angle), math.sin(angle), 0.0]), np.array([0.0, 0.0, 1.0])


def shattered_inputs(length: int) -> np.ndarray:
    """Proposition 4.4: ⌊log₂ T⌋ sequences of T tokens in three dimensions, (sequences, T, 3), that heads of any norm shatter at 1/2.

    Tokens lie on a circle, and the third coordinate of token t in sequence i is the i-th binary digit of t.
    """
    count = math.floor(math.log2(whole_number("length", length, at_least=2)))
    t = np.arange(length)
    circle = np.stack([np.cos(2 * np.pi * t / length), np.sin(2 * np.pi * t / length)], axis=1)
    return np.stack([np.concatenate([circle, (t >> i & 1)[:, None].astype(float)], axis=1) for i in range(count)])


def head_output(x: np.ndarray, query_key: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The head of proposition 4.4 on sequences (n, T, 3)."""
    scores = x @ query_key
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return ((weights / weights.sum(axis=1, keepdims=True)) * (x @ value)).sum(axis=1)
