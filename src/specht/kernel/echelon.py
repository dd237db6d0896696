r"""Factors of singular covariances, $K = \varphi\varphi^T$, that do not depend on how ties round, and that have a derivative.

The factorisation is Cholesky's in the given order, and it skips rows that are combinations of earlier ones: which rows stay is decided
first (`pivot_rows`), and $\varphi = K_{:P}\, \mathrm{chol}(K_{PP})^{-T}$ for the rows P that stay. Factors are filled up with columns of
zeros to a multiple of `BLOCK`: few shapes, few compilations.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int

BLOCK = 64
_TOLERANCE = 1e-10
"""Variance that must be left of a row, in units of the largest, for it to stay."""


def echelon_factor(covariance: Float[Array, "rows rows"]) -> Float[Array, "rows rank"]:
    """phi with one column for each row that stays.

    The number of columns follows from the numbers where they are known, and is as large as it can be while JAX traces them.
    """
    traced = isinstance(covariance, Tracer)
    pivots = _traced_pivots(jax.lax.stop_gradient(covariance)) if traced else jnp.asarray(pivot_rows(np.asarray(covariance)))
    return _factor(covariance, pivots)


@jax.jit
def _factor(covariance: Float[Array, "rows rows"], pivots: Int[Array, " rank"]) -> Float[Array, "rows rank"]:
    """The factor, given the rows that stay; -1 fills the list up."""
    real = pivots >= 0
    columns = jnp.where(real[None, :], covariance[:, pivots], 0.0)
    block = jnp.where(real[:, None] & real[None, :], columns[pivots, :], jnp.eye(len(pivots)))
    factor = solve_triangular(jnp.linalg.cholesky(block), columns.T, lower=True).T
    order = jnp.arange(len(covariance))
    return jnp.where(order[:, None] < pivots[None, :], 0.0, factor)  # rows before a pivot were explained without it


def pivot_rows(covariance: Float[np.ndarray, "rows rows"]) -> Int[np.ndarray, " rank"]:
    """Rows that are no combination of earlier ones, filled up with -1 to a multiple of `BLOCK`.

    >>> pivot_rows(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]]))[:3].tolist()
    [0, 2, -1]
    """
    rows = len(covariance)
    buffer, pivots = np.zeros((rows, min(rows, BLOCK))), []
    residual = np.diag(covariance).copy()
    threshold = _TOLERANCE * max(float(residual.max(initial=0.0)), 1e-300)
    for row in range(rows):
        if residual[row] <= threshold:
            continue
        if len(pivots) == buffer.shape[1]:
            buffer = np.concatenate([buffer, np.zeros_like(buffer)], axis=1)[:, :rows]
        factor = buffer[:, : len(pivots)]
        column = (covariance[:, row] - factor @ factor[row]) / np.sqrt(residual[row])
        column[:row] = 0.0  # rows already explained
        buffer[:, len(pivots)] = column
        residual = residual - column**2
        pivots.append(row)
    return np.array(pivots + [-1] * (_filled(len(pivots)) - len(pivots)))


def _traced_pivots(covariance: Float[Array, "rows rows"]) -> Int[Array, " rank"]:
    """Find the pivot rows by a loop of fixed length, for numbers that JAX traces."""
    rows = len(covariance)
    threshold = _TOLERANCE * jnp.maximum(jnp.max(jnp.diag(covariance)), 1e-300)
    order = jnp.arange(rows)

    def take_row(row: Array | int, state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        factor, residual, pivots, rank = state
        stays = residual[row] > threshold
        column = (covariance[:, row] - factor @ factor[row]) / jnp.sqrt(jnp.where(stays, residual[row], 1.0))
        column = jnp.where(stays & (order >= row), column, 0.0)
        place = jnp.where(stays, rank, _filled(rows))  # out of range, so that nothing is set
        factor, pivots = factor.at[:, place].set(column, mode="drop"), pivots.at[place].set(row, mode="drop")
        return factor, residual - column**2, pivots, rank + stays.astype(rank.dtype)

    start = jnp.zeros((rows, rows)), jnp.diag(covariance), jnp.full(_filled(rows), -1), jnp.zeros((), dtype=int)
    return jax.lax.fori_loop(0, rows, take_row, start)[2]


def _filled(rank: int) -> int:
    return BLOCK * math.ceil(max(rank, 1) / BLOCK)
