"""The law of a source as the blocks need it: the probability of one sequence, by readout token and context counts."""

from __future__ import annotations

import dataclasses

import numpy as np

from specht.architecture import Architecture
from specht.sequences import Exchangeable


def count_readouts(arch: Architecture) -> int:
    """Number of different readout tokens W: V with readout "last"; one where the readout is a class symbol or a mean."""
    return arch.vocab if arch.readout == "last" else 1


@dataclasses.dataclass(frozen=True)
class CountLaw:
    """Probabilities of single sequences of an exchangeable source, as an architecture reads them."""

    arch: Architecture
    mixture: Exchangeable

    @property
    def readouts(self) -> int:
        """Number of different readout tokens W."""
        return count_readouts(self.arch)

    def log_probability(self, context_counts: np.ndarray) -> np.ndarray:
        """Logarithm of the probability of one sequence with given context counts (..., V): shape (W, ...), by readout token."""
        if self.readouts == 1:
            return self.mixture.log_probability_of_counts(context_counts)[None]
        tokens = np.eye(self.arch.vocab, dtype=context_counts.dtype)
        return np.stack([self.mixture.log_probability_of_counts(context_counts + token) for token in tokens])

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Context (n, L) and index of the readout token (n,) of sequences."""
        context = x[:, : self.arch.length]
        return context, x[:, -1] if self.readouts > 1 else np.zeros(len(x), dtype=int)
