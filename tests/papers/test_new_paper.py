"""The paper of docs/new_paper.md, written into a folder as the page says, does what the page says."""

from __future__ import annotations

import importlib
import re
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from specht.papers.claims import JobResult, Paper
from specht.papers.load import load_paper

PAGE = (Path(__file__).parents[2] / "docs" / "new_paper.md").read_text(encoding="utf-8")
TOML, CODE = (re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[1] for language in ("toml", "python"))
NULL = re.search(r"^    @null.*?(?=^\S)", PAGE, re.DOTALL | re.MULTILINE)[0]


def written(folder: Path, name: str, claims: str = TOML, code: str = CODE) -> Paper:
    """A paper from the two files that somebody writes."""
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "claims.toml").write_text(claims, encoding="utf-8")
    (package / "influence.py").write_text(code, encoding="utf-8")
    importlib.invalidate_caches()
    return load_paper(name)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("votes"):
            del sys.modules[name]


def test_the_paper_of_the_page_has_the_verdicts_that_it_records(folder):
    paper = written(folder, "votes")
    (experiment,), (claim,) = paper.experiments, paper.claims
    assert (claim.id, claim.citation, claim.kind) == ("votes.root", "Penrose 1946, section 2", "paper")
    assert claim.criterion == "log-log slope of the influence against the number of voters −0.5 ± 0.1"
    assert claim.refuses_null
    results = [JobResult.of(job, job.run()) for job in experiment.jobs("smoke")]
    verdict = claim.judge(results)
    assert verdict.outcome == "holds"
    assert verdict.regime == "5 to 65 voters, 20000 samples, 3 seeds."
    assert [plot.title for plot in experiment.plots(results)] == ["Influence"]
    assert [row[0] for row in experiment.tables(results)[0].rows] == ["5", "17", "65"]
    assert [step.formulas for step in experiment.method] == [["I = E[ x_1 sign(Σ_i x_i) ]"]]


def test_the_criterion_of_the_page_says_no(folder):
    """As the page says: made-up results, of which those with one fault do not bear the claim out."""
    paper = written(folder, "votes")
    measurement = sys.modules["votes.influence"].measure_influence
    made = {
        power: [
            measurement.result({"influence": n**power + 0.001 * seed}, voters=n, samples=9, seed=seed) for n in (5, 65) for seed in (0, 1)
        ]
        for power in (-0.5, -0.3)
    }
    assert [paper.claims[0].judge(results).outcome for results in made.values()] == ["holds", "fails"]


def test_the_null_of_the_page_is_refused(folder):
    (claim,) = written(folder, "votes").claims
    names = {"null": lambda *claims: lambda make: make, "measure_influence": sys.modules["votes.influence"].measure_influence}
    exec(textwrap.dedent(NULL), names)
    runs = [names["one_voter_decides"](np.random.default_rng(seed)) for seed in range(3)]
    verdict = claim.judge(*runs)
    assert (verdict.outcome, verdict.seeds, verdict.agreeing) == ("fails", 3, 3)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("[influence.claims.root]", "[influence.claims.rot]", "does not have the claim 'root', which the code judges"),
        ('kind = "paper"', 'kind = "mine"', "'root' in claims.toml needs a kind, one of paper, question, ours"),
        ("since = 2026-11-18", 'since = "today"', "`since = YYYY-MM-DD`"),
        ("sentence =", 'untested = "no"\nsentence =', "needs either a function that judges it or a sentence `untested`"),
        ("sentence =", "size = 3\nsentence =", "'size' of root in claims.toml is unknown"),
        ('shown = "', 'show = "', "'show' of influence in claims.toml is unknown"),
        ('short = "', 'shorter = "', "'shorter' of the paper in claims.toml is unknown"),
        ('["influence"]', '["influenza"]', "'section 2' in the contents of claims.toml is covered by 'influenza', which is no experiment"),
        ("covered_by", 'not_covered = "No."\ncovered_by', "'section 2' in the contents of claims.toml needs either"),
        ("says = ", "sais = ", "'sais' of section 2 in claims.toml is unknown"),
    ],
)
def test_mistakes_in_the_file_are_one_sentence(folder, old, new, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        written(folder, "votes", claims=TOML.replace(old, new, 1))


def test_two_functions_cannot_judge_one_claim(folder):
    twice = CODE + '\n\n@measure_influence.claim("root", exponent(-1, within=0.1, of="x"), null=0.0)\ndef again(data):\n    return 0.0\n'
    with pytest.raises(ValueError, match="Two functions judge the claim 'root'"):
        written(folder, "votes", code=twice)


def test_two_measurements_of_one_experiment_cannot_share_a_function(folder):
    code = CODE + "\n\nother = measure(smoke=grid(voters=3, samples=9, seed=0))(measure_influence._function)\n"
    code += 'other.claim("more", exponent(-1, within=0.1, of="x"), null=0.0)(lambda data: 0.0)\n'
    more = TOML + '\n[influence.claims.more]\nsentence = "More."\nkind = "ours"\nsince = 2026-11-18\n'
    with pytest.raises(ValueError, match="call the same function"):
        written(folder, "votes", claims=more, code=code)
    other = more.replace("[influence.claims.more]", '[again]\ncode = "influence"\ntitle = "A"\nshown = "B"\n\n[again.claims.more]')
    sys.modules.pop("votes.influence", None)
    (folder / "votes" / "claims.toml").write_text(other, encoding="utf-8")
    assert [len(experiment.jobs("smoke")) for experiment in load_paper("votes").experiments] == [9, 1]
