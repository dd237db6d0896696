"""What holds for every paper: names, jobs, the record of verdicts, and the whole of it at the smoke scale.

Experiments that take seconds are done in the ordinary run, and of the longer ones one job of every function.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import xarray

from specht.lab.archive import Archive
from specht.papers import expected_outcomes, jobs_of, papers, select
from specht.papers.claims import SCALES, Experiment, JobResult, Outcome, Paper

PAPERS = {paper.id: paper for paper in papers()}


@pytest.fixture(params=PAPERS)
def paper(request) -> Paper:
    return PAPERS[request.param]


def test_claims_have_different_names_that_begin_with_the_paper(paper):
    names = [claim.id for claim in paper.claims]
    assert len(names) == len(set(names))
    assert all(name.startswith(f"{paper.id}.") for name in names)
    experiments = [experiment.name for experiment in paper.experiments]
    assert len(experiments) == len(set(experiments))


def test_every_claim_says_what_where_and_how(paper):
    for claim in paper.claims:
        assert claim.sentence.endswith(".")
        assert claim.citation
        assert claim.criterion
        assert (claim.judge is None) == bool(claim.untested)


def test_every_claim_can_be_tested(paper):
    assert [claim.id for claim in paper.claims if claim.judge is None] == []


def test_criteria_refuse_their_nulls(paper):
    """What would be measured if a claim were false must not bear it out."""
    assert [claim.id for claim in paper.claims if claim.judge is not None and not claim.refuses_null] == []


FROZEN = json.loads(Path(__file__).with_name("criteria.json").read_text(encoding="utf-8"))
"""Every criterion that each claim has had, the first one first. Lines are added and never changed."""


def test_a_criterion_that_changes_says_what_it_was_and_why(paper):
    """To change a criterion: put its new text behind the old one in criteria.json, and say in claims.toml when and why."""
    for claim in paper.claims:
        assert claim.criterion == FROZEN[claim.id][-1], f"{claim.id}: the criterion is not the frozen one"
        assert [change.before for change in claim.changes] == FROZEN[claim.id][:-1], f"{claim.id}: `changed` in claims.toml has a hole"
        assert all(change.why.endswith(".") and change.on >= claim.since for change in claim.changes), claim.id


def test_no_claim_that_is_gone_has_a_criterion():
    assert {claim.id for each in PAPERS.values() for claim in each.claims} == set(FROZEN)


@pytest.mark.parametrize("scale", SCALES)
def test_jobs_of_every_scale_are_named_by_their_arguments(paper, scale):
    for experiment in paper.experiments:
        jobs = experiment.jobs(scale)
        assert len(jobs) == len(set(jobs))
        assert bool(jobs) == any(claim.judge is not None for claim in experiment.claims)


@pytest.mark.parametrize("scale", SCALES)
def test_jobs_name_functions_that_exist(paper, scale):
    for job in itertools.chain.from_iterable(experiment.jobs(scale) for experiment in paper.experiments):
        module, function = job.function.split(":")
        inspect.signature(getattr(importlib.import_module(module), function)).bind(**job.arguments)


@pytest.mark.parametrize("scale", SCALES)
def test_every_claim_that_can_be_tested_is_on_record(scale):
    """Except where that takes long: a new claim is on record at once at smoke scale, and at the others when they have been run."""
    claims = {claim.id for paper in PAPERS.values() for claim in paper.claims if claim.judge is not None}
    recorded = set(expected_outcomes(scale))
    assert recorded <= claims
    assert recorded == claims or scale != "smoke"


def test_another_seed_draws_all_that_is_random_anew(paper):
    for part in select(among=[paper]):
        for job, other in zip(jobs_of(part, "quick", 0), jobs_of(part, "quick", 1), strict=True):
            assert (job != other) == bool({"seed", "seeds"} & set(job.arguments))
            assert job.arguments.keys() == other.arguments.keys()
        assert jobs_of(part, "quick", 0) == list(part.experiment.jobs("quick")) or not any(claim.judge for claim in part.claims)


def test_listing_claims_loads_no_jax():
    code = (
        "import sys; from specht.papers import papers; "
        "jobs = [e.jobs('full') for p in papers() for e in p.experiments]; assert len(jobs) > 20; assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


LONG = {
    *("breaking.invariance", "breaking.addition", "breaking.slices", "breaking.kernels", "sparse.f2", "sparse.f3"),
    *("selection.theorem-2", "selection.theorem-3", "selection.figure-1", "selection.figure-2", "selection.figure-3"),
    *("selection.figure-4", "selection.figure-5", "infinity.f2", "infinity.f3", "infinity.q1", "infinity.q3", "infinity.q3-nonlinear"),
    *("infinity.q8", "infinity.e8", "infinity.e4-heads", "infinity.e10", "breaking.initial", "selection.separation"),
    *("selection.figure-5-stopped", "selection.query"),
    *("features.cells", "features.embedding", "features.exponents", "features.trained", "features.reach", "features.first-order"),
    "features.heads",
}
"""Experiments of more than three seconds at the smoke scale."""
EXPERIMENTS = {experiment.name: experiment for paper in PAPERS.values() for experiment in paper.experiments}
SHORT = {name: experiment for name, experiment in EXPERIMENTS.items() if name not in LONG and experiment.jobs("smoke")}
ALONE = {job.function: job for name in sorted(LONG) for job in reversed(EXPERIMENTS[name].jobs("smoke"))}
"""The first job of every function of the long ones."""
for job in itertools.chain.from_iterable(experiment.jobs("smoke") for experiment in SHORT.values()):
    ALONE.pop(job.function, None)


def assert_plain_numbers(name: str, data: xarray.Dataset) -> None:
    for variable, values in data.data_vars.items():
        assert values.dtype == np.float64, (name, variable)
        assert np.isfinite(values.values).all(), (name, variable)


def assert_complete(experiment: Experiment, results: list[JobResult]) -> None:
    """Numbers finite, a verdict on every claim, and figures or tables."""
    for result in results:
        assert_plain_numbers(experiment.name, result.data)
    for claim in experiment.claims:
        verdict = claim.judge(results)
        assert verdict.outcome in get_args(Outcome)
        assert verdict.regime.endswith("."), claim.id
        assert verdict.outcome == "not tested" or math.isfinite(verdict.measured)
    plots, tables = experiment.plots(results), experiment.tables(results)
    assert plots or tables
    assert all(plot.title and plot.caption for plot in plots)
    assert all(len(row) == len(table.header) for table in tables for row in table.rows)


READ_TEXTS = {"infinity.e7", "infinity.q8"}
"""Short experiments on corpora that are not part of the package."""


@pytest.mark.parametrize("name", SHORT)
def test_a_short_experiment_has_the_verdicts_on_record(name, monkeypatch):
    if name in READ_TEXTS:
        folder = (Path(__file__).parents[2] / os.environ.get("SPECHT_DATA", "../shared/data")).resolve()
        if not folder.is_dir():
            pytest.skip(f"there are no corpora in {folder}: set SPECHT_DATA")
        monkeypatch.setenv("SPECHT_DATA", str(folder))
    experiment, expected = SHORT[name], expected_outcomes("smoke")
    results = [JobResult.of(job, job.run()) for job in experiment.jobs("smoke")]
    assert_complete(experiment, results)
    outcomes = {claim.id: claim.judge(results).outcome for claim in experiment.claims}
    assert outcomes == {claim.id: expected[claim.id] for claim in experiment.claims}


def _marks(function: str) -> list[pytest.MarkDecorator]:
    if function.startswith("specht.lab.threshold"):
        return [pytest.mark.runs_long]
    # chains of samplers: compiled for half a minute, and tested by themselves in tests/learning/adaptive and tests/nn
    return [pytest.mark.whole] * function.startswith("specht.papers.kernels_to_features")


@pytest.mark.parametrize("function", [pytest.param(function, marks=_marks(function)) for function in ALONE])
def test_a_job_of_the_long_experiments(function):
    assert_plain_numbers(function, ALONE[function].run())


@pytest.mark.whole
def test_every_experiment_at_smoke_scale(paper, tmp_path):
    """As a user runs it: verdicts as on record, numbers finite, figures and tables for every experiment."""
    flags = ["--scale", "smoke", "--workers", "1", "--out", str(tmp_path), "--json"]
    done = subprocess.run([sys.executable, "-m", "specht", "reproduce", paper.id, *flags], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert len(json.loads(done.stdout)["claims"]) == len(paper.claims)
    archive = Archive(tmp_path / "jobs")
    for experiment in paper.experiments:
        jobs = experiment.jobs("smoke")
        if jobs:
            assert_complete(experiment, [JobResult.of(job, archive.load(job)) for job in jobs])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(experiment.title in page for experiment in paper.experiments)
