"""The reports of three pages. *Learning curve*: theory at once, exact inference and finite networks when asked for. *Spectrum*: eigenvalues
by irrep against length, Young diagrams beside the curves, the bound, and the crossover. *Symmetry profile*: how many positions a target
singles out, level by level.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Literal, cast

from specht.commands import (
    SUPPORTED,
    NetworkFlags,
    PredictCommand,
    PredictConfig,
    ProfileCommand,
    ProfileConfig,
    ScalableArchitecture,
    ShiftFlags,
    SourceFlags,
    SpectrumCommand,
    SpectrumConfig,
    TargetFlags,
)
from specht.explorer.diagrams import label_curves
from specht.explorer.state import CurvePage, SpectrumPage, TargetPage
from specht.groups import Partition
from specht.lab import ArchitectureFlags
from specht.progress import Progress
from specht.report import GREY, Plot, Report
from specht.trees import facts

Check = Literal["gp", "net"]
DATASETS, CHECK_N = 8, 256
"""Of exact inference: less than the command line takes, since somebody is waiting."""
NET_N, NET_DATASETS, HEADS = 16, 2, 64
SHORTEST = 4
SPECTRUM_HEADS = 128
"""Sampled heads of softmax attention: fewer than the command line takes, since somebody is waiting."""
CHECKS: dict[Check, str] = {"gp": "Add exact GP points", "net": "Add trained networks"}
"""What the buttons say."""


class ChecksWanted:
    """The checks that buttons have asked for with the parameters on the page; when a parameter changes, there are none."""

    def __init__(self) -> None:
        self._page: CurvePage | None = None
        self._checks: set[Check] = set()

    def on(self, page: CurvePage, pressed: dict[Check, bool]) -> tuple[Check, ...]:
        """The checks of a page, with the buttons that were pressed just now."""
        if page != self._page:
            self._page, self._checks = page, set()
        self._checks |= {check for check, is_pressed in pressed.items() if is_pressed}
        return tuple(sorted(self._checks))

    def clear(self) -> None:
        self._checks = set()


def busy(checks: tuple[Check, ...]) -> str:
    """What is being computed, in words."""
    if "net" in checks:
        return "Training networks: this takes minutes."
    return "Inferring exactly on sampled data." if checks else "Computing the spectrum and the curve."


def curve_config(page: CurvePage, checks: tuple[Check, ...] = ()) -> PredictConfig:
    """The configuration of `specht predict` that a page stands for."""
    fields: dict[str, Any] = {"ridge": page.ridge, "noise": page.noise, "kind": page.kind, "check": checks}
    fields |= {"width": (page.width or "infinite",)}
    fields |= {"shift": ShiftFlags(shift=cast(Any, page.shift)), "target": TargetFlags(target=page.target)}
    fields |= {"heads": HEADS} if page.attention == "softmax" else {}
    fields |= {"datasets": DATASETS, "check_n": CHECK_N} if "gp" in checks else {}
    fields |= {"networks": NetworkFlags(net_n=NET_N, net_datasets=NET_DATASETS)} if "net" in checks else {}
    return PredictConfig(architecture=ArchitectureFlags(**architecture_fields(page)), **fields)


def architecture_fields(page: Any) -> dict[str, Any]:
    """The fields of an architecture that a page has; those at their defaults are left out, which keeps commands short."""
    names = ("length", "vocab", "s_p", "s_1", "s_2", "attention", "activation")
    fields = {name: getattr(page, name) for name in names if hasattr(page, name) and getattr(page, name) != getattr(type(page)(), name)}
    return fields | ({} if page.s_w == 1.0 else {"s_w": page.s_w / page.vocab})


def curve_report(page: CurvePage, checks: tuple[Check, ...] = (), progress: Progress | None = None) -> Report:
    """What `specht predict` reports."""
    config, command = curve_config(page, checks), PredictCommand()
    return command.report(config, command.compute(config, progress))


@dataclasses.dataclass(frozen=True)
class Lengths:
    """What the page shows: a report, and the irreps that its curves belong to, with their colours."""

    report: Report
    irreps: list[tuple[Partition, str]]


def spectrum_config(page: SpectrumPage) -> SpectrumConfig:
    """The configuration of `specht spectrum` that a page stands for: lengths that double up to the longest."""
    lengths = tuple(2**power for power in range(int(math.log2(SHORTEST)), int(math.log2(page.longest)) + 1))
    sampling: dict[str, Any] = {"heads": SPECTRUM_HEADS} if page.attention == "softmax" else {}
    return SpectrumConfig(
        architecture=ScalableArchitecture(**architecture_fields(page)),
        source=SourceFlags(source=cast(Any, page.source)),
        lengths=lengths,
        kind=cast(Any, page.kind),
        **sampling,
    )


def length_report(page: SpectrumPage, progress: Progress | None = None) -> Lengths:
    """What `specht spectrum` reports, with diagrams beside the curves and the crossover marked."""
    config, command = spectrum_config(page), SpectrumCommand()
    data = command.compute(config, progress)
    report = command.report(config, data)
    against_length, normalised, whole = report.plots
    result = facts(data)
    irreps = _label(against_length, result.lengths, normalised=False)
    _label(normalised, result.lengths, normalised=True)
    return Lengths(dataclasses.replace(report, plots=[against_length, _with_crossover(normalised, result), whole]), irreps)


def _label(plot: Plot, entries: Sequence[SimpleNamespace], *, normalised: bool) -> list[tuple[Partition, str]]:
    """Diagrams where the drawn curves end; the figure has them by the names of their families. Returns irreps and their colours."""
    ends = []
    for curve in cast(Sequence[Any], plot.figure.data):
        tops = [(entry, top) for entry in entries for top in entry.top if top.family == curve.name and top.resolved]
        if tops and curve.showlegend is not False:  # not its bound, which has the same name
            entry, top = tops[-1]
            value = top.eigenvalue / (entry.trace if normalised else 1.0)
            ends.append((Partition.parse(top.irrep), curve.line.color, math.log10(value)))
    label_curves(plot.figure, ends)
    return [(shape, colour) for shape, colour, _ in ends]


def _with_crossover(plot: Plot, result: SimpleNamespace) -> Plot:
    """The length from which on the linear model turns away from higher levels, as a line if the figure reaches so far."""
    crossover, lengths = result.crossover, [entry.length for entry in result.lengths]
    if crossover is None:
        return dataclasses.replace(plot, caption=plot.caption + " Only linear models have a known crossover length L*.")
    if not lengths[0] <= crossover <= lengths[-1]:
        where = "below" if crossover < lengths[0] else "beyond"
        return dataclasses.replace(plot, caption=plot.caption + f" The crossover L* = {crossover:.4g} lies {where} this figure.")
    plot.figure.add_shape(
        type="line", x0=crossover, x1=crossover, y0=0, y1=1, yref="paper", line={"color": GREY, "width": 1.2, "dash": "dot"}
    )
    # Of an annotation a logarithmic axis wants the logarithm, of a shape the number.
    # The largest eigenvalues and their bound run along the upper edge: below them there is room.
    below = {"yref": "paper", "y": 0.85, "xanchor": "right", "yanchor": "top", "showarrow": False, "font": {"size": 13, "color": GREY}}
    plot.figure.add_annotation(x=math.log10(crossover), text=f"L* = {crossover:.4g} ", **below)
    return dataclasses.replace(plot, caption=plot.caption + f" The vertical line is the crossover L* = {crossover:.4g}.")


def profile_config(page: TargetPage) -> ProfileConfig:
    """The configuration of `specht profile` that a page stands for; a target that reads all positions has no support."""
    return ProfileConfig(
        target=page.target,
        support=page.support if page.target in SUPPORTED else None,
        length=page.length,
        vocab=page.vocab,
        samples=page.samples,
        source=SourceFlags(source=cast(Any, page.source)),
    )


def level_report(page: TargetPage, progress: Progress | None = None) -> Report:
    """What `specht profile` reports."""
    config, command = profile_config(page), ProfileCommand()
    return command.report(config, command.compute(config, progress))
