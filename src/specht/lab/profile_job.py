"""The profile of one function: a configuration in, weights by level and the correlation curve out."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray

from specht.errors import InputError
from specht.lab.csv_text import csv_text
from specht.lab.profile_config import ProfileConfig
from specht.sequences.exchangeability import Gap, exchangeability_gap
from specht.symmetry.profile import Estimate, Profile, profile

COLUMNS: tuple[str, ...] = ("level", "weight", "low", "high", "share", "share_low", "share_high")


@dataclasses.dataclass(frozen=True)
class ProfileRun:
    """What a run computed, and what it cost."""

    profile: Profile
    config: ProfileConfig
    name: str
    """What the function is called."""
    gap: Gap | None
    """How far from exchangeable the source is; None if it is exchangeable."""
    cpu_seconds: float
    wall_seconds: float

    def summary(self) -> dict[str, Any]:
        found = self.profile
        curve = found.correlation
        return {
            "target": self.name,
            "source": {"name": self.config.source.source, "exchangeable": self.gap is None},
            "gap": None if self.gap is None else dataclasses.asdict(self.gap),
            "vocab": self.config.vocab,
            "length": found.length,
            "levels": list(found.levels),
            "weights": found.weights.tolist(),
            "low": found.low.tolist(),
            "high": found.high.tolist(),
            "shares": [share._asdict() for share in found.shares],
            "variance_shares": found.variance_shares.tolist(),
            "above": found.above._asdict(),
            "total": found.total,
            "mean_square": found.mean_square._asdict(),
            "variance": found.variance,
            "order": found.order._asdict(),
            "shuffled": found.shuffled,
            "shapes": [
                {"irrep": str(shape.irrep), "level": shape.irrep.level, "weight": shape.value, "low": shape.low, "high": shape.high}
                for shape in found.shapes
            ],
            "correlation": {field.name: getattr(curve, field.name).tolist() for field in dataclasses.fields(curve)},
            "samples": found.samples,
            "evaluations": found.evaluations,
            "confidence": found.confidence,
            "interval": self.config.interval,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
        }

    def lines(self) -> list[dict[str, Any]]:
        """One line a level, and one for those above."""
        found = self.profile
        weights = [*zip(found.weights, found.low, found.high, strict=True), found.above]
        whole = found.total or 1.0
        shares = [*found.shares, Estimate(*(part / whole for part in found.above))]
        names = [*map(str, found.levels), f">{found.levels[-1]}"]
        return [
            dict(zip(COLUMNS, [name, *map(float, weight), *map(float, share)], strict=True))
            for name, weight, share in zip(names, weights, shares, strict=True)
        ]

    def csv(self) -> str:
        """The lines as text."""
        return csv_text(COLUMNS, self.lines())

    def dataset(self, attributes: dict[str, Any]) -> xarray.Dataset:
        """Weights along `level` and `irrep`, the measured correlation along `positions`, the fitted one along `curve_positions`."""
        found, curve = self.profile, self.profile.correlation
        share, share_low, share_high = np.array(found.shares).T
        levels = {"weight": found.weights, "low": found.low, "high": found.high}
        levels |= {"share": share, "share_low": share_low, "share_high": share_high, "variance_share": found.variance_shares}
        shapes = {f"shape_{name}": np.array([getattr(shape, name) for shape in found.shapes]) for name in ("value", "low", "high")}
        numbers = {"total": found.total, "variance": found.variance}
        for name in ("above", "mean_square", "order"):
            numbers |= {name + suffix: part for suffix, part in zip(("", "_low", "_high"), getattr(found, name), strict=True)}
        return xarray.Dataset(
            {name: ("level", values) for name, values in levels.items()}
            | {name: ("irrep", values) for name, values in shapes.items()}
            | {"correlation": ("positions", curve.values), "correlation_stderr": ("positions", curve.stderr)}
            | {"correlation_curve": ("curve_positions", curve.curve)}
            | numbers,
            coords={
                "level": list(found.levels),
                "irrep": [str(shape.irrep) for shape in found.shapes],
                "positions": curve.positions,
                "curve_positions": curve.curve_positions,
            },
            attrs=attributes
            | {"shuffled": int(found.shuffled), "samples": found.samples, "evaluations": found.evaluations}
            | {"cpu_seconds": self.cpu_seconds, "wall_seconds": self.wall_seconds},
        )


def run_profile(config: ProfileConfig, progress: Callable[[int, int], None] | None = None) -> ProfileRun:
    """Measure the profile that a configuration asks for."""
    source = config.build_source()
    name, function = config.build_function(source)
    cpu, wall = time.process_time(), time.perf_counter()
    found = profile(
        _guarded(function, name),
        source,
        config.length,
        config.seed,
        samples=config.samples,
        max_level=config.max_level,
        confidence=config.confidence,
        interval=config.interval,
        readout=config.readout,
        progress=progress,
    )
    gap = None if source.is_exchangeable else exchangeability_gap(source, config.length, readout=config.readout, seed=config.seed)
    return ProfileRun(found, config, name, gap, time.process_time() - cpu, time.perf_counter() - wall)


def _guarded(function: Callable[..., Any], name: str) -> Callable[[np.ndarray], Any]:
    """The function, with what it raises said in one sentence."""

    def call(x: np.ndarray) -> Any:
        try:
            return function(x)
        except InputError:
            raise
        except Exception as error:  # a function of somebody else may raise anything
            words = " ".join(f"{type(error).__name__}: {error}".split())  # on one line
            raise InputError(f"{name} raised {words} for tokens of shape {x.shape}: it must take arrays (n, columns).") from error

    return call
