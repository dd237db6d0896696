"""The judges of the paper on token selection, on numbers made up for them: each must be able to say yes and no."""

from __future__ import annotations

import numpy as np
import pytest
from judging import CLAIMS, assert_says_yes_and_no
from made_selection import STEPS, by_adam, codes, full, longer, many_chosen, matrices_by_adam, nets, numbers, profiles, reduced, trained

from specht.papers.token_selection import convergence

CASES = {
    "selection.t1-recursion": (full, {"apart": 1e-9}),
    "selection.t1-rate": (full, {"slope": 0.97}),
    "selection.t1-phases": (full, {"ratio": 1.03}),
    "selection.t2-converges": (reduced, {"loss": 3.0}),
    "selection.t2-identity": (reduced, {"unlike": 0.06}),
    "selection.t2-recursion": (reduced, {"value": 1.01}),
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
    "selection.f5-stochastic": (by_adam, {"falls": 0.0}),
    "selection.f5-floor": (by_adam, {"floor": 0.12}),
    "selection.f5-near-floor": (by_adam, {"near": 0.08}),
    "selection.f5-advantage": (by_adam, {"far": 6.0}),
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


def test_noise_that_does_not_show_is_not_judged():
    results = [result for result in reduced() if result.function != convergence.measure_noise.name]
    quiet = [numbers(1.0, rate=rate) for rate in (1.0, 0.5)]
    assert judge("selection.t2-noise", [*results, *quiet]).outcome == "not tested"


def test_every_judge_is_tried():
    from specht.papers.token_selection import PAPER

    assert set(CASES) == {claim.id for claim in PAPER.claims}
