"""The report of `specht reproduce`: every claim with its verdict, and each experiment beside what the paper shows."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from specht.report.figures import Plot
from specht.report.html import Drawing, Step, Table, fill, fragment

SHOWN = 5
"""Claims that the answer names."""
QUESTION = "What do the papers claim, and does it hold when it is computed again?"


@dataclasses.dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict; scorecard.json has these fields."""

    id: str
    sentence: str
    citation: str
    criterion: str
    kind: str
    since: str | None
    paper: str
    verdict: str
    expected: str | None
    """The verdict on record; None if there is none, or none to compare with because the data are missing."""
    measured: float | None
    stderr: float | None
    regime: str
    missing: bool

    @property
    def number(self) -> str:
        """What was measured, with its error."""
        return "" if self.measured is None else rounded(self.measured, self.stderr)

    @property
    def is_unexpected(self) -> bool:
        """Whether it came out otherwise than on record; one without a record is not to be tested."""
        return self.verdict != (self.expected or "not tested")

    @property
    def outcome(self) -> str:
        """The verdict, with what is on record where that is something else."""
        record = "nothing on record" if self.expected is None else f"on record: {self.expected}"
        return f"{self.verdict} ({record})" if self.is_unexpected else self.verdict


@dataclasses.dataclass(frozen=True)
class Section:
    """One experiment as a page shows it."""

    name: str
    title: str
    shown: str
    claims: Sequence[JudgedClaim]
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

    @property
    def claims(self) -> list[JudgedClaim]:
        return [claim for section in self.sections for claim in section.claims]


def rounded(measured: float, stderr: float | None) -> str:
    """A number with its error, if it has one.

    >>> rounded(0.98765, 0.0123)
    '0.988 ± 0.012'
    """
    value = f"{measured:.3g}".replace("-", "−")
    return value if stderr is None else f"{value} ± {stderr:.2g}"


def answer(claims: Sequence[JudgedClaim], scale: str) -> str:
    """The scorecard in a few sentences."""
    number = Counter(claim.verdict for claim in claims)
    tested = number["holds"] + number["fails"]
    first = f"Of {len(claims)} claims {tested} were tested: {number['holds']} hold and {number['fails']} fail."
    if scale == "smoke":
        first += " At this scale they show that everything runs, and not what is true."
    absent = [claim for claim in claims if claim.missing]
    if absent:
        first += f" For {len(absent)} this machine lacks the data. {absent[0].regime}"
    unexpected = [claim.id for claim in claims if claim.is_unexpected]
    if unexpected:
        more = f" and {len(unexpected) - SHOWN} more" if len(unexpected) > SHOWN else ""
        return f"{first} Other than on record came out: {', '.join(unexpected[:SHOWN])}{more}."
    return f"{first} All verdicts are those on record." if tested else first


def scorecard_page(papers: Sequence[PaperSection], *, scale: str, seed: int, reproduce: str, made_with: Mapping[str, str]) -> str:
    """The text of the page."""
    return fill(
        "scorecard.html.jinja",
        title="What the papers claim, computed again",
        subtitle=f"scale {scale}, seed {seed}",
        question=QUESTION,
        answer=answer([claim for paper in papers for claim in paper.claims], scale),
        papers=papers,
        drawing=Drawing(),
        reproduce=reproduce,
        made_with=made_with,
    )


def verdict_table(claims: Sequence[JudgedClaim]) -> str:
    """Claims as a table, paper by paper."""
    papers = dict.fromkeys(claim.paper for claim in claims)
    return fragment("scorecard", [{"title": paper, "claims": [claim for claim in claims if claim.paper == paper]} for paper in papers])


def claims_in_full(claims: Sequence[JudgedClaim]) -> str:
    """Each claim with its sentence, its verdict and its criterion."""
    return fragment("judged", claims)
