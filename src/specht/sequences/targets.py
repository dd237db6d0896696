r"""What is to be learnt: functions of token sequences, with what is known of their symmetry.

A target is a function $g(x)$ of the context and the readout token, with one output or several. By the symmetric group that permutes the
context, it splits into levels: a part at level m singles out m positions.

| target | | levels |
|---|---|---|
| `counts` | share of the context that shows one token | 0 |
| `next_token` | one-hot of the token that follows; the best prediction only counts tokens if the source is exchangeable | 0 |
| `level` | $g_m \propto \prod_{j \le m} ([x_{2j-1} = v] - [x_{2j} = v])$ | m alone |
| `conjunction`, `disjunction`, `majority`, `parity` | of $[x_a = v]$ at the first s positions | 0 to s |

Boolean functions take the values 1 and -1. Any other function becomes a target by `Target(name, function)`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from specht.arrays import as_numpy
from specht.checks import whole_number
from specht.errors import InputError, check_choice, explains_calls
from specht.sequences.law import Source
from specht.sequences.tokens import check_sequences, input_array

__all__ = [
    "TARGETS",
    "NextToken",
    "Setting",
    "Target",
    "conjunction",
    "counts",
    "disjunction",
    "labelled",
    "level",
    "majority",
    "next_token",
    "parity",
    "target",
]


def __dir__() -> list[str]:
    return sorted(__all__)


Function = Callable[[np.ndarray], Any]


@explains_calls
@dataclasses.dataclass(frozen=True)
class Target:
    """A function to be learnt, from tokens (n, columns) to values (n,) or (n, outputs).

    >>> first = Target("first token", lambda x: x[:, 0] == 1)
    >>> first(np.array([[1, 0], [0, 0]]))
    array([[1.],
           [0.]])
    """

    name: str
    function: Function
    outputs: int = 1
    pairs: int | None = None
    """The number m of leading pairs of positions, (1, 2) to (2m-1, 2m), in each of which the function is antisymmetric, where it lies in
    the irrep [L-m,m] alone; 0 for a function that ignores order. None where neither is known: then it is decomposed like any function."""
    reads: tuple[int, ...] | None = None
    """Positions that the function singles out, being symmetric in all others of the context; found by trying them unless given."""

    def __call__(self, x: Any) -> np.ndarray:
        """Values without noise, shape (n, outputs), float64."""
        x = input_array(x)
        try:
            values = as_numpy(self.function(x), f"what target {self.name!r} returns")
            if values.dtype.kind == "c":
                raise TypeError("they are complex")
            values = values.astype(np.float64)
        except InputError:
            raise
        except Exception as error:  # a user's function may raise anything
            fault = f"{type(error).__name__}: {error}"
            raise InputError(f"Target {self.name!r} does not turn tokens of shape {x.shape} into numbers ({fault}).") from None
        values = values[:, None] if values.ndim == 1 else values
        if values.shape != (len(x), self.outputs):
            raise InputError(
                f"Target {self.name!r} gave an array of shape {values.shape} for {len(x)} sequences: give {self.outputs} value(s) for "
                "each, or say how many there are with outputs."
            )
        if not np.isfinite(values).all():
            raise InputError(f"Target {self.name!r} gave {values[~np.isfinite(values)][0]} for a sequence: give finite values.")
        return values

    def draw(self, source: Source, rng: np.random.Generator, n: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
        """Sequences (n, columns) and their labels (n, outputs)."""
        x = source.draw(rng, n, columns)
        return x, self(x)

    def label_variance(self, x: np.ndarray) -> np.ndarray:
        """Variance of the labels around the target at each sequence, summed over outputs, shape (n,): zero where they are its values."""
        return np.zeros(len(x))


@dataclasses.dataclass(frozen=True)
class NextToken(Target):
    """The token that follows a sequence, as one-hot labels; the target itself is its probability given the sequence."""

    def draw(self, source: Source, rng: np.random.Generator, n: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
        x = source.draw(rng, n, columns + 1)
        return x[:, :-1], np.eye(self.outputs)[x[:, -1]]

    def label_variance(self, x: np.ndarray) -> np.ndarray:
        p = self(x)
        return (p * (1.0 - p)).sum(axis=1)


def next_token(source: Source) -> NextToken:
    """The next token of a source: labels are drawn, and the best possible prediction is known.

    >>> from specht.sequences.sources import markov
    >>> next_token(markov([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]]))(np.array([[0, 1], [1, 0]])).round(3)
    array([[0.2, 0.8],
           [0.9, 0.1]])
    """

    def probabilities(x: np.ndarray) -> np.ndarray:
        longer = [np.concatenate([x, np.full((len(x), 1), token, dtype=x.dtype)], axis=1) for token in range(source.vocab)]
        logs = np.stack([source.log_probability(sequences) for sequences in longer], axis=1)
        top = logs.max(axis=1, keepdims=True)
        if np.isneginf(top).any():
            raise InputError("A sequence is impossible under the source, so nothing can follow it: give sequences that the source draws.")
        weights = np.exp(logs - top)
        return weights / weights.sum(axis=1, keepdims=True)

    return NextToken("next token", probabilities, source.vocab, pairs=0 if source.is_exchangeable else None)


def counts(length: int, token: int = 1) -> Target:
    """Share of the context that shows one token."""
    length, token = whole_number("length", length, 1), whole_number("token", token)
    return Target("counts", lambda x: (x[:, :length] == token).mean(axis=1), pairs=0, reads=())


def level(m: int, length: int, token: int = 1, source: Source | None = None) -> Target:
    """A function of level m and no other, with mean square one under an exchangeable source.

    >>> from specht.sequences.sources import uniform
    >>> level(1, length=4, source=uniform(2))(np.array([[1, 0, 0, 0, 0]])).round(4)
    array([[1.4142]])
    """
    length, token = whole_number("length", length, 1), whole_number("token", token)
    m = whole_number("level m", m)
    if 2 * m > length:
        raise InputError(f"A function of level {m} needs {2 * m} positions, and the context has {length}: take a lower level (support).")
    norm = 1.0
    if source is not None and source.is_mixture:
        theta = source.mixture.probabilities[:, token]
        norm = math.sqrt(float(source.mixture.weights @ (2.0 * theta * (1.0 - theta)) ** m))
    if norm == 0.0:
        raise InputError(
            f"Token {token} never varies under this source, so no function of level {m} can be built on it: take another token."
        )

    def product(x: np.ndarray) -> np.ndarray:
        shown = (x[:, : 2 * m] == token).astype(np.float64)
        return (shown[:, 0::2] - shown[:, 1::2]).prod(axis=1) / norm

    return Target(f"level {m}", product, pairs=m, reads=tuple(range(2 * m)))


def conjunction(support: int, length: int, token: int = 1) -> Target:
    """AND of the first `support` positions."""
    return _boolean("and", support, length, token, lambda ones, s: ones == s)


def disjunction(support: int, length: int, token: int = 1) -> Target:
    """OR of the first `support` positions."""
    return _boolean("or", support, length, token, lambda ones, s: ones > 0)


def majority(support: int, length: int, token: int = 1) -> Target:
    """Whether more than half of the first `support` positions show the token."""
    return _boolean("majority", support, length, token, lambda ones, s: 2 * ones > s)


def parity(support: int, length: int, token: int = 1) -> Target:
    """Whether an odd number of the first `support` positions show the token."""
    return _boolean("parity", support, length, token, lambda ones, s: ones % 2 == 1)


def labelled(x: Any, labels: Any, vocab: int) -> Target:
    """A target that is known on the given sequences alone, from labels (n,) or (n, outputs).

    >>> labelled([[0, 1], [1, 1]], [0.5, 2.0], vocab=2)(np.array([[1, 1]]))
    array([[2.]])
    """
    x, y = check_sequences(vocab, x), as_numpy(labels, "labels").astype(np.float64)
    y = y[:, None] if y.ndim == 1 else y
    if len(x) != len(y):
        raise InputError(f"There are {len(x)} sequences and {len(y)} labels: give one label a sequence.")
    table = {row.tobytes(): value for row, value in zip(x, y, strict=True)}

    def look_up(sequences: np.ndarray) -> np.ndarray:
        rows = np.ascontiguousarray(sequences, dtype=x.dtype)
        missing = next((row for row in rows if row.tobytes() not in table), None)
        if missing is not None:
            raise InputError(f"The sequence {' '.join(map(str, missing))} has no label: ask only for those that were given.")
        return np.array([table[row.tobytes()] for row in rows]).reshape(len(rows), -1)

    return Target("labels", look_up, outputs=y.shape[1])


def _boolean(name: str, support: int, length: int, token: int, holds: Callable[[np.ndarray, int], np.ndarray]) -> Target:
    length, token = whole_number("length", length, 1), whole_number("token", token)
    support = whole_number("support", support, 1, length)

    def signs(x: np.ndarray) -> np.ndarray:
        return np.where(holds((x[:, :support] == token).sum(axis=1), support), 1.0, -1.0)

    return Target(f"{name} of {support}", signs, pairs=0 if support == length else None, reads=tuple(range(support % length)))


class Setting(NamedTuple):
    """What a named target is built for."""

    source: Source
    length: int
    support: int = 2
    """Positions that it reads, or the level m of `level`."""
    token: int = 1


TARGETS: dict[str, Callable[[Setting], Target]] = {
    "counts": lambda s: counts(s.length, s.token),
    "next-token": lambda s: next_token(s.source),
    "level": lambda s: level(s.support, s.length, s.token, s.source),
    "and": lambda s: conjunction(s.support, s.length, s.token),
    "or": lambda s: disjunction(s.support, s.length, s.token),
    "majority": lambda s: majority(s.support, s.length, s.token),
    "parity": lambda s: parity(s.support, s.length, s.token),
}
"""Targets by name, as the command line knows them."""


def target(name: str, setting: Setting) -> Target:
    """A target by its name."""
    check_choice("target", name, TARGETS)
    if not 0 <= setting.token < setting.source.vocab:
        raise InputError(f"token must be from 0 to {setting.source.vocab - 1} for {setting.source.vocab} tokens, got {setting.token}.")
    return TARGETS[name](setting)
