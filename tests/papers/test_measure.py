"""Results of one measurement as one dataset: dimensions, gaps, results of different lengths, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import xarray

from specht.papers import common
from specht.papers.claims import JobResult, Verdict
from specht.papers.criteria import at_most, both, every
from specht.papers.gather import axes_of, gather
from specht.papers.measurement import Measurement, fixed, grid, measure, missing, points


def measured(*rows, axes=None, **fields):
    """Results with these arguments, each holding the number of its place."""
    results = [JobResult(arguments, xarray.Dataset({"value": float(place)} | fields)) for place, arguments in enumerate(rows)]
    return gather(results, axes or axes_of([rows]))


def loss(length, seed, steps=1, lengths=()):
    return xarray.Dataset({"loss": 1.0 / length})


def test_arguments_that_vary_are_dimensions_and_others_attributes():
    data = measured(*grid(length=[16, 8], seed=range(2), samples=100, sizes=fixed([1, 2])))
    assert data["value"].dims == ("length", "seed")
    assert data.length.values.tolist() == [8, 16]  # in increasing order
    assert data["value"].sel(length=16).values.tolist() == [0.0, 1.0]
    assert (data.samples, data.sizes) == (100, {"length": 2, "seed": 2})
    assert data.attrs["sizes"] == [1, 2]


def test_dimensions_are_the_same_at_every_scale():
    """A single length at the smoke scale still is a dimension."""
    one = measure(smoke=grid(length=8, seed=0), quick=grid(length=[8, 16], seed=0))(loss)
    data = one.data([one.result({"loss": 0.5}, length=8, seed=0)])
    assert data["loss"].dims == ("length",)
    assert data.seed == 0


def test_combinations_without_a_result_are_missing():
    data = measured({"length": 8, "kind": "a"}, {"length": 16, "kind": "b"}, {"length": 16, "kind": "a"})
    assert data["value"].sel(length=8, kind="b").isnull()
    assert int(data["value"].count()) == 3
    assert data.kind.values.tolist() == ["a", "b"]  # text as it comes


def test_an_argument_that_another_one_decides_is_a_coordinate_along_it():
    rows = list((grid(side="low", m=10, training={"steps": 5}) + grid(side="high", m=60, training={})) * grid(seed=[0, 1]))
    data = measured(*rows)
    assert data["value"].dims == ("side", "seed")
    assert data.m.sel(side="high").item() == 60
    assert data.training.sel(side="low").item() == {"steps": 5}
    with pytest.raises(ValueError, match="'m' differs between results with the same 'side'"):
        measured(*rows[:2], {"side": "low", "m": 11, "training": {}, "seed": 2}, axes=axes_of([rows]))


def test_what_one_scale_does_not_decide_is_a_dimension_everywhere():
    assert axes_of([[{"a": 1, "b": 2}, {"a": 3, "b": 4}], [{"a": 1, "b": 2}, {"a": 1, "b": 4}, {"a": 3, "b": 2}]]).dimensions == ("a", "b")
    assert axes_of([[{"b": 0, "a": 1}, {"b": 0, "a": 2}, {"b": 1, "a": 3}]]).followers == {"b": "a"}  # even if it comes first


def test_results_of_different_lengths_are_filled_up():
    shorter = JobResult(
        {"seed": 0}, xarray.Dataset({"bare": ("batch", [1.0]), "loss": ("step", [1.0, 2.0])}, {"step": [0, 5], "state": "found"})
    )
    longer = JobResult(
        {"seed": 1}, xarray.Dataset({"bare": ("batch", [1.0, 2.0]), "loss": ("step", [3.0, 4.0])}, {"step": [0, 3], "state": "no"})
    )
    data = gather([shorter, longer], axes_of([[{"seed": 0}, {"seed": 1}]]))
    assert data.step.values.tolist() == [0, 3, 5]
    assert data["loss"].sel(seed=0).dropna("step").values.tolist() == [1.0, 2.0]
    assert data["loss"].sel(seed=1, step=3).item() == 4.0
    assert np.isnan(data["bare"].values[0, 1])
    assert data.state.values.tolist() == ["found", "no"]


def test_numbers_keep_their_bits():
    values = np.random.default_rng(0).normal(size=(3, 4))
    results = [JobResult({"seed": seed}, xarray.Dataset({"x": ("column", row)})) for seed, row in enumerate(values)]
    assert (gather(results, axes_of([[{"seed": seed} for seed in range(3)]]))["x"].values == values).all()


def test_results_that_cannot_be_told_apart_are_refused():
    with pytest.raises(ValueError, match="Two results have the same length"):
        measured({"length": 8}, {"length": 16}, {"length": 8})
    with pytest.raises(ValueError, match="'length' is an argument that varies and a dimension of the result"):
        measured({"length": 8}, {"length": 16}, curve=("length", [1.0]))


def test_jobs_are_named_by_the_function_and_its_arguments():
    one = measure(smoke=grid(length=8, seed=0), full=points([{"length": 8, "seed": 1}]))(loss)
    assert [job.function for job in one.jobs("smoke")] == [f"{__name__}:loss"]
    assert one.jobs("smoke") == one.jobs("quick") != one.jobs("full")
    assert float(one(4, 0)["loss"]) == 0.25


def judge(one: Measurement, results, value=1.0) -> Verdict:
    one.claim("small", at_most(2, "loss"), null=3.0)(lambda data: value)
    return one.claims["small"].judge(results)


def test_a_number_alone_is_judged_with_the_settings_as_its_regime():
    one = measure(smoke=grid(length=[8, 16], seed=0))(loss)
    verdict = judge(one, [one.result({"loss": 1.0}, length=length, seed=0) for length in (8, 16)])
    assert verdict == Verdict("holds", 1.0, None, "Length 8, 16.")


def test_a_function_that_has_nothing_to_judge_says_why():
    def learnt(data):
        raise common.nothing("No run learnt it.")

    one = measure(smoke=grid(length=8, seed=0))(loss)
    results = [one.result({"loss": 1.0}, length=8, seed=0)]
    for name, rule in {
        "one": at_most(1, "x"),
        "all": every(at_most(1, "x"), "everywhere"),
        "two": both(at_most(1, "x"), at_most(1, "y")),
    }.items():
        one.claim(name, rule, null=3.0)(learnt)
        assert one.claims[name].judge(results) == Verdict("not tested", regime="No run learnt it.")


def test_data_that_are_not_here_are_nobody_s_fault():
    one = measure(smoke=grid(length=8, seed=0))(loss)
    one.figure()(lambda data: pytest.fail("drawn without numbers"))
    results = [JobResult({"length": 8, "seed": 0}, missing("Get them at home."), one.name)]
    verdict = judge(one, results)
    assert (verdict.outcome, verdict.missing, verdict.regime) == ("not tested", True, "Get them at home.")
    assert one.figures[0].draw(results) == []


def test_a_scale_without_points_is_not_tested():
    assert judge(measure(smoke=points([]))(loss), []) == Verdict("not tested", regime="Nothing of loss is measured at this scale.")


def test_arguments_are_looked_up_when_jobs_are_made():
    """The digest of a file is not known before, and is no axis of the dataset."""
    digests = {"a": "1"}
    one = measure(smoke=grid(length=[8, 16], file="a"), look_up=lambda point: {"digest": digests[point["file"]]})(loss)
    digests["a"] = "2"
    assert [job.arguments["digest"] for job in one.jobs("smoke")] == ["2", "2"]
    assert one.data([one.result({"loss": 0.5}, length=8, file="a", digest="2")])["loss"].dims == ("length",)
