"""The figure of each type of result, by the functions that draw the reports: what `.plot()` shows."""

from __future__ import annotations

from typing import Any

from specht.report.figures import Plot
from specht.report.spectrum_figures import spectrum_plot


def eigenvalues(spectrum: Any) -> Plot:
    """All eigenvalues of a spectrum."""
    caption = "All eigenvalues, largest first, each as wide as its degeneracy, coloured by irrep."
    return spectrum_plot([spectrum.summary()], title="The spectrum", caption=caption)
