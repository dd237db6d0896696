"""First order in 1/width: against the exact mixture of kernels, the infinite width, and sentences on bad input."""

from __future__ import annotations

import numpy as np
import pytest

import specht
from specht.errors import InputError
from specht.learning.adaptive.one_over_width import _Expansion, first_order
from specht.nn import Size

ARCH = specht.Architecture(vocab=2, length=3, activation="erf")
X, NEW = (np.random.default_rng(seed).integers(0, 2, (n, 4)) for seed, n in ((0, 6), (1, 5)))
Y = 2.0 * X[:, 0] - 1.0


def test_terms_are_those_of_the_evidence_weighted_mixture():
    """Kernels that scatter by a small number: the difference to the exact mixture falls as its third power, or faster."""
    rng = np.random.default_rng(0)
    half = rng.standard_normal((9, 12))
    joint, ridge, y = half @ half.T / 12, 0.3, rng.standard_normal((6, 2))
    noise = [each + each.T for each in rng.standard_normal((40, 9, 9)) / 9]

    def difference(size: float) -> float:
        kernels = [joint + size * each for each in noise]
        exact, total = np.zeros((3, 2)), 0.0
        for kernel in kernels:
            a = np.linalg.inv(kernel[:6, :6] + ridge * np.eye(6))
            weight = np.exp(-0.5 * np.vdot(y, a @ y) + np.linalg.slogdet(a)[1])
            exact, total = exact + weight * kernel[6:, :6] @ a @ y, total + weight
        inverse = np.linalg.inv(joint[:6, :6] + ridge * np.eye(6))
        expansion = _Expansion(joint[:6, :6], joint[6:, :6], inverse, inverse @ y)
        weights, linear, quadratic = (
            np.array(part) for part in zip(*(expansion.terms(k[:6, :6], k[6:, :6]) for k in kernels), strict=True)
        )
        each = linear + quadratic + (weights - weights.mean())[:, None, None] * linear
        return float(np.abs(expansion.cross @ expansion.weights + each.mean(axis=0) - exact / total).max())

    coarse, fine = difference(4e-3), difference(2e-3)
    assert fine < coarse / 6.0
    assert fine < 1e-5


def test_wide_networks_need_no_correction():
    found = first_order(ARCH, X, Y, NEW, size=Size(512, 128, 4), networks=8)
    scale = float(np.mean(specht.Kernel(ARCH).diagonal(X)))
    infinite = specht.GP(ARCH, ridge=0.1 * scale).condition(X, Y).predict(NEW).mean
    assert found.infinite[:, 0] == pytest.approx(infinite, abs=1e-10)
    assert np.abs(found.correction).max() < 0.3
    assert found.mean_square_error(NEW[:, 0]) < 2.0
    assert "first order in 1/width" in repr(found)


def test_it_says_when_weights_scatter_too_much():
    narrow = first_order(ARCH, X, Y, NEW, size=Size(4, 2, 2), networks=12)
    assert not narrow.trusted
    assert "too much to trust it" in repr(narrow)
    assert set(narrow.to_dataframe()) >= {"mean", "infinite", "stderr"}


def test_architectures_without_a_learned_embedding_have_one_too():
    waves = specht.Architecture(vocab=2, length=3, positions="sinusoidal")
    found = first_order(waves, X, Y, NEW, size=Size(64, 16, 4), networks=6)
    assert np.isfinite(found.mean).all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"arch": None}, "must be an Architecture"),
        ({"ridge": 0.0}, "ridge"),
        ({"networks": 1}, "networks"),
        ({"y": Y[:2]}, "6"),
    ],
)
def test_bad_input(arguments, sentence):
    given = {"arch": ARCH, "x": X, "y": Y, "x_new": NEW, "size": Size(8, 2, 2)} | arguments
    with pytest.raises(InputError, match=sentence):
        first_order(**given)
