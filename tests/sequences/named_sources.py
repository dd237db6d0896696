"""A table of small sources, every kind of them, and the slow and obvious way to their probabilities."""

from __future__ import annotations

import itertools

import numpy as np

from specht.sequences import sources

THETA = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])


def random_hmm(seed: int, vocab: int = 3, hidden: int = 2) -> sources.HiddenMarkov:
    rng = np.random.default_rng(seed)
    return sources.hmm(*(rng.dirichlet(np.ones(size), size=shape) for size, shape in ((hidden, ()), (hidden, hidden), (vocab, hidden))))


def posterior_start(weights: np.ndarray, theta: np.ndarray) -> sources.HiddenMarkov:
    """A mixture of independent tokens in disguise: the first token is drawn, then the component from its posterior, which then stays."""
    components, vocab = theta.shape
    first = weights @ theta
    posterior = weights[:, None] * theta / first
    transition = np.block(
        [[np.zeros((vocab, vocab)), posterior.T], [np.zeros((components, vocab)), np.eye(components)]],
    )
    return sources.hmm(np.concatenate([first, np.zeros(components)]), transition, np.vstack([np.eye(vocab), theta]))


def starts_fixed(token: int, theta: np.ndarray) -> sources.HiddenMarkov:
    """The first token is always the same, the others are independent: not exchangeable by itself."""
    return sources.hmm([1, 0], [[0, 1], [0, 1]], [np.eye(len(theta))[token], theta])


MIXTURES = {
    "uniform": sources.uniform(3),
    "iid with an impossible token": sources.iid([0.4, 0.6, 0.0]),
    "exchangeable": sources.exchangeable([0.3, 0.7], THETA),
    "exchangeable with a weight of zero": sources.exchangeable([0.3, 0.0, 0.7], np.vstack([THETA, [1, 0, 0]])),
    "memoryless chain": sources.markov([0.2, 0.3, 0.5], np.tile([0.2, 0.3, 0.5], (3, 1))),
    "static chain": sources.markov([0.2, 0.3, 0.5], np.eye(3)),
    "chain with a memoryless and a static class": sources.markov([0.2, 0.3, 0.5], [[0.4, 0.6, 0], [0.4, 0.6, 0], [0, 0, 1]]),
    "single state": sources.hmm([1], [[1]], THETA[:1]),
    "states that emit alike": sources.hmm([1, 0], [[0.2, 0.8], [0.7, 0.3]], THETA[[0, 0]]),
    "bad states never reached": sources.hmm([0.5, 0.5, 0], [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0]], np.vstack([THETA, [1, 0, 0]])),
    "default mixture, memoryless": sources.default_mixture(vocab=3),
    "default mixture, static": sources.default_mixture(vocab=3, chain="static"),
    "graded mixture at zero": sources.graded_mixture(0.0, vocab=3),
}
DISGUISED = {
    "posterior start": posterior_start(np.array([0.3, 0.7]), THETA),
    "components that mend each other": sources.mixture_of_hmms(THETA[0], [starts_fixed(v, THETA[0]) for v in range(3)]),
}
EXCHANGEABLE = MIXTURES | DISGUISED
ORDERED = {
    "markov": sources.markov([0.2, 0.3, 0.5], [[0.1, 0.9, 0], [0.3, 0.3, 0.4], [0, 0.5, 0.5]]),
    "reversible stationary markov": sources.markov([0.5, 0.5], [[0.1, 0.9], [0.9, 0.1]]),
    "memoryless chain that starts elsewhere": sources.markov([1, 0, 0], np.tile([0.2, 0.3, 0.5], (3, 1))),
    "hmm": random_hmm(0),
    "hmm, left to right": sources.hmm([1, 0, 0], [[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1]], np.eye(3)[[0, 1, 0], :2]),
    "starts fixed": starts_fixed(0, THETA[0]),
    "mixture of hmms": sources.mixture_of_hmms([0.3, 0.7], [random_hmm(1), random_hmm(2, hidden=3)]),
    "graded mixture": sources.graded_mixture(0.3, vocab=3),
    "generic mixture": sources.generic_mixture(vocab=3),
    "stationary generic mixture": sources.generic_mixture(vocab=3, stationary=True),
}
SOURCES = EXCHANGEABLE | ORDERED


def probability_by_paths(source: sources.Source, x: np.ndarray) -> float:
    """The probability of one sequence, summed over all components and all hidden paths, one product at a time."""
    if isinstance(source, sources.Exchangeable):
        return sum(w * np.prod(theta[x]) for w, theta in zip(source.weights, source.probabilities, strict=True))
    if isinstance(source, sources.MixtureOfHMMs):
        return sum(w * probability_by_paths(part, x) for w, part in zip(source.weights, source.components, strict=True))
    assert isinstance(source, sources.HiddenMarkov)
    total = 0.0
    for path in itertools.product(range(len(source.initial)), repeat=len(x)):
        p = source.initial[path[0]] * source.emission[path[0], x[0]]
        for t in range(1, len(x)):
            p *= source.transition[path[t - 1], path[t]] * source.emission[path[t], x[t]]
        total += p
    return total
