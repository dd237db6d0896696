"""What pages are made of, without a browser."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import plotly.graph_objects as go
import pytest

from specht.errors import InputError
from specht.explorer import app, layout
from specht.explorer.state import CurvePage, PapersPage, SpectrumPage, TextPage
from specht.explorer.work import Answer
from specht.report import Report, Table
from specht.report.figures import Plot


class Address:
    """Stands for the address of a browser."""

    def __init__(self, **parameters: str) -> None:
        self.parameters, self.said = parameters, []

    def to_dict(self) -> dict[str, str]:
        return self.parameters

    def get(self, name: str) -> str | None:
        return self.parameters.get(name)

    def clear(self) -> None:
        self.said.append("clear")
        self.parameters.clear()

    def __setitem__(self, name: str, value: str) -> None:
        self.said.append(name)
        self.parameters[name] = value


def test_an_address_is_changed_where_it_differs():
    address = Address(page="curve", length="8")
    layout.update_address(address, CurvePage(length=12))
    assert address.said == ["length"]
    layout.update_address(address, CurvePage(length=12))
    assert address.said == ["length"]
    layout.update_address(address, SpectrumPage())
    assert address.parameters == {"page": "spectrum"}


def test_parameters_are_sliders_and_lists_with_the_values_of_the_page():
    page = CurvePage(length=12, ridge=0.1, attention="softmax")
    assert CurvePage(**layout.controls(page).value) == page
    corpora = {"corpus": ["pasted text", "stdlib"]}
    assert TextPage(**layout.controls(TextPage(corpus="stdlib"), corpora).value) == TextPage(corpus="stdlib")
    assert layout.controls(PapersPage()).value == {"run": None, "experiment": None}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer("busy"), "Counting.</span><progress></progress>"),
        (Answer("busy", share=0.5), '<progress max="1" value="0.500">'),
        (
            Answer("failed", sentence="<b>No</b> text."),
            "&amp;lt;b&amp;gt;No&amp;lt;/b&amp;gt; text.",
        ),
        (Answer("stopped"), "Stopped."),
    ],
)
def test_what_is_not_there_is_spoken_of(answer, said):
    view: Any = layout.progress(answer, "Counting.", "STOP", "TICK")
    assert said in view.text
    assert ("STOP" in view.text) == (answer.status == "busy")


def test_what_is_there_needs_no_words():
    assert layout.progress(Answer("done", "result"), "", "", "") is None
    assert "<pre>specht reproduce</pre>" in layout.empty("Nothing yet.", "specht reproduce").text


def test_text_of_a_report_cannot_become_part_of_the_page():
    evil = "<script>alert(1)</script>"
    table = Table([evil], [[evil]], evil, evil)
    text = layout.report_view(Report(evil, evil, evil, evil, [], [table], [], evil, {})).text
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_every_figure_has_buttons_that_save_it():
    plots = [Plot(go.Figure(go.Scatter(x=[1], y=[2])), title, "", wide) for title, wide in (("One & two", True), ("Three", False))]
    text = layout.figures_view(plots).text
    assert text.count('class="specht-figure wide"') == text.count('class="specht-figure"') == 1
    assert text.count("Data (CSV)") == 2
    for kind in layout.PICTURES:
        assert f'data-picture="{kind}" data-name="specht-one-two">Picture ({kind.upper()})</button>' in text


def test_a_desk_shows_what_is_new():
    shown = []
    desk, first, second = layout.Desk(shown.append), ["first"], ["second"]

    def refuse(progress):
        raise InputError("No.")

    def ask(question, function, stop=False, meanwhile=None):
        return desk.answer(question, function, "Counting.", SimpleNamespace(value=stop), "", meanwhile)

    assert ask(1, lambda progress: first) is None
    assert ask(1, refuse) is None  # it is known, so nothing is done
    assert shown == [first]
    assert "No." in ask(2, refuse).text
    assert shown == [first, None]
    assert "No." in ask(3, refuse, meanwhile=1).text
    assert ask(4, lambda progress: second) is None
    assert shown == [first, None, first, second]


def test_a_desk_shows_an_earlier_answer_rather_than_the_first_of_a_better_one():
    shown, told, release = [], threading.Event(), threading.Event()
    desk, nothing = layout.Desk(shown.append), SimpleNamespace(value=False)

    def rough(listener):
        listener.first("rough")
        told.set()
        release.wait(60)
        return "better"

    desk.answer("short", lambda listener: "fine", "", nothing, "")
    desk.answer("long", rough, "", nothing, "", meanwhile="short")
    assert told.wait(60)
    desk.answer("long", rough, "", nothing, "", meanwhile="short")
    assert shown == ["fine"]
    release.set()
    while desk.answer("long", rough, "", nothing, "", meanwhile="short") is not None:
        pass
    assert shown == ["fine", "better"]
    desk.clear()
    assert shown == ["fine", "better", None]


def test_a_desk_gives_work_up():
    shown, release = [], threading.Event()
    desk = layout.Desk(shown.append)

    def ask(stop):
        return desk.answer("question", lambda progress: release.wait(60), "Counting.", SimpleNamespace(value=stop), "").text

    assert "Counting." in ask(stop=False)
    assert "Stopped." in ask(stop=True)
    release.set()
    assert shown == []


def test_the_pages_are_a_notebook_that_hangs_together():
    cells = list(app.app._cell_manager.cells())
    assert len(cells) > 15
    assert not any(cell is None for cell in cells)
