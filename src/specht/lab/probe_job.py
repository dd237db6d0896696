"""The probe of one model: a configuration in, what every layer makes of positions out. Positions are counted from 1 here."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import xarray

from specht.lab.csv_text import csv_text
from specht.lab.probe_config import ProbeConfig
from specht.probes.probe import Probe, probe
from specht.progress import Progress

COLUMNS: tuple[str, ...] = ("layer", "output", "ignores", "invariant_under", "rotation", "reversal")
COLUMNS += ("change", "spread", "residual", "inside")


@dataclasses.dataclass(frozen=True)
class ProbeRun:
    """What a run found, and what it cost."""

    probe: Probe
    config: ProbeConfig
    cpu_seconds: float
    wall_seconds: float

    def summary(self) -> dict[str, Any]:
        return self.probe.summary() | {"cpu_seconds": self.cpu_seconds, "wall_seconds": self.wall_seconds}

    def csv(self) -> str:
        """One line an output of every layer, and one for what the readout sees of it."""
        lines = []
        for layer in self.probe.layers:
            placed = [(str(place), view) for place, view in enumerate(layer.views, 1)] if len(layer.views) > 1 else []
            for output, view in [*placed, ("readout", layer.readout)]:
                shown = view.summary()
                values = [layer.name, output, _words([shown["ignores"]]), _words(shown["invariant_under"]), view.rotation, view.reversal]
                values += [view.context.change, view.context.scale, view.context.value, shown["inside"]]
                lines.append(dict(zip(COLUMNS, values, strict=True)))
        return csv_text(COLUMNS, lines)

    def dataset(self, attributes: dict[str, Any]) -> xarray.Dataset:
        """Classes along layer x output x position, residuals and scores along layer, shares of variance along layer x level."""
        found = self.probe
        counts = {name: getattr(found, name) for name in ("sequences", "permutations", "exchanges", "evaluations", "precision")}
        costs = {"cpu_seconds": self.cpu_seconds, "wall_seconds": self.wall_seconds}
        return found.to_xarray().assign_attrs(attributes | counts | costs | {"invariant": int(found.invariant)})


def run_probe(config: ProbeConfig, progress: Progress | None = None) -> ProbeRun:
    """Probe the model that a configuration names."""
    settings = config.settings()
    cpu, wall = time.process_time(), time.perf_counter()
    found = probe(settings.pop("model"), **settings, progress=progress)
    return ProbeRun(found, config, time.process_time() - cpu, time.perf_counter() - wall)


def _words(classes: Sequence[Sequence[int]]) -> str:
    return "; ".join(" ".join(map(str, each)) for each in classes)
