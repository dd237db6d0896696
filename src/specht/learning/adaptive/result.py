r"""What both answers for finite width say: which tokens and positions the embedding singles out, and which symmetry that leaves.

The variance $g_i = |a_i|^2 / d$ of an embedding vector, over its prior, is one where the data say nothing. A position is singled out where
its $g$ stands out from that of the others. Positions that do not stand out can still be exchanged, so what is left of the symmetric group
is the group that permutes them.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np

from specht.learning.adaptive.problem import AdaptiveProblem
from specht.learning.adaptive.widths import Widths
from specht.results import Result, Variable

CLEAR = 15.0
"""Robust standard deviations by which a position has to stand out: many, because noise gives heavy tails to the variances."""
SURE = 5.0
"""Standard errors of sampling by which it has to stand out as well."""
_ROUNDING = 1e-4
"""Relative differences of variances that a search leaves."""


class Order(NamedTuple):
    """Variances of embedding vectors over their priors, with standard errors (zero where nothing was sampled)."""

    tokens: np.ndarray
    tokens_stderr: np.ndarray
    positions: np.ndarray
    """One for each column; empty without positions."""
    positions_stderr: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class AdaptiveResult(Result):
    """A result with a problem, widths and order parameters."""

    problem: AdaptiveProblem
    widths: Widths

    @property
    def order(self) -> Order:
        """Variances of the vectors of tokens and positions, over their priors."""
        raise NotImplementedError

    @functools.cached_property
    def singled_out(self) -> np.ndarray:
        """Which context positions the embedding singles out: truth values (L,); none without positions."""
        length = self.problem.arch.length
        if not self.problem.arch.has_positions:
            return np.zeros(length, dtype=bool)
        return singled_out(self.order.positions[:length], self.order.positions_stderr[:length])

    @property
    def symmetry(self) -> str:
        """What is left of the symmetric group of the context, in words."""
        return symmetry_left(self.singled_out)

    def _sizes(self, *, hidden_counts: bool) -> str:
        """The widths in words, and where that of hidden layers does not count."""
        ignored = self.widths.hidden is not None and not hidden_counts
        return self.widths.describe() + (" (hidden layers count as infinitely wide)" if ignored else "")

    def summary(self) -> dict[str, Any]:
        """Order parameters as plain values, as files and figures have them."""
        return {name: values.tolist() for name, values in self.order._asdict().items()} | {
            "architecture": str(self.problem.arch),
            "width": self.widths.embedding,
            "samples": self.problem.rows,
            "singled_out": np.flatnonzero(self.singled_out).tolist(),
            "symmetry": self.symmetry,
        }

    def _order_variables(self) -> list[Variable]:
        order = self.order
        return [
            Variable("column", "column", np.arange(len(order.positions)), "column, the readout column last"),
            Variable("positions", "column", order.positions, "variance of a position's vector over its prior"),
            Variable("positions_stderr", "column", order.positions_stderr, "its standard error over chains; zero where nothing is sampled"),
            Variable("token", "token", np.arange(len(order.tokens)), "token"),
            Variable("tokens", "token", order.tokens, "variance of a token's vector over its prior"),
            Variable("tokens_stderr", "token", order.tokens_stderr, "its standard error over chains; zero where nothing is sampled"),
            Variable("width", (), self.widths.embedding, "entries of the embedding"),
            Variable("samples", (), self.problem.rows, "number of samples N", "samples"),
        ]


def singled_out(values: np.ndarray, stderr: np.ndarray) -> np.ndarray:
    """Which entries stand out from the bulk: truth values.

    The bulk is judged by its median and by the median distance from it, which a few entries that stand out hardly move; errors of sampling
    count on top. A spread that is itself rounding is not taken for a scale.

    >>> singled_out(np.array([2.1, 1.0, 0.98, 1.02, 1.01, 0.99]), np.zeros(6)).tolist()
    [True, False, False, False, False, False]
    """
    if len(values) < 3:
        return np.zeros(len(values), dtype=bool)
    logarithms = np.log(values)
    distance = np.abs(logarithms - np.median(logarithms))
    spread = 1.4826 * np.median(distance)
    return distance > np.maximum(np.hypot(CLEAR * spread, SURE * stderr / values), _ROUNDING)


def symmetry_left(singled: np.ndarray) -> str:
    """The subgroup of the symmetric group of the context that is left, in words.

    >>> symmetry_left(np.array([True, False, False, False])), symmetry_left(np.zeros(4, dtype=bool))
    ('S_3, of S_4', 'S_4, unbroken')
    """
    length, kept = len(singled), int((~singled).sum())
    return f"S_{length}, unbroken" if kept == length else f"S_{kept}, of S_{length}"
