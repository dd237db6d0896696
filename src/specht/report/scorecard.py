"""The scorecard of `specht reproduce`: every claim with its verdict, and each experiment beside what the paper shows.

The report is one file with a plotting program in it. The pages of a documentation are Markdown with figures beside it, one page a paper and
one that counts; they are small enough to be kept in a repository, and are read where Markdown is.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from specht.report.contents import ContentsEntry, contents_table, coverage
from specht.report.figures import Plot
from specht.report.html import Drawing, fill, fragment
from specht.report.markdown import anchor, text
from specht.report.page import Step, Table
from specht.report.static import draw, figure_names

SHOWN = 5
"""Claims that the answer names."""
QUESTION = "What do the papers claim, and does it hold when it is computed again?"
KINDS = {
    "paper": "What the papers state",
    "question": "What the papers ask",
    "ours": "What this project finds",
    "check": "Checks of the code",
}
OUTCOMES = ("holds", "fails", "undecided", "not tested")
RULE = (
    "Every claim is judged over several seeds, by the interval of 90 % of their mean: it holds if the whole interval keeps the criterion, "
    "fails if none of it does, and is undecided otherwise."
)


@dataclasses.dataclass(frozen=True)
class OtherScale:
    """What is on record for another scale than the one that is shown."""

    scale: str
    verdict: str
    measured: float | None = None
    interval: Sequence[float] | None = None
    seeds: int = 1
    agreeing: int = 1


@dataclasses.dataclass(frozen=True)
class ChangedCriterion:
    """A criterion that was changed after a result had been seen."""

    on: str
    before: str
    why: str


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
    interval: Sequence[float] | None
    """Of 90 %: over seeds, or of the measurement itself where there was one."""
    seeds: int
    agreeing: int
    """How many seeds come to the verdict alone."""
    regime: str
    missing: bool
    changes: Sequence[ChangedCriterion] = ()
    others: Sequence[OtherScale] = ()

    @classmethod
    def of(cls, **fields: Any) -> JudgedClaim:
        """From what scorecard.json has; fields that another version did not write are None."""
        known: dict[str, Any] = {field.name: fields.get(field.name) for field in dataclasses.fields(cls)}
        known["changes"] = [ChangedCriterion(**change) for change in known["changes"] or ()]
        known["others"] = [OtherScale(**other) for other in known["others"] or ()]
        return cls(**known)

    @property
    def number(self) -> str:
        """What was measured, with its interval or its error."""
        return "" if self.measured is None else rounded(self.measured, self.stderr, self.interval)

    @property
    def agreement(self) -> str:
        """How many seeds say the same; nothing where there was one."""
        return f"{self.agreeing} of {self.seeds} seeds" if self.seeds and self.seeds > 1 else ""

    @property
    def elsewhere(self) -> str:
        """The verdicts at other scales, with their numbers."""
        return "; ".join(
            f"at {other.scale} scale {other.verdict}"
            + (f", {rounded(other.measured, None, other.interval)}" if other.measured is not None else "")
            + (f", {other.agreeing} of {other.seeds} seeds" if other.seeds > 1 else ", one run")
            for other in self.others
        )

    @property
    def history(self) -> str:
        """When the criterion was written, and what it was before it was changed."""
        changes = [f"Changed {change.on}, after a result was seen; before: “{change.before}”. {change.why}" for change in self.changes]
        return " ".join([*([f"Criterion of {self.since}."] if self.since else []), *changes])

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
    source: str = ""
    """What was at hand of the paper; empty for results of this project."""
    in_full: bool = False
    """Whether its full text was read."""
    contents: Sequence[ContentsEntry] = ()
    """What the paper is known to hold."""

    @property
    def claims(self) -> list[JudgedClaim]:
        return [claim for section in self.sections for claim in section.claims]

    @property
    def coverage(self) -> str:
        """How much of the contents is tested."""
        return coverage(self.contents)

    @property
    def titles(self) -> dict[str, str]:
        """What experiments on this page are called, by their names."""
        return {section.name: section.title for section in self.sections}


def rounded(measured: float, stderr: float | None, interval: Sequence[float] | None = None) -> str:
    """A number with its interval, or else with its error, if it has one.

    >>> rounded(0.98765, 0.0123), rounded(0.98765, 0.0123, (0.95, 1.02))
    ('0.988 ± 0.012', '0.988 [0.95, 1.02]')
    """
    value = f"{measured:.3g}"
    if interval:
        value += f" [{interval[0]:.3g}, {interval[1]:.3g}]"
    elif stderr is not None:
        value += f" ± {stderr:.2g}"
    return value.replace("-", "−").replace("e−", "e-")


def answer(claims: Sequence[JudgedClaim], scale: str) -> str:
    """The scorecard in a few sentences."""
    tested = sum(claim.verdict != "not tested" for claim in claims)
    counted = [_counted(title, [claim for claim in claims if claim.kind == kind]) for kind, title in KINDS.items()]
    first = " ".join(filter(None, counted))
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


def _counted(title: str, claims: Sequence[JudgedClaim]) -> str:
    """How many claims of one kind hold."""
    if not claims:
        return ""
    number = Counter(claim.verdict for claim in claims)
    words = {"holds": "hold", "fails": "fail", "undecided": "are undecided", "not tested": "were not tested"}
    parts = [f"{number[outcome]} {words[outcome]}" for outcome in OUTCOMES if number[outcome] or outcome in ("holds", "fails")]
    return f"{title}: of {len(claims)} claims {', '.join(parts[:-1])} and {parts[-1]}."


def sources(papers: Sequence[PaperSection]) -> str:
    """How many papers were read in full, and how the others were; nothing where all were."""
    read = [paper.in_full for paper in papers if paper.source]
    if all(read):
        return ""
    return (
        f"Of {read.count(False)} of the {len(read)} papers the full text was not at hand: they were read through abstracts, a poster and "
        "summaries. The page of each paper says what there was, and lists every part that we know of with the experiments that test it."
    )


def scorecard_page(papers: Sequence[PaperSection], *, scale: str, seeds: str, reproduce: str, made_with: Mapping[str, str]) -> str:
    """The text of the page."""
    return fill(
        "scorecard.html.jinja",
        title="What the papers claim, computed again",
        subtitle=f"scale {scale}, {seeds}",
        question=QUESTION,
        rule=f"{RULE} {sources(papers)}".strip(),
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


FIGURES = "figures"
"""The folder of the figures, beside the pages."""
_KIND = "svg"
_SIGNS = {"holds": "✓", "fails": "✗", "undecided": "?", "not tested": "–"}


def scorecard_files(
    papers: Sequence[PaperSection], *, scale: str, seeds: str, reproduce: str, made_with: Mapping[str, str]
) -> dict[str, bytes]:
    """The contents of all files by their path in the folder; the same scorecard gives the same bytes but for when and where it was made."""
    files = {"index.md": _index(papers, scale, seeds, reproduce, made_with).encode()}
    for paper in papers:
        plots = [plot for section in paper.sections for plot in section.plots]
        names = [f"{FIGURES}/{_id(paper)}-{name.removeprefix('figure-')}" for name in figure_names(plots, _KIND)]
        files |= {name: _small(plot) for name, plot in zip(names, plots, strict=True)}
        files[f"{_id(paper)}.md"] = _page(paper, scale, iter(names)).encode()
    return files


def _small(plot: Plot) -> bytes:
    """A figure that a repository can keep: letters as letters, numbers to a hundredth of a point, the same names every time."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "specht"}):
        return re.sub(rb"(\d\.\d\d)\d+", rb"\1", draw(plot, _KIND))


def _id(paper: PaperSection) -> str:
    return paper.claims[0].paper


def _index(papers: Sequence[PaperSection], scale: str, seeds: str, reproduce: str, made_with: Mapping[str, str]) -> str:
    claims = [claim for paper in papers for claim in paper.claims]
    lines = ["# Scorecard", "", QUESTION, "", f"**{text(answer(claims, scale))}**", "", RULE, ""]
    lines += [sources(papers), ""] if sources(papers) else []
    for kind, title in KINDS.items():
        lines += _counts(title, kind, papers)
    for outcome, title, words in (
        ("fails", "What fails", "A claim that fails is a result like the others. Each has its regime on the page of its paper."),
        ("undecided", "What is undecided", "The threshold lies within the interval of what was measured."),
    ):
        found = [(paper, claim) for paper in papers for claim in paper.claims if claim.verdict == outcome]
        if found:
            lines += [f"## {title}", "", words, ""]
            lines += [
                f"- [`{claim.id}`]({_id(paper)}.md#{anchor(claim.id)}) {text(claim.sentence)} *({KINDS[claim.kind].lower()})*"
                for paper, claim in found
            ]
            lines.append("")
    lines += ["## How it was made", "", f"At scale {scale} with {seeds}; this makes the pages again:", ""]
    lines += [f"    {reproduce}", "", " · ".join(f"{name} {value}" for name, value in made_with.items() if name != "seed"), ""]
    return "\n".join(lines)


def _counts(title: str, kind: str, papers: Sequence[PaperSection]) -> list[str]:
    """How many claims of one kind hold, paper by paper."""
    lines = [f"## {title}", "", f"| paper | claims | {' | '.join(OUTCOMES)} |", f"|---{'|---' * (1 + len(OUTCOMES))}|"]
    for paper in papers:
        claims = [claim for claim in paper.claims if claim.kind == kind]
        number = Counter(claim.verdict for claim in claims)
        if claims:
            cells = [f"[{text(paper.title)}]({_id(paper)}.md)", len(claims), *(number[outcome] for outcome in OUTCOMES)]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return [*lines, ""] if len(lines) > 4 else []


def _page(paper: PaperSection, scale: str, figures: Any) -> str:
    lines = [f"# {text(paper.title)}", "", text(paper.citation), "", text(paper.summary), ""]
    lines += [f"{text(answer(paper.claims, scale))} [All papers](index.md)", ""]
    lines += [text(paper.source), ""] if paper.source else []
    lines += contents_table(paper.contents, paper.titles) if paper.contents else []
    for section in paper.sections:
        lines += _section(section, paper.label, figures)
    return "\n".join(lines)


def _section(section: Section, label: str, figures: Any) -> list[str]:
    lines = [f'## <a id="{anchor(section.name)}"></a>{text(section.title)}', ""]
    lines += [f"*{label.capitalize()}:* {text(section.shown)}", ""] if section.shown else []
    for claim in section.claims:
        lines += _claim(claim)
    for plot in section.plots:
        lines += _figure(plot, next(figures))
    for table in section.tables:
        lines += _table(table)
    for step in section.method:
        lines += [text(step.text), "", *(f"> {text(each)}" for each in step.formulas), *([""] if step.formulas else [])]
    return lines


def _table(table: Table) -> list[str]:
    rows = [table.header, ["---"] * len(table.header), *table.rows]
    cells = [" | ".join(cell if row is rows[1] else text(cell) for cell in row) for row in rows]
    return [f"**{text(table.title)}.** {text(table.note)}".rstrip(), "", *(f"| {line} |" for line in cells), ""]


def _claim(claim: JudgedClaim) -> list[str]:
    verdict = f"{_SIGNS[claim.verdict]} **{claim.verdict}**{claim.outcome.removeprefix(claim.verdict)}"
    outcome = filter(None, [verdict, claim.number, claim.agreement, claim.elsewhere, f"`{claim.id}`"])
    note = filter(None, [claim.criterion, claim.regime, claim.citation, claim.history])
    # The paragraph carries the name, so that a link can lead to the claim in a repository as on a site.
    return [
        f'<a id="{anchor(claim.id)}"></a>{text(claim.sentence)}<br>',
        f"{' · '.join(outcome)}<br>",
        f"<small>{' · '.join(map(text, note))}</small>",
        "",
    ]


def _figure(plot: Plot, name: str) -> list[str]:
    return [f"![{text(plot.title)}]({name})", "", text(plot.caption), ""]
