"""The controls of the page *Your own data*, each with a line that says what it is for."""

from __future__ import annotations

import dataclasses
from html import escape
from typing import Any

import marimo as mo

from specht.explorer.layout import buttons, panel
from specht.explorer.own_data import LARGEST, SAMPLE_ROWS, Opened, Wish, explanation, in_words, next_budget, sample
from specht.explorer.state import OWN, SAMPLE, DataPage
from specht.forecasts import LEARNER_NAMES

SOURCES = {"a file of my own": OWN, f"a sample: {SAMPLE_ROWS} reviews": SAMPLE}
GUESSED = "guessed"
IN_ADDRESS = ("budget", "tokens", "task")
MANY = 4000
"""Rows up to which a first answer takes seconds."""


def source(page: DataPage) -> Any:
    """The file of a person, or the sample."""
    return mo.ui.radio(SOURCES, value=next(label for label, name in SOURCES.items() if name == page.table), label="table", inline=True)


def upload() -> Any:
    return mo.ui.file(kind="area", max_size=LARGEST, label="Drop a file here, or click to choose one")


def columns(opened: Opened | None) -> Any:
    """Which columns hold labels and sequences: guessed at first."""
    if opened is None or opened.guess is None:
        return mo.ui.dictionary({})
    names = [name for name in opened.columns if name]
    others = {GUESSED: None} | {name: name for name in names}
    target = opened.guess.target if opened.guess.target in names else None
    sequence = opened.guess.sequence if opened.guess.sequence in names else GUESSED
    return mo.ui.dictionary(
        {
            "target": mo.ui.dropdown(names, value=target, label="target", full_width=True, searchable=True),
            "sequence": mo.ui.dropdown(others, value=sequence, label="sequence", full_width=True, searchable=True),
        }
    )


def settings(page: DataPage) -> Any:
    """What has a default that will do."""
    return mo.ui.dictionary(
        {
            "goal": mo.ui.text(value="", placeholder="accuracy=0.95", label="goal", full_width=True),
            "learners": mo.ui.multiselect(LEARNER_NAMES, label="learners", full_width=True),
            **{name: _choice(page, name) for name in IN_ADDRESS},
        }
    )


def _choice(page: DataPage, name: str) -> Any:
    choices = next(field.metadata["choices"] for field in dataclasses.fields(page) if field.name == name)
    return mo.ui.dropdown(list(choices), value=getattr(page, name), label=name, full_width=True)


def data_page(source: Any, settings: Any) -> DataPage:
    """What of the controls an address can hold."""
    return DataPage(source.value, **{name: settings.value[name] for name in IN_ADDRESS})


def wish(opened: Opened, page: DataPage, columns: Any, settings: Any) -> Wish:
    """What the controls ask of a table."""
    chosen = columns.value
    learners = tuple(settings.value["learners"])
    return Wish(opened.digest, chosen.get("target") or "", chosen.get("sequence"), settings.value["goal"], learners, page)


def busy(opened: Opened) -> str:
    """What is being done, in words."""
    rows = len(opened.raw.lines) if opened.raw is not None else 0
    if rows > MANY:
        return f"Measuring learners on subsets of {rows:,} rows: so many take a minute or more."
    return "Measuring learners on subsets of the rows; the first answer is refined until all are measured."


def data_panel(source: Any, upload: Any, columns: Any, settings: Any) -> mo.Html:
    """The title, the table and its columns, and the settings, folded."""
    is_sample = source.value == SAMPLE
    more = [_sample_file()] if is_sample else [_explained({"file": upload})]
    folded = mo.Html(f'<details class="specht settings"><summary>More settings</summary>{_explained(settings).text}</details>')
    return panel("data", {}, _explained({"table": source}), *more, *([_explained(columns)] if columns.value else []), folded)


def _explained(elements: Any) -> mo.Html:
    cells = (f'<div>{element}<p class="note">{escape(explanation(name))}</p></div>' for name, element in elements.items())
    return mo.Html(f'<div class="specht controls data">{"".join(cells)}</div>')


def _sample_file() -> mo.Html:
    return buttons(mo.download(sample().contents, filename=sample().name, mimetype="text/csv", label="The sample (CSV)"))


def refinement(budget: str, button: Any) -> mo.Html:
    """What stands above an answer that can be refined: how long was measured, and the button that has more measured."""
    longer = next_budget(budget)
    said = f"Measured within {in_words(budget)} of CPU time."
    if longer is None:
        return mo.Html(f'<p class="specht note">{said}</p>')
    return mo.Html(
        f'<div class="specht busy"><span>{said} Up to {in_words(longer)} measure more learners, more often:</span>{button}</div>'
    )
