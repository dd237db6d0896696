"""The probe of one model: a configuration in, what every layer makes of positions out. Positions are counted from 1 here."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray

from specht.lab.csv_text import csv_text
from specht.lab.probe_config import ProbeConfig
from specht.symmetry.probe import Probe, ProbedLayer, View, probe
from specht.symmetry.probe_words import describe_view
from specht.symmetry.profile import Profile

COLUMNS: tuple[str, ...] = ("layer", "output", "ignores", "invariant_under", "rotation", "reversal")
COLUMNS += ("change", "spread", "residual", "inside")
NO_OUTPUT = -2
"""In place of a class, where a layer has no output at a position."""


@dataclasses.dataclass(frozen=True)
class ProbeRun:
    """What a run found, and what it cost."""

    probe: Probe
    config: ProbeConfig
    cpu_seconds: float
    wall_seconds: float

    def summary(self) -> dict[str, Any]:
        found = self.probe
        views = [_view(view) for view in found.output.views]
        return {
            "model": found.model,
            "vocab": found.vocab,
            "length": found.length,
            "readout": found.readout,
            "columns": found.columns,
            "positions": [view["position"] for view in views],
            "invariant_under": [view["invariant_under"] for view in views],
            "ignores": [view["ignores"] for view in views],
            "invariant": found.invariant,
            "residual": found.residual.value,
            "change": found.residual.change,
            "spread": found.residual.scale,
            "tolerance": found.tolerance,
            "precision": found.precision,
            "first_layer": found.first_layer,
            "profile": _profile(found.profile),
            "verdict": found.verdict,
            "remarks": list(found.remarks),
            "layers": [_layer(layer) for layer in found.layers],
            "sequences": found.sequences,
            "permutations": found.permutations,
            "exchanges": found.exchanges,
            "evaluations": found.evaluations,
            "cpu_seconds": self.cpu_seconds,
            "wall_seconds": self.wall_seconds,
        }

    def csv(self) -> str:
        """One line an output of every layer, and one for what the readout sees of it."""
        lines = []
        for layer in self.probe.layers:
            placed = [(str(place), view) for place, view in enumerate(layer.views, 1)] if len(layer.views) > 1 else []
            for output, view in [*placed, ("readout", layer.readout)]:
                shown = _view(view)
                values = [layer.name, output, _words([shown["ignores"]]), _words(shown["invariant_under"]), view.rotation, view.reversal]
                values += [view.context.change, view.context.scale, view.context.value, shown["inside"]]
                lines.append(dict(zip(COLUMNS, values, strict=True)))
        return csv_text(COLUMNS, lines)

    def dataset(self, attributes: dict[str, Any]) -> xarray.Dataset:
        """Classes along layer x output x position, residuals and scores along layer, shares of variance along layer x level."""
        found = self.probe
        outputs = [*map(str, range(1, found.columns + 1)), "readout"]
        classes = np.full((len(found.layers), len(outputs), found.columns), NO_OUTPUT)
        for number, layer in enumerate(found.layers):
            if len(layer.views) > 1:
                classes[number, :-1] = [view.labels for view in layer.views]
            classes[number, -1] = layer.readout.labels
        layers = {
            "residual": [layer.readout.context.value for layer in found.layers],
            "change": [layer.readout.context.change for layer in found.layers],
            "spread": [layer.readout.context.scale for layer in found.layers],
            "tolerance": [layer.tolerance for layer in found.layers],
            "adjacency": [np.nan if layer.adjacency is None else layer.adjacency.value for layer in found.layers],
            "adjacency_stderr": [np.nan if layer.adjacency is None else layer.adjacency.stderr for layer in found.layers],
        }
        variables: dict[str, Any] = {"class": (("layer", "output", "position"), classes)}
        variables |= {name: ("layer", values) for name, values in layers.items()}
        coordinates: dict[str, Any] = {"layer": [layer.name for layer in found.layers], "output": outputs}
        coordinates["position"] = np.arange(1, found.columns + 1)
        profiles = [layer.profile for layer in found.layers]
        known = next((each for each in profiles if each is not None), None)
        if known is not None:
            coordinates["level"] = [*map(str, known.levels), f">{known.levels[-1]}"]
            missing = [np.nan] * len(coordinates["level"])
            variables["share"] = (("layer", "level"), [missing if each is None else _shares(each) for each in profiles])
            for name in ("value", "low", "high"):
                order = [np.nan if each is None else getattr(each.order, name) for each in profiles]
                variables["order" if name == "value" else f"order_{name}"] = ("layer", order)
        counts = {name: getattr(found, name) for name in ("sequences", "permutations", "exchanges", "evaluations", "precision")}
        costs = {"cpu_seconds": self.cpu_seconds, "wall_seconds": self.wall_seconds}
        return xarray.Dataset(variables, coords=coordinates, attrs=attributes | counts | costs | {"invariant": int(found.invariant)})


def run_probe(config: ProbeConfig, progress: Callable[[int, int], None] | None = None) -> ProbeRun:
    """Probe the model that a configuration names."""
    settings = config.settings()
    cpu, wall = time.process_time(), time.perf_counter()
    found = probe(settings.pop("model"), **settings, progress=progress)
    return ProbeRun(found, config, time.process_time() - cpu, time.perf_counter() - wall)


def _layer(layer: ProbedLayer) -> dict[str, Any]:
    residual = layer.exchange_residual
    return {
        "name": layer.name,
        "precision": layer.precision,
        "tolerance": layer.tolerance,
        "readout": _view(layer.readout),
        "positions": [_view(view) for view in layer.views] if len(layer.views) > 1 else [],
        "exchange": None if layer.exchange is None else [place + 1 for place in layer.exchange],
        "exchange_residual": None if residual is None else residual.value,
        "adjacency": None if layer.adjacency is None else layer.adjacency._asdict(),
        "profile": _profile(layer.profile),
        "profile_note": layer.profile_note,
    }


def _view(view: View) -> dict[str, Any]:
    return {
        "position": None if view.position is None else view.position + 1,
        "words": describe_view(view),
        "classes": list(view.labels),
        "invariant_under": [[place + 1 for place in each] for each in view.classes if len(each) > 1],
        "ignores": [place + 1 for place in view.ignored],
        "invariant": view.invariant,
        "residual": view.context.value,
        "spread": view.context.scale,
        "inside": None if view.inside is None else view.inside.value,
        "rotation": view.rotation,
        "reversal": view.reversal,
    }


def _profile(found: Profile | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "levels": list(found.levels),
        "weights": found.weights.tolist(),
        "low": found.low.tolist(),
        "high": found.high.tolist(),
        "above": found.above._asdict(),
        "total": found.total,
        "variance_shares": _shares(found),
        "order": found.order._asdict(),
        "samples": found.samples,
        "confidence": found.confidence,
    }


def _shares(found: Profile) -> list[float]:
    """Shares of the variance by level, and above the last one."""
    above = found.above.value / found.variance if found.variance > 0.0 else 0.0
    return [*found.variance_shares.tolist(), above]


def _words(classes: Sequence[Sequence[int]]) -> str:
    return "; ".join(" ".join(map(str, each)) for each in classes)
