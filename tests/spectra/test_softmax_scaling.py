"""How fast eigenvalues of softmax attention fall with length: as the dimension of the irrep in a window, and twice as fast outside it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import specht
from specht.groups.partition import Partition

LENGTHS = (4, 64)
ALL_LENGTHS = (4, 8, 16, 32, 64)


class Exponents(NamedTuple):
    """Slopes of the top eigenvalue of levels 0, 1, 2 against length, and their standard errors."""

    raw: np.ndarray
    normalised: np.ndarray
    stderr: np.ndarray


def exponents(lengths: tuple[int, ...], heads: int, **variances) -> Exponents:
    values, errors, means = [], [], []
    for length in lengths:
        arch = specht.Architecture(length=length, attention="softmax", **variances)
        spec = specht.spectrum(arch, method="rayleigh", max_level=2, heads=heads, sequences=96)
        rows = [spec.top(Partition((length - m, m) if m else (length,))) for m in range(3)]
        values.append([row.eigenvalue for row in rows])
        errors.append([row.stderr / row.eigenvalue for row in rows])
        means.append(spec.trace)
        assert all(row.eigenvalue <= row.bound + 5 * row.stderr for row in rows)
    logs = np.log(lengths)
    centred = (logs - logs.mean()) / ((logs - logs.mean()) ** 2).sum()
    raw = centred @ np.log(values)
    return Exponents(raw, raw - centred @ np.log(means), np.sqrt(centred**2 @ np.square(errors)))


@pytest.mark.slow
def test_raw_eigenvalues_of_peaked_attention_fall_as_the_dimension():
    found = exponents(LENGTHS, heads=256, vocab=4, s_w=1.0, s_p=3.0)
    assert (found.stderr < 0.13).all()
    np.testing.assert_allclose(found.raw, [0, -1, -2], atol=0.4)


@pytest.mark.slow
def test_normalised_eigenvalues_of_lecun_variances_fall_as_the_dimension():
    found = exponents(LENGTHS, heads=256, vocab=4, s_w=0.25, s_p=1.0)
    assert (found.stderr < 0.13).all()
    np.testing.assert_allclose(found.normalised, [0, -1, -2], atol=0.4)
    assert found.raw[1] < -1.4  # without the normalisation they do not


@pytest.mark.slow
def test_flat_attention_drifts_towards_twice_the_level():
    """Weights of about 1/L: the window is short, and the exponent goes to -2m (note: -1.6 and -3.2 over lengths 4 to 64)."""
    found = exponents(LENGTHS, heads=256, vocab=2, s_w=0.5, s_p=0.5)
    assert (found.normalised[1:] < [-1.4, -2.8] + 3 * found.stderr[1:]).all()
    assert (found.normalised[1:] > np.array([-2.0, -4.0]) - 3 * found.stderr[1:]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variances", "which", "expected"),
    [
        ({"vocab": 4, "s_w": 1.0, "s_p": 3.0}, "raw", [-0.15, -1.04, -1.94]),
        ({"vocab": 4, "s_w": 0.25, "s_p": 1.0}, "normalised", [0.0, -1.04, -2.33]),
        ({"vocab": 2, "s_w": 0.5, "s_p": 0.5}, "normalised", [0.0, -1.61, -3.20]),
        ({"vocab": 4, "s_w": 3.0, "s_p": 3.0}, "raw", [-0.08, -1.06, -1.96]),
    ],
)
def test_exponents_agree_with_the_measured_ones(variances, which, expected):
    """Slopes over all five lengths, against values measured with 3e4 heads by another program."""
    found = exponents(ALL_LENGTHS, heads=4096, **variances)
    np.testing.assert_allclose(getattr(found, which), expected, atol=0.15)
