r"""The coefficients of a target in functions that permutations of unread positions leave alone.

Such a function is a product of functions of single tokens at the positions that are read and at the readout, and at most two factors
$S_j = n^{-1/2} \sum_a h_j(x_a)$ over the n other positions, the *rest*. So all that is needed of a target g is known from
$E[g]$, $E[g S_j]$ and $E[g\, S_i S_j]$ over the rest, at every setting of the tokens that are read.

Over a mixture of laws these are taken component by component, and joined as the kernel's functions are (`linear_block`).

Where g is linear in the counts of the rest, $g = \sum_v \beta_v n_v / n$, these are $\sum_v \beta_v \pi_v$ and
$n^{-1/2} \sum_v \beta_v H_{vj}$, with nothing in pairs: settings of the read tokens are listed, and the result is exact at any length. If
not, classes of sequences are listed where they are few, and sequences are drawn otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specht.learning.adaptive.linear_block import LinearBlock
from specht.learning.adaptive.linear_kernel import READOUT, Factors, TokenFunctions
from specht.learning.adaptive.orbits import Orbits
from specht.learning.target_content import SAMPLES
from specht.sequences import Exchangeable, Source, Target
from specht.spectra import Points, count_classes, points

_SETTINGS = 2**12
"""Most settings of read tokens that are listed."""
_ENTRIES = 2**24
"""Tokens that are held at a time."""
_TRIED = 16
"""Random fillings of the rest that a linear target must get right."""
_FOLDS = 16


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
    if linear is not None:
        settings, totals = zip(*(linear.over(tokens, orbits) for tokens in laws), strict=True)
        total, mean = float(shares @ np.array(totals)), shares @ [part.weights @ part.mean for part in settings]
        return Projected(_joined(block, settings), mean, total, _label_noise(target, source, orbits, rng), 0.0)
    arch, reads = orbits.arch, [int(orbit.places[0]) for orbit in orbits.columns if orbit.role == "read"]
    exact = reads == list(range(len(reads))) and count_classes(arch.vocab, arch.length, arch.columns, len(reads)) * arch.columns <= _ENTRIES
    n = max(_FOLDS, min(samples, _ENTRIES // arch.columns) // len(laws))
    alone = [Exchangeable(np.ones(1), tokens.law[None]) for tokens in laws]
    at = [points(one, arch.length, arch.columns, len(reads), n, rng) if exact else _drawn(one, n, arch.columns, rng) for one in alone]
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
        if len(inside) == 2 and settings.twice is None:
            continue
        match inside:
            case []:
                coefficients[place] = factor @ settings.mean
            case [j]:
                coefficients[place] = factor @ settings.once[:, j]
            case [i, j]:
                assert settings.twice is not None
                coefficients[place] = factor @ settings.twice[:, i, j]
    return coefficients


def _drawn(source: Source, n: int, columns: int, rng: np.random.Generator) -> Points:
    return Points(source.draw(rng, n, columns), np.full(n, 1.0 / n), exact=False)


def _label_noise(target: Target, source: Source, orbits: Orbits, rng: np.random.Generator) -> float:
    columns = orbits.arch.columns
    return float(target.label_variance(source.draw(rng, max(1, min(2**12, _ENTRIES // 8 // columns)), columns)).mean())
