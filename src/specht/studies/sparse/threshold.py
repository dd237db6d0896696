r"""The smallest number of samples m with which a task is learnt often enough, from as few trials as possible.

A trial at m succeeds or not. Success is more probable with more samples, along a curve that is logistic in $\log m$,

$$ P(\text{success} \mid m) = (1 - \ell)\, \sigma\Big(\frac{\log m - \theta}{w} + c\Big), \qquad (1 - \ell)\, \sigma(c) = p, $$

so that $e^\theta$ is the threshold: the m at which a share p of trials succeeds. The lapse $\ell$ is a small share that fails whatever m
is, and keeps one unlucky trial from deciding everything. Curves that end on a plateau further below one are looked for where the search
says so: then $\ell$ may have larger values, and an interval as narrow takes about a quarter more trials. What is known of $\theta$, the
width w and $\ell$ is a probability on a grid, flat in $\theta$, $\log w$ and the values of $\ell$ before the first trial; no fit can fail
on it, even where all trials below some m failed and all above succeeded.

Such a step may lie right above the last m that failed, which curves of any width make improbable. Therefore, where all trials failed at
the last m below the median that was tried, the interval reaches down to that m.

Every next batch of trials is made at the m that is expected to leave the smallest variance of $\theta$ (as in adaptive psychophysics:
Kontsevich & Tyler 1999), until the interval is as narrow as asked or the budget is used up.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from specht.checks import finite_number, whole_number
from specht.errors import InputError
from specht.progress import Progress

LAPSE = 0.01
"""Share of trials that fails whatever the number of samples."""
PLATEAUS = (0.05, 0.1, 0.15)
"""Larger ones, where curves may end on a plateau; those that leave the share that is looked for are taken."""
_BEYOND = 8.0
"""Factor by which thresholds may lie outside the range that is searched."""
_POINTS, WIDTHS = 320, np.geomspace(0.01, 1.2, 10)
_NEGLIGIBLE = 1e-7
"""Probability, over the largest, of thresholds that do not count where the next m is chosen."""
MOST_BATCH = 64
"""Most trials in a batch: every number of successes has a likelihood of its own on the whole grid."""
_STEP = 1.05
"""Ratio of neighbouring sample sizes that may be tried."""


class Batch(NamedTuple):
    """Some trials at one number of samples."""

    m: int
    successes: int
    trials: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Search:
    """What is looked for, where, and at what cost."""

    share: float = 0.8
    """Share p of trials that must succeed."""
    smallest: int = 8
    largest: int = 512
    width: float = 1.3
    """Ratio of the ends of the interval at which the search is over."""
    confidence: float = 0.9
    """Probability that the interval is stated to hold with."""
    batch: int = 8
    """Trials at one m before the next is chosen."""
    budget: int = 160
    """Most trials."""
    plateau: bool = False
    """Whether the share of trials that succeed may stay below one however many samples there are."""

    @property
    def outside(self) -> float:
        """Probability of each side that the interval leaves out."""
        return (1.0 - self.confidence) / 2

    def __post_init__(self) -> None:
        finite_number("share", self.share, above=0.0, below=1.0 - LAPSE)
        finite_number("confidence", self.confidence, above=0.0, below=1.0)
        finite_number("width (ratio of the ends of the interval)", self.width, above=1.0)
        whole_number("smallest number of samples", self.smallest, at_least=2)
        whole_number("batch", self.batch, at_least=1, at_most=MOST_BATCH)
        if self.largest <= self.smallest:
            raise InputError(
                f"The largest number of samples, {self.largest}, must be above the smallest, {self.smallest}: widen the range of m."
            )
        if self.budget < self.batch:
            raise InputError(
                f"A budget of {self.budget} trials is less than one batch of {self.batch}, so nothing could be tried: raise the budget."
            )


@dataclasses.dataclass(frozen=True, eq=False)
class Threshold:
    """What a search found."""

    m: float
    """The threshold: median of what is known of it."""
    low: float
    high: float
    log_stderr: float
    """Standard deviation of what is known of its logarithm."""
    state: str
    """"found", "not reached" as far as is known by the largest m, or reached "below" the smallest."""
    curve_width: float
    """How wide the curve is in log m: mean of what is known of it."""
    lapse: float
    """Share that fails whatever m is: mean of what is known of it."""
    batches: tuple[Batch, ...]
    search: Search

    @property
    def reached(self) -> bool:
        return self.state != "not reached"

    @property
    def trials(self) -> int:
        return sum(batch.trials for batch in self.batches)


def _thresholds(search: Search) -> np.ndarray:
    """The grid of log thresholds."""
    return np.linspace(math.log(search.smallest / _BEYOND), math.log(search.largest * _BEYOND), _POINTS)


def _shapes(search: Search) -> tuple[np.ndarray, np.ndarray]:
    """Widths and lapses of all curves, (shapes,) each."""
    lapses = [LAPSE, *(lapse for lapse in PLATEAUS if search.plateau and search.share < 1.0 - lapse)]
    return np.repeat(WIDTHS, len(lapses)), np.tile(lapses, len(WIDTHS))


def _success(search: Search, m: int | np.ndarray) -> np.ndarray:
    """P(success | m) on the grid, (..., theta, shapes)."""
    place = np.log(np.asarray(m, dtype=float))[..., None, None]
    widths, lapses = _shapes(search)
    offset = special.logit(search.share / (1.0 - lapses))
    return (1.0 - lapses) * special.expit((place - _thresholds(search)[:, None]) / widths + offset)


@functools.lru_cache(maxsize=2)  # some tens of megabytes each
def _likelihoods(search: Search, trials: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Sample sizes that may be tried, and for every number of successes its probability, (sizes, theta, shapes)."""
    count = max(2, math.ceil(math.log(search.largest / search.smallest) / math.log(_STEP)))
    sizes = np.unique(np.rint(np.geomspace(search.smallest, search.largest, count)).astype(int))
    chance = _success(search, sizes)
    every = range(trials + 1)
    return sizes, [(special.comb(trials, k) * chance**k * (1.0 - chance) ** (trials - k)).astype(np.float32) for k in every]


class Belief:
    """What is known of the threshold: probabilities on a grid of its logarithm and of the shape of the curve.

    >>> belief = Belief(Search())
    >>> for m, successes in ((20, 0), (40, 8), (30, 4)):
    ...     belief.learn(Batch(m, successes, 8))
    >>> round(belief.quantile(0.5))
    32
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self.theta = _thresholds(search)
        self._widths, self._lapses = _shapes(search)
        self._log = np.zeros((_POINTS, len(self._widths)))
        self._successes: dict[int, int] = {}

    def learn(self, batch: Batch) -> None:
        """Take trials into account."""
        chance = _success(self.search, batch.m)
        self._successes[batch.m] = self._successes.get(batch.m, 0) + batch.successes
        self._log += special.xlogy(batch.successes, chance) + special.xlog1py(batch.trials - batch.successes, -chance)

    @property
    def _joint(self) -> np.ndarray:
        weights = np.exp(self._log - self._log.max())
        return weights / weights.sum()

    @property
    def density(self) -> np.ndarray:
        """Probability of each threshold of the grid."""
        return self._joint.sum(axis=1)

    def quantile(self, level: float) -> float:
        """A quantile of the threshold, as a number of samples; between two points of the grid probability is spread evenly."""
        step = self.theta[1] - self.theta[0]
        sums = np.concatenate([[0.0], np.cumsum(self.density)])
        edges = np.concatenate([self.theta - step / 2, [self.theta[-1] + step / 2]])
        return float(np.exp(np.interp(level, sums, edges)))

    def interval(self) -> tuple[float, float]:
        """Its ends: quantiles, or the last m below the median where all trials failed there and it lies further out."""
        outside = self.search.outside
        middle, low, high = (self.quantile(level) for level in (0.5, outside, 1.0 - outside))
        last = max((m for m in self._successes if m <= middle), default=None)
        return low if last is None or self._successes[last] else min(low, last), high

    def stderr(self) -> float:
        """Standard deviation of the logarithm of the threshold."""
        mean = float(self.density @ self.theta)
        return math.sqrt(float(self.density @ (self.theta - mean) ** 2))

    def curve_width(self) -> float:
        return float(self._joint.sum(axis=0) @ self._widths)

    def lapse(self) -> float:
        return float(self._joint.sum(axis=0) @ self._lapses)

    def above_largest(self) -> float:
        """Probability that the threshold lies above the largest m that may be tried."""
        return float(self.density[self.theta > math.log(self.search.largest)].sum())

    def below_smallest(self) -> float:
        return float(self.density[self.theta < math.log(self.search.smallest)].sum())

    def next_size(self, trials: int) -> int:
        """The m at which a batch of trials is expected to leave the smallest variance of log threshold."""
        sizes, likelihoods = _likelihoods(self.search, trials)
        left, density = np.zeros(len(sizes)), self.density
        places = np.flatnonzero(density > _NEGLIGIBLE * density.max())
        near = slice(places[0], places[-1] + 1)
        joint, theta = self._joint[near].astype(np.float32), self.theta[near] - self.theta[places[0]]
        for likelihood in likelihoods:
            mass = np.einsum("mtw,tw->mt", likelihood[:, near], joint).astype(np.float64)
            total, first, second = mass.sum(axis=1), mass @ theta, mass @ theta**2
            left += second - first**2 / np.maximum(total, 1e-300)
        return int(sizes[left.argmin()])

    def found(self, batches: Sequence[Batch]) -> Threshold:
        """The result as it stands."""
        is_below = self.below_smallest() > 0.5
        state = "not reached" if self.above_largest() > self.search.outside else "below" if is_below else "found"
        low, high = self.interval()
        shape = (self.curve_width(), self.lapse())
        return Threshold(self.quantile(0.5), low, high, self.stderr(), state, *shape, tuple(batches), self.search)


def find_threshold(
    count_successes: Callable[[int, range], int], search: Search | None = None, progress: Progress | None = None
) -> Threshold:
    """Look for the smallest m with which a share of trials succeeds.

    >>> rng = np.random.default_rng(0)
    >>> found = find_threshold(lambda m, trials: rng.binomial(len(trials), m**8 / (m**8 + 50.0**8)))
    >>> 0.8 < found.m / (50.0 * 4 ** (1 / 8)) < 1.25, found.high / found.low <= 1.3
    (True, True)

    Args:
        count_successes: makes the trials with these numbers at m samples, and says how many succeeded.
        progress: called as `progress(done, total)`, in trials of the budget.
    """
    search = search or Search()
    belief, batches, done = Belief(search), [], 0
    while done + search.batch <= search.budget:
        m = belief.next_size(search.batch)
        batches.append(Batch(m, int(count_successes(m, range(done, done + search.batch))), search.batch))
        belief.learn(batches[-1])
        done += search.batch
        if _is_over(belief, search):
            break
        if progress is not None:
            progress(done, search.budget)
    if progress is not None:
        progress(search.budget, search.budget)
    return belief.found(batches)


def _is_over(belief: Belief, search: Search) -> bool:
    """Whether the interval is narrow enough, or lies outside the range that is searched."""
    if max(belief.above_largest(), belief.below_smallest()) > 1.0 - search.outside:
        return True
    low, high = belief.interval()
    return high / low <= search.width
