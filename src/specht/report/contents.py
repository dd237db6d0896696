"""What a paper holds, and where it is tested: so that what is left out shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from specht.report.markdown import anchor, text


@dataclasses.dataclass(frozen=True)
class ContentsEntry:
    """A figure, a theorem or a question of a paper, and where it is tested."""

    part: str
    """What it is called there, such as `figure 2`."""
    says: str
    """What it says, in our words."""
    covered_by: Sequence[str] = ()
    """Names of the experiments that test it."""
    command: str = ""
    """A command of ours that shows it."""
    not_covered: str = ""
    """Why no experiment tests it, if so."""


def coverage(contents: Sequence[ContentsEntry]) -> str:
    """How much of the contents is tested."""
    tested = sum(bool(content.covered_by) for content in contents)
    return f"{tested} of the {len(contents)} parts of the paper that we know of are tested here."


def contents_table(contents: Sequence[ContentsEntry], titles: Mapping[str, str]) -> list[str]:
    """Each part of a paper beside the experiments that test it, or why none does; with links to those whose titles are given."""
    lines = ["## Contents of the paper", "", coverage(contents), "", "| part | what it says | tested in |", "|---|---|---|"]
    for content in contents:
        tests = [_link(name, titles) for name in content.covered_by]
        where = ", ".join(tests) if tests else f"**not covered**: {text(content.not_covered)}"
        command = f"<br>`{content.command}`" if content.command else ""
        lines.append(f"| {text(content.part)} | {text(content.says)} | {where}{command} |")
    return [*lines, ""]


def _link(name: str, titles: Mapping[str, str]) -> str:
    """To an experiment, if it is on the page."""
    return f"[{text(titles[name])}](#{anchor(name)})" if name in titles else f"`{name}`"
