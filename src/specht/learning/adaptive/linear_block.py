r"""One block of linear attention, solved at any length, for tokens that are independent given a component of a mixture.

Over independent tokens the kernel's functions are known in orthonormal ones (`linear_kernel`), with coefficients $\Phi^c$ for the c-th law
of a mixture. Expectations over the mixture are sums over its laws, $E[\varphi_f \varphi_g] = \sum_c q_c\, E_c[\varphi_f \varphi_g]$
with weights $q_c$. So all $\sqrt{q_c}\, \Phi^c$ below each other, one tall matrix, have the products that the functions have over the
mixture. An orthonormal basis Q of its range brings it back to its rank, $\Phi = Q^T (\sqrt{q_c}\, \Phi^c)_c$, and the coefficients of a
target likewise, $t = Q^T (\sqrt{q_c}\, t^c)_c$. Nothing depends on the length but the numbers in the matrices.

A function that permutations of unread positions leave alone is a product of functions of single tokens at the positions that are read and
at the readout, and at most two factors
$S_j = n^{-1/2} \sum_a h_j(x_a)$ over the n other positions, the *rest*. So all that is needed of a target g is known from
$E[g]$, $E[g S_j]$ and $E[g\, S_i S_j]$ over the rest, at every setting of the tokens that are read.
Over a mixture of laws these are taken component by component, and joined as the kernel's functions are.

Where g is linear in the counts of the rest, $g = \sum_v \beta_v n_v / n$, these are $\sum_v \beta_v \pi_v$ and
$n^{-1/2} \sum_v \beta_v H_{vj}$, with nothing in pairs: settings of the read tokens are listed, and the result is exact at any length. If
not, classes of sequences are listed where they are few, and sequences are drawn otherwise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specht.architecture import Architecture
from specht.learning.adaptive.equivalent import (
    Labels,
    LowRank,
    PredictedLosses,
    Sector,
    energy,
    is_low_rank,
    losses,
    low_rank_energy,
    low_rank_losses,
)
from specht.learning.adaptive.linear_kernel import (
    READOUT,
    Expansion,
    Factors,
    LinearKernel,
    Matrix,
    Monomials,
    Parts,
    TokenFunctions,
    columns_that_vary,
    components,
)
from specht.learning.adaptive.orbits import Orbits
from specht.learning.target_content import SAMPLES
from specht.sequences import Exchangeable, Source, Target
from specht.spectra import Points, count_classes, points

MOST_FUNCTIONS = 800
"""Largest size of a matrix: beyond, a step of the search takes longer than a second."""
LARGE = 100
"""Size of a matrix from which its form is made use of."""
MOST_COMPONENTS = 64
"""Most components of a mixture."""
_RANK = 1e-12
"""Singular values of functions of unit norm, over the largest, below which they are rounding; they shrink as one over the length."""
_SETTINGS = 2**12
"""Most settings of read tokens that are listed."""
_ENTRIES = 2**24
"""Tokens that are held at a time."""
_TRIED = 16
"""Random fillings of the rest that a linear target must get right."""
_FOLDS = 16


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
        self.joined = joined[0]  # functions that no permutation moves, which are those that the target may have
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
        self.of_low_rank = large and all(is_low_rank(matrix) for matrix in self.matrices)
        """Whether operators are taken as a diagonal plus a few columns, which is cheaper where they are large."""
        self._kappa = math.inf  # the last one, from which the next is looked for

    def sectors(self, logarithms: np.ndarray) -> tuple[list[Sector], list[Parts]]:
        """The operator at the logarithms of variances, and what its gradient needs."""
        kept = [matrix.at(logarithms) for matrix in self.matrices]
        pairs = zip(self.matrices, kept, self._targets(), strict=True)
        return [Sector(parts.matrix, target, matrix.degeneracy) for matrix, parts, target in pairs], kept

    def energy(self, logarithms: np.ndarray, labels: Labels) -> tuple[float, np.ndarray]:
        """Free energy without the cost of moving variances, and its gradient in their logarithms."""
        if self.of_low_rank:
            value, gradient, self._kappa = low_rank_energy(self._low_rank(logarithms), labels, self._kappa)
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
            return low_rank_losses(self._low_rank(logarithms), labels)
        return losses(self.sectors(logarithms)[0], labels)

    def _low_rank(self, logarithms: np.ndarray) -> list[LowRank]:
        return [LowRank(matrix, logarithms, target) for matrix, target in zip(self.matrices, self._targets(), strict=True)]

    def _targets(self) -> list[np.ndarray]:
        """Coefficients of the target in every sector: none in those that permutations move."""
        return [self.target, *(np.zeros((len(matrix.functions), 0)) for matrix in self.matrices[1:])]


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
    functions = joined.turn @ np.concatenate([expansion.functions for expansion in joined.expansions])
    weights = joined.expansions[0].weights
    used = np.abs(functions).max(axis=0) > 0.0
    present, settings = np.unique(joined.settings, return_inverse=True)
    occurs = np.flatnonzero(np.abs(values[:, present]).sum(axis=1))
    return Matrix(functions[:, used], weights.some(used), settings, values[occurs][:, present], multipliers.some(occurs), degeneracy)


class Projected(NamedTuple):
    """A target in the functions of a kernel."""

    coefficients: np.ndarray
    """(m, K)."""
    mean: np.ndarray
    """Mean of the target (K,)."""
    total: float
    """Mean square of the target, summed over outputs."""
    label_noise: float
    """Variance of the labels around it, summed over outputs."""
    stderr: float
    """Standard error of the mean square in these functions; zero where it is exact."""

    @property
    def unseen(self) -> float:
        """Mean square in none of the functions; zero where that is rounding."""
        left = self.total - float(np.sum(self.coefficients**2))
        return left if left > 1e-12 * self.total else 0.0


class _Settings(NamedTuple):
    """Settings of the tokens that are read, with what they need of the rest."""

    weights: np.ndarray
    """Probability of each setting (n,)."""
    tokens: np.ndarray
    """Tokens of the orbits of one column (n, orbits); whatever for the rest."""
    mean: np.ndarray
    """The target (n, K)."""
    once: np.ndarray
    """The target times S_j (n, J, K), with j = 0 for the constant, which is not used."""
    twice: np.ndarray | None
    """The target times normalised pairs (n, J, J, K), i <= j; None where it has none."""


def project(block: LinearBlock, target: Target, source: Source, *, samples: int = SAMPLES, seed: int = 0) -> Projected:
    """Decompose a target over the functions of a linear block that no permutation moves."""
    rng, source = np.random.default_rng([seed, 4]), source.mixture  # the same law, drawn without going from column to column
    orbits, laws = block.orbits, [component.tokens for component in block.components]
    shares = np.array([component.weight for component in block.components])
    linear = _linear_target(orbits, np.sum([tokens.law for tokens in laws], axis=0) > 0.0, target, source, rng)
    columns = orbits.arch.columns
    if linear is not None:
        settings, totals = zip(*(linear.over(tokens, orbits) for tokens in laws), strict=True)
        total, mean = float(shares @ np.array(totals)), shares @ [part.weights @ part.mean for part in settings]
        drawn = source.draw(rng, max(1, min(2**12, _ENTRIES // 8 // columns)), columns)
        return Projected(_joined(block, settings), mean, total, float(target.label_variance(drawn).mean()), 0.0)
    arch, reads = orbits.arch, [int(orbit.places[0]) for orbit in orbits.columns if orbit.role == "read"]
    exact = reads == list(range(len(reads))) and count_classes(arch.vocab, arch.length, columns, len(reads)) * columns <= _ENTRIES
    n = max(_FOLDS, min(samples, _ENTRIES // columns) // len(laws))
    alone = [Exchangeable(np.ones(1), tokens.law[None]) for tokens in laws]
    at = [
        points(law, arch.length, columns, len(reads), n, rng)
        if exact
        else Points(law.draw(rng, n, columns), np.full(n, 1.0 / n), exact=False)
        for law in alone
    ]
    values = [target(sample.x) for sample in at]
    mean = shares @ [sample.weights @ g for sample, g in zip(at, values, strict=True)]
    total = float(shares @ [sample.weights @ (g**2).sum(axis=1) for sample, g in zip(at, values, strict=True)])
    noise = float(shares @ [sample.weights @ target.label_variance(sample.x) for sample in at])

    def coefficients(of: slice) -> np.ndarray:
        chosen = [(sample.x[of], sample.weights[of] / sample.weights[of].sum(), g[of]) for sample, g in zip(at, values, strict=True)]
        return _joined(block, [_settings_of(orbits, tokens, *part) for tokens, part in zip(laws, chosen, strict=True)])

    whole = coefficients(slice(None))
    if all(sample.exact for sample in at):
        return Projected(whole, mean, total, noise, 0.0)
    folds = np.stack([coefficients(slice(fold, None, _FOLDS)) for fold in range(_FOLDS)])
    # of the sum of squares: 2 t dt, from the scatter of folds
    scatter = np.einsum("mk,fmk->f", 2.0 * whole, folds - folds.mean(axis=0))
    return Projected(whole, mean, total, noise, float(np.std(scatter) / np.sqrt(_FOLDS - 1)))


class _Linear(NamedTuple):
    """A target that is linear in the counts of the rest, at every setting of the tokens that are read."""

    grid: np.ndarray
    """Tokens of the orbits of one column (settings, orbits)."""
    slopes: np.ndarray
    """beta_v at every setting (settings, V, K)."""
    rest: int
    """Positions that are not read."""

    def over(self, tokens: TokenFunctions, orbits: Orbits) -> tuple[_Settings, float]:
        """What is needed of it over one law of tokens, and its mean square."""
        law, n = tokens.law, max(self.rest, 1)
        weights = law[self.grid].prod(axis=1)
        mean = np.einsum("gvk,v->gk", self.slopes, law)
        spread = (np.einsum("gvk,v->gk", self.slopes**2, law) - mean**2) / n if self.rest else np.zeros_like(mean)
        once = np.einsum("gvk,vj->gjk", self.slopes, tokens.expansion) / np.sqrt(n)
        columns = np.zeros((len(self.grid), len(orbits.columns)), dtype=int)
        columns[:, [index for index, orbit in enumerate(orbits.columns) if orbit.role != "rest"]] = self.grid
        total = float(weights @ (mean**2 + np.maximum(spread, 0.0)).sum(axis=1))
        return _Settings(weights, columns, mean, once, None), total


def _linear_target(orbits: Orbits, occurs: np.ndarray, target: Target, source: Source, rng: np.random.Generator) -> _Linear | None:
    """A target that is linear in the counts of the rest; None for any other. `occurs` (V,) says which tokens do."""
    arch = orbits.arch
    single = [int(orbit.places[0]) for orbit in orbits.columns if orbit.role != "rest"]
    rest = [orbit for orbit in orbits.columns if orbit.role == "rest"]
    seen = np.flatnonzero(occurs)
    if len(seen) ** len(single) > _SETTINGS:
        return None
    grid = np.array(list(itertools.product(seen, repeat=len(single))), dtype=np.int32).reshape(len(seen) ** len(single), len(single))
    step = max(1, _ENTRIES // arch.columns)

    def values(filling: np.ndarray) -> np.ndarray:
        parts = []
        for start in range(0, len(grid), step):
            x = np.empty((len(grid[start : start + step]), arch.columns), dtype=np.int32)
            for orbit in rest:
                x[:, orbit.places] = filling
            x[:, single] = grid[start : start + step]
            parts.append(target(x))
        return np.concatenate(parts)

    n = rest[0].size if rest else 0
    slopes = np.zeros((len(grid), len(occurs), target.outputs))
    for v in seen if n else seen[:1]:
        slopes[:, v] = values(np.full(n, v, dtype=np.int32))
    if not n:
        slopes[:, seen[1:]] = slopes[:, seen[:1]]
    for filling in source.draw(rng, _TRIED, n) if n else ():
        share = np.bincount(filling, minlength=len(occurs)) / n
        if not np.allclose(values(filling), np.einsum("gvk,v->gk", slopes, share), rtol=1e-9, atol=1e-9):
            return None
    return _Linear(grid, slopes, n)


def _settings_of(orbits: Orbits, tokens: TokenFunctions, x: np.ndarray, weights: np.ndarray, values: np.ndarray) -> _Settings:
    """Every sequence as a setting of its own."""
    h = tokens.values
    columns = np.stack([x[:, orbit.places[0]] for orbit in orbits.columns], axis=1)
    rest = next((orbit for orbit in orbits.columns if orbit.role == "rest"), None)
    if rest is None:
        return _Settings(weights, columns, values, np.zeros((len(x), h.shape[1], values.shape[1])), None)
    n = rest.size
    counts = np.stack([(x[:, rest.places] == v).sum(axis=1) for v in range(len(h))], axis=1).astype(np.float64)
    sums = counts @ h / np.sqrt(n)
    once = sums[:, :, None] * values[:, None, :]
    if orbits.arch.readout != "mean" or n < 2:
        return _Settings(weights, columns, values, once, None)
    same = np.einsum("nv,vi,vj->nij", counts, h, h, optimize=True) / n
    pairs = sums[:, :, None] * sums[:, None, :] - same
    size = np.sqrt((n - 1) / n * (1.0 + np.eye(h.shape[1])))
    return _Settings(weights, columns, values, once, (pairs / size)[..., None] * values[:, None, None, :])


def _joined(block: LinearBlock, settings: Sequence[_Settings]) -> np.ndarray:
    """E[g phi] in the orthonormal functions of the mixture (m, K), from what is needed of every component."""
    parts = zip(block.components, block.joined.expansions, settings, strict=True)
    return block.joined.turn @ np.concatenate(
        [_coefficients(block.orbits, part.tokens, component_settings, kept.rows) for part, kept, component_settings in parts]
    )


def _coefficients(orbits: Orbits, tokens: TokenFunctions, settings: _Settings, rows: tuple[Factors, ...]) -> np.ndarray:
    """E[g phi] for orthonormal functions over one law of tokens (m, K)."""
    rest = next((index for index, orbit in enumerate(orbits.columns) if orbit.role == "rest"), None)
    at_readout = np.eye(len(tokens.law)) / np.sqrt(np.where(tokens.law > 0.0, tokens.law, 1.0))
    coefficients = np.zeros((len(rows), settings.mean.shape[1]))
    for place, key in enumerate(rows):
        factor = settings.weights
        inside = [j for orbit, j in key if orbit == rest]
        for orbit, j in key:
            if orbit == READOUT:
                factor = factor * at_readout[settings.tokens[:, -1], j]
            elif orbit != rest:
                factor = factor * tokens.values[settings.tokens[:, orbit], j]
        match inside:
            case []:
                coefficients[place] = factor @ settings.mean
            case [j]:
                coefficients[place] = factor @ settings.once[:, j]
            case [i, j] if settings.twice is not None:
                coefficients[place] = factor @ settings.twice[:, i, j]
    return coefficients
