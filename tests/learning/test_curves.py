"""Predicted learning curves, against exact inference and against cases with a closed form."""

from __future__ import annotations

import numpy as np
import pytest
from small_cases import architecture, mixture

import specht
from specht.errors import InputError
from specht.learning import exact as gp
from specht.learning.curves import theory_curve
from specht.learning.target_content import content, leading_modes
from specht.sequences import targets
from specht.sequences.sources import default_mixture, graded_mixture, uniform
from specht.sequences.tasks import Task, order_forgotten, shifted


def _relative(theory, measured):
    return theory / measured - 1.0


def assert_agrees(arch, task, spec, *, ridge, noise, n_train, datasets, mean_error, worst=0.15):
    """Mean error at most `mean_error` for test, and 10 % for train and out of distribution; none beyond `worst` and three errors."""
    theory = theory_curve(spec, task, n_train, ridge, noise)
    exact = gp.learning_curve(arch, task, n_train=n_train, ridge=ridge, noise=noise, datasets=datasets, seed=1, scale=spec.trace)
    for loss, limit in (("test", mean_error), ("train", max(0.1, mean_error)), ("ood", max(0.1, mean_error))):
        measured, stderr = getattr(exact, loss), getattr(exact, f"{loss}_stderr")
        if measured is None:
            continue
        error = np.abs(_relative(getattr(theory, loss), measured))
        assert error.mean() <= limit, (loss, error)
        if loss == "test":
            assert (error <= worst + 3 * stderr / measured).all(), (error, stderr / measured)
    return theory, exact


@pytest.mark.parametrize(("ridge", "noise"), [(1.0, 0.0), (0.2, 0.05)])
def test_linear_model_agrees_with_exact_inference(ridge, noise):
    source, arch = default_mixture(3), specht.Architecture(vocab=3, length=8)
    spec = specht.spectrum(arch, source)
    task = Task(source, leading_modes(spec), shifted(source, "reweighted"))
    theory, exact = assert_agrees(arch, task, spec, ridge=ridge, noise=noise, n_train=[32, 64, 128, 256], datasets=40, mean_error=0.05)
    assert np.abs(_relative(theory.equivalent.test, exact.test)).mean() > np.abs(_relative(theory.test, exact.test)).mean()
    np.testing.assert_allclose(theory.learned, exact.learned, atol=0.05)


def test_vector_outputs_and_drawn_labels():
    source, arch = default_mixture(3), specht.Architecture(vocab=3, length=6)
    spec = specht.spectrum(arch, source)
    task = Task(source, targets.next_token(source), shifted(source, "reweighted"))
    theory, _ = assert_agrees(arch, task, spec, ridge=0.5, noise=0.0, n_train=[32, 128, 512], datasets=40, mean_error=0.1)
    assert theory.noise == pytest.approx(theory.content.label_noise)


def test_a_function_of_ones_own():
    source, arch = default_mixture(3), specht.Architecture(vocab=3, length=6)
    spec = specht.spectrum(arch, source)
    own = targets.Target("own", lambda x: (x[:, 0] == 1) + 0.5 * (x[:, 2] == x[:, 6]))
    assert_agrees(
        arch, Task(source, own, shifted(source, "redrawn")), spec, ridge=0.5, noise=0.0, n_train=[32, 128, 512], datasets=40, mean_error=0.1
    )


def test_mean_outputs_are_those_of_exact_inference():
    source, arch = default_mixture(3), specht.Architecture(vocab=3, length=8)
    spec = specht.spectrum(arch, source)
    task = Task(source, leading_modes(spec))
    theory = theory_curve(spec, task, [36, 48], ridge=1.0)
    present = theory.learnability.learnability[:, theory.content.weights > 0]
    assert 0.2 < present.min() < present.max() < 0.8
    x = source.sample(5, 200, arch.length)
    exact = gp.mean_outputs(arch, task, x, n_train=[36, 48], ridge=1.0, datasets=60, scale=spec.trace)
    for index in range(2):
        predicted = theory.content.mean_output(x, theory.learnability.learnability[index])
        left = ((exact.mean[index] - predicted) ** 2).sum()
        assert 1.0 - left / ((exact.mean[index] - exact.mean[index].mean()) ** 2).sum() >= 0.95


def test_without_any_ridge_train_vanishes_until_the_rank_and_is_the_noise_after():
    source, arch = uniform(2), specht.Architecture(vocab=2, length=4)
    spec = specht.spectrum(arch, source)
    rank = sum(row.degeneracy for row in spec.truncated())
    task = Task(source, targets.level(1, 4, source=source))
    found = theory_curve(spec, task, [rank // 2, 10 * rank, 100 * rank], ridge=0.0, noise=0.3)
    assert found.train[0] == 0.0
    # ordinary least squares with `rank` regressors: train = noise (1 - rank / N), test = noise rank / (N - rank)
    np.testing.assert_allclose(found.train[1:], 0.3 * (1 - 1 / np.array([10, 100])), rtol=1e-9)
    np.testing.assert_allclose(found.test[1:], 0.3 / (np.array([10, 100]) - 1), rtol=1e-9)


def test_what_is_in_no_row_is_never_learnt():
    source, arch = uniform(2), specht.Architecture(vocab=2, length=6)  # linear: level 2 is out of reach
    spec = specht.spectrum(arch, source)
    found = theory_curve(spec, Task(source, targets.level(2, 6, source=source)), [10, 10_000], ridge=0.1)
    assert found.test[-1] >= 1.0
    assert found.learned.max() == 0.0


def test_truncated_spectra_put_their_tail_into_the_ridge():
    source = mixture(2)
    arch = architecture(2, 8, activation="erf")
    whole, low = specht.spectrum(arch, source), specht.spectrum(arch, source, max_level=1)
    task = Task(source, targets.level(1, 8, source=source))
    n = np.array([16, 64, 256])
    exact, cut = (theory_curve(spec, task, n, ridge=0.1) for spec in (whole, low))
    assert cut.content.tail > 1e-3 > exact.content.tail
    np.testing.assert_allclose(cut.test, exact.test, rtol=0.03)
    kept = theory_curve(low, content(low, task), n, ridge=0.1 + cut.content.tail)
    assert not np.allclose(kept.test, exact.test, rtol=0.03)  # counted twice it is wrong


def test_gap_and_error_of_theory_grow_together():
    """Theory forgets the order of a source; the more order matters, the further it is off."""
    arch = specht.Architecture(vocab=3, length=8)
    errors = []
    for epsilon in (0.0, 0.9):
        source = graded_mixture(epsilon, vocab=3)
        spec = specht.spectrum(arch, order_forgotten(source, arch.columns))
        task = Task(source, targets.counts(8))
        theory = theory_curve(spec, task, [64, 256], ridge=0.05)
        exact = gp.learning_curve(arch, task, n_train=[64, 256], ridge=0.05, datasets=20, scale=spec.trace)
        errors.append(np.abs(_relative(theory.test, exact.test)).mean())
    assert errors[0] < 0.1 < errors[1]


def test_bad_noise():
    source = uniform(2)
    spec = specht.spectrum(specht.Architecture(vocab=2, length=4), source)
    with pytest.raises(InputError, match="noise must be a finite variance"):
        theory_curve(spec, Task(source, targets.counts(4)), [10], noise=-1.0)
