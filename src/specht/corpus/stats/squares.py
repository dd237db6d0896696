r"""Squares of correlations: how types of token are weighed, and how the bias of sampling noise is avoided, with intervals.

A metric gives coordinate $i$ of the one-hot vectors a weight $s_i$, so that $\|K\|^2 = \sum_{ij} s_i^2 s_j^2 K_{ij}^2$.

With weights $n_g$ of the $G$ blocks and block estimates $K^g$ a square is estimated by
$$ \widehat{\|K\|^2} = \sum_{g \ne h} n_g n_h \langle K^g, K^h \rangle \Big/ \sum_{g \ne h} n_g n_h . $$
Intervals draw the blocks with replacement, and block $g$, drawn $d_g$ times, gets the weight $n_g (1 + h (d_g - 1))$ with $h = 1/4$: a
quarter of the way from the blocks as they are to those that were drawn, with deviations enlarged fourfold in turn. A block drawn twice
is still not multiplied with itself.

A part of the way only, because squares are quadratic. What is linear in the noise of the blocks comes out right for steps of any size,
but of what is quadratic a step $h$ makes the variance $2 + h^2$ times as large as it is. Where noise outweighs correlations, intervals
from whole steps are 1.7 times as wide as they should be, and these 1.4 times.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Literal, get_args

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError, check_choice

Metric = Literal["chi2-floor", "chi2", "plain"]
FLOOR = 1e-3
"""Probability below which `chi2-floor` weighs all types alike, so that a type that occurs once does not decide."""


def weights(metric: Metric, probabilities: np.ndarray) -> np.ndarray:
    r"""The weights $s_i$ of the V types and, last, of the rest.

    - `chi2-floor`: $s_i = 1 / \sqrt{\max(p_i, 10^{-3})}$
    - `chi2`: $s_i = 1 / \sqrt{p_i}$; then $\|K_{ab}\|^2$ is the mean square contingency of two positions, about twice their mutual
      information where that is small
    - `plain`: $s_i = 1$, and 0 for the rest, which as a coordinate would outweigh everything

    >>> weights("plain", np.array([0.5, 0.2, 0.3]))
    array([1., 1., 0.])
    """
    check_choice("metric", metric, get_args(Metric))
    p = np.asarray(probabilities, dtype=np.float64)
    if metric == "plain":
        return np.append(np.ones(len(p) - 1), 0.0)
    floor = FLOOR if metric == "chi2-floor" else 0.0
    seen = p > 0.0
    return np.where(seen, 1.0 / np.sqrt(np.where(seen, np.maximum(p, floor), 1.0)), 0.0)


def coordinate_weights(weights: Any, symbols: int) -> np.ndarray:
    """The weights $s_i$ of a metric as an array with one entry a symbol; anything else is refused."""
    array = np.asarray(weights, dtype=float)
    if array.shape != (symbols,) or not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise InputError(f"weights must be {symbols} finite numbers of at least 0, one a symbol, got an array of shape {array.shape}.")
    return array


def site_norm(weights: np.ndarray, probabilities: np.ndarray) -> float:
    r"""The norm of the single-site covariance $A = \mathrm{diag}(p) - p p^T$.

    >>> round(site_norm(np.ones(2), np.array([0.5, 0.5])), 12)
    0.5
    """
    q = weights**2 * probabilities
    # The entries of A in the metric: diagonal q_i - q_i p_i, elsewhere the root of q_i p_i q_j p_j.
    square = float(
        (q * (1.0 - probabilities)) @ (q * (1.0 - probabilities)) + (q @ probabilities) ** 2 - (q * probabilities) @ (q * probabilities)
    )
    return float(np.sqrt(max(square, 0.0)))


_LEVEL = 0.95
_STEP = 0.25
"""How far weights go from the blocks as they are to those that were drawn."""


@dataclasses.dataclass(frozen=True)
class DebiasedEstimate:
    """A number without the bias of noise, with a bootstrap interval of 95 % and the standard deviation of the resamples."""

    value: float
    low: float
    high: float
    stderr: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclasses.dataclass(frozen=True)
class Resampled:
    """Numbers of one quantity: `values[0]` from the blocks as they are, the others from blocks drawn with replacement."""

    values: np.ndarray
    stretch: float
    """By how much deviations of the draws have to be enlarged."""

    def estimate(self) -> DebiasedEstimate:
        """The value with its percentile interval."""
        drawn = self.values[0] + self.stretch * (self.values[1:] - self.values[0])
        low, high = np.quantile(drawn, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
        return DebiasedEstimate(float(self.values[0]), float(low), float(high), float(drawn.std()))

    def over(self, other: Resampled) -> Resampled:
        """The ratio, resample by resample; NaN where the denominator is zero."""
        ratios = np.full_like(self.values, np.nan)
        np.divide(self.values, other.values, out=ratios, where=other.values != 0)
        return Resampled(ratios, self.stretch)


class Resampling:
    """Weights of the blocks, as they are and in every resample, shared by all quantities of one analysis."""

    def __init__(self, sizes: np.ndarray, resamples: int = 1000, seed: int = 0) -> None:
        sizes = np.asarray(sizes, dtype=float)
        blocks = len(sizes)
        if np.count_nonzero(sizes) < 2:
            raise InputError(
                f"Debiasing multiplies different blocks, and {np.count_nonzero(sizes)} of {blocks} blocks hold data: use a longer text, "
                "or shorter windows."
            )
        drawn = _draws(blocks, whole_number("resamples", resamples, 2), seed)
        self._weights = sizes * np.concatenate([np.ones((1, blocks)), 1.0 + _STEP * (drawn - 1.0)])
        self._pairs = self._weights.sum(axis=1) ** 2 - (self._weights**2).sum(axis=1)
        # Draws of G blocks vary by G - 1 parts of G of what they should.
        self._stretch = float(np.sqrt(blocks / (blocks - 1)) / _STEP)

    def squared_norm(self, gram: np.ndarray) -> Resampled:
        """Mean of the products of different blocks, given the products of all."""
        different = gram - np.diag(np.diag(gram))
        return Resampled(((self._weights @ different) * self._weights).sum(axis=1) / self._pairs, self._stretch)


@functools.lru_cache(maxsize=4)  # every lag of a corpus is resampled alike
def _draws(blocks: int, resamples: int, seed: int) -> np.ndarray:
    """How often each block is drawn, (resamples, blocks)."""
    return np.random.default_rng(seed).multinomial(blocks, np.full(blocks, 1 / blocks), size=resamples)
