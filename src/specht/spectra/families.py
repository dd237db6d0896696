r"""How the eigenvalues of each kind of irrep change with the length of the context.

The irreps $(L - m, \mu)$ that have one tail $\mu \vdash m$ are a family, one member a length. Their dimension grows as $L^m$, so the bound
$E[k] / \dim$ falls as $L^{-m}$, and this is the exponent expected of the top eigenvalue: of $\lambda$ itself or of $\lambda / E[k]$, which
are not the same, since $E[k]$ depends on the length too.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

from specht.errors import InputError
from specht.groups import Partition
from specht.spectra.result import ROUNDING, Row, Spectrum
from specht.stats import FittedExponent, fit_exponent

SIGNIFICANT = 3.0
"""Standard errors above zero from which a sampled eigenvalue has a logarithm worth the name."""


@dataclasses.dataclass(frozen=True)
class Point:
    """The top eigenvalue of one irrep at one length."""

    length: int
    irrep: Partition
    eigenvalue: float
    stderr: float | None
    """Standard error; None for an exact eigenvalue."""
    trace: float
    """E[k(x, x)] at this length."""
    trace_stderr: float
    lower_bound: bool
    """True for a Rayleigh quotient over an exchangeable source, which the top eigenvalue may exceed."""
    resolved: bool
    """False where the eigenvalue is below rounding or not significantly above zero: such a point enters no fit."""

    @property
    def normalised(self) -> float:
        """The eigenvalue over E[k]; zero where the kernel is."""
        return self.eigenvalue / self.trace if self.trace > 0.0 else 0.0

    @property
    def ratio(self) -> float:
        """The eigenvalue over its bound, which is its whole multiplet over E[k]: from 0 to 1."""
        return self.normalised * self.irrep.dimension

    @property
    def relative_error(self) -> float:
        """Relative error of a resolved eigenvalue: its standard error, or what rounding leaves of an exact one."""
        return max(self.stderr or 0.0, ROUNDING * self.trace) / self.eigenvalue

    @property
    def normalised_error(self) -> float:
        """Relative error of the eigenvalue over E[k]."""
        return math.hypot(self.relative_error, self.trace_stderr / self.trace)


@dataclasses.dataclass(frozen=True)
class LocalExponent:
    """Slopes between two neighbouring lengths."""

    start: int
    stop: int
    raw: FittedExponent
    normalised: FittedExponent


@dataclasses.dataclass(frozen=True)
class IrrepFamily:
    """The top eigenvalues of the irreps with one tail, and how they scale."""

    tail: Partition
    """Rows below the first one."""
    points: tuple[Point, ...]
    """One a length at which the irrep was computed, shortest first."""
    raw: FittedExponent | None
    """Exponent of the eigenvalue; None where fewer than two points are resolved."""
    normalised: FittedExponent | None
    """Exponent of the eigenvalue over E[k]."""
    bound: FittedExponent | None
    """Exponent of 1/dim over the same lengths; it tends to `expected` as they grow."""
    local: tuple[LocalExponent, ...]

    @property
    def level(self) -> int:
        return self.tail.n

    @property
    def expected(self) -> int:
        """The exponent of the bound for long contexts."""
        return -self.level

    @property
    def name(self) -> str:
        return family_name(self.tail)

    @property
    def resolved(self) -> tuple[Point, ...]:
        """The points that enter the fits."""
        return tuple(point for point in self.points if point.resolved)

    @property
    def is_mixed(self) -> bool:
        """Whether the fit runs through eigenvalues at some lengths and lower bounds at others."""
        return len({point.lower_bound for point in self.resolved}) > 1


def family_name(tail: Partition) -> str:
    """The notation of an irrep of any length.

    >>> [family_name(Partition(tail)) for tail in ((), (1,), (2, 1))]
    ['[L]', '[L-1,1]', '[L-3,2,1]']
    """
    first = f"L-{tail.n}" if tail.n else "L"
    return f"[{','.join([first, *map(str, tail.parts)])}]"


def scaling(spectra: Sequence[Spectrum]) -> list[IrrepFamily]:
    """The families in spectra of one architecture at several lengths, by level.

    >>> from specht.architecture import Architecture
    >>> from specht.spectra.solve import spectrum
    >>> families = scaling([spectrum(Architecture(vocab=16, length=length)) for length in (16, 32, 64, 128)])
    >>> [(family.name, round(family.normalised.value, 3), round(family.normalised.stderr, 3), family.expected) for family in families]
    [('[L]', 0.001, 0.0, 0), ('[L-1,1]', -0.986, 0.007, -1)]
    """
    spectra = sorted(spectra, key=lambda spectrum: spectrum.arch.length)
    for first, second in itertools.pairwise(spectra):
        if first.arch.replace(length=second.arch.length) != second.arch or first.kind != second.kind:
            kernels = f"{first.kind} of {first.arch} and {second.kind} of {second.arch}"
            raise InputError(f"Spectra to compare must differ in their length alone, got {kernels}.")
        if first.arch.length == second.arch.length:
            raise InputError(f"Two of the spectra have length {first.arch.length}: give one a length.")
    points: dict[Partition, list[Point]] = {}
    for spectrum in spectra:
        for point in top_points(spectrum):
            points.setdefault(point.irrep.tail, []).append(point)
    return [_family(tail, points[tail]) for tail in sorted(points, key=lambda tail: (tail.n, [-part for part in tail.parts]))]


def top_points(spectrum: Spectrum) -> list[Point]:
    """The largest eigenvalue of every irrep in a spectrum."""
    tops: dict[Partition, Row] = {}
    for row in spectrum.rows:
        tops.setdefault(row.irrep, row)
    of_spectrum = spectrum.trace, spectrum.trace_stderr
    return [
        Point(spectrum.arch.length, row.irrep, row.eigenvalue, row.stderr, *of_spectrum, row.lower_bound, is_resolved(row))
        for row in tops.values()
    ]


def is_resolved(row: Row) -> bool:
    """Whether an eigenvalue is above rounding and, where it was sampled, significantly above zero."""
    return not row.below_rounding and row.eigenvalue > SIGNIFICANT * (row.stderr or 0.0)


def _family(tail: Partition, points: list[Point]) -> IrrepFamily:
    resolved = [point for point in points if point.resolved]
    if len(resolved) < 2:
        return IrrepFamily(tail, tuple(points), None, None, None, ())
    lengths = [point.length for point in resolved]
    dimensions = [point.irrep.dimension for point in resolved]
    return IrrepFamily(
        tail,
        tuple(points),
        *_exponents(resolved),
        fit_exponent(lengths, [1.0 / dimension for dimension in dimensions]),
        tuple(LocalExponent(a.length, b.length, *_exponents([a, b])) for a, b in itertools.pairwise(resolved)),
    )


def _exponents(points: Sequence[Point]) -> tuple[FittedExponent, FittedExponent]:
    """Raw and normalised."""
    lengths = [point.length for point in points]
    exact = all(point.stderr is None for point in points)
    raw = fit_exponent(lengths, [point.eigenvalue for point in points], [point.relative_error for point in points])
    normalised = fit_exponent(lengths, [point.normalised for point in points], [point.normalised_error for point in points])
    if exact and len(points) == 2:
        return dataclasses.replace(raw, stderr=None), dataclasses.replace(normalised, stderr=None)
    return raw, normalised


def spectrum_entry(spectrum: Spectrum, families: Sequence[IrrepFamily] | None = None) -> dict[str, Any]:
    """A spectrum at one length as plain values; `families` are those of all lengths, where there are several."""
    families = scaling([spectrum]) if families is None else families
    return {
        "length": spectrum.arch.length,
        "method": spectrum.method,
        "trace": spectrum.trace,
        "trace_stderr": spectrum.trace_stderr or None,  # where it is exact or not known
        "top": [_top(family, point) for family in families for point in family.points if point.length == spectrum.arch.length],
        "rows": _rows(spectrum),
    }


def _rows(spectrum: Spectrum) -> list[dict[str, Any]]:
    """The rows of a spectrum as plain values, largest eigenvalue first."""
    return [
        {
            "irrep": str(row.irrep),
            "level": row.irrep.level,
            "copy": row.copy,
            "degeneracy": row.degeneracy,
            "eigenvalue": row.eigenvalue,
            "stderr": row.stderr,
            "bound": row.bound,
            "below_rounding": row.below_rounding,
            "lower_bound": row.lower_bound,
            "resolved": is_resolved(row),
        }
        for row in spectrum.rows
    ]


def _top(family: IrrepFamily, point: Point) -> dict[str, Any]:
    return {
        "irrep": str(point.irrep),
        "family": family.name,
        "level": family.level,
        "degeneracy": point.irrep.dimension,
        "eigenvalue": point.eigenvalue,
        "stderr": point.stderr,
        "bound": point.trace / point.irrep.dimension,
        "ratio": point.ratio,
        "lower_bound": point.lower_bound,
        "resolved": point.resolved,
    }
