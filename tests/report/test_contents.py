"""The contents of a paper on its pages: parts with links to what tests them, and parts that nothing tests."""

from __future__ import annotations

import dataclasses
import re

import pytest

from specht.report import ContentsEntry, JudgedClaim, PaperSection, Section, scorecard_files, scorecard_page

CLAIM = JudgedClaim.of(
    id="toy.mean",
    sentence="It is.",
    citation="Toy",
    criterion="small",
    kind="paper",
    paper="toy",
    verdict="holds",
    expected="holds",
    measured=0.1,
    seeds=1,
    agreeing=1,
    regime="Here.",
    missing=False,
)
NUMBERS = Section("toy.numbers", "Numbers | of [it]", "A cloud.", [CLAIM], [], [], [])
CONTENTS = [
    ContentsEntry("figure 1", "The mean | the [first] one.", ["toy.numbers", "toy.elsewhere"], "specht doctor"),
    ContentsEntry("theorem 2", "It is always so, as 1/L^2.", not_covered="Nobody has *proved* it."),
]
PAPER = PaperSection("A toy", "A. Toy", "It draws.", [NUMBERS], source="Its abstract was at hand.", contents=CONTENTS)
ORIGIN = {"scale": "smoke", "seeds": "seed 0", "reproduce": "specht reproduce toy", "made_with": {"version": "1"}}


@pytest.fixture
def pages() -> dict[str, str]:
    return {name: content.decode() for name, content in scorecard_files([PAPER], **ORIGIN).items()}


def test_markdown_begins_with_what_was_at_hand_and_what_is_tested(pages):
    page = pages["toy.md"]
    assert (
        "\nIts abstract was at hand.\n\n## Contents of the paper\n\n1 of the 2 parts of the paper that we know of are tested here.\n"
        in page
    )
    row = "| figure 1 | The mean \\| the \\[first\\] one. | [Numbers \\| of \\[it\\]](#toy-numbers), `toy.elsewhere`<br>`specht doctor` |"
    assert row in page.splitlines()
    assert "| theorem 2 | It is always so, as 1/L<sup>2</sup>. | **not covered**: Nobody has \\*proved\\* it. |" in page.splitlines()
    assert page.index("## Contents") < page.index('## <a id="toy-numbers"></a>Numbers')


def test_html_has_the_same(pages):
    page = scorecard_page([PAPER], **ORIGIN)
    shown = page[page.index('<details class="contents">') : page.index("</details>")]
    assert page.index("Its abstract was at hand.") < page.index(shown)
    assert '<a href="#toy.numbers">Numbers | of [it]</a>, <span class="id">toy.elsewhere</span>' in shown
    assert 'id="toy.numbers"' in page
    assert "<strong>not covered</strong>: Nobody has *proved* it." in shown
    assert re.findall(r"<code>(.*?)</code>", shown) == ["specht doctor"]


def test_the_index_says_how_many_papers_were_not_read_in_full(pages):
    assert "Of 1 of the 1 papers the full text was not at hand" in pages["index.md"]
    for paper in (dataclasses.replace(PAPER, in_full=True), dataclasses.replace(PAPER, source="", contents=[])):
        files = scorecard_files([paper], **ORIGIN)
        assert b"full text" not in files["index.md"]
    assert b"## Contents" not in files["toy.md"]
