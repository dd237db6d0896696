r"""The coefficients of a target in functions that permutations of unread positions leave alone.

Such a function is a product of functions of single tokens at the positions that are read and at the readout, and at most two factors
$S_j = n^{-1/2} \sum_a h_j(x_a)$ over the n other positions, the *rest*. So all that is needed of a target g is known from
$E[g]$, $E[g S_j]$ and $E[g\, S_i S_j]$ over the rest, at every setting of the tokens that are read.

Where g is linear in the counts of the rest, $g = \sum_v \beta_v n_v / n$, these are $\sum_v \beta_v \pi_v$ and
$n^{-1/2} \sum_v \beta_v H_{vj}$, with nothing in pairs: settings of the read tokens are listed, and the result is exact at any length. If
not, classes of sequences are listed where they are few, and sequences are drawn otherwise.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from specht.learning.adaptive.linear_block import Factors, LinearBlock
from specht.learning.adaptive.orbits import Orbits
from specht.learning.content import SAMPLES
from specht.sequences.law import Source
from specht.sequences.targets import Target
from specht.symmetry.points import Points, count_classes, points

_SETTINGS = 2**12
"""Settings of read tokens that are listed at most."""
_ENTRIES = 2**24
"""Tokens that are held at a time."""
_TRIED = 16
"""Random fillings of the rest that a linear target must get right."""
_FOLDS = 16


class Projected(NamedTuple):
    """A target in the functions of a kernel."""

    coefficients: np.ndarray
    """(m, K)."""
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
    """Take a target apart over the functions of a linear block that no permutation moves."""
    rng = np.random.default_rng([seed, 4])
    orbits, basis = block.orbits, block.matrices[0].basis
    noise = _label_noise(target, source, orbits, rng)
    linear = _linear_settings(block, target, rng)
    if linear is not None:
        settings, total = linear
        return Projected(_coefficients(block, settings, basis), total, noise, 0.0)
    arch, reads = orbits.arch, [int(each.places[0]) for each in orbits.columns if each.role == "read"]
    exact = reads == list(range(len(reads))) and count_classes(arch.vocab, arch.length, arch.columns, len(reads)) * arch.columns <= _ENTRIES
    n = max(_FOLDS, min(samples, _ENTRIES // arch.columns))
    at = points(source, arch.length, arch.columns, len(reads), n, rng) if exact else _drawn(source, n, arch.columns, rng)
    values = target(at.x)
    total = float(at.weights @ (values**2).sum(axis=1))
    settings = _settings_of(block, at.x, at.weights, values)
    coefficients = _coefficients(block, settings, basis)
    if at.exact:
        return Projected(coefficients, total, noise, 0.0)
    parts = [np.arange(fold, len(at.x), _FOLDS) for fold in range(_FOLDS)]
    each = np.stack(
        [_coefficients(block, _settings_of(block, at.x[part], np.full(len(part), 1.0 / len(part)), values[part]), basis) for part in parts]
    )
    # of the sum of squares: 2 t dt, from the scatter of folds
    scatter = np.einsum("mk,fmk->f", 2.0 * coefficients, each - each.mean(axis=0))
    return Projected(coefficients, total, noise, float(np.std(scatter) / np.sqrt(_FOLDS - 1)))


def _linear_settings(block: LinearBlock, target: Target, rng: np.random.Generator) -> tuple[_Settings, float] | None:
    """Settings for a target that is linear in the counts of the rest, with its mean square; None for any other."""
    orbits, tokens = block.orbits, block.tokens
    arch, law = orbits.arch, tokens.law
    single = [int(each.places[0]) for each in orbits.columns if each.role != "rest"]
    rest = [each for each in orbits.columns if each.role == "rest"]
    seen = np.flatnonzero(law > 0.0)
    if len(seen) ** len(single) > _SETTINGS:
        return None
    grid = np.array(list(itertools.product(seen, repeat=len(single))), dtype=np.int32).reshape(len(seen) ** len(single), len(single))
    step = max(1, _ENTRIES // arch.columns)

    def values(filling: np.ndarray) -> np.ndarray:
        parts = []
        for start in range(0, len(grid), step):
            x = np.empty((len(grid[start : start + step]), arch.columns), dtype=np.int32)
            for each in rest:
                x[:, each.places] = filling
            x[:, single] = grid[start : start + step]
            parts.append(target(x))
        return np.concatenate(parts)

    n = rest[0].size if rest else 0
    slopes = np.zeros((len(grid), len(law), target.outputs))  # beta_v at every setting
    for v in seen if n else seen[:1]:
        slopes[:, v] = values(np.full(n, v, dtype=np.int32))
    if not n:
        slopes[:, seen[1:]] = slopes[:, seen[:1]]
    for _ in range(_TRIED if n else 0):
        filling = rng.choice(len(law), size=n, p=law).astype(np.int32)
        share = np.bincount(filling, minlength=len(law)) / n
        if not np.allclose(values(filling), np.einsum("gvk,v->gk", slopes, share), rtol=1e-9, atol=1e-9):
            return None
    weights = law[grid].prod(axis=1)
    mean = np.einsum("gvk,v->gk", slopes, law)
    spread = (np.einsum("gvk,v->gk", slopes**2, law) - mean**2) / n if n else np.zeros_like(mean)
    once = np.einsum("gvk,vj->gjk", slopes, tokens.expansion) / np.sqrt(max(n, 1))
    columns = np.zeros((len(grid), len(orbits.columns)), dtype=int)
    columns[:, [index for index, each in enumerate(orbits.columns) if each.role != "rest"]] = grid
    total = float(weights @ (mean**2 + np.maximum(spread, 0.0)).sum(axis=1))
    return _Settings(weights, columns, mean, once, None), total


def _settings_of(block: LinearBlock, x: np.ndarray, weights: np.ndarray, values: np.ndarray) -> _Settings:
    """Every sequence as a setting of its own."""
    orbits, h = block.orbits, block.tokens.values
    columns = np.stack([x[:, each.places[0]] for each in orbits.columns], axis=1)
    rest = next((each for each in orbits.columns if each.role == "rest"), None)
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


def _coefficients(block: LinearBlock, settings: _Settings, basis: tuple[Factors, ...]) -> np.ndarray:
    """E[g phi] for every function of the basis (m, K)."""
    orbits, h = block.orbits, block.tokens.values
    rest = next((index for index, each in enumerate(orbits.columns) if each.role == "rest"), None)
    found = np.zeros((len(basis), settings.mean.shape[1]))
    for place, key in enumerate(basis):
        factor = settings.weights
        inside = [j for orbit, j in key if orbit == rest]
        for orbit, j in key:
            if orbit != rest:
                factor = factor * h[settings.tokens[:, orbit], j]
        if len(inside) == 2 and settings.twice is None:
            continue
        match inside:
            case []:
                found[place] = factor @ settings.mean
            case [j]:
                found[place] = factor @ settings.once[:, j]
            case [i, j]:
                assert settings.twice is not None
                found[place] = factor @ settings.twice[:, i, j]
    return found


def _drawn(source: Source, n: int, columns: int, rng: np.random.Generator) -> Points:
    return Points(source.draw(rng, n, columns), np.full(n, 1.0 / n), exact=False)


def _label_noise(target: Target, source: Source, orbits: Orbits, rng: np.random.Generator) -> float:
    columns = orbits.arch.columns
    return float(target.label_variance(source.draw(rng, max(1, min(2**12, _ENTRIES // columns)), columns)).mean())
