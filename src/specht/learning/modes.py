"""Targets made of eigenfunctions, whose content is known exactly."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from specht.errors import InputError
from specht.groups import Partition
from specht.sequences import Target
from specht.spectra import Row, Spectrum


@dataclasses.dataclass(frozen=True)
class Modes(Target):
    """A sum of eigenfunctions of one spectrum."""

    coefficients: Mapping[tuple[Partition, int], float] = dataclasses.field(default_factory=dict)
    """By irrep and copy."""
    spectrum: Spectrum | None = None

    def invariant_part(self, x: np.ndarray) -> np.ndarray:
        """The part of the trivial irrep, the only one with a mean, shape (n, 1)."""
        assert self.spectrum is not None
        total = np.zeros((len(x), 1))
        for block in self.spectrum.blocks:
            chosen = [(copy, value) for (irrep, copy), value in self.coefficients.items() if irrep == block.irrep and not irrep.level]
            for copy, value in chosen:
                total[:, 0] += value * block.eigenfunction(copy)(x)
        return total

    def belongs_to(self, spectrum: Spectrum) -> bool:
        """Whether the eigenfunctions are those of this spectrum."""
        return self.spectrum is spectrum


def modes(spectrum: Spectrum, rows: Iterable[tuple[Row, float]]) -> Modes:
    """The sum of the eigenfunctions of some rows with coefficients, each for the positions in their given order.

    >>> import specht
    >>> spec = specht.spectrum(specht.Architecture(vocab=2, length=8))
    >>> target = modes(spec, [(spec.rows[0], 1.0), (spec.rows[3], 0.5)])
    >>> target.name
    '[8] + 0.5 [7,1]'
    """
    chosen = list(rows)
    if not chosen:
        raise InputError("A target of eigenfunctions needs at least one row of the spectrum with its coefficient.")
    functions = [(spectrum.eigenfunction(row), float(value)) for row, value in chosen]
    coefficients = {(row.irrep, row.copy): float(value) for row, value in chosen}
    if len(coefficients) < len(chosen):
        raise InputError("A row of the spectrum is named twice: give each once, with its whole coefficient.")

    def total(x: np.ndarray) -> np.ndarray:
        return np.sum([value * function(x) for function, value in functions], axis=0)

    name = " + ".join(f"{'' if value == 1.0 else f'{value:.3g} '}{row.irrep}" for row, value in chosen)
    return Modes(name, total, coefficients=coefficients, spectrum=spectrum)


def leading_modes(spectrum: Spectrum, levels: Iterable[int] = (0, 1)) -> Modes:
    """The leading eigenfunction of each level in equal parts, mean square one; at level 0 the second, as the first is nearly constant."""
    rows = []
    for level in levels:
        of_level = [row for row in spectrum.truncated() if row.irrep.level == level]
        if of_level:
            rows.append(of_level[min(1, len(of_level) - 1) if level == 0 else 0])
    if not rows:
        raise InputError(f"The spectrum of {spectrum.arch} has no eigenvalue above rounding at levels {', '.join(map(str, levels))}.")
    return modes(spectrum, [(row, len(rows) ** -0.5) for row in rows])
