"""What the experiments of this paper have in common."""

from __future__ import annotations

LEVELS = (0, 1, 2)
"""Levels m of the irreps [L-m,m] that are followed."""
EXACT = 1e-10
"""What counts as zero, relative to the largest number of its kind: section 7 of the notes."""
TOLERANCE = 0.3
"""Of an exponent: section 7 of the notes."""
