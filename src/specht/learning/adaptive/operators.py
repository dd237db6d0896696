r"""The operator of a kernel on the functions of one sector, as a function of variances.

Rows are orthonormal functions $e_i$. Each belongs to a *setting* s(i) of the readout token and is zero at all others. The kernel is a sum
over functions $\varphi_f$ with weights $\omega_f$, times a factor that depends on the settings only,

$$ M_{ij} = T_{s(i) s(j)} \sum_f \omega_f\, \Phi_{if}\, \Phi_{jf} , \qquad T_{st} = \sum_m a_m\, \tau_{ms}\, \tau_{mt} , $$

where $\Phi_{if} = E[e_i \varphi_f]$, and all $\omega_f$ and $a_m$ are monomials in variances. With T kept apart M is much cheaper than as a
sum over all products of $\tau_m$ and $\varphi_f$. With one setting and T = 1 it is a plain sum.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import numpy as np


class Monomials(NamedTuple):
    """Numbers times products of variances."""

    coefficients: np.ndarray
    """(F,)."""
    powers: np.ndarray
    """Power of each variance (F, P)."""

    def at(self, logarithms: np.ndarray) -> np.ndarray:
        """Their values (F,) at the logarithms of variances."""
        return self.coefficients * np.exp(self.powers @ logarithms)

    def some(self, which: np.ndarray) -> Monomials:
        """Those that are chosen."""
        return Monomials(self.coefficients[which], self.powers[which])


class Parts(NamedTuple):
    """M at given variances, with what the gradient needs of it."""

    matrix: np.ndarray
    inner: np.ndarray
    """M without the factor T."""
    factor: np.ndarray
    """T at the settings of all rows."""
    weights: np.ndarray
    """omega (F,)."""
    multipliers: np.ndarray
    """a (m,)."""


@dataclasses.dataclass(frozen=True, eq=False)
class Matrix:
    """The operator in one sector."""

    functions: np.ndarray
    """Phi (rows, F)."""
    weights: Monomials
    """omega."""
    settings: np.ndarray
    """s(i) of every row."""
    values: np.ndarray
    """tau (m, S)."""
    multipliers: Monomials
    """a."""
    degeneracy: float

    def at(self, logarithms: np.ndarray) -> Parts:
        """M at the logarithms of variances."""
        weights, multipliers = self.weights.at(logarithms), self.multipliers.at(logarithms)
        inner = (self.functions * weights) @ self.functions.T
        factor = self._spread.T @ (multipliers[:, None] * self._spread)
        return Parts(inner * factor, inner, factor, weights, multipliers)

    def scaled(self, number: float) -> Matrix:
        """A number times it."""
        return dataclasses.replace(self, weights=self.weights._replace(coefficients=number * self.weights.coefficients))

    def pull(self, parts: Parts, derivative: np.ndarray) -> np.ndarray:
        """Gradient in the logarithms of variances from the derivative in M."""
        of_weights = np.einsum("if,if->f", self.functions, (derivative * parts.factor) @ self.functions)
        of_multipliers = np.einsum("mi,mi->m", self._spread, self._spread @ (derivative * parts.inner))
        return (parts.weights * of_weights) @ self.weights.powers + (parts.multipliers * of_multipliers) @ self.multipliers.powers

    @functools.cached_property
    def _spread(self) -> np.ndarray:
        """tau at the settings of all rows (m, rows)."""
        return self.values[:, self.settings]
