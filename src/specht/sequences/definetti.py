r"""Is a hidden Markov model exchangeable, and which mixture of independent tokens is it?

With initial law $\pi$, transition $A$ and emission $B$, a sequence has probability $\pi\, T_{x_1} \cdots T_{x_T} 1$, where
$T_v = \mathrm{diag}(B_{\cdot v})\, A$.

*By structure* (`independent_classes`). States linked by transitions form a class, and the chain stays in the class it starts in. When the
next token has the same law from every state of a class, the first token included, the tokens of the class are independent. Static chains
($A = I$), memoryless ones ($A = 1 \pi^T$), single states and states that emit alike are all of this kind, and the mixture is read off.

*By algebra* (`order_never_matters`). The law is exchangeable if and only if exchanging two neighbours never matters,
$u\,(T_a T_b - T_b T_a)\,z = 0$ for all tokens $a, b$, all $u = \pi\, T_{x_1} T_{x_2} \cdots$ and all $z = T_{y_1} T_{y_2} \cdots 1$.
There are no more independent $u$ and $z$ than states, so this is decided for every chain, those included whose mixture cannot be read off.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

ROUNDING = 1e-12
"""Differences of probabilities, conditional on the tokens seen so far, that count as none."""


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
