"""The page *Spectrum*: eigenvalues by irrep against length, Young diagrams beside the curves, the bound, and the crossover."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

from specht.commands.spectrum import ScalableArchitecture, SpectrumCommand, SpectrumConfig
from specht.commands.task_flags import SourceFlags
from specht.explorer.curves import architecture_fields
from specht.explorer.diagrams import label_curves
from specht.explorer.state import SpectrumPage
from specht.groups.partition import Partition
from specht.progress import Progress
from specht.report.figures import GREY, Plot
from specht.report.page import Report
from specht.trees import facts

SHORTEST = 4
HEADS = 128
"""Sampled heads of softmax attention: fewer than the command line takes, since somebody is waiting."""


@dataclasses.dataclass(frozen=True)
class Lengths:
    """What the page shows: a report, and the irreps that its curves belong to, with their colours."""

    report: Report
    irreps: list[tuple[Partition, str]]


def spectrum_config(page: SpectrumPage) -> SpectrumConfig:
    """The configuration of `specht spectrum` that a page stands for: lengths that double up to the longest."""
    lengths = tuple(2**power for power in range(int(math.log2(SHORTEST)), int(math.log2(page.longest)) + 1))
    sampling: dict[str, Any] = {"heads": HEADS} if page.attention == "softmax" else {}
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
        if tops:
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
