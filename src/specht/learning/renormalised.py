r"""How much of each eigenfunction is learnt from N samples, by the self-consistent equation of kernel regression.

With eigenvalues $\lambda_j$ of degeneracy $d_j$ and a ridge $\delta$, the functions not yet learnt act as noise on those that are. They
raise the ridge to $N \kappa$, where $\kappa$ solves

$$ N = \sum_j d_j \frac{\lambda_j}{\lambda_j + \kappa} + \frac{\delta}{\kappa} , \qquad
   \mathcal L_i = \frac{\lambda_i}{\lambda_i + \kappa} , \qquad
   E_0 = \frac{N}{N - \sum_j d_j \mathcal L_j^2} . $$

$\mathcal L_i$ is the *learnability*, from 0 to 1, and $E_0$ the factor by which fitting N samples raises the error. Without ridge and with
at least as many samples as there are functions, $\kappa = 0$. The *equivalent kernel* leaves the unlearnt functions out:
$\kappa = \delta / N$ and $E_0 = 1$.

The right-hand side depends on $\log \kappa$ smoothly, on a scale of one, whatever the eigenvalues are. It is tabulated once, inverted by
interpolation, and a step of Newton's method makes the roots exact. So a thousand values of N cost little more than ten.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from specht.errors import InputError

_PER_E_FOLD = 16
"""Entries of the table for each factor e of kappa: the interpolated root is good to eight digits, and Newton's step doubles them."""
_BLOCK = 2**16
"""Entries of a (points, modes) array held at a time: what stays in the processor's cache."""


@dataclasses.dataclass(frozen=True)
class Learnability:
    """What N samples teach, for every number of samples and ridge: arrays of one shape P."""

    n_train: np.ndarray
    ridge: np.ndarray
    r"""$\delta$."""
    kappa: np.ndarray
    r"""$\kappa$."""
    overfitting: np.ndarray
    r"""$E_0$."""
    eigenvalues: np.ndarray
    """Distinct eigenvalues, shape (M,)."""

    @property
    def learnability(self) -> np.ndarray:
        r"""$\mathcal L_i$, shape (*P, M)."""
        return learnability(self.eigenvalues, self.kappa)


def renormalised(eigenvalues: np.ndarray, degeneracies: np.ndarray, n_train: np.ndarray, ridge: np.ndarray | float) -> Learnability:
    """Solve for kappa at every number of samples; `n_train` and `ridge` broadcast against each other.

    >>> solved = renormalised(np.array([1.0]), np.array([4.0]), np.array([4.0]), 1.0)
    >>> round(float(solved.kappa[0]), 6)  # 4 = 4 / (1 + kappa) + 1 / kappa
    0.640388
    """
    values, numbers = _modes(eigenvalues, degeneracies)
    n, delta = _samples(n_train, ridge)
    rank = numbers[values > 0].sum()
    kappa = np.zeros(n.shape)
    solvable = (delta > 0) | (n < rank)
    if solvable.any():
        kappa[solvable] = _solve(values, numbers, n[solvable], delta[solvable])
    squares = _sums(values, numbers, kappa.ravel())[1].reshape(n.shape)
    with np.errstate(divide="ignore"):
        overfitting = np.where(n > squares, n / np.where(n > squares, n - squares, 1.0), np.inf)
    return Learnability(n, delta, kappa, overfitting, values)


def equivalent_kernel(eigenvalues: np.ndarray, degeneracies: np.ndarray, n_train: np.ndarray, ridge: np.ndarray | float) -> Learnability:
    """Leave unlearnt functions out: kappa = ridge / N, and no overfitting."""
    values, _ = _modes(eigenvalues, degeneracies)
    n, delta = _samples(n_train, ridge)
    return Learnability(n, delta, delta / n, np.ones(n.shape), values)


def samples_at(eigenvalues: np.ndarray, degeneracies: np.ndarray, kappa: np.ndarray, ridge: float) -> np.ndarray:
    """The number of samples that has a given kappa: the right-hand side of the equation."""
    kappa = np.atleast_1d(np.asarray(kappa, dtype=np.float64))
    return _sums(*_modes(eigenvalues, degeneracies), kappa)[0] + ridge / kappa


def learnability(eigenvalues: np.ndarray, kappa: np.ndarray) -> np.ndarray:
    r"""$\lambda / (\lambda + \kappa)$ for every pair, shape (*P, M): zero for a vanishing eigenvalue, even where kappa vanishes too."""
    with np.errstate(invalid="ignore"):
        return np.where(eigenvalues > 0, eigenvalues / (eigenvalues + np.asarray(kappa)[..., None]), 0.0)


def _solve(values: np.ndarray, numbers: np.ndarray, n: np.ndarray, delta: np.ndarray) -> np.ndarray:
    high = np.log((delta + values @ numbers) / n)
    present = values > 0
    if not present.any():
        return np.exp(high)
    spare = np.maximum(numbers[present].sum() - n, 0.0)  # without ridge, kappa >= spare / N times the smallest eigenvalue
    with np.errstate(divide="ignore"):
        low = np.log(np.maximum(delta / n, values[present].min() * spare / n))
    grid = np.linspace(low.min() - 0.1, high.max() + 0.1, 2 + math.ceil(_PER_E_FOLD * (high.max() - low.min() + 0.2)))
    learnt, squares = _sums(values, numbers, np.exp(grid))
    table = CubicHermiteSpline(grid, learnt, squares - learnt)  # d/du sum d L = -sum d L (1 - L), with u = log kappa
    left, right = low, high
    for _ in range(60):  # to rounding, on the cheap table
        middle = (left + right) / 2.0
        below = table(middle) + delta * np.exp(-middle) > n  # more samples than asked for: kappa must grow
        left, right = np.where(below, middle, left), np.where(below, right, middle)
    u = (left + right) / 2.0
    learnt, squares = _sums(values, numbers, np.exp(u))
    pull = delta * np.exp(-u)
    return np.exp(np.clip(u + (learnt + pull - n) / (learnt - squares + pull), low, high))


def _sums(values: np.ndarray, numbers: np.ndarray, kappa: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""$\sum_j d_j \mathcal L_j$ and $\sum_j d_j \mathcal L_j^2$ at every kappa."""
    present = values > 0  # a vanishing eigenvalue is not learnt, even where kappa vanishes too
    values, numbers = values[present], numbers[present]
    learnt, squares = np.empty(len(kappa)), np.empty(len(kappa))
    step = max(1, _BLOCK // max(1, len(values)))
    for start in range(0, len(kappa), step):
        part = slice(start, start + step)
        share = np.add.outer(kappa[part], values)
        np.divide(values, share, out=share)
        learnt[part] = share @ numbers
        squares[part] = np.square(share, out=share) @ numbers
    return learnt, squares


def _modes(eigenvalues: np.ndarray, degeneracies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, numbers = np.asarray(eigenvalues, dtype=np.float64), np.asarray(degeneracies, dtype=np.float64)
    if values.ndim != 1 or values.shape != numbers.shape:
        raise InputError(f"eigenvalues and degeneracies must be two lists of one length, got shapes {values.shape} and {numbers.shape}.")
    if not (np.isfinite(values).all() and np.isfinite(numbers).all()) or (values < 0).any() or (numbers < 0).any():
        raise InputError("eigenvalues and degeneracies must be finite and not negative: leave out rows below rounding.")
    return values, numbers


def _samples(n_train: np.ndarray, ridge: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    n, delta = np.broadcast_arrays(np.atleast_1d(np.asarray(n_train, dtype=np.float64)), np.asarray(ridge, dtype=np.float64))
    if not n.size or not np.isfinite(n).all() or (n <= 0).any():
        raise InputError(f"n_train must hold positive numbers of samples, got {n_train!r}.")
    if not np.isfinite(delta).all() or (delta < 0).any():
        raise InputError(f"ridge must be a finite number of at least 0, got {ridge!r}.")
    return n.copy(), delta.copy()
