r"""Third cumulants of a stationary stream, and how much of them ignores order.

For tokens at distances $s$ and $t$ let $T(s,t)_{ijk} = \mathrm{E}[(x_n - p)_i (x_{n+s} - p)_j (x_{n+s+t} - p)_k]$, weighted as
$s_i s_j s_k T_{ijk}$. A window of $L$ tokens holds $L - s - t$ such triples, so with $w_{st} = (L - s - t) / \binom{L}{3}$
$$ B_3 = \sum_{s,t} w_{st}\, \mathrm{Sym}\, T(s,t), \qquad E_3 = \sum_{s,t} w_{st} \|T(s,t)\|^2, \qquad S_3 = \|B_3\|^2 / E_3, $$
where Sym is the mean over the 6 orders of the three token indices. $B_3$ is the average of the three-point function of distinct
positions over all permutations of the window, and $S_3$, between 0 and 1, is the share of its energy that is invariant. Both squares are
debiased by blocks as in `isotypic`.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np

from specht.checks import whole_number
from specht.corpus.read.stream import Segment
from specht.corpus.stats.moments import Counts, table_of_zeros
from specht.corpus.stats.squares import DebiasedEstimate, Resampling, coordinate_weights


def gap_pairs(length: int) -> list[tuple[int, int]]:
    """The distances (s, t) between the three tokens of triples that fit into a window.

    >>> gap_pairs(4)
    [(1, 1), (1, 2), (2, 1)]
    """
    return [(s, t) for s in range(1, length) for t in range(1, length - s)]


class ThirdMoments(Counts):
    """How often tokens i, j, k follow each other at distances s and t, block by block."""

    added = ("triples", "tokens")

    def __init__(self, length: int, symbols: int, blocks: int) -> None:
        """Arguments:
        length: tokens of the window, at least 3.
        symbols: V + 1; types outside the vocabulary are one symbol.
        """
        self.length = whole_number("length", length, 3)
        self.symbols = whole_number("symbols", symbols, 1)
        self.gaps = gap_pairs(self.length)
        shape = (whole_number("blocks", blocks, 1), len(self.gaps), self.symbols**3)
        self.triples = table_of_zeros(shape, "take fewer symbols, blocks or positions")
        """Counts [block, gap pair, (i, j, k)]. The singles and pairs among exactly these triples are sums over it."""
        self.tokens = np.zeros((blocks, self.symbols), dtype=np.int64)
        """Counts [block, i] of all tokens, which the mean p is taken from."""

    def update(self, segment: Segment) -> None:
        """Count all triples that begin at the owned tokens of a segment."""
        ids = segment.ids.astype(np.intp, copy=False)
        table = self.triples[segment.block]
        self.tokens[segment.block] += np.bincount(ids[: segment.owned], minlength=self.symbols)
        places = {reach: segment.starts(reach) for reach in range(2, self.length)}
        for s, gaps in itertools.groupby(enumerate(self.gaps), key=lambda entry: entry[1][0]):
            pairs: np.ndarray | None = None
            for index, (_, t) in gaps:
                starts = places[s + t]
                if pairs is None:
                    # Wider gaps have fewer starts, all of them among those of the smallest.
                    pairs = np.zeros(segment.owned, dtype=np.intp)
                    pairs[starts] = (ids[starts] * self.symbols + ids[segment.shifted(starts, s)]) * self.symbols
                codes = pairs[starts] + ids[segment.shifted(starts, s + t)]
                table[index] += np.bincount(codes, minlength=self.symbols**3)


@dataclasses.dataclass(frozen=True)
class ThirdScore:
    """The invariant share of the third cumulants of distinct positions."""

    score: DebiasedEstimate
    """S3; says nothing unless `defined`."""
    energy: DebiasedEstimate
    """E3, the mean square of the cumulants."""
    invariant: DebiasedEstimate
    """The square of B3."""

    @property
    def z(self) -> float:
        """E3 in standard deviations of its resamples."""
        return self.energy.value / self.energy.stderr if self.energy.stderr else math.copysign(math.inf, self.energy.value)

    @property
    def defined(self) -> bool:
        """Whether there are third cumulants beyond noise: the interval of E3 does not cover zero."""
        return self.energy.low > 0

    def __str__(self) -> str:
        return str(self.score) if self.defined else f"undefined (E3 is {self.z:.1f} standard deviations from zero)"


def third_score(moments: ThirdMoments, weights: Any, *, seed: int = 0) -> ThirdScore:
    """S3, debiased, with a bootstrap interval over blocks.

    Arguments:
        weights: the metric, one number s_i a symbol; 0 leaves a symbol out.
        seed: of the bootstrap.

    >>> tokens = np.random.default_rng(0).integers(0, 2, 3000)
    >>> moments = ThirdMoments(length=5, symbols=2, blocks=3)
    >>> for block in range(3):
    ...     moments.update(Segment(tokens[block * 1000 : (block + 1) * 1000], 1000, block))
    >>> third_score(moments, [1, 1]).defined  # independent tokens
    False
    """
    weights = coordinate_weights(weights, moments.symbols)
    number = moments.triples.sum(axis=2)
    # A block without a single triple of some kind has no estimate of it and is left out.
    blocks = np.flatnonzero(number.all(axis=1))
    resampling = Resampling(number[blocks].sum(axis=1), seed=seed)

    # Centring is linear: E[(x - p)(x - p)(x - p)] is the table of triples with s (I - p 1^T) applied to each of its indices.
    used = np.flatnonzero(weights)
    centring = (weights[:, None] * (np.eye(moments.symbols) - moments.probabilities[:, None]))[used]
    shape = (len(blocks),) + 3 * (moments.symbols,)
    share = np.array([moments.length - s - t for s, t in moments.gaps], dtype=float)
    share /= share.sum()
    products, mean = np.zeros((len(blocks), len(blocks))), np.zeros((len(blocks), len(used) ** 3))
    for index, w in enumerate(share):
        cumulant = (moments.triples[blocks, index] / number[blocks, index, None]).reshape(shape)
        for _ in range(3):
            # Takes the last index to the front of the three, so that after three turns all are centred and in their old order.
            cumulant = np.moveaxis(cumulant @ centring.T, -1, 1)
        flat = cumulant.reshape(len(blocks), -1)
        products += w * flat @ flat.T
        mean += w * flat
    cube = mean.reshape((len(blocks),) + 3 * (len(used),))
    orders = itertools.permutations((1, 2, 3))
    symmetric = np.mean([cube.transpose(0, *order) for order in orders], axis=0).reshape(len(blocks), -1)

    energy = resampling.squared_norm(products)
    invariant = resampling.squared_norm(symmetric @ symmetric.T)
    return ThirdScore(invariant.over(energy).estimate(), energy.estimate(), invariant.estimate())
