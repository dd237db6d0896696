"""How large labels are: theory without data takes them in units in which random networks are as large as the target."""

from __future__ import annotations

import numpy as np
import pytest

import specht
from specht.learning.adaptive.population import adaptive_curve
from specht.sequences import targets

COPY = targets.Target("copy", lambda x: 2.0 * x[:, 0] - 1.0, reads=(0,))
LARGE = targets.Target("large", lambda x: 20.0 * x[:, 0] - 10.0, reads=(0,))


@pytest.mark.parametrize("fields", [{}, {"activation": "erf"}], ids=str)
def test_labels_have_no_unit_of_their_own(fields):
    """A target that is ten times as large is learnt alike, at a hundred times the loss."""
    arch, source = specht.Architecture(vocab=2, length=6, **fields), specht.sources.uniform(2)
    one, ten = (
        adaptive_curve(arch, specht.Task(source, target), [12, 24], width=8, noise=noise, sequences=64)
        for target, noise in ((COPY, 0.01), (LARGE, 1.0))
    )
    np.testing.assert_allclose(ten.test, 100.0 * one.test, rtol=1e-5)
    np.testing.assert_allclose(ten.ratios, one.ratios, rtol=1e-5)
    assert (one.test < one.infinite_test).all()
