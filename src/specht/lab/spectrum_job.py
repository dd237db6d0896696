"""Spectra at several lengths: an architecture and a source in, eigenvalues by irrep and their exponents out."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import xarray

from specht.architecture import Architecture
from specht.lab.csv_text import csv_text
from specht.lab.spectrum_config import SpectrumConfig, without_length
from specht.progress import report, stages
from specht.sequences.exchangeability import Gap, exchangeability_gap
from specht.stats import Exponent
from specht.symmetry.crossover import Crossover, crossover
from specht.symmetry.entries import rows, spectrum_entry, trace_stderr
from specht.symmetry.scaling import Family, scaling
from specht.symmetry.spectrum import ROUNDING, Spectrum

COLUMNS = ("irrep", "level", "copy", "degeneracy", "eigenvalue", "stderr", "bound", "below_rounding", "lower_bound", "resolved")


@dataclasses.dataclass(frozen=True)
class SpectrumRun:
    """What a run computed, and what it cost."""

    spectra: tuple[Spectrum, ...]
    """One a length, shortest first."""
    source: str
    """Name of the source."""
    gaps: tuple[Gap, ...] | None
    """How far from exchangeable the source is at each length; None if it is exchangeable."""
    families: tuple[Family, ...]
    crossover: Crossover | None
    cpu_seconds: float
    wall_seconds: float

    @property
    def longest(self) -> Architecture:
        """The architecture at the greatest length."""
        return self.spectra[-1].arch

    def summary(self) -> dict[str, Any]:
        return {
            "architecture": without_length(self.longest),
            "kind": self.spectra[0].kind,
            "source": {"name": self.source, "exchangeable": self.gaps is None},
            "rounding": ROUNDING,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
            "lengths": [self._length(index) for index in range(len(self.spectra))],
            "exponents": [_exponents(family) for family in self.families if family.raw is not None],
            "crossover": None if self.crossover is None else self.crossover.length,
        }

    def _length(self, index: int) -> dict[str, Any]:
        spectrum = self.spectra[index]
        return spectrum_entry(spectrum, self.families) | {
            "gap": None if self.gaps is None else dataclasses.asdict(self.gaps[index]),
            "place": None if self.crossover is None else self.crossover.place(spectrum.arch.length),
        }

    def lines(self) -> list[dict[str, Any]]:
        """The rows of all spectra, each with its length and method."""
        return [{"length": spectrum.arch.length, "method": spectrum.method} | row for spectrum in self.spectra for row in rows(spectrum)]

    def csv(self) -> str:
        """One line a row."""
        return csv_text(["length", "method", *COLUMNS], self.lines())

    def dataset(self, attributes: dict[str, Any]) -> xarray.Dataset:
        """All rows along `row`, what belongs to a length along `context`, and fitted exponents along `family`."""
        lines = self.lines()
        coordinates = {name: ("row", [line[name] for line in lines]) for name in ("length", "irrep", "level", "copy")}
        # Degeneracies outgrow 64 bits; the other files have their digits.
        numbers = {
            name: ("row", np.array([line[name] for line in lines], dtype=float)) for name in ("degeneracy", "eigenvalue", "bound", "stderr")
        }
        signs = {name: ("row", [line[name] for line in lines]) for name in ("below_rounding", "lower_bound", "resolved")}
        contexts = {
            "trace": ("context", [spectrum.trace for spectrum in self.spectra]),
            "trace_stderr": ("context", np.array([trace_stderr(spectrum) for spectrum in self.spectra], dtype=float)),
            "method": ("context", [spectrum.method for spectrum in self.spectra]),
        }
        if self.gaps is not None:
            contexts["gap"] = ("context", [gap.value for gap in self.gaps])
        coordinates |= {"context_length": ("context", [spectrum.arch.length for spectrum in self.spectra])}
        fitted = [family for family in self.families if family.raw is not None]
        coordinates |= {"family": ("family", np.array([family.name for family in fitted], dtype=str))}
        exponents = {}
        for name in ("raw", "normalised", "bound"):
            found = [cast(Exponent, getattr(family, name)) for family in fitted]
            exponents[f"{name}_exponent"] = ("family", np.array([exponent.value for exponent in found]))
            exponents[f"{name}_exponent_stderr"] = ("family", np.array([exponent.stderr for exponent in found], dtype=float))
        costs = {"cpu_seconds": self.cpu_seconds, "wall_seconds": self.wall_seconds}
        return xarray.Dataset(numbers | signs | contexts | exponents, coords=coordinates, attrs=attributes | costs)


def _exponents(family: Family) -> dict[str, Any]:
    return {
        "family": family.name,
        "level": family.level,
        "expected": family.expected,
        **{name: dataclasses.asdict(getattr(family, name)) for name in ("raw", "normalised", "bound")},
        "lengths": [point.length for point in family.resolved],
        "mixed": family.is_mixed,
        "local": [dataclasses.asdict(local) for local in family.local],
    }


def run_spectrum(config: SpectrumConfig, progress: Callable[[int, int], None] | None = None) -> SpectrumRun:
    """Compute the spectra that a configuration asks for."""
    architectures, methods = config.architectures(), config.methods()
    source = config.source.build(architectures[0].vocab, config.seed)

    from specht.symmetry.solve import Method, spectrum  # loads JAX

    cpu, wall = time.process_time(), time.perf_counter()
    spectra: list[Spectrum] = []
    ordered = not source.is_exchangeable
    parts = stages(progress, [1.0] * len(architectures) + [0.1 * ordered] * len(architectures))
    # Longest first: what is too long is refused before anybody has waited for the others.
    for (arch, method), part in zip(reversed(list(zip(architectures, methods, strict=True))), parts, strict=False):
        report(part, 0, 1)
        found = spectrum(
            arch,
            source,
            kind=config.kind,
            method=cast(Method, method),
            max_level=config.max_level,
            heads=config.heads,
            sequences=config.sequences,
            seed=config.seed,
            progress=part,
        )
        spectra.insert(0, found)
    gaps: list[Gap] = []
    for arch, part in zip(architectures if ordered else [], parts[len(architectures) :], strict=False):
        gaps.append(exchangeability_gap(source, arch.length, readout=arch.readout, seed=config.seed, progress=part))
        report(part, 1, 1)
    return SpectrumRun(
        tuple(spectra),
        config.source.source,
        tuple(gaps) if ordered else None,
        tuple(scaling(spectra)),
        crossover(architectures[-1], source, config.kind),
        time.process_time() - cpu,
        time.perf_counter() - wall,
    )
