"""What counters of separate pieces of a text have in common: their arrays add up, and travel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np


class Counts:
    """Arrays of counts, which start at zero."""

    added: ClassVar[tuple[str, ...]]
    """The names of the arrays."""

    def merge(self, other: Self) -> None:
        """Add the counts of other pieces of the same text, which were counted alike."""
        self.restore(other.arrays())

    def arrays(self) -> dict[str, np.ndarray]:
        """All there is to save."""
        return {name: getattr(self, name) for name in self.added}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Add what `arrays` of a counter alike gave."""
        for name in self.added:
            total = getattr(self, name)
            total += arrays[name]
