"""specht reproduce --publish on a toy paper: pages that link to each other and to figures that are there, written anew as a whole."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest
import toy_paper

from specht.commands.app import main

ODD_TITLE = "A *toy* [paper] | V_2"


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    odd = dataclasses.replace(toy_paper.paper(), title=ODD_TITLE)
    monkeypatch.setattr("specht.papers.scorecard.papers", lambda: [odd])


def publish(*words: str) -> int:
    return main(["reproduce", "--scale", "smoke", "--workers", "0", "--publish", "pages", *words])


def test_pages_have_every_claim_and_their_links_resolve(empty_folder, capsys):
    assert publish("--json") == 0
    assert json.loads(capsys.readouterr().out)["pages"] == "pages/index.md"
    pages = {path.name: path.read_text() for path in (empty_folder / "pages").glob("*.md")}
    assert set(pages) == {"index.md", "toy.md"}
    assert "| [A \\*toy\\* \\[paper\\] \\| V<sub>2</sub>](toy.md) | 3 | 1 | 1 | 0 | 1 |" in pages["index.md"]
    assert "- [`toy.large`](toy.md#toy-large) The mean is large." in pages["index.md"]
    assert "    specht reproduce --scale smoke --publish pages" in pages["index.md"]
    assert '<a id="toy-large"></a>The mean is large.<br>\n✗ **fails** · ' in pages["toy.md"]
    assert (
        "– **not tested** · `toy.later`<br>\n<small>within 1 % · There are no networks yet. · Toy 2026, section 3</small>"
        in pages["toy.md"]
    )
    assert "*In the paper:* A cloud of points around zero." in pages["toy.md"]
    assert "| seed | mean |\n| --- | --- |\n| 0 | " in pages["toy.md"]
    assert "Numbers are drawn and averaged:\n\n> m = Σ x<sub>i</sub> / n\n" in pages["toy.md"]
    figures = re.findall(r"!\[.*?\]\((.*?)\)", pages["toy.md"])
    assert figures == ["figures/toy-1-seed-0.svg", "figures/toy-2-seed-1.svg"]
    assert all((empty_folder / "pages" / name).read_text().startswith("<?xml") for name in figures)


def test_pages_are_written_anew_and_nothing_else_is_touched(empty_folder, capsys):
    publish()
    pages = empty_folder / "pages"
    (pages / "notes.md").write_text("mine")
    (pages / ".published").write_text((pages / ".published").read_text() + "figures/toy-9-gone.svg\n../kept.txt\n")
    (pages / "figures" / "toy-9-gone.svg").write_text("old")
    (empty_folder / "kept.txt").write_text("mine")
    assert publish() == 0
    assert not (pages / "figures" / "toy-9-gone.svg").exists()
    assert (pages / "notes.md").read_text() == (empty_folder / "kept.txt").read_text() == "mine"
    assert set((pages / ".published").read_text().split()) == {"index.md", "toy.md", *(f"figures/toy-{n}-seed-{n - 1}.svg" for n in (1, 2))}


def test_a_folder_of_somebody_else_is_refused_before_anything_is_computed(empty_folder, capsys):
    (empty_folder / "pages").mkdir()
    (empty_folder / "pages" / "thesis.md").write_text("mine")
    assert publish() == 2
    assert "--publish pages holds other things than published pages" in capsys.readouterr().err
    assert not (empty_folder / "specht-results").exists()


def test_without_matplotlib_it_is_refused(capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None)
    assert publish() == 2
    assert "--publish needs Matplotlib" in capsys.readouterr().err
