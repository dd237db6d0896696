r"""Hidden Markov models and their mixtures.

A hidden chain starts in state $i$ with probability $\pi_i$ (`initial`) and moves from $i$ to $j$ with probability $A_{ij}$
(`transition`). In state $i$ it emits token $v$ with probability $B_{iv}$ (`emission`). The probability of a sequence sums over all paths
of the chain, which the forward algorithm does one column at a time:

$$ \alpha_1(j) = \pi_j B_{j x_1}, \qquad
   \alpha_t(j) = \Big[ \sum_i \alpha_{t-1}(i)\, A_{ij} \Big] B_{j x_t}, \qquad
   p(x) = \sum_j \alpha_T(j) . $$
"""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from specht.errors import InputError
from specht.sequences.checks import probability_table, probability_vector
from specht.sequences.definetti import independent_classes, order_never_matters
from specht.sequences.exchangeable import Exchangeable
from specht.sequences.law import Source, cumulative, log, log_sum, pick

_SMALLEST_EXPONENT = -700.0
"""Logarithm below which a product of probabilities may underflow."""


@dataclasses.dataclass(frozen=True, eq=False)
class HiddenMarkov(Source):
    """A hidden Markov model; a Markov chain is one whose states are seen (`emission` is the identity).

    >>> source = HiddenMarkov(initial=[1, 0], transition=[[0.5, 0.5], [0, 1]], emission=[[0.9, 0.1], [0.2, 0.8]])
    >>> np.exp(source.log_probability([[0, 1], [1, 0]])).round(3)
    array([0.405, 0.055])
    >>> source.is_exchangeable
    False
    """

    initial: np.ndarray
    """Probabilities of the first state, shape (K,)."""
    transition: np.ndarray
    """Probabilities of the next state, one row a state, shape (K, K)."""
    emission: np.ndarray
    """Probabilities of the token, one row a state, shape (K, V)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "initial", probability_vector("initial", self.initial))
        for name in ("transition", "emission"):
            object.__setattr__(self, name, probability_table(name, getattr(self, name)))
        states = len(self.initial)
        if self.transition.shape != (states, states):
            raise InputError(
                f"transition has shape {self.transition.shape}, but initial names {states} states: give one row and one column a state."
            )
        if len(self.emission) != states:
            raise InputError(f"emission has {len(self.emission)} rows, but initial names {states} states: give one row a state.")

    @property
    def vocab(self) -> int:
        """Number of tokens V."""
        return self.emission.shape[1]

    @cached_property
    def _states_are_seen(self) -> bool:
        """Whether each state emits the token of its own number, so that nothing is hidden."""
        return self.emission.shape == self.transition.shape and bool((np.diag(self.emission) == 1).all())

    @cached_property
    def is_exchangeable(self) -> bool:
        if self._de_finetti is not None:
            return True
        # A chain that is seen is exchangeable in no other way: p(a, b, c) = p(b, a, c) makes the rows of linked states equal.
        return not self._states_are_seen and order_never_matters(self.initial, self.transition, self.emission)

    @cached_property
    def _de_finetti(self) -> Exchangeable | None:
        form = independent_classes(self.initial, self.transition, self.emission)
        return form and Exchangeable(*form)

    def _uniforms(self, columns: int) -> int:
        return 2 * columns

    def _tokens(self, uniforms: np.ndarray) -> np.ndarray:
        first, moves, tokens = cumulative(self.initial), cumulative(self.transition), cumulative(self.emission)
        state = np.searchsorted(first, uniforms[:, 0], side="right")
        columns = [pick(tokens, state, uniforms[:, 1])]
        for t in range(2, uniforms.shape[1], 2):
            state = pick(moves, state, uniforms[:, t])
            columns.append(pick(tokens, state, uniforms[:, t + 1]))
        return np.stack(columns, axis=1)

    def _log_probability(self, x: np.ndarray) -> np.ndarray:
        if self._de_finetti is not None:
            return self._de_finetti._log_probability(x)
        if self._states_are_seen:
            return log(self.initial)[x[:, 0]] + log(self.transition)[x[:, :-1], x[:, 1:]].sum(axis=1)
        emission, moves = log(self.emission), log(self.transition)
        forward = log(self.initial)[:, None] + emission[:, x[:, 0]]  # (K, n): states first, so that sums over few states are fast
        for column in x[:, 1:].T:
            forward = self._moved(forward, moves) + emission[:, column]
        return log_sum(forward.T)

    def _moved(self, forward: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """log sum_i exp(forward_i) A_ij: by a matrix product, and term by term for the sequences where that could underflow."""
        top = forward.max(axis=0)
        top[np.isneginf(top)] = 0.0
        relative = forward - top
        moved = top + log(self.transition.T @ np.exp(relative))
        smallest = _SMALLEST_EXPONENT - moves[np.isfinite(moves)].min()
        wide = ((relative < smallest) & np.isfinite(relative)).any(axis=0)
        if wide.any():
            moved[:, wide] = np.stack([log_sum(forward[:, wide].T + into) for into in moves.T])
        return moved

    def _joint(self, positions: tuple[int, ...]) -> np.ndarray:
        steps = np.diff(positions, prepend=0)
        table = self.initial[None, :] @ np.linalg.matrix_power(self.transition, steps[0])  # (V^j, K): j tokens seen, and the state
        for step in steps[1:]:
            seen = (table[:, None, :] * self.emission.T).reshape(-1, len(self.initial))
            table = seen @ np.linalg.matrix_power(self.transition, step)
        return (table @ self.emission).ravel()


@dataclasses.dataclass(frozen=True, eq=False)
class MixtureOfHMMs(Source):
    """For each sequence one of several hidden Markov models is drawn, and it emits the whole sequence.

    >>> coin = HiddenMarkov([1], [[1]], [[0.5, 0.5]])
    >>> switch = HiddenMarkov([0.5, 0.5], [[0, 1], [1, 0]], [[1, 0], [0, 1]])
    >>> _, p = MixtureOfHMMs([0.5, 0.5], (coin, switch)).enumerate(2)
    >>> p
    array([0.125, 0.375, 0.375, 0.125])
    """

    weights: np.ndarray
    """Mixture weights, shape (M,)."""
    components: tuple[HiddenMarkov, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", probability_vector("weights", self.weights))
        object.__setattr__(self, "components", tuple(self.components))
        if len(self.weights) != len(self.components):
            raise InputError(f"weights has {len(self.weights)} entries for {len(self.components)} components: give one weight a component.")
        for component in self.components:
            if not isinstance(component, HiddenMarkov):
                raise InputError(
                    f"a component must be a hidden Markov model, got {type(component).__name__}: build it with `hmm` or `markov`."
                )
        vocabs = sorted({component.vocab for component in self.components})
        if len(vocabs) > 1:
            raise InputError(f"the components have vocabularies of {vocabs} tokens: give every emission the same number of columns.")

    @property
    def vocab(self) -> int:
        """Number of tokens V."""
        return self.components[0].vocab

    @cached_property
    def one_chain(self) -> HiddenMarkov:
        """The same law as a single hidden Markov model, whose chain never leaves the component it starts in."""
        return HiddenMarkov(
            np.concatenate([weight * part.initial for weight, part in zip(self.weights, self.components, strict=True)]),
            np.asarray(block_diag(*(part.transition for part in self.components))),
            np.concatenate([part.emission for part in self.components]),
        )

    @property
    def is_exchangeable(self) -> bool:
        return self.one_chain.is_exchangeable

    @property
    def _de_finetti(self) -> Exchangeable | None:
        return self.one_chain._de_finetti

    def _uniforms(self, columns: int) -> int:
        return 1 + 2 * columns

    def _tokens(self, uniforms: np.ndarray) -> np.ndarray:
        chosen = np.searchsorted(cumulative(self.weights), uniforms[:, 0], side="right")
        x = np.empty((len(uniforms), uniforms.shape[1] // 2), dtype=np.int32)
        for number in np.unique(chosen):
            rows = chosen == number
            x[rows] = self.components[number]._tokens(uniforms[rows, 1:])
        return x

    def _log_probability(self, x: np.ndarray) -> np.ndarray:
        if self._de_finetti is not None:
            return self._de_finetti._log_probability(x)
        by_component = np.stack([component._log_probability(x) for component in self.components], axis=1)
        return log_sum(by_component + log(self.weights))

    def _joint(self, positions: tuple[int, ...]) -> np.ndarray:
        return self.one_chain._joint(positions)
