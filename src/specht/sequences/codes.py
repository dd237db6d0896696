r"""Codes of positions that are nearly orthogonal, and the vector that has the same overlap with some of them.

T random codes $v_t$ in a space of fewer than T dimensions overlap a little, $|v_i \cdot v_j| \le \Delta$. The sum of some of them then has
unequal overlaps with its own summands, and the softmax of these scores is not uniform over them. The dual code has overlap one with each:

$$ v_I = V_I (V_I^\top V_I)^{-1} \mathbf 1, \qquad v_i \cdot v_I = 1 \quad (i \in I). $$
"""

from __future__ import annotations

from typing import Any

import numpy as np

from specht.errors import InputError


def random_codes(rng: np.random.Generator, dimension: int, length: int) -> np.ndarray:
    """Random signs over the root of the dimension: one code of norm one a column, (dimension, length)."""
    return rng.choice([-1.0, 1.0], size=(dimension, length)) / np.sqrt(dimension)


def dual_code(codes: np.ndarray, chosen: Any) -> np.ndarray:
    """The vector (dimension,) of least norm that has overlap one with each chosen code.

    >>> codes = random_codes(np.random.default_rng(0), 64, 100)
    >>> (codes[:, [3, 70]].T @ dual_code(codes, [3, 70])).round(12).tolist()
    [1.0, 1.0]

    Args:
        codes: one code a column, (dimension, T).
        chosen: columns, (count,) or several choices of as many, (..., count); the result is then (..., dimension).
    """
    chosen = np.asarray(chosen)
    picked = np.moveaxis(codes[:, chosen], 0, -2)  # (..., dimension, count)
    gram = np.swapaxes(picked, -1, -2) @ picked
    try:
        weights = np.linalg.solve(gram, np.ones((*chosen.shape, 1)))
    except np.linalg.LinAlgError:
        raise InputError(
            f"The codes {chosen.tolist()} depend on each other, so no vector has overlap one with each: choose others."
        ) from None
    return (picked @ weights)[..., 0]
