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
from specht.profiles.profile import Estimate, Profile, profile
from specht.progress import Progress
from specht.sequences.exchangeability import Gap, exchangeability_gap

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
        return {
            "target": self.name,
            "source": {"name": self.config.source.source, "exchangeable": self.gap is None},
            "gap": None if self.gap is None else dataclasses.asdict(self.gap),
            "vocab": self.config.vocab,
            **self.profile.summary(),
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
        counts = {"shuffled": int(self.profile.shuffled), "samples": self.profile.samples, "evaluations": self.profile.evaluations}
        costs = {"cpu_seconds": self.cpu_seconds, "wall_seconds": self.wall_seconds}
        return self.profile.to_xarray().assign_attrs(attributes | counts | costs)


def run_profile(config: ProfileConfig, progress: Progress | None = None) -> ProfileRun:
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
