"""One self-contained HTML file: question, answer, plots, table, method, and how to get it again."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import jinja2
from markupsafe import Markup

from specht.report.figures import Plot
from specht.report.page import Report, prose, unbroken


def render(report: Report) -> str:
    """The report as the text of one HTML file that opens without a network."""
    return fill("report.html.jinja", title=report.title, report=report, plots=Drawing().draw(report.plots))


class Drawing:
    """Figures of one page, numbered; the first carries the plotting program, which is 5 MB, for all."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def draw(self, plots: Sequence[Plot]) -> list[tuple[Plot, Markup]]:
        """Figures with the text that draws them."""
        config = {"responsive": True, "displaylogo": False, "displayModeBar": False}
        drawn = []
        for plot, number in zip(plots, self._numbers, strict=False):
            options: dict[str, Any] = {"include_plotlyjs": number == 0, "div_id": f"plot-{number}", "config": config}
            drawn.append((plot, Markup(plot.figure.to_html(full_html=False, include_mathjax=False, **options))))
        return drawn


def fill(template: str, **values: object) -> str:
    """The text of a page."""
    return _environment().get_template(template).render(**values)


def fragment(part: str, *values: object) -> Markup:
    """One of the parts that pages are made of, by its name in parts.html.jinja.

    >>> from specht.report.page import Table
    >>> "<td>30</td>" in fragment("tabulate", Table(["", "k"], [["trace", "30"]]))
    True
    """
    return Markup(getattr(_environment().get_template("parts.html.jinja").module, part)(*values))


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("specht.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"formula": prose, "unbroken": unbroken}
    return environment
