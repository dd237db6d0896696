"""One signature for theory, exact inference and networks: the answers are those of each, and agree where they must."""

from __future__ import annotations

import numpy as np
import pytest
from toy_results import assert_same

import specht
from specht.errors import InputError
from specht.learning import exact as gp, networks
from specht.learning.complexity import samples_to_learn
from specht.learning.target_content import content

SOURCE = specht.sources.default_mixture(vocab=3)
ARCH = specht.Architecture(vocab=3, length=6)
TASK = specht.Task(SOURCE, specht.targets.level(1, length=6, source=SOURCE))
N = [8, 64, 512]
BITS = 10
SIGNS = specht.Task(specht.sources.uniform(2), specht.Target("first bit", lambda x: 2.0 * x[:, 0] - 1.0))


@pytest.fixture(scope="module")
def spectrum():
    return specht.spectrum(ARCH, SOURCE)


def own_of(spectrum: specht.Spectrum) -> specht.Eigenvalues:
    parts = content(spectrum, TASK)
    values = [row.eigenvalue for row in parts.rows]
    return specht.Eigenvalues(values, [row.degeneracy for row in parts.rows], parts.weights, rest=parts.rest, trace=spectrum.trace)


def signs_gram(x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
    """Mean product of bits as signs: eigenvalue 1/L for each of the L functions that read one bit."""
    left, right = (2.0 * np.asarray(tokens) - 1.0 for tokens in (x, x if y is None else y))
    return left @ right.T / x.shape[1]


def test_theory_finds_the_spectrum_of_an_architecture_itself(spectrum):
    by_hand, by_itself = (specht.learning_curve(model, TASK, N, ridge=0.1) for model in (spectrum, ARCH))
    assert_same(by_itself.test, by_hand.test)
    assert by_hand.test[0] > by_hand.test[-1] > 0.0


@pytest.mark.parametrize("arch", [ARCH, specht.Architecture(vocab=3, length=6, activation="erf")], ids=["whole", "with a tail"])
def test_own_eigenvalues_give_the_curve_of_their_spectrum_to_the_bit(arch):
    spectrum = specht.spectrum(arch, SOURCE, max_level=1)
    own = specht.learning_curve(own_of(spectrum), n_train=N, ridge=0.1, noise=0.2)
    theory = specht.learning_curve(spectrum, TASK, N, ridge=0.1, noise=0.2)
    assert (theory.content.tail > 0.0) == (arch.activation == "erf")
    assert_same(own.test, theory.test)
    assert_same(own.train, theory.train)
    # The mean square of the whole target is a sum here, and was one number there.
    np.testing.assert_allclose(own.learned, theory.learned, rtol=1e-14)
    assert samples_to_learn(own.content, 0.1) == pytest.approx(samples_to_learn(theory.content, 0.1), rel=1e-12)


def test_eigenvalues_may_have_any_unit(spectrum):
    own = own_of(spectrum)
    other = specht.Eigenvalues(own.values * 8.0, own.degeneracies, own.weights, own.rest, own.trace * 8.0)
    assert_same(specht.learning_curve(other, n_train=N).test, specht.learning_curve(own, n_train=N).test)


def test_exact_inference_is_that_of_the_room(spectrum):
    options = {"ridge": 0.1, "datasets": 2, "n_test": 20, "seed": 3}
    exact = gp.learning_curve(ARCH, TASK, n_train=[4, 8], **options)
    assert_same(specht.learning_curve(ARCH, TASK, [4, 8], by="gp", **options), exact)
    scaled = gp.learning_curve(ARCH, TASK, n_train=[4, 8], scale=spectrum.trace, **options)
    assert_same(specht.learning_curve(spectrum, TASK, [4, 8], by="gp", **options), scaled)


def test_a_gram_function_is_inferred_with_as_a_kernel_is():
    kernel = specht.Kernel(ARCH)
    options = {"ridge": 0.1, "datasets": 2, "n_test": 20, "scale": 5.0, "by": "gp"}
    own = specht.learning_curve(lambda x, y=None: kernel.nngp(x, y), TASK, [4, 8], columns=ARCH.columns, **options)
    ours = specht.learning_curve(ARCH, TASK, [4, 8], **options)
    for name in ("test", "train", "learned"):
        np.testing.assert_allclose(getattr(own, name), getattr(ours, name), rtol=1e-9)
    assert_same(specht.learning_curve(kernel, TASK, [4, 8], **options).test, own.test)  # an object that knows its columns


def test_a_gram_function_against_inference_by_hand():
    """Two datasets, solved with a plain inverse."""
    curve = specht.learning_curve(signs_gram, SIGNS, [12], by="gp", columns=BITS, ridge=0.5, datasets=2, n_test=30, seed=1)
    data = gp.Datasets(SIGNS, BITS, 0.0, 1)
    losses = []
    for number in range(2):
        (x, y), (fresh, truth) = data.training(number, 12), data.test(number, 30)
        mean = signs_gram(fresh, x) @ np.linalg.inv(signs_gram(x) + 0.5 * np.eye(12)) @ y
        losses.append(np.mean((mean - truth) ** 2))
    assert curve.scale == pytest.approx(1.0)  # every sequence has the kernel 1 with itself
    np.testing.assert_allclose(curve.test, np.mean(losses), rtol=1e-9)


def test_own_eigenvalues_and_own_gram_agree():
    """The kernel of signs has one eigenvalue, so theory and inference can be held against each other without any of our kernels."""
    n = [20, 60, 200]
    theory = specht.learning_curve(specht.Eigenvalues([1.0 / BITS], [BITS], [1.0]), n_train=n, ridge=0.3)
    exact = specht.learning_curve(signs_gram, SIGNS, n, by="gp", columns=BITS, ridge=0.3, datasets=60, n_test=500)
    # The theory is one of many samples: a few per cent off at 20.
    assert (np.abs(theory.test - exact.test) < 4.0 * exact.test_stderr + 0.03 * theory.test).all()
    assert theory.test[0] > 5.0 * theory.test[-1]


def test_networks_are_asked_with_what_belongs_to_them(spectrum, monkeypatch):
    asked = {}
    monkeypatch.setattr(networks, "learning_curve", lambda model, task, **options: asked.update(options, model=model, task=task))
    specht.learning_curve(spectrum, TASK, [4], by="networks", ridge=0.2, diagnose=False)
    assert asked == {"model": ARCH, "task": TASK, "n_train": [4], "ridge": 0.2, "diagnose": False, "scale": spectrum.trace, "kind": "nngp"}


OTHER = specht.Task(specht.sources.uniform(2), specht.targets.counts(6))
REFUSED = {
    "datasets=5 has no meaning with by='theory': leave it out, or choose by='gp' or by='networks'": (ARCH, TASK, {"datasets": 5}),
    "samples=9 has no meaning with by='gp': leave it out, or choose by='theory'": (ARCH, TASK, {"samples": 9, "by": "gp"}),
    "columns=3 does not go with an Architecture, but with a Gram function": (ARCH, TASK, {"columns": 3, "by": "gp"}),
    "Unknown argument 'rigde': did you mean 'ridge'?": (ARCH, TASK, {"rigde": 3}),
    "Unknown way to get a learning curve 'theroy': did you mean 'theory'?": (ARCH, TASK, {"by": "theroy"}),
    "n_train is missing: give one number of samples or a list": (ARCH, TASK, {"n_train": None}),
    "task must be a Task, got None: write specht.Task": (ARCH, None, {}),
    "by='theory' takes a Spectrum, an Architecture or Eigenvalues, got a Gram function": (signs_gram, TASK, {}),
    "by='networks' takes a Spectrum or an Architecture, got a Gram function": (signs_gram, TASK, {"by": "networks"}),
    "by='theory' takes a Spectrum, an Architecture or Eigenvalues, got 3": (3, TASK, {}),
    "A Gram function does not say how long its sequences are: give columns": (signs_gram, TASK, {"by": "gp"}),
    "The task has 2 tokens and the architecture 3": (ARCH, OTHER, {}),
    "the kernel must be a table of 9 rows and 9 columns": (
        lambda x, y=None: np.ones((2, 2)),
        TASK,
        {"by": "gp", "columns": 3, "scale": 1.0},
    ),
    "The kernel given is zero, so it has no scale": (lambda x, y=None: np.zeros((len(x), len(x))), TASK, {"by": "gp", "columns": 3}),
    "Eigenvalues hold the weights of their target": (specht.Eigenvalues([1], [1], [1]), TASK, {}),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_does_not_fit_is_refused_with_a_sentence(sentence):
    model, task, options = REFUSED[sentence]
    with pytest.raises(InputError) as told:
        specht.learning_curve(model, task, **({"n_train": [9]} | options))
    assert sentence in str(told.value)


def test_a_spectrum_has_its_kernel_already(spectrum):
    with pytest.raises(InputError, match="kind='ntk' does not go with a Spectrum, but with an Architecture: leave it out"):
        specht.learning_curve(spectrum, TASK, [8], kind="ntk")
    with pytest.raises(InputError, match="columns=3 goes with a Gram function, and an architecture has its own: leave it out"):
        gp.learning_curve(ARCH, TASK, n_train=[8], columns=3)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (([1.0, 0.5], [1], [1.0, 1.0]), "must be three lists of one length, got 2, 1, 2 numbers"),
        (([-1.0], [1], [1.0]), "values must be finite and not negative, got -1"),
        (([1.0], [1], [np.nan]), "weights must be finite and not negative, got nan"),
        (([1.0], "a", [1.0]), "degeneracies must be a list of numbers, got 'a'"),
        (([[1.0]], [1], [1.0]), r"values must be a list of at least one number, got an array of shape \(1, 1\)"),
        (([0.0], [1], [1.0]), "All eigenvalues are zero, so nothing is learnt"),
        (([1.0], [2], [1.0], 0.0, 1.5), "trace must be at least the sum of degeneracy times eigenvalue, 2, got 1.5"),
        (([1.0], [1], [1.0], -1.0), "rest must be a finite number of at least 0, got -1.0"),
    ],
)
def test_bad_eigenvalues_are_refused(fields, sentence):
    with pytest.raises(InputError, match=sentence):
        specht.Eigenvalues(*fields)
