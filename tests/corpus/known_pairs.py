"""Pair statistics that are known: of matrices that are given, and of mixtures of Markov chains."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from specht.corpus.read.stream import Blocks
from specht.corpus.stats.moments import Plan
from specht.corpus.stats.squares import weights


@dataclasses.dataclass
class Given:
    """Estimates that are known: K(t) by lag, block and pair of types."""

    plan: Plan
    by_lag: np.ndarray

    def centred(self, lag: int) -> tuple[np.ndarray, np.ndarray]:
        found = self.by_lag[lag - 1] * np.outer(self.plan.weights, self.plan.weights)
        turned = found.transpose(0, 2, 1)
        return ((found + turned) / 2).reshape(len(found), -1), ((found - turned) / 2).reshape(len(found), -1)

    def pairs_at(self, lag: int) -> np.ndarray:
        return np.full(self.plan.blocks.number, 100)


def plan_for(p: np.ndarray, length: int, blocks: int = 2, metric="chi2-floor", total: int = 10_000) -> Plan:
    return Plan(p, Blocks(total, blocks), length, metric, "tables")


def population(p: np.ndarray, by_lag: np.ndarray, metric="chi2-floor") -> Given:
    """The same matrices in every block: products of blocks are exact squares."""
    return Given(plan_for(p, len(by_lag) + 1, metric=metric), np.repeat(by_lag[:, None], 2, axis=1))


def stationary(step: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eig(step.T)
    vector = vectors[:, np.argmax(values.real)].real
    return vector / vector.sum()


def covariances(steps: np.ndarray, lags: int) -> tuple[np.ndarray, np.ndarray]:
    """p, and K(t) of a mixture of Markov chains: the mean of diag(pi) P^t, less p p^T."""
    laws = [stationary(step) for step in steps]
    p = np.mean(laws, axis=0)
    joint = [
        np.mean([np.diag(law) @ np.linalg.matrix_power(step, t) for law, step in zip(laws, steps, strict=True)], axis=0)
        for t in range(1, lags + 1)
    ]
    return p, np.array(joint) - np.outer(p, p)


def shares(tensor: np.ndarray) -> tuple[float, float, float, float]:
    """The score, the parts of distance and direction, and the mean square, position by position; `tensor` is [a, b, i, j]."""
    different = [(a, b) for a, b in itertools.permutations(range(len(tensor)), 2)]
    mean = np.mean([tensor[pair] for pair in different], axis=0)
    energy = np.mean([(tensor[pair] ** 2).sum() for pair in different])
    even = {pair: (tensor[pair] + tensor[pair].T) / 2 for pair in different}
    odd = {pair: (tensor[pair] - tensor[pair].T) / 2 for pair in different}
    distance = np.mean([((even[pair] - mean) ** 2).sum() for pair in different])
    direction = np.mean([(odd[pair] ** 2).sum() for pair in different])
    return (mean**2).sum() / energy, distance / energy, direction / energy, float(energy)


def by_position(p: np.ndarray, by_lag: np.ndarray, metric) -> np.ndarray:
    """The tensor [a, b, i, j] of a stationary process in the metric, with the covariance of one position on its diagonal."""
    length, s = len(by_lag) + 1, weights(metric, p)
    tensor = np.empty((length, length, len(p), len(p)))
    for a, b in itertools.product(range(length), repeat=2):
        tensor[a, b] = np.diag(p) - np.outer(p, p) if a == b else by_lag[b - a - 1] if a < b else by_lag[a - b - 1].T
    return tensor * np.outer(s, s)
