r"""Where token sequences come from: every source by name.

    source = specht.sources.exchangeable(weights, probabilities)
    x = source.sample(seed=0, n=100, length=16)                    # (100, 17): context and readout token

A source can be sampled (`sample`, `draw`), gives probabilities (`log_probability`, `enumerate`, `joint`, `moments`), and knows whether the
order of its tokens matters (`is_exchangeable`). If it does not, `mixture` is its form as a mixture of independent tokens.

Build one from numbers with `uniform`, `iid`, `exchangeable`, `markov`, `hmm`, `mixture_of_hmms`, and measure how much order matters with
`exchangeability_gap`.

The data of the theory are sequences from a mixture of hidden Markov models. Such a mixture is exchangeable, as the theory asks, when
every hidden chain forgets its state at each step (*memoryless*, $A = 1 \pi^T$) or keeps it for ever (*static*, $A = I$). A generic one
is not: permuting its positions changes its law by a total variation of a few hundredths.

| in training | |
|---|---|
| `default_mixture` | exactly exchangeable |
| `graded_mixture` | the same, order-broken by a degree $\epsilon$: $A = (1 - \epsilon)\, 1 \pi^T + \epsilon\, \mathrm{shift}$ |
| `generic_mixture` | every chain drawn at random |

| out of distribution | |
|---|---|
| `reweighted` | same components, other weights |
| `redrawn` | new components, more extreme ones; an exchangeable source stays exchangeable |
| `order_broken` | later tokens depend on earlier ones: $A \to (1 - \epsilon) A + \epsilon\, \mathrm{shift}$ |
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from specht.checks import fraction, positive, whole_number
from specht.errors import InputError, check_choice
from specht.sequences.exchangeability import Gap, exchangeability_gap, require_exchangeable
from specht.sequences.hmm import HiddenMarkov, MixtureOfHMMs
from specht.sequences.law import Exchangeable, Moments, Source, check_probabilities

__all__ = [
    "Exchangeable",
    "Gap",
    "HiddenMarkov",
    "MixtureOfHMMs",
    "Moments",
    "Source",
    "default_mixture",
    "exchangeability_gap",
    "exchangeable",
    "generic_mixture",
    "graded_mixture",
    "hmm",
    "iid",
    "markov",
    "mixture_of_hmms",
    "order_broken",
    "redrawn",
    "require_exchangeable",
    "reweighted",
    "uniform",
]


Chain = Literal["memoryless", "static"]
_Weighted = TypeVar("_Weighted", Exchangeable, MixtureOfHMMs)


def __dir__() -> list[str]:
    return sorted(__all__)


def uniform(vocab: int) -> Exchangeable:
    """Independent tokens, all equally probable.

    >>> uniform(4).sample(seed=0, n=2, length=5)
    array([[1, 0, 0, 3, 3, 2],
           [2, 3, 3, 0, 3, 0]], dtype=int32)
    """
    vocab = whole_number("vocab", vocab, 1)
    return iid(np.full(vocab, 1 / vocab))


def iid(probabilities: Any) -> Exchangeable:
    """Independent tokens with given probabilities (V,).

    >>> float(np.exp(iid([0.25, 0.75]).log_probability([0, 1, 1])[0]))
    0.140625
    """
    return Exchangeable(np.ones(1), check_probabilities("probabilities", probabilities)[None, :])


def exchangeable(weights: Any, probabilities: Any) -> Exchangeable:
    """A mixture of independent tokens: for each sequence row m of `probabilities` (M, V) is chosen with probability `weights[m]`.

    >>> exchangeable([0.5, 0.5], [[1, 0], [0, 1]]).enumerate(columns=2)[1]
    array([0.5, 0. , 0. , 0.5])
    """
    return Exchangeable(weights, probabilities)


def markov(initial: Any, transition: Any) -> HiddenMarkov:
    """A Markov chain of tokens: the first has probabilities `initial` (V,), the one after token v row v of `transition` (V, V).

    >>> markov([1, 0], [[0.5, 0.5], [1, 0]]).enumerate(columns=2)[1]
    array([0.5, 0.5, 0. , 0. ])
    """
    first = check_probabilities("initial", initial)
    return HiddenMarkov(first, transition, np.eye(len(first)))


def hmm(initial: Any, transition: Any, emission: Any) -> HiddenMarkov:
    """A hidden Markov model: probabilities of the first state (K,), of the next state (K, K), and of the token in each state (K, V).

    >>> hmm([0.5, 0.5], [[0, 1], [1, 0]], [[1, 0, 0], [0, 0.5, 0.5]]).joint([0, 1])
    array([[0.  , 0.25, 0.25],
           [0.25, 0.  , 0.  ],
           [0.25, 0.  , 0.  ]])
    """
    return HiddenMarkov(initial, transition, emission)


def mixture_of_hmms(weights: Any, components: Sequence[HiddenMarkov]) -> MixtureOfHMMs:
    """A mixture of hidden Markov models, one of which is chosen for each sequence.

    >>> static = hmm([0.5, 0.5], [[1, 0], [0, 1]], [[0.9, 0.1], [0.1, 0.9]])
    >>> fair = hmm([1], [[1]], [[0.5, 0.5]])
    >>> mixture_of_hmms([0.5, 0.5], [static, fair]).mixture.weights
    array([0.25, 0.25, 0.5 ])
    """
    return MixtureOfHMMs(weights, tuple(components))


def default_mixture(vocab: int = 4, hidden: int = 2, components: int = 4, seed: int = 0, chain: Chain = "memoryless") -> MixtureOfHMMs:
    r"""A mixture of hidden Markov models that is exactly exchangeable: the data for which the theory is exact.

    Weights are uniform; emissions and initial laws $\pi$ are drawn from Dirichlet(2). A memoryless chain has $A = 1 \pi^T$, a static one
    $A = I$.

    >>> source = default_mixture(vocab=3)
    >>> source.is_exchangeable, source.mixture.probabilities.shape
    (True, (4, 3))
    """
    check_choice("chain", chain, ("memoryless", "static"))
    initials, emissions = _initials_and_emissions(vocab, hidden, components, _generator(seed))
    transitions = [np.eye(hidden) if chain == "static" else np.tile(initial, (hidden, 1)) for initial in initials]
    return _uniform_mixture(initials, transitions, emissions)


def graded_mixture(epsilon: float, vocab: int = 4, hidden: int = 2, components: int = 4, seed: int = 0) -> MixtureOfHMMs:
    r"""`default_mixture` with its order broken by a degree: $A = (1 - \epsilon)\, 1 \pi^T + \epsilon\, \mathrm{shift}$.

    >>> graded_mixture(0.0).is_exchangeable, graded_mixture(0.1).is_exchangeable
    (True, False)
    """
    return order_broken(default_mixture(vocab, hidden, components, seed), epsilon)


def generic_mixture(vocab: int = 4, hidden: int = 2, components: int = 4, seed: int = 0, stationary: bool = False) -> MixtureOfHMMs:
    """A mixture of hidden Markov models with nothing special about them, so not exchangeable.

    It has the weights, emissions and initial laws of `default_mixture`; each row of a transition is uniform on the simplex. With
    `stationary` every chain starts in its stationary law instead.

    >>> generic_mixture().is_exchangeable
    False
    """
    rng = _generator(seed)
    initials, emissions = _initials_and_emissions(vocab, hidden, components, rng)
    transitions = rng.dirichlet(np.ones(hidden), size=(components, hidden))
    if stationary:
        initials = np.array([_stationary_law(transition) for transition in transitions])
    return _uniform_mixture(initials, transitions, emissions)


def reweighted(source: _Weighted, weights: Any) -> _Weighted:
    """Out of distribution: the same components with other mixture weights.

    >>> reweighted(default_mixture(components=2), [0.9, 0.1]).weights
    array([0.9, 0.1])
    """
    _check_kind("reweighted", source, (Exchangeable, MixtureOfHMMs))
    return dataclasses.replace(source, weights=weights)


def redrawn(source: _Weighted, seed: int, concentration: float = 0.5) -> _Weighted:
    """Out of distribution: every emission is drawn anew from a Dirichlet law; weights and hidden chains stay.

    At a concentration of 0.5 the new components are more extreme than those of `default_mixture`, at 2 they are of the same kind.
    """
    _check_kind("redrawn", source, (Exchangeable, MixtureOfHMMs))
    rng, alpha = _generator(seed), np.full(source.vocab, positive("concentration", concentration))
    if isinstance(source, Exchangeable):
        return dataclasses.replace(source, probabilities=rng.dirichlet(alpha, size=len(source.weights)))
    parts = [dataclasses.replace(part, emission=rng.dirichlet(alpha, size=len(part.initial))) for part in source.components]
    return dataclasses.replace(source, components=tuple(parts))


def order_broken(source: MixtureOfHMMs, epsilon: float) -> MixtureOfHMMs:
    r"""Out of distribution: the order of the tokens begins to matter, by a degree `epsilon` from 0 to 1.

    Every transition becomes $(1 - \epsilon) A + \epsilon\, \mathrm{shift}$, where the shift takes hidden state $i$ to $i + 1$ and the last
    to the first.
    """
    _check_kind("order_broken", source, (MixtureOfHMMs,))
    epsilon = fraction("epsilon", epsilon)
    if epsilon > 0 and all(len(part.initial) == 1 for part in source.components):
        raise InputError("every component has a single hidden state, which cannot be shifted: use two or more hidden states.")
    parts = [
        dataclasses.replace(part, transition=(1 - epsilon) * part.transition + epsilon * np.roll(np.eye(len(part.initial)), 1, axis=1))
        for part in source.components
    ]
    return dataclasses.replace(source, components=tuple(parts))


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(whole_number("seed", seed, 0))


def _initials_and_emissions(vocab: int, hidden: int, components: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Initial laws (components, hidden) and emissions (components, hidden, vocab) from Dirichlet(2)."""
    for name, value in (("vocab", vocab), ("hidden", hidden), ("components", components)):
        whole_number(name, value, 1)
    emissions = rng.dirichlet(np.full(vocab, 2.0), size=(components, hidden))
    return rng.dirichlet(np.full(hidden, 2.0), size=components), emissions


def _uniform_mixture(initials: Any, transitions: Any, emissions: Any) -> MixtureOfHMMs:
    parts = tuple(HiddenMarkov(*part) for part in zip(initials, transitions, emissions, strict=True))
    return MixtureOfHMMs(np.full(len(parts), 1 / len(parts)), parts)


def _stationary_law(transition: np.ndarray) -> np.ndarray:
    """The law that one step of the chain leaves as it is: pi A = pi, and adding up to one."""
    hidden = len(transition)
    equations = np.vstack([transition.T - np.eye(hidden), np.ones(hidden)])
    return np.linalg.lstsq(equations, np.eye(hidden + 1)[-1])[0].clip(0)


def _check_kind(what: str, source: object, kinds: tuple[type, ...]) -> None:
    if not isinstance(source, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"{what} changes a source of kind {names}, got {type(source).__name__}: build it with `mixture_of_hmms`.")
