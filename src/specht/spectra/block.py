"""What every method starts from and returns: probabilities of sequences; eigenvalues and eigenfunctions of an irrep."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from specht.architecture import Architecture
from specht.errors import InputError
from specht.groups import Partition
from specht.sequences import Exchangeable

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


def count_readouts(arch: Architecture) -> int:
    """Number of different readout tokens W: V with readout "last"; one where the readout is a class symbol or a mean."""
    return arch.vocab if arch.readout == "last" else 1


@dataclasses.dataclass(frozen=True)
class CountLaw:
    """Probabilities of single sequences of an exchangeable source, as an architecture reads them."""

    arch: Architecture
    mixture: Exchangeable

    @property
    def readouts(self) -> int:
        """Number of different readout tokens W."""
        return count_readouts(self.arch)

    def log_probability(self, context_counts: np.ndarray) -> np.ndarray:
        """Logarithm of the probability of one sequence with given context counts (..., V): shape (W, ...), by readout token."""
        if self.readouts == 1:
            return self.mixture.log_probability_of_counts(context_counts)[None]
        tokens = np.eye(self.arch.vocab, dtype=context_counts.dtype)
        return np.stack([self.mixture.log_probability_of_counts(context_counts + token) for token in tokens])

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Context (n, L) and index of the readout token (n,) of sequences."""
        context = x[:, : self.arch.length]
        return context, x[:, -1] if self.readouts > 1 else np.zeros(len(x), dtype=int)
