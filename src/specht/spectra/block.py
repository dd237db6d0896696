"""What every method returns for an irrep: the eigenvalues of its block and the eigenfunctions behind them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from specht.errors import InputError
from specht.groups import Partition

Eigenfunction = Callable[[np.ndarray], np.ndarray]
"""From tokens (n, columns) to values (n,), with mean square one under the source."""
Eigenfunctions = Callable[[np.ndarray], np.ndarray]
"""Several such functions at once, from tokens (n, columns) to values (n, copies)."""


@dataclasses.dataclass(frozen=True)
class IrrepBlock:
    r"""The operator restricted to one irrep $\lambda$: every eigenvalue belongs to $\dim\lambda$ orthogonal eigenfunctions."""

    irrep: Partition
    eigenvalues: np.ndarray
    """One a copy of the irrep, largest first; each has the degeneracy `irrep.dimension`."""
    eigenfunctions: Eigenfunctions
    """The function of every copy for the positions in their given order; permuting the positions gives its other functions.

    Write the positions into the columns of the shape, one column after the other, tallest first: the function is antisymmetric in the
    positions of each column, which leaves no choice but its sign.
    """
    stderr: np.ndarray | None = None
    """Standard errors of sampled eigenvalues."""
    is_bound: bool = False
    """True where the eigenvalues are Rayleigh quotients: the top eigenvalue of the irrep is at least as large."""

    def eigenfunction(self, copy: int) -> Eigenfunction:
        """The function of one copy."""
        return lambda x: self.eigenfunctions(x)[:, copy]


def require_finite(values: np.ndarray) -> None:
    """Raise where a kernel has left the range of float64."""
    if not np.isfinite(values).all():
        raise InputError("This kernel exceeds the range of float64, about 1e308: choose smaller variances s_w, s_p, s_1 and s_2.")


def diagonalise(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a symmetric matrix, largest first, and their vectors as columns."""
    require_finite(matrix)
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    return values[::-1], vectors[:, ::-1]
