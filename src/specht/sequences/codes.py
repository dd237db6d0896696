r"""Codes of positions: random signs that are nearly orthogonal, and the query that picks out a set of them.

A code of dimension $m$ gives every position a vector $e_i$ of entries $\pm 1/\sqrt m$, so that $\langle e_i, e_i \rangle = 1$ and products
of two different ones are of order $1/\sqrt m$. The dual code of a set $y$ has product one with each of its members, exactly:

$$ e_y = E_y (E_y^T E_y)^{-1} \mathbf 1 , \qquad \langle e_i, e_y \rangle = 1 \text{ for } i \in y . $$

The plain sum of the codes has unequal products with its summands, and a softmax of these is not uniform over the set. Off the set products
of the dual code are small where the dimension is large enough, a multiple of $q \log T$ (Sanford, Hsu & Telgarsky 2023).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from specht.checks import whole_number
from specht.errors import InputError

_SINGULAR = 1e-9
"""Smallest eigenvalue of a Gram matrix of codes, whose diagonal is one, below which they count as dependent."""


def random_codes(rng: np.random.Generator, dimension: int, length: int) -> np.ndarray:
    """Codes (dimension, length), one a column: independent signs over the root of the dimension.

    >>> codes = random_codes(np.random.default_rng(0), 16, 5)
    >>> codes.shape, float((codes**2).sum(axis=0).max())
    ((16, 5), 1.0)
    """
    dimension, length = whole_number("dimension", dimension, 1), whole_number("length", length, 1)
    return (2.0 * rng.integers(2, size=(dimension, length)) - 1.0) / np.sqrt(dimension)


def dual_code(codes: np.ndarray, chosen: Any) -> np.ndarray:
    """The vector whose product with the code of every chosen position is one: (dimension,) of one set, (..., dimension) of several.

    >>> codes = random_codes(np.random.default_rng(0), 16, 5)
    >>> (dual_code(codes, [[0, 3], [1, 2]]) @ codes).round(2)[:, :4].tolist()
    [[1.0, 0.09, 0.27, 1.0], [0.23, 1.0, 1.0, 0.08]]

    Args:
        codes: (dimension, length), one a column.
        chosen: positions (q,) of one set, or (..., q) of several.
    """
    members = np.moveaxis(np.asarray(codes)[:, np.asarray(chosen)], 0, -2)  # (..., dimension, q)
    gram = np.swapaxes(members, -1, -2) @ members
    if np.linalg.eigvalsh(gram).min() < _SINGULAR:
        dimension, q = members.shape[-2:]
        raise InputError(
            f"The codes of {q} chosen positions are linearly dependent in dimension {dimension}, so no query picks them out: "
            "take codes of a larger dimension."
        )
    return (members @ np.linalg.solve(gram, np.ones((*gram.shape[:-1], 1))))[..., 0]
