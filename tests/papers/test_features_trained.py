"""The judges of `features.trained` on thresholds made up for them: yes, no, and no to what a null would give."""

from __future__ import annotations

import math

import pytest
from made_features import NOISE, searches

from specht.commands.threshold import ThresholdConfig
from specht.papers.kernels_to_features import PAPER, trained

(EXPERIMENT,) = (experiment for experiment in PAPER.experiments if experiment.name == "features.trained")
CLAIMS = {claim.id: claim for claim in EXPERIMENT.claims}


NO = {"exponent": {"theory": 0.8}, "slower": {"theory": 1.2}, "fewer": {"theory": 1.0, "start": 170.0}}
NULL = {"own": 1.0, "theory": 1.0, "kernel": 1.0, "start": 150.0}
"""All learners alike, and thresholds in proportion to T."""


@pytest.mark.parametrize("name", CLAIMS)
def test_judges_say_yes_and_no_and_no_to_a_null(name):
    judge, kind = CLAIMS[name].judge, name.split("-")[1]
    verdicts = judge(searches()), judge(searches(**NO[kind])), judge(searches(**NULL)), judge(searches(**NULL, noise=(0.0,) * 4))
    assert [verdict.outcome for verdict in verdicts] == ["holds", "fails", "fails", "fails"], verdicts
    for verdict in verdicts:
        assert math.isfinite(verdict.measured)
        assert verdict.stderr >= 0.0
        assert verdict.regime.endswith(".")


def test_a_theory_in_proportion_to_t_is_far_from_trained_networks():
    for width in trained.WIDTHS:
        assert CLAIMS[f"features.trained-exponent-{width}"].judge(searches(theory=1.0)).outcome == "fails"


def test_an_interval_that_reaches_across_decides_nothing():
    wide = searches(theory=0.55, noise=(0.2, -0.2, 0.1, -0.1))
    verdict = CLAIMS["features.trained-exponent-16"].judge(wide)
    assert verdict.outcome == "undecided"
    assert verdict.interval[0] < 0.0 < trained.NEAR < verdict.interval[1]
    assert verdict.measured == pytest.approx(0.15)


@pytest.mark.parametrize("fault", [{"noise": NOISE[:2]}, {"states": "not reached"}], ids=str)
def test_too_little_is_not_judged(fault):
    for claim in CLAIMS.values():
        verdict = claim.judge(searches(**fault))
        assert verdict.outcome == "not tested"
        assert verdict.regime.endswith(".")


def test_differences_are_taken_seed_by_seed_with_student_s_interval():
    off = trained.difference(trained.searches.data(searches()), "transformer-width-16", trained.TRAINED)
    values = [0.05 - 2 * more for more in NOISE]
    mean = sum(values) / 4
    stderr = math.sqrt(sum((value - mean) ** 2 for value in values) / 3 / 4)
    assert (off.value, off.stderr) == (pytest.approx(mean), pytest.approx(stderr))
    low, high = off.interval
    assert high - low == pytest.approx(2 * 3.182446 * stderr, rel=1e-6)  # of Student's t with three degrees of freedom
    assert trained.mean_over_seeds([1.0, 2.0]) is None


def test_laws_are_told_apart():
    data = trained.searches.data(searches())
    assert trained.pooled_growth(data, trained.KERNEL).exponent == pytest.approx(1.0, abs=1e-3)
    assert trained.by_length(data, trained.TRAINED)[25] == (
        pytest.approx(30.0),
        pytest.approx(0.0, abs=1e-12),
        4,
    )


def test_figures_and_tables():
    for results in (searches(), searches(states="not reached")):
        assert EXPERIMENT.plots(results)[0].caption
        for table in EXPERIMENT.tables(results):
            assert table.rows
            assert all(len(row) == len(table.header) for row in table.rows)


def test_jobs_are_those_of_specht_threshold():
    """So that a command of a user gives the same numbers, and the same lengths are asked of all learners."""
    for scale in ("smoke", "quick", "full"):
        jobs = EXPERIMENT.jobs(scale)
        assert len(set(jobs)) == len(jobs)
        asked = {who: sorted(job.arguments["length"] for job in jobs if job.arguments["learner"] == who) for who in trained.LEARNERS}
        assert all(each == asked[trained.TRAINED] for each in asked.values())
    found = next(job for job in EXPERIMENT.jobs("quick") if job.arguments["learner"] == "transformer-width-16")
    search = found.arguments["search"] | {"lengths": (100,), "learners": ("transformer-width-16",)}
    assert ThresholdConfig(function="and", accuracy=0.99, **search).job_arguments("transformer-width-16", 100) == found.arguments


def test_a_job_of_the_theory_runs():
    data = next(job for job in reversed(EXPERIMENT.jobs("smoke")) if job.arguments["learner"] == "transformer-width-16").run()
    assert data["m"] > 0.0
    assert data.sizes["batch"] <= 3
