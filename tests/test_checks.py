"""Numbers that cannot be used are answered in one sentence, the same in every room."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specht.checks import finite_number, fraction, not_negative, positive, whole_number
from specht.errors import InputError

REAL = (True, "1", None, math.nan, math.inf, [1.0], 1j)
"""What is no number to any of them."""


@pytest.mark.parametrize(
    ("check", "values", "wrong", "sentence"),
    [
        (whole_number, (0, 3, np.int32(7)), (True, 1.0, "1", None, -1), "a must be a whole number of at least 0, got {!r}."),
        (finite_number, (-1, 0.5, np.float32(2.0)), REAL, "a must be a finite number, got {!r}."),
        (not_negative, (0, 0.5, np.float64(2.0)), (*REAL, -0.5), "a must be a finite number of at least 0, got {!r}."),
        (positive, (1, 0.5, np.float64(2.0)), (*REAL, 0, -0.5), "a must be a positive number, got {!r}."),
        (fraction, (0, 1, np.float64(0.5)), (*REAL, -0.5, 1.5), "a must be a number from 0 to 1, got {!r}."),
    ],
)
def test_a_number_or_one_sentence(check, values, wrong, sentence):
    for value in values:
        checked = check("a", value)
        assert checked == value
        assert type(checked) is (int if check is whole_number else float)
    for value in wrong:
        with pytest.raises(InputError) as raised:
            check("a", value)
        assert str(raised.value) == sentence.format(value)


@pytest.mark.parametrize(
    ("limits", "range_"),
    [({"above": 0}, "above 0"), ({"at_least": 3, "below": 4.5}, "of at least 3 and below 4.5")],
)
def test_limits_of_finite_numbers(limits, range_):
    with pytest.raises(InputError, match=rf"^a must be a finite number {range_}, got 0\.$"):
        finite_number("a", 0, **limits)


def test_limits_of_whole_numbers():
    assert whole_number("a", 4, 2, 4) == 4
    with pytest.raises(InputError, match=r"^a must be a whole number from 2 to 4, got 5\.$"):
        whole_number("a", 5, 2, 4)
