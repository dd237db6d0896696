"""How the pages look: parameters as sliders and lists, reports as they are in files, the numbers behind a figure, and what stands
there when there is no report.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

import marimo as mo
import numpy as np
import plotly.graph_objects as go

from specht.explorer.diagrams import legend
from specht.explorer.own_data import DataAnswer
from specht.explorer.reports import Lengths
from specht.explorer.state import TITLES, Page, to_address
from specht.explorer.work import Answer, Listener, Work
from specht.files import csv_text
from specht.report import JudgedClaim, Plot, Report, Section, Table, claims_in_full, fragment, prose, verdict_table

TICK = "1s"
"""How often a page that waits looks for what is new."""
PICTURES = ("svg", "png")
"""What a figure can be saved as, besides its numbers."""
_BUTTONS = ["toImage", "zoom", "pan", "select", "lasso", "zoomIn", "zoomOut", "autoScale", "resetScale"]
"""Of a figure, taken away: they are seen by a mouse alone, and dragging and two clicks do the same. Those that save it stand below it."""


def controls(page: Page, present: Mapping[str, Sequence[str]] | None = None) -> Any:
    """A slider for each number of a page and a list for each word."""
    elements = {}
    for field in dataclasses.fields(page):
        value, label = getattr(page, field.name), field.metadata["label"]
        choices: list[Any] = list(field.metadata["choices"] or (present or {}).get(field.name, ()))
        if choices and isinstance(value, int | float):
            elements[field.name] = mo.ui.slider(steps=choices, value=value, label=label, show_value=True, full_width=True)
        else:
            elements[field.name] = mo.ui.dropdown(choices, value=value if value in choices else None, label=label, full_width=True)
    return mo.ui.dictionary(elements)


def header(complaints: Sequence[str], tabs: Any) -> mo.Html:
    """What stands above every page."""
    title = '<header class="specht"><h1>Specht</h1><p>What will this transformer learn, and from how many samples?</p></header>'
    return mo.vstack([mo.Html(title), *map(problem, complaints), mo.Html(f'<div class="specht-pages">{tabs}</div>')])


def panel(name: str, elements: Mapping[str, Any], *more: Any) -> mo.Html:
    """The title of a page and its parameters, as many side by side as there is room for."""
    cells = "".join(f"<div>{element}</div>" for element in elements.values())
    grid = mo.Html(f'<div class="specht"><h2>{escape(TITLES[name])}</h2></div><div class="specht controls {name}">{cells}</div>')
    return mo.vstack([grid, *more])


def buttons(*elements: Any) -> mo.Html:
    return mo.hstack(elements, justify="start", wrap=True)


def progress(answer: Answer, what: str, stop: Any, tick: Any) -> mo.Html | None:
    """What stands above the report: nothing when it is there, otherwise how far it is, or what went wrong."""
    if answer.status == "failed":
        return problem(answer.sentence)
    if answer.status == "stopped":
        return mo.callout(mo.md("Stopped. Change a parameter to compute again."), kind="neutral")
    if answer.status == "done":
        return None
    bar = f'<progress max="1" value="{answer.share:.3f}"></progress>' if answer.share else "<progress></progress>"
    # The element that asks for news has to be on the page, but says nothing to people.
    text = f'<div class="specht busy" role="status"><span>{escape(what)}</span>{bar}{stop}<span class="tick">{tick}</span></div>'
    return mo.Html(text)


def problem(sentence: str) -> mo.Html:
    """A sentence that says what is wrong."""
    return mo.callout(mo.Html(f'<span role="alert">{escape(sentence)}</span>'), kind="warn")


def empty(sentence: str, command: str = "") -> mo.Html:
    """What stands where nothing is yet, and how something comes there."""
    return mo.Html(f'<div class="specht empty"><p>{escape(sentence)}</p>{_command(command)}</div>')


def result_view(result: Report | Lengths | Section | DataAnswer) -> mo.Html:
    """What the work of a page came to."""
    if isinstance(result, Section):
        return section_view(result)
    if isinstance(result, DataAnswer):
        return data_view(result)
    return report_view(result.report, legend(result.irreps)) if isinstance(result, Lengths) else report_view(result)


def report_view(report: Report, labels: str = "") -> mo.Html:
    """A report: the answer, labels of its figures if there are any, the figures, the numbers, and the command that gives the same."""
    return mo.vstack(
        [mo.Html(_head(report, labels)), figures_view(report.plots), tables_view(report.tables), mo.Html(_tail(report))], gap=1.5
    )


def data_view(answer: DataAnswer) -> mo.Html:
    """The report on a table of one's own: its tables in the open, but for the rows that were not as they should be and the method."""
    report, tables = answer.report, []
    for table in report.tables:
        title, text = escape(table.title), fragment("tabulate", table)
        if table.folded:
            rows = mo.download(answer.problems.encode(), filename="problems.csv", mimetype="text/csv", label="All of them (CSV)")
            tables.append(f"<details><summary>{title}</summary>{text}{rows if answer.problems else ''}</details>")
        else:
            tables.append(f"<h3>{title}</h3>{text}")
    method = f"<details><summary>How it is made</summary>{fragment('explain', report.method)}</details>"
    numbers = mo.Html(f'<div class="specht">{"".join(tables)}{method}</div>')
    return mo.vstack([mo.Html(_head(report)), figures_view(report.plots), numbers, mo.Html(_tail(report))], gap=1.5)


def _head(report: Report, labels: str = "") -> str:
    answer = "".join(f'<p class="answer">{prose(line)}</p>' for line in report.answer.split("\n"))
    return f'<div class="specht">{answer}<p class="subtitle">{escape(report.subtitle)}</p></div>{labels}'


def _tail(report: Report) -> str:
    return f'<div class="specht"><h3>The same on the command line</h3>{_command(report.reproduce)}</div>'


def scorecard_view(claims: Sequence[JudgedClaim], said: str) -> mo.Html:
    """All claims of a run with their verdicts."""
    return mo.Html(f'<div class="specht"><p class="answer">{prose(said)}</p>{verdict_table(claims)}</div>')


def section_view(section: Section) -> mo.Html:
    """One experiment of a paper."""
    head = f'<div class="specht"><h2>{escape(section.title)}</h2><p class="shown">{prose(section.shown)}</p></div>'
    claims = mo.Html(f'<div class="specht">{claims_in_full(section.claims)}</div>')
    return mo.vstack([mo.Html(head), claims, figures_view(section.plots), tables_view(section.tables)], gap=1.5)


def figure_view(plot: Plot) -> mo.Html:
    """A figure, what it shows, and buttons that save its numbers and its picture."""
    plot.figure.update_layout(modebar={"remove": _BUTTONS, "bgcolor": "rgba(0,0,0,0)", "color": "#808890"}, dragmode=False)
    head = mo.Html(f'<div class="specht"><h3>{escape(plot.title)}</h3></div>')
    caption = mo.Html(f'<div class="specht"><p class="caption">{prose(plot.caption)}</p></div>')
    name = file_name(plot.title)
    data = mo.download(lambda: figure_csv(plot.figure).encode(), filename=f"{name}.csv", mimetype="text/csv", label="Data (CSV)")
    # The browser draws pictures itself, as it drew the figure: see picture.js.
    pictures = (f'<button type="button" data-picture="{kind}" data-name="{name}">Picture ({kind.upper()})</button>' for kind in PICTURES)
    saving = mo.Html(f'<div class="specht saving">{data}{"".join(pictures)}</div>')
    kind = "specht-figure wide" if plot.wide else "specht-figure"
    return mo.Html(f'<div class="{kind}">{mo.vstack([head, mo.as_html(plot.figure), caption, saving], gap=0.25)}</div>')


def figures_view(plots: Sequence[Plot]) -> mo.Html:
    """Figures below each other, small ones two by two where there is room."""
    return mo.Html(f'<div class="specht-figures">{"".join(figure_view(plot).text for plot in plots)}</div>')


def tables_view(tables: Sequence[Table]) -> mo.Html:
    """The numbers, folded up."""
    texts = (f"<h3>{escape(table.title)}</h3>{fragment('tabulate', table)}" for table in tables)
    return mo.Html(f'<div class="specht"><details><summary>Numbers</summary>{"".join(texts)}</details></div>') if tables else mo.Html("")


def _command(command: str) -> str:
    return f"<pre>{escape(command)}</pre>" if command else ""


def update_address(address: Any, page: Page) -> None:
    """Have the address of the browser say what is seen."""
    wanted = to_address(page)
    if set(address.to_dict()) - set(wanted):
        address.clear()  # the browser does not take single parameters away
    for name, value in wanted.items():
        if address.get(name) != value:
            address[name] = value


class Desk:
    """The work of one page, and what the page shows of it. A result stays on the page as it is while the bar above it moves."""

    def __init__(self, show: Callable[[Any], None]) -> None:
        self.work = Work()
        self._show, self._shown = show, None

    def answer(
        self, question: Hashable, function: Callable[[Listener], Any], busy: str, stop: Any, tick: Any, meanwhile: Hashable = None
    ) -> mo.Html | None:
        """Have the work done and put its result on the page; the answer is what stands above it: how far the work is, or why it ended.

        Arguments:
            question: what the result depends on, by which it is found again.
            busy: what is being done, in words.
            stop: the button that gives the work up.
            tick: the element that has the page look for news again and again.
            meanwhile: the question whose result, if there is one, is shown until the other is there; otherwise what the work knows so far.
        """
        if stop.value:
            self.work.stop()
        answer = self.work.ask(question, function)
        known = self.work.known(meanwhile) if answer.status != "done" else None
        self._put(known or answer.result)
        return progress(answer, busy, stop, tick)

    def clear(self) -> None:
        """Give up what is being done, and show nothing."""
        self.work.forget()
        self._put(None)

    def _put(self, result: Any) -> None:
        if result is not self._shown:
            self._shown = result
            self._show(result)


COLUMNS = ("series", "x", "y", "z", "x_error", "y_error", "text")


def figure_csv(figure: go.Figure) -> str:
    """The points of all curves, bars and images of a figure.

    >>> print(figure_csv(go.Figure(go.Scatter(x=[1, 2], y=[0.5, None], name="loss"))), end="")
    series,x,y,z,x_error,y_error,text
    loss,1,0.5,,,,
    """
    return csv_text(list(COLUMNS), [line for trace in figure.data for line in _lines(trace)])


def _lines(trace: Any) -> Iterator[dict[str, Any]]:
    if trace.type == "heatmap":
        yield from _cells(trace)
        return
    x, y = _values(trace.x), _values(trace.y)
    texts = _values(trace.text) if trace.text is not None and not isinstance(trace.text, str) else []
    errors = {f"{axis}_error": _values(getattr(error, "array", None)) for axis in "xy" if (error := trace[f"error_{axis}"]) is not None}
    for place in range(max(len(x), len(y))):
        line = {"series": trace.name or "", "x": _at(x, place), "y": _at(y, place), "text": _at(texts, place)}
        line |= {name: _at(values, place) for name, values in errors.items()}
        if line["x"] is not None and line["y"] is not None:  # otherwise it is a gap in a line
            yield dict.fromkeys(COLUMNS) | line


def _cells(trace: Any) -> Iterator[dict[str, Any]]:
    z = np.asarray(trace.z, dtype=float)
    x, y = _values(trace.x) or list(range(z.shape[1])), _values(trace.y) or list(range(z.shape[0]))
    for row, column in np.ndindex(*z.shape):
        yield dict.fromkeys(COLUMNS) | {"series": trace.name or "", "x": x[column], "y": y[row], "z": float(z[row, column])}


def _values(values: Any) -> list[Any]:
    return [] if values is None else [value.item() if isinstance(value, np.generic) else value for value in values]


def _at(values: list[Any], place: int) -> Any:
    return values[place] if place < len(values) else None


def file_name(title: str) -> str:
    """A name for the file of a figure.

    >>> file_name("The spectrum at L = 64")
    'specht-the-spectrum-at-l-64'
    """
    return "specht-" + "-".join(re.findall(r"[a-z0-9]+", title.lower()))
