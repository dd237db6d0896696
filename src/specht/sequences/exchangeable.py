"""Mixtures of independent tokens: by de Finetti's theorem, every exchangeable source."""

from __future__ import annotations

import dataclasses

import numpy as np

from specht.errors import InputError
from specht.sequences.checks import probability_table, probability_vector
from specht.sequences.law import Source, cumulative, log, log_sum, pick


@dataclasses.dataclass(frozen=True, eq=False)
class Exchangeable(Source):
    r"""A component is drawn for each sequence, then its tokens independently: $p(x) = \sum_m w_m \prod_a \theta_{m, x_a}$.

    >>> source = Exchangeable(weights=[0.5, 0.5], probabilities=[[0.9, 0.1], [0.2, 0.8]])
    >>> source.moments().p2.round(3)
    array([[0.425, 0.125],
           [0.125, 0.325]])
    """

    weights: np.ndarray
    """Mixture weights w_m, shape (M,)."""
    probabilities: np.ndarray
    """Token probabilities theta_mv, shape (M, V)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", probability_vector("weights", self.weights))
        object.__setattr__(self, "probabilities", probability_table("probabilities", self.probabilities))
        if len(self.weights) != len(self.probabilities):
            raise InputError(
                f"weights has {len(self.weights)} entries, but probabilities has {len(self.probabilities)} rows: give one weight a row."
            )

    @property
    def vocab(self) -> int:
        """Number of tokens V."""
        return self.probabilities.shape[1]

    @property
    def is_exchangeable(self) -> bool:
        return True

    @property
    def _de_finetti(self) -> Exchangeable:
        return self

    def _uniforms(self, columns: int) -> int:
        return 1 + columns

    def _tokens(self, uniforms: np.ndarray) -> np.ndarray:
        component = np.searchsorted(cumulative(self.weights), uniforms[:, 0], side="right")
        return pick(cumulative(self.probabilities), component, uniforms[:, 1:])

    def _log_probability(self, x: np.ndarray) -> np.ndarray:
        cells = x + self.vocab * np.arange(len(x))[:, None]
        counts = np.bincount(cells.ravel(), minlength=len(x) * self.vocab).reshape(len(x), self.vocab)
        return self._log_probability_of_counts(counts)

    def _log_probability_of_counts(self, counts: np.ndarray) -> np.ndarray:
        number = counts.astype(np.float64)
        impossible = self.probabilities == 0
        # A token that does not occur adds nothing, even where its probability is zero: 0 log 0 = 0.
        by_component = number @ log(np.where(impossible, 1.0, self.probabilities)).T
        by_component = np.where(number @ impossible.T > 0, -np.inf, by_component)
        return log_sum(by_component + log(self.weights))

    def _joint(self, positions: tuple[int, ...]) -> np.ndarray:
        table = self.weights[:, None]
        for _ in positions[1:]:
            table = (table[:, :, None] * self.probabilities[:, None, :]).reshape(len(self.weights), -1)
        return (table.T @ self.probabilities).ravel()
