"""What both answers for finite width say: which tokens and positions were singled out, and which symmetry is left."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from specht.learning.adaptive.order import Order, singled_out, symmetry_left
from specht.learning.adaptive.problem import AdaptiveProblem
from specht.learning.adaptive.widths import Widths
from specht.results import Result, Variable


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
