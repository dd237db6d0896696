"""Learners of sparse functions: trials that repeat, kernels against a plain solve, and who learns what."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from specht.errors import InputError
from specht.kernel.kernel import Kernel
from specht.kernel.perceptron import perceptron_gram
from specht.presets import preset
from specht.studies.sparse.learners import LIMIT, SparseTask, learner, network_learner
from specht.studies.sparse.names import KERNELS, finite_width
from specht.studies.sparse.task import sparse_function

TASK = SparseTask(sparse_function("and", 2), 6, accuracy=0.97, validation=200)


def test_draws_repeat_and_differ():
    first, validation, identified = TASK.draw(30, 4)
    again, *_ = TASK.draw(30, 4)
    np.testing.assert_array_equal(first.x, again.x)
    assert identified
    assert validation.x.shape == (200, 6)
    others = [TASK.draw(30, 5)[0], TASK.draw(31, 4)[0], SparseTask(TASK.function, 6, seed=1).draw(30, 4)[0]]
    assert all(not np.array_equal(first.x[:30], other.x[:30]) for other in others)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_predict_as_a_plain_regression(name):
    train, validation, _ = TASK.draw(20, 0)
    kind = name.rpartition("-")[2]
    if name.startswith("perceptron"):
        gram = perceptron_gram(np.concatenate([train.x, validation.x]), kind=kind)
    else:
        kernel = Kernel(preset(LIMIT, vocab=2, length=6, readout="cls", normalised=True))
        x = np.concatenate([train.x, validation.x]).astype(int)
        gram = getattr(kernel, kind)(np.concatenate([x, np.zeros((len(x), 1), int)], axis=1))
    labels = 2.0 * train.y - 1.0
    ridge = 1e-6 * np.trace(gram[:20, :20]) / 20
    values = gram[20:, :20] @ np.linalg.solve(gram[:20, :20] + ridge * np.eye(20), labels - labels.mean()) + labels.mean()
    found = learner(name, TASK)
    clear = np.abs(values) > 1e-6
    np.testing.assert_array_equal(found.predict(train, validation.x)[clear], (values > 0)[clear])
    trial = found.try_once(20, 0)
    assert trial.runs == 1
    assert trial.accuracy == pytest.approx(((values > 0) == validation.y).mean(), abs=0.01)


def test_finite_width_predicts_as_the_minimum_of_the_free_energy_of_all_starts():
    """`adapt` looks for minima from many starts and to the last digit."""
    import specht

    who, (train, validation, _) = learner("transformer-width-16", TASK), TASK.draw(30, 0)
    x, new = (np.concatenate([each, np.zeros((len(each), 1))], axis=1).astype(int) for each in (train.x, validation.x))
    labels = 2.0 * train.y - 1.0
    arch = preset(LIMIT, vocab=2, length=6, readout="cls", normalised=True)
    found = specht.adapt(arch, x, labels - labels.mean(), width=16, ridge=1e-6, method="saddle")
    values = found.predict(new).mean + labels.mean()
    clear = np.abs(values) > 0.02
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(who.predict(train, validation.x)[clear], (values > 0)[clear])
    assert found.lowest.positions[:2].min() > found.lowest.positions[2:6].max()  # it has moved, or this would test nothing


def test_infinite_width_is_the_kernel():
    train, validation, _ = TASK.draw(20, 0)
    wide, kernel = learner(f"transformer-width-{10**9}", TASK), learner("transformer-nngp", TASK)
    np.testing.assert_array_equal(wide.predict(train, validation.x), kernel.predict(train, validation.x))


def test_finite_width_learns_from_fewer_samples_than_the_kernel():
    """On the same samples; the difference is counted in trials, each of which draws its own."""
    task = SparseTask(sparse_function("and", 2), 20, accuracy=0.97, validation=200)
    narrow, kernel = learner("transformer-width-4", task), learner("transformer-nngp", task)
    gains = np.array([narrow.try_once(60, trial).accuracy - kernel.try_once(60, trial).accuracy for trial in range(12)])
    assert gains.mean() > 3.0 * gains.std(ddof=1) / np.sqrt(len(gains))


def test_labels_that_are_all_equal_are_predicted_everywhere():
    who = learner("transformer-width-8", TASK)
    train, validation, _ = TASK.draw(30, 0)
    kept = train.y == 1
    assert who.predict(type(train)(train.x[kept], train.y[kept]), validation.x).tolist() == [1] * 200


def test_widths_are_read_from_names():
    assert [finite_width(name) for name in ("transformer-width-16", "transformer", "perceptron-ntk")] == [16, None, None]
    for name in ("transformer-width-0", "transformer-width-016", "transformer-width-", "transformer-width-wide"):
        with pytest.raises(InputError, match="does not say how wide the embedding is: write transformer-width-64"):
            learner(name, TASK)


def test_enough_samples_are_learnt_and_few_are_not():
    who = learner("perceptron-ntk", TASK)
    assert all(who.try_once(200, trial).success for trial in range(4))
    assert not any(who.try_once(4, trial).success for trial in range(4))


def test_networks_start_again_where_they_fail():
    from specht.studies.sparse.model import Perceptron
    from specht.studies.sparse.trials import Schooling

    hopeless = network_learner("perceptron", TASK, model=Perceptron(6, 8), schooling=Schooling(steps=2, every=2), restarts=3)
    found = hopeless.try_once(30, 0)
    assert (found.success, found.runs) == (False, 3)
    able = network_learner("perceptron", TASK, model=Perceptron(6, 8), schooling=Schooling(steps=400, every=80, learning_rate=0.02))
    assert able.try_once(60, 0).success
    assert able.try_once(60, 0) == able.try_once(60, 0)


def test_all_right_is_a_success_for_any_number_of_samples():
    """107 samples, whose mean of ones is below one in float32."""
    from specht.studies.sparse.model import Perceptron
    from specht.studies.sparse.trials import Schooling

    task = SparseTask(sparse_function("and", 1), 3, accuracy=1.0, validation=107)
    who = network_learner("perceptron", task, model=Perceptron(3, 16), schooling=Schooling(steps=200, every=50, learning_rate=0.02))
    found = who.try_once(40, 0)
    assert (found.success, found.accuracy, found.runs) == (True, 1.0, 1)
    assert learner("perceptron-ntk", task).try_once(60, 0)[:2] == (True, 1.0)
    assert SparseTask(task.function, 3, accuracy=0.99, validation=10_000).needed == 9900


def test_no_start_is_that_of_another_seed_trial_or_start(monkeypatch):
    seeds = []

    def record(*_, seed, enough):
        seeds.append(seed)
        return SimpleNamespace(most_right=0)

    monkeypatch.setattr("specht.studies.sparse.trials.run_trial", record)
    for seed in (0, 1, 16):
        who = network_learner("perceptron", SparseTask(TASK.function, 6, seed=seed), restarts=3)
        for trial in range(3):
            who.try_once(10, trial)
    states = {tuple(np.random.SeedSequence(seed).generate_state(2)) for seed in seeds}
    assert len(states) == len(seeds) == 27


def test_bad_input_is_a_sentence():
    with pytest.raises(InputError, match="Unknown learner 'transfomer': did you mean 'transformer'"):
        learner("transfomer", TASK)
    with pytest.raises(InputError, match="restarts must be a whole number from 1 to 16, got 0"):
        network_learner("perceptron", TASK, restarts=0)
    with pytest.raises(InputError, match="reads s = 3 bits, and there are T = 2"):
        SparseTask(sparse_function("and", 3), 2)
