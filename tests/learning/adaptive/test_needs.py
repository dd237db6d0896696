"""Samples that are needed at finite width, against the curves that say so and the theory of infinite width."""

from __future__ import annotations

import math

import numpy as np
import pytest

import specht
from specht.errors import InputError
from specht.learning.adaptive import ComplexityByWidth, adaptive_curve
from specht.learning.complexity import samples_for_error, samples_to_learn
from specht.learning.target_content import content
from specht.sequences import targets
from specht.sequences.sources import default_mixture, uniform

SOURCE, MIXED = uniform(2), default_mixture(2)
ARCH, RIDGE = specht.Architecture(vocab=2, length=8), 0.1
COPY = specht.Target("copy", lambda x: 2.0 * (x[:, 0] == 1) - 1.0, reads=(0,))
TASK = specht.Task(SOURCE, COPY)


@pytest.mark.parametrize(
    ("source", "target", "error"), [(SOURCE, COPY, 0.1), (MIXED, COPY, 0.3), (MIXED, targets.next_token(MIXED), 0.5), (MIXED, COPY, 1e-6)]
)
def test_infinite_width_needs_what_the_spectrum_says(source, target, error):
    task = specht.Task(source, target)
    need = specht.sample_complexity(ARCH, RIDGE, task=task, width=math.inf, error=error, share=0.7).infinite
    spectrum = specht.spectrum(ARCH, source)
    parts = content(spectrum, task)
    assert need.samples == pytest.approx(samples_for_error(spectrum, parts, error, RIDGE), rel=2e-3)
    assert need.to_learn == pytest.approx(samples_to_learn(parts, RIDGE, 0.7), rel=2e-3)


@pytest.mark.parametrize("length", [8, 256])
def test_the_loss_is_there_and_not_before(length):
    arch = ARCH.replace(length=length)
    need = specht.sample_complexity(arch, RIDGE, task=TASK, width=16, error=0.05)[0]
    curve = adaptive_curve(arch, TASK, [need.to_learn, need.transition, need.samples], width=16, ridge=RIDGE)
    assert curve.learned[0] == pytest.approx(0.5, abs=2e-3)
    assert curve.test[2] == pytest.approx(0.05, rel=5e-3)
    assert need.kind == "crossover"
    assert curve.strengths[1, 0] == pytest.approx(2.0, rel=5e-3)


def test_narrow_networks_need_fewer_samples():
    found = specht.sample_complexity(ARCH, RIDGE, task=TASK, width=[4, 64])
    assert [need.width for need in found] == [4.0, 64.0, math.inf]
    assert np.all(np.diff([need.samples for need in found]) > 0)
    assert found.infinite is found[len(found) - 1]


def test_what_is_out_of_reach_is_infinite():
    nothing = specht.sample_complexity(ARCH, RIDGE, task=specht.Task(SOURCE, targets.parity(8, 8)), width=16)
    assert [(need.samples, need.to_learn) for need in nothing] == [(math.inf, math.inf)] * 2
    assert "out of reach" in repr(nothing)
    few = specht.sample_complexity(ARCH.replace(activation="erf"), RIDGE, task=TASK, width=math.inf, error=0.01, sequences=32)
    assert (few[0].samples, few[0].looked_at) == (math.inf, 16.0)
    assert "more than 16 samples" in repr(few)


def test_it_shows_itself_and_is_kept(tmp_path):
    found = specht.sample_complexity(ARCH, RIDGE, task=TASK, width=8)
    assert "width 8: " in repr(found)
    assert "infinite width: " in repr(found)
    assert found.to_dataframe()["width"].tolist() == [8.0, math.inf]
    assert found.summary()[-1]["width"] is None
    found.save(tmp_path / "needs.nc")
    again = specht.load(tmp_path / "needs.nc")
    assert isinstance(again, ComplexityByWidth)
    assert again.needs == found.needs


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"width": 0}, "width must be a positive number"),
        ({"width": "wide"}, "width must be a positive number"),
        ({"width": None}, "width is missing"),
        ({"task": None}, "task is missing"),
        ({"task": COPY}, "task must be a Task"),
        ({"error": 1.5}, "error must be a finite number above 0 and below 1"),
        ({"share": 0.0}, "share must be a finite number above 0 and below 1"),
        ({"ridge": 0.0}, "ridge must be a finite number above 0"),
        ({"noise": -1.0}, "noise must be a finite number of at least 0"),
        ({"sequences": 1}, "sequences must be"),
        ({"witdh": 8}, "Unknown argument 'witdh': did you mean 'width'"),
        ({"task": specht.Task(uniform(3), COPY)}, "give both the same vocab"),
        ({"task": specht.Task(SOURCE, specht.Target("one", lambda x: np.ones(len(x)), reads=()))}, "is constant"),
    ],
)
def test_bad_input_gets_a_sentence(change, words):
    with pytest.raises(InputError, match=words):
        specht.sample_complexity(ARCH, **({"task": TASK, "width": 16} | change))


def test_what_goes_with_what():
    spectrum = specht.spectrum(ARCH)
    with pytest.raises(InputError, match="width is missing"):
        specht.sample_complexity(ARCH, task=TASK)
    with pytest.raises(InputError, match="width=16 does not go with a Spectrum"):
        specht.sample_complexity(spectrum, width=16)
    with pytest.raises(InputError, match="takes a Spectrum or an Architecture"):
        specht.sample_complexity("spectrum")
    with pytest.raises(InputError, match="did you mean 'ridge'"):
        specht.sample_complexity(spectrum, rigde=0.1)
    with pytest.raises(InputError, match="ridge must be a finite number"):
        specht.sample_complexity(ARCH, TASK, task=TASK, width=16)
