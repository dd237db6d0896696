r"""Order parameters: which tokens and positions the embedding singles out, and which symmetry that leaves.

The variance $g_i = |a_i|^2 / d$ of an embedding vector, over its prior, is one where the data say nothing. A position is singled out where
its $g$ stands out from that of the others. Positions that do not stand out can still be exchanged, so what is left of the symmetric group
is the group that permutes them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

CLEAR = 15.0
"""Robust standard deviations by which a position has to stand out: many, because noise gives heavy tails to the variances."""
SURE = 5.0
"""Standard errors of sampling by which it has to stand out as well."""
_ROUNDING = 1e-4
"""Relative differences of variances that a search leaves."""


class Order(NamedTuple):
    """Variances of embedding vectors over their priors, with standard errors (zero where nothing was sampled)."""

    tokens: np.ndarray
    tokens_stderr: np.ndarray
    positions: np.ndarray
    """One for each column; empty without positions."""
    positions_stderr: np.ndarray


def singled_out(values: np.ndarray, stderr: np.ndarray) -> np.ndarray:
    """Which entries stand out from the bulk: truth values.

    The bulk is judged by its median and by the median distance from it, which a few entries that stand out hardly move; errors of sampling
    count on top. A spread that is itself rounding is not taken for a scale.

    >>> singled_out(np.array([2.1, 1.0, 0.98, 1.02, 1.01, 0.99]), np.zeros(6)).tolist()
    [True, False, False, False, False, False]
    """
    if len(values) < 3:
        return np.zeros(len(values), dtype=bool)
    logarithms = np.log(values)
    distance = np.abs(logarithms - np.median(logarithms))
    spread = 1.4826 * np.median(distance)
    return distance > np.maximum(np.hypot(CLEAR * spread, SURE * stderr / values), _ROUNDING)


def symmetry_left(singled: np.ndarray) -> str:
    """The subgroup of the symmetric group of the context that is left, in words.

    >>> symmetry_left(np.array([True, False, False, False])), symmetry_left(np.zeros(4, dtype=bool))
    ('S_3, of S_4', 'S_4, unbroken')
    """
    length, kept = len(singled), int((~singled).sum())
    return f"S_{length}, unbroken" if kept == length else f"S_{kept}, of S_{length}"
