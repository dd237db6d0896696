"""A Gram is an array; kernels add and multiply, with functions of one's own too."""

from __future__ import annotations

import re

import numpy as np
import pytest

import specht
from specht.kernel.gram import Gram

ARCH = specht.Architecture(vocab=3, length=4, activation="erf")
X = np.random.default_rng(0).integers(0, 3, (5, 5))


def overlap(x, y=None):
    """The share of columns that agree."""
    x, y = np.asarray(x), np.asarray(x if y is None else y)
    return (x[:, None] == y[None]).mean(axis=2)


def test_a_gram_is_an_array_with_its_error():
    exact, sampled = specht.Kernel(ARCH)(X), specht.Kernel(ARCH.replace(attention="softmax"), heads=256)(X)
    assert isinstance(exact, np.ndarray)
    assert exact.stderr is None
    assert exact.heads is None
    assert sampled.stderr.shape == (5, 5)
    assert sampled.heads == 256
    assert type(sampled + 1) is type(np.linalg.inv(exact + np.eye(5))) is type(exact[:2]) is np.ndarray
    assert np.asarray(exact).dtype == np.float64
    assert repr(exact).startswith("Gram (5, 5), exact:")
    assert re.match(r"Gram \(5, 5\), standard error up to \d\S* from 256 heads:", repr(sampled))


def test_a_gram_that_is_changed_in_place_forgets_its_error():
    gram = specht.Kernel(ARCH.replace(attention="softmax"), heads=256)(X)
    before = np.array(gram)
    gram /= 2.0
    np.testing.assert_array_equal(gram, before / 2.0)
    assert isinstance(gram, Gram)
    assert gram.stderr is None


def test_a_kernel_keeps_no_result():
    kernel = specht.Kernel(ARCH.replace(attention="softmax"), heads=256)
    first = kernel(X[:3])
    kernel(X)
    assert first.stderr.shape == (3, 3)
    assert not hasattr(kernel, "stderr")


def test_sums_and_products_are_those_of_the_grams():
    one, other = specht.Kernel(ARCH), specht.Kernel(ARCH.replace(positions="none"))
    combined = 0.5 * one + other * overlap + 2
    expected = 0.5 * one(X) + other(X) * overlap(X) + 2
    np.testing.assert_allclose(combined(X), expected, rtol=1e-14)
    np.testing.assert_allclose(combined(X[:2], X[2:]), expected[:2, 2:], rtol=1e-13)
    np.testing.assert_allclose(combined.diagonal(X), np.diag(expected), rtol=1e-13)


def test_masks_reach_every_kernel_of_a_sum():
    one, other = specht.Kernel(ARCH), specht.Kernel(ARCH.replace(activation="relu"))
    mask = np.ones(X.shape, bool)
    mask[1, :2] = False
    np.testing.assert_allclose((one + other)(X, mask=mask), one(X, mask=mask) + other(X, mask=mask), rtol=1e-14)


def test_errors_of_parts_add_up():
    sampled = specht.Kernel(ARCH.replace(attention="softmax"), heads=256)
    gram = sampled(X)
    np.testing.assert_allclose((2 * sampled + specht.Kernel(ARCH))(X).stderr, 2 * gram.stderr, rtol=1e-13)
    np.testing.assert_allclose((sampled * sampled)(X).stderr, 2 * np.abs(gram) * gram.stderr, rtol=1e-13)


SENTENCES = {
    "A kernel takes finite factors and offsets of at least 0, got -1: others make no covariance.": lambda: -1 * specht.Kernel(ARCH),
    "A kernel is added to and multiplied by kernels, functions of two batches, or numbers, got 'two'.": lambda: specht.Kernel(ARCH) + "two",
    "returned shapes (5, 5) and (2,): return one entry a pair of sequences.": lambda: (
        specht.Kernel(ARCH) + (lambda x, y=None: np.ones(2))
    )(X),
    "Gram function <lambda> returned numbers that are not finite: return finite covariances.": lambda: (
        specht.Kernel(ARCH) + (lambda x, y=None: np.full((5, 5), np.nan))
    )(X),
}


@pytest.mark.parametrize(("sentence", "call"), SENTENCES.items())
def test_what_cannot_be_combined_is_refused(sentence, call):
    with pytest.raises(specht.InputError, match=re.escape(sentence)):
        call()
