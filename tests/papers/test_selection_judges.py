"""The judges of the paper on token selection, on numbers made up for them: each must be able to say yes and no."""

from __future__ import annotations

import numpy as np
import pytest
from judging import CLAIMS, assert_says_yes_and_no
from made_selection import (
    STEPS,
    by_adam,
    codes,
    full,
    longer,
    many_chosen,
    matrices_by_adam,
    nets,
    profiles,
    reduced,
    sinks,
    stopped,
    trained,
)

from specht.papers.token_selection import training

CASES = {
    "selection.t1-recursion": (full, {"apart": 1e-9}),
    "selection.t1-rate": (full, {"slope": 0.97}),
    "selection.t1-small-rate": (full, {"end": 0.02}),
    "selection.t1-phases": (full, {"ratio": 1.03}),
    "selection.t2-converges": (reduced, {"loss": 3.0}),
    "selection.t2-identity": (reduced, {"unlike": 0.06}),
    "selection.t2-recursion": (reduced, {"value": 1.02}),
    "selection.t2-noise": (reduced, {"power": 0.2}),
    "selection.t2-close": (reduced, {"own": 1.02}),
    "selection.t2-dual-query": (reduced, {"plateau": 0.05}),
    "selection.t3-lengths": (longer, {"falls": 0.0}),
    "selection.t3-two-numbers": (longer, {"others": 0.8}),
    "selection.fcn-bound": (nets, {"least": 0.97}),
    "selection.fcn-tight": (nets, {"excess": 1.2}),
    "selection.fcn-wide": (nets, {"wide": 0.02}),
    "selection.f1-linear": (trained, {"bend": 0.6}),
    "selection.f1-cosines": (trained, {"cosine": 0.98}),
    "selection.f1-fixed-codes": (trained, {"fixed_cosine": 0.95}),
    "selection.f2-stochastic": (trained, {"falls": 0.0}),
    "selection.f2-floor": (trained, {"floor": 0.12}),
    "selection.f2-near-floor": (trained, {"near": 0.08}),
    "selection.f2-advantage": (trained, {"far": 9.0}),
    "selection.f3-blocks": (matrices_by_adam, {"off": 0.06}),
    "selection.f4-supports": (many_chosen, {"stay_up": True}),
    "selection.f4-order": (trained, {"order": 0.0}),
    "selection.f4-quicker": (trained, {"slower": 0.8}),
    "selection.f5-stochastic": (by_adam, {"falls": 0.0}),
    "selection.f5-floor": (by_adam, {"floor": 0.12}),
    "selection.f5-near-floor": (by_adam, {"near": 0.08}),
    "selection.f5-advantage": (by_adam, {"far": 6.0}),
    "selection.f5-unseen-stochastic": (stopped, {"loss": 0.1}),
    "selection.f5-unseen-floor": (stopped, {"fixed": 0.14}),
    "selection.f5-unseen-advantage": (stopped, {"loss": 0.05}),
    "selection.sink-plateau": (sinks, {"falls": 1.2}),
    "selection.sink-attention": (sinks, {"on_query": 0.4}),
    "selection.sink-least": (sinks, {"least": 0.3}),
    "selection.log-length": (codes, {"power": 0.4}),
    "selection.log-law": (codes, {"power": 0.2, "factor": 0.0}),
    "selection.separation": (codes, {"growth": 0.1}),
    "selection.smallest-codes": (codes, {"smaller": 0.015}),
    "selection.symmetry-task": (profiles, {"apart": 0.04}),
    "selection.symmetry-models": (profiles, {"model": 0.06}),
    "selection.symmetry-training": (profiles, {"start": 0.8}),
}


def judge(name, results):
    return CLAIMS[name].judge(results)


@pytest.mark.parametrize("name", CASES)
def test_judges_say_yes_and_no(name):
    make, fault = CASES[name]
    assert_says_yes_and_no(name, make(), make(**fault))


def test_a_floor_that_falls_is_no_floor():
    results = trained()
    for result in results:
        if result.arguments["codes"] == "fixed":
            result.data["loss"].values[1:5] *= np.linspace(3.0, 1.0, len(STEPS))
    assert judge("selection.f2-floor", results).outcome == "fails"


@pytest.mark.parametrize("fault", [{"loss": 0.2}, {"alone": 0.06}])
def test_a_plateau_is_high_and_not_there_without_the_query(fault):
    assert judge("selection.sink-plateau", sinks(**fault)).outcome == "fails"


def test_a_rate_at_which_the_slope_is_another_is_no_theorem():
    assert judge("selection.t1-small-rate", full(slope=0.97)).outcome == "fails"


def test_losses_that_are_never_reached_are_not_compared():
    assert judge("selection.f4-quicker", trained(loss=6.0)).outcome == "not tested"


def test_the_step_of_a_loss_lies_between_records():
    course = training.TrainingCurve(np.array([0, 10, 1000]), np.array([1.0, 1.0, 0.01]))
    assert course.reaches(0.1) == pytest.approx(100.0)
    assert course.reaches(0.01) == pytest.approx(1000.0)
    assert np.isnan(course.reaches(0.001))
    assert training.TrainingCurve(np.array([0, 10]), np.array([0.5, 0.1])).reaches(0.5) == 0.0


@pytest.mark.parametrize("name", ["f2-near-floor", "f5-near-floor"])
def test_a_floor_between_a_tenth_and_what_the_paper_reports_is_too_low(name):
    results = trained(near=0.13) if name.startswith("f2") else by_adam(near=0.13)
    assert judge(f"selection.{name}", results).outcome == "fails"


def test_every_judge_is_tried():
    from specht.papers.token_selection import PAPER

    assert set(CASES) == {claim.id for claim in PAPER.claims}
