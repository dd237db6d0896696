"""The learning curve of a network of finite width, and the questions that it answers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal, NamedTuple

import numpy as np

from specht.architecture import Architecture
from specht.checks import finite_number
from specht.errors import InputError
from specht.learning.adaptive.minima import in_order
from specht.learning.tally import TARGET_SQUARED
from specht.results import Result, Variable, plain

BROKEN = 2.0
"""Strength from which the symmetry counts as broken: a position that the target reads has twice the variance of the others."""
_JUMP = 0.2
"""Difference of logarithms of a variance between two minima that count as different."""
_STATIONARY = 1e-5
"""Slope at the symmetric point, over width and samples, below which it counts as stationary."""

Kind = Literal["first order", "second order", "crossover", "none"]


class Jump(NamedTuple):
    """Where another minimum becomes the lowest one."""

    samples: float
    variance: str
    """Which variance changes most."""
    before: float
    """Its ratio to infinite width before."""
    after: float


class Transition(NamedTuple):
    """Where a network begins to treat the positions that the target reads unlike the others."""

    samples: float
    """Number of samples N_c; infinite where nothing happens up to the largest that was asked for."""
    kind: Kind
    """first order: a broken minimum becomes the lower one. second order: the symmetric point stops being a minimum. crossover: there is one
    minimum all along, and its strength passes a threshold."""
    low: float
    """Nearest number of samples that was computed, below."""
    high: float
    """Nearest number of samples that was computed, above."""


@dataclasses.dataclass(frozen=True)
class AdaptiveCurve(Result):
    """Predicted losses over numbers of samples (N,) at one width, or over widths and numbers (D, N)."""

    arch: Architecture
    target: str
    method: str
    """"exact" or "sampled"."""
    n_train: np.ndarray
    width: np.ndarray
    """Widths of the embedding (D,)."""
    ridge: float
    """In units of E[k]."""
    noise: float
    """Variance of the labels around the target, summed over outputs."""
    names: tuple[str, ...]
    """Names of the P variances that move: tokens, positions that the target reads, the "rest" of the context, the readout column."""
    infinite_test: np.ndarray
    """Test loss at infinite width (N,)."""
    infinite_train: np.ndarray
    test: np.ndarray
    """Mean squared error on fresh sequences, against the target without noise, at the lowest minimum."""
    train: np.ndarray
    learned: np.ndarray
    """Share of the target in the mean prediction, from 0 to 1."""
    kappa: np.ndarray
    stderr: np.ndarray
    """Standard error of the test loss from sampling the kernel or the target; zero where both are exact."""
    minima: np.ndarray
    """Variances over those at infinite width at every minimum (..., N, B, P); not a number where there are fewer."""
    free_energies: np.ndarray
    """Free energy of every minimum, the lowest first (..., N, B); not a number where there are fewer."""
    strengths: np.ndarray
    """Largest variance of a read position over that of the rest, at each minimum (..., N, B)."""
    minima_test: np.ndarray
    """Test loss at each minimum (..., N, B)."""
    symmetric_slope: np.ndarray
    """Size of the gradient, in directions that distinguish positions, at the best point with all context positions equal."""
    symmetric_curvature: np.ndarray
    """Lowest eigenvalue of the Hessian there, in these directions; not a number where the target reads no position."""

    @property
    def ratios(self) -> np.ndarray:
        """Variances at the lowest minimum over those at infinite width (..., N, P): the order parameters."""
        return self.minima[..., 0, :]

    @property
    def broken(self) -> np.ndarray:
        """Whether a read position has at least twice the variance of the others."""
        return self.strengths[..., 0] >= BROKEN

    @property
    def symmetric_is_minimum(self) -> np.ndarray:
        """Whether the symmetric point is a minimum: stationary and curved upwards, or without any direction to break."""
        scale = self.width[:, None] + self.n_train if self.test.ndim > 1 else self.width[0] + self.n_train
        curved = ~(self.symmetric_curvature <= 0.0)
        with np.errstate(invalid="ignore"):
            return (self.symmetric_slope <= _STATIONARY * scale) & curved

    def transition(self, width: float | None = None, strength: float = BROKEN) -> Transition:
        """The number of samples at which the symmetry breaks.

        Arguments:
            width: which one, where there are several.
            strength: that a crossover has to reach.
        """
        strength, row = finite_number("strength", strength, above=1.0), self._row(width)
        order = np.argsort(self.n_train, kind="stable")
        n, logs = self.n_train[order], np.log(self._of(row, self.strengths)[order, 0] / strength)
        slopes, curvatures = (self._of(row, values)[order] for values in (self.symmetric_slope, self.symmetric_curvature))
        flat = slopes <= _STATIONARY * (self.width[row] + n)
        jumps = self.jumps(width)
        for left in range(len(n) - 1):
            pair, ends = slice(left, left + 2), (float(n[left]), float(n[left + 1]))
            if flat[pair].all() and curvatures[left] > 0.0 >= curvatures[left + 1]:
                return Transition(_root(n[pair], curvatures[pair]), "second order", *ends)
            if logs[left] < 0.0 <= logs[left + 1]:
                jumped = [jump.samples for jump in jumps if ends[0] <= jump.samples <= ends[1]]
                return Transition(*((jumped[0], "first order") if jumped else (_root(n[pair], logs[pair]), "crossover")), *ends)
        if logs[0] >= 0.0:
            return Transition(float(n[0]), "crossover", 0.0, float(n[0]))
        return Transition(math.inf, "none", float(n[-1]), math.inf)

    def jumps(self, width: float | None = None) -> tuple[Jump, ...]:
        """Numbers of samples at which another minimum becomes the lowest, in rising order; between two that were computed, by a line."""
        row, order = self._row(width), np.argsort(self.n_train, kind="stable")
        n, energies = self.n_train[order], self._of(row, self.free_energies)[order]
        logs, jumps = in_order(self.names, np.log(self._of(row, self.minima)[order])), []
        for left in range(len(n) - 1):
            pair = slice(left, left + 2)
            at = _crossing(n[pair], energies[pair], logs[pair])
            if at is not None:
                most = int(np.argmax(np.abs(logs[left + 1, 0] - logs[left, 0])))
                jumps.append(Jump(at, self.names[most], *(float(np.exp(logs[place, 0, most])) for place in (left, left + 1))))
        return tuple(jumps)

    def samples_for(self, loss: float, width: float | None = None) -> float:
        """Fewest samples from which on the test loss stays at or below a value; infinite if it does not within `n_train`.

        Between numbers that were computed, straight lines on logarithmic axes are followed.
        """
        loss = finite_number("loss", loss, above=0.0)
        return self._last_zero(np.log(np.maximum(self._of(self._row(width), self.test), 1e-300) / loss))

    def samples_to_learn(self, share: float = 0.5, width: float | None = None) -> float:
        """Fewest samples from which on a share of the target stays in the mean prediction; infinite if it does not within `n_train`."""
        share = finite_number("share", share, above=0.0, below=1.0)
        return self._last_zero(share - self._of(self._row(width), self.learned))

    def _last_zero(self, values: np.ndarray) -> float:
        """Where values against `n_train` fall below zero for good, by a straight line over log N; infinite if they do not."""
        order = np.argsort(self.n_train, kind="stable")
        n, values = self.n_train[order], values[order]
        above = np.flatnonzero(~(values <= 0.0))
        if not len(above):
            return float(n[0])
        last = int(above[-1])
        return math.inf if last == len(n) - 1 else _root(n[last : last + 2], values[last : last + 2])

    def summary(self) -> dict[str, Any]:
        """Losses as plain values, as files and figures have them."""
        names = ("n_train", "width", "test", "train", "infinite_test", "stderr", "ratios", "broken")
        return {name: plain(np.asarray(getattr(self, name), dtype=float)) for name in names} | {"names": list(self.names)}

    def _row(self, width: float | None) -> int:
        if width is None:
            if len(self.width) > 1:
                raise InputError(f"This curve has widths {', '.join(f'{known:g}' for known in self.width)}: say which with width=...")
            return 0
        rows = np.flatnonzero(self.width == width)
        if not len(rows):
            raise InputError(
                f"This curve has no width {width!r}, but {', '.join(f'{known:g}' for known in self.width)}: take one of these."
            )
        return int(rows[0])

    def _of(self, row: int, values: np.ndarray) -> np.ndarray:
        return values if self.test.ndim == 1 else values[row]

    def _summary(self) -> str:
        lines = [f"{self.arch} learning {self.target!r} at ridge {self.ridge:.3g} E[k], label noise {self.noise:.3g} ({self.method})"]
        for row, width in enumerate(self.width):
            test = self._of(row, self.test)
            lines.append(
                f"width {width:g}: test loss {test[0]:.4g} at N = {self.n_train[0]:g} to {test[-1]:.4g} at N = {self.n_train[-1]:g}"
            )
        ends = f"{self.infinite_test[0]:.4g} to {self.infinite_test[-1]:.4g}"
        return "\n".join([*lines, f"infinite width: {ends}"])

    def _variables(self) -> list[Variable]:
        axes = ("n_train",) if self.test.ndim == 1 else ("width", "n_train")
        unit = TARGET_SQUARED
        return [
            Variable("n_train", "n_train", self.n_train, "number of training samples N", "samples"),
            Variable("width", "width", self.width, "width of the embedding"),
            Variable("test", axes, self.test, "mean squared error on fresh sequences, against the target without noise", unit),
            Variable("stderr", axes, self.stderr, "standard error of the test loss from sampling; zero where it is exact", unit),
            Variable("train", axes, self.train, "mean squared error on the training labels, noise included", unit),
            Variable("learned", axes, self.learned, "share of the target in the mean prediction"),
            Variable("kappa", axes, self.kappa, "effective ridge over N", "E[k]"),
            Variable("broken", axes, self.broken, "whether a read position has twice the variance of the others"),
            Variable("symmetric_slope", axes, self.symmetric_slope, "gradient that tells positions apart, at the symmetric point"),
            Variable("symmetric_curvature", axes, self.symmetric_curvature, "lowest curvature in these directions, at the symmetric point"),
            Variable("infinite_test", "n_train", self.infinite_test, "test loss at infinite width", unit),
            Variable("infinite_train", "n_train", self.infinite_train, "training loss at infinite width", unit),
            Variable("variance", "variance", np.array(self.names, dtype=str), "which variance"),
            Variable("ratio", (*axes, "variance"), self.ratios, "variance over that at infinite width, at the lowest minimum"),
            Variable("minimum_ratio", (*axes, "minimum", "variance"), self.minima, "the same at every minimum"),
            Variable("free_energy", (*axes, "minimum"), self.free_energies, "free energy of every minimum, the lowest first"),
            Variable("strength", (*axes, "minimum"), self.strengths, "largest variance of a read position over that of the rest"),
            Variable("minimum_test", (*axes, "minimum"), self.minima_test, "test loss at every minimum", unit),
        ]


def _root(n: np.ndarray, values: np.ndarray) -> float:
    """Where a straight line through two values over log N is zero."""
    share = values[0] / (values[0] - values[1]) if values[0] != values[1] else 0.0
    return float(n[0] * (n[1] / n[0]) ** np.clip(share, 0.0, 1.0))


def _crossing(n: np.ndarray, energies: np.ndarray, logs: np.ndarray) -> float | None:
    """Where another minimum becomes the lowest between two numbers of samples, if one does.

    Arguments:
        energies: free energies of the minima (2, B), the lowest first.
        logs: their variances (2, B, P), by which the same minimum is found again.
    """
    if not np.abs(logs[1, 0] - logs[0, 0]).max() > _JUMP:
        return None
    gaps = np.array([np.nan, np.nan])  # of the minimum that is lowest after over the one that is lowest before
    after, before = _nearest(logs[0], logs[1, 0]), _nearest(logs[1], logs[0, 0])
    if after:
        gaps[0] = energies[0, after] - energies[0, 0]
    if before:
        gaps[1] = energies[1, 0] - energies[1, before]
    if np.isnan(gaps).all():
        return None  # one minimum that moves quickly
    return float(np.sqrt(n[0] * n[1])) if np.isnan(gaps).any() else _root(n, gaps)


def _nearest(logs: np.ndarray, wanted: np.ndarray) -> int:
    """Which minimum is closest to a wanted one; zero, the lowest, if that is the one."""
    return int(np.nanargmin(np.abs(logs - wanted).max(axis=1)))
