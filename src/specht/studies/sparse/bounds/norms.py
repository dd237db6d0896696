r"""The norms in which bounds are stated.

$\|A\|_{2,1}$ is the sum of the norms of the columns of A, $\|A\|$ the largest singular value. Of a map $x \mapsto W x$ the bounds need
$\|W^\top\|_{2,1}$; tokens are rows, so a matrix A that multiplies them from the right is the map $x \mapsto A^\top x$ and counts as it
stands.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from specht.checks import finite_number


def norm_21(matrix: Any) -> float:
    """The sum of the Euclidean norms of the columns.

    >>> norm_21([[3.0, 0.0], [4.0, 2.0]])
    7.0
    """
    return float(np.linalg.norm(np.asarray(matrix, dtype=np.float64), axis=0).sum())


def spectral(matrix: Any) -> float:
    """The largest singular value."""
    return float(np.linalg.norm(np.asarray(matrix, dtype=np.float64), 2))


class _Checked:
    """Norms are finite and not negative."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # pyright: ignore[reportArgumentType]
            finite_number(field.name, getattr(self, field.name), at_least=0.0)


@dataclasses.dataclass(frozen=True)
class HeadNorms(_Checked):
    r"""Of a head $\sigma(W_V^\top X^\top \mathrm{softmax}(X W_{QK}^\top x_\tau))$."""

    value_21: float
    r"""$\|W_V\|_{2,1}$."""
    value: float
    r"""$\|W_V\|$."""
    query_key_21: float
    r"""$\|W_{QK}^\top\|_{2,1}$."""

    @classmethod
    def of(cls, value: Any, query_key: Any) -> HeadNorms:
        """Those of matrices $W_V$ and $W_{QK}$."""
        return cls(norm_21(value), spectral(value), norm_21(np.asarray(query_key).T))


@dataclasses.dataclass(frozen=True)
class LayerNorms(_Checked):
    r"""Of a layer $\sigma(\mathrm{softmax}(X W_{QK} X^\top) X W_V) W_C$, tokens being put on the unit ball before and after $\sigma$."""

    value_21: float
    value: float
    query_key_21: float
    query_key: float
    mix_21: float
    r"""$\|W_C\|_{2,1}$."""
    mix: float

    @classmethod
    def of(cls, value: Any, query_key: Any, mix: Any) -> LayerNorms:
        """Those of matrices $W_V$, $W_{QK}$ and $W_C$."""
        keys = np.asarray(query_key).T
        return cls(norm_21(value), spectral(value), norm_21(keys), spectral(keys), norm_21(mix), spectral(mix))


@dataclasses.dataclass(frozen=True)
class DenseNorms(_Checked):
    r"""Of a fully connected layer $x \mapsto \sigma(A^\top x)$."""

    matrix_21: float
    matrix: float

    @classmethod
    def of(cls, matrix: Any) -> DenseNorms:
        return cls(norm_21(matrix), spectral(matrix))
