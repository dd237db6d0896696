"""Judged experiments as the sections of a page."""

from __future__ import annotations

from collections.abc import Sequence

from specht.lab import describe
from specht.papers.scorecard import Judged
from specht.report import PaperSection, Plot, Section, Table


def paper_sections(judged: Sequence[Judged]) -> list[PaperSection]:
    """One section a paper, with its experiments in the order of the paper."""
    papers = {each.part.paper.id: each.part.paper for each in judged}
    return [
        PaperSection(
            paper.title, paper.citation, paper.summary, [_section(each) for each in judged if each.part.paper.id == name], paper.label
        )
        for name, paper in papers.items()
    ]


def _section(judged: Judged) -> Section:
    experiment = judged.part.experiment
    plots: Sequence[Plot] = ()
    tables: Sequence[Table] = ()
    if judged.results:
        try:
            plots, tables = list(experiment.plots(judged.results)), list(experiment.tables(judged.results))
        except Exception as error:  # the scorecard is worth more than its pictures
            tables = [Table(("figures", "why they are missing"), [["not drawn", describe(error)]], title="Figures")]
    return Section(
        name=experiment.name,
        title=experiment.title,
        shown=experiment.shown,
        claims=judged.claims,
        plots=plots,
        tables=tables,
        method=experiment.method,
    )
