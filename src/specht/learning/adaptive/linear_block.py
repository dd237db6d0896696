r"""One block of linear attention, solved at any length, for tokens that are independent given a component of a mixture.

Over independent tokens the kernel's functions are known in orthonormal ones (`linear_kernel`), with coefficients $\Phi^c$ for the c-th law
of a mixture. Expectations over the mixture are sums over its laws, $E[\varphi_f \varphi_g] = \sum_c q_c\, E_c[\varphi_f \varphi_g]$
with weights $q_c$. So all $\sqrt{q_c}\, \Phi^c$ below each other, one tall matrix, have the products that the functions have over the
mixture. An orthonormal basis Q of its range brings it back to its rank, $\Phi = Q^T (\sqrt{q_c}\, \Phi^c)_c$, and the coefficients of a
target likewise, $t = Q^T (\sqrt{q_c}\, t^c)_c$. Nothing depends on the length but the numbers in the matrices.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from specht.architecture import Architecture
from specht.learning.adaptive import low_rank
from specht.learning.adaptive.equivalent import Labels, PredictedLosses, Sector, energy, losses
from specht.learning.adaptive.linear_kernel import (
    Expansion,
    LinearKernel,
    Matrix,
    Monomials,
    Parts,
    TokenFunctions,
    columns_that_vary,
    token_functions,
)
from specht.learning.adaptive.orbits import Orbits
from specht.sequences import Source

MOST_FUNCTIONS = 800
"""Largest size of a matrix: beyond, a step of the search takes longer than a second."""
LARGE = 100
"""Size of a matrix from which its form is made use of."""
MOST_COMPONENTS = 64
"""Most components of a mixture."""
_RANK = 1e-12
"""Singular values of functions of unit norm, over the largest, below which they are rounding; they shrink as one over the length."""


class Component(NamedTuple):
    """Sequences of independent tokens, and how many they are."""

    weight: float
    tokens: TokenFunctions


def components(source: Source) -> list[Component] | None:
    """The laws that a source mixes, equal ones together; None where tokens are not independent given one of them."""
    if not source.is_mixture:
        return None
    weights, laws = source.mixture.weights, source.mixture.probabilities
    distinct: list[Component] = []
    for weight, law in zip(weights, laws, strict=True):
        same = next(
            (place for place, component in enumerate(distinct) if np.allclose(component.tokens.law, law, rtol=0.0, atol=1e-14)), None
        )
        if same is not None:
            distinct[same] = distinct[same]._replace(weight=distinct[same].weight + float(weight))
        elif weight > 0.0:
            distinct.append(Component(float(weight), token_functions(law)))
    return distinct


def why_not_linear(arch: Architecture, source: Source) -> str | None:
    """Why the kernel is no sum of known functions of few columns, or None where it is."""
    if arch.attention != "linear" or arch.scaling == "tied" or arch.depth > 1 or arch.activation != "linear":
        return "it takes one block of linear attention and a linear activation"
    if arch.norm != "none" or arch.residual:
        return "it takes a block without norm and residual sum"
    if arch.causal and arch.readout == "mean":
        return "it takes a readout that sees all columns"
    if not source.is_mixture:
        return "it takes a source that is a mixture of independent tokens"
    if len(components(source) or ()) > MOST_COMPONENTS:
        return f"it takes a mixture of at most {MOST_COMPONENTS} laws of independent tokens"
    return None


def why_too_large(orbits: Orbits, source: Source) -> str | None:
    """Why the functions that no permutation moves are too many, or None where they are not."""
    sizes = [orbit.size for orbit in columns_that_vary(orbits)]
    mixture = source.mixture
    varying = int(np.sum(mixture.weights @ mixture.probabilities > 0.0)) - 1  # functions of one token that are not constant
    singles = 1 + len(sizes) * varying
    match orbits.arch.readout:
        case "last":
            size = (1 + varying) * (singles - varying)
        case "mean":
            size = singles + math.comb(len(sizes), 2) * varying**2 + sum(n > 1 for n in sizes) * math.comb(varying + 1, 2)
        case _:
            size = singles
    return f"it would have {size} functions that permutations leave alone, and at most {MOST_FUNCTIONS}" if size > MOST_FUNCTIONS else None


class Joined(NamedTuple):
    """How the rows of all components become orthonormal functions of the mixture."""

    expansions: tuple[Expansion, ...]
    """One for each component."""
    settings: np.ndarray
    """Setting of each row of the mixture."""
    turn: np.ndarray
    """Q^T, with the roots of weights in it: (rows of the mixture, rows of all components)."""

    def functions(self) -> np.ndarray:
        """Phi of the mixture."""
        return self.turn @ np.concatenate([expansion.functions for expansion in self.expansions])


class LinearBlock:
    """The operator of a linear block as a function of the variances of orbits, in units of E[k] at infinite width."""

    tolerance = 1e-9
    searches = 8

    def __init__(self, orbits: Orbits, source: Source) -> None:
        mixed = components(source)
        assert mixed is not None
        self.orbits, self.components = orbits, mixed
        sizes = [orbit.size for orbit in columns_that_vary(orbits)]
        kernels = [LinearKernel(orbits, component.tokens) for component in mixed]
        sectors = [(None, 1.0), *((index, size - 1.0) for index, size in enumerate(sizes) if size > 1)]
        joined = [join([kernel.expand(moved) for kernel in kernels], [component.weight for component in mixed]) for moved, _ in sectors]
        self.joined = joined[0]
        """Functions that no permutation moves, which are those that the target may have."""
        raw = [
            _matrix(functions, *kernels[0].multipliers(), degeneracy)
            for functions, (_, degeneracy) in zip(joined, sectors, strict=True)
            if len(functions.settings)
        ]
        start = np.log(orbits.prior)
        trace = sum(matrix.degeneracy * float(np.trace(matrix.at(start).matrix)) for matrix in raw)
        self.matrices = [matrix.scaled(1.0 / trace) for matrix in raw]
        self.target = np.zeros((len(self.joined.settings), 0))
        """Coefficients of the target in the functions that no permutation moves (m, K)."""
        large = len(self.joined.settings) >= LARGE
        self.of_low_rank = large and all(low_rank.is_low_rank(matrix) for matrix in self.matrices)
        """Whether operators are taken as a diagonal plus a few columns, which is cheaper where they are large."""
        self._kappa = math.inf  # the last one, from which the next is looked for

    def sectors(self, logarithms: np.ndarray) -> tuple[list[Sector], list[Parts]]:
        """The operator at the logarithms of variances, and what its gradient needs."""
        kept = [matrix.at(logarithms) for matrix in self.matrices]
        none = [np.zeros((len(parts.matrix), 0)) for parts in kept[1:]]
        targets = [self.target, *none]
        sectors = [
            Sector(parts.matrix, target, matrix.degeneracy) for parts, target, matrix in zip(kept, targets, self.matrices, strict=True)
        ]
        return sectors, kept

    def energy(self, logarithms: np.ndarray, labels: Labels) -> tuple[float, np.ndarray]:
        """Free energy without the cost of moving variances, and its gradient in their logarithms."""
        if self.of_low_rank:
            value, gradient, self._kappa = low_rank.energy(self._low_rank(logarithms), labels, self._kappa)
            return value, gradient
        sectors, kept = self.sectors(logarithms)
        value, derivatives = energy(sectors, labels)
        gradient = np.zeros(len(logarithms))
        for matrix, parts, derivative in zip(self.matrices, kept, derivatives, strict=True):
            gradient += matrix.pull(parts, derivative)
        return value, gradient

    def losses(self, logarithms: np.ndarray, labels: Labels) -> PredictedLosses:
        """Test and train loss by theory."""
        if self.of_low_rank:
            return low_rank.losses(self._low_rank(logarithms), labels)
        return losses(self.sectors(logarithms)[0], labels)

    def _low_rank(self, logarithms: np.ndarray) -> list[low_rank.LowRank]:
        targets = [self.target, *(np.zeros((len(matrix.functions), 0)) for matrix in self.matrices[1:])]
        return [low_rank.LowRank(matrix, logarithms, target) for matrix, target in zip(self.matrices, targets, strict=True)]


def join(expansions: list[Expansion], weights: list[float]) -> Joined:
    """Orthonormal functions of a mixture, setting by setting: those of different settings are orthogonal already."""
    if len(expansions) == 1:
        return Joined(tuple(expansions), expansions[0].settings, np.eye(len(expansions[0].rows)))
    roots = np.concatenate([np.full(len(expansion.rows), math.sqrt(weight)) for expansion, weight in zip(expansions, weights, strict=True)])
    tall = roots[:, None] * np.concatenate([expansion.functions for expansion in expansions])
    of_rows = np.concatenate([expansion.settings for expansion in expansions])
    settings, turns = [], []
    for setting in np.unique(of_rows):
        rows = np.flatnonzero(of_rows == setting)
        sizes = np.linalg.norm(tall[rows], axis=0)
        basis, singular, _ = np.linalg.svd(tall[rows][:, sizes > 0.0] / sizes[sizes > 0.0], full_matrices=False)
        rank = int(np.sum(singular > _RANK * singular[0])) if len(singular) else 0
        turn = np.zeros((rank, len(of_rows)))
        turn[:, rows] = basis[:, :rank].T * roots[rows]
        settings.append(np.full(rank, setting))
        turns.append(turn)
    none = np.zeros((0, len(of_rows)))
    return Joined(tuple(expansions), np.concatenate([np.zeros(0, dtype=int), *settings]), np.concatenate([none, *turns]))


def _matrix(joined: Joined, values: np.ndarray, multipliers: Monomials, degeneracy: float) -> Matrix:
    """The operator of a sector; functions that are zero are left out, and tokens that never occur at the readout."""
    functions, weights = joined.functions(), joined.expansions[0].weights
    used = np.abs(functions).max(axis=0) > 0.0
    present, settings = np.unique(joined.settings, return_inverse=True)
    occurs = np.flatnonzero(np.abs(values[:, present]).sum(axis=1))
    return Matrix(functions[:, used], weights.some(used), settings, values[occurs][:, present], multipliers.some(occurs), degeneracy)
