"""A spectrum as plain values: what files, tables and figures are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specht.spectra.families import IrrepFamily, Point, is_resolved, scaling
from specht.spectra.result import Spectrum


def spectrum_entry(spectrum: Spectrum, families: Sequence[IrrepFamily] | None = None) -> dict[str, Any]:
    """A spectrum at one length as plain values; `families` are those of all lengths, where there are several."""
    families = scaling([spectrum]) if families is None else families
    return {
        "length": spectrum.arch.length,
        "method": spectrum.method,
        "trace": spectrum.trace,
        "trace_stderr": trace_stderr(spectrum),
        "top": [_top(family, point) for family in families for point in family.points if point.length == spectrum.arch.length],
        "rows": rows(spectrum),
    }


def trace_stderr(spectrum: Spectrum) -> float | None:
    """Standard error of E[k]; None where it is exact or not known."""
    return spectrum.trace_stderr or None


def rows(spectrum: Spectrum) -> list[dict[str, Any]]:
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
