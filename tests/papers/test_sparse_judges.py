"""The judges of the paper on sparse variables, on numbers made up for them: each must be able to say yes and no."""

from __future__ import annotations

import math

import numpy as np
import pytest
from judging import assert_says_yes_and_no
from made_sparse import LENGTHS, LONGER, gaps, levels, moved, runs, searches, statements, streams
from scipy import optimize

from specht.papers.claims import JobResult
from specht.papers.sparse_variables import PAPER, curves, parity, theory, thresholds, trained_bounds

STEEP, LINE = (lambda T: 3.0 * T**0.8), (lambda T: 30 + 0.2 * T)
CASES = {
    "sparse.theory-log": (statements, {"bend": 1e-6}),
    "sparse.theory-dense": (statements, {"dense": 0.5}),
    "sparse.theory-heads": (statements, {"trained": 0.2}),
    "sparse.theory-sum": (lambda literal=0.05: statements(literal=literal), {"literal": 0.3}),
    "sparse.theory-dual": (statements, {"dual": 0.2}),
    "sparse.theory-shatter": (statements, {"share": 0.9}),
    "sparse.lemma-43": (moved, {"beyond": 0.01}),
    "sparse.lemma-43-norms": (moved, {"wrong": 0.9}),
    "sparse.lemma-43-constant": (moved, {"constant": 0.8}),
    "sparse.lemma-43-length": (moved, {"growth": 0.5}),
    "sparse.lemma-46": (moved, {"bound": 2.0}),
    "sparse.theorem-42": (moved, {"bound": 2.0}),
    "sparse.cover-norms": (moved, {"false": 4.0}),
    "sparse.bounds-vacuous": (gaps, {"samples": 1e4}),
    "sparse.bounds-rank": (gaps, {"order": -1.0}),
    "sparse.f2-log": (searches, {"law": LINE}),
    "sparse.f2-exponent": (searches, {"law": STEEP}),
    "sparse.f2-law": (lambda law=lambda T: -24 + 17.4 * math.log(T): searches(law, errors=0.01), {"law": lambda T: 5 * T**0.5}),
    "sparse.f2-slope": (lambda steep=1.0: searches(lambda T: -150 + steep * 38.0 * math.log(T), own=LONGER), {"steep": 2.0}),
    "sparse.f2-points": (lambda law=lambda T: 8 * T**0.38: searches(law), {"law": STEEP}),
    "sparse.f3-above": (runs, {"above": 0.9}),
    "sparse.f3-below": (runs, {"below": 0.95}),
    "sparse.f3-relevant": (runs, {"mass": 0.3}),
    "sparse.f3-irrelevant": (runs, {"rest": 0.02}),
    "sparse.f4-learnt": (streams, {"long": (190, -1)}),
    "sparse.f4-paper-start": (streams, {"paper": (400, -1)}),
    "sparse.f4-start": (streams, {"paper": (100, 110)}),
    "sparse.f4-abrupt": (streams, {"left": 0.3}),
    "sparse.f4-longer": (streams, {"long": (80, 90)}),
    "sparse.profile-parity": (levels, {"off": 0.2}),
    "sparse.profile-and": (levels, {"third": 0.0}),
} | {f"sparse.f2-{learner}": (searches, {"other": lambda T: 20 * T**0.25}) for learner in thresholds.OTHERS}


def data_of(results):
    return thresholds.thresholds.data(results)


def claim_of(name):
    (claim,) = (claim for claim in PAPER.claims if claim.id == name)
    return claim


@pytest.mark.parametrize(("name", "case"), CASES.items(), ids=CASES)
def test_judges_say_yes_and_no(name, case):
    make, fault = case
    assert_says_yes_and_no(name, make(), make(**fault))


def test_every_judge_is_tried():
    assert sorted(claim.id for claim in PAPER.claims) == sorted([*CASES, "sparse.f2-digitised"])


def test_the_curve_with_all_constants_and_norms_are_judged_too():
    assert claim_of("sparse.theory-log").judge(statements(uneven=1e-4)).outcome == "fails"
    assert claim_of("sparse.theory-heads").judge(statements(norm=9.0)).outcome == "fails"  # log(8 T / γ) is 8.5 at T = 200
    assert "times what the lemmas state" in claim_of("sparse.theory-heads").judge(statements()).regime


def test_heads_are_built_at_several_lengths():
    jobs = [job.arguments for job in theory.measure_head.jobs("smoke")]
    assert {given["length"] for given in jobs if given["key"] == "trained"} == {12, 50, 100}
    assert {given["length"] for given in jobs if given["dimension"] == given["length"]} == {12, 50, 100}
    small = [given for given in jobs if given["key"] == "trained" or given["dimension"] == given["length"]]
    results = [JobResult(given, theory.measure_head(**given), theory.measure_head.name) for given in small]
    assert claim_of("sparse.theory-heads").judge(results).outcome == "holds"


def test_ranks_are_those_at_equal_m():
    """The gap rises with the factor from m to m, and falls with it at every m."""
    found = []
    for m in (20, 60, 100):
        factor = np.arange(1.0, 9.0) + 1000.0 / m
        fields = {"factor": factor, "samples": np.full(8, 1e12), "gap": 2000.0 / m - factor, "accuracy": np.ones(8)}
        fields = {name: (("run",), values) for name, values in fields.items()}
        found.append(trained_bounds.measure_gap.result(fields, learner="transformer", length=50, m=m, runs=8, steps=100, seed=0))
    value, error, together = trained_bounds.rank_correlation(trained_bounds.measure_gap.data(found).sel(learner="transformer"))
    assert (value, error) == (pytest.approx(-1.0), pytest.approx(0.0, abs=1e-12))
    assert together > 0.5
    assert claim_of("sparse.bounds-rank").judge(found).outcome == "fails"
    assert claim_of("sparse.bounds-rank").judge(found[:1]).outcome == "not tested"


def test_exponents_are_compared_at_the_lengths_that_both_have():
    """A logarithm is steeper at small T: over four lengths the transformer's exponent is another than over all."""
    both = LENGTHS[:4]
    verdict = claim_of("sparse.f2-perceptron").judge(searches(lengths=both))
    mine, whole = (thresholds.growth(data_of(searches()), thresholds.TRANSFORMER, at) for at in (both, None))
    assert mine.exponent > whole.exponent + 0.05
    assert f"at the same T = 25, 35, 50, 71 the transformer's exponent is {mine.exponent:.2f}" in verdict.regime
    assert "64 trials of one start of 250 steps" in verdict.regime
    assert "with up to 3 starts of 125 steps a trial" in verdict.regime
    assert "trials of one regression" in claim_of("sparse.f2-perceptron-ntk").judge(searches(lengths=both)).regime
    assert claim_of("sparse.f2-perceptron").judge(searches(lengths=(*both[:3], 1000))).outcome == "not tested"


def test_every_part_is_judged_by_itself():
    """One bit, one number of bits, one key or one norm out of many decides."""
    weights = np.full((2, 10), 1e-5)
    weights[:, :3], weights[:, 7] = 0.32, 0.03
    verdict = claim_of("sparse.f3-irrelevant").judge(runs(weights=weights))
    assert (verdict.outcome, verdict.measured) == ("fails", pytest.approx(0.03))
    results = runs(weights=weights)
    assert sorted(curves.weights_elsewhere(curves.measure_attention.data(results))) == [4, 5, 6, 7, 8, 9]
    assert claim_of("sparse.f4-paper-start").judge(streams(paper=(300, 301))).outcome == "holds"
    found = parity.excess_of_the_paper_s_start(parity.measure_parity.data(streams(paper=(-1, -1))))
    assert {length: part.value for length, part in found.items()} == {10: 1200 - 105, 15: 1200 - 195}
    points = thresholds.distances_from_the_paper(data_of(searches()))
    assert points.keys() == {100, 200}
    assert points[200].value == pytest.approx(np.log((-24 + 17.4 * np.log(200)) / 58))


def test_bounds_with_a_wrong_norm_are_judged_where_nothing_is_told_apart():
    assert claim_of("sparse.cover-norms").judge(moved(packing=0.0)).outcome == "fails"


def test_runs_of_several_seeds_are_judged_by_their_mean():
    """One run in five that leaves the plateau late decides nothing; that none does decides."""
    claim = claim_of("sparse.f4-learnt")
    assert claim.judge(*[streams()] * 4, streams(long=(190, -1))).outcome == "undecided"
    assert claim.judge(streams(long=(-1, -1)), streams(long=(-1, -1))).outcome == "fails"
    several = claim_of("sparse.f2-points").judge(*[searches(lambda T, off=off: off * 8 * T**0.38) for off in (0.97, 1.0, 1.03)])
    assert (several.outcome, several.seeds, several.agreeing) == ("holds", 3, 3)
    assert several.interval[0] < several.measured < several.interval[1]


def test_training_loss_must_vanish_too():
    assert claim_of("sparse.f3-below").judge(runs(fitted=0.1)).outcome == "fails"


def test_growth_that_cannot_be_told_is_not_decided():
    undecided = claim_of("sparse.f2-law").judge(searches(errors=0.08))
    assert undecided.outcome == "undecided"
    assert "Sub-linear, log and T^a not separated at this scale." in undecided.regime
    for name in ("sparse.f2-log", "sparse.f2-law", "sparse.f2-perceptron-ntk", "sparse.f2-points"):
        assert claim_of(name).judge(searches(states="not reached")).outcome == "not tested"


def test_runs_that_learn_nothing_are_not_judged():
    for name in ("sparse.f3-relevant", "sparse.f3-irrelevant"):
        assert claim_of(name).judge(runs(learnt=0.6)).outcome == "not tested"
    for name in ("sparse.f4-abrupt", "sparse.f4-longer"):
        assert claim_of(name).judge(streams(long=(-1, -1))).outcome == "not tested"


def test_the_paper_s_points_are_fitted_as_they_are():
    """By a fit of another kind: what the paper's points say hangs on the one at the edge of its grid, which is left out."""
    verdict = claim_of("sparse.f2-digitised").judge(searches())
    x, m = np.array(list(thresholds.DIGITISED)), np.array(list(thresholds.DIGITISED.values()))
    laws = (lambda x, a, b: np.log(a + b * np.log(x)), lambda x, a, b: np.log(a + b * x), lambda x, a, b: a + b * np.log(x))
    assert x[0] == 100
    advantages = {}
    for kept in (1, 0):
        errors, chi = 10.0 / np.sqrt(12.0) / m[kept:], []
        for law, column, values in zip(laws, (np.log(x), x, np.log(x)), (m, m, np.log(m)), strict=True):
            start = np.polyfit(column[kept:], values[kept:], 1)[::-1]
            (a, b), _ = optimize.curve_fit(law, x[kept:], np.log(m[kept:]), p0=start, sigma=errors)
            chi.append(float(np.sum(((law(x[kept:], a, b) - np.log(m[kept:])) / errors) ** 2)))
        advantages[kept] = (chi[1] - chi[0]) / max(1.0, min(chi) / (len(errors) - 2))
    assert verdict.measured == pytest.approx(advantages[1], rel=1e-3)
    assert advantages == pytest.approx({1: 2.28, 0: -8.14}, abs=0.01)
    assert verdict.outcome == "undecided"
    assert "17 points" in verdict.regime
    assert "with it the number is -8.1." in verdict.regime


def test_theories_of_finite_width_stand_beside_the_others():
    """In figure and tables; `features.trained` judges them."""
    names = {trace.name for trace in thresholds.against_length(data_of(searches())).figure.data}
    assert {f"theory of a linear-attention block of width {width}" for width in (16, 64)} <= names
    found, laws = thresholds.searched_and_fitted(data_of(searches()))
    assert all(theory in [row[0] for row in table.rows] for theory in thresholds.THEORIES for table in (found, laws))
    asked = {job.arguments["length"] for job in thresholds.thresholds.jobs("quick") if job.arguments["learner"] in thresholds.THEORIES}
    assert asked < {
        job.arguments["length"] for job in thresholds.thresholds.jobs("quick") if job.arguments["learner"] == thresholds.TRANSFORMER
    }


def test_figures_and_tables_of_made_up_numbers():
    made_up = [statements(), moved(), gaps(), searches(), runs(), streams(), levels()]
    for experiment, results in zip(PAPER.experiments, made_up, strict=True):
        assert experiment.plots(results)
        assert experiment.tables(results)
        for table in experiment.tables(results):
            assert table.rows
            assert all(len(row) == len(table.header) for row in table.rows)
