"""Numbers as users hand them in, checked once, at the door: the number itself, or an `InputError` with one sentence.

Checks of what only one room knows (probabilities, Grams, tokens) are in that room.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from typing import Any

from specht.errors import InputError


def finite_number(name: str, value: Any, above: float | None = None, at_least: float | None = None, below: float | None = None) -> float:
    """The value as a `float`, or the error for one that is no finite number in the range.

    >>> finite_number("step", 1, above=0)
    1.0
    """
    limits = [f"{word} {limit:g}" for word, limit in (("above", above), ("of at least", at_least), ("below", below)) if limit is not None]
    wrong = InputError(f"{name} must be a finite number {' and '.join(limits)}".rstrip() + f", got {value!r}.")
    if isinstance(value, (bool, str)) or value is None:
        raise wrong
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise wrong from None
    inside = (above is None or number > above) and (at_least is None or number >= at_least) and (below is None or number < below)
    if not math.isfinite(number) or not inside:
        raise wrong
    return number


def whole_number(name: str, value: Any, at_least: int = 0, at_most: int | None = None) -> int:
    """The value as an `int`, whichever library it comes from, or the error for one that is no whole number in the range.

    >>> whole_number("depth", 3, at_least=1)
    3
    """
    range_ = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
    wrong = InputError(f"{name} must be a whole number {range_}, got {value!r}.")
    if isinstance(value, bool):
        raise wrong
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong from None
    if number < at_least or (at_most is not None and number > at_most):
        raise wrong
    return number


def not_negative(name: str, value: Any) -> float:
    """A finite number of at least zero, of a type that is a number."""
    return _real(name, value, "a finite number of at least 0", lambda number: 0 <= number < math.inf)


def positive(name: str, value: Any) -> float:
    """A finite number above zero."""
    return _real(name, value, "a positive number", lambda number: 0 < number < math.inf)


def fraction(name: str, value: Any) -> float:
    """A number from 0 to 1."""
    return _real(name, value, "a number from 0 to 1", lambda number: 0 <= number <= 1)


def _real(name: str, value: Any, wanted: str, is_inside: Callable[[float], bool]) -> float:
    """A real number in a range; truth values are numbers to Python and mistakes here."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not is_inside(float(value)):
        raise InputError(f"{name} must be {wanted}, got {value!r}.")
    return float(value)
