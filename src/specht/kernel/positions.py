r"""Covariance of the positional encodings, in units of $s_p$, as the width grows.

Learned positions are independent: $P_{ab} = \delta_{ab}$. Sinusoidal positions have frequencies $\omega = \Omega^{-u}$, $u$ uniform in
$[0, 1]$, $\Omega = 10^4$ (Vaswani et al. 2017), so that inner products and means over the width become integrals over $u$,

$$ P_{ab} = \int_0^1 \cos((a - b) \Omega^{-u})\, du = \frac{\mathrm{Ci}(|a-b|) - \mathrm{Ci}(|a-b|/\Omega)}{\ln \Omega}, $$

and likewise with the sine integral for the mean of the encoding at one position, which layer norm subtracts.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import sici

from specht.architecture import Architecture

SLOWEST_WAVELENGTH = 1e4
"""Omega: the ratio of the fastest to the slowest frequency."""


def position_gram(arch: Architecture) -> np.ndarray:
    """P[a, b], shape (columns, columns), float64."""
    if arch.positions in ("none", "rotary"):
        return np.zeros((arch.columns, arch.columns))
    if arch.positions == "sinusoidal":
        column = np.arange(arch.columns)
        return _mean_cosine(np.abs(column[:, None] - column[None, :]))
    return np.eye(arch.columns)


def position_mean(arch: Architecture) -> np.ndarray:
    r"""Mean over the width of the encoding at each column, in units of $\sqrt{s_p}$: zero unless the encoding is fixed."""
    if arch.positions != "sinusoidal":
        return np.zeros(arch.columns)
    column = np.arange(arch.columns)
    return (_mean_cosine(column) + _mean_sine(column)) / math.sqrt(2)


def positions_are_trained(arch: Architecture) -> bool:
    """True if gradient descent moves the encodings, so that they add to the tangent kernel."""
    return arch.positions == "learned"


def _mean_cosine(angle: np.ndarray) -> np.ndarray:
    nonzero = np.where(angle > 0, angle, 1.0)
    mean = (sici(nonzero)[1] - sici(nonzero / SLOWEST_WAVELENGTH)[1]) / math.log(SLOWEST_WAVELENGTH)
    return np.where(angle > 0, mean, 1.0)


def _mean_sine(angle: np.ndarray) -> np.ndarray:
    return (sici(angle)[0] - sici(angle / SLOWEST_WAVELENGTH)[0]) / math.log(SLOWEST_WAVELENGTH)
