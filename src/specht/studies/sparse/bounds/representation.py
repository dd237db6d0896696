r"""Heads that compute sparse functions, with their norms; and what heads of unbounded norm can shatter.

A head whose scores are R at the s positions that a function reads, and at most about zero elsewhere, takes the mean over these positions:
by lemma B.7 the mass elsewhere is at most $2 (T - s) / (s e^R)$, so $R \approx \log(8 T / \gamma)$ is enough for an error of $\gamma / 4$,
and norms grow with the logarithm of T. What it takes there is $\pm 1$ by the bit, so its output is $\frac1s \sum_{i \in I} \chi_i$.

With positions that overlap a little, $|v_i \cdot v_j| \le \Delta$, the key of the paper, $\sum_{i \in I} v_i$, has unequal overlaps with
its own summands, which R multiplies: the mean is not uniform, and its error not small. The dual key has overlap one with each.
"""

from __future__ import annotations

import dataclasses
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
    tokens: np.ndarray | None
    """Embeddings of the bits 0 and 1, (2, width); None for a bag, which holds the positions of the ones and the class token."""

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
        if self.tokens is None:
            return np.concatenate([self.positions[bits > 0], self.symbol[None]])
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


def bag_head(codes: np.ndarray, chosen: Sequence[int], gamma: float) -> SparseHead:
    """Lemma B.4: the input is the bag of the codes of the ones, and the class token; outputs grow with the number of chosen ones.

    The key marks the chosen codes and the class token alike, so n chosen ones give 2 s n / (n + 1), whose steps are at least 1/s.
    """
    codes, places = np.asarray(codes, dtype=np.float64), _chosen(chosen, codes.shape[1])
    dimension, length = codes.shape
    mark = dual_code(codes, places)
    strength = _strength(codes, places, mark, 4 * len(places) ** 2 * length, gamma)
    symbol, mark = np.eye(dimension + 1)[dimension], np.append(mark, 0.0)
    return SparseHead(
        query=strength * symbol[:, None],
        key=(mark + symbol)[:, None],
        value=2.0 * mark[:, None],
        mix=np.full((1, 1), float(len(places))),
        symbol=symbol,
        positions=np.concatenate([codes.T, np.zeros((length, 1))], axis=1),
        tokens=None,
    )


def norm_bounds(lemma: str, support: int, length: int, gamma: float, overlap: float = 0.0) -> dict[str, float]:
    """The Frobenius norms that lemmas B.2, B.3 and B.4 state, by matrix; `overlap` is Δ.

    >>> {name: round(bound, 2) for name, bound in norm_bounds("B.2", 3, 12, 1 / 3).items()}
    {'query': 5.66, 'key': 3, 'value': 2, 'mix': 1}
    """
    s, free = support, 1.0 - support * overlap
    if free <= 0.0:
        raise InputError(f"Codes overlap by {overlap:.3g}, and s = {s} of them by {s * overlap:.3g}: the lemmas need less than 1.")
    if lemma == "B.2":
        return {"query": math.log(8 * length / gamma) / free, "key": s, "value": 2, "mix": 1}
    if lemma == "B.3":
        return {"query": math.log(8 * length / gamma), "key": 1, "value": 2, "mix": 1}
    if lemma == "B.4":
        if gamma <= s * overlap:
            raise InputError(f"Lemma B.4 needs gamma above s times the overlap, {s * overlap:.3g}, got {gamma:.3g}: take longer codes.")
        return {"query": math.log(8 * length * s * (1 + overlap) / (gamma - s * overlap)) / free, "key": s + 1, "value": 2 * s, "mix": s}
    raise InputError(f"Norms are stated by lemmas B.2, B.3 and B.4, got {lemma!r}: choose one of them.")


def leaked_mass(length: int, support: int, strength: float) -> float:
    """Lemma B.7: the softmax differs from the mean over s positions with scores of at least R by at most 2 (T - s) / (s e^R)."""
    return 2 * (length - support) / (support * math.exp(strength))


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
