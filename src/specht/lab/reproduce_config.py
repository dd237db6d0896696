"""Everything that decides the scorecard of `specht reproduce`."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter
from pydantic import Field

from specht.lab.config import Config


class ReproduceFlags(Config):
    """How thoroughly claims are tested."""

    scale: Literal["smoke", "quick", "full"] = "quick"
    """smoke: does everything run; quick: minutes on two cores; full: the scale of the papers."""
    seed: Annotated[int, Field(ge=0, lt=10_000)] = 0
    """Another number draws all that is random anew."""


class ReproduceConfig(ReproduceFlags):
    """Which claims, and how thoroughly.

    >>> ReproduceConfig(names=("view-from-infinity",), scale="smoke").flags()
    ['view-from-infinity', '--scale', 'smoke']
    """

    names: Annotated[tuple[str, ...], Parameter(negative="")] = ()

    def flags(self) -> list[str]:
        return [*self.names, *ReproduceFlags(scale=self.scale, seed=self.seed).flags()]
