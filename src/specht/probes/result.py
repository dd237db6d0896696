"""What a probe says of a model: for every output of every layer the positions that it distinguishes."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from specht.probes.models import Frame, Readout
from specht.probes.stabilisers import IGNORED
from specht.probes.words import describe_view, remarks_on, verdict_on
from specht.profiles import Profile
from specht.results import Result, Variable
from specht.sequences import Residual

NO_OUTPUT = -2
"""In place of a class, where a layer has no output at a position."""


class AdjacencyScore(NamedTuple):
    """A mean over sequences and its standard error."""

    value: float
    stderr: float


@dataclasses.dataclass(frozen=True)
class View:
    """What one output makes of the positions, which are counted from 0."""

    position: int | None
    """Where the output is; None for one that belongs to no position, such as a mean."""
    labels: tuple[int, ...]
    """The class of every position; -1 for those that are not read."""
    context: Residual
    """Largest change under permutations of the context."""
    inside: Residual | None
    """Largest change under random members of the group that keeps the classes; None if that is the identity alone."""
    tolerance: float
    rotation: bool
    """Whether moving every context position one on, and the last to the front, changes nothing."""
    reversal: bool
    """Whether reversing the context changes nothing."""
    length: int

    @property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        """All positions, in classes that the output does not distinguish: orbits of the largest Young subgroup that changes nothing."""
        classes: dict[int, list[int]] = {}
        for position, label in enumerate(self.labels):
            classes.setdefault(label, []).append(position)
        return tuple(tuple(positions) for positions in classes.values())

    @property
    def ignored(self) -> tuple[int, ...]:
        """Positions that are not read."""
        return tuple(position for position, label in enumerate(self.labels) if label == IGNORED)

    @property
    def invariant(self) -> bool:
        """Whether no permutation of the context changes the output."""
        return self.context.change <= self.tolerance and len(set(self.labels[: self.length])) == 1

    def summary(self) -> dict[str, Any]:
        """The same as plain values; positions are counted from 1 here."""
        return {
            "position": None if self.position is None else self.position + 1,
            "words": describe_view(self),
            "classes": list(self.labels),
            "invariant_under": [[place + 1 for place in places] for places in self.classes if len(places) > 1],
            "ignores": [place + 1 for place in self.ignored],
            "invariant": self.invariant,
            "residual": self.context.value,
            "change": self.context.change,
            "spread": self.context.scale,
            "inside": None if self.inside is None else self.inside.value,
            "rotation": self.rotation,
            "reversal": self.reversal,
        }

    @property
    def confirmed(self) -> bool:
        """Whether those permutations that should not change the output do not change it, as far as they were tried."""
        alike = len(set(self.labels[: self.length])) == 1
        return max(0.0 if self.inside is None else self.inside.change, self.context.change if alike else 0.0) <= self.tolerance


@dataclasses.dataclass(frozen=True, eq=False)
class ProbedLayer:
    """One layer of a model, or its output."""

    name: str
    precision: str
    tolerance: float
    """Changes at the readout up to here are taken for rounding: that of the smallest of its numbers."""
    views: tuple[View, ...]
    """One output a position; a single one where the layer has no positions."""
    readout: View
    """What the readout sees of it: the last position, or the mean over positions."""
    exchange: tuple[int, int] | None
    """The first two neighbouring context positions that the readout distinguishes."""
    exchange_residual: Residual | None
    """How much exchanging them changes it."""
    adjacency: AdjacencyScore | None
    """How often nearby positions have more similar states; 0.5 is chance. None where there are no states of three positions or more."""
    profile: Profile | None = None
    """Of what the readout sees, under uniform tokens."""
    profile_note: str = ""
    """Why there is no profile."""

    def summary(self) -> dict[str, Any]:
        """The same as plain values; positions are counted from 1 here."""
        residual = self.exchange_residual
        return {
            "name": self.name,
            "precision": self.precision,
            "tolerance": self.tolerance,
            "readout": self.readout.summary(),
            "positions": [view.summary() for view in self.views] if len(self.views) > 1 else [],
            "exchange": None if self.exchange is None else [place + 1 for place in self.exchange],
            "exchange_residual": None if residual is None else residual.value,
            "adjacency": None if self.adjacency is None else self.adjacency._asdict(),
            "profile": None if self.profile is None else _summary_of(self.profile),
            "profile_note": self.profile_note,
        }


@dataclasses.dataclass(frozen=True, eq=False)
class Probe(Result):
    """What a model makes of the positions of its tokens; str() shows it as a table with the verdict below."""

    model: str
    vocab: int
    length: int
    readout: Readout
    layers: tuple[ProbedLayer, ...]
    """In the order of the model; the last one is its output."""
    sequences: int
    permutations: int
    exchanges: int
    """Exchanges of two positions that were tried."""
    evaluations: int
    """Sequences that the model was called with."""
    notes: tuple[str, ...]
    """What has to be known of the model."""

    @property
    def output(self) -> ProbedLayer:
        return self.layers[-1]

    @property
    def columns(self) -> int:
        return Frame(self.vocab, self.length, self.readout).columns

    @property
    def invariant(self) -> bool:
        """Whether no permutation of the context changes the output at the readout."""
        return self.output.readout.invariant

    @property
    def residual(self) -> Residual:
        """Largest change of the output at the readout under permutations of the context."""
        return self.output.readout.context

    @property
    def tolerance(self) -> float:
        """Changes of the output up to here are taken for rounding."""
        return self.output.tolerance

    @property
    def precision(self) -> str:
        return self.output.precision

    @property
    def subgroups(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """For each output position the classes of positions that may be exchanged without changing it."""
        return tuple(view.classes for view in self.output.views)

    @property
    def profile(self) -> Profile | None:
        return self.output.profile

    @property
    def first_layer(self) -> str | None:
        """The first layer that sees order at the readout."""
        return next((layer.name for layer in self.layers if not layer.readout.invariant), None)

    @property
    def verdict(self) -> str:
        return verdict_on(self)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What has to be known to read the numbers."""
        return remarks_on(self)

    def summary(self) -> dict[str, Any]:
        """All of it as plain values, as files and figures have them; positions are counted from 1 here."""
        views = [view.summary() for view in self.output.views]
        return {
            **{name: getattr(self, name) for name in ("model", "vocab", "length", "readout", "columns")},
            "positions": [view["position"] for view in views],
            "invariant_under": [view["invariant_under"] for view in views],
            "ignores": [view["ignores"] for view in views],
            "invariant": self.invariant,
            "residual": self.residual.value,
            "change": self.residual.change,
            "spread": self.residual.scale,
            "tolerance": self.tolerance,
            "precision": self.precision,
            "first_layer": self.first_layer,
            "profile": None if self.profile is None else _summary_of(self.profile),
            "verdict": self.verdict,
            "remarks": list(self.remarks),
            "layers": [layer.summary() for layer in self.layers],
            **{name: getattr(self, name) for name in ("sequences", "permutations", "exchanges", "evaluations")},
        }

    def _summary(self) -> str:
        count = f"{len(self.layers)} layer{'s' * (len(self.layers) > 1)}"
        return f"{self.model}, V={self.vocab} L={self.length}, {count}\n{self.verdict}"

    def _variables(self) -> list[Variable]:
        layers = self.layers
        residuals = [layer.readout.context for layer in layers]
        scores = [AdjacencyScore(np.nan, np.nan) if layer.adjacency is None else layer.adjacency for layer in layers]
        variables = [
            Variable("layer", "layer", np.array([layer.name for layer in layers]), "layer of the model, the output last"),
            Variable("invariant", "layer", [layer.readout.invariant for layer in layers], "whether no permutation changes the readout"),
            Variable("residual", "layer", [residual.value for residual in residuals], "largest change at the readout over its spread"),
            Variable("change", "layer", [residual.change for residual in residuals], "largest change at the readout", "output"),
            Variable("spread", "layer", [residual.scale for residual in residuals], "spread of the layer at the readout", "output"),
            Variable("tolerance", "layer", [layer.tolerance for layer in layers], "changes up to here are taken for rounding", "output"),
            Variable("adjacency", "layer", [score.value for score in scores], "how often nearby positions have the more similar states"),
            Variable("adjacency_stderr", "layer", [score.stderr for score in scores], "standard error of the adjacency score"),
            *self._classes(),
        ]
        profiles = [layer.profile for layer in layers]
        known = next((profile for profile in profiles if profile is not None), None)
        if known is not None:
            levels = [*map(str, known.levels), f">{known.levels[-1]}"]
            shares = [[np.nan] * len(levels) if profile is None else _shares(profile) for profile in profiles]
            variables.append(Variable("level", "level", np.array(levels), "positions that a part of the readout singles out"))
            variables.append(Variable("share", ("layer", "level"), shares, "share of the variance at the readout"))
            for end in ("value", "low", "high"):
                orders = [np.nan if profile is None else getattr(profile.order, end) for profile in profiles]
                variables.append(Variable("order" if end == "value" else f"order_{end}", "layer", orders, "share that needs order"))
        return variables

    def _classes(self) -> list[Variable]:
        outputs = [*map(str, range(1, self.columns + 1)), "readout"]
        classes = np.full((len(self.layers), len(outputs), self.columns), NO_OUTPUT)
        for number, layer in enumerate(self.layers):
            if len(layer.views) > 1:
                classes[number, :-1] = [view.labels for view in layer.views]
            classes[number, -1] = layer.readout.labels
        words = f"class of each input position; -1: not read, {NO_OUTPUT}: no output there"
        return [
            Variable("output", "output", np.array(outputs), "position of the output, counted from 1, or the readout"),
            Variable("position", "position", np.arange(1, self.columns + 1), "input position, counted from 1"),
            Variable("class", ("layer", "output", "position"), classes, words),
        ]

    def __str__(self) -> str:
        width = max(len(layer.name) for layer in self.layers)
        lines = [f"{layer.name:{width}}  {describe_view(layer.readout)}" for layer in self.layers]
        return "\n".join([*lines, self.verdict, *self.remarks])


def _summary_of(profile: Profile) -> dict[str, Any]:
    """The numbers of a layer's profile that belong into a probe."""
    names = ("levels", "weights", "low", "high", "above", "total", "order", "samples", "confidence")
    known = profile.summary()
    return {name: known[name] for name in names} | {"variance_shares": _shares(profile)}


def _shares(profile: Profile) -> list[float]:
    """Shares of the variance by level, and above the last one."""
    return [part["variance_share"] for part in profile.parts]
