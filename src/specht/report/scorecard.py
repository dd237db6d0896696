"""The report of `specht reproduce`: every claim with its verdict, and each experiment beside what the paper shows."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from specht.report.figures import Plot
from specht.report.html import Drawing, Step, Table, fill, fragment

SHOWN = 5
"""Claims that the answer names."""
QUESTION = "What do the papers claim, and does it hold when it is computed again?"


@dataclasses.dataclass(frozen=True)
class Section:
    """One experiment as a page shows it."""

    name: str
    title: str
    shown: str
    claims: Sequence[Mapping[str, Any]]
    """As in scorecard.json."""
    plots: Sequence[Plot]
    tables: Sequence[Table]
    method: Sequence[Step]


@dataclasses.dataclass(frozen=True)
class PaperSection:
    """One paper as a page shows it."""

    title: str
    citation: str
    summary: str
    sections: Sequence[Section]
    label: str = "in the paper"
    """What stands before the words on what is shown."""


def measured(claim: Mapping[str, Any]) -> str:
    """The number that was measured, with its error.

    >>> measured({"measured": 0.98765, "stderr": 0.0123})
    '0.988 ± 0.012'
    """
    if claim["measured"] is None:
        return ""
    value = f"{claim['measured']:.3g}".replace("-", "−")
    return value if claim["stderr"] is None else f"{value} ± {claim['stderr']:.2g}"


def is_unexpected(claim: Mapping[str, Any]) -> bool:
    """Whether a claim came out otherwise than on record; one without a record is not to be tested."""
    return claim["verdict"] != (claim["expected"] or "not tested")


def on_record(claim: Mapping[str, Any]) -> str:
    """What this repository records of a claim."""
    return "nothing on record" if claim["expected"] is None else f"on record: {claim['expected']}"


def answer(claims: Sequence[Mapping[str, Any]], scale: str) -> str:
    """The scorecard in a few sentences."""
    number = {outcome: sum(claim["verdict"] == outcome for claim in claims) for outcome in ("holds", "fails", "not tested")}
    tested = number["holds"] + number["fails"]
    first = f"Of {len(claims)} claims {tested} were tested: {number['holds']} hold and {number['fails']} fail."
    if scale == "smoke":
        first += " At this scale they show that everything runs, and not what is true."
    absent = [claim for claim in claims if claim.get("missing")]
    if absent:
        first += f" For {len(absent)} this machine lacks the data. {absent[0]['regime']}"
    unexpected = [claim["id"] for claim in claims if is_unexpected(claim)]
    if unexpected:
        more = f" and {len(unexpected) - SHOWN} more" if len(unexpected) > SHOWN else ""
        return f"{first} Other than on record came out: {', '.join(unexpected[:SHOWN])}{more}."
    return f"{first} All verdicts are those on record." if tested else first


def scorecard_page(papers: Sequence[PaperSection], *, scale: str, seed: int, reproduce: str, made_with: Mapping[str, str]) -> str:
    """The text of the page."""
    drawing = Drawing()
    claims = [claim for paper in papers for section in paper.sections for claim in section.claims]
    shown = [
        {
            "title": paper.title,
            "citation": paper.citation,
            "summary": paper.summary,
            "label": paper.label,
            "parts": [
                {
                    "name": section.name,
                    "title": section.title,
                    "shown": section.shown,
                    "claims": [_shown(claim) for claim in section.claims],
                    "plots": drawing.draw(section.plots),
                    "tables": section.tables,
                    "method": section.method,
                }
                for section in paper.sections
            ],
        }
        for paper in papers
    ]
    return fill(
        "scorecard.html.jinja",
        title="What the papers claim, computed again",
        subtitle=f"scale {scale}, seed {seed}",
        question=QUESTION,
        answer=answer(claims, scale),
        papers=shown,
        reproduce=reproduce,
        made_with=made_with,
    )


def verdict_table(claims: Sequence[Mapping[str, Any]]) -> str:
    """The claims of scorecard.json as a table, paper by paper."""
    papers = dict.fromkeys(claim["paper"] for claim in claims)
    mine = {paper: [_shown(claim) for claim in claims if claim["paper"] == paper] for paper in papers}
    return fragment("scorecard", [{"title": paper, "parts": [{"claims": shown}]} for paper, shown in mine.items()])


def claims_in_full(claims: Sequence[Mapping[str, Any]]) -> str:
    """Each claim with its sentence, its verdict and its criterion."""
    return fragment("judged", [_shown(claim) for claim in claims])


def _shown(claim: Mapping[str, Any]) -> dict[str, Any]:
    """A claim as the page shows it: a small number such as 1e-10 must not break at its sign."""
    texts = {name: re.sub(r"(?<=\de)-(?=\d)", "−", claim[name]) for name in ("criterion", "regime")}
    return dict(claim) | texts | {"shown": measured(claim), "unexpected": is_unexpected(claim), "record": on_record(claim)}
