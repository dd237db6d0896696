"""What a symmetry profile says: weights by level, with intervals, and the correlations that they come from."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from specht.groups import Partition
from specht.results import Result, Variable


class IntervalEstimate(NamedTuple):
    """A number and its interval."""

    value: float
    low: float
    high: float


class ShapeWeight(NamedTuple):
    """The weight of one irrep."""

    irrep: Partition
    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, eq=False)
class Correlation:
    """The correlation of a function with itself after shuffling some positions."""

    positions: np.ndarray
    """How many positions were shuffled, from 0 to L."""
    values: np.ndarray
    """C(j), measured."""
    stderr: np.ndarray
    curve_positions: np.ndarray
    curve: np.ndarray
    """C(j) of the fitted weights, at these numbers of positions."""


@dataclasses.dataclass(frozen=True, eq=False)
class Profile(Result):
    """Weights of a function by level; str() shows them as a table."""

    length: int
    levels: tuple[int, ...]
    """0 to the highest one asked for, or to the highest there is."""
    weights: np.ndarray
    """Mean square of the part of the function at each level."""
    low: np.ndarray
    high: np.ndarray
    """Each weight lies between `low` and `high` with the confidence asked for."""
    shares: tuple[IntervalEstimate, ...]
    """Each weight as a share of `total`."""
    above: IntervalEstimate
    """Weight of all levels above the last one, pooled; zero if there is none."""
    total: float
    """E[f^2]: the sum of the weights and of `above`."""
    mean_square: IntervalEstimate
    """E[f]^2, the part of level 0 that is constant."""
    order: IntervalEstimate
    """Share of the variance of the function that needs order: all levels but 0."""
    shapes: tuple[ShapeWeight, ...]
    """Weights by irrep, up to the last level."""
    correlation: Correlation
    shuffled: bool
    """Whether sequences were shuffled first, because order matters in their law or because that is not known: the profile is then that of
    the function under the law of shuffled sequences."""
    confidence: float
    samples: int
    """Sequences drawn."""
    evaluations: int
    """How often the function was evaluated."""

    @property
    def variance(self) -> float:
        """The total without the square of the mean."""
        return self.total - self.mean_square.value

    @property
    def variance_shares(self) -> np.ndarray:
        """Weights as shares of the variance: the square of the mean is left out of level 0."""
        weights = self.weights.copy()
        weights[0] -= self.mean_square.value
        return weights / self.variance if self.variance > 0.0 else np.zeros_like(weights)

    @property
    def parts(self) -> list[dict[str, Any]]:
        """One record a level, and one for all that are above: weight, share of the total, their intervals, and share of the variance."""
        whole = self.total or 1.0
        weights = [*zip(self.weights.tolist(), self.low.tolist(), self.high.tolist(), strict=True), self.above]
        shares = [*self.shares, IntervalEstimate(*(part / whole for part in self.above))]
        of_variance = [*self.variance_shares.tolist(), self.above.value / self.variance if self.variance > 0.0 else 0.0]
        names = [*map(str, self.levels), f">{self.levels[-1]}"]
        columns = ("level", "weight", "low", "high", "share", "share_low", "share_high", "variance_share")
        return [
            dict(zip(columns, (name, *weight, *share, part), strict=True))
            for name, weight, share, part in zip(names, weights, shares, of_variance, strict=True)
        ]

    def __str__(self) -> str:
        *levels, above = self.parts
        lines = ["level  weight     interval                share"]
        for part in [*levels, *([above] if above["high"] > 0.0 else [])]:
            interval = f"{part['low']:.4g} to {part['high']:.4g}"
            lines.append(f"{part['level'].replace('>', '> '):5}  {part['weight']:<9.4g}  {interval:22}  {part['share']:.1%}")
        lines.append(f"total  {self.total:<9.4g}  E[f]^2 = {self.mean_square.value:.4g}")
        needs = f"{self.order.value:.1%} of the variance needs order ({self.order.low:.1%} to {self.order.high:.1%})"
        return "\n".join([*lines, needs + (", under shuffled sequences" if self.shuffled else "")])

    def summary(self) -> dict[str, Any]:
        """All of it as plain values, as files and figures have them."""
        curve = self.correlation
        return {
            "length": self.length,
            "levels": list(self.levels),
            "weights": self.weights.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "shares": [share._asdict() for share in self.shares],
            "variance_shares": self.variance_shares.tolist(),
            "above": self.above._asdict(),
            "total": self.total,
            "mean_square": self.mean_square._asdict(),
            "variance": self.variance,
            "order": self.order._asdict(),
            "shuffled": self.shuffled,
            "shapes": [
                {"irrep": str(shape.irrep), "level": shape.irrep.level, "weight": shape.value, "low": shape.low, "high": shape.high}
                for shape in self.shapes
            ],
            "correlation": {field.name: getattr(curve, field.name).tolist() for field in dataclasses.fields(curve)},
            "samples": self.samples,
            "evaluations": self.evaluations,
            "confidence": self.confidence,
            "parts": self.parts,
        }

    def _summary(self) -> str:
        parts = zip(self.levels, self.shares, strict=True)
        shares = ", ".join(f"{share.value:.1%} at level {level}" for level, share in parts if share.value >= 0.001)
        law = ", under shuffled sequences" if self.shuffled else ""
        order = f"{self.order.value:.1%} of the variance needs order ({self.order.low:.1%} to {self.order.high:.1%})"
        return f"E[f^2] = {self.total:.4g} over {self.length} positions: {shares or 'nothing'}\n{order}{law}"

    def _variables(self) -> list[Variable]:
        share, share_low, share_high = np.array(self.shares).T
        curve, unit = self.correlation, "f squared"
        variables = [
            Variable("level", "level", list(self.levels), "positions that a part of the function singles out"),
            Variable("weight", "level", self.weights, "mean square of the part of the function at each level", unit),
            Variable("low", "level", self.low, "lower end of the interval of the weight", unit),
            Variable("high", "level", self.high, "upper end of the interval of the weight", unit),
            Variable("share", "level", share, "weight as a share of E[f^2]"),
            Variable("share_low", "level", share_low, "lower end of the interval of the share"),
            Variable("share_high", "level", share_high, "upper end of the interval of the share"),
            Variable("variance_share", "level", self.variance_shares, "weight as a share of the variance"),
            Variable("irrep", "irrep", np.array([str(shape.irrep) for shape in self.shapes], dtype=str), "irreducible representation"),
        ]
        for name in ("value", "low", "high"):
            weights = np.array([getattr(shape, name) for shape in self.shapes], dtype=float)
            variables.append(Variable(f"shape_{name}", "irrep", weights, "weight of each irrep, or the end of its interval", unit))
        variables += [
            Variable("positions", "positions", curve.positions, "number of positions that were shuffled"),
            Variable("correlation", "positions", curve.values, "E[f(x) f(shuffled x)], measured", unit),
            Variable("correlation_stderr", "positions", curve.stderr, "standard error of the correlation", unit),
            Variable("curve_positions", "curve_positions", curve.curve_positions, "number of positions of the fitted curve"),
            Variable("correlation_curve", "curve_positions", curve.curve, "correlation of the fitted weights", unit),
            Variable("total", (), self.total, "E[f^2]", unit),
            Variable("variance", (), self.variance, "E[f^2] without the square of the mean", unit),
        ]
        meanings = {
            "above": "weight of higher levels",
            "mean_square": "square of the mean",
            "order": "share of the variance that needs order",
        }
        for name, meaning in meanings.items():
            for end, value in zip(("", "_low", "_high"), getattr(self, name), strict=True):
                variables.append(Variable(name + end, (), value, meaning, "1" if name == "order" else unit))
        return variables
