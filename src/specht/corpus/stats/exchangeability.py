r"""How much of the correlations between positions ignores order: the exchangeability score of a corpus.

In a window of $L$ tokens let $K_{ab}$ be the covariance of the one-hot vectors at positions $a$ and $b$. Averaged over permutations of the
positions it is the same matrix $B$, the mean over $a \ne b$, for every pair of positions, and the score is the share of it,
$$ S = \frac{L (L-1) \|B\|^2}{\sum_{a \ne b} \|K_{ab}\|^2} , $$
one if and only if all pairs of positions have the same joint law at second order. In windows that slide $K_{ab}$ depends on the lag
$t = b - a$ alone. With weights $w_t = 2 (L-t) / L (L-1)$ and the parts $K_s$ and $K_a$ that are symmetric and antisymmetric in the tokens
$$ B = \sum_t w_t K_s(t) , \qquad
   S = \frac{\|B\|^2}{E} , \quad
   \text{distance} = \frac{\sum_t w_t \|K_s(t) - B\|^2}{E} , \quad
   \text{direction} = \frac{\sum_t w_t \|K_a(t)\|^2}{E} , $$
where $E = \sum_t w_t (\|K_s(t)\|^2 + \|K_a(t)\|^2)$: correlations that depend on how far apart two tokens are, and on which comes first.
The three add up to one.

Squares of estimates are too large by their sampling noise, so squares are taken between different blocks $g \ne h$ of the corpus only,
$\|K\|^2 \to \langle K^g, K^h \rangle$, which has no bias, blocks being weighed by their numbers of windows. Intervals come from drawing
blocks with replacement, again without products of a block with itself. Estimates can therefore lie outside $[0, 1]$ by chance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from specht.checks import whole_number
from specht.corpus.stats.moments import Plan
from specht.corpus.stats.squares import DebiasedEstimate, Resampling, site_norm
from specht.errors import InputError
from specht.results import Result, Variable

DRAWS = 2000
"""How often blocks are drawn for an interval."""
FEWEST_BLOCKS = 3
"""Blocks that must hold windows, uneven ones counting less."""
CUTS = (1, 2, 3, 5, 10, 20, 40)
"""Smallest lags for which the score of the remaining ones is given."""


_MEANINGS = {
    "score": "share of the correlations between positions that ignores order",
    "low": "lower end of the 95 % interval of the score",
    "high": "upper end of the 95 % interval of the score",
    "distance": "share of the correlations that depends on the distance of two tokens",
    "direction": "share of the correlations that depends on which token comes first",
    "rms": "root mean square correlation of two positions, over the norm of the covariance of one",
    "defined": "whether correlations can be told from none",
    "plug_in": "the score with the bias of sampling noise",
}


class Estimates(Protocol):
    """Estimates of correlations by block and lag: `specht.corpus.stats.moments.PairSums`, or anything that computes them."""

    plan: Plan

    def centred(self, lag: int) -> tuple[np.ndarray, np.ndarray]: ...
    def pairs_at(self, lag: int) -> np.ndarray: ...


@dataclasses.dataclass(frozen=True)
class Score(Result):
    """The exchangeability of a corpus for one window length, or for the lags of it from `from_lag` on."""

    score: float
    low: float
    """The score lies between `low` and `high` with 95 % confidence, as far as this corpus stands for others like it."""
    high: float
    distance: float
    """Share of the correlations that depends on the distance of two tokens."""
    direction: float
    """Share of the correlations that depends on which token comes first."""
    rms: float
    """Root mean square correlation of two positions, over the norm of the covariance of one: the score says nothing where this is 0."""
    defined: bool
    """False if the correlations are no larger than noise: then there is nothing to score."""
    plug_in: float
    """The score as it comes out with the bias of sampling noise."""
    energy: DebiasedEstimate
    """Mean square correlation E of two positions."""
    length: int
    from_lag: int = 1
    influence: tuple[float, ...] = ()
    """By block: how much the score would fall if the block were left out."""

    def __str__(self) -> str:
        if not self.defined:
            return f"undefined: no correlations beyond noise (rms {self.rms:.2g})"
        return f"{self.score:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def summary(self) -> dict[str, Any]:
        """The score as plain values; numbers that say nothing are left out."""
        seen = ("score", "low", "high", "distance", "direction", "plug_in")
        values = {name: getattr(self, name) if self.defined else None for name in seen}
        return values | {"rms": self.rms, "defined": self.defined, "length": self.length, "from_lag": self.from_lag}

    def _summary(self) -> str:
        lags = f" at lags from {self.from_lag} on" if self.from_lag > 1 else ""
        parts = f", distance {self.distance:z.3f}, direction {self.direction:z.3f}, rms {self.rms:.2g}" if self.defined else ""
        return f"{self}{parts}, in windows of {self.length} tokens{lags}"

    def _variables(self) -> list[Variable]:
        return [*score_variables([self], ()), Variable("length", (), self.length, "tokens of a window", "tokens")]


def score_variables(scores: Sequence[Score], dims: str | tuple[str, ...], before: str = "") -> list[Variable]:
    """The fields of scores along a dimension; of a single one, along none."""
    columns = {name: [getattr(score, name) for score in scores] for name in _MEANINGS}
    return [Variable(f"{before}{name}", dims, values if dims else values[0], _MEANINGS[name]) for name, values in columns.items()]


class LagEnergy(NamedTuple):
    """The correlations at one lag."""

    lag: int
    rms: float
    """Root mean square, over the norm of the covariance of one position; squares that come out negative count as zero."""
    low: float
    high: float
    direction: float
    """Share that depends on which token comes first."""


@dataclasses.dataclass(frozen=True)
class Symmetry:
    """All scores that one pass over a corpus gives."""

    main: Score
    lengths: tuple[Score, ...]
    """Scores in windows of several lengths."""
    cuts: tuple[Score, ...]
    """Scores at the main length without short lags."""
    lags: tuple[LagEnergy, ...]


def symmetry(
    estimates: Estimates,
    *,
    length: int | None = None,
    lengths: Sequence[int] = (),
    cuts: Sequence[int] = CUTS,
    seed: int = 0,
) -> Symmetry:
    """The scores of a corpus from its statistics.

    Arguments:
        length: of the main windows; the longest that was counted unless given.
        lengths: others, up to that.
        cuts: lags from which on the main windows are scored again.
    """
    plan = estimates.plan
    length = plan.length if length is None else _checked(length, plan)
    wanted = sorted({length, *(_checked(other, plan) for other in lengths)})
    shortest = [cut for cut in cuts if 1 < cut < length - 1]
    kept = _Kept()
    # After lag t, `plain` is the sum of K_s(s) over s <= t, and `weighted`, the sum of these, is that of (t + 1 - s) K_s(s): B of a window
    # of t + 1 tokens up to a factor.
    plain, weighted = np.zeros(()), np.zeros(())
    left_out: dict[int, np.ndarray] = {}
    for lag in range(1, max(wanted)):
        symmetric, antisymmetric = estimates.centred(lag)
        kept.pairs.append(estimates.pairs_at(lag))
        kept.symmetric.append(symmetric @ symmetric.T)
        kept.antisymmetric.append(antisymmetric @ antisymmetric.T)
        plain = plain + symmetric
        weighted = weighted + plain
        if lag + 1 in shortest:
            left_out[lag + 1] = weighted + (length - lag - 1) * plain
        if lag + 1 in wanted:
            kept.invariant[lag + 1, 1] = weighted @ weighted.T
        if lag + 1 == length:
            for cut in shortest:
                rest = weighted - left_out.pop(cut)
                kept.invariant[length, cut] = rest @ rest.T
    site = site_norm(plan.weights, plan.probabilities)
    by_length = [_score(kept, other, 1, site, seed) for other in wanted]
    main = by_length[wanted.index(length)]
    without = [_score(kept, length, cut, site, seed) for cut in shortest]
    return Symmetry(main, tuple(by_length), (main, *without), tuple(_lag_energies(kept, length, site, seed)))


def _checked(length: int, plan: Plan) -> int:
    length = whole_number("length", length, 2)
    if length > plan.length:
        raise InputError(f"a window of {length} tokens needs lags up to {length - 1}, and those up to {plan.lags} were counted.")
    return length


@dataclasses.dataclass
class _Kept:
    """Products of blocks, which is all that scores need of the estimates."""

    pairs: list[np.ndarray] = dataclasses.field(default_factory=list)
    """Number in each block, by lag."""
    symmetric: list[np.ndarray] = dataclasses.field(default_factory=list)
    antisymmetric: list[np.ndarray] = dataclasses.field(default_factory=list)
    """By lag, from 1 on."""
    invariant: dict[tuple[int, int], np.ndarray] = dataclasses.field(default_factory=dict)
    """Products of B before it is divided by the sum of the weights, by length and smallest lag."""


def _score(kept: _Kept, length: int, from_lag: int, site: float, seed: int) -> Score:
    windows = kept.pairs[length - 2]  # in each block; one without any knows nothing of the longest lag
    _check_blocks(windows, length)
    resampling = Resampling(windows, DRAWS, seed=seed)
    weights = np.arange(length - from_lag, 0, -1, dtype=np.float64)
    share = weights / weights.sum()
    lags = slice(from_lag - 1, length - 1)
    invariant = kept.invariant[length, from_lag] / weights.sum() ** 2
    direction = np.tensordot(share, np.stack(kept.antisymmetric[lags]), axes=1)
    total = np.tensordot(share, np.stack(kept.symmetric[lags]), axes=1) + direction
    energy = resampling.squared_norm(total)
    score = resampling.squared_norm(invariant).over(energy).estimate()
    directed = float(resampling.squared_norm(direction).over(energy).values[0])
    whole, plain = energy.estimate(), windows @ total @ windows
    return Score(
        score=score.value,
        low=score.low,
        high=score.high,
        distance=1.0 - score.value - directed,
        direction=directed,
        rms=_root(whole.value) / site if site else 0.0,
        defined=whole.low > 0.0,  # where correlations are noise the share of them is noise over noise
        plug_in=float(windows @ invariant @ windows / plain) if plain else 0.0,
        energy=whole,
        length=length,
        from_lag=from_lag,
        influence=tuple(_influence(np.outer(windows, windows) * invariant, np.outer(windows, windows) * total)),
    )


def _check_blocks(windows: np.ndarray, length: int) -> None:
    """Refuse intervals from two or three blocks, which would be far too narrow."""
    number = windows.sum() ** 2 / max((windows.astype(np.float64) ** 2).sum(), 1.0)
    if number < min(FEWEST_BLOCKS, 0.75 * len(windows)):
        raise InputError(
            f"Windows of {length} tokens lie in {np.count_nonzero(windows)} of {len(windows)} blocks of the corpus, too few or too uneven "
            "for an interval: put long and short records in random order, or take a smaller --length."
        )


def _influence(invariant: np.ndarray, total: np.ndarray) -> Iterator[float]:
    """The score less that without each block."""
    whole = _off_diagonal_sum(invariant) / (_off_diagonal_sum(total) or 1.0)
    for block in range(len(total)):
        kept = np.ix_(*2 * (np.arange(len(total)) != block,))
        yield whole - _off_diagonal_sum(invariant[kept]) / (_off_diagonal_sum(total[kept]) or 1.0)


def _off_diagonal_sum(gram: np.ndarray) -> float:
    return float(gram.sum() - np.trace(gram))


def _lag_energies(kept: _Kept, length: int, site: float, seed: int) -> Iterator[LagEnergy]:
    for lag, (symmetric, antisymmetric) in enumerate(zip(kept.symmetric, kept.antisymmetric, strict=True), 1):
        if lag < length:
            resampling = Resampling(kept.pairs[lag - 1], DRAWS, seed=seed)
            energy = resampling.squared_norm(symmetric + antisymmetric)
            square = energy.estimate()
            direction = float(resampling.squared_norm(antisymmetric).over(energy).values[0]) if square.value > 0.0 else 0.0
            value, low, high = (_root(number) / site if site else 0.0 for number in (square.value, square.low, square.high))
            yield LagEnergy(lag, value, low, high, direction)


def _root(square: float) -> float:
    return float(np.sqrt(max(square, 0.0)))
