"""Where token sequences come from: every source by name.

    source = specht.sources.exchangeable(weights, probabilities)
    x = source.sample(seed=0, n=100, length=16)                    # (100, 17): context and readout token

A source can be sampled (`sample`, `draw`), gives probabilities (`log_probability`, `enumerate`, `joint`, `moments`), and knows whether the
order of its tokens matters (`is_exchangeable`). If it does not, `mixture` is its form as a mixture of independent tokens.

Build one from numbers with `uniform`, `iid`, `exchangeable`, `markov`, `hmm`, `mixture_of_hmms`; take a ready one with `default_mixture`,
`graded_mixture`, `generic_mixture`; change it for the test set with `reweighted`, `redrawn`, `order_broken`; measure how much order matters
with `exchangeability_gap`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from specht.checks import whole_number
from specht.sequences.checks import probability_vector
from specht.sequences.exchangeability import Gap, exchangeability_gap, require_exchangeable
from specht.sequences.exchangeable import Exchangeable
from specht.sequences.hmm import HiddenMarkov, MixtureOfHMMs
from specht.sequences.law import Moments, Source
from specht.sequences.mixtures import default_mixture, generic_mixture, graded_mixture, order_broken, redrawn, reweighted

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
    return Exchangeable(np.ones(1), probability_vector("probabilities", probabilities)[None, :])


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
    first = probability_vector("initial", initial)
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
