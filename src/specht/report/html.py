"""One self-contained HTML file: question, answer, plots, table, method, and how to get it again."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import jinja2
from markupsafe import Markup

from specht.report.figures import Plot
from specht.report.maths import formula
from specht.report.page import Report as Report, Step as Step, Table as Table


def render(report: Report) -> str:
    """The report as the text of one HTML file that opens without a network."""
    return fill("report.html.jinja", title=report.title, report=report, plots=Drawing().draw(report.plots))


class Drawing:
    """Figures of one page, numbered; the first carries the plotting program, which is 5 MB, for all."""

    def __init__(self) -> None:
        self._drawn = 0

    def draw(self, plots: Sequence[Plot]) -> list[tuple[Plot, Markup]]:
        """Figures with the text that draws them."""
        return [(plot, self._script(plot)) for plot in plots]

    def _script(self, plot: Plot) -> Markup:
        number = self._drawn
        self._drawn += 1
        return Markup(
            plot.figure.to_html(
                full_html=False,
                include_plotlyjs=number == 0,
                include_mathjax=False,
                div_id=f"plot-{number}",
                config={"responsive": True, "displaylogo": False, "displayModeBar": False},
            )
        )


def fill(template: str, **values: object) -> str:
    """The text of a page."""
    return _environment().get_template(template).render(**values)


def fragment(part: str, *values: object) -> Markup:
    """One of the parts that pages are made of, by its name in parts.html.jinja.

    >>> "<td>30</td>" in fragment("tabulate", Table(["", "k"], [["trace", "30"]]))
    True
    """
    return Markup(getattr(_environment().get_template("parts.html.jinja").module, part)(*values))


def prose(text: str) -> Markup:
    r"""Text with formulas, in which no line ends between a number and its percent sign.

    >>> prose("39.4 % of L^2")
    Markup('39.4\xa0% of L<sup>2</sup>')
    """
    return Markup(re.sub(r"(?<=\d) (?=%)", "\xa0", formula(text)))


def unbroken(text: str) -> str:
    """Text in which no line ends at the sign of a small number such as 1e-10."""
    return re.sub(r"(?<=\de)-(?=\d)", "−", text)


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
