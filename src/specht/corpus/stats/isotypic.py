r"""Second-order statistics of disjoint windows with positions kept apart, split by irreps of the symmetric group.

For a window $x_1 \dots x_L$ of one-hot tokens with mean $p$ over windows and positions let $K_{ab} = \mathrm{E}[(x_a - p)(x_b - p)^T]$,
weighted as $s_i s_j (K_{ab})_{ij}$. Permutations of the positions act on the ordered pairs $a \ne b$, and functions of these are
$$ [L] + 2\,[L-1,1] + [L-2,2] + [L-2,1,1] . $$
Since $K_{ba} = K_{ab}^T$, the part of $K_{ab}$ that is symmetric in its tokens is a function $f$ of unordered pairs,
$[L] + [L-1,1] + [L-2,2]$, and the antisymmetric part a function $h$ with $h_{ba} = -h_{ab}$, $[L-1,1] + [L-2,1,1]$. Sums over rows
separate them. With $f_a = \sum_{b \ne a} f_{ab}$, likewise $h_a$, and $\bar f$ the mean over pairs,
$$ f_{ab} = \bar f + u_a + u_b + \text{rest}, \quad u_a = \frac{f_a - (L-1) \bar f}{L-2}, \qquad
   h_{ab} = v_a - v_b + \text{rest}, \quad v_a = \frac{h_a}{L}, $$
and the energies $\sum_{a \ne b} \|\cdot\|^2$ are $L(L-1) \|\bar f\|^2$, $2(L-2) \sum_a \|u_a\|^2$, $2L \sum_a \|v_a\|^2$ and what is left
of $f$ and of $h$.

Squares are estimated from products of different blocks of windows, see `specht.corpus.stats.squares`.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from specht.checks import whole_number
from specht.corpus.read.stream import Segment, window_starts
from specht.corpus.stats.moments import Counts, table_of_zeros
from specht.corpus.stats.squares import DebiasedEstimate, Resampling, coordinate_weights

PARTS = ("(L)", "(L-1,1)", "(L-2,2)", "(L-2,1,1)")


class WindowTensor(Counts):
    """How often tokens i and j stand at positions a < b of the same window, block by block.

    Every record is cut into windows from its start on.
    """

    added = ("pairs", "tokens")

    def __init__(self, length: int, symbols: int, blocks: int) -> None:
        """Arguments:
        length: L, at least 4 for all four parts to exist.
        symbols: V + 1; types outside the vocabulary are one symbol.
        """
        self.length = whole_number("length", length, 4)
        self.symbols = whole_number("symbols", symbols, 1)
        self.blocks = whole_number("blocks", blocks, 1)
        pairs = self.length * (self.length - 1) // 2
        self.pairs = table_of_zeros((blocks, pairs, symbols, symbols), "take fewer symbols, blocks or positions")
        """Counts [block, pair, i, j], pairs a < b in the order of `itertools.combinations`; for a > b they are the transpose."""
        self.tokens = np.zeros((blocks, length, symbols), dtype=np.int64)
        """Counts [block, a, i]."""

    @property
    def windows(self) -> np.ndarray:
        """Number of windows in each block."""
        return self.tokens[:, 0].sum(axis=-1)

    def update(self, segment: Segment) -> None:
        """Count the windows of a segment."""
        places = window_starts(segment, self.length) + np.arange(self.length)[:, None]
        ids = segment.ids[places].astype(np.intp, copy=False)  # products of ids overflow in anything shorter
        table = self.pairs[segment.block].reshape(-1, self.symbols**2)
        for a in range(self.length):
            self.tokens[segment.block, a] += np.bincount(ids[a], minlength=self.symbols)
        for pair, (a, b) in enumerate(itertools.combinations(range(self.length), 2)):
            table[pair] += np.bincount(ids[a] * self.symbols + ids[b], minlength=self.symbols**2)


@dataclasses.dataclass(frozen=True)
class IsotypicEnergies:
    """The shares of the irreps in the energy of the correlations between different positions."""

    shares: dict[str, DebiasedEstimate]
    """By the names in PARTS; they add up to 1."""
    diagonal: DebiasedEstimate
    r"""$\sum_a \|K_{aa} - \bar K\|^2$ with $\bar K$ the mean over positions, in units of the energy: zero if all positions are alike."""
    energy: DebiasedEstimate
    r"""$\sum_{a \ne b} \|K_{ab}\|^2$."""

    @property
    def defined(self) -> bool:
        """Whether there are correlations beyond noise: the interval of the energy does not cover zero."""
        return self.energy.low > 0


def isotypic_energies(tensor: WindowTensor, weights: Any, *, seed: int = 0) -> IsotypicEnergies:
    """Debiased shares of the four isotypic parts in the correlations between positions, with bootstrap intervals.

    Arguments:
        weights: the metric, one number s_i a symbol; 0 leaves a symbol out.
        seed: of the bootstrap over blocks.

    >>> tokens = np.random.default_rng(0).integers(0, 2, 4000).repeat(2)  # each token twice: neighbours agree
    >>> tensor = WindowTensor(length=4, symbols=2, blocks=4)
    >>> for block in range(4):
    ...     tensor.update(Segment(tokens[block * 2000 : (block + 1) * 2000], 2000, block))
    >>> shares = isotypic_energies(tensor, [1, 1]).shares  # the matching 12|34 is its mean, 1/3, and a part in [2,2]
    >>> [round(share.value, 1) for share in shares.values()]
    [0.3, 0.0, 0.7, 0.0]
    """
    weights = coordinate_weights(weights, tensor.symbols)
    resampling = Resampling(tensor.windows, seed=seed)
    used = np.flatnonzero(weights)
    scale, number = weights[used], np.maximum(tensor.windows, 1)
    metric = scale[:, None] * scale
    p = tensor.probabilities[used]
    means = tensor.tokens[:, :, used] / number[:, None, None]

    def centred(second: np.ndarray, a: int, b: int) -> np.ndarray:
        # E[(x_a - p)(x_b - p)^T] with the mean of all blocks, not the one of the block: a block's own would bring the bias back.
        return (second - means[:, a, :, None] * p - p[:, None] * means[:, b, None, :] + p[:, None] * p) * metric

    pairs = (
        centred(tensor.pairs[:, pair, used[:, None], used] / number[:, None, None], a, b)
        for pair, (a, b) in enumerate(itertools.combinations(range(tensor.length), 2))
    )
    grams = isotypic_grams(pairs, tensor.length)
    own = np.stack([centred(means[:, a, :, None] * np.eye(len(used)), a, a) for a in range(tensor.length)], axis=1)
    deviation = (own - own.mean(axis=1, keepdims=True)).reshape(tensor.blocks, -1)

    energy = resampling.squared_norm(sum(grams.values(), start=np.zeros((tensor.blocks, tensor.blocks))))
    return IsotypicEnergies(
        shares={part: resampling.squared_norm(gram).over(energy).estimate() for part, gram in grams.items()},
        diagonal=resampling.squared_norm(deviation @ deviation.T).over(energy).estimate(),
        energy=energy.estimate(),
    )


def isotypic_grams(pairs: Iterable[np.ndarray], length: int) -> dict[str, np.ndarray]:
    """Inner products of the isotypic parts of tensors K^1 .. K^G over a != b, by the names in PARTS.

    Arguments:
        pairs: arrays [block, i, j] of K_ab for a < b, in the order of `itertools.combinations(range(length), 2)`.
    """
    symmetric = antisymmetric = even = odd = np.zeros(0)
    for (a, b), pair in zip(itertools.combinations(range(length), 2), pairs, strict=True):
        blocks = len(pair)
        if not symmetric.size:
            symmetric, antisymmetric = np.zeros((2, blocks, blocks))
            even, odd = np.zeros((2, blocks, length, pair[0].size))
        f = (pair + pair.swapaxes(1, 2)).reshape(blocks, -1) / 2
        h = (pair - pair.swapaxes(1, 2)).reshape(blocks, -1) / 2
        symmetric += 2 * f @ f.T
        antisymmetric += 2 * h @ h.T
        even[:, a] += f
        even[:, b] += f
        odd[:, a] += h
        odd[:, b] -= h

    mean = even.sum(axis=1) / (length * (length - 1))
    u = ((even - (length - 1) * mean[:, None]) / (length - 2)).reshape(len(mean), -1)
    v = (odd / length).reshape(len(mean), -1)
    trivial = length * (length - 1) * mean @ mean.T
    standard_even, standard_odd = 2 * (length - 2) * u @ u.T, 2 * length * v @ v.T
    parts = (trivial, standard_even + standard_odd, symmetric - trivial - standard_even, antisymmetric - standard_odd)
    return dict(zip(PARTS, parts, strict=True))
