r"""The curve of one learner: what was measured on subsets, and where it goes from there.

Errors of repeats scatter because other rows train and because other rows judge. The rows that judge are the same at every size, so most of
that noise is shared by all points: it makes the whole curve higher or lower. With s² the variance over repeats, v the variance of one row's
squared error, R repeats and a fold of T test rows out of N,

$$ t^2(n) = s^2(n) - \frac{v(n)}{T}, \qquad
   \mathrm{stderr}^2(n) = \frac{1}{R} \Big( t^2 + \eta \frac{v}{T} \Big), \qquad \mathrm{shared}^2 = \frac{v}{N} , $$

where t², which is what other training rows change, is averaged over neighbouring sizes in units of the error squared, and not negative, and
eta is the part of the judging noise that points do not share. Eta was chosen on tables for validation; so was leaving out that subsets near
the whole table overlap, which would add to t².
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from specht.forecasts.laws import extrapolate_law
from specht.forecasts.shapes import ErrorCurve, ErrorForecast, learned_shapes
from specht.forecasts.subsets import FOLDS, SplitErrors

CURVE_POINTS = 40
OWN = 0.2
"""Share of the noise of judging that the points of a curve do not share: eta."""
NEIGHBOURS = 2
"""Sizes on either side over which the scatter by training rows is averaged."""
BASELINE = "pow3"
"""The law that is drawn beside the forecast: a power with an offset."""


@dataclasses.dataclass(frozen=True, eq=False)
class Band:
    """A value with an interval at each number of rows for training."""

    n_train: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def turned(self) -> Band:
        """The band of one minus the value: accuracy for an error rate, R² for an error."""
        return Band(self.n_train, 1.0 - self.value, 1.0 - self.high, 1.0 - self.low)

    def at_most(self, most: float) -> Band:
        """The band below a limit that no value passes."""
        return Band(self.n_train, *(np.minimum(part, most) for part in (self.value, self.low, self.high)))


@dataclasses.dataclass(frozen=True, eq=False)
class MeasuredErrors:
    """Errors of one learner on the test rows of every repeat."""

    n_train: np.ndarray
    """(P,)"""
    error: np.ndarray
    """(P, repeats)"""
    stderr: np.ndarray
    """(P,): of the mean over repeats, as far as points do not share it."""
    shared: float
    """Standard error of log(error) that all points share."""

    @property
    def mean(self) -> np.ndarray:
        """(P,)"""
        return self.error.mean(axis=1)

    def curve(self) -> ErrorCurve:
        """The points above zero, for shapes and laws."""
        return ErrorCurve(self.n_train.astype(float), self.mean, self.stderr)


@dataclasses.dataclass(frozen=True, eq=False)
class CurveForecast:
    """Measured errors and their continuation."""

    measured: MeasuredErrors
    ahead: ErrorForecast
    horizons: Band
    """At multiples of the rows at hand."""
    curve: Band
    """From the smallest subset to the last horizon."""
    law: Band
    """A power law with an offset at the horizons, for comparison."""


def measured_errors(splits: Sequence[SplitErrors], rows: int) -> MeasuredErrors:
    """Errors over repeats, in units of the label variance."""
    error = np.stack([split.error for split in splits], axis=1)
    return _measured(splits[0].n_train, error, np.mean([split.row_variance for split in splits], axis=0), rows)


def measured_error_rates(splits: Sequence[SplitErrors], rows: int) -> MeasuredErrors:
    """Shares of test rows whose class is named wrongly; a share of zero counts as half a row."""
    rate = np.maximum(1.0 - np.stack([split.accuracy for split in splits], axis=1), 0.5 / rows)
    mean = rate.mean(axis=1)
    return _measured(splits[0].n_train, rate, mean * (1.0 - mean), rows)


def _measured(n_train: np.ndarray, error: np.ndarray, row_variance: np.ndarray, rows: int) -> MeasuredErrors:
    mean, repeats = error.mean(axis=1), error.shape[1]
    of_judging = row_variance * FOLDS / rows
    relative = (error.var(axis=1, ddof=1) - of_judging) / mean**2
    reach = np.abs(np.subtract.outer(np.arange(len(mean)), np.arange(len(mean)))) <= NEIGHBOURS
    of_training = np.maximum(reach @ relative / reach.sum(axis=1), 0.0) * mean**2
    stderr = np.sqrt((of_training + OWN * of_judging) / repeats)
    return MeasuredErrors(n_train, error, stderr, float(np.sqrt(row_variance[-1] / rows) / mean[-1]))


def forecast_curve(
    measured: MeasuredErrors, horizons: np.ndarray, confidence: float, rng: np.random.Generator, most: float = np.inf
) -> CurveForecast:
    """Continue measured errors to the horizons, which are numbers of rows; no error is larger than `most`."""
    curve = measured.curve()
    ahead = learned_shapes().forecast(curve, measured.shared)
    grid = np.union1d(np.geomspace(measured.n_train[0], max(horizons.max(), measured.n_train[-1]), CURVE_POINTS), measured.n_train)
    law = extrapolate_law(BASELINE, curve, horizons, shared=measured.shared, confidence=confidence, rng=rng)
    bands = (band(ahead, horizons, confidence), band(ahead, grid, confidence), Band(horizons, *law))
    return CurveForecast(measured, ahead, *(one.at_most(most) for one in bands))


def band(ahead: ErrorForecast, n_train: np.ndarray, confidence: float) -> Band:
    """Median and interval of the error at each number of rows."""
    tail = (1.0 - confidence) / 2.0
    low, value, high = np.transpose([ahead.quantiles(float(n), np.array([tail, 0.5, 1.0 - tail])) for n in n_train])
    return Band(np.asarray(n_train, dtype=float), value, low, high)
