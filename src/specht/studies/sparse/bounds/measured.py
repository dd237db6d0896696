r"""What heads do beside what bounds say of them: how far one moves when its scores do, and how many can be told apart.

A head on tokens X (rows) with scores s gives $V^\top X^\top p$, $p = \mathrm{softmax}(s)$. Its change for small changes of scores is
$V^\top X^\top (\mathrm{diag}\, p - p p^\top)\, \Delta s$, so that its Lipschitz constant there, against the largest change of a score, is

$$ \max_{|v_t| \le 1} \Big\| \sum_t p_t (v_t - \bar v)\, V^\top x_t \Big\| , \qquad \bar v = \sum_t p_t v_t . $$

It is at most $\|V\| B_X$, without the factor 2 of corollary A.7: $\sum_t p_t |v_t - \bar v|$ is at most the standard deviation of v
under p, which is at most one. Two tokens $\pm x$ of equal scores reach it.

Functions that lie pairwise more than $\varepsilon$ apart on some points cannot share an element of a cover at $\varepsilon / 2$, so a
packing of P functions says $\log N_\infty(\varepsilon / 2) \ge \log P$.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from specht.errors import InputError


def attend(tokens: Any, scores: Any, value: Any) -> np.ndarray:
    """The outputs of softmax heads for tokens (..., T, d), scores (..., T) and a value matrix (d, k)."""
    weights = special.softmax(np.asarray(scores, dtype=np.float64), axis=-1)
    return np.einsum("...t,...td->...d", weights, np.asarray(tokens, dtype=np.float64)) @ np.asarray(value, dtype=np.float64)


def steepest_change(tokens: Any, scores: Any, value: Any, starts: int = 8, seed: int = 0) -> tuple[float, np.ndarray]:
    """The Lipschitz constant of a head at its scores, and the signs of the changes that reach it.

    Signs and the direction in which the output moves are chosen for each other in turn until nothing changes, from several starts: what is
    found is reached, and nearly always the largest.

    >>> constant, signs = steepest_change([[1.0], [-1.0]], [0.0, 0.0], [[3.0]])
    >>> constant, sorted(signs.tolist())
    (3.0, [-1.0, 1.0])
    """
    tokens = np.asarray(tokens, dtype=np.float64)
    weights = special.softmax(np.asarray(scores, dtype=np.float64))
    values = tokens @ np.asarray(value, dtype=np.float64)
    slopes = weights[:, None] * (values - weights @ values)  # of the output in every score, (T, k)
    rng = np.random.default_rng(seed)
    best, chosen = -1.0, np.ones(len(weights))
    for direction in rng.standard_normal((starts, values.shape[1])):
        signs = np.where(slopes @ direction < 0.0, -1.0, 1.0)
        for _ in range(len(weights) + 1):
            again = np.where(slopes @ (signs @ slopes) < 0.0, -1.0, 1.0)
            if (again == signs).all():
                break
            signs = again
        reached = float(np.linalg.norm(signs @ slopes))
        if reached > best:
            best, chosen = reached, signs
    return best, chosen


def packing_radii(outputs: Any) -> np.ndarray:
    """How far apart functions can be chosen: the first j of a greedy choice lie pairwise at least the j-th number apart.

    `outputs` are those of every function at every point, (functions, points, k); functions are as far apart as at the point where they
    differ most. Every next one is the farthest from those that are chosen, so that one choice serves all resolutions.

    >>> packing_radii([[[0.0]], [[1.0]], [[0.9]], [[5.0]]]).tolist()
    [inf, 5.0, 1.0, 0.09999999999999998]
    """
    outputs = np.asarray(outputs, dtype=np.float64)
    if outputs.ndim != 3 or not outputs.size:
        raise InputError(f"Outputs must be (functions, points, k), got the shape {outputs.shape}.")
    nearest = np.full(len(outputs), np.inf)
    radii, place = [], 0
    for _ in range(len(outputs)):
        radii.append(nearest[place])
        nearest = np.minimum(nearest, np.linalg.norm(outputs - outputs[place], axis=2).max(axis=1))
        place = int(nearest.argmax())
    return np.array(radii)


def packing_number(radii: Any, epsilon: float) -> int:
    """How many functions of a greedy choice lie pairwise more than a distance apart."""
    return int((np.asarray(radii) > epsilon).sum())
