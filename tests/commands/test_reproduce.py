"""specht reproduce on a toy paper: the scorecard, its exit code, and that it does not depend on how it came about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import toy_paper

from specht.commands.app import main
from specht.lab.jobs import Job
from specht.papers.claims import Claim, Experiment, Paper, Verdict


@pytest.fixture
def toy(monkeypatch, tmp_path):
    use(monkeypatch, toy_paper.paper())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def use(monkeypatch, paper: Paper) -> None:
    """Make this the only paper that there is."""
    monkeypatch.setattr("specht.papers.scorecard.papers", lambda: [paper])


def reproduce(capsys, *words: str) -> tuple[int, str, str]:
    code = main(["reproduce", *words] + ["--workers", "0"] * ("--workers" not in words))
    out, errors = capsys.readouterr()
    return code, out, errors


def test_scorecard_has_every_claim_with_its_verdict(toy, capsys):
    code, out, _ = reproduce(capsys, "--json")
    found = json.loads(out)
    assert code == 0
    assert [(claim["id"], claim["verdict"], claim["expected"]) for claim in found["claims"]] == [
        ("toy.mean", "holds", "holds"),
        ("toy.large", "fails", "fails"),
        ("toy.later", "not tested", None),
    ]
    assert found["claims"][0]["stderr"] > 0
    assert found["claims"][0]["regime"] == "5 runs of 4 jobs"
    assert found["claims"][2]["regime"] == "There are no networks yet."
    assert {"command", "config", "seed", "version", "report", "data", "scorecard"} <= set(found)
    stored = json.loads(Path(found["scorecard"]).read_text())
    assert stored["claims"] == found["claims"]
    assert len(list(Path(found["data"]).glob("*.nc"))) == 20


def test_terminal_shows_verdicts_and_the_answer(toy, capsys):
    code, out, _ = reproduce(capsys, "--scale", "smoke")
    assert code == 0
    assert "toy.large  fails" in out
    assert "What the papers state: of 3 claims 1 hold, 1 fail and 1 were not tested. At this scale they show that everything runs" in out
    assert "All verdicts are those on record." in out
    assert "report" in out


def test_a_verdict_off_the_record_is_exit_code_1(toy, capsys, monkeypatch):
    use(monkeypatch, toy_paper.paper(record={"toy.mean": "holds", "toy.large": "holds"}))
    code, out, _ = reproduce(capsys)
    assert code == 1
    assert "fails (on record: holds)" in out
    assert "Other than on record came out: toy.large." in out


def test_the_terminal_says_why_a_claim_on_record_was_not_tested(toy, capsys, monkeypatch):
    use(monkeypatch, toy_paper.paper(record=toy_paper.EXPECTED | {"toy.later": "holds"}))
    assert "\n  toy.later: There are no networks yet.\n" in reproduce(capsys)[1]


def test_a_claim_without_a_record_is_exit_code_1(toy, capsys, monkeypatch):
    use(monkeypatch, toy_paper.paper(record={"toy.mean": "holds"}))
    assert reproduce(capsys)[0] == 1


def test_a_failing_job_costs_its_own_claims_only(toy, capsys, monkeypatch):
    use(monkeypatch, toy_paper.paper(toy_paper.BROKEN))
    code, out, _ = reproduce(capsys, "--json")
    found = json.loads(out)
    assert code == 1
    verdicts = {claim["id"]: claim["verdict"] for claim in found["claims"]}
    assert (verdicts["toy.mean"], verdicts["toy.broken-job"]) == ("holds", "not tested")
    assert "5 of 5 jobs failed; sample_jobs:fails(seed=3): ValueError: seed 3 is a bad seed" in found["claims"][-1]["regime"]
    assert found["failures"][0] == {"job": "sample_jobs:fails(seed=3)", "error": "ValueError: seed 3 is a bad seed"}
    assert len(found["failures"]) == 5
    assert "toy.broken" in Path(found["report"]).read_text()


def test_names_choose_claims(toy, capsys):
    _, out, _ = reproduce(capsys, "toy.large", "--json")
    assert [claim["id"] for claim in json.loads(out)["claims"]] == ["toy.large"]
    assert len(json.loads(reproduce(capsys, "toy.numbers", "--json")[1])["claims"]) == 3
    code, _, errors = reproduce(capsys, "toy.larg")
    assert code == 2
    assert "Unknown paper or claim 'toy.larg': did you mean 'toy.large'?" in errors
    assert "`specht reproduce --list` shows them all." in errors


def test_list_runs_nothing(toy, capsys):
    code, out, _ = reproduce(capsys, "--list")
    assert code == 0
    assert "toy.mean\n        The mean is zero." in out
    assert not (toy / "specht-results").exists()
    listed = json.loads(reproduce(capsys, "--list", "--json")[1])["claims"]
    assert [claim["criterion"] for claim in listed][1] == "mean > 1"


def test_what_is_complete_is_not_computed_again(toy, capsys, monkeypatch):
    first = json.loads(reproduce(capsys, "--json")[1])
    monkeypatch.setattr(Job, "run", lambda self: pytest.fail("computed again"))
    again = json.loads(reproduce(capsys, "--json")[1])
    assert again == first


def test_the_archive_is_shared_between_scales_and_claims(toy, capsys):
    reproduce(capsys, "toy.mean")
    reproduce(capsys, "--scale", "smoke")
    assert len(list((toy / "specht-results" / "jobs").glob("*.nc"))) == 20


def test_as_many_seeds_as_are_asked_for(toy, capsys):
    code, out, _ = reproduce(capsys, "--seeds", "2", "--json")
    found = json.loads(out)
    assert (code, found["seeds"]) == (0, 2)
    assert found["claims"][0]["regime"] == "2 runs of 4 jobs"
    assert "seeds 0 to 1" in Path(found["report"]).read_text()


def test_another_seed_draws_anew(toy, capsys):
    one, other = (json.loads(reproduce(capsys, "--json", "--seed", seed)[1])["claims"][0]["measured"] for seed in ("0", "1"))
    assert one != other


def test_out_holds_everything_and_survives_a_stop_in_the_middle(toy, capsys, monkeypatch):
    out = toy / "mine"

    def stop(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Job, "run", stop)
        code, _, errors = reproduce(capsys, "--out", str(out))
    assert code == 130
    assert "interrupted" in errors
    assert reproduce(capsys, "--out", str(out))[0] == 0
    assert {path.name for path in out.iterdir()} == {"config.json", "result.json", "report.html", "scorecard.json", "jobs"}
    assert not (toy / "specht-results").exists()


def test_figures_as_files(toy, capsys):
    assert reproduce(capsys, "--scale", "smoke", "--out", "mine", "--figures", "svg")[0] == 0
    assert len(list((toy / "mine").glob("figure-*.svg"))) == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--workers", "-1"], "--workers must be 0 or more, got -1."),
        (["--cluster", "tcp://127.0.0.1:9", "--slurm", "partition=cpu"], "--cluster and --slurm both say where jobs run"),
        (["--slurm", "partition"], "--slurm takes options as name=value, got 'partition'"),
        (["--scale", "huge"], "huge"),
    ],
)
def test_bad_flags_are_one_sentence(toy, capsys, words, sentence):
    code, out, errors = reproduce(capsys, *words)
    assert (code, out) == (2, "")
    assert sentence in errors
    assert len(errors.strip().splitlines()) == 1
    assert not list(toy.iterdir())


def test_a_disk_that_takes_nothing_is_one_sentence(toy, capsys):
    (toy / "file").write_text("in the way")
    code, _, errors = reproduce(capsys, "--store", "file/jobs")
    assert code == 2
    assert "file/jobs cannot be written to (Not a directory): choose another folder with --store." in errors


def with_claim(judge, plots=lambda results: ()) -> Paper:
    claim = Claim("toy.odd", "It is odd.", "Toy 2026", "odd", judge, kind="question")
    odd = Experiment("toy.odd-one", "Odd", "", [claim], toy_paper.jobs, plots)
    return toy_paper.paper(odd, record=toy_paper.EXPECTED | {"toy.odd": "holds"})


def raises(*runs):
    raise ZeroDivisionError("no results\nat all")


@pytest.mark.parametrize(
    ("judge", "sentence"),
    [
        (raises, "Judging it failed: ZeroDivisionError: no results at all"),
        (lambda *runs: Verdict("holds", float("nan"), regime="Here."), "What was measured is not a number. Here."),
    ],
)
def test_a_claim_that_cannot_be_judged_costs_itself_only(toy, capsys, monkeypatch, judge, sentence):
    use(monkeypatch, with_claim(judge))
    code, out, _ = reproduce(capsys, "--json")
    claims = {claim["id"]: claim for claim in json.loads(out)["claims"]}
    assert code == 1  # it is on record, and was not tested
    assert (claims["toy.odd"]["verdict"], claims["toy.odd"]["regime"]) == ("not tested", sentence)
    assert claims["toy.mean"]["verdict"] == "holds"


def test_a_figure_that_cannot_be_drawn_is_said(toy, capsys, monkeypatch):
    use(monkeypatch, with_claim(toy_paper.is_small, raises))
    _, out, _ = reproduce(capsys, "--json")
    page = Path(json.loads(out)["report"]).read_text()
    assert "ZeroDivisionError: no results at all" in page


def test_a_place_that_is_not_there_leaves_nothing_behind(toy, capsys, monkeypatch):
    monkeypatch.setattr("specht.lab.executors._PATIENCE", "1s")
    code, _, errors = reproduce(capsys, "--cluster", "tcp://127.0.0.1:9")
    assert code == 2
    assert "No Dask scheduler answers" in errors
    assert not list(toy.rglob("*.json"))
    assert not list(toy.rglob(".locks"))


def test_a_run_killed_at_its_first_file_can_be_started_again(toy, capsys):
    (toy / "mine").mkdir()
    (toy / "mine" / ".config-abcdefgh.json").write_text("{")
    assert reproduce(capsys, "--out", "mine")[0] == 0


def test_jobs_that_print_do_not_spoil_the_json(toy, capsys, monkeypatch):
    run = Job.run

    def chatty(self):
        print("hello")
        return run(self)

    monkeypatch.setattr(Job, "run", chatty)
    _, out, errors = reproduce(capsys, "--json")
    assert json.loads(out)["claims"]
    assert "hello" in errors
