r"""How correlations of tokens are weighed against each other.

A metric gives coordinate $i$ of the one-hot vectors a weight $s_i$, so that $\|K\|^2 = \sum_{ij} s_i^2 s_j^2 K_{ij}^2$.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from specht.errors import InputError, unknown_choice

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
    if metric not in get_args(Metric):
        raise unknown_choice("metric", metric, get_args(Metric))
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
