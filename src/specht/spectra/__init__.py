"""The kernel operator decomposed by irreps of the symmetric group: eigenvalues, eigenfunctions, and how they change with length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specht.lazy import lazy_names

if TYPE_CHECKING:
    from specht.spectra.block import IrrepBlock as IrrepBlock
    from specht.spectra.combinatorics import Points as Points, count_classes as count_classes, points as points
    from specht.spectra.dense import (
        DenseOperator as DenseOperator,
        dense_operator as dense_operator,
        multiplet_splittings as multiplet_splittings,
        multiplets as multiplets,
    )
    from specht.spectra.families import (
        IrrepFamily as IrrepFamily,
        scaling as scaling,
        spectrum_entry as spectrum_entry,
        top_points as top_points,
    )
    from specht.spectra.isotypic import isotypic_shares as isotypic_shares, sampled_shares as sampled_shares
    from specht.spectra.linear import crossover as crossover
    from specht.spectra.result import ROUNDING as ROUNDING, Row as Row, Spectrum as Spectrum
    from specht.spectra.solve import Method as Method, choose_method as choose_method, spectrum as spectrum

__all__, __getattr__, __dir__ = lazy_names(__name__)
