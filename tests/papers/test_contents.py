"""What papers hold, and where it is tested: the lists in claims.toml have no holes."""

from __future__ import annotations

import re
import shlex

import pytest

from specht.commands.app import app
from specht.papers import papers
from specht.papers.claims import Paper

PAPERS = {paper.id: paper for paper in papers() if paper.contents}


def numbered(kind: str, *numbers: object) -> set[str]:
    return {f"{kind} {number}" for number in numbers}


KNOWN = {
    "breaking": {
        *(f"abstract, {name}" for name in ("invariance", "causal attention", "vertical slices", "residual connections")),
        *(f"summary, {name}" for name in ("addition", "ablation", "correlations of activations")),
        *(f"follow-up, {name}" for name in ("before training", "after training", "input layer", "first attention", "adjacency score")),
        *(f"follow-up, {name}" for name in ("probing", "hyper-parameters", "tasks")),
        "text and figures",
    },
    "infinity": {
        *(f"poster, {name}" for name in ("kernel limit", "model", "data", "predictor", "samples of an eigenfunction", "drawing")),
        *(f"poster, {name}" for name in ("proposition", "theorem", "bound on samples")),
        *(f"poster, figure on {name}" for name in ("losses", "the spectrum", "WikiText-2")),
        *(f"abstract, {name}" for name in ("learning curves", "network outputs", "symmetric functions", "WikiText")),
        *(f"abstract page, {name}" for name in ("finite networks", "nonlinear activations")),
        *(f"summary, {name}" for name in ("training", "open question 1, in-context learning", "open question 3, graphs and sets")),
        *numbered("summary, experiment", 1, 2, 3),
        *numbered("summary, open question", 1, 2, 3),
        *numbered("summary, check", 1, 2, 3),
        "proofs and appendices",
    },
    "selection": {
        *("abstract, separation", "summary, width"),
        *numbered("definition", 1, 2, 3, 4, 5),
        *numbered("theorem", 1, 2, 3),
        *numbered("lemma", 1, 2),
        *("theorem on length generalisation", "theorem on fully connected networks", "51 more theorems, lemmas and definitions"),
        *numbered("figure", "1, left", "1, right", 2, 3, "4, top", "4, bottom", 5, "5, other numbers of positions", 6, 7, 8),
    },
    "sparse": {
        "abstract, sample complexity",
        *numbered("definition", 2.1, 3.1, 3.2),
        *numbered("lemma", 2.2, 4.3, 4.6, *(f"A.{number}" for number in (8, 9, 10, 11, 12)), *(f"B.{number}" for number in range(2, 9))),
        *numbered("theorem", 4.2, 4.7, "A.17"),
        *("proposition 4.4", "corollary 4.5", "corollary A.7", "lemmas A.2 to A.5", "lower bound on samples", "trained positions"),
        "other theorems and lemmas",
        *numbered("figure", 1, 2, "3, left", "3, right", 4),
    },
}
"""What was at hand of each paper names these parts."""
_CITED = re.compile(
    r"\b(figure|table|theorem|lemma|proposition|corollary|definition)s? ((?:[A-Z]\.)?\d[\d.]*(?: (?:and|to) (?:[A-Z]\.)?\d[\d.]*)*)"
)


def cited(citation: str) -> list[str]:
    """The numbered parts that a citation names."""
    return [f"{kind} {number.rstrip('.')}" for kind, numbers in _CITED.findall(citation) for number in re.split(" and | to ", numbers)]


@pytest.fixture(params=PAPERS)
def paper(request) -> Paper:
    return PAPERS[request.param]


def test_only_results_of_this_project_have_no_contents():
    assert {paper.id for paper in papers()} - set(PAPERS) == {"features"}
    assert {paper.id for paper in papers() if not paper.source} == {"features"}
    assert {paper.id for paper in PAPERS.values() if paper.in_full} == {"sparse"}


def test_every_known_part_is_listed_once(paper):
    parts = [content.part for content in paper.contents]
    assert len(parts) == len(set(parts))
    assert set(parts) == KNOWN[paper.id]


def test_every_part_says_what_it_is_and_where_or_why_not(paper):
    names = {experiment.name for experiment in paper.experiments}
    for content in paper.contents:
        assert content.says.endswith((".", "?")), content.part
        assert set(content.covered_by) <= names, content.part
        assert bool(content.covered_by) != content.not_covered.endswith("."), content.part


def test_every_experiment_on_the_paper_is_in_its_contents(paper):
    named = {name for content in paper.contents for name in content.covered_by}
    about_the_paper = {each.name for each in paper.experiments if {claim.kind for claim in each.claims} & {"paper", "question"}}
    assert about_the_paper - named == set()


def test_numbered_parts_that_claims_cite_lead_to_their_experiments(paper):
    for experiment in paper.experiments:
        for claim in experiment.claims:
            for part in cited(claim.citation) if claim.kind == "paper" else ():
                entries = [content for content in paper.contents if content.part == part or content.part.startswith(f"{part}, ")]
                assert any(experiment.name in content.covered_by for content in entries), (claim.id, part)


def test_citations_are_read():
    assert cited("theorem 1 (a rate of log t / t); the constant is ours") == ["theorem 1"]
    assert cited("lemmas B.2 and B.3, corollary 4.5, figure 2.") == ["lemma B.2", "lemma B.3", "corollary 4.5", "figure 2"]
    assert cited("poster, figure on losses, theorem") == []


def test_commands_have_flags_that_there_are(paper):
    commands = {content.command for content in paper.contents if content.command}
    assert commands
    for command in commands:
        name, *words = shlex.split(command)
        assert name == "specht"
        app.parse_args(words, exit_on_error=False, print_error=False)
