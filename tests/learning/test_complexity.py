"""How many samples, against learning curves and the bound of the dimension."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from small_cases import architecture, mixture

import specht
from specht.errors import InputError
from specht.learning import exact as gp
from specht.learning.complexity import place, sample_complexity, samples_for_error, samples_from_profile, samples_to_learn
from specht.learning.curves import theory_curve
from specht.learning.target_content import content, modes
from specht.sequences import targets
from specht.sequences.sources import uniform
from specht.sequences.tasks import Task


@pytest.mark.parametrize("ridge", [0.0, 0.1, 1.0])
def test_half_of_the_leading_function_is_learnt_there(ridge):
    source = mixture(2)
    spec = specht.spectrum(architecture(2, 8, activation="erf"), source)
    for need in sample_complexity(spec, ridge):
        curve = theory_curve(spec, Task(source, modes(spec, [(spec.top(need.irrep), 1.0)])), [need.samples], ridge)
        assert curve.learned[0] == pytest.approx(0.5, abs=1e-9)
        assert need.samples >= need.bound >= need.degeneracy / 2


def test_more_symmetric_targets_need_fewer_samples():
    source = uniform(2)
    needs = {}
    for length in (8, 16, 32):
        spec = specht.spectrum(architecture(2, length, activation="erf", s_w=0.5, s_p=1.0), source, max_level=2)
        needs[length] = [samples_to_learn(content(spec, Task(source, targets.level(m, length, source=source))), 1.0) for m in range(3)]
        assert needs[length] == sorted(needs[length])
    growth = np.log(np.array(needs[32]) / needs[8]) / math.log(4)
    assert (growth >= np.arange(3) - 0.1).all()  # Omega(L^m)


@pytest.mark.parametrize("level", [1, 2])
def test_half_learning_point_is_where_exact_inference_has_learnt_half(level):
    source, length, ridge = uniform(2), 8, 0.2
    arch = architecture(2, length, activation="erf", s_w=0.5, s_p=1.0)
    spec = specht.spectrum(arch, source)
    task = Task(source, targets.level(level, length, source=source))
    half = samples_to_learn(content(spec, task), ridge)
    sizes = [round(half * factor) for factor in (0.85, 1.15)]
    exact = gp.learning_curve(arch, task, n_train=sizes, ridge=ridge, datasets=12, scale=spec.trace)
    low, high = exact.learned + 3 * exact.learned_stderr * np.array([-1, 1])
    assert low < 0.5 < high


def test_a_target_out_of_reach_needs_infinitely_many():
    source = uniform(2)
    spec = specht.spectrum(specht.Architecture(vocab=2, length=6), source)
    parts = content(spec, Task(source, targets.level(2, 6, source=source)))
    assert samples_to_learn(parts) == math.inf
    assert samples_for_error(spec, parts, 0.1) == math.inf


def test_samples_for_an_error_reach_it():
    source = mixture(2)
    spec = specht.spectrum(architecture(2, 8, activation="erf"), source)
    parts = content(spec, Task(source, targets.level(1, 8, source=source)))
    number = samples_for_error(spec, parts, 0.2, ridge=0.3, noise=0.1)
    test = theory_curve(spec, parts, [0.97 * number, number, 1.03 * number, 1e6], 0.3, 0.1).test
    assert test[0] > 0.2 > test[2] > test[3]
    assert test[1] == pytest.approx(0.2, rel=1e-3)


def test_a_profile_gives_an_interval_that_holds_the_truth():
    source = mixture(2)
    spec = specht.spectrum(architecture(2, 8, activation="erf"), source)
    for target in (targets.level(1, 8, source=source), targets.disjunction(2, 8), targets.majority(3, 8)):
        parts = content(spec, Task(source, target))
        levels = [part.total for part in parts.by_level().values()]
        known = SimpleNamespace(
            levels=range(5),
            weights=levels,
            low=levels,
            high=levels,
            total=parts.total,
            mean_square=SimpleNamespace(value=parts.mean_square),
        )
        found = samples_from_profile(spec, known, 0.3, ridge=0.2)
        assert found.low <= samples_for_error(spec, parts, 0.3, 0.2) <= found.high
        assert found.low <= found.value <= found.high


def test_a_measured_profile_is_enough():
    source = mixture(2)
    spec = specht.spectrum(architecture(2, 8, activation="erf"), source)
    target = targets.level(1, 8, source=source)
    measured = specht.profile(target, source, 8, seed=0)
    found = samples_from_profile(spec, measured, 0.3, ridge=0.2)
    assert found.low <= samples_for_error(spec, content(spec, Task(source, target)), 0.3, 0.2) <= found.high < math.inf


def test_placements_keep_the_mean_square():
    spec = specht.spectrum(architecture(2, 6, activation="erf"), mixture(2))
    for where in ("leading", "kernel", "even"):
        placed = place(spec, {0: 0.5, 2: 0.25, 9: 0.25}, 1.0, where)
        assert {m: part.total for m, part in placed.by_level().items()} == pytest.approx({0: 0.5, 1: 0.0, 2: 0.25, 3: 0.0})
        assert placed.rest == pytest.approx(0.25)


@pytest.mark.parametrize(("call", "words"), [(samples_to_learn, "share must be"), (samples_for_error, "error must be")])
def test_bad_input(call, words):
    source = uniform(2)
    spec = specht.spectrum(specht.Architecture(vocab=2, length=4), source)
    parts = content(spec, Task(source, targets.counts(4)))
    with pytest.raises(InputError, match=words):
        call(parts, share=1.5) if call is samples_to_learn else call(spec, parts, 1.5)
