r"""Whether a few windows carry the score: ornamental lines, tables and boilerplate do.

The invariant part $B$ is a mean over windows: with $c$ the counts of tokens in a window, $z = c - L p$ and $x_a$ the token at position $a$,
$$ B = \frac{1}{n} \sum_w B_w , \qquad L (L-1) B_w = z_w z_w^T - \sum_a (x_a - p)(x_a - p)^T , $$
so $\|B\|^2$ is the mean of $\langle B, B_w \rangle$, and these numbers say who contributes. For each half of the windows the other half
gives $B$, lest every window should resemble itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from specht.corpus.read.stream import Segment, window_starts

WINDOWS = 20_000
"""How many windows are looked at, evenly spread over the corpus."""
MOST_SYMBOLS = 1000
"""Types that are distinguished here; all others count as one."""
FEW, MUCH = 0.01, 0.5
"""A warning is due where this share of the windows carries that much of the invariant part."""
_ROWS = 1024
"""Windows that are looked at together."""


class WindowSample:
    """Every `step`-th window of a corpus, with ids of a vocabulary of at most `MOST_SYMBOLS` types. Samples of separate pieces add up."""

    def __init__(self, length: int, step: int) -> None:
        self.length, self.step = length, step
        self._windows: list[np.ndarray] = []

    @classmethod
    def spread(cls, length: int, tokens: int) -> WindowSample:
        """About `WINDOWS` windows of a corpus of this many tokens, or all if there are fewer."""
        return cls(length, max(1, tokens // (length * WINDOWS)))

    @property
    def windows(self) -> np.ndarray:
        """Ids, shape (n, L)."""
        return np.concatenate(self._windows) if self._windows else np.empty((0, self.length), dtype=np.int16)

    def update(self, segment: Segment) -> None:
        """Take windows of a segment."""
        starts = window_starts(segment, self.length)[:: self.step]
        self._windows.append(segment.ids[starts[:, None] + np.arange(self.length)].astype(np.int16))

    def arrays(self) -> dict[str, np.ndarray]:
        """The windows by name, to be saved or sent."""
        return {"windows": self.windows}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Add the windows of another sample."""
        self._windows.append(arrays["windows"].astype(np.int16))

    def merge(self, other: WindowSample) -> None:
        """Add the windows of other pieces of the same text."""
        self._windows += other._windows


@dataclasses.dataclass(frozen=True)
class Influence:
    """How unevenly windows contribute to the invariant part."""

    windows: int
    """How many were looked at."""
    carrying_half: int
    """The fewest windows that carry half of the invariant part."""
    top_share: float
    """Share that the 1 % of windows with the largest contributions carry; above one where other contributions are negative."""
    tokens: tuple[int, ...]
    """Types that are unusually frequent in those windows, the most conspicuous first."""

    @property
    def is_uneven(self) -> bool:
        """Whether a few windows carry the result."""
        return self.windows > 0 and self.carrying_half <= FEW * self.windows


def influence(windows: np.ndarray, probabilities: np.ndarray, weights: np.ndarray) -> Influence:
    """How much each window, a row of ids, contributes to the invariant part."""
    windows, p, s = np.asarray(windows, dtype=np.intp), probabilities, weights
    n = len(windows)
    if n < 4:
        return Influence(n, n, 0.0, ())
    halves = np.arange(n) % 2
    values = np.empty(n)
    for half in (0, 1):
        values[halves == half] = _contributions(windows[halves == half], _invariant(windows[halves != half], p, s), p, s)
    order = np.argsort(-values)
    carried = np.cumsum(values[order]) / values.sum() if values.sum() > 0.0 else np.zeros(n)
    top = order[: max(1, n // 100)]
    reached = np.flatnonzero(carried >= MUCH)
    return Influence(n, int(reached[0]) + 1 if len(reached) else n, float(carried[len(top) - 1]), _conspicuous(windows[top], p))


def _counts(windows: np.ndarray, symbols: int) -> np.ndarray:
    counts = np.zeros((len(windows), symbols))
    np.add.at(counts, (np.arange(len(windows))[:, None], windows), 1.0)
    return counts


def _invariant(windows: np.ndarray, p: np.ndarray, s: np.ndarray) -> np.ndarray:
    """L (L - 1) B in the metric."""
    length, total, seen = windows.shape[1], np.zeros((len(p), len(p))), np.zeros(len(p))
    for start in range(0, len(windows), _ROWS):
        counts = _counts(windows[start : start + _ROWS], len(p))
        centred = (counts - length * p) * s
        total += centred.T @ centred
        seen += counts.sum(axis=0)
    return (total - _site(seen, length * len(windows), p, s)) / len(windows)


def _site(counts: np.ndarray, number: float, p: np.ndarray, s: np.ndarray) -> np.ndarray:
    """The sum of (x - p)(x - p)^T over tokens with these counts, in the metric."""
    mixed = np.outer(s * p, s * counts)
    return np.diag(s**2 * counts) - mixed - mixed.T + number * np.outer(s * p, s * p)


def _contributions(windows: np.ndarray, mean: np.ndarray, p: np.ndarray, s: np.ndarray) -> np.ndarray:
    """The scalar products of B with the part B_w of each window, up to a factor."""
    length, along = windows.shape[1], mean @ (s * p)
    products = []
    for start in range(0, len(windows), _ROWS):
        counts = _counts(windows[start : start + _ROWS], len(p))
        centred = (counts - length * p) * s
        own = counts @ (s**2 * np.diag(mean)) - 2.0 * (counts * s) @ along + length * (s * p) @ along
        products.append(((centred @ mean) * centred).sum(axis=1) - own)
    return np.concatenate(products)


def _conspicuous(windows: np.ndarray, p: np.ndarray, number: int = 5) -> tuple[int, ...]:
    """Types with the largest excess over what their frequency lets one expect, in units of its standard deviation."""
    counts = np.bincount(windows.ravel(), minlength=len(p))[:-1]
    expected = windows.size * p[:-1]
    excess = (counts - expected) / np.sqrt(np.maximum(expected, 1.0))
    return tuple(int(token) for token in np.argsort(-excess)[:number])
