r"""The minima of a free energy over variances, followed along the number of samples.

A network whose embedding has width d pays $\tfrac d2 \sum_i n_i (r_i - \ln r_i - 1)$ for variances that are $r_i$ times those at infinite
width, where $n_i$ embedding vectors share the i-th. To this comes the energy of the labels (`specht.learning.adaptive.equivalent`). Both
are minimised over $\theta_i = \ln r_i$, each in units of $n_i^{-1/2}$, so that the cost is equally stiff in all directions.

There may be several minima. They are looked for from the symmetric point, where all context positions are equal, from points at which the
positions that the target reads are raised, and from points at which all variances are raised but those of the other positions. Every
minimum that is found is followed to larger and smaller N. A search that starts at a point with a symmetry ends at one with the same
symmetry, which may be a saddle. So the Hessian is looked at, and where it has a negative direction the search goes on from either side.
Where it has none, steps of Newton's method with the same Hessian make the minimum exact. A search that comes near a minimum that is known
already ends there, before any Hessian.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from specht.learning.adaptive.equivalent import Labels, PredictedLosses
from specht.learning.adaptive.orbits import Orbits
from specht.progress import Progress, report

RAISED = (3.0, 10.0)
"""Factors by which read positions are raised where a search starts."""
ALL_RAISED = (5.0, 50.0)
"""Factors by which tokens and readout are raised with them: at great length a kernel must grow before it can distinguish positions."""
_FURTHEST = 12.0
"""Bound of the logarithm of a ratio."""
_SAME = 1e-3
"""Distance of logarithms below which two minima are one."""
_CLOSE = 0.3
"""Distance below which minima at neighbouring numbers of samples are one, so that none is followed twice."""
_STEP, _ONE_SIDED = 1e-4, 1e-5
"""Steps of the differences of gradients that make the Hessian: to both sides, and to one side where the gradient is known."""
_ASIDE = 0.3
"""How far from a saddle, along its negative direction, the search goes on; in units of n_i^-1/2."""
_DOWNWARDS = 3e-5
"""Negative curvature, over width and samples, below which a point is a saddle and not rounding."""
_SADDLES = 4
"""Saddles that one search may leave."""
_ROUGHLY = 1e-5
"""Slope, over width and samples, to which a minimum is found before it is made exact."""
_ALIKE = 1e-2
"""Distance of logarithms below which a minimum that is found so far is one that is known."""
_EXACT = 1e-12
"""Slope, over width and samples, at which Newton's method ends."""
_NEWTON = 8
"""Most steps of Newton's method; two or three are enough."""


class Energy(Protocol):
    """The energy of the labels as a function of the logarithms of variances."""

    orbits: Orbits
    tolerance: float
    """Slope, over width and samples, at which a search ends."""
    searches: int
    """Numbers of samples at which minima are looked for from raised points, at most; in between they are followed."""

    def energy(self, logarithms: np.ndarray, labels: Labels) -> tuple[float, np.ndarray]: ...

    def losses(self, logarithms: np.ndarray, labels: Labels) -> PredictedLosses: ...


@dataclasses.dataclass(frozen=True, eq=False)
class Minimum:
    """A point at which the free energy is least among its neighbours."""

    free_energy: float
    ratios: np.ndarray
    """Logarithms of variances over those at infinite width (P,)."""


@dataclasses.dataclass(frozen=True, eq=False)
class Symmetric(Minimum):
    """The best point at which all context positions are equal."""

    slope: float
    """Size of the gradient in the directions that distinguish positions: zero if the point is stationary."""
    curvature: float
    """Lowest eigenvalue of the Hessian in these directions, in units of n_i^-1/2."""


@dataclasses.dataclass(frozen=True, eq=False)
class Landscape:
    """The free energy at one width and number of samples."""

    model: Energy
    width: float
    labels: Labels

    def value(self, ratios: np.ndarray) -> tuple[float, np.ndarray]:
        """Free energy and its gradient at logarithms of ratios (P,)."""
        orbits = self.model.orbits
        energy, slope = self.model.energy(np.log(orbits.prior) + ratios, self.labels)
        raised, half = np.expm1(ratios), self.width / 2.0
        cost = half * float(orbits.multiplicity @ (raised - ratios))
        return energy + cost, slope + half * orbits.multiplicity * raised

    def descend(self, start: np.ndarray, tied: np.ndarray | None = None, tolerance: float | None = None) -> Minimum:
        """The minimum below a start; with `tied` (P, Q) over variances that it makes of Q free ones."""
        multiplicity = self.model.orbits.multiplicity
        spread = np.eye(len(start)) if tied is None else tied
        units = np.sqrt(spread.T @ multiplicity)
        scale = (self.width + self.labels.n_train) / 2.0
        free = np.linalg.lstsq(spread, start, rcond=None)[0] * units

        def objective(point: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = self.value(spread @ (point / units))
            return value / scale, spread.T @ slope / units / scale

        bounds = [(-_FURTHEST * unit, _FURTHEST * unit) for unit in units]
        options = {"maxiter": 500, "maxcor": 20, "ftol": 1e-15, "gtol": tolerance or self.model.tolerance}
        end = minimize(objective, free, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        return Minimum(float(end.fun) * scale, spread @ (end.x / units))

    def settle(self, start: np.ndarray, known: Sequence[Minimum] = ()) -> Minimum:
        """The minimum below a start, which is no saddle; the known one, where it is one of these."""
        units, rough = np.sqrt(self.model.orbits.multiplicity), max(_ROUGHLY, self.model.tolerance)
        end = self.descend(start, tolerance=rough)
        for _ in range(_SADDLES):
            old = next((minimum for minimum in known if _same(minimum, end, self.model.orbits, _ALIKE)), None)
            if old is not None:
                return old
            value, slope = self.value(end.ratios)
            hessian = self._hessian(end.ratios, np.eye(len(units)), slope)
            curvatures, directions = np.linalg.eigh(hessian)
            if curvatures[0] > -_DOWNWARDS * (self.width + self.labels.n_train):
                return self._exact(end.ratios, value, slope, hessian)
            aside = _ASIDE * directions[:, 0] / units
            sides = [self.descend(end.ratios + side, tolerance=rough) for side in (aside, -aside)]
            end = min(sides, key=lambda side: side.free_energy)
        return self.descend(end.ratios)

    def _exact(self, ratios: np.ndarray, value: float, slope: np.ndarray, hessian: np.ndarray) -> Minimum:
        """A minimum to rounding, by Newton's method with the Hessian of where it is roughly; by descent where that leads nowhere."""
        units, scale = np.sqrt(self.model.orbits.multiplicity), self.width + self.labels.n_train
        for _ in range(_NEWTON):
            size = np.abs(slope / units).max()
            if size <= _EXACT * scale:
                break
            moved = ratios - np.linalg.solve(hessian, slope / units) / units
            if not np.abs(moved).max() < _FURTHEST:
                break
            after, slope_after = self.value(moved)
            if not np.abs(slope_after / units).max() < size / 2.0:
                break
            ratios, value, slope = moved, after, slope_after
        if np.abs(slope / units).max() <= self.model.tolerance * scale / 2.0:
            return Minimum(value, ratios)
        return self.descend(ratios)

    def symmetric(self, start: np.ndarray) -> Symmetric:
        """The best point at which all context positions are equal, and whether it is a minimum; for targets that distinguish positions."""
        orbits = self.model.orbits
        best = self.descend(start, orbits.tied)
        across = _across(orbits)
        slope = across.T @ (self.value(best.ratios)[1] / np.sqrt(orbits.multiplicity))
        lowest = float(np.linalg.eigvalsh(self._hessian(best.ratios, across))[0])
        return Symmetric(best.free_energy, best.ratios, float(np.linalg.norm(slope)), lowest)

    def _hessian(self, ratios: np.ndarray, directions: np.ndarray, slope: np.ndarray | None = None) -> np.ndarray:
        """Second derivatives along directions (P, Q), in units of n_i^-1/2, by differences of gradients; to one side where one is given."""
        units = np.sqrt(self.model.orbits.multiplicity)
        hessian = np.empty((directions.shape[1],) * 2)
        for place, direction in enumerate(directions.T):
            if slope is None:
                step = _STEP * direction / units
                change = (self.value(ratios + step)[1] - self.value(ratios - step)[1]) / (2.0 * _STEP)
            else:
                change = (self.value(ratios + _ONE_SIDED * direction / units)[1] - slope) / _ONE_SIDED
            hessian[:, place] = directions.T @ (change / units)
        return (hessian + hessian.T) / 2.0


def _across(orbits: Orbits) -> np.ndarray:
    """Orthonormal directions (P, Q) that distinguish context positions and leave their sum alone, in units of n_i^-1/2."""
    context = orbits.context
    together = np.sqrt(orbits.multiplicity[context])
    full = np.linalg.qr(np.column_stack([together, np.eye(len(context))[:, :-1]]))[0]
    across = np.zeros((len(orbits.prior), len(context) - 1))
    across[context] = full[:, 1:]
    return across


def follow(landscapes: Sequence[Landscape], progress: Progress | None = None) -> list[list[Minimum]]:
    """All minima found at every number of samples (rising), the lowest first."""
    minima: list[list[Minimum]] = [[] for _ in landscapes]
    orbits = landscapes[0].model.orbits
    size = len(orbits.prior)
    seeds = np.unique(np.linspace(0, len(landscapes) - 1, min(landscapes[0].model.searches, len(landscapes))).round().astype(int))
    steps = len(seeds) + 2 * (len(landscapes) - 1)
    done = iter(range(steps))
    for index in seeds:
        report(progress, next(done), steps)
        for start in (np.zeros(size), *_raised(orbits)):
            _add(minima[index], landscapes[index].settle(start, minima[index]), orbits)
    for order in (range(1, len(landscapes)), range(len(landscapes) - 2, -1, -1)):
        for index in order:
            report(progress, next(done), steps)
            before = minima[index - 1 if order.step > 0 else index + 1]
            for minimum in list(before):
                if not any(_near(minimum, other, orbits, _CLOSE) for other in minima[index]):
                    _add(minima[index], landscapes[index].settle(minimum.ratios, minima[index]), orbits)
    return [sorted(at_n, key=lambda minimum: minimum.free_energy) for at_n in minima]


def _raised(orbits: Orbits) -> list[np.ndarray]:
    """Starts at which variances are raised: those of all read positions, of single ones where there are several, of all but the rest."""
    reads = orbits.reads
    rest = set(orbits.context) - set(reads)
    alone = [[read] for read in reads[:2]] if len(reads) > 1 else []
    groups = [(group, factor) for group in ([reads] * bool(reads) + alone) for factor in RAISED]
    groups += [([index for index in range(len(orbits.prior)) if index not in rest], factor) for factor in ALL_RAISED]
    starts = []
    for group, factor in groups:
        start = np.zeros(len(orbits.prior))
        start[group] = math.log(factor)
        starts.append(start)
    return starts


def _add(minima: list[Minimum], new: Minimum, orbits: Orbits) -> None:
    """Keep a minimum that is not known yet; of two that are one, the lower."""
    for place, old in enumerate(minima):
        if _same(old, new, orbits, _SAME):
            if new.free_energy < old.free_energy:
                minima[place] = new
            return
    minima.append(new)


def _same(first: Minimum, second: Minimum, orbits: Orbits, distance: float) -> bool:
    """Whether two minima are one, by their place and by their free energy."""
    close = abs(first.free_energy - second.free_energy) < _SAME * (1.0 + abs(first.free_energy))
    return close and _near(first, second, orbits, distance)


def _near(first: Minimum, second: Minimum, orbits: Orbits, distance: float) -> bool:
    """Whether two minima are one, or copies of each other: the target may treat tokens alike, or the positions that it reads."""
    difference = in_order(orbits.names, first.ratios) - in_order(orbits.names, second.ratios)
    return bool(np.max(np.abs(difference)) < distance)


def in_order(names: Sequence[str], ratios: np.ndarray) -> np.ndarray:
    """Variances (..., P) with those of tokens, and those of read positions, in rising order."""
    ordered = np.array(ratios)
    for word in ("token", "position"):
        places = [index for index, name in enumerate(names) if name.startswith(word)]
        ordered[..., places] = np.sort(ordered[..., places], axis=-1)
    return ordered
