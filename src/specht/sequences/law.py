r"""What every source of token sequences can do: be sampled, list its sequences, and say how probable one is.

A source is a law $p(x_1 \dots x_T)$ for every number $T$ of columns, consistent in the sense that leaving out the last column of
the law of $T + 1$ gives the law of $T$. It is *exchangeable* when $p$ does not depend on the order of the tokens. By de Finetti's
theorem it is then a mixture of independent tokens (`Exchangeable`), and the mixture is what the theory of the symmetric group needs.
"""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from specht.checks import whole_number
from specht.errors import InputError
from specht.sequences.tokens import check_sequences, every_sequence

ENUMERATION_LIMIT = 2**20
"""Most sequences that `enumerate` lists."""
_JOINT_LIMIT = 2**26
"""Most entries of a joint law: half a gigabyte."""
_BLOCK = 2**22
"""Random numbers drawn at a time, which bounds the memory of a large sample."""
_SUM_TOLERANCE = 1e-6
"""How far from one a sum of probabilities may be: what single precision leaves. It is then divided out."""
_SUM_ROUNDING = 1e-14
"""A sum as close to one as this is left alone, so that probabilities stay the same to the bit when they are handed on."""


class Moments(NamedTuple):
    """Joint laws of the tokens at one, two and three distinct positions."""

    p1: np.ndarray
    """p1[v], shape (V,)."""
    p2: np.ndarray
    """p2[w, v], shape (V, V)."""
    p3: np.ndarray
    """p3[w, v, v'], shape (V, V, V)."""


class Source(abc.ABC):
    """A law of token sequences of any length.

    `sample` counts context positions, as an architecture does: `length` of them and one readout token. Everything else counts columns.
    A new kind of source says what its vocabulary is, how uniform random numbers become tokens (`_uniforms`, `_tokens`), and its
    `_log_probability`, `_joint`, `is_exchangeable` and `_de_finetti`.
    """

    @property
    @abc.abstractmethod
    def vocab(self) -> int:
        """Number of tokens V."""

    @abc.abstractmethod
    def _uniforms(self, columns: int) -> int:
        """How many uniform random numbers one sequence takes."""

    @abc.abstractmethod
    def _tokens(self, uniforms: np.ndarray) -> np.ndarray:
        """The sequences (n, columns) that uniform random numbers (n, self._uniforms(columns)) stand for."""

    @abc.abstractmethod
    def _log_probability(self, x: np.ndarray) -> np.ndarray:
        """`log_probability` of tokens that are known to be good."""

    @abc.abstractmethod
    def _joint(self, positions: tuple[int, ...]) -> np.ndarray:
        """Probabilities (V^k,) of all tuples of tokens at k increasing positions, in lexicographic order."""

    @property
    @abc.abstractmethod
    def is_exchangeable(self) -> bool:
        """Whether the law is the same in any order of the tokens, at every length; decided from the parameters, to rounding."""

    @property
    @abc.abstractmethod
    def _de_finetti(self) -> Exchangeable | None:
        """The source as a mixture of independent tokens, where that can be read off its parameters."""

    @property
    def is_mixture(self) -> bool:
        """Whether `mixture` is known: exchangeable, and the mixture can be read off the parameters."""
        return self._de_finetti is not None

    def sample(self, seed: int, n: int, length: int) -> np.ndarray:
        """`n` sequences (n, length + 1): `length` context tokens and the readout token.

        The same seed gives the same numbers, and the first sequences stay the same when `n` grows.
        """
        rng = np.random.default_rng(whole_number("seed", seed, 0))
        return self.draw(rng, n, whole_number("length", length, 1) + 1)

    def draw(self, rng: np.random.Generator, n: int, columns: int) -> np.ndarray:
        """`n` sequences of `columns` tokens, drawn with a generator that moves on."""
        n, columns = whole_number("n", n, 1), whole_number("columns", columns, 1)
        uniforms = self._uniforms(columns)
        step = max(1, _BLOCK // uniforms)
        x = np.empty((n, columns), dtype=np.int32)
        for start in range(0, n, step):
            block = x[start : start + step]
            block[:] = self._tokens(rng.random((len(block), uniforms)))
        return x

    def log_probability(self, x: Any) -> np.ndarray:
        """Natural logarithm (n,) of the probability of each sequence; minus infinity for an impossible one."""
        return self._log_probability(check_sequences(self.vocab, x))

    def log_probability_of_counts(self, counts: Any) -> np.ndarray:
        """Log-probability (...) of one sequence with the given token counts (..., V), for an exchangeable source.

        Counts are those of all columns: the context, and one more for the readout token.
        """
        array = np.asarray(counts)
        if array.dtype.kind not in "iu" or array.ndim == 0 or array.shape[-1] != self.vocab:
            raise InputError(
                f"counts must be whole numbers with one column a token, so of shape (..., {self.vocab}), "
                f"got dtype {array.dtype} and shape {array.shape}."
            )
        if array.size and array.min() < 0:
            raise InputError(f"counts holds {array.min()}: a token cannot occur less than zero times.")
        return self.mixture._log_probability_of_counts(array)

    def enumerate(self, columns: int) -> tuple[np.ndarray, np.ndarray]:
        """All V^columns sequences, in lexicographic order, and their probabilities."""
        columns = whole_number("columns", columns, 1)
        states = self.vocab**columns
        if states > ENUMERATION_LIMIT:
            raise InputError(
                f"{self.vocab}^{columns} sequences (about 10^{columns * math.log10(self.vocab):.0f}) are too many to list, "
                f"at most {ENUMERATION_LIMIT}: use fewer columns, or sample."
            )
        return every_sequence(self.vocab, columns), self._joint(tuple(range(columns)))

    def joint(self, positions: Sequence[int]) -> np.ndarray:
        """Joint law of the tokens at distinct positions, counted from 0: one axis of size V a position, in the order given."""
        places = tuple(whole_number("a position", position, 0) for position in positions)
        if not places or len(set(places)) < len(places):
            raise InputError(f"positions must be distinct, and at least one, got {places}.")
        if self.vocab ** len(places) > _JOINT_LIMIT:
            raise InputError(
                f"the joint law of {len(places)} tokens out of {self.vocab} has {self.vocab ** len(places)} entries, "
                f"at most {_JOINT_LIMIT}: ask for fewer positions with `joint`."
            )
        law = self._joint(tuple(sorted(places))).reshape((self.vocab,) * len(places))
        return law.transpose(np.argsort(np.argsort(places)))

    def moments(self, positions: tuple[int, int, int] | None = None) -> Moments:
        """Joint laws of the tokens at the first, the first two and all three positions; exchangeable sources need no positions."""
        if positions is None:
            if not self.is_exchangeable:
                raise InputError(
                    "the moments of a source that is not exchangeable depend on the positions: name three, for example positions=(0, 1, 2)."
                )
            positions = (0, 1, 2)
        if len(positions) != 3:
            raise InputError(f"moments take three positions, got {len(positions)}: use `joint` for another number.")
        p3 = self.joint(positions)
        return Moments(p3.sum(axis=(1, 2)), p3.sum(axis=2), p3)

    @property
    def mixture(self) -> Exchangeable:
        """An exchangeable source in de Finetti's form, with `weights` (M,) and `probabilities` (M, V)."""
        if self._de_finetti is not None:
            return self._de_finetti
        if self.is_exchangeable:
            raise InputError(
                "this source is exchangeable, but the mixture of independent tokens that it is cannot be read off its transitions: "
                "build that mixture with `exchangeable`."
            )
        raise InputError(
            "this source is not exchangeable, so it is no mixture of independent tokens: "
            "use methods that sample, or see how far it is from one with `exchangeability_gap`."
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Exchangeable(Source):
    r"""A component is drawn for each sequence, then its tokens independently: $p(x) = \sum_m w_m \prod_a \theta_{m, x_a}$.

    >>> source = Exchangeable(weights=[0.5, 0.5], probabilities=[[0.9, 0.1], [0.2, 0.8]])
    >>> source.moments().p2.round(3)
    array([[0.425, 0.125],
           [0.125, 0.325]])
    """

    weights: np.ndarray
    """Mixture weights w_m, shape (M,)."""
    probabilities: np.ndarray
    """Token probabilities theta_mv, shape (M, V)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", check_probabilities("weights", self.weights))
        object.__setattr__(self, "probabilities", check_probabilities("probabilities", self.probabilities, axes=2))
        if len(self.weights) != len(self.probabilities):
            raise InputError(
                f"weights has {len(self.weights)} entries, but probabilities has {len(self.probabilities)} rows: give one weight a row."
            )

    @property
    def vocab(self) -> int:
        """Number of tokens V."""
        return self.probabilities.shape[1]

    @property
    def is_exchangeable(self) -> bool:
        return True

    @property
    def _de_finetti(self) -> Exchangeable:
        return self

    def _uniforms(self, columns: int) -> int:
        return 1 + columns

    def _tokens(self, uniforms: np.ndarray) -> np.ndarray:
        component = np.searchsorted(cumulative(self.weights), uniforms[:, 0], side="right")
        return pick(cumulative(self.probabilities), component, uniforms[:, 1:])

    def _log_probability(self, x: np.ndarray) -> np.ndarray:
        cells = x + self.vocab * np.arange(len(x))[:, None]
        counts = np.bincount(cells.ravel(), minlength=len(x) * self.vocab).reshape(len(x), self.vocab)
        return self._log_probability_of_counts(counts)

    def _log_probability_of_counts(self, counts: np.ndarray) -> np.ndarray:
        number = counts.astype(np.float64)
        impossible = self.probabilities == 0
        # A token that does not occur adds nothing, even where its probability is zero: 0 log 0 = 0.
        by_component = number @ log(np.where(impossible, 1.0, self.probabilities)).T
        by_component = np.where(number @ impossible.T > 0, -np.inf, by_component)
        return log_sum(by_component + log(self.weights))

    def _joint(self, positions: tuple[int, ...]) -> np.ndarray:
        table = self.weights[:, None]
        for _ in positions[1:]:
            table = (table[:, :, None] * self.probabilities[:, None, :]).reshape(len(self.weights), -1)
        return (table.T @ self.probabilities).ravel()


def check_probabilities(name: str, values: Any, axes: int = 1) -> np.ndarray:
    """Probabilities that add up to one, of one distribution or with two axes of one a row, as a read-only array.

    >>> check_probabilities("weights", [1, 0])
    array([1., 0.])
    """
    form = "a vector of probabilities" if axes == 1 else "a table with one distribution a row"
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} has rows of unequal length: give {form}.") from None
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name} has dtype {array.dtype}: give {form}.")
    if array.ndim != axes or array.size == 0:
        raise InputError(f"{name} must be {form}, got an array of shape {array.shape}.")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds {array[~np.isfinite(array)][0]}: give finite probabilities.")
    if array.min() < 0:
        raise InputError(f"{name} holds {array.min():g}, but a probability is not negative: give numbers from 0 to 1.")
    sums = array.sum(axis=-1, keepdims=True)
    wrong = np.flatnonzero(np.abs(sums - 1) > _SUM_TOLERANCE)
    if wrong.size:
        where = name if axes == 1 else f"row {wrong[0]} of {name}"
        raise InputError(f"{where} must add up to one, but the sum is {sums.flat[wrong[0]]:.8g}: divide by it.")
    array = np.where(np.abs(sums - 1) > _SUM_ROUNDING, array / sums, array)
    array.setflags(write=False)
    return array


def cumulative(probabilities: np.ndarray) -> np.ndarray:
    """Cumulative sums along the last axis that end in exactly one, so that rounding never draws an impossible outcome."""
    sums = probabilities.cumsum(axis=-1)
    return sums / sums[..., -1:]


def pick(sums: np.ndarray, rows: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Outcomes of uniform numbers (n, ...), entry i drawn from the distribution with cumulative sums `sums[rows[i]]`."""
    outcomes = np.empty(uniforms.shape, dtype=np.int32)
    for row in np.unique(rows):
        chosen = rows == row
        outcomes[chosen] = np.searchsorted(sums[row], uniforms[chosen], side="right")
    return outcomes


def log_sum(logarithms: np.ndarray) -> np.ndarray:
    """log sum exp along the last axis, for probabilities far below the smallest float."""
    return np.asarray(logsumexp(logarithms, axis=-1))


def log(probabilities: np.ndarray) -> np.ndarray:
    """Logarithm with log 0 = -inf and no warning."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)
