r"""Hidden Markov models and their mixtures.

A hidden chain starts in state $i$ with probability $\pi_i$ (`initial`) and moves from $i$ to $j$ with probability $A_{ij}$
(`transition`). In state $i$ it emits token $v$ with probability $B_{iv}$ (`emission`). The probability of a sequence sums over all paths
of the chain, which the forward algorithm does one column at a time:

$$ \alpha_1(j) = \pi_j B_{j x_1}, \qquad
   \alpha_t(j) = \Big[ \sum_i \alpha_{t-1}(i)\, A_{ij} \Big] B_{j x_t}, \qquad
   p(x) = \sum_j \alpha_T(j) . $$

Is such a law exchangeable, and which mixture of independent tokens is it? With $T_v = \mathrm{diag}(B_{\cdot v})\, A$ a sequence has
probability $\pi\, T_{x_1} \cdots T_{x_T} 1$.

*By structure* (`independent_classes`). States linked by transitions form a class, and the chain stays in the class it starts in. When the
next token has the same law from every state of a class, the first token included, the tokens of the class are independent. Static chains
($A = I$), memoryless ones ($A = 1 \pi^T$), single states and states that emit alike are all of this kind, and the mixture is read off.

*By algebra* (`order_never_matters`). The law is exchangeable if and only if exchanging two neighbours never matters,
$u\,(T_a T_b - T_b T_a)\,z = 0$ for all tokens $a, b$, all $u = \pi\, T_{x_1} T_{x_2} \cdots$ and all $z = T_{y_1} T_{y_2} \cdots 1$.
There are no more independent $u$ and $z$ than states, so this is decided for every chain, those included whose mixture cannot be read off.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse.csgraph import connected_components

from specht.errors import InputError
from specht.sequences.law import Exchangeable, Source, check_probabilities, cumulative, log, log_sum, pick

_SMALLEST_EXPONENT = -700.0
"""Logarithm below which a product of probabilities may underflow."""
ROUNDING = 1e-12
"""Differences of probabilities, conditional on the tokens seen so far, that count as none."""


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
        object.__setattr__(self, "initial", check_probabilities("initial", self.initial))
        for name in ("transition", "emission"):
            object.__setattr__(self, name, check_probabilities(name, getattr(self, name), axes=2))
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
        object.__setattr__(self, "weights", check_probabilities("weights", self.weights))
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


def independent_classes(initial: np.ndarray, transition: np.ndarray, emission: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Weight (M,) and token probabilities (M, V) of each class of states, or None when the tokens of a class depend on each other.

    >>> weights, probabilities = independent_classes(np.array([0.25, 0.75]), np.eye(2), np.array([[0.5, 0.5], [0.9, 0.1]]))
    >>> weights
    array([0.25, 0.75])
    >>> probabilities
    array([[0.5, 0.5],
           [0.9, 0.1]])
    """
    reached = _reached(initial, transition)
    initial, transition, emission = initial[reached], transition[np.ix_(reached, reached)], emission[reached]
    count, label = connected_components(transition > 0, connection="weak")
    member = label == np.arange(count)[:, None]
    weights = member @ initial
    first = (member * initial) @ emission / weights[:, None]
    following = transition @ emission
    # Relative, since sums of products of probabilities are accurate however small: a token is impossible in both or in neither.
    if (np.abs(following - first[label]) > ROUNDING * first[label]).any():
        return None
    return weights, first


def _reached(initial: np.ndarray, transition: np.ndarray) -> np.ndarray:
    """Indices of the states that the chain can be in."""
    reached = initial > 0
    while True:
        grown = reached | (reached @ (transition > 0))
        if (grown == reached).all():
            return np.flatnonzero(reached)
        reached = grown


def order_never_matters(initial: np.ndarray, transition: np.ndarray, emission: np.ndarray) -> bool:
    """Whether the law of a hidden Markov model is exchangeable, to rounding."""
    pair = emission.T @ (initial[:, None] * transition) @ emission
    if np.abs(pair - pair.T).max() > ROUNDING:  # most laws show on two tokens already, which saves the rest
        return False
    maps = emission.T[:, :, None] * transition  # (V, K, K)
    past = _span(initial, maps)
    future = _span(np.ones(len(initial)), maps.transpose(0, 2, 1)).T
    before, after = past @ maps, maps @ future
    return all(np.abs(before[v] @ after - before @ after[v]).max() <= ROUNDING for v in range(len(maps)))


def _span(start: np.ndarray, maps: np.ndarray) -> np.ndarray:
    """As many linearly independent vectors `start @ maps[v] @ maps[w] ...` as there are, each scaled to a largest entry of one."""
    vectors, basis, waiting = [], np.empty((0, len(start))), [start]
    while waiting:
        vector = waiting.pop(0)
        if vector.max() == 0:  # an impossible sequence
            continue
        vector = vector / vector.max()
        rest = vector - (basis @ vector) @ basis
        rest -= (basis @ rest) @ basis  # once more: the first pass leaves rounding behind
        size = np.linalg.norm(rest)
        if size > ROUNDING:
            vectors.append(vector)
            basis = np.vstack([basis, rest / size])
            waiting.extend(vector @ maps)
    return np.array(vectors)
