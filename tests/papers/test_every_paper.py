"""What holds for every paper: names, jobs, the record of verdicts, and the whole of it at the smoke scale."""

from __future__ import annotations

import importlib
import inspect
import itertools
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from specht.lab.archive import Archive
from specht.papers.claims import Paper, Result
from specht.papers.registry import papers, select
from specht.papers.scorecard import expected_outcomes, jobs_of

PAPERS = {paper.id: paper for paper in papers()}
SCALES = ("smoke", "quick", "full")


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
    claims = {claim.id for paper in PAPERS.values() for claim in paper.claims if claim.judge is not None}
    assert set(expected_outcomes(scale)) == claims


def test_another_seed_draws_all_that_is_random_anew(paper):
    for part in select(among=[paper]):
        for job, other in zip(jobs_of(part, "quick", 0), jobs_of(part, "quick", 1), strict=True):
            assert (job != other) == bool({"seed", "seeds"} & set(job.arguments))
            assert job.arguments.keys() == other.arguments.keys()
        assert jobs_of(part, "quick", 0) == list(part.experiment.jobs("quick")) or not any(claim.judge for claim in part.claims)


def test_listing_claims_loads_no_jax():
    code = (
        "import sys; from specht.papers.registry import papers; "
        "jobs = [e.jobs('full') for p in papers() for e in p.experiments]; assert len(jobs) > 20; assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_experiment_at_smoke_scale(paper, tmp_path):
    """As a user runs it: verdicts as on record, numbers finite, figures and tables for every experiment."""
    flags = ["--scale", "smoke", "--workers", "1", "--out", str(tmp_path), "--json"]
    done = subprocess.run([sys.executable, "-m", "specht", "reproduce", paper.id, *flags], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert len(json.loads(done.stdout)["claims"]) == len(paper.claims)
    archive = Archive(tmp_path / "jobs")
    for experiment in paper.experiments:
        jobs = experiment.jobs("smoke")
        results = [Result(job.arguments, archive.load(job)) for job in jobs]
        for result in results:
            for name, values in result.data.data_vars.items():
                assert values.dtype == np.float64, (experiment.name, name)
                assert np.isfinite(values.values).all(), (experiment.name, name)
        if not jobs:
            continue
        for claim in experiment.claims:
            verdict = claim.judge(results)
            assert verdict.outcome in ("holds", "fails", "not tested")
            assert verdict.regime.endswith("."), claim.id
            assert verdict.outcome == "not tested" or math.isfinite(verdict.measured)
        plots, tables = experiment.plots(results), experiment.tables(results)
        assert plots or tables
        assert all(plot.title and plot.caption for plot in plots)
        assert all(len(row) == len(table.header) for table in tables for row in table.rows)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(experiment.title in page for experiment in paper.experiments)
