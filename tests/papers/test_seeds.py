"""Several seeds: Student's interval over runs, part by part, and the share of runs that say the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray
from scipy import stats

from specht.papers.claims import Verdict
from specht.papers.criteria import Finding, at_most, both, every, is_true
from specht.papers.measurement import Measurement, NothingToJudge, grid, measure
from specht.papers.scorecard import Part, papers, runs_of
from specht.papers.seeds import is_random, over_runs


def test_the_interval_is_that_of_a_t_test():
    values = [0.31, 0.28, 0.35, 0.30, 0.33]
    together = over_runs([Finding(value, 5.0) for value in values])
    known = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert together.interval == pytest.approx((known.low, known.high), rel=1e-12)
    assert together.value == pytest.approx(np.mean(values))


def test_nine_of_ten_intervals_hold_the_mean():
    rng = np.random.default_rng(0)
    held = [low <= 1.0 <= high for low, high in (over_runs(list(rng.normal(1.0, 0.3, size=5))).interval for _ in range(4000))]
    assert abs(np.mean(held) - 0.9) < 4 * math.sqrt(0.09 / 4000)


def test_every_part_has_an_interval_of_its_own():
    """Two cells that take turns at being the worse one: the mean of the worse would be 0.3, and no cell is above 0.2 on average."""
    runs = [[0.3, 0.1], [0.1, 0.3], [0.3, 0.1], [0.1, 0.3]]
    together = over_runs(runs)
    assert [part.value for part in together] == pytest.approx([0.2, 0.2])


def test_parts_without_names_must_be_as_many():
    with pytest.raises(ValueError, match="different numbers of parts"):
        over_runs([[1.0], [1.0, 2.0]])


def test_what_is_not_random_stays_as_it_is():
    runs = [Finding(0.2, 0.01, "L = 8.")] * 3
    assert over_runs(runs) == runs[0]
    assert not is_random(runs)
    assert is_random([*runs, Finding(0.3)])


def loss(seed: int) -> xarray.Dataset:
    return xarray.Dataset()


def judged(criterion, numbers, null=1.0):
    """The verdict on runs that give some numbers; None is a run with nothing to judge."""
    measurement: Measurement = measure(smoke=grid(seed=0))(loss)

    def read(data):
        value = data["value"].values.tolist()
        if not isinstance(value, list) and math.isnan(value):
            raise NothingToJudge(Verdict("not tested", regime="No run learnt it."))
        return value

    measurement.claim("small", criterion, null=null)(read)
    runs = [[measurement.result({"value": ("part", number) if isinstance(number, list) else number}, seed=0)] for number in numbers]
    return measurement.claims["small"].judge(*runs)


def test_a_verdict_over_seeds_says_how_many_agree():
    verdict = judged(at_most(0.5, "loss"), [0.1, 0.2, 0.1, 0.6, 0.2])
    assert (verdict.outcome, verdict.seeds, verdict.agreeing) == ("holds", 5, 4)
    assert verdict.interval is not None
    assert verdict.interval[1] < 0.5
    assert judged(at_most(0.5, "loss"), [0.1, 0.2, 0.1, 0.9, 0.8]).outcome == "undecided"
    assert judged(at_most(0.5, "loss"), [0.9, 0.8, 0.9, 0.4, 0.8]).outcome == "fails"


def test_a_statement_that_some_seeds_deny_is_undecided():
    assert judged(is_true("it is so"), [1.0, 1.0, 1.0, 0.0, 1.0], null=0.0).outcome == "undecided"
    assert judged(is_true("it is so"), [0.0, 0.0, 0.0, 0.0, 1.0], null=0.0).outcome == "fails"


def test_seeds_without_a_number_are_counted():
    verdict = judged(at_most(0.5, "loss"), [0.1, math.nan, 0.2])
    assert (verdict.outcome, verdict.seeds) == ("holds", 2)
    assert verdict.regime.endswith("2 of 3 seeds: No run learnt it.")
    assert judged(at_most(0.5, "loss"), [math.nan, math.nan]) == Verdict("not tested", regime="No run learnt it.")


def test_rules_of_several_parts_over_seeds():
    rule = both(every(at_most(0.5, "loss"), "in every cell"), at_most(1.0, "score"))
    answers = [([0.1, 0.2], 0.3), ([0.2, 0.1], 0.4), ([0.1, 0.1], 0.2)]
    verdict = rule.judge(over_runs(answers))
    assert verdict.outcome == "holds"
    assert rule.judge(over_runs([([0.1, 0.9], 0.3), ([0.2, 0.8], 0.4), ([0.1, 0.9], 0.2)])).outcome == "fails"


def test_what_has_no_seed_is_one_run():
    parts = {experiment.name: Part(paper, experiment, tuple(experiment.claims)) for paper in papers() for experiment in paper.experiments}
    assert len(runs_of(parts["selection.theorem-1"], "quick", 0, 5)) == 1
    several = runs_of(parts["infinity.f0"], "quick", 0, 5)
    assert len(several) == 5
    assert several[1] == runs_of(parts["infinity.f0"], "quick", 1, 1)[0]
