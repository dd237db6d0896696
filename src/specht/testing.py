"""Assertions about kernels, for the tests of this package and of anyone who writes a kernel of their own.

Each one raises `AssertionError` with the numbers that decide the case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from specht.sequences import generators, gram_residual, input_array, random_permutations

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
else:  # a checker at run time knows no better than NumPy what becomes an array
    ArrayLike = Any

__all__ = [
    "assert_invariant",
    "assert_matches_samples",
    "assert_psd",
]

Gram = Callable[[np.ndarray, np.ndarray], Any]


def __dir__() -> list[str]:
    return sorted(__all__)


def assert_psd(gram: ArrayLike, tol: float = 1e-10) -> None:
    """Assert that a Gram matrix is symmetric and that no eigenvalue lies below `-tol` times the largest.

    >>> assert_psd([[2.0, 1.0], [1.0, 2.0]])
    >>> assert_psd([[1.0, 2.0], [2.0, 1.0]])
    Traceback (most recent call last):
        ...
    AssertionError: not positive semi-definite: smallest eigenvalue -1.000e+00, largest 3.000e+00, tolerance 1.0e-10 of the largest.
    """
    matrix = np.asarray(gram, dtype=np.float64)
    _require(matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1], f"a Gram matrix is square, got shape {matrix.shape}.")
    _require(matrix.size > 0, "an empty matrix cannot be judged.")
    bad = np.count_nonzero(~np.isfinite(matrix))
    _require(bad == 0, f"{bad} of {matrix.size} entries are NaN or infinite.")
    scale = np.abs(matrix).max()
    gap = np.abs(matrix - matrix.T).max()
    _require(gap <= tol * scale, f"not symmetric: entries differ from their mirror images by up to {gap:.3e}, largest entry {scale:.3e}.")
    eigenvalues = np.linalg.eigvalsh(matrix)
    smallest, largest = eigenvalues[0], eigenvalues[-1]
    _require(
        smallest >= -tol * max(largest, 0.0),
        f"not positive semi-definite: smallest eigenvalue {smallest:.3e}, largest {largest:.3e}, tolerance {tol:.1e} of the largest.",
    )


def assert_invariant(
    function: Gram,
    x: ArrayLike,
    *,
    move: Literal["context", "all"] = "context",
    seed: int = 0,
    permutations: int = 5,
    tol: float = 1e-10,
) -> None:
    """Assert that `function(x, y)` stays the same when the positions of both arguments are permuted together.

    `x` holds token sequences, one a row; it is compared with itself under `permutations` permutations of the positions, the
    first two of which generate all others; the rest are random.
    `move="context"` permutes every column but the last (the readout token stays in place), `move="all"` every column.
    `tol` is relative to the largest entry.

    >>> overlap = lambda x, y: (x[:, None, :] == y[None, :, :]).sum(axis=-1)
    >>> assert_invariant(overlap, [[0, 1, 2], [2, 2, 0]], move="all")
    """
    tokens = input_array(x)
    _require(move in ("context", "all"), f"move is 'context' or 'all', got {move!r}.")
    _require(tokens.ndim == 2, f"x holds one sequence a row, got shape {tokens.shape}.")
    movable = tokens.shape[1] - (move == "context")
    _require(movable >= 2, f"there is nothing to permute: {movable} of {tokens.shape[1]} columns may move with move={move!r}.")
    _require(permutations >= 1, f"permutations must be at least 1, got {permutations}.")
    group = (*generators(movable), *random_permutations(movable, permutations, seed))[:permutations]
    residual = gram_residual(function, tokens, movable, permutations=group)
    _require(
        residual.change <= tol * residual.scale,
        f"not invariant under permuting positions together (move={move!r}): residual {residual.change:.3e}, largest entry "
        f"{residual.scale:.3e}, tolerance {tol:.1e} of the largest, for the permutation {residual.permutation}.",
    )


def assert_matches_samples(value: ArrayLike, mean: ArrayLike, stderr: ArrayLike, *, k: int | float = 5) -> None:
    """Assert that `value` lies within `k` standard errors of a sampled mean, element by element.

    >>> assert_matches_samples([1.0, 2.0], mean=[1.01, 1.98], stderr=[0.01, 0.01])
    """
    value, mean, stderr = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (value, mean, stderr)))
    _require(value.size > 0, "there is nothing to compare.")
    _require((stderr >= 0).all(), "standard errors must not be negative or NaN.")
    gap = np.abs(value - mean)
    # Where the standard error is zero only exact agreement counts.
    z = np.divide(gap, stderr, out=np.where(gap == 0, 0.0, np.inf), where=stderr > 0)
    z = np.where(np.isnan(gap), np.inf, z)
    worst = np.unravel_index(np.argmax(z), z.shape)
    outside = np.count_nonzero(z > k)
    _require(
        outside == 0,
        f"{outside} of {z.size} values lie more than {k:g} standard errors from the sampled mean; worst z-score {z[worst]:.1f} "
        f"at index {tuple(int(i) for i in worst)}: value {value[worst]:.6g}, mean {mean[worst]:.6g}, stderr {stderr[worst]:.2g}.",
    )


def _require(condition: Any, message: str) -> None:
    # Not the `assert` statement, which python -O removes. NaN compares as false, so it fails here as it should.
    if not condition:
        raise AssertionError(message)
