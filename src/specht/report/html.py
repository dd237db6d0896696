"""One self-contained HTML file: question, answer, plots, table, method, and how to get it again."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import jinja2
from markupsafe import Markup

from specht.report.figures import Plot
from specht.report.maths import formula


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows under column names; the first cell of a row names it."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    title: str = "Numbers"


@dataclasses.dataclass(frozen=True)
class Step:
    """A sentence of the method and the formulas under it, in the notation of `specht.report.maths`."""

    text: str
    formulas: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Report:
    """Everything that a report says."""

    title: str
    subtitle: str
    question: str
    answer: str
    """It may hold formulas in the notation of `specht.report.maths`, as may captions and notes."""
    plots: Sequence[Plot]
    tables: Sequence[Table]
    method: Sequence[Step]
    reproduce: str
    """The command that makes this report again."""
    made_with: Mapping[str, str]
    """Seed, versions, machine, time."""


def render(report: Report) -> str:
    """The report as the text of one HTML file that opens without a network."""
    drawn = []
    for index, plot in enumerate(report.plots):
        # The plotting program is 5 MB: the first figure carries it for all.
        script = plot.figure.to_html(
            full_html=False,
            include_plotlyjs=index == 0,
            include_mathjax=False,
            div_id=f"plot-{index}",
            config={"responsive": True, "displaylogo": False, "displayModeBar": False},
        )
        drawn.append((plot, Markup(script)))
    return _template().render(report=report, plots=drawn)


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("specht.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["formula"] = formula
    return environment.get_template("report.html.jinja")
