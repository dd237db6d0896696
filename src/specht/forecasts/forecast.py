r"""The learning curve of one's own data: measured on subsets by exact inference, and continued beyond them with an interval.

Errors are mean squared ones in units of the label variance, so that predicting the mean has error 1 and $R^2 = 1 - E$. They are against
labels as they are in the table, noise included. Variances and ridge are fitted once, on the whole table, and stay as they are at every
size: the forecast is that of this predictor on more rows of the same law.

The interval at N' is that of Student's t in $\log E$, cut off where more samples would do harm. Its width is what the spectrum of N rows
states for itself, corrected by forecasts whose outcome is known: disjoint quarters of the table forecast the error at all its rows. The
scatter of their misses, in units of their own stated errors, is pooled with a prior of one, and their mean is carried over as a drift.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import special

from specht.architecture import Architecture
from specht.errors import InputError
from specht.forecasts.extrapolate import EmpiricalSpectrum, Trust
from specht.forecasts.power_law import extrapolate_power_law
from specht.forecasts.summary import forecast_summary, forecast_variables
from specht.forecasts.table import SequenceTable
from specht.learning.gp import Fit, fit_architecture, normalised_gram, regress
from specht.progress import Progress
from specht.results import Result, Variable
from specht.stats import standard_error

MIN_ROWS = 64
QUARTERS, PARTITIONS = 4, 5
"""Disjoint parts of the table that forecast its own error, and how often it is cut anew."""
PRIOR = 24.0
"""Weight of the stated error against the observed misses, in quarters."""
DRIFT = 0.1
"""Standard deviation of log(error) that the theory itself is granted, from a quarter of the rows to all of them."""
BAG = "bag"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ForecastSettings:
    """How a forecast is made."""

    rows: int = 1500
    """Most rows that are used, drawn at random; exact inference costs their cube."""
    fit_rows: int = 400
    """Rows that variances and ridge are fitted on."""
    test_share: float = 0.25
    """Share of rows held out in each repeat."""
    sizes: tuple[int, ...] | None = None
    """Sizes of the measured subsets; six on a logarithmic grid unless given."""
    repeats: int = 8
    horizons: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)
    """Multiples of the rows used, at which the forecast is stated."""
    confidence: float = 0.9
    seed: int = 0


@dataclasses.dataclass(frozen=True, eq=False)
class SubsetErrors:
    """Errors on held-out rows of predictors trained on random subsets."""

    n_train: np.ndarray
    """(P,)"""
    error: np.ndarray
    """(P, repeats), in units of the label variance."""
    accuracy: np.ndarray | None
    """(P, repeats): share of held-out rows whose most likely class is right; None for regression."""

    @property
    def stderr(self) -> np.ndarray:
        return standard_error(self.error, axis=1)


@dataclasses.dataclass(frozen=True, eq=False)
class Band:
    """A value with an interval at each number of samples."""

    n_train: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclasses.dataclass(frozen=True)
class Calibration:
    """How forecasts of quarters of the table came out."""

    trust: Trust
    misses: tuple[float, ...]
    """log(error at all rows / forecast from a quarter), one a quarter."""


@dataclasses.dataclass(frozen=True, eq=False)
class ArchitectureForecast:
    """All that is said about one architecture."""

    name: str
    fit: Fit
    measured: SubsetErrors
    squares: np.ndarray
    """(N,): squared leave-one-out residuals at all rows, in units of the label variance."""
    curve: Band
    """From the smallest measured size to the last horizon."""
    forecast: Band
    """At the horizons."""
    power_law: Band
    """The baseline at the horizons."""
    power_law_curve: Band
    continued: np.ndarray
    """At the horizons: log of the factor of the effective ridge that was continued by powers; 0 where the rows at hand tell."""
    calibration: Calibration

    @property
    def error(self) -> float:
        """Leave-one-out error at all rows."""
        return float(self.squares.mean())

    @property
    def stderr(self) -> float:
        return float(standard_error(self.squares))


@dataclasses.dataclass(frozen=True)
class OrderShare:
    """Share of the label variance that is explained with positions and not without."""

    with_order: str
    """The architecture with positions whose labels are most likely."""
    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, eq=False)
class Forecast(Result):
    """The learning curve of a table under several architectures."""

    rows: int
    rows_available: int
    variance: float
    """Of the labels, summed over outputs."""
    majority: float | None
    """Accuracy of always naming the most frequent class."""
    architectures: tuple[ArchitectureForecast, ...]
    order: OrderShare | None
    """None where no architecture with positions was compared to the bag of words."""
    settings: ForecastSettings

    @property
    def best(self) -> ArchitectureForecast:
        """The architecture with the smallest leave-one-out error at all rows."""
        return min(self.architectures, key=lambda found: found.error)

    def summary(self) -> dict[str, Any]:
        """Curves as plain values, as files and figures have them."""
        return forecast_summary(self)

    def _summary(self) -> str:
        one = self.best
        at = int(np.abs(np.log(one.forecast.n_train / (4.0 * self.rows))).argmin())
        low, high = one.forecast.low[at], one.forecast.high[at]
        now = f"error {one.error:.3g} ± {one.stderr:.1g} of the label variance now, by {one.name}, the best of {len(self.architectures)}"
        then = (
            f"{one.forecast.value[at]:.3g} at {one.forecast.n_train[at]:.0f} rows ({self.settings.confidence:.0%}: {low:.3g} to {high:.3g})"
        )
        return f"{self.rows} of {self.rows_available} rows\n{now}; {then}"

    def _variables(self) -> list[Variable]:
        return forecast_variables(self)


def forecast_table(
    table: SequenceTable,
    architectures: Mapping[str, Architecture],
    settings: ForecastSettings = ForecastSettings(),  # noqa: B008 -- frozen
    progress: Progress | None = None,
) -> Forecast:
    """Measure and forecast the learning curve of a table under each of some architectures, by name."""
    rng = np.random.default_rng(settings.seed)
    if len(table) < MIN_ROWS:
        raise InputError(f"The table has {len(table)} usable rows, and a forecast needs at least {MIN_ROWS}: add rows.")
    if settings.rows < MIN_ROWS:
        raise InputError(f"rows={settings.rows} leaves too few of them, and a forecast needs at least {MIN_ROWS}: raise it.")
    chosen = np.sort(rng.permutation(len(table))[: settings.rows])
    used = table.take(chosen)
    labels, variance = standardised(used.labels)
    sizes = measured_sizes(len(used), settings)
    # Every architecture sees the same subsets, so that their differences are not those of subsets.
    splits = draw_splits(len(used), sizes, settings, rng)
    seeds = rng.integers(2**31, size=len(architectures))
    found = []
    for index, (name, arch) in enumerate(architectures.items()):
        report = _share(progress, index, len(architectures))
        fit = _fit(arch, used, labels, settings, report)
        gram = normalised_gram(fit.arch, used.tokens, used.mask)
        found.append(forecast_gram(name, fit, gram, labels, splits, settings, np.random.default_rng(seeds[index])))
        report(1, 1)
    majority = float(used.labels.mean(axis=0).max()) if table.task == "classification" else None
    return Forecast(len(used), len(table), variance, majority, tuple(found), order_share(found, settings.confidence), settings)


def standardised(labels: np.ndarray) -> tuple[np.ndarray, float]:
    """Labels without mean in units of their standard deviation, and their variance summed over outputs."""
    centred = labels - labels.mean(axis=0)
    variance = float(np.mean(np.sum(centred**2, axis=1)))
    return centred / math.sqrt(variance), variance


def measured_sizes(rows: int, settings: ForecastSettings) -> np.ndarray:
    """Sizes of the subsets, checked against the rows that are left for training."""
    most = rows - _test_rows(rows, settings)
    if settings.sizes is None:
        return np.unique(np.geomspace(max(12, most / 24), most, 6).round().astype(int))
    sizes = np.array(sorted(set(settings.sizes)))
    if sizes[0] < 4 or sizes[-1] > most:
        raise InputError(f"Sizes of subsets must lie between 4 and the {most} rows that are left for training, got {sizes.tolist()}.")
    if len(sizes) < 3:
        raise InputError(f"A learning curve needs at least three sizes of subsets, got {sizes.tolist()}.")
    return sizes


def _test_rows(rows: int, settings: ForecastSettings) -> int:
    return max(8, round(settings.test_share * rows))


def draw_splits(
    rows: int, sizes: np.ndarray, settings: ForecastSettings, rng: np.random.Generator
) -> list[tuple[np.ndarray, list[np.ndarray]]]:
    """In each repeat the rows held out, and a random subset of the others at each size."""
    splits = []
    for _ in range(settings.repeats):
        order = rng.permutation(rows)
        test, rest = order[: _test_rows(rows, settings)], order[_test_rows(rows, settings) :]
        splits.append((test, [rng.permutation(rest)[:size] for size in sizes]))
    return splits


def _fit(arch: Architecture, table: SequenceTable, labels: np.ndarray, settings: ForecastSettings, progress: Progress) -> Fit:
    some = np.random.default_rng(settings.seed).permutation(len(table))[: settings.fit_rows]
    return fit_architecture(
        arch, table.tokens[some], table.mask[some], labels[some], progress=lambda done, total: progress(done, total + 2)
    )


def forecast_gram(
    name: str,
    fit: Fit,
    gram: np.ndarray,
    labels: np.ndarray,
    splits: list[tuple[np.ndarray, list[np.ndarray]]],
    settings: ForecastSettings,
    rng: np.random.Generator,
) -> ArchitectureForecast:
    """Measure and forecast the learning curve of one fitted architecture, given its Gram (N, N) and standardised labels (N, outputs)."""
    n = len(gram)
    measured = measure(gram, labels, fit.ridge, splits)
    spectrum = EmpiricalSpectrum(gram, labels)
    calibration = calibrate(gram, labels, spectrum, fit.ridge, rng)
    horizons = np.array(settings.horizons) * n
    forecast = band(spectrum, horizons, fit.ridge, calibration.trust, settings.confidence)
    grid = np.union1d(np.geomspace(measured.n_train[0], max(horizons.max(), n), 40), measured.n_train)
    here = spectrum.at(n, fit.ridge)
    at = np.concatenate([horizons, grid])
    value, low, high = extrapolate_power_law(
        measured.n_train, measured.error, at, log_stderr=here.now_stderr, confidence=settings.confidence, rng=rng
    )
    law = [Band(at[part], value[part], low[part], high[part]) for part in (slice(None, len(horizons)), slice(len(horizons), None))]
    return ArchitectureForecast(
        name=name,
        fit=fit,
        measured=measured,
        squares=np.sum(spectrum.residuals(fit.ridge) ** 2, axis=1),
        curve=band(spectrum, grid, fit.ridge, calibration.trust, settings.confidence),
        forecast=forecast,
        power_law=law[0],
        power_law_curve=law[1],
        continued=np.array([spectrum.at(size, fit.ridge).continued for size in horizons]),
        calibration=calibration,
    )


def measure(gram: np.ndarray, labels: np.ndarray, ridge: float, splits: list[tuple[np.ndarray, list[np.ndarray]]]) -> SubsetErrors:
    """Errors, and accuracies where there are several outputs, of exact inference on every subset."""
    sizes = np.array([len(subset) for subset in splits[0][1]])
    errors, accuracies = np.empty((2, len(sizes), len(splits)))
    for repeat, (test, subsets) in enumerate(splits):
        for index, train in enumerate(subsets):
            mean = regress(gram[np.ix_(train, train)], labels[train], ridge).mean(gram[np.ix_(test, train)])
            errors[index, repeat] = np.mean(np.sum((labels[test] - mean) ** 2, axis=1))
            # One-hot labels without mean: their least value in a column is minus the share of its class.
            named = np.argmax(mean - labels.min(axis=0), axis=1)
            accuracies[index, repeat] = np.mean(named == np.argmax(labels[test], axis=1))
    return SubsetErrors(sizes, errors, accuracies if labels.shape[1] > 1 else None)


def calibrate(gram: np.ndarray, labels: np.ndarray, spectrum: EmpiricalSpectrum, ridge: float, rng: np.random.Generator) -> Calibration:
    """Let quarters of the rows forecast the error at all rows, and see how far they miss it."""
    n = len(gram)
    known = spectrum.at(n, ridge).log_now
    parts = [part for _ in range(PARTITIONS) for part in np.array_split(rng.permutation(n), QUARTERS)]
    found = [EmpiricalSpectrum(gram[np.ix_(part, part)], labels[part]).at(n, ridge) for part in parts]
    misses = known - np.log([one.error for one in found])
    # Of the mean error and not of its logarithm, which noise lowers.
    drift = known - math.log(np.mean([one.error for one in found]))
    # Cutting the rows anew averages about half of the noise away.
    noise = float(np.mean([one.step_stderr**2 for one in found])) / (2 * QUARTERS)
    shrunk = DRIFT**2 / (DRIFT**2 + noise)
    # The theory errs by fluctuations, which are as many as the degrees of freedom that it takes for learnt.
    learnt = max(float(np.mean([one.learnt for one in found])), 1e-3)
    # A quarter is part of all rows, so its own noise counts for three quarters.
    stated = (1.0 - 1.0 / QUARTERS) * float(np.mean([one.now_stderr**2 + one.step_stderr**2 for one in found]))
    factor = math.sqrt((PRIOR + QUARTERS * float(np.var(misses)) / stated) / (PRIOR + QUARTERS))
    return Calibration(Trust(factor, PRIOR + QUARTERS, shrunk * drift / learnt, math.sqrt(shrunk * noise) / learnt), tuple(misses.tolist()))


def band(spectrum: EmpiricalSpectrum, n_train: np.ndarray, ridge: float, trust: Trust, confidence: float) -> Band:
    """The error at each number of samples with its interval."""
    tail = (1.0 - confidence) / 2.0
    levels = np.array([tail, 0.5, 1.0 - tail])
    low, value, high = np.transpose([spectrum.at(float(n), ridge).quantiles(levels, trust) for n in n_train])
    return Band(np.asarray(n_train, dtype=float), value, low, high)


def order_share(found: list[ArchitectureForecast], confidence: float) -> OrderShare | None:
    """Difference of the leave-one-out errors of the bag of words and of the most likely architecture with positions, row by row."""
    bag = next((one for one in found if one.name == BAG), None)
    ordered = [one for one in found if one.fit.arch.position_variance > 0.0]
    if bag is None or not ordered:
        return None
    best = max(ordered, key=lambda one: one.fit.log_likelihood)
    difference = bag.squares - best.squares
    value, stderr = float(difference.mean()), float(standard_error(difference))
    reach = float(special.ndtri((1.0 + confidence) / 2.0)) * stderr
    return OrderShare(best.name, value, value - reach, value + reach)


def _share(progress: Progress | None, part: int, parts: int) -> Progress:
    def report(done: int, total: int) -> None:
        if progress is not None:
            progress(100 * part + 100 * done // total, 100 * parts)

    return report
