"""Criteria: their text comes from what decides, and each says yes, no, no to its null, and undecided where it can."""

from __future__ import annotations

import math

import pytest

from specht.papers.claims import Verdict
from specht.papers.criteria import (
    Finding,
    above,
    at_least,
    at_most,
    below,
    between,
    both,
    every,
    exponent,
    is_true,
    larger,
    near,
    positive,
    prefers,
)

CASES = {
    "loss at most 0.1": (at_most(0.1, "loss"), 0.1, 0.11),
    "loss at most γ/4": (at_most(0.25, "loss", called="γ/4"), 0.25, 0.3),
    "loss below 10 %": (below(0.1, "loss", percent=True), 0.09, 0.1),
    "share at least 80 %": (at_least(0.8, "share", percent=True), 0.8, 0.79),
    "mass below 1e-10 of the whole": (below(1e-10, "mass", where="of the whole"), 0.0, 1e-10),
    "score above 0.9": (above(0.9, "score"), 0.91, 0.9),
    "gain positive": (positive("gain"), 0.1, 0.0),
    "gain positive over m": (positive("gain", where="over m"), Finding(0.5, 0.2), Finding(-0.5, 0.2)),
    "share above 0.5": (above(0.5, "share"), Finding(0.7, interval=(0.6, 0.9)), Finding(0.3, interval=(0.1, 0.4))),
    "ratio 1 ± 0.02": (near(1, 0.02, "ratio"), 1.01, 0.97),
    "log-log slope of the loss −1 ± 0.3": (exponent(-1, within=0.3, of="the loss"), -1.2, -0.5),
    "ratio between 0.8 and 1.25": (between(0.8, 1.25, "ratio"), 1.0, 1.25),
    "R² of a line above that of a curve": (larger("R² of a line", than="that of a curve"), 0.1, -0.1),
    "order as predicted": (is_true("order as predicted"), True, False),
    "loss below 1, at every length": (every(below(1, "loss"), "at every length"), {8: 0.5, 16: 0.9}, {8: 0.5, 16: 1.0}),
    "loss below 1, and share above 0.5": (both(below(1, "loss"), above(0.5, "share")), (0.5, 0.6), (0.5, 0.5)),
}


@pytest.mark.parametrize(("text", "case"), CASES.items(), ids=CASES)
def test_criteria_say_what_they_ask_and_decide(text, case):
    rule, good, bad = case
    assert rule.text == text
    assert [rule.judge(answer).outcome for answer in (good, bad)] == ["holds", "fails"]
    assert rule.says_no_to(bad) or isinstance(bad, Finding)
    assert not rule.says_no_to(good)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(-0.1, 0.1, "holds"), (0.1, 0.3, "undecided"), (-0.2, 0.2, "undecided"), (0.2, 0.4, "fails"), (-0.15, 0.15, "holds")],
)
def test_an_interval_that_reaches_across_an_end_decides_nothing(low, high, outcome):
    verdict = near(0, 0.15, "difference").judge(Finding((low + high) / 2, interval=(low, high)))
    assert (verdict.outcome, verdict.interval) == (outcome, (low, high))


def test_an_interval_that_ends_at_what_is_refused():
    assert below(0.5, "loss").judge(Finding(0.6, interval=(0.5, 0.7))).outcome == "fails"
    assert at_most(0.5, "loss").judge(Finding(0.6, interval=(0.5, 0.7))).outcome == "undecided"
    assert below(0.5, "loss").judge(Finding(0.4, interval=(0.3, 0.5))).outcome == "undecided"
    assert at_most(0.5, "loss").judge(Finding(0.4, interval=(0.3, 0.5))).outcome == "holds"


@pytest.mark.parametrize("value", [0.5, 0.6, 0.7])
def test_a_bound_within_the_error_is_not_decided(value):
    """An error without an interval is one of a normal number: 1.645 of them on either side."""
    rule = at_most(0.6, "exponent")
    verdict = rule.judge(Finding(value, 0.1, "T = 8."))
    assert (verdict.outcome, verdict.measured, verdict.stderr, verdict.regime) == ("undecided", value, 0.1, "T = 8.")
    assert verdict.interval == pytest.approx((value - 0.1645, value + 0.1645))
    assert rule.judge(Finding(0.43, 0.1)).outcome == "holds"
    assert rule.judge(Finding(0.77, 0.1)).outcome == "fails"
    assert rule.says_no_to(1.0)


def test_laws_that_are_not_separated_are_not_decided():
    rule = prefers("the logarithm", "a power law", by=4)
    assert [rule.judge(ahead).outcome for ahead in (4.1, -4.1, 4.0, -4.0)] == ["holds", "fails", "undecided", "undecided"]
    assert rule.judge(Finding(6.0, interval=(-1.0, 13.0))).outcome == "undecided"


def test_the_worst_of_several_is_shown():
    rule = every(at_most(0.1, "error"), "in every cell")
    assert rule.judge([Finding(0.02), Finding(0.07, 0.01, "worst")]).measured == 0.07
    assert rule.judge([0.02, Finding(0.09, 0.05)]).outcome == "undecided"
    assert rule.judge([Finding(0.2, 0.01), Finding(0.09, 0.05)]).outcome == "fails"
    assert rule.says_no_to(0.5)


def test_the_first_of_two_is_shown_whichever_decides():
    rule = both(below(1, "loss"), at_least(0.5, "share"))
    verdict = rule.judge((Finding(0.3, 0.1, "Here."), 0.2))
    assert (verdict.outcome, verdict.measured, verdict.stderr, verdict.regime) == ("fails", 0.3, 0.1, "Here.")
    assert rule.judge((Finding(0.3, 0.1), Finding(0.5, 0.1))).outcome == "undecided"
    assert rule.judge((2.0, Finding(0.5, 0.1))).outcome == "fails"


def test_what_is_shown_may_be_another_number():
    assert positive("difference").judge(Finding(0.4, 0.1, shown=(1.2, 0.05))) == Verdict("holds", 1.2, 0.05)


def test_what_is_not_a_number_is_not_judged():
    for rule in (at_most(1, "x"), above(1, "x"), near(1, 0.1, "x")):
        for answer in (math.nan, Finding(3.0, math.nan), Finding(3.0, interval=(1.0, math.nan))):
            assert rule.judge(answer).outcome == "not tested"
