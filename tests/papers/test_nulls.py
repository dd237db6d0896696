"""No judge says that a claim holds in a world where it is false, but for those that are listed; and this check can say no."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from judging import CLAIMS
from nulls import KNOWN_TO_HOLD, NULLS, UNCLEAR, problem

from specht.papers import papers
from specht.papers.claims import Verdict

WORLDS = {world.name: world for worlds in NULLS.values() for world in worlds}


def test_every_claim_has_a_null():
    assert set(NULLS) == set(CLAIMS)


@pytest.mark.parametrize("name", CLAIMS)
def test_no_claim_holds_where_it_is_false(name):
    """Three draws of every world, which are judged together as runs with three seeds are."""
    assert problem(CLAIMS[name]) == ""


def test_each_world_is_told_in_one_sentence():
    assert len(WORLDS) == len({id(world) for worlds in NULLS.values() for world in worlds}), "two worlds have the same name"
    for world in WORLDS.values():
        assert world.world.endswith("."), world.name
        assert ". " not in world.world, world.name


def test_results_are_those_of_jobs():
    """Of functions that the experiment calls, with arguments that they have."""
    experiments = [experiment for paper in papers() for experiment in paper.experiments]
    jobs = {experiment.name: experiment.jobs("full") for experiment in experiments}
    arguments = {job.function: set(job.arguments) for some in jobs.values() for job in some}
    for experiment in experiments:
        called = {job.function for job in jobs[experiment.name]}
        for world in {world for claim in experiment.claims for world in NULLS[claim.id]}:
            results = world.draws()[0]
            assert called & {result.function for result in results}, world.name
            assert all(set(result.arguments) <= arguments[result.function] for result in results), world.name


@pytest.mark.parametrize("listed", [KNOWN_TO_HOLD, UNCLEAR], ids=["known to hold", "unclear"])
def test_lists_name_claims_and_say_why(listed):
    assert set(listed) <= set(CLAIMS)
    assert all(reason.endswith(".") for reason in listed.values())


def test_no_claim_is_on_both_lists():
    assert not set(KNOWN_TO_HOLD) & set(UNCLEAR)


def always(outcome):
    """A judge that says the same whatever was measured."""
    return lambda *runs: Verdict(outcome, 1.0, regime="Always.")


@pytest.mark.parametrize("name", ["sparse.f2-log", "infinity.q8-wikitext", "selection.f4-order"])
def test_a_judge_that_always_holds_is_found(name, monkeypatch):
    monkeypatch.setitem(CLAIMS, name, dataclasses.replace(CLAIMS[name], judge=always("holds")))
    assert problem(CLAIMS[name]).startswith(f"{name} holds where it is false: ")
    with pytest.raises(AssertionError, match="holds where it is false"):
        test_no_claim_holds_where_it_is_false(name)


@pytest.mark.parametrize(
    ("name", "outcome", "sentence"),
    [
        ("sparse.f2-log", "not tested", "sparse.f2-log is not tested where it is false: "),
        ("sparse.f2-log", "undecided", "sparse.f2-log is undecided where it is false: "),
        ("sparse.f4-longer", "fails", "sparse.f4-longer fails in all nulls: take it off UNCLEAR."),
    ],
)
def test_lists_are_exact(name, outcome, sentence):
    assert problem(dataclasses.replace(CLAIMS[name], judge=always(outcome))).startswith(sentence)


def test_a_judge_that_was_repaired_is_taken_off_the_list(monkeypatch):
    monkeypatch.setitem(KNOWN_TO_HOLD, "sparse.f2-log", "It was said to hold.")
    claim = dataclasses.replace(CLAIMS["sparse.f2-log"], judge=always("fails"))
    assert problem(claim) == "sparse.f2-log holds in no null any more: take it off KNOWN_TO_HOLD."


def test_a_claim_without_a_null_is_found():
    assert problem(dataclasses.replace(CLAIMS["sparse.f2-log"], id="sparse.new")) == "sparse.new has no null."


def test_draws_of_a_world_are_the_same_again():
    world = WORLDS["thresholds_in_proportion_to_t"]
    first = world.make(np.random.default_rng(0))
    again = world.make(np.random.default_rng(0))
    other = world.make(np.random.default_rng(1))
    assert [one.data.equals(two.data) for one, two in zip(first, again, strict=True)] == [True] * len(first)
    assert not first[0].data.equals(other[0].data)
