"""Learning curves by exact inference against loops of dense solves with a kernel written out in the test."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import specht
from specht.errors import InputError
from specht.learning import exact as gp
from specht.learning.tally import FIRST, Datasets
from specht.sequences.sources import default_mixture, markov, uniform
from specht.sequences.targets import Target, level, next_token
from specht.sequences.tasks import Task, shifted

LENGTH, SEED = 4, 3
MIXTURE = default_mixture(3)
TASK = Task(MIXTURE, level(1, LENGTH, source=MIXTURE), shifted(MIXTURE, "reweighted"))
VECTOR = Task(MIXTURE, next_token(MIXTURE))
LINEAR = specht.Architecture(vocab=3, length=LENGTH)
ERF = specht.Architecture(vocab=3, length=LENGTH, activation="erf")


def linear_kernel(x, y):
    """K_cc sum_bd K_bd^2 with K_bd = s_w [x_b = y_d] + s_p [b = d]: the simplified block, position by position."""
    k = LINEAR.token_variance * (x[:, None, :, None] == y[None, :, None, :]) + np.eye(x.shape[1])
    return k[:, :, -1, -1] * np.square(k).sum(axis=(2, 3))


def measured(kernel, task, sizes, ridge, noise=0.0, datasets=3, n_test=50, columns=LENGTH + 1):
    """test, train, ood, <f, g>, |g|^2 and the outputs of each dataset and size, by dense solves one after the other."""
    data = Datasets(task, columns, noise, SEED)
    rows = []
    for i in range(datasets):
        x, y = data.training(i, max(sizes))
        batches = [data.test(i, n_test)] + ([data.out_of_distribution(i, n_test)] if task.test_source else [])
        everything = np.concatenate([x, *(batch.x for batch in batches)])
        gram = kernel(everything, everything)
        for n in sizes:
            weights = np.linalg.solve(gram[:n, :n] + ridge * np.eye(n), y[:n])
            outputs = np.split(gram[len(x) :, :n] @ weights, len(batches))
            errors = [np.mean(np.sum((f - g) ** 2, axis=1)) for f, (_, g) in zip(outputs, batches, strict=True)]
            train = np.mean(np.sum((gram[:n, :n] @ weights - y[:n]) ** 2, axis=1))
            overlap, square = (np.mean(np.sum(f * batches[0].y, axis=1)) for f in (outputs[0], batches[0].y))
            rows.append([errors[0], train, errors[-1], overlap, square])
    return np.array(rows).reshape(datasets, len(sizes), 5).transpose(2, 0, 1)


def assert_agrees(curve, expected, rtol=1e-9):
    test, train, ood, overlap, square = expected
    root = math.sqrt(len(test))
    for name, values in (("test", test), ("train", train)) + ((("ood", ood),) if curve.ood is not None else ()):
        np.testing.assert_allclose(getattr(curve, name), values.mean(axis=0), rtol=rtol, atol=1e-14)
        np.testing.assert_allclose(getattr(curve, f"{name}_stderr"), values.std(axis=0, ddof=1) / root, rtol=1e3 * rtol, atol=1e-14)
    learned = overlap.mean(axis=0) / square.mean(axis=0)
    np.testing.assert_allclose(curve.learned, learned, rtol=rtol)
    delta = (overlap - learned * square).std(axis=0, ddof=1) / root / square.mean(axis=0)
    np.testing.assert_allclose(curve.learned_stderr, delta, rtol=1e3 * rtol)


class TestAgainstLoops:
    @pytest.mark.parametrize(("ridge", "noise"), [(1.0, 0.0), (0.05, 0.3)])
    @pytest.mark.parametrize("task", [TASK, VECTOR], ids=["out of distribution", "vector outputs"])
    @pytest.mark.parametrize("sizes", [[90, 5, 30], [4, 16]], ids=["more samples than features", "fewer"])
    def test_linear_model(self, sizes, task, ridge, noise):
        features = specht.Kernel(LINEAR).features(np.zeros((1, LENGTH + 1), dtype=int)).shape[1]
        assert 30 < features < 90
        scale = 7.0
        curve = gp.learning_curve(LINEAR, task, n_train=sizes, ridge=ridge, noise=noise, datasets=3, seed=SEED, n_test=50, scale=scale)
        assert curve.n_train.tolist() == sizes
        assert (curve.ood is None) == (curve.ood_stderr is None) == (task.test_source is None)
        assert curve.heads is None
        assert_agrees(curve, measured(linear_kernel, task, sizes, ridge * scale, noise))

    @pytest.mark.parametrize("kind", ["nngp", "ntk"])
    def test_erf(self, kind):
        kernel = getattr(specht.Kernel(ERF), kind)
        curve = gp.learning_curve(ERF, TASK, n_train=[8, 40], ridge=0.1, datasets=3, seed=SEED, n_test=50, kind=kind, scale=1.5)
        assert_agrees(curve, measured(kernel, TASK, [8, 40], 0.15))

    @pytest.mark.runs_long
    def test_sampled_heads_are_the_same_for_training_and_testing(self):
        arch = specht.Architecture(vocab=3, length=LENGTH, attention="softmax", activation="erf")
        kernel = specht.Kernel(arch, heads=256, seed=SEED)
        curve = gp.learning_curve(arch, TASK, n_train=[8, 40], ridge=0.1, datasets=2, seed=SEED, n_test=50, scale=1.0, heads=256)
        assert curve.heads == 256
        assert_agrees(curve, measured(kernel, TASK, [8, 40], 0.1, datasets=2))

    @pytest.mark.runs_long
    def test_heads_drawn_for_one_batch_jointly(self):
        arch = specht.Architecture(vocab=3, length=LENGTH, attention="softmax", depth=2)
        curve = gp.learning_curve(arch, TASK, n_train=[3, 8], ridge=0.1, datasets=2, seed=SEED, n_test=8, scale=1.0, heads=256)
        data = Datasets(TASK, LENGTH + 1, 0.0, SEED)
        tests, oods = [], []
        for i in range(2):
            (x, y), (new, g), (far, h) = data.training(i, 8), data.test(i, 8), data.out_of_distribution(i, 8)
            gram = specht.Kernel(arch, heads=256, seed=SEED)(np.concatenate([x, new, far]))
            for n in (3, 8):
                outputs = gram[8:, :n] @ np.linalg.solve(gram[:n, :n] + 0.1 * np.eye(n), y[:n])
                tests.append(np.mean((outputs[:8] - g) ** 2))
                oods.append(np.mean((outputs[8:] - h) ** 2))
        np.testing.assert_allclose(curve.test, np.reshape(tests, (2, 2)).mean(axis=0), rtol=1e-9)
        np.testing.assert_allclose(curve.ood, np.reshape(oods, (2, 2)).mean(axis=0), rtol=1e-9)

    @pytest.mark.parametrize("task", [TASK, VECTOR], ids=["one output", "vector outputs"])
    def test_mean_outputs(self, task):
        x = MIXTURE.sample(7, 6, LENGTH)
        found = gp.mean_outputs(LINEAR, task, x, n_train=[90, 10], ridge=0.2, noise=0.1, datasets=4, seed=SEED, scale=5.0)
        data, each = Datasets(task, LENGTH + 1, 0.1, SEED), []
        for i in range(4):
            given, y = data.training(i, 90)
            for n in (90, 10):
                each.append(linear_kernel(x, given[:n]) @ np.linalg.solve(linear_kernel(given[:n], given[:n]) + np.eye(n), y[:n]))
        each = np.reshape(each, (4, 2, 6, task.target.outputs))
        np.testing.assert_allclose(found.mean, each.mean(axis=0), atol=1e-9)
        np.testing.assert_allclose(found.stderr, each.std(axis=0, ddof=1) / 2, atol=1e-9)
        assert (found.datasets, found.scale, found.n_train.tolist()) == (4, 5.0, [90, 10])


class TestScale:
    def test_is_the_mean_of_the_diagonal(self):
        states, probabilities = uniform(3).enumerate(LENGTH + 1)
        exact = probabilities @ np.diagonal(linear_kernel(states, states))
        task = Task(uniform(3), level(1, LENGTH))
        curve = gp.learning_curve(LINEAR, task, n_train=4, datasets=2, n_test=4)
        assert 0 < curve.scale_stderr < 0.02 * exact
        specht.testing.assert_matches_samples(exact, curve.scale, curve.scale_stderr)

    def test_is_the_unit_of_the_ridge(self):
        """The tangent kernel of the linear model is nine times its covariance, which the unit takes out again."""
        options = {"n_train": [8, 90], "ridge": 0.3, "datasets": 2, "seed": SEED, "n_test": 50}
        by_nngp, by_ntk = (gp.learning_curve(LINEAR, TASK, kind=kind, **options) for kind in ("nngp", "ntk"))
        assert by_ntk.scale == pytest.approx(9 * by_nngp.scale, rel=1e-12)
        for name in ("test", "train", "ood", "learned", "test_stderr"):
            np.testing.assert_allclose(getattr(by_ntk, name), getattr(by_nngp, name), rtol=1e-8)

    def test_given_is_taken_as_exact(self):
        assert gp.learning_curve(LINEAR, TASK, n_train=4, datasets=2, n_test=4, scale=2).scale_stderr == 0.0


class TestDatasets:
    def test_grow_without_changing_their_beginning(self):
        data = Datasets(VECTOR, LENGTH + 1, 0.5, SEED)  # its labels are drawn
        many = data.training(2, 5 * FIRST)
        assert len(np.unique(many.x[:FIRST], axis=0)) > 20
        for n in (1, FIRST, FIRST + 1, 4 * FIRST):
            for before, after in zip(data.training(2, n), many, strict=True):
                assert len(before) == n
                np.testing.assert_array_equal(before, after[:n])

    def test_noise_is_added_to_the_same_labels(self):
        quiet, loud = (Datasets(VECTOR, LENGTH + 1, noise, SEED).training(0, 4000) for noise in (0.0, 0.25))
        np.testing.assert_array_equal(quiet.x, loud.x)
        noise = (loud.y - quiet.y).ravel()
        assert set(np.unique(quiet.y)) == {0.0, 1.0}
        specht.testing.assert_matches_samples(0.0, noise.mean(), 0.5 / math.sqrt(noise.size))
        specht.testing.assert_matches_samples(0.25, noise.var(), 0.25 * math.sqrt(2 / noise.size))

    def test_are_different_from_each_other_and_for_each_purpose(self):
        data = Datasets(TASK, 12, 0.0, SEED)
        draws = [data.training(0, 50).x, data.training(1, 50).x, data.test(0, 50).x, data.test(1, 50).x, data.reference(50)]
        draws += [data.out_of_distribution(0, 50).x, data._replace(seed=SEED + 1).training(0, 50).x]
        assert len({draw.tobytes() for draw in draws}) == len(draws)

    def test_a_curve_does_not_depend_on_what_else_is_asked_for(self):
        options = {"ridge": 0.3, "datasets": 3, "seed": SEED, "n_test": 50, "scale": 5.0}
        one, all_ = (gp.learning_curve(ERF, TASK, n_train=n_train, **options) for n_train in (8, [20, 8, 20, 13]))
        np.testing.assert_allclose(one.test[0], all_.test[1], rtol=1e-10)
        np.testing.assert_allclose(all_.test[0], all_.test[2], rtol=1e-14)
        again = gp.learning_curve(ERF, TASK, n_train=[20, 8, 20, 13], **options)
        np.testing.assert_array_equal(again.test, all_.test)


class TestMeaning:
    def test_all_is_learnt_from_enough_samples(self):
        curve = gp.learning_curve(ERF, TASK, n_train=[4, 400], ridge=1e-3, datasets=4, seed=SEED, n_test=200)
        assert curve.test[1] < 0.01 * curve.test[0]
        assert curve.learned[1] == pytest.approx(1, abs=0.01)
        assert curve.train[1] < curve.test[1]

    def test_nothing_is_learnt_at_a_large_ridge(self):
        curve = gp.learning_curve(ERF, TASK, n_train=4, ridge=1e9, datasets=20, seed=SEED, n_test=500)
        specht.testing.assert_matches_samples(1.0, curve.test, curve.test_stderr)  # the target has mean square one
        assert abs(curve.learned[0]) < 1e-6

    def test_standard_errors_are_those_of_the_mean(self):
        """Over repeats with other seeds, the means scatter as each says."""
        curves = [gp.learning_curve(LINEAR, TASK, n_train=60, ridge=0.3, datasets=6, seed=seed, n_test=40, scale=5.0) for seed in range(25)]
        for name in ("test", "train", "ood", "learned"):
            means = np.array([getattr(curve, name)[0] for curve in curves])
            errors = np.array([getattr(curve, f"{name}_stderr")[0] for curve in curves])
            ratio = means.std(ddof=1) / math.sqrt(np.mean(errors**2))
            assert abs(math.log(ratio)) < 4 / math.sqrt(2 * 25)  # a standard deviation of 25 values is known to one part in sqrt(50)

    def test_a_target_that_is_zero_has_no_share(self):
        nothing = Task(MIXTURE, Target("nothing", lambda x: np.zeros(len(x))))
        curve = gp.learning_curve(ERF, nothing, n_train=8, datasets=2, n_test=10)
        assert curve.test[0] == curve.train[0] == 0.0
        assert np.isnan(curve.learned).all()

    @pytest.mark.parametrize("readout", ["mean", "cls"])
    def test_other_readouts(self, readout):
        arch = specht.Architecture(vocab=3, length=LENGTH, readout=readout)
        curve = gp.learning_curve(arch, TASK, n_train=[8, 200], ridge=0.01, datasets=2, n_test=50)
        assert curve.test[1] < curve.test[0]

    def test_sources_whose_order_matters(self):
        source = markov([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]])
        arch = specht.Architecture(vocab=2, length=LENGTH)
        curve = gp.learning_curve(arch, Task(source, next_token(source)), n_train=[4, 400], ridge=0.1, datasets=4, n_test=100)
        assert curve.test[1] < 0.2 * curve.test[0]


def test_progress_is_told_after_every_dataset():
    seen = []
    gp.learning_curve(LINEAR, TASK, n_train=4, datasets=3, n_test=4, progress=lambda done, total: seen.append((done, total)))
    gp.mean_outputs(LINEAR, TASK, [[0, 1, 2, 0, 1]], n_train=4, datasets=2, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3), (1, 2), (2, 2)]


def test_everything_is_float64():
    curve = gp.learning_curve(LINEAR, TASK, n_train=np.array([4, 80]), ridge=1, datasets=2, n_test=4)
    assert all(getattr(curve, name).dtype == np.float64 for name in ("test", "train", "ood", "learned", "test_stderr", "learned_stderr"))
    assert curve.n_train.dtype.kind == "i"
    found = gp.mean_outputs(LINEAR, TASK, [[0, 1, 2, 0, 1]], n_train=4, datasets=2)
    assert found.mean.dtype == found.stderr.dtype == np.float64


def test_it_is_public():
    assert specht.gp is gp


def curve(arch=LINEAR, task=TASK, **options):
    return lambda: gp.learning_curve(arch, task, **({"n_train": 4, "datasets": 2, "n_test": 4} | options))


BAD = {
    "n_train must be a whole number of at least 1, got 0.": curve(n_train=[4, 0]),
    "n_train must be a whole number of at least 1, got 4.5.": curve(n_train=4.5),
    "n_train must be a whole number of at least 1, got 'many'.": curve(n_train=["many"]),
    "n_train must be a whole number of at least 1, got None.": curve(n_train=None),
    "n_train is empty: give one number of samples or more.": curve(n_train=[]),
    "ridge must be a finite number of at least 0, got -1.": curve(ridge=-1),
    "ridge must be a finite number of at least 0, got inf.": curve(ridge=math.inf),
    "noise (a variance) must be a finite number of at least 0, got -0.1.": curve(noise=-0.1),
    "datasets must be a whole number of at least 2, got 1.": curve(datasets=1),
    "n_test must be a whole number of at least 1, got 0.": curve(n_test=0),
    "Unknown kernel 'nntk': did you mean 'ntk'?": curve(kind="nntk"),
    "scale must be a positive number, got 0.": curve(scale=0),
    "heads must be a whole number of at least 1, got 0.": curve(heads=0),
    "seed must be a whole number from 0 to 2147483647, got -1.": curve(seed=-1),
    "arch must be an Architecture, got 'linear'": curve(arch="linear"),
    "task must be a Task, got 'counts': write specht.Task(source, target).": curve(task="counts"),
    "The task has 2 tokens and the architecture 3: give both the same vocab.": curve(task=Task(uniform(2), level(1, LENGTH))),
    "The kernel of V=3 L=4 | pos=learned(1.0) | linear/sqrt | linear | last | s_2=0.0 is zero": curve(arch=LINEAR.replace(s_2=0.0)),
    "leave out samples that repeat.": curve(arch=ERF, n_train=300, ridge=0.0),
    "at most 2048 positions and so 409 sequences, and there are 420: ask for fewer with n_train and n_test.": curve(
        arch=specht.Architecture(vocab=3, length=LENGTH, attention="softmax", depth=2), n_train=20, n_test=200, scale=1.0, heads=256
    ),
    "x holds token 3, but vocab=3 allows 0 to 2": lambda: gp.mean_outputs(LINEAR, TASK, [[0, 1, 2, 3, 0]], n_train=4),
}


@pytest.mark.parametrize(("sentence", "call"), BAD.items())
def test_bad_input_is_refused_with_a_sentence(sentence, call):
    with pytest.raises(InputError, match=re.escape(sentence)):
        call()
