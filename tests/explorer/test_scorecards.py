"""Scorecards that `specht reproduce` left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specht.commands.app import main
from specht.errors import InputError
from specht.explorer.scorecards import JOBS, SCORECARD, experiment_names, experiment_section, experiments, saved_scorecards

EXPERIMENT = "infinity.q4"


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("explored")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        main(["reproduce", EXPERIMENT, "--scale", "smoke", "--workers", "0", "--json"])
    return folder / "specht-results"


def test_an_empty_folder_has_none(tmp_path):
    assert saved_scorecards(tmp_path / "nothing") == []


def test_what_is_no_scorecard_is_passed_over(tmp_path):
    for name, text in {"a": "{", "b": "[]", "c": json.dumps({"claims": [], "config": {}})}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / SCORECARD).write_text(text, encoding="utf-8")
    assert saved_scorecards(tmp_path) == []


def test_a_scorecard_is_found_with_its_experiments(results):
    [saved] = saved_scorecards(results)
    assert saved.label == f"smoke, {EXPERIMENT} ({saved.name})"
    assert list(experiments(saved)) == [EXPERIMENT]
    assert EXPERIMENT in experiment_names()


def test_figures_are_drawn_from_the_results_of_jobs(results):
    [saved] = saved_scorecards(results)
    section = experiment_section(saved, EXPERIMENT)
    assert [claim.id for claim in section.claims] == ["infinity.q4-bound"]
    assert section.claims[0].verdict == saved.claims[0].verdict
    assert section.plots


def test_an_experiment_of_another_run_is_refused(results):
    [saved] = saved_scorecards(results)
    with pytest.raises(InputError, match=r"This scorecard has no experiment 'infinity\.f1': choose one of the list"):
        experiment_section(saved, "infinity.f1")


def test_missing_results_are_spoken_of_with_the_command(results, tmp_path):
    [saved] = saved_scorecards(results)
    copy = tmp_path / saved.name
    copy.mkdir()
    (copy / SCORECARD).write_text(saved.path.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / JOBS).mkdir()
    [alone] = saved_scorecards(tmp_path)
    with pytest.raises(InputError, match=r"are not here, or are those of another version: give the command `specht reproduce infinity\.q4"):
        experiment_section(alone, EXPERIMENT)
