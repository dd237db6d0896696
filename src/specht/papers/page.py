"""Judged experiments as the sections of a page."""

from __future__ import annotations

from collections.abc import Sequence

from specht.papers.scorecard import Judged
from specht.report.scorecard import PaperSection, Section


def paper_sections(judged: Sequence[Judged]) -> list[PaperSection]:
    """One section a paper, with its experiments in the order of the paper."""
    papers = {each.part.paper.id: each.part.paper for each in judged}
    return [
        PaperSection(paper.title, paper.citation, paper.summary, [_section(each) for each in judged if each.part.paper.id == name])
        for name, paper in papers.items()
    ]


def _section(judged: Judged) -> Section:
    experiment = judged.part.experiment
    return Section(
        name=experiment.name,
        title=experiment.title,
        shown=experiment.shown,
        claims=[line.as_json(judged.part.paper.id) for line in judged.lines],
        plots=list(experiment.plots(judged.results)) if judged.results else [],
        tables=list(experiment.tables(judged.results)) if judged.results else [],
        method=experiment.method,
    )
