"""Laws fitted to curves that obey them, and intervals that widen with the errors."""

from __future__ import annotations

import numpy as np
import pytest

from specht.forecasts.laws import LAWS, extrapolate_law, fit_law
from specht.forecasts.shapes import ErrorCurve

SIZES = 25.0 * 2.0 ** np.arange(0, 5, 0.5)
TRUTHS = {
    "power": lambda u: 0.3 * u**-0.6,
    "pow3": lambda u: 0.2 + 0.1 * u**-0.8,
    "pow4": lambda u: 0.1 + 0.2 * (u + 0.2) ** -0.9,
    "mmf4": lambda u: (0.9 * 0.2 + 0.1 * u**1.5) / (0.2 + u**1.5),
    "exp3": lambda u: 0.2 + 0.5 * np.exp(-4.0 * u),
}


@pytest.mark.parametrize("name", LAWS)
def test_a_law_continues_its_own_curve(name):
    u = SIZES / SIZES[-1]
    law = fit_law(name, ErrorCurve(SIZES, TRUTHS[name](u), 0.01 * np.ones(len(u))))
    assert law(4 * SIZES[-1:]) == pytest.approx(TRUTHS[name](np.array([4.0])), rel=0.01)


def test_intervals_widen_with_errors():
    rng, u = np.random.default_rng(0), SIZES / SIZES[-1]
    widths = []
    for relative in (0.01, 0.05):
        curve = ErrorCurve(SIZES, TRUTHS["pow3"](u), relative * TRUTHS["pow3"](u))
        value, low, high = extrapolate_law("pow3", curve, 4 * SIZES[-1:], shared=0.0, confidence=0.9, rng=rng)
        assert low <= value <= high
        widths.append(float((high - low)[0]))
    assert widths[1] > 2 * widths[0]
