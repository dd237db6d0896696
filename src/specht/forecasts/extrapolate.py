r"""Error beyond the data at hand, from the spectrum of their Gram matrix: many samples are few samples with a smaller ridge.

In the renormalised theory (`specht.learning.curves`) samples and ridge act through one number, the effective ridge $\kappa$:

$$ N = D_1(\kappa) + \frac{\delta}{\kappa}, \qquad E(N, \delta) = \frac{N}{N - D_2(\kappa)}\, h(\kappa), $$
$$ D_p = \sum_i \Big(\frac{\lambda_i}{\lambda_i + \kappa}\Big)^p, \qquad
   h = \sum_i \Big(\frac{\kappa}{\lambda_i + \kappa}\Big)^2 g_i^2 + \sigma^2 . $$

None of the eigenvalues $\lambda_i$ of the operator has to be known: on the eigenvalues $\mu_i$ of the Gram of N rows at hand, and the
coefficients $c_i$ of the labels on its eigenvectors, every one of these functions can be read off by turning the ridge $\delta'$ alone,

$$ \kappa = \Big[\sum_i \frac{1}{\mu_i + \delta'}\Big]^{-1}, \qquad
   h(\kappa) = \frac{\sum_i w_i c_i^2}{\sum_i w_i}, \quad w_i = (\mu_i + \delta')^{-2}, \qquad
   N - D_2(\kappa) = \frac{1}{\kappa^2 \sum_i w_i} . $$

N' samples with ridge $\delta$ have the $\kappa$ of N samples with the ridge $\delta' = \delta - (N' - N)\,\kappa(\delta')$, which may be
negative as long as it stays above $-\mu_{\min}$. At N' = N this is generalised cross-validation. How far it reaches is told by the
effective number of eigenvectors $S = (\sum w)^2 / \sum w^2$ that h averages over; beyond, the local powers of $\kappa$ in h and $D_1$ go
on. The theory is used for the ratio $E(N') / E(N)$ alone, and leave-one-out for $E(N)$.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import cast

import numpy as np
from scipy import optimize, special

REACH = 0.2
"""Smallest share of eigenvectors that the average h may rest on before powers take over."""
WINDOW = 4.0
"""Factor of the effective ridge over which the powers are measured."""
CONTINUED = 0.25
"""Stated error of log h for each factor e of the effective ridge that powers are continued over."""
_NODES = 300
"""Points that stand for each of two distributions."""
_TINY = 1e-300
_ROUNDING = 1e-12
"""Eigenvalues below this fraction of the largest are zero but for rounding."""


@dataclasses.dataclass(frozen=True)
class EffectiveRidge:
    """What the Gram of N rows says about one effective ridge."""

    ridge: float
    """Ridge of N rows that has this effective ridge."""
    kappa: float
    noise: float
    """h: error before the fluctuation of the training rows is added, in units of the squared labels."""
    d1: float
    d2: float
    support: float
    """Effective number of eigenvectors that `noise` averages over."""


@dataclasses.dataclass(frozen=True)
class Trust:
    """How forecasts of this kind have come out, and what is made of it."""

    factor: float = 1.0
    """By which stated standard errors are multiplied."""
    freedom: float = math.inf
    """Degrees of freedom of Student's t."""
    drift: float = 0.0
    """By how much log(error) has been missed for each degree of freedom that a row had to learn (`Extrapolation.learnt`)."""
    drift_stderr: float = 0.0

    def deviations(self, levels: np.ndarray) -> np.ndarray:
        """Quantiles of Student's t, in standard errors; of a Gaussian where it has no end of degrees of freedom."""
        return special.stdtrit(self.freedom, levels) if math.isfinite(self.freedom) else special.ndtri(levels)

    def share_below(self, deviation: float) -> float:
        """The share of the same law below so many standard errors."""
        return float(special.stdtr(self.freedom, deviation) if math.isfinite(self.freedom) else special.ndtr(deviation))


@dataclasses.dataclass(frozen=True)
class Extrapolation:
    """The error at N' samples as N rows tell it, as the error at N and the step from there."""

    rows: int
    """N"""
    n_train: float
    """N'"""
    error: float
    """As the spectrum has it, whether or not that is more than with fewer samples."""
    log_now: float
    """log of the error at N rows."""
    now_stderr: float
    """Standard error of `log_now`."""
    step_stderr: float
    """Standard error of log(error) - `log_now`: sampling noise that the two do not share, and powers that were continued."""
    learnt: float
    """Degrees of freedom D_1 that the step learns, for each row."""
    continued: float
    """log of the factor by which the effective ridge lies beyond the reach of the rows at hand; 0 within it."""

    @property
    def step(self) -> float:
        return math.log(self.error) - self.log_now

    def quantiles(self, levels: np.ndarray, trust: Trust) -> np.ndarray:
        """Quantiles of the error, given that more samples do no harm: the step has the sign of a curve that falls.

        Both parts are Student's t in the logarithm, with the corrections of `trust`, and the step is cut off at zero.
        """
        middle = (np.arange(_NODES) + 0.5) / _NODES
        now = self.log_now + trust.factor * self.now_stderr * trust.deviations(middle)
        if self.n_train == self.rows:
            return np.exp(np.quantile(now, levels))
        direction = 1.0 if self.n_train > self.rows else -1.0
        spread = math.hypot(trust.factor * self.step_stderr, trust.drift_stderr * self.learnt)
        step = self.step + trust.drift * self.learnt
        # Mirrored for fewer samples, so that the step is never positive.
        steps = np.full(1, min(direction * step, 0.0))
        if spread > 0.0:
            centre = direction * step / spread
            steps = spread * np.minimum(centre + trust.deviations(middle * trust.share_below(-centre)), 0.0)
        return np.exp(np.quantile(np.add.outer(now, direction * steps), levels))


class EmpiricalSpectrum:
    """Eigenvalues of a Gram matrix and the labels on its eigenvectors.

    >>> gram = np.diag([4.0, 1.0, 1.0])
    >>> spectrum = EmpiricalSpectrum(gram, np.array([[2.0], [1.0], [0.0]]))
    >>> round(spectrum.at(n_train=3, ridge=1.0).error, 4)  # rows that tell nothing of each other: the mean squared label
    1.6667
    """

    def __init__(self, gram: np.ndarray, labels: np.ndarray) -> None:
        labels = labels[:, None] if labels.ndim == 1 else labels
        values, self._vectors = np.linalg.eigh(gram)
        self.eigenvalues = np.where(values > _ROUNDING * values[-1], values, 0.0)
        self._coefficients = self._vectors.T @ labels
        self.power = np.sum(self._coefficients**2, axis=1)
        """Squared label coefficients, summed over outputs."""
        self._now: dict[float, tuple[float, float, float, EffectiveRidge, float]] = {}

    def __len__(self) -> int:
        return len(self.eigenvalues)

    def read(self, ridge: float) -> EffectiveRidge:
        """All functions of the effective ridge that belongs to N rows with this ridge."""
        n, inverse = len(self), 1.0 / (self.eigenvalues + ridge)
        kappa = 1.0 / float(inverse.sum())
        weights = inverse**2
        total = float(weights.sum())
        return EffectiveRidge(
            ridge=ridge,
            kappa=kappa,
            noise=float(weights @ self.power) / total,
            d1=n - ridge / kappa,
            d2=n - 1.0 / (kappa**2 * total),
            support=total**2 / float(weights @ weights),
        )

    def residuals(self, ridge: float) -> np.ndarray:
        """Leave-one-out residuals (N, K): the label of each row minus its prediction from all others."""
        inverse = 1.0 / (self.eigenvalues + ridge)
        weights = self._vectors @ (inverse[:, None] * self._coefficients)
        return weights / np.sum(self._vectors**2 * inverse, axis=1)[:, None]

    def at(self, n_train: float, ridge: float) -> Extrapolation:
        """The error of regression with this ridge on `n_train` samples, in units of the squared labels and with their noise.

        At N itself leave-one-out is taken, which does without the theory; the theory has the ratio of the errors at N' and N.
        """
        n = len(self)
        if ridge not in self._now:
            self._now[ridge] = self._at_all_rows(ridge)
        log_now, now_stderr, here, reading, beyond = self._now[ridge]
        if n_train == n:
            return Extrapolation(n, n_train, math.exp(log_now), log_now, now_stderr, 0.0, 0.0, beyond)
        there, other, continued = self._theory(n_train, ridge)
        noise = math.sqrt(2.0) * float(np.linalg.norm(self._shares(other) - self._shares(reading)))
        stderr = math.hypot(noise, CONTINUED * (continued - beyond))
        learnt = max(n_train - ridge / self._kappa(other, continued), 0.0) - max(n - ridge / self._kappa(reading, beyond), 0.0)
        return Extrapolation(n, n_train, math.exp(log_now + there - here), log_now, now_stderr, stderr, learnt / n, continued)

    def _at_all_rows(self, ridge: float) -> tuple[float, float, float, EffectiveRidge, float]:
        """log of the leave-one-out error and its standard error, and what `_theory` says there."""
        squares = np.sum(self.residuals(ridge) ** 2, axis=1)
        here, reading, beyond = self._theory(len(self), ridge)
        return math.log(max(float(squares.mean()), _TINY)), self._log_stderr(squares, reading), here, reading, beyond

    def _kappa(self, reading: EffectiveRidge, continued: float) -> float:
        return reading.kappa * math.exp(-continued)

    def _theory(self, n_train: float, ridge: float) -> tuple[float, EffectiveRidge, float]:
        """log of the error, the reading that it rests on, and log of the factor of kappa that lies beyond it."""
        own, last = self._equivalent(n_train, ridge), self._last
        if last is not None and own < last.ridge:
            error, continued = self._continue(last, n_train, ridge)
            return math.log(max(error, _TINY)), last, continued
        reading = self.read(own)
        return math.log(max(n_train / (n_train - reading.d2) * reading.noise, _TINY)), reading, 0.0

    def _shares(self, reading: EffectiveRidge) -> np.ndarray:
        """Weight of each eigenvector in the average h."""
        weights = (self.eigenvalues + reading.ridge) ** -2.0
        return weights / weights.sum()

    def _equivalent(self, n_train: float, ridge: float) -> float:
        """The ridge that gives N rows the effective ridge of `n_train` samples; -infinity where there is none."""
        n, low = len(self), -float(self.eigenvalues[0])

        def excess(other: float) -> float:
            return other - ridge + (n_train - n) * (1.0 / float(np.sum(1.0 / (self.eigenvalues + other))))

        if n_train == n:
            return ridge
        start = low + 1e-12 * (ridge - low)
        high = ridge if n_train > n else (n * ridge + (n - n_train) * float(self.eigenvalues.mean())) / n_train
        if excess(start) > 0.0:
            return -math.inf
        return _root(excess, start, high * (1 + 1e-9))

    @functools.cached_property
    def _last(self) -> EffectiveRidge | None:
        """The smallest effective ridge that is still read off; None where all are."""
        low, high = -float(self.eigenvalues[0]), float(self.eigenvalues[-1])
        wanted = REACH * len(self)

        def excess(log_distance: float) -> float:
            return self.read(low + math.exp(log_distance)).support - wanted

        bottom, top = math.log(1e-12 * max(high, 1e-300)), math.log(1e3 * max(high, 1e-300))
        if excess(bottom) >= 0.0:
            return None
        return self.read(low + math.exp(_root(excess, bottom, top)))

    def _log_stderr(self, squares: np.ndarray, reading: EffectiveRidge) -> float:
        r"""Standard error of the log of a mean square: that of a quadratic form of labels whose noise has the observed fourth moment.

        For an average over S eigenvectors $\mathrm{Var} \approx 2/S - 2/N + v/N$, where v is the relative variance of the squared
        leave-one-out residuals: 2 for Gaussian noise, when only the support counts, and v/N alone for S = N.
        """
        mean = float(squares.mean())
        spread = float(squares.var()) / mean**2 if mean > 0.0 else 2.0
        return math.sqrt(2.0 / reading.support + (spread - 2.0) / len(self))

    def _continue(self, last: EffectiveRidge, n_train: float, ridge: float) -> tuple[float, float]:
        """Beyond reach, h and D_1 go on as powers of the effective ridge: the error, and log of the factor that they go on for."""
        rise, fall = self._powers

        def excess(log_kappa: float) -> float:
            return last.d1 * math.exp(-fall * (log_kappa - math.log(last.kappa))) + ridge / math.exp(log_kappa) - n_train

        top = math.log(last.kappa)
        bottom = top - 60.0
        log_kappa = _root(excess, bottom, top) if excess(bottom) > 0.0 > excess(top) else top
        distance = top - log_kappa
        d1 = last.d1 * math.exp(fall * distance)
        d2 = min(last.d2 * math.exp(fall * distance), d1)
        noise = last.noise * math.exp(-rise * distance)
        return n_train / (n_train - d2) * noise, distance

    @functools.cached_property
    def _powers(self) -> tuple[float, float]:
        """Powers of the effective ridge in h and, with the opposite sign, in D_1, measured next to the last reading."""
        last = self._last
        assert last is not None
        before, step = self._with_kappa(last.kappa * WINDOW), math.log(WINDOW)
        rise = max(0.0, math.log(before.noise / last.noise) / step) if last.noise > 0.0 else 0.0
        return rise, min(1.0, max(0.0, math.log(last.d1 / before.d1) / step))

    def _with_kappa(self, kappa: float) -> EffectiveRidge:
        low, high = -float(self.eigenvalues[0]), float(self.eigenvalues[-1])

        def excess(log_distance: float) -> float:
            return math.log(self.read(low + math.exp(log_distance)).kappa / kappa)

        bottom, top = math.log(1e-14 * high), math.log(2.0 * len(self) * kappa + high)
        return self.read(low + math.exp(_root(excess, bottom, top)))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that has opposite signs at both ends vanishes."""
    return cast(float, optimize.brentq(function, low, high, xtol=1e-15, rtol=np.float64(1e-12)))
