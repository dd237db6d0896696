r"""Fourier blocks of a stream's second moments over windows, and how alike they are: the analysis of Lavie, Gur-Ari & Ringel (2024).

With $\hat x_k = L^{-1/2} \sum_a e^{-2 \pi i k a / L} x_a$ for the one-hot tokens of a window and $K(t)$ the moment of two tokens $t$ apart,
$$ C(k) = \mathrm{E}[\hat x_k \hat x_k^\dagger] = \frac1L \sum_{ab} e^{2 \pi i k (b - a) / L} K_{ab}
        = A + \sum_{t=1}^{L-1} \Big(1 - \frac tL\Big) \Big( e^{2 \pi i k t / L} K(t) + \text{h.c.} \Big), \qquad k = 0 \dots L/2 , $$
$A = K(0)$ being the moment of a single position. If all permutations of the window are symmetries then $K(t) = B$ is symmetric and the
same for all $t$, so that $C(k) = A - B$ for every $k \ne 0$ and $C(0) = A + (L-1) B$: blocks $k \ne 0$ belong to the irrep $[L-1,1]$ and
$k = 0$ to $[L]$. Three kinds of moments are compared, since likeness has three reasons:

- raw: $\mathrm{E}[x_a x_b^T]$, where $C(0)$ stands apart by $L p p^T$ even for independent tokens,
- centred: $\mathrm{E}[(x_a - p)(x_b - p)^T]$, where $A$ is common to all blocks and hides small differences,
- off-site: centred without $A$, which is what tokens have to do with each other.

The cosine of two blocks needs inner products of the $K(t)$ only: with $K_s, K_a$ the parts symmetric and antisymmetric in the tokens
$$ \mathrm{Re}\, C(k) = A + 2 \sum_t \Big(1 - \frac tL\Big) \cos\frac{2 \pi k t}{L} K_s(t), \qquad
   \mathrm{Im}\, C(k) = 2 \sum_t \Big(1 - \frac tL\Big) \sin\frac{2 \pi k t}{L} K_a(t) . $$
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, get_args

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError, check_choice

Kind = Literal["raw", "centred", "off-site"]

_BLOCK = 2**22
"""Numbers of the lag tables that are held as floats at a time."""
_ROUNDING = 1e-12
"""A block smaller than this, in units of A, is what rounding leaves of zero."""


@dataclasses.dataclass(frozen=True)
class LagTables:
    """Counts of pairs of tokens at the lags 1 .. L-1, with what centring needs."""

    counts: np.ndarray
    """[lag - 1, i, j] of pairs (x_s, x_{s+lag}), any type of numbers."""
    pairs: np.ndarray
    """Number of pairs at each lag."""
    probabilities: np.ndarray
    first: np.ndarray
    """[lag - 1, i], the mean of the earlier token of the pairs; at the ends of records it is not quite p."""
    second: np.ndarray

    @classmethod
    def of(cls, tables: Any, pairs: Any, probabilities: Any) -> LagTables:
        counts, number, p = np.asarray(tables), np.asarray(pairs, dtype=float), np.asarray(probabilities, dtype=float)
        if counts.ndim != 3 or counts.shape[1] != counts.shape[2] or not counts.size:
            raise InputError(f"tables must be an array [lag, symbol, symbol], got shape {counts.shape}.")
        if number.shape != counts.shape[:1] or not (number > 0).all():
            raise InputError(
                f"pairs must be {len(counts)} positive numbers, one a lag, got {pairs!r}: use a longer text or shorter windows."
            )
        if p.shape != counts.shape[1:2] or not (p >= 0).all() or not np.isclose(p.sum(), 1):
            raise InputError(f"probabilities must be {counts.shape[1]} numbers that add up to 1, got an array of shape {p.shape}.")
        return cls(counts, number, p, counts.sum(axis=2) / number[:, None], counts.sum(axis=1) / number[:, None])

    @property
    def length(self) -> int:
        """L, the window that the lags belong to."""
        return len(self.counts) + 1


@dataclasses.dataclass(frozen=True)
class Spread:
    """A number for every pair of blocks k, k', summed up."""

    mean: float
    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: np.ndarray) -> Spread:
        return cls(float(values.mean()), float(np.median(values)), float(values.min()), float(values.max()))


@dataclasses.dataclass(frozen=True)
class Likeness:
    """A symmetric matrix over the blocks k = 0 .. L/2, with its values among k != 0 and between 0 and those."""

    matrix: np.ndarray

    @property
    def within(self) -> Spread:
        """Over pairs of different k, k' != 0."""
        rows, columns = np.triu_indices(len(self.matrix) - 1, 1)
        return Spread.of(self.matrix[1 + rows, 1 + columns])

    @property
    def across(self) -> Spread:
        """Over pairs 0, k != 0."""
        return Spread.of(self.matrix[0, 1:])


@dataclasses.dataclass(frozen=True)
class Harmonics:
    """How alike the blocks C(0) .. C(L/2) are."""

    kind: Kind
    cosines: Likeness
    r"""$\mathrm{Re} \langle C, C' \rangle / \|C\| \|C'\|$ of the complex blocks."""
    imaginary: float
    """Largest |Im C(k)| / |Re C(k)|; under permutation symmetry all blocks are real."""
    eigenvalues: np.ndarray | None = None
    """[k, n] in falling order; None where they were not asked for."""
    overlaps: Likeness | None = None
    r"""Mean squared cosine $\|U^\dagger W\|^2 / r$ of the subspaces of the r largest eigenvalues; None where not asked for."""

    def spectra(self, normalised: bool = True) -> np.ndarray:
        """[k, n], the eigenvalues, divided by their sum or as they are."""
        if self.eigenvalues is None:
            raise InputError("There are no eigenvalues, because harmonics was not asked for them: call it with eigenvalues=True.")
        if normalised and self.kind == "off-site":
            raise InputError("Eigenvalues of off-site moments have both signs and a sum near zero: compare them with normalised=False.")
        return self.eigenvalues / self.eigenvalues.sum(axis=1, keepdims=True) if normalised else self.eigenvalues

    def kolmogorov(self, normalised: bool = True) -> Likeness:
        """Largest difference of the distribution functions of the eigenvalues of two blocks."""
        spectra = self.spectra(normalised)
        return Likeness(np.array([[kolmogorov_distance(u, w) for w in spectra] for u in spectra]))


def measure_harmonics(
    tables: Any,
    pairs: Any,
    probabilities: Any,
    *,
    kind: Kind = "centred",
    whitened: bool = False,
    eigenvalues: bool = False,
    components: int = 0,
) -> Harmonics:
    """The blocks C(k) of the moments of a stream, compared with each other.

    Arguments:
        tables: counts [lag - 1, i, j] of the pairs (x_s, x_{s+lag}), for the lags 1 .. L-1.
        pairs: number of pairs at each lag.
        probabilities: p, one number a symbol.
        whitened: divide coordinate i by sqrt(p_i), that is D^(-1/2) C D^(-1/2) with D = diag(p); symbols that never occur are left out.
        eigenvalues: also find the eigenvalues of all blocks.
        components: dimension r of the principal subspaces to compare; 0 for none. They take three times as long as eigenvalues.

    >>> tokens = np.random.default_rng(0).integers(0, 3, 10000)
    >>> codes = [tokens[:-t] * 3 + tokens[t:] for t in range(1, 8)]
    >>> tables = [np.bincount(code, minlength=9).reshape(3, 3) for code in codes]
    >>> raw = measure_harmonics(tables, [len(code) for code in codes], np.bincount(tokens) / 10000, kind="raw")
    >>> print(f"{raw.cosines.within.mean:.2f} {raw.cosines.across.mean:.2f}")  # k = 0 stands apart: tokens are independent, not centred
    1.00 0.17
    """
    check_choice("kind", kind, get_args(Kind))
    lags = LagTables.of(tables, pairs, probabilities)
    if lags.length < 4:
        raise InputError(f"Windows of {lags.length} tokens have one block k != 0, and none to compare it with: give lags up to 3 or more.")
    p = lags.probabilities
    # A symbol with weight zero is out of every inner product, and out of the eigenvalue problem.
    scale = np.divide(1, np.sqrt(p), out=np.zeros_like(p), where=p > 0) if whitened else np.ones_like(p)
    components = whole_number("components", components, 0, int(np.count_nonzero(scale)))

    result = _cosines(lags, kind, scale)
    return _with_eigenvalues(result, lags, scale, components) if eigenvalues or components else result


def _site(lags: LagTables, kind: Kind) -> np.ndarray:
    p = lags.probabilities
    return np.diag(p) - (0 if kind == "raw" else np.outer(p, p))


def _waves(length: int) -> tuple[np.ndarray, np.ndarray]:
    """(1 - t/L) times cosine and sine of 2 pi k t / L, as [k, t - 1]."""
    t = np.arange(1, length)
    # Whole turns are taken off before rounding, not by the cosine after it.
    angles = 2 * np.pi * (np.outer(np.arange(length // 2 + 1), t) % length) / length
    return (1 - t / length) * np.cos(angles), (1 - t / length) * np.sin(angles)


def _cosines(lags: LagTables, kind: Kind, scale: np.ndarray) -> Harmonics:
    """Cosines from the inner products of A and all K_s(t), and of all K_a(t), taken a few rows of the tables at a time."""
    p, number, site = lags.probabilities, lags.pairs[:, None, None], _site(lags, kind)
    even, odd = np.zeros((lags.length, lags.length)), np.zeros((lags.length - 1, lags.length - 1))
    step = max(1, _BLOCK // (lags.length * len(p)))
    for low in range(0, len(p), step):
        rows = slice(low, low + step)
        metric = scale[rows, None] * scale
        straight = lags.counts[:, rows] / number
        turned = lags.counts[:, :, rows].swapaxes(1, 2) / number
        if kind != "raw":
            mean = p[rows, None] * p
            straight -= lags.first[:, rows, None] * p + p[rows, None] * lags.second[:, None] - mean
            turned -= lags.second[:, rows, None] * p + p[rows, None] * lags.first[:, None] - mean
        symmetric = np.concatenate([site[None, rows], (straight + turned) / 2]) * metric
        antisymmetric = (straight - turned) / 2 * metric
        symmetric, antisymmetric = symmetric.reshape(lags.length, -1), antisymmetric.reshape(lags.length - 1, -1)
        even += symmetric @ symmetric.T
        odd += antisymmetric @ antisymmetric.T

    cosine, sine = _waves(lags.length)
    real = np.concatenate([np.full((len(cosine), 1), 0.0 if kind == "off-site" else 1.0), 2 * cosine], axis=1)
    products, imaginary = real @ even @ real.T, 4 * sine @ odd @ sine.T
    # Rounding can leave a tiny negative square where there is no imaginary part.
    ratios = np.sqrt(np.maximum(np.diag(imaginary), 0) / np.maximum(np.diag(products), np.finfo(float).tiny))
    return Harmonics(
        kind=kind,
        cosines=Likeness(_normalised(products + imaginary, even[0, 0], kind)),
        imaginary=float(ratios.max()),
    )


def _normalised(products: np.ndarray, site: float, kind: Kind) -> np.ndarray:
    if not (np.diag(products) > _ROUNDING**2 * site).all():
        raise InputError(f"A block of the {kind} moments is zero, and has no angle with others: use a text whose tokens vary.")
    sizes = np.sqrt(np.diag(products))
    return products / np.outer(sizes, sizes)


def block_moments(tables: Any, pairs: Any, probabilities: Any, k: int, *, kind: Kind = "centred") -> np.ndarray:
    """C(k) itself, a Hermitian matrix over all symbols."""
    lags = LagTables.of(tables, pairs, probabilities)
    return _block(lags, whole_number("k", k, 0, lags.length // 2), kind)


def _block(lags: LagTables, k: int, kind: Kind) -> np.ndarray:
    cosine, sine = (wave[k] / lags.pairs for wave in _waves(lags.length))
    real, imaginary = np.zeros(lags.counts.shape[1:]), np.zeros(lags.counts.shape[1:])
    for c, s, counts in zip(cosine, sine, lags.counts, strict=True):
        real += c * counts
        imaginary += s * counts
    half = real + 1j * imaginary
    if kind != "raw":
        # Centring is linear: it acts on the sum over lags as on each of them.
        p = lags.probabilities
        half += half.sum() * np.outer(p, p) - np.outer(half.sum(axis=1), p) - np.outer(p, half.sum(axis=0))
    return half + half.conj().T + (0 if kind == "off-site" else _site(lags, kind))


def _with_eigenvalues(result: Harmonics, lags: LagTables, scale: np.ndarray, components: int) -> Harmonics:
    used = np.flatnonzero(scale)
    eigenvalues, bases = [], []
    for k in range(lags.length // 2 + 1):
        block = (_block(lags, k, result.kind) * scale[:, None] * scale)[np.ix_(used, used)]
        values, vectors = np.linalg.eigh(block) if components else (np.linalg.eigvalsh(block), np.empty((0, 0)))
        eigenvalues.append(values[::-1])
        bases.append(vectors[:, -components:].copy())
    overlaps = None
    if components:
        overlaps = Likeness(np.array([[np.linalg.norm(u.conj().T @ w) ** 2 / components for w in bases] for u in bases]))
    return dataclasses.replace(result, eigenvalues=np.stack(eigenvalues), overlaps=overlaps)


def kolmogorov_distance(first: np.ndarray, second: np.ndarray) -> float:
    """Largest difference between the fractions of two sets of numbers that are at most x, over all x.

    >>> kolmogorov_distance(np.array([1, 2, 3, 4]), np.array([2.5, 3.5, 4.5, 5.5]))
    0.5
    """
    first, second = np.sort(first), np.sort(second)
    places = np.concatenate([first, second])
    below = (np.searchsorted(values, places, side="right") / len(values) for values in (first, second))
    return float(np.max(np.abs(np.subtract(*below))))
